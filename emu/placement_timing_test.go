//go:build timing

package emu

import (
	"context"
	"testing"

	"fabemu/emu/run/process"

	"fabemu/emu/emutest/runtest"
)

// Each node in its own process, and each switch with its endpoints: the fabric carries what it
// carries on the virtual clock, no datagram is lost, and no process stays.
func TestWallPlacements(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig2", "3ms", "wall.dilation=500")
	virtual, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	want := frames(t, virtual, "root.B-BC")
	for _, p := range []Placement{InDomains, InProcesses} {
		t.Run(string(p), func(t *testing.T) {
			var started processes
			r, err := Run(context.Background(), s, Options{Settings: Settings{Placement: p}, test: process.Hooks{Started: started.started}})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
			if r.Placement != p || r.Partial || r.Verdict.LostDatagrams != 0 || r.Verdict.Violations != 0 || r.Verdict.Refused != 0 {
				t.Errorf("placement %s, partial %v, %d lost, %d violations, %d refused", r.Placement, r.Partial, r.Verdict.LostDatagrams, r.Verdict.Violations, r.Verdict.Refused)
			}
			if len(r.Deadlocks) != 0 {
				t.Errorf("deadlocks: %+v", r.Deadlocks)
			}
			if !(r.Verdict.CPUSeconds > 0) || float64(r.Verdict.CPUSeconds) > 60 {
				t.Errorf("its processes used %v s of processor time", float64(r.Verdict.CPUSeconds))
			}
			if r.Verdict.Order.Frames == 0 || !r.Verdict.Pace.Achieved.Known() || !r.Verdict.Pace.LatenessUs.P50.Known() {
				t.Errorf("the verdict lacks figures: %+v", r.Verdict)
			}
			got := frames(t, r, "root.B-BC")
			t.Logf("%d frames crossed the root link; on the virtual clock %d", got, want)
			if got != want {
				t.Errorf("%d frames crossed the root link; on the virtual clock %d", got, want)
			}
			if n := len(started.id); p == InDomains && n != 2 || p == InProcesses && n != len(s.Switches)+len(s.Endpoints) {
				t.Errorf("%d processes", n)
			}
			started.wantGone(t)
		})
	}
}
