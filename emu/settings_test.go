package emu_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/observe"
)

// Watermarks and the watchdog of a switch change while a run runs, on the wall clock and by events:
// the result has the events with all values, and the run with them on the virtual clock is the
// same.
func TestSettingsOfARun(t *testing.T) {
	for _, dilation := range []int{200, 2000, 20000} { // until there is time for all of them
		if settingsOfARun(t, dilation) {
			return
		}
	}
	t.Error("runs of up to 80 s end before they are changed")
}

// settingsOfARun changes a run, and reports whether there was time for it.
func settingsOfARun(t *testing.T, dilation int) bool {
	s := runtest.Load(t, fmt.Sprintf(`
name: settings
model: {duration: 4ms}
wall: {dilation: %d}
defaults:
  link: {rate: 1Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 400KB}
  flow: {packet: 1024B}
switches: {S: {}}
endpoints: [a, b, c]
links: [a - S, b - S, S - c]
flows: [{name: one, from: a, to: c}, {name: two, from: b, to: c}]
events: [{at: 500us, switch: S, high: 40KB, low: 30KB}]
`, dilation))
	var changes observe.Changes
	var once sync.Once
	turned := make(chan error, 1)
	x := observe.Func(func(*observe.Snapshot) {
		once.Do(func() {
			go func() {
				for _, text := range []string{"switch: S, high: 20KB", "switch: S, watchdog: {detection: 300us, restoration: 300us, poll: 100us}",
					`{"switch":"S","high":"60KB","low":"5KB"}`, "switch: S, watchdog: forward"} {
					if _, err := changes.Apply(context.Background(), text); err != nil {
						turned <- err
						return
					}
				}
				turned <- nil
			}()
		})
	})
	result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOn, Changes: &changes,
		Observe: []observe.Request{{Observer: x, Every: 10 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-turned; err != nil {
		if strings.Contains(err.Error(), "no active run") || strings.Contains(err.Error(), "the run has ended") {
			return false
		}
		t.Fatal(err)
	}
	if result.Verdict.Verify != report.VerifiedEqual || result.Verdict.Violations != 0 || len(result.Drops) > 0 {
		t.Errorf("verified: %s; %s; drops %v", result.Verdict.Verify, result.Verdict.Reason, result.Drops)
	}
	for _, want := range []string{
		"{at: 500us, switch: S, high: 40KB, low: 30KB}", "switch: S, high: 20KB, low: 17", "switch: S, high: 60KB, low: 5KB}",
		"switch: S, watchdog: {action: drop, detection: 300us, restoration: 300us, poll: 100us, strict: false}}",
		"switch: S, watchdog: {action: forward, detection: 300us, restoration: 300us, poll: 100us, strict: false}}",
	} {
		if !strings.Contains(string(result.Resolved), want) {
			t.Errorf("the resolved scenario lacks %s:\n%s", want, result.Resolved)
		}
	}
	return true
}

// The dilation of the options overrides that of the scenario, which stays as it is; a run on the
// virtual clock has none.
func TestDilationOfTheOptions(t *testing.T) {
	s := runtest.Load(t, runtest.Text(t, "hpl2002/fig3b"), runtest.Sets(t, "model.duration=200us")...)
	own := s.Wall.Dilation
	for _, x := range []struct {
		settings emu.Settings
		want     int64
	}{
		{emu.Settings{Link: emu.Pipe, Dilation: own + 1}, own + 1},
		{emu.Settings{Link: emu.Pipe}, own},
		{emu.Settings{Clock: emu.VirtualClock, Dilation: own + 1}, 0},
	} {
		r, err := emu.Run(t.Context(), s, emu.Options{Settings: x.settings, Verify: emu.VerifyOff})
		if err != nil {
			t.Fatal(err)
		}
		if r.Dilation != x.want || s.Wall.Dilation != own {
			t.Errorf("%+v: the run had a dilation of %d, want %d; the scenario has %d after it, before %d", x.settings, r.Dilation, x.want, s.Wall.Dilation, own)
		}
		if said := fmt.Sprintf("dilation: %d", x.want); x.want > own && !strings.Contains(string(r.Resolved), said) {
			t.Errorf("the resolved scenario does not have %q", said)
		}
	}
	if err := (emu.Options{Settings: emu.Settings{Dilation: -1}}).Check(); err == nil {
		t.Error("a dilation of -1 passes")
	}
}
