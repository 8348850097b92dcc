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

// ultraFabric is an incast of Ultra Ethernet with each of its controls, whose packets are trimmed
// before and at the last switch, beside ordered delivery.
const ultraFabric = `name: ultra
model: {duration: 400us, seed: 3}
routing: {paths: ecmp, recompute: 5us}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: none}
  switch: {kind: output-queued, memory: 60KB per port, output-limit: 20KB, lossless: [], trim: 64B, marking: {scheme: ecn, min: 5KB, max: 20KB}}
  flow: {packet: 1024B, traffic: transfers, size: 32KiB, jitter: 0s, start: 0s}
switches: {"leaf[1-2]": {}, "spine[1-2]": {}}
endpoints: ["a[1-4]", "b[1-2]"]
links: ["a[1-4] - leaf1", "b[1-2] - leaf2", "leaf[1-2] x spine[1-2]"]
flows:
  - {name: plain, from: a1, to: b1, transport: {kind: uet, window: 32}}
  - {name: nscc, from: a2, to: b1, transport: {kind: uet, spray: mixed}, control: {algorithm: nscc, base-rtt: 10us}}
  - {name: rccc, from: a3, to: b1, transport: {kind: uet, spray: oblivious}, control: {algorithm: rccc, base-rtt: 10us}}
  - {name: both, from: a4, to: b1, transport: {kind: uet, probe-after: 40us}, control: {algorithm: nscc-rccc, base-rtt: 10us}}
  - {name: ordered, from: a4, to: b2, transport: {kind: uet, delivery: ordered, window: 8}}
`

// ultraFaults are what happens to it: a link that fails, a switch that is restarted, and links that
// lose, damage and delay frames.
const ultraFaults = `events:
  - {at: 60us, link: leaf1 - spine1, state: down}
  - {at: 110us, link: leaf1 - spine1, state: up}
  - {at: 150us, switch: leaf2, restart: 20us}
faults:
  - {link: leaf1 - spine2, at: 20us, loss: 0.05, for: 200us}
  - {link: leaf2 - spine1, at: 20us, corruption: 0.05, for: 200us}
  - {link: a3 - leaf1, at: 200us, delay: 10us, jitter: 1us, for: 50us}
`

// sameInProcesses runs the scenarios with faults, or the others.
func sameInProcesses(t *testing.T, faults bool) {
	ofFaults := []string{"failover", "deadlock", "cbfc", "retry", "retry below cbfc", "restart", "uet with faults"}
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
	ultra := func(more string) func(dilation string) *scenario.Scenario {
		return func(dilation string) *scenario.Scenario {
			return runtest.Load(t, ultraFabric+more, runtest.Sets(t, "wall.dilation="+dilation)...)
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
		{"uet", ultra(""), map[Placement]string{InProcesses: "100", InDomains: "1"}},
		{"uet with faults", ultra(ultraFaults), map[Placement]string{InProcesses: "1", InDomains: "100"}},
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
