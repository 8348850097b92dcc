package models_test

import (
	"context"
	"fabemu/emu"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// qcnScenario reads a scenario of QCN, cut short, with changes. Its checks are left out.
func qcnScenario(t *testing.T, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	return runtest.Load(t, runtest.Text(t, "qcn/"+name), runtest.Sets(t, sets...)...)
}

// spanOfMs is an interval in milliseconds.
func spanOfMs(from, to int) [2]unit.Time {
	ms := unit.Time(unit.Millisecond)
	return [2]unit.Time{unit.Time(from) * ms, unit.Time(to) * ms}
}

// A flow is known to the source by the octets that come back, by its CN-TAG, or not at
// all, and then its endpoint has a limiter for all. However it is, notifications reach
// sources, rates change, and the link stays full without a frame lost.
func TestModelNotificationsReachTheirSources(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for name, sets := range map[string][]string{
		"octets":   nil,
		"CN-TAG":   {"defaults.switch.marking.octets=0", "defaults.flow.control.cn-tag=true"},
		"both":     {"defaults.flow.control.cn-tag=true"},
		"shared":   {"defaults.switch.marking.octets=0", "defaults.flow.control.shared=true"},
		"table":    {"defaults.switch.marking.sampling=table"},
		"standard": {"defaults.switch.marking.version=standard", "defaults.flow.control.version=standard"},
		"basic":    {"defaults.flow.control.timer=none"},
		"on wire":  {"model.framing=wire"},
	} {
		t.Run(name, func(t *testing.T) {
			s := qcnScenario(t, "unit-step", append(sets, "model.duration=40ms", "measure.window=2ms")...)
			r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Verdict.Violations; n != 0 || len(r.Drops) != 0 {
				t.Fatalf("%d violations, drops %v", n, r.Drops)
			}
			v := figuresOver(t, r, []string{"sources.notifications", "sources.fb", "shared.S-B.utilisation", "sources.A1.notifications"}, spanOfMs(20, 40))
			if v[0] < 20 || v[3] < 1 {
				t.Errorf("%v notifications, %v of them for A1", v[0], v[3])
			}
			if v[1] < 1 || v[1] > 63 {
				t.Errorf("the mean feedback is %v", v[1])
			}
			if want := 0.9; v[2] < want && name != "on wire" { // there the rate is of the payload's frame on the link
				t.Errorf("the link is used to %v", v[2])
			}
		})
	}
}

// Without QCN the same ten sources are stopped by PAUSE alone, at the watermarks.
func TestModelQCNKeepsSourcesFromBeingPaused(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	var paused [2]float64
	for i, algorithm := range []string{"qcn", "fixed"} {
		s := qcnScenario(t, "unit-step", "model.duration=100ms", "defaults.flow.control.algorithm="+algorithm)
		r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if err != nil {
			t.Fatal(err)
		}
		paused[i] = figuresOver(t, r, []string{"sources.stalled.paused"}, spanOfMs(50, 100))[0]
	}
	if paused[0] > 0.05 || paused[1] < 0.7 {
		t.Errorf("sources are paused for %.3f of the time with QCN and %.3f without; want next to nothing and nine tenths", paused[0], paused[1])
	}
}

// Notifications go over real sockets as bytes, and what comes of them is what comes of
// them on the virtual clock, event for event: all figures that are checked are the same.
func TestQCNOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
	s := qcnScenario(t, "unit-step", "model.duration=1500us", "measure.window=500us", "wall.dilation=200", "defaults.flow.control.cn-tag=true")
	r, err := emu.Run(context.Background(), s, emu.Options{Verify: emu.VerifyOn})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Verify != "equal" {
		t.Errorf("the log, compared with the virtual clock's: %q", r.Verdict.Verify)
	}
	if n := figuresOver(t, r, []string{"sources.notifications"}, [2]unit.Time{0, unit.Time(1500 * unit.Microsecond)})[0]; n < 20 {
		t.Errorf("%v notifications", n)
	}
}
