package models_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/runtest"
	"fabemu/emu/scenario"
)

// telemetric returns a short cut of a link under a law.
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

// The log is the same as values, through bytes and over sockets: telemetry goes with the frames.
func TestModelTelemetryOnBothClocks(t *testing.T) {
	for _, control := range []string{"{law: hpcc, base-rtt: 6us}", "{law: hpcc, base-rtt: 6us, exact: true}", "{law: dcqcn-window, base-rtt: 6us}"} {
		s := telemetric(t, control)
		r, values := logOf(t, s, emu.Options{Clock: emu.VirtualClock})
		_, bytes := logOf(t, s, emu.Options{Clock: emu.VirtualClock, Codec: true})
		if values != bytes {
			t.Errorf("%s: through their bytes frames are others: %s", control, runtest.FirstDifference(values, bytes))
		}
		if u := runtest.Over(t, r.Metrics, "hot.T-b.utilisation", 0.05, 0.3); u < 0.85 || strings.Contains(control, "hpcc") && u > 0.97 {
			t.Errorf("%s: the link is used for %v", control, u)
		}
		w, wall := logOf(t, s, emu.Options{Clock: emu.WallClock})
		if wall != values {
			t.Errorf("%s: %s", control, runtest.FirstDifference(values, wall))
		}
		if w.Verdict.Level == "void" {
			t.Errorf("%s: %v", control, w.Verdict)
		}
	}
}

// Telemetry has room for five switches, on the way there; its ACK collects none on the way back.
func TestModelTelemetryOfFiveHops(t *testing.T) {
	s := runtest.Load(t, `name: far
model: {duration: 200us}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 2MB per port}
  flow: {packet: 1000B, transport: rocev2, control: {law: hpcc}}
switches: {"S[1-5]": {}}
endpoints: [a, b]
links: [a - S1, S1 - S2, S2 - S3, S3 - S4, S4 - S5, S5 - b]
flows: [{name: f, from: a, to: b}]
`)
	r, log := logOf(t, s, emu.Options{Clock: emu.VirtualClock, Codec: true})
	if _, n := r.Metrics.Violations(); n > 0 || strings.Contains(log, `"refuse"`) {
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
