package models_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// silences runs a scenario of two switches, and returns by flow when it was silent and why.
func silences(t *testing.T, r *emu.Result) map[string]report.Silence {
	t.Helper()
	all := map[string]report.Silence{}
	for _, s := range r.Silences {
		all[s.Flow] = s
	}
	return all
}

func textOf(t *testing.T, r *emu.Result) string {
	t.Helper()
	var text bytes.Buffer
	if err := summary.WriteText(&text, r.Result, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A flow that has something to send and delivers nothing for a tenth of the run is named,
// since when, and what keeps it: whatever that is.
func TestModelSilentFlowsAreNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const ethernet = `name: silent
model: {duration: 1ms, seed: 1}
defaults:
  link: {rate: 10Gb/s, flow-control: pfc}
  switch: {kind: output-queued, memory: 100KB per port}
  flow: {packet: 1500B, control: {algorithm: fixed}}
switches: {S: {}, T: {}}
endpoints: [A, B, C, D, E]
links: [A - S, D - S, {name: trunk, between: S - T}, T - B, {name: slow, between: T - C}, {name: down, between: T - E}]
flows:
  - {name: busy, from: A, to: B}
  - {name: little, from: A, to: B, traffic: constant, rate: 10Mb/s, stop: 500us}
  - {name: storm, from: D, to: C, priority: 3, traffic: constant, rate: 1Gb/s}
  - {name: behind, from: D, to: B, priority: 3, traffic: constant, rate: 1Gb/s}
  - {name: cut, from: A, to: E, priority: 5, traffic: constant, rate: 1Gb/s}
  - {name: crawls, from: A, to: B, priority: 1, rate-limit: 100Mb/s}
events:
  - {at: 300us, endpoint: C, pause-storm: "on"}
  - {at: 200us, link: down, state: down}
  - {at: 600us, link: down, state: up}
  - {at: 700us, link: down, state: down}
`
	r := onVirtualClock(t, runtest.Load(t, ethernet))
	if first := r.Silences[0]; !slices.ContainsFunc(r.Silences, func(s report.Silence) bool { return s.Flow == "cut" && s.Lasting }) || !first.Lasting {
		t.Errorf("cut lasts from 700us on, although it was longer before: %+v", r.Silences)
	}
	if r.PatiencePs != int64(100*unit.Microsecond) {
		t.Errorf("the patience is %v, a tenth of the run is 100us", unit.Duration(r.PatiencePs))
	}
	got := silences(t, r)
	for flow, want := range map[string]report.Silence{
		"storm":  {Lasting: true, Cause: "paused", Link: "slow.T-C"},
		"behind": {Lasting: true, Cause: "paused", Link: "trunk.S-T"},
		"cut":    {Cause: "down", Link: "down.T-E"}, // from 200 to 600us, which is longer than from 700us on
		"crawls": {Cause: "rate-limited", Limit: 100e6},
	} {
		s, silent := got[flow]
		from, to := s.FromPs, s.ToPs
		s.Flow, s.FromPs, s.ToPs = "", 0, 0
		if !silent || s != want || to-from < r.PatiencePs {
			t.Errorf("%s: %+v, from %v to %v, want %+v", flow, s, unit.Time(from), unit.Time(to), want)
		}
		delete(got, flow)
	}
	if len(got) > 0 {
		t.Errorf("silent besides: %+v", got)
	}
	text := textOf(t, r)
	for _, line := range []string{"delivered nothing for 100µs or longer\n", "to the end  ", " paused at slow.T-C\n", "rate-limited to 100 Mb/s\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("the report does not say %q:\n%s", line, text)
		}
	}
}

// A packet that is lost, and never retransmitted, may leave its flow waiting for an ACK.
func TestModelSilenceAfterALoss(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s, err := emu.Open("../random/testdata/fabrics/flap.yaml", scenario.Set{Path: "flows.f.window", Value: "1"})
	if err != nil {
		t.Fatal(err)
	}
	r := onVirtualClock(t, s)
	if got := silences(t, r)["f"]; got.Cause != "window" || !got.Lasting {
		t.Errorf("%+v, want one that waits for its window", got)
	}
}

// A source that does not know of what was delivered, and retransmits it forever, is silent since
// the last packet came, and not since it began to retransmit.
func TestModelSilenceOfWhatIsSentAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s, err := emu.Open("../random/testdata/fabrics/silent-late.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := onVirtualClock(t, s)
	want := report.Silence{Flow: "f8", FromPs: 96585676, ToPs: int64(20 * unit.Millisecond), Lasting: true, Cause: "down", Link: "L3.S1-E0"}
	if got := silences(t, r)["f8"]; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A silence that has ended is explained by the link that flow control stopped meanwhile, and not by
// what a rate limiter did at its source.
func TestModelSilenceBehindAStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s, err := emu.Open("roce/ecn")
	if err != nil {
		t.Fatal(err)
	}
	got := silences(t, onVirtualClock(t, s))
	for flow, link := range map[string]string{"enqueue": "S-B", "dequeue": "T-D"} {
		if s := got[flow]; s.Cause != "paused" || s.Link != link || s.Lasting {
			t.Errorf("%s: %+v, want one that was paused at %s", flow, s, link)
		}
	}
}

// A flow whose source could send is not said to be rate-limited if a watchdog dropped its frames.
func TestModelSilenceOfDroppedFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const storm = `name: storm
model: {duration: 2ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pfc}
  switch: {kind: output-queued, memory: 1MB, watchdog: {action: drop, detection: 100us, restoration: 500us, poll: 50us}}
  flow: {packet: 1000B, control: {algorithm: fixed}, priority: 3}
switches: {S: {}, T: {}}
endpoints: [A, B, C]
links: [A - S, C - S, {name: trunk, between: S - T}, T - B]
flows: [{from: A, to: B, name: hit, rate-limit: 3Gb/s}, {from: A, to: B, name: beside, priority: 4, traffic: constant, rate: 1Gb/s},
  {from: C, to: B, name: kept, traffic: constant, rate: 1Gb/s}]
events:
  - {at: 500us, endpoint: B, pause-storm: "on", priorities: [3], for: 700us}
  - {at: 1900us, link: trunk, state: down}
`
	r := onVirtualClock(t, runtest.Load(t, storm))
	got := silences(t, r)
	hit := got["hit"]
	if l := hit.Lost; hit.Cause != report.Dropped || hit.Limit != 0 || l == nil || l.Reason != "storm-dropped" || l.Node != "T" || l.Link != "trunk.S-T" {
		t.Errorf("hit: %+v, lost %+v", hit, l)
	} else if sent := (hit.ToPs - hit.FromPs) / int64(unit.Rate(3e9).Serialise(1000)); l.Count < sent/2 || l.Count > sent {
		t.Errorf("%d frames of hit were dropped, of %d that it sent meanwhile", l.Count, sent)
	}
	if s, silent := got["beside"]; silent {
		t.Errorf("beside: %+v", s)
	}
	text := textOf(t, r)
	if line := fmt.Sprintf("%d of its frames dropped by the watchdog of T\n", hit.Lost.Count); !strings.Contains(text, line) {
		t.Errorf("the report does not say %q:\n%s", line, text)
	}
	if strings.Contains(text, "rate-limited to") {
		t.Errorf("the report speaks of a limit:\n%s", text)
	}
}
