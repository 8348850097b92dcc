package models_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
)

// telemetric returns a short cut of a link under an algorithm.
func telemetric(t testing.TB, control string, sets ...string) *scenario.Scenario {
	t.Helper()
	return runtest.Load(t, `name: telemetric
model: {duration: 300us}
wall: {dilation: 2000}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 2MB per port, marking: {scheme: ecn, min: 40KB, max: 100KB}}
  flow: {packet: 1000B, transport: rocev2, control: `+control+`}
switches: {S: {}, T: {}}
endpoints: ["a[1-3]", b]
links:
  - "a[1-2] - S"
  - {name: trunk, between: S - T}
  - a3 - T
  - {name: hot, between: T - b}
flows:
  - {name: f, from: "a[1-3]", to: b, start: 0us + 20us}
events:
  - {at: 150us, link: hot, rate: 50Gb/s}
`, runtest.Sets(t, sets...)...)
}

// The log is the same as values, through bytes and over sockets: telemetry belongs to the frames.
func TestModelTelemetryOnBothClocks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, control := range []string{"{algorithm: hpcc, base-rtt: 6us}", "{algorithm: hpcc, base-rtt: 6us, exact: true}", "{algorithm: dcqcn-window, base-rtt: 6us}"} {
		s := telemetric(t, control)
		r, values := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		_, bytes := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
		if values != bytes {
			t.Errorf("%s: through their bytes frames are others: %s", control, runtest.FirstDifference(values, bytes))
		}
		if u := runtest.Over(t, r.Metrics, "hot.T-b.utilisation", 0.05, 0.3); u < 0.85 || strings.Contains(control, "hpcc") && u > 0.97 {
			t.Errorf("%s: the link is used for %v", control, u)
		}
		w, wall := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.WallClock}})
		if wall != values {
			t.Errorf("%s: %s", control, runtest.FirstDifference(values, wall))
		}
		if w.Verdict.Level == "void" {
			t.Errorf("%s: %v", control, w.Verdict)
		}
	}
}

// Telemetry has room for five switches, on the path there; its ACK collects none on the return
// path.
func TestModelTelemetryOfFiveHops(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Load(t, `name: far
model: {duration: 200us}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 2MB per port}
  flow: {packet: 1000B, transport: rocev2, control: {algorithm: hpcc}}
switches: {"S[1-5]": {}}
endpoints: [a, b]
links: [a - S1, S1 - S2, S2 - S3, S3 - S4, S4 - S5, S5 - b]
flows: [{name: f, from: a, to: b}]
`)
	r, log := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
	if _, n := r.Metrics.View().Violations(); n > 0 || strings.Contains(log, `"refuse"`) {
		t.Errorf("five hops: %d violations, or telemetry is refused", n)
	}
	acks := 0
	for line := range strings.Lines(log) {
		var e struct{ Event string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event == "round-trip" {
			acks++
		}
	}
	if acks < 1000 {
		t.Errorf("%d ACKs", acks)
	}
}

// Packets that turn back in front of a link that has gone down pass more switches than telemetry
// has room for. Each such ACK counts, its telemetry does not: it is refused, and `refused` has the
// number. Telemetry that does not turn back has none.
func TestModelTelemetryOfTooManyHops(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: back
model: {duration: 600us}
routing: {recompute: 50us}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 2MB per port}
  flow: {packet: 1000B, transport: rocev2, control: {algorithm: hpcc}}
switches: {"S[1-6]": {}}
endpoints: [a, b]
links: [a - S1, S1 - S2, S2 - S3, {name: short, between: S3 - S4}, S4 - b, S1 - S5, S5 - S6, S6 - S4]
flows: [{name: f, from: a, to: b}]
`
	for _, c := range []struct {
		more  string
		turns bool
	}{{"", false}, {"faults: [{at: 90us, link: short, from: S3, stuck: 20us}]\nevents: [{at: 110us, link: short, state: down}]\n", true}} {
		r, log := logOf(t, runtest.Load(t, text+c.more), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
		refused := runtest.Over(t, r.Metrics, "f.refused", 0, 0.6)
		if told := strings.Count(log, `"too-many-hops"`); int(refused) != told || (told > 0) != c.turns {
			t.Errorf("%q: %v are counted, %d are in the log", c.more, refused, told)
		}
		if rate := runtest.Over(t, r.Metrics, "f.utilisation", 0.5, 0.6); rate < 0.8 {
			t.Errorf("%q: in the end the flow has %v of its line", c.more, rate)
		}
	}
}
