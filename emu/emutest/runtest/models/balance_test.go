package models_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
)

// balanced is two leaves with four spines, and flows without pauses of 2 Gb/s each.
const balanced = `
name: balanced
model: {duration: 6ms}
routing: {paths: ecmp, balance: %s}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pause}
  switch: {kind: output-queued, memory: 1MB per port}
  flow: {packet: 1500B, traffic: constant, load: 0.2}
switches: {left: {}, right: {}, "spine[1-4]": {}}
endpoints: ["L[1-%[2]d]", "R[1-%[2]d]"]
links:
  - "L[1-%[2]d] - left"
  - "R[1-%[2]d] - right"
  - "left - spine[1-4]"
  - "spine[1-4] - right"
flows: [{name: there, from: "L[1-%[2]d]", to: "R[1-%[2]d]"}]
events: [%[3]s]
measure: {window: 100us}
`

// TestModelBalance has the cases of SONiC's test plan for adaptive routing and switching
// (sonic-mgmt, ARS-test-plan.md) that need no chip: the forwarding of one flow and of several,
// frame by frame and by flowlet, beside switches without it, over a restart and over links that go
// down. A fabric has one way to divide frames: an ACL that exempts some (case 4) has no
// counterpart.
func TestModelBalance(t *testing.T) {
	const flaps = `{at: 2ms, link: left - spine1, state: down}, {at: 3ms, link: left - spine1, state: up}, ` +
		`{at: 4ms, link: left - spine1, state: down}, {at: 5ms, link: left - spine1, state: up}`
	quarters := func(all float64) [4]float64 { return [4]float64{all / 4, all / 4, all / 4, all / 4} }
	thirds := func(all float64) [4]float64 { return [4]float64{0, all / 3, all / 3, all / 3} }
	type phase struct {
		from, to float64 // ms
		want     [4]float64
	}
	for _, c := range []struct {
		name, events string
		flows        int
		lost         float64 // at most
		phases       []phase
	}{
		{"one flow", "", 1, 0, []phase{{1, 6, quarters(0.2)}}},
		{"several flows", "", 10, 0, []phase{{1, 6, quarters(2)}}},
		{"a restart", "{at: 2ms, switch: left, restart: 500us}", 10, math.Inf(1), []phase{{1, 2, quarters(2)}, {3, 6, quarters(2)}}},
		{"flaps", flaps, 10, 4, []phase{{1, 2, quarters(2)}, {2.1, 3, thirds(2)}, {3.1, 4, quarters(2)}, {4.1, 5, thirds(2)}, {5.1, 6, quarters(2)}}},
	} {
		for _, mode := range []string{"random", "round-robin", "adaptive"} {
			t.Run(c.name+"/"+mode, func(t *testing.T) {
				r := divided(t, mode, c.flows, c.events)
				for _, p := range c.phases {
					for spine, want := range p.want {
						got := used(t, r, spine, p.from, p.to)
						// A binomial part of n frames has a standard deviation of sqrt(n s (1 -
						// s)).
						slack := 0.02 * want
						if mode != "round-robin" && want > 0 {
							slack = 4.5 * math.Sqrt(want*1.2e-6/((p.to-p.from)*1e-3))
						}
						if math.Abs(got-want) > slack {
							t.Errorf("%v to %v ms: spine %d carries %.3f of its link, want %.3f +- %.3f", p.from, p.to, spine+1, got, want, slack)
						}
					}
				}
				if n := runtest.Over(t, r.Metrics, "there.drops", 0, 6); n > c.lost {
					t.Errorf("%v frames are lost, want at most %v", n, c.lost)
				}
			})
		}
	}
	// A flow without pauses is one flowlet, and stays on one link, as with the hash.
	for _, mode := range []string{"hash", "flowlet", "adaptive-flowlet"} {
		t.Run("no pauses/"+mode, func(t *testing.T) {
			r := divided(t, mode, 4, "") // which have room on one link
			all := 0.0
			for spine := range 4 {
				got := used(t, r, spine, 1, 6)
				flows := math.Round(got / 0.2)
				if all += flows; math.Abs(got-0.2*flows) > 0.004 {
					t.Errorf("spine %d carries %.3f of its link, want flows of 0.2", spine+1, got)
				}
			}
			if all != 4 {
				t.Errorf("%v flows are on the links, want 4", all)
			}
		})
	}
}

func divided(t *testing.T, mode string, flows int, events string) *emu.Result {
	t.Helper()
	s := runtest.Load(t, fmt.Sprintf(balanced, mode, flows, events))
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Violations != 0 {
		t.Errorf("%d violations: %+v", r.Verdict.Violations, r.Violations[0])
	}
	return r
}

func used(t *testing.T, r *emu.Result, spine int, from, to float64) float64 {
	t.Helper()
	return runtest.Over(t, r.Metrics, fmt.Sprintf("left-spine%d.utilisation", spine+1), from, to)
}

// permutation is a fat tree of switches with eight ports, in which each of 128 endpoints sends to
// one in the other half, as fast as it can.
const permutation = `
name: permutation
model: {duration: 200us, seed: %d}
routing: {paths: ecmp, balance: %s}
defaults:
  link: {rate: 100Gb/s, propagation: 25ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 8000KB per port}
  flow: {packet: 2048B}
switches: {"leaf[1-32]": {}, "top[1-8]-1": {}, "top[1-8]-2": {}, "top[1-8]-3": {}, "top[1-8]-4": {}, "core[1-16]": {}}
endpoints: ["h[1-128]"]
links:
  - "h[1-128] - leaf[1-32]"
%s  - "top[1-8]-1 x core[1-4]"
  - "top[1-8]-2 x core[5-8]"
  - "top[1-8]-3 x core[9-12]"
  - "top[1-8]-4 x core[13-16]"
flows:
  - {name: there, from: "h[1-64]", to: "h[65-128]"}
  - {name: back, from: "h[65-128]", to: "h[1-64]"}
measure: {window: 2us}
`

// TestModelPermutation: a hash puts each of the four flows of a leaf on any of its four uplinks, so
// (3/4)^4 of the uplinks carry nothing, and no more than the rest of the rate arrives. Choosing for
// each packet gives all uplinks the same, and the flows nearly all of their links.
func TestModelPermutation(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const seeds, uplinks = 5, 128
	pods := ""
	for pod := range 8 {
		pods += fmt.Sprintf("  - \"leaf[%d-%d] x top%d-[1-4]\"\n", 4*pod+1, 4*pod+4, pod+1)
	}
	// Of four flows on four uplinks, the number of those that have none has this mean and variance.
	mean := 4 * math.Pow(3./4, 4)
	variance := mean + 12*math.Pow(2./4, 4) - mean*mean
	for _, c := range []struct {
		mode      string
		low, high float64 // of the rate of the links that arrives
	}{
		{"hash", 0.35, 1 - mean/4 + 0.02},
		{"random", 0.9, 1},
		{"round-robin", 0.97, 1},
		{"adaptive", 0.97, 1},
	} {
		t.Run(c.mode, func(t *testing.T) {
			idle := 0.0
			for seed := range seeds {
				s := runtest.Load(t, fmt.Sprintf(permutation, seed+1, c.mode, pods))
				r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
				if err != nil {
					t.Fatal(err)
				}
				share := (runtest.Over(t, r.Metrics, "there.utilisation", 0.05, 0.2) + runtest.Over(t, r.Metrics, "back.utilisation", 0.05, 0.2)) / 2
				t.Logf("seed %d: %.3f of the rate", seed+1, share)
				if share < c.low || share > c.high {
					t.Errorf("seed %d: %.3f of the rate arrives, want %.2f to %.2f", seed+1, share, c.low, c.high)
				}
				for leaf := range 32 {
					for top := range 4 {
						if runtest.Over(t, r.Metrics, fmt.Sprintf("leaf%d-top%d-%d.utilisation", leaf+1, leaf/4+1, top+1), 0.05, 0.2) == 0 {
							idle++
						}
					}
				}
			}
			want, slack := 0.0, 0.0
			if c.mode == "hash" {
				want, slack = seeds*32*mean, 4*math.Sqrt(seeds*32*variance)
			}
			t.Logf("%v of %d uplinks are idle, want %.0f +- %.0f", idle, seeds*uplinks, want, slack)
			if math.Abs(idle-want) > slack {
				t.Errorf("%v of %d uplinks are idle, want %.0f +- %.0f", idle, seeds*uplinks, want, slack)
			}
		})
	}
}
