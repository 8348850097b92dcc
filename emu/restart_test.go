package emu

import (
	"context"
	"math"
	"strings"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
	"fabemu/wire/unit"
)

// restarting is the fabric of HPL-2002-224 in which switch A is restarted. What is
// lost is sent again.
func restarting(t *testing.T, duration, at string, sets ...string) *scenario.Scenario {
	t.Helper()
	src, err := scenarios.Read("hpl2002/fig3b")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(src), "\nexpect:")
	text = strings.Replace(text, "\nevents: []", "\nevents:\n  - {at: "+at+", switch: A, restart: 500us}", 1)
	list := []scenario.Set{{Path: "model.duration", Value: duration}, {Path: "defaults.flow.timeout", Value: "300us"}}
	for _, flow := range []string{"local", "remote", "victim"} {
		list = append(list, scenario.Set{Path: "flows." + flow + ".start", Value: "0us"})
	}
	list = append(list, scenario.Set{Path: "flows.victim.stop", Value: "end"})
	for _, text := range sets {
		set, err := scenario.ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, set)
	}
	s, err := scenario.Load("restart.yaml", []byte(text), list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// over returns a figure of a run between two instants, in ms.
func over(t *testing.T, r *Result, expression string, from, to float64) float64 {
	t.Helper()
	m, err := metrics.Compile(expression, r.Metrics.Fabric())
	if err != nil {
		t.Fatal(err)
	}
	return m.Over(r.Metrics, unit.Time(from*float64(unit.Millisecond)), unit.Time(to*float64(unit.Millisecond)))
}

// A switch that is restarted comes back: flow control begins anew, no credit is lost or
// invented, what was lost is counted where it was, and each group of flows has its
// rate again.
func TestRestart(t *testing.T) {
	s := restarting(t, "160ms", "80001us")
	r, err := Run(context.Background(), s, Options{Clock: VirtualClock, SkipCodec: true})
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
		before, after := over(t, r, flows+".rate", 60, 80), over(t, r, flows+".rate", 120, 160)
		t.Logf("%s: %.4g before, %.4g after", flows, before, after)
		if math.Abs(after/before-1) > 0.1 {
			t.Errorf("%s: %.4g bytes per second before the restart, %.4g after: want it within 10 %%", flows, before, after)
		}
	}
	// Rates are known at the edges of bins, each 100 us; what was on the line ends before.
	if away := over(t, r, "trunk.A-B.rate", 80.1, 80.5); away != 0 {
		t.Errorf("the switch has sent %.4g bytes per second while it was away", away)
	}
}

// A link that goes down and up does the same to what is on it.
func TestLinkDownIsRecoveredFrom(t *testing.T) {
	s := restarting(t, "160ms", "159ms")
	s.Events = []scenario.Event{
		{At: 80 * unit.Millisecond, Link: "trunk", State: "down"},
		{At: 81 * unit.Millisecond, Link: "trunk", State: "up"},
	}
	r, err := Run(context.Background(), s, Options{Clock: VirtualClock, SkipCodec: true})
	if err != nil {
		t.Fatal(err)
	}
	before, after := over(t, r, "remote.rate", 60, 80), over(t, r, "remote.rate", 120, 160)
	if r.Verdict.Violations != 0 || math.Abs(after/before-1) > 0.1 {
		t.Errorf("%d violations; remote flows %.4g before, %.4g after", r.Verdict.Violations, before, after)
	}
}

// Without congestion control, where rates do not wander by themselves, each flow by
// itself has its rate again, and not only its group.
func TestEachFlowRecoversFromARestart(t *testing.T) {
	s := restarting(t, "160ms", "80001us", "defaults.switch.marking.scheme=none", "defaults.flow.control.law=fixed",
		"flows.local.start=0us + 100us", "flows.remote.start=1ms + 100us", "flows.victim.start=2ms")
	r, err := Run(context.Background(), s, Options{Clock: VirtualClock, SkipCodec: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Violations != 0 || len(r.Flows) != 21 {
		t.Errorf("%d violations, %d flows", r.Verdict.Violations, len(r.Flows))
	}
	for _, f := range r.Flows {
		before, after := over(t, r, f.Name+".rate", 20, 80), over(t, r, f.Name+".rate", 100, 160)
		if !(math.Abs(after/before-1) <= 0.1) {
			t.Errorf("%s: %.4g bytes per second before the restart, %.4g after: want it within 10 %%", f.Name, before, after)
		}
	}
}
