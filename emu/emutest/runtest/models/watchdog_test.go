package models_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// watched is the fabric of the plan for the basic test of the PFC watchdog, with all its times
// divided by 1000: a detection of 400 µs, a restoration of 2 ms, polls each 200 µs.
//
// The plan: "storm on egress from 0 to T_storm; traffic 1 from T_restore/2 for T_storm; traffic 2
// from T_restore + T_poll + T_storm for 1 s". In addition to it there is traffic of another
// priority all the time.
func watched(dog, storm string, stormed float64) string {
	const restore, poll = 2.0, 0.2
	first, second := restore/2, restore+poll+stormed
	return fmt.Sprintf(`
name: watched
model: {duration: 6ms, framing: wire}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns, flow-control: pfc, quanta: 1000}
  switch: {kind: output-queued, memory: 400KB per port, watchdog: %s}
  endpoint: {ingress: 2MB}
  flow: {packet: 1000B, traffic: constant, rate: 2Gb/s}
switches: {S: {}}
endpoints: [A, B, C, D]
links:
  - {name: a, between: A - S}
  - {name: b, between: B - S}
  - {name: c, between: S - C}
  - {name: d, between: S - D}
flows:
  - {name: first, from: A, to: C, priority: 3, start: %vms, stop: %vms}
  - {name: second, from: A, to: C, priority: 3, start: %vms, stop: %vms}
  - {name: other, from: B, to: C, priority: 4}
  - {name: back, from: C, to: D, priority: 3, start: 1.2ms, stop: 2ms}
events:
  - %s
`, dog, first, first+stormed, second, second+1, storm)
}

// Each row states how much of its traffic each flow delivers: all of it, or nothing. "T_storm >
// T_detect + T_poll: the watchdog triggers on that priority; all of traffic 1 dropped; all of
// traffic 2 received." "T_storm < T_detect: not triggered; all of both received." With the action
// drop, "frames received on that priority group" are dropped too: they come from C, which is in the
// storm (back). Without a watchdog nothing is dropped, so that the rows with a drop differ from the
// null result.
func TestModelPFCWatchdog(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const times = "detection: 400us, restoration: 2ms, poll: 200us"
	storm := func(more string, d float64) string {
		return fmt.Sprintf(`{at: 0s, endpoint: C, pause-storm: "on", priorities: [3], for: %vms%s}`, d, more)
	}
	for _, tc := range []struct {
		name, dog, storm string
		stormed          float64
		triggers, drops  bool
	}{
		{"drop", "{action: drop, " + times + "}", storm("", 1), 1, true, true},
		{"strict", "{action: drop, strict: true, " + times + "}", storm("", 1), 1, true, true},
		{"short storm", "{action: drop, " + times + "}", storm("", 0.3), 0.3, false, false},
		{"forward", "{action: forward, " + times + "}", storm("", 1), 1, true, false},
		{"alert", "{action: alert, " + times + "}", storm("", 1), 1, true, false},
		{"choppy storm", "{action: drop, " + times + "}", storm(", gap: 20us, period: 150us", 1), 1, false, false},
		{"slow detector", "{action: drop, detection: 1100us, restoration: 2ms, poll: 200us}", storm("", 1), 1, false, false},
	} {
		r, drops := faulted(t, watched(tc.dog, tc.storm, tc.stormed))
		if r.Verdict.Violations != 0 {
			t.Errorf("%s: %d violations: %+v", tc.name, r.Verdict.Violations, r.Violations[0])
		}
		if (len(r.Storms) == 1) != tc.triggers || tc.triggers && (r.Storms[0].Link != "c.S-C" || r.Storms[0].Priority != 3 || r.Storms[0].ToPs == 0) {
			t.Errorf("%s: storms %+v", tc.name, r.Storms)
		}
		for _, f := range r.Flows {
			const sent = 235 // packets in 1 ms at 2 Gb/s, of 1000 bytes with 62 of headers and gap
			want := f.Frames >= sent-1 || f.Name == "first" && tc.stormed < 1 && f.Frames >= sent*3/10-1
			if tc.drops && (f.Name == "first" || f.Name == "back") {
				want = f.Frames == 0
			} else if f.Name == "back" {
				want = f.Frames > 0
			}
			if !want {
				t.Errorf("%s: %s: %d frames", tc.name, f.Name, f.Frames)
			}
		}
		if (drops["storm-dropped"] > 0) != tc.drops || len(drops) > 1 {
			t.Errorf("%s: %v", tc.name, drops)
		}
		if paused := runtest.Over(t, r.Metrics, "a.A-S.paused", 0, 6); tc.drops && paused != 0 {
			t.Errorf("%s: A was paused for %v of the time", tc.name, paused)
		}
	}
}

// A storm of XON triggers no watchdog, and one that takes the place of a storm of XOFF, in the same
// priority and as often, does not keep the watchdog from restoring the queue: "the restoration path
// during an active storm" must tell the two apart (sonic-net/sonic-swss#4581).
func TestXONStormIsNoStorm(t *testing.T) {
	const dog = "{action: drop, detection: 400us, restoration: 2ms, poll: 200us}"
	xon := func(at string) string {
		return fmt.Sprintf(`{at: %s, endpoint: C, pause-storm: "on", priorities: [3], xon: true}`, at)
	}
	xoff := `{at: 0s, endpoint: C, pause-storm: "on", priorities: [3], for: 1ms}`
	for _, c := range []struct {
		storm  string
		storms int
	}{{xon("0s"), 0}, {xoff, 1}, {xoff + "\n  - " + xon("1ms"), 1}} {
		r, drops := faulted(t, watched(dog, c.storm, 1))
		if r.Verdict.Violations != 0 || len(r.Storms) != c.storms || (drops["storm-dropped"] > 0) != (c.storms > 0) {
			t.Fatalf("%s: %d violations, %v, storms %+v", c.storm, r.Verdict.Violations, drops, r.Storms)
		}
		for _, s := range r.Storms {
			if ended := s.ToPs / 1e9; ended < 2 || ended > 4 {
				t.Errorf("%s: the queue is restored at %d ps", c.storm, s.ToPs)
			}
		}
		if n := runtest.Over(t, r.Metrics, "c.C-S.pauses.3", 4, 6); (n > 10) != strings.Contains(c.storm, "xon") {
			t.Errorf("%s: %v PFC frames at the end", c.storm, n)
		}
	}
}

// A deadlock is a storm that does not end by itself. The watchdog breaks it: frames are lost, and
// counted, and the flows go on. Without it, or with one that only reports, nothing comes any more.
func TestModelWatchdogBreaksADeadlock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	ring := strings.Replace(runtest.Text(t, "ethernet/ring-deadlock"), "flow-control: pause", "flow-control: pfc", 1)
	for _, tc := range []struct {
		action string
		breaks bool
		drops  bool
	}{{"", false, false}, {"alert", false, false}, {"drop", true, true}, {"forward", true, false}} {
		text := ring
		if tc.action != "" {
			text = strings.Replace(ring, "memory: 60KB per port", fmt.Sprintf("memory: 60KB per port, watchdog: {action: %s, detection: 400us, restoration: 400us, poll: 100us}", tc.action), 1)
		}
		r, drops := faulted(t, text)
		rate := runtest.Over(t, r.Metrics, "a.rate", 10, 20)
		t.Logf("%s: %.3g bytes per second, %v, %d deadlocks, %d storms", tc.action, rate, drops, len(r.Deadlocks), len(r.Storms))
		if r.Verdict.Violations != 0 {
			t.Errorf("%s: %d violations: %+v", tc.action, r.Verdict.Violations, r.Violations[0])
		}
		if (rate > 1e7) != tc.breaks || (r.EndedPs == 0) != tc.breaks || r.Deadlocked == tc.breaks || (drops["storm-dropped"] > 0) != tc.drops || len(drops) > 1 {
			t.Errorf("%s: %.3g bytes per second, ended at %d ps, deadlocked %t, %v", tc.action, rate, r.EndedPs, r.Deadlocked, drops)
		}
	}
}
