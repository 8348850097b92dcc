package models_test

import (
	"bytes"
	"context"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/capture/dump"
	"fabemu/wire/unit"
)

// e2cmText is four sources that share a node which takes 1 Gb/s, without PAUSE from the switch.
const e2cmText = `name: e2cm
model: {duration: 100ms}
measure: {window: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pause}
  switch: {kind: output-queued, forwarding-delay: 1us, memory: 600KB per port, lossless: [], marking: {scheme: bcn, version: ecm}}
  endpoint: {ingress: 300KB, high: 250KB, low: 240KB}
  flow: {packet: 1500B, traffic: bernoulli, rate: 1Gb/s, control: {algorithm: e2cm}}
switches: {S: {}}
endpoints: ["A[1-4]", {name: B, service: 1Gb/s}]
links: ["A[1-4] - S", {name: shared, between: S - B}]
flows:
  - {name: sources, from: "A[1-4]", to: B}
`

func e2cmScenario(t *testing.T, sets ...string) *scenario.Scenario {
	t.Helper()
	return runtest.Load(t, e2cmText, runtest.Sets(t, sets...)...)
}

// Probes and messages hold the queue, whoever counts: it neither runs empty nor gets twice as
// long as Qeq, 75 KB, and the node has what it takes. No more is answered than was asked.
func TestModelE2CMHoldsTheQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for name, sets := range map[string][]string{
		"source":      nil,
		"destination": {"defaults.flow.control.accounting=destination"},
		"on wire":     {"model.framing=wire"},
		"lost":        {"defaults.flow.control.lost-probes=20"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := emu.Run(context.Background(), e2cmScenario(t, sets...), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
			if err != nil {
				t.Fatal(err)
			}
			v := figuresOver(t, r, []string{"shared.S-B.queue", "shared.S-B.utilisation", "sources.drops"}, spanOfMs(50, 100))
			if v[0] < 20000 || v[0] > 150000 || v[1] < 0.09 || v[1] > 0.11 || v[2] != 0 {
				t.Errorf("a queue of %.0f bytes, a link that is used to %.3f, %v drops", v[0], v[1], v[2])
			}
			said := figuresOver(t, r, []string{"sources.probes", "sources.answers", "sources.notifications"}, spanOfMs(0, 100))
			if lost := name == "lost"; said[0] < 100 || said[1] > said[0] || (said[1] < 0.9*said[0]) != lost || said[2] <= said[1] || r.Verdict.Violations != 0 {
				t.Errorf("%v probes, %v answers, %v in all; %d violations", said[0], said[1], said[2], r.Verdict.Violations)
			}
		})
	}
}

// A capture of a run proves that each answer says what its probe has said.
func TestModelE2CMProbesAreProvedRight(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, both := range []bool{false, true} {
		var b, out bytes.Buffer
		s := e2cmScenario(t, "model.duration=40ms", "defaults.flow.control.probe-interval=15KB")
		if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &b, Snap: 64, Both: both}}); err != nil {
			t.Fatal(err)
		}
		sum, err := dump.Dump(&out, dump.Options{Check: true, Quiet: true}, &b)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Problems() != 0 || sum.Checked[dump.Probes] < 100 || sum.Gaps[dump.NoProbes] != 0 {
			t.Errorf("%v, %v, %v\n%.2000s", sum.Checked, sum.Found, sum.Gaps, out.String())
		}
	}
}

// Probes and answers go over real sockets as bytes, and what comes of them is what comes of
// them on the virtual clock, event for event.
func TestModelE2CMOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, accounting := range []string{"source", "destination"} {
		s := e2cmScenario(t, "model.duration=6ms", "measure.window=500us", "wall.dilation=300", "defaults.switch.marking.pm=0.1", "defaults.flow.control.probe-interval=9KB", "defaults.flow.control.accounting="+accounting)
		r, err := emu.Run(context.Background(), s, emu.Options{Verify: emu.VerifyOn})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Verify != "equal" {
			t.Errorf("by the %s: the log, compared with the virtual clock's: %q", accounting, r.Verdict.Verify)
		}
		if n := figuresOver(t, r, []string{"sources.answers"}, [2]unit.Time{0, unit.Time(6 * unit.Millisecond)})[0]; n < 10 {
			t.Errorf("by the %s: %v answers", accounting, n)
		}
	}
}
