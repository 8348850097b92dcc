package emu

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// The wall clock keeps the order of the virtual clock: event log, digest, deadlocks and figures are
// the same over each carrier and at any dilation, in time or far behind, with links that go down
// and deadlock.
func TestClockOfTheWallKeepsTheOrder(t *testing.T) { wallKeepsTheOrder(t, true) }
func TestModelClockOfTheWallKeepsTheOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	wallKeepsTheOrder(t, false)
}

// wallKeepsTheOrder does those of the runs that pass with the race detector, or the others.
func wallKeepsTheOrder(t *testing.T, raced bool) {
	hpl := func(duration string) *scenario.Scenario { return shortHPL(t, duration) }
	load := func(name, duration string) *scenario.Scenario {
		return runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, "model.duration="+duration)...)
	}
	for _, x := range []struct {
		name     string
		s        *scenario.Scenario
		dilation int64
		carrier  Carrier
		packing  Packing
		raced    bool
	}{
		{"hpl2002", hpl("400us"), 50, UDP, Single, false},
		{"hpl2002, trains", hpl("400us"), 50, UDP, Trains, true},
		{"hpl2002, flat out", hpl("400us"), 1, UDP, Single, true},
		{"hpl2002, trains, flat out", hpl("400us"), 1, UDP, Trains, false},
		{"hpl2002, unix", hpl("400us"), 50, Unix, Single, true},
		{"hpl2002, unix, flat out", hpl("400us"), 1, Unix, Single, false},
		{"hpl2002, unix, trains, flat out", hpl("400us"), 1, Unix, Trains, true},
		{"hpl2002, veth", hpl("400us"), 50, Veth, Single, false},
		{"hpl2002, veth, trains", hpl("400us"), 50, Veth, Trains, false},
		{"hpl2002, veth, flat out", hpl("400us"), 1, Veth, Single, false},
		{"hpl2002, veth, trains, flat out", hpl("400us"), 1, Veth, Trains, false},
		{"hpl2002, memory", hpl("400us"), 20, Pipe, "", true},
		{"restart", runtest.Restarting(t, "400us", "200us"), 20, UDP, Trains, true},
		{"deadlock", load("ethernet/ring-deadlock", "1ms"), 20, UDP, Trains, false},
		{"pfc", load("ethernet/leaf-spine", "200us"), 50, UDP, Trains, false},
		{"pfc, veth, trains", load("ethernet/leaf-spine", "200us"), 50, Veth, Trains, false},
		{"pfc, veth, trains, flat out", load("ethernet/leaf-spine", "200us"), 1, Veth, Trains, false},
	} {
		if x.raced != raced {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			if x.carrier == Veth {
				needNamespaces(t)
			}
			x.s.Wall.Dilation = x.dilation
			var logs [2]bytes.Buffer
			var results [2]*Result
			for i, o := range []Options{{Settings: Settings{Clock: VirtualClock}, Digest: true, Events: &logs[0]}, {Settings: Settings{Link: x.carrier, Packing: x.packing}, Events: &logs[1], Verify: VerifyOff}} {
				r, err := Run(context.Background(), x.s, o)
				if err != nil {
					t.Fatal(err)
				}
				results[i] = r
			}
			virtual, wall := results[0], results[1]
			if wall.Partial || wall.Verdict.LostDatagrams > 0 {
				t.Errorf("warnings %v, verdict %v", wall.Warnings, wall.Verdict.Reason)
			}
			if virtual.Digest != wall.Digest || !bytes.Equal(logs[0].Bytes(), logs[1].Bytes()) {
				t.Errorf("digest %s, on the virtual clock %s; the logs are equal: %v", wall.Digest, virtual.Digest, bytes.Equal(logs[0].Bytes(), logs[1].Bytes()))
			}
			if diff := cmp.Diff(virtual.Deadlocks, wall.Deadlocks); diff != "" {
				t.Errorf("deadlocks: %s", diff)
			}
			if diff := cmp.Diff(virtual.Flows, wall.Flows); diff != "" {
				t.Errorf("flows: %s", diff)
			}
		})
	}
}

// shortHPL returns Fig. 2 of the paper with all its flows in a short time.
func shortHPL(t *testing.T, duration string) *scenario.Scenario {
	return runtest.Short(t, "hpl2002/fig2", duration, "flows.local.start=0us + 2us", "flows.remote.start=20us + 2us", "flows.victim.start=40us", "flows.victim.stop="+duration)
}

// A run that is stopped has all loops stop, and what was measured until then.
func TestLoopsAreStopped(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig2", "60s", "measure.window=1s", "defaults.link.propagation=100us")
	ctx, stop := context.WithCancel(context.Background())
	r, err := Run(ctx, s, Options{Settings: Settings{Clock: VirtualClock, Loops: 2}, Verify: VerifyOff, Progress: func(st Status) {
		if st.Now > 0 {
			stop()
		}
	}})
	stop()
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial || r.Loops != 2 || r.FrameHops == 0 || r.Metrics.End() >= unit.Time(60*unit.Second) {
		t.Errorf("partial %v, %d loops, %d frame-hops, up to %v: %v", r.Partial, r.Loops, r.FrameHops, r.Metrics.End(), r.Warnings)
	}
}

// Where one loop must run all nodes, the result says why.
func TestOneLoopSaysWhy(t *testing.T) {
	for want, o := range map[string]Options{
		"captur":              {Settings: Settings{Clock: VirtualClock}, Capture: &Capture{To: &bytes.Buffer{}}},
		"wait for each other": {Settings: Settings{Clock: VirtualClock}},
	} {
		o.Loops = 2
		r, err := Run(context.Background(), shortHPL(t, "100us"), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Loops != 1 || !strings.Contains(strings.Join(r.Warnings, "; "), want) {
			t.Errorf("%d loops, warnings %q, want %q", r.Loops, r.Warnings, want)
		}
	}
}
