package models_test

import (
	"bytes"
	"context"
	"fabemu/emu"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/run/assemble"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// ring returns a ring of five switches with an endpoint each; each of them sends to the
// one that is hops further on, clockwise, which is the shortest way.
func ring(t *testing.T, hops int) *scenario.Scenario {
	t.Helper()
	var b strings.Builder
	b.WriteString(`name: ring
description: "A ring, for deadlock."
model: {duration: 100ms, seed: 1}
wall: {dilation: 200}
defaults:
  link: {rate: 1GB/s, propagation: 1ns, flow-control: credit, buffer: 4 packets}
  switch: {kind: input-buffered, forwarding-delay: 40ns, crossbar: multi-output}
  flow: {traffic: greedy, packet: 2048B, window: 64, limiter: ipd, control: {algorithm: fixed}}
switches: {S1: {}, S2: {}, S3: {}, S4: {}, S5: {}}
endpoints: ["E[1-5]"]
links:
`)
	for i := range 5 {
		fmt.Fprintf(&b, "  - {name: r%d, between: S%d - S%d}\n  - E%d - S%d\n", i+1, i+1, (i+1)%5+1, i+1, i+1)
	}
	b.WriteString("flows:\n")
	for i := range 5 {
		fmt.Fprintf(&b, "  - {name: f%d, from: E%d, to: E%d}\n", i+1, i+1, (i+hops)%5+1)
	}
	b.WriteString("measure: {window: 1ms}\n")
	s, err := resolve.Load("ring.yaml", []byte(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// "A cyclic wait for credit is found and named": in a ring whose flows cross two links
// each, every switch comes to wait for the next; and as nothing else can happen then,
// the run ends long before its time.
func TestModelRingOfSwitchesDeadlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r, err := emu.Run(context.Background(), ring(t, 2), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Deadlocks) != 1 {
		t.Fatalf("deadlocks: %+v, want one", r.Deadlocks)
	}
	var got []report.Waiting
	for _, w := range r.Deadlocks[0].Cycle {
		if w.SincePs <= 0 || w.SincePs > int64(unit.Millisecond) {
			t.Errorf("%s waits since %v", w.Node, unit.Time(w.SincePs))
		}
		w.SincePs = 0
		got = append(got, w)
	}
	var want []report.Waiting
	for i := range 5 {
		link := fmt.Sprintf("r%d.S%d-S%d", i+1, i+1, (i+1)%5+1)
		want = append(want, report.Waiting{Node: fmt.Sprintf("S%d", i+1), For: fmt.Sprintf("S%d", (i+1)%5+1), Link: link, Cause: "no-credit"})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the cycle (-want +got):\n%s", diff)
	}
	if r.EndedPs == 0 || r.EndedPs > int64(20*unit.Millisecond) || r.Partial {
		t.Errorf("ended at %v, partial %v", unit.Time(r.EndedPs), r.Partial)
	}
	if r.Verdict.Violations != 0 {
		t.Errorf("%d violations", r.Verdict.Violations)
	}
	var text bytes.Buffer
	if err := summary.WriteText(&text, r.Result, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"S5 waits for S1 by r5.S5-S1 (no-credit, class 0) since ", "Nothing else could happen: the run was ended at "} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("the report does not say %q:\n%s", line, text.String())
		}
	}
}

// Flows that cross one link each share none, and none waits in a cycle.
func TestModelRingOfShortFlowsGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := ring(t, 1)
	s.Model.Duration = 10 * unit.Millisecond
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Deadlocks) != 0 || r.EndedPs != 0 {
		t.Errorf("deadlocks: %+v, ended at %v", r.Deadlocks, unit.Time(r.EndedPs))
	}
}

// A deadlock does not end flows that are not part of it: in addition to a ring that stops
// still two endpoints send a packet now and then, until the end of the run.
func TestModelDeadlockBesideTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	src, err := builtin.Read("ethernet/ring-deadlock")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(src), "\nexpect:")
	text = strings.NewReplacer("C: {}}", "C: {}, D: {}}", "NC]", "NC, X, Y]", "  - NC - C", "  - NC - C\n  - X - D\n  - Y - D",
		"flows:", "flows:\n  - {name: x, from: X, to: Y, traffic: constant, rate: 4Mb/s, jitter: 0s}").Replace(text) + "\n"
	s, err := resolve.Load("ring.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := onVirtualClock(t, s)
	if len(r.Deadlocks) != 1 || r.EndedPs != 0 || !r.Deadlocked || !r.Stuck() {
		t.Errorf("deadlocks: %+v, ended at %v, lasting %t; want one to the end, and no early end", r.Deadlocks, unit.Time(r.EndedPs), r.Deadlocked)
	}
	// A packet of 1500 bytes takes 3 ms at 4 Mb/s.
	if got := r.Flows[0].Frames; got != 7 {
		t.Errorf("%d packets came in 20 ms, want 7", got)
	}
}

// Looks for deadlock are rarer in large fabrics, where each costs more: once more for
// every 500 nodes.
func TestModelLooksAreRarerInLargeFabrics(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	every := func(endpoints int) unit.Duration {
		text, err := generate.Write("incast", generate.Options{Endpoints: endpoints})
		if err != nil {
			t.Fatal(err)
		}
		s, err := resolve.Load("incast.yaml", text, []scenario.Set{{Path: "model.duration", Value: "10ms"}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := fabric.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		driven, err := assemble.New(f, assemble.Schemes{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w := driven.Watch; w.Idle != 10*w.Every {
			t.Errorf("%d endpoints: looks every %v, and deadlocked for good after %v: it should take ten looks", endpoints, w.Every, w.Idle)
		}
		return driven.Watch.Every
	}
	small := every(20)
	for endpoints, factor := range map[int]unit.Duration{498: 1, 499: 2, 2000: 5} { // and a switch
		if got := every(endpoints); got != factor*small {
			t.Errorf("%d endpoints: looks every %v, want %v", endpoints, got, factor*small)
		}
	}
}

// A run that is shorter than what the watch waits between two looks has one at its end.
func TestDeadlockInAShortRun(t *testing.T) {
	s := ring(t, 2)
	s.Model.Duration, s.Measure.Window = 90*unit.Microsecond, 90*unit.Microsecond
	r := onVirtualClock(t, s)
	if len(r.Deadlocks) != 1 || r.EndedPs != 0 || unit.Time(r.Deadlocks[0].AtPs) != unit.Time(s.Model.Duration)-1 {
		t.Errorf("deadlocks: %+v, ended at %v; want one, at the end", r.Deadlocks, unit.Time(r.EndedPs))
	}
}
