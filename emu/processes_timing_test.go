//go:build timing

package emu

import (
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
)

// With actual timing each process has its own clock, and what all of them have shown proves the
// run: the virtual clock with these instants has the same log.
func TestWallProcessesWithActualTimingAreProved(t *testing.T) {
	for placement, name := range map[Placement]string{InDomains: "qcn/two-points", InProcesses: "hpl2002/fig2"} {
		t.Run(string(placement), func(t *testing.T) {
			s := runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, "model.duration=500us", "wall.dilation=1000")...)
			ideal, _ := logOf(t, s, Options{Settings: Settings{Clock: VirtualClock}})
			r, _ := logOf(t, s, Options{Settings: Settings{Placement: placement, Timing: ActualTiming}, Verify: VerifyOn})
			v := &r.Verdict
			t.Logf("%s: %s", v.Level, v.Reason)
			if v.Verify != report.VerifiedEqual || r.Digest == ideal.Digest {
				t.Errorf("verified %q, digest %s, with ideal timing %s", v.Verify, r.Digest, ideal.Digest)
			}
			if v.Starts == nil || v.Starts.Packets == 0 || !v.Starts.LateShare.Known() {
				t.Errorf("%+v", v.Starts)
			}
		})
	}
}
