//go:build !race

package emu

import (
	"fmt"
	"testing"

	"fabemu/emu/report"
	"fabemu/emu/runtest"
	"fabemu/emu/scenario"
)

// The event log of a run in processes in exact order is that of the virtual clock, byte for byte, at
// any dilation: of InfiniBand and of Ethernet with PAUSE, with notifications of congestion, with links
// that go down, with a switch that is restarted and with a deadlock.
func TestModelLogInProcessesIsThatOfTheVirtualClock(t *testing.T) {
	load := func(name, duration string, sets ...string) func(dilation string) *scenario.Scenario {
		return func(dilation string) *scenario.Scenario {
			sets := append([]string{"model.duration=" + duration, "wall.dilation=" + dilation}, sets...)
			return runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, sets...)...)
		}
	}
	for _, test := range []struct {
		name      string
		scenario  func(dilation string) *scenario.Scenario
		dilations map[Placement]string
	}{
		{"fig2", load("hpl2002/fig2", "1ms", "flows.victim.start=100us"), map[Placement]string{InProcesses: "1", InDomains: "300"}},
		{"pause", load("ethernet/pause-hol", "1ms"), map[Placement]string{InProcesses: "100", InDomains: "1"}},
		{"qcn", load("qcn/two-points", "2ms"), map[Placement]string{InProcesses: "1", InDomains: "50"}},
		{"failover", load("ethernet/failover", "5ms"), map[Placement]string{InProcesses: "20", InDomains: "1"}},
		{"deadlock", load("ethernet/ring-deadlock", "2ms"), map[Placement]string{InProcesses: "1", InDomains: "100"}},
		{"cbfc", load("cbfc/repair", "2500us"), map[Placement]string{InProcesses: "1", InDomains: "20"}},
		{"restart", func(dilation string) *scenario.Scenario {
			return runtest.Restarting(t, "1ms", "300us", "wall.dilation="+dilation)
		}, map[Placement]string{InProcesses: "200", InDomains: "1"}},
	} {
		virtual, want := logOf(t, test.scenario("1"), Options{Clock: VirtualClock})
		for placement, dilation := range test.dilations {
			t.Run(fmt.Sprint(test.name, "/", placement, "/", dilation), func(t *testing.T) {
				r, got := logOf(t, test.scenario(dilation), Options{Placement: placement, Sync: Exact})
				v := &r.Verdict
				t.Logf("%s: pace %v", v.Level, v.Pace.Ratio)
				if got != want || len(want) < 1<<17 {
					t.Errorf("the logs, of %d bytes, differ: %s", len(want), runtest.FirstDifference(want, got))
				}
				if r.Digest != virtual.Digest || v.Verify != report.VerifiedEqual || v.Order.Overtaken != 0 || v.LostDatagrams != 0 || v.Level == report.Degraded {
					t.Errorf("%s: %s; digest %s, verified %q; want %s", v.Level, v.Reason, r.Digest, v.Verify, virtual.Digest)
				}
			})
		}
	}
}

// With actual timing each process has a clock of its own, and what all of them have shown proves the run:
// the virtual clock with these instants has the same log.
func TestWallProcessesWithActualTimingAreProved(t *testing.T) {
	for placement, name := range map[Placement]string{InDomains: "qcn/two-points", InProcesses: "hpl2002/fig2"} {
		t.Run(string(placement), func(t *testing.T) {
			s := runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, "model.duration=500us", "wall.dilation=1000")...)
			ideal, _ := logOf(t, s, Options{Clock: VirtualClock})
			r, _ := logOf(t, s, Options{Placement: placement, Timing: ActualTiming, Sync: Exact, Verify: VerifyOn})
			v := &r.Verdict
			t.Logf("%s: %s", v.Level, v.Reason)
			if v.Verify != report.VerifiedEqual || v.Order.Overtaken != 0 || r.Digest == ideal.Digest {
				t.Errorf("verified %q, %d frames overtaken, digest %s, with ideal timing %s", v.Verify, v.Order.Overtaken, r.Digest, ideal.Digest)
			}
			if v.Starts == nil || v.Starts.Packets == 0 || !v.Starts.LateShare.Known() {
				t.Errorf("%+v", v.Starts)
			}
		})
	}
}
