package models_test

import (
	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fmt"
	"strings"
	"testing"
)

// A receiver on InfiniBand that takes frames out at a quarter of its link's rate: they
// hold their credit until then, so that no more comes than it takes, nothing is lost, and
// who shares the way is stopped. It starts slow, or is made so by an event, and
// recovers. The log is the same on both clocks.
func TestModelSlowReceiverOnInfiniBand(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	yaml := func(service, events string) string {
		return fmt.Sprintf(`name: slow
model: {duration: 6ms}
wall: {dilation: 1}
defaults: {link: {rate: 1GB/s, buffer: 4 packets}, flow: {packet: 2048B, window: 16}}
switches: {A: {}, B: {}}
endpoints: [{name: slow, service: %s}, fast, s, v]
links: [s - A, v - A, A - B, B - slow, B - fast]
flows: [{name: f, from: s, to: slow}, {name: victim, from: v, to: fast}]
events: [%s]
`, service, events)
	}
	const up = "{at: 4ms, endpoint: slow, service: unlimited}"
	for _, s := range []string{yaml("250MB/s", up), yaml("unlimited", "{at: 1ms, endpoint: slow, service: 250MB/s}, "+up)} {
		r, log := logOf(t, runtest.Load(t, s), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if u := runtest.Over(t, r.Metrics, "B-slow.utilisation", 2, 4); u < 0.24 || u > 0.26 {
			t.Errorf("the link carries %v of what it could, want 0.25", u)
		}
		if held := runtest.Over(t, r.Metrics, "B-slow.stalled.no-credit", 2, 4); held < 0.7 {
			t.Errorf("it has no credit for %v of the time, want 0.75", held)
		}
		if u := runtest.Over(t, r.Metrics, "victim.utilisation", 2, 4); u > 0.9 {
			t.Errorf("who shares the way has %v of its link", u)
		}
		if u := runtest.Over(t, r.Metrics, "f.utilisation", 4.5, 6) + runtest.Over(t, r.Metrics, "victim.utilisation", 4.5, 6); u < 0.98 {
			t.Errorf("when it is fast again both have %v", u)
		}
		if r.Verdict.Violations > 0 || len(r.Losses) > 0 {
			t.Errorf("%+v %+v", r.Violations, r.Losses)
		}
		if _, wall := logOf(t, runtest.Load(t, s), emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOff}); wall != log {
			t.Error("the log on the wall clock is another")
		}
	}
	// Without a limit nothing changes.
	never := yaml("unlimited", up)
	_, with := logOf(t, runtest.Load(t, never), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	_, without := logOf(t, runtest.Load(t, strings.Replace(never, up, "", 1)), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if lines := strings.Count(with, "\n") - strings.Count(without, "\n"); lines != 1 {
		t.Errorf("an event that says what is so already makes %d lines of difference", lines)
	}
}
