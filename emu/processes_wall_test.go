package emu

import (
	"fmt"
	"slices"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
)

// The event log of a run in processes is that of the virtual clock, byte for byte, at
// any dilation: of InfiniBand and of Ethernet with PAUSE, and with notifications of congestion. Of
// workloads and of ranks the same transfers end in the same order. Processes exchange frames over
// UDP.
func TestModelLogInProcessesIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	sameInProcesses(t, false)
}

// So is the log of links that go down or repair losses, of a switch that is restarted and of a
// deadlock.
func TestModelLogOfFaultsInProcessesIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	sameInProcesses(t, true)
}

// sameInProcesses runs the scenarios with faults, or the others.
func sameInProcesses(t *testing.T, faults bool) {
	ofFaults := []string{"failover", "deadlock", "cbfc", "retry", "retry below cbfc", "restart"}
	load := func(name, duration string, sets ...string) func(dilation string) *scenario.Scenario {
		return func(dilation string) *scenario.Scenario {
			sets := append([]string{"model.duration=" + duration, "wall.dilation=" + dilation}, sets...)
			return runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, sets...)...)
		}
	}
	working := func(workload string) func(dilation string) *scenario.Scenario {
		return func(dilation string) *scenario.Scenario {
			return runtest.Load(t, `name: working
model: {duration: 300us}
routing: ecmp
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 100KB per port, marking: {scheme: ecn, min: 5KB, max: 20KB, max-p: 0.2}}
  flow: {packet: 1000B, transport: {kind: rocev2, ack-every: 4}, control: {algorithm: dcqcn, preset: hpcc}}
switches: {"leaf[1-2]": {}, "spine[1-2]": {}}
endpoints: ["h[1-4]"]
links: ["h[1-2] - leaf1", "h[3-4] - leaf2", "leaf[1-2] x spine[1-2]"]
workload: [{name: work, over: "h[1-4]", `+workload+`}]
`, runtest.Sets(t, "wall.dilation="+dilation)...)
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
		{"retry", load("llr/pause", "120us"), map[Placement]string{InProcesses: "500"}},
		{"retry below cbfc", load("cbfc/retry", "1500us"), map[Placement]string{InProcesses: "50", InDomains: "1"}},
		{"restart", func(dilation string) *scenario.Scenario {
			return runtest.Restarting(t, "1ms", "300us", "wall.dilation="+dilation)
		}, map[Placement]string{InProcesses: "200", InDomains: "1"}},
		{"workload", working(`size: "0B:0 2KB:60 40KB:100", load: 0.6`), map[Placement]string{InProcesses: "50", InDomains: "200"}},
		{"ranks", working("collective: all-reduce, size: 40KB, count: 20, compute: 2us"), map[Placement]string{InProcesses: "200", InDomains: "50"}},
	} {
		if slices.Contains(ofFaults, test.name) != faults {
			continue
		}
		virtual, want := logOf(t, test.scenario("1"), Options{Settings: Settings{Clock: VirtualClock}})
		for placement, dilation := range test.dilations {
			t.Run(fmt.Sprint(test.name, "/", placement, "/", dilation), func(t *testing.T) {
				r, got := logOf(t, test.scenario(dilation), Options{Settings: Settings{Placement: placement}})
				v := &r.Verdict
				t.Logf("%s: dilation %v", v.Level, v.Pace.Achieved)
				if len(r.Metrics.Fabric().Workloads()) > 0 {
					transfers, open := r.Metrics.Work(0)
					same, sameOpen := virtual.Metrics.Work(0)
					if !slices.Equal(transfers, same) || !slices.Equal(open, sameOpen) || len(transfers) < 30 {
						t.Errorf("%d transfers have ended, and %d are open; on the virtual clock %d and %d, or others",
							len(transfers), len(open), len(same), len(sameOpen))
					}
				}
				if got != want || len(want) < 1<<17 {
					t.Errorf("the logs, of %d bytes, differ: %s", len(want), runtest.FirstDifference(want, got))
				}
				if r.Digest != virtual.Digest || v.Verify != report.VerifiedEqual || v.LostDatagrams != 0 || v.Level == report.Degraded {
					t.Errorf("%s: %s; digest %s, verified %q; want %s", v.Level, v.Reason, r.Digest, v.Verify, virtual.Digest)
				}
			})
		}
	}
}
