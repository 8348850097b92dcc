package emu

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"

	"fabemu/emu/runtest"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// On the wall clock too, several loops keep the one order: the event log and the digest are
// those of the virtual clock, at any number of loops and any dilation, over sockets and memory,
// with more loops than processors, with links that go down and deadlock.
func TestLoopsOnTheWallClockKeepTheOrder(t *testing.T)      { loopsKeepTheOrder(t, true) }
func TestModelLoopsOnTheWallClockKeepTheOrder(t *testing.T) { loopsKeepTheOrder(t, false) }

// loopsKeepTheOrder does those of the runs that pass with the race detector, or the others.
func loopsKeepTheOrder(t *testing.T, raced bool) {
	hpl := func(duration string) *scenario.Scenario { return shortHPL(t, duration) }
	load := func(name, duration string) *scenario.Scenario {
		return runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, "model.duration="+duration)...)
	}
	for _, x := range []struct {
		name     string
		s        *scenario.Scenario
		loops    int
		dilation int64
		carrier  Carrier
		cores    int
		raced    bool
	}{
		{"hpl2002", hpl("400us"), 2, 50, UDP, 2, false},
		{"hpl2002, flat out", hpl("400us"), 2, 1, UDP, 2, true},
		{"hpl2002, memory", hpl("400us"), 3, 20, Pipe, 2, true},
		{"one processor", hpl("200us"), 2, 100, UDP, 1, false},
		{"restart", runtest.Restarting(t, "400us", "200us"), 3, 20, UDP, 2, true},
		{"deadlock", load("ethernet/ring-deadlock", "1ms"), 2, 20, UDP, 2, false},
		{"pfc", load("ethernet/leaf-spine", "200us"), 3, 50, UDP, 2, false},
	} {
		if x.raced != raced {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			x.s.Wall.Dilation = x.dilation
			var logs [2]bytes.Buffer
			var results [2]*Result
			for i, o := range []Options{{Clock: VirtualClock, Digest: true, Events: &logs[0]}, {Loops: x.loops, Link: x.carrier, Events: &logs[1], Verify: VerifyOff}} {
				before := runtime.GOMAXPROCS(x.cores)
				r, err := Run(context.Background(), x.s, o)
				runtime.GOMAXPROCS(before)
				if err != nil {
					t.Fatal(err)
				}
				results[i] = r
			}
			virtual, wall := results[0], results[1]
			if wall.Loops != x.loops || wall.Partial || wall.Verdict.LostDatagrams > 0 {
				t.Errorf("%d loops, warnings %v, verdict %v", wall.Loops, wall.Warnings, wall.Verdict.Reason)
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
			// And without a log, when each loop counts for itself.
			r, err := Run(context.Background(), x.s, Options{Loops: x.loops, Link: x.carrier, Verify: VerifyOff})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(virtual.Flows, r.Flows); r.Digest != virtual.Digest || diff != "" {
				t.Errorf("without a log the digest is %s; flows: %s", r.Digest, diff)
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
	for _, clock := range []Clock{VirtualClock, WallClock} {
		s := runtest.Short(t, "hpl2002/fig2", "2s", "defaults.link.propagation=100us")
		s.Wall.Dilation = 1000
		ctx, stop := context.WithCancel(context.Background())
		r, err := Run(ctx, s, Options{Clock: clock, Loops: 2, Verify: VerifyOff, Progress: func(st Status) {
			if st.Now > 0 {
				stop()
			}
		}})
		stop()
		if err != nil {
			t.Fatal(err)
		}
		if !r.Partial || r.Loops != 2 || r.FrameHops == 0 || r.Metrics.End() >= unit.Time(2*unit.Second) {
			t.Errorf("%s: partial %v, %d loops, %d frame-hops, up to %v: %v", clock, r.Partial, r.Loops, r.FrameHops, r.Metrics.End(), r.Warnings)
		}
	}
}

// Where one loop must run all machines, the result says why.
func TestOneLoopSaysWhy(t *testing.T) {
	for want, o := range map[string]Options{
		"captur":               {Clock: VirtualClock, Capture: &Capture{To: &bytes.Buffer{}}},
		"actual":               {Timing: ActualTiming, Link: Pipe, Verify: VerifyOff},
		"wait for one another": {Clock: VirtualClock},
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
