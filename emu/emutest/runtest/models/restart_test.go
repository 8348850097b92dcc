package models_test

import (
	"context"
	"fabemu/emu"
	"math"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// A switch that is restarted comes back: flow control begins again, no credit is lost or
// invented, what was lost is counted where it was, and each group of flows has its
// rate again.
func TestModelRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Restarting(t, "160ms", "80001us")
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Violations != 0 {
		t.Errorf("%d promises broke: %+v", r.Verdict.Violations, r.Violations[0])
	}
	drops := make(map[string]int64)
	for _, d := range r.Drops {
		drops[d.Reason] = d.Count
	}
	t.Logf("drops: %v", drops)
	if drops["restarted"] == 0 {
		t.Error("nothing was in the switch when it was restarted")
	}
	for _, flows := range []string{"local", "remote", "victim"} {
		before, after := runtest.Over(t, r.Metrics, flows+".rate", 60, 80), runtest.Over(t, r.Metrics, flows+".rate", 120, 160)
		t.Logf("%s: %.4g before, %.4g after", flows, before, after)
		if math.Abs(after/before-1) > 0.1 {
			t.Errorf("%s: %.4g bytes per second before the restart, %.4g after: want it within 10 %%", flows, before, after)
		}
	}
	// Rates are known at the edges of bins, each 100 µs; what was on the link ends before.
	if away := runtest.Over(t, r.Metrics, "trunk.A-B.rate", 80.1, 80.5); away != 0 {
		t.Errorf("the switch has sent %.4g bytes per second while it was away", away)
	}
}

// A link that goes down and up does the same to what is on it.
func TestModelLinkDownIsRecoveredFrom(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Restarting(t, "160ms", "159ms")
	s.Events = []scenario.Event{
		{At: 80 * unit.Millisecond, Link: "trunk", Act: scenario.StateChange{State: "down"}},
		{At: 81 * unit.Millisecond, Link: "trunk", Act: scenario.StateChange{State: "up"}},
	}
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	before, after := runtest.Over(t, r.Metrics, "remote.rate", 60, 80), runtest.Over(t, r.Metrics, "remote.rate", 120, 160)
	if r.Verdict.Violations != 0 || math.Abs(after/before-1) > 0.1 {
		t.Errorf("%d violations; remote flows %.4g before, %.4g after", r.Verdict.Violations, before, after)
	}
}

// Without congestion control, where rates do not wander by themselves, each flow by
// itself has its rate again, and not only its group.
func TestModelEachFlowRecoversFromARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Restarting(t, "160ms", "80001us", "defaults.switch.marking.scheme=none", "defaults.flow.control.algorithm=fixed",
		"flows.local.start=0us + 100us", "flows.remote.start=1ms + 100us", "flows.victim.start=2ms")
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Violations != 0 || len(r.Flows) != 21 {
		t.Errorf("%d violations, %d flows", r.Verdict.Violations, len(r.Flows))
	}
	for _, f := range r.Flows {
		before, after := runtest.Over(t, r.Metrics, f.Name+".rate", 20, 80), runtest.Over(t, r.Metrics, f.Name+".rate", 100, 160)
		if !(math.Abs(after/before-1) <= 0.1) {
			t.Errorf("%s: %.4g bytes per second before the restart, %.4g after: want it within 10 %%", f.Name, before, after)
		}
	}
}
