package models_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/wire/unit"
)

// Two senders at one output keep the memory of their inputs at the high watermark, so the fullest
// input follows a change of it: it has the watermark and no more than the headroom of the link,
// which is below 4 KB with frames of 1500 bytes, 100 ns of flight and 10 Gb/s. Nothing is lost, and
// the line stays busy.
func TestModelQueuesFollowTheWatermarks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const headroom = 4000
	for _, tc := range []struct{ name, control, sharing string }{
		{"PFC", "pfc", "partitioned"}, {"PAUSE", "pause", "partitioned"}, {"PFC in a pool", "pfc", "pooled"},
	} {
		text := strings.NewReplacer("flow-control: pfc", "flow-control: "+tc.control,
			"200KB per port", "200KB per port, sharing: "+tc.sharing).Replace(fmt.Sprintf(star, "4ms")) + `events:
  - {at: 1ms, switch: S, high: 50KB}
  - {at: 2ms, switch: S, high: 100KB, low: 20KB}
  - {at: 3ms, switch: S, high: 30KB}
`
		for _, want := range []struct {
			from, to unit.Duration // in us
			high     int64
		}{{1300, 2000, 50_000}, {2300, 3000, 100_000}, {3300, 4000, 30_000}} {
			x := &fullest{from: unit.Time(want.from * unit.Microsecond), to: unit.Time(want.to * unit.Microsecond)}
			r, err := emu.Run(context.Background(), runtest.Load(t, text), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: x})
			if err != nil {
				t.Fatal(err)
			}
			if x.most < want.high || x.most > want.high+headroom {
				t.Errorf("%s: at most %d bytes with a high watermark of %d", tc.name, x.most, want.high)
			}
			if busy := runtest.Over(t, r.Metrics, "c.S-C.utilisation", 0.5, 4); r.Verdict.Violations != 0 || len(r.Drops) > 0 || busy < 0.99 {
				t.Errorf("%s: %d violations, drops %v, %.3f of the line", tc.name, r.Verdict.Violations, r.Drops, busy)
			}
		}
	}
}

// A switch that is restarted has the watermarks that it had.
func TestModelWatermarksOutlastARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	x := &fullest{from: unit.Time(2 * unit.Millisecond), to: unit.Time(3 * unit.Millisecond)}
	text := fmt.Sprintf(star, "3ms") + "events: [{at: 500us, switch: S, high: 50KB}, {at: 1ms, switch: S, restart: 100us}]\n"
	if _, err := emu.Run(context.Background(), runtest.Load(t, text), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: x}); err != nil {
		t.Fatal(err)
	}
	if x.most < 50_000 || x.most > 54_000 {
		t.Errorf("at most %d bytes with a high watermark of 50000", x.most)
	}
}

// A switch receives a watchdog that forwards, while the switch behind it is full and stops it. Its
// frames then overrun the other one, which has promised nothing to a sender that ignores it: they
// are lost, and no promise is broken.
func TestModelWatchdogOverrunsThePeer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r, drops := faulted(t, `
name: overrun
model: {duration: 3ms, framing: wire}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 100KB per port}
  flow: {packet: 1500B}
switches: {S: {}, T: {}}
endpoints: [A, C]
links: [A - S, {name: trunk, between: S - T}, T - C]
flows: [{name: one, from: A, to: C}]
events:
  - {at: 0s, endpoint: C, pause-storm: "on"}
  - {at: 1ms, switch: S, watchdog: {action: forward, detection: 200us, restoration: 2ms, poll: 100us}}
`)
	if r.Verdict.Violations != 0 || drops["not-stopped"] == 0 || len(drops) > 1 || len(r.Storms) != 1 {
		t.Errorf("%d violations, drops %v, storms %+v", r.Verdict.Violations, drops, r.Storms)
	}
}

// The watchdog of TestModelPFCWatchdog, which comes or changes before the storm or in it: its new
// parameters alone decide what becomes of the traffic. A change of the action in the storm ends the
// one storm and finds another.
func TestModelWatchdogChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const (
		slow  = "{detection: 5ms, restoration: 5ms, poll: 200us}"
		times = "detection: 400us, restoration: 2ms, poll: 200us"
		storm = `{at: 0s, endpoint: C, pause-storm: "on", priorities: [3], for: 3ms}`
	)
	for _, tc := range []struct {
		name, events  string
		storms        int
		drops, passes bool // of the first flow
	}{
		{"none", "", 0, false, false},
		{"drop", "{at: 0s, switch: S, watchdog: {action: drop, " + times + "}}", 1, true, false},
		{"forward", "{at: 0s, switch: S, watchdog: {action: forward, " + times + "}}", 1, false, true},
		{"forward in the storm", "{at: 500us, switch: S, watchdog: {action: forward, " + times + "}}", 1, false, true},
		{"alert, then drop", "{at: 0s, switch: S, watchdog: {action: alert, " + times + "}}\n  - {at: 1500us, switch: S, watchdog: drop}", 2, true, false},
		{"too slow", "{at: 0s, switch: S, watchdog: {detection: 5ms, poll: 100us}}", 0, false, false},
	} {
		events := storm
		if tc.events != "" {
			events += "\n  - " + tc.events
		}
		r, drops := faulted(t, watched(slow, events, 1))
		if r.Verdict.Violations != 0 {
			t.Errorf("%s: %d violations: %+v", tc.name, r.Verdict.Violations, r.Violations[0])
		}
		if len(r.Storms) != tc.storms || (drops["storm-dropped"] > 0) != tc.drops || len(drops) > 1 {
			t.Errorf("%s: storms %+v, drops %v", tc.name, r.Storms, drops)
		}
		for _, f := range r.Flows {
			if f.Name == "first" && !tc.drops && f.Frames < 234 || f.Name == "other" && f.Frames == 0 {
				t.Errorf("%s: %s: %d frames", tc.name, f.Name, f.Frames)
			}
		}
		if in := runtest.Over(t, r.Metrics, "first.rate", 1.2, 2); (in > 0) != tc.passes {
			t.Errorf("%s: the first flow has %v in the storm", tc.name, in)
		}
	}
}
