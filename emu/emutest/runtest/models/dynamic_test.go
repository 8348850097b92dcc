package models_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
)

// shared is a leaf-spine with PFC whose switches share little memory by alpha.
const shared = `
name: shared
model: {duration: 2ms, seed: %d}
defaults:
  link: {rate: 100Gb/s, propagation: 300ns, flow-control: pfc, response: 394 quanta}
  switch: {kind: output-queued, memory: %s, sharing: pooled, alpha: %s%s}
  flow: {packet: 1500B}
switches: {L1: {}, L2: {}, S1: {}, S2: {}}
endpoints: ["h[1-8]"]
links:
  - "h[1-4] - L1"
  - "h[5-8] - L2"
  - {between: L1 - S1, rate: 100Gb/s}
  - {between: L1 - S2, rate: 40Gb/s}
  - {between: L2 - S1, rate: 100Gb/s}
  - {between: L2 - S2, rate: 40Gb/s}
routing: {paths: ecmp}
workload:
  - {name: small, over: "h[1-8]", pattern: incast, senders: 5, size: 30KB, load: 0.5, priority: 3}
  - {name: large, over: "h[1-8]", pattern: uniform, size: 200KB, load: 0.3, priority: 1}
measure: {window: 100us}
`

// stops returns how many PFC frames the endpoints have received.
func stops(r *emu.Result) (n int64) {
	v := r.Metrics.View()
	for i := range v.Fabric().Nodes {
		if v.Fabric().Nodes[i].Switch == nil {
			for _, frames := range v.Classes(i, 0) {
				n += frames
			}
		}
	}
	return n
}

// With alpha nothing is lost, however small the shared memory and whatever alpha; without the
// headroom frames are. Neither a second loop, nor frames as
// bytes, nor a run without events changes anything.
func TestModelAlphaIsLossless(t *testing.T) {
	run := func(seed int, alpha, memory, more string, loops int, digest bool) *emu.Result {
		t.Helper()
		s := runtest.Load(t, fmt.Sprintf(shared, seed, memory, alpha, more))
		r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: loops > 1, Loops: loops}, Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	text := func(r *emu.Result) string {
		b, err := json.Marshal(r.Workloads)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d hops, %s", r.FrameHops, b)
	}
	seeds, alphas := 3, []string{"0.015625", "0.125", "1", "8"}
	if testing.Short() {
		seeds, alphas = 1, alphas[1:2]
	}
	for seed := 1; seed <= seeds; seed++ {
		for _, alpha := range alphas {
			one, two := run(seed, alpha, "600KB", "", 1, true), run(seed, alpha, "600KB", "", 2, true)
			if n := one.Verdict.Violations; n > 0 || len(one.Drops) > 0 {
				t.Errorf("alpha %s, seed %d: %d violations, %v dropped", alpha, seed, n, one.Drops)
			}
			if one.Digest == "" || one.Digest != two.Digest {
				t.Errorf("alpha %s, seed %d: digests %s and, of two loops, %s", alpha, seed, one.Digest, two.Digest)
			}
			figures := run(seed, alpha, "600KB", "", 1, false)
			if a, b := text(one), text(figures); a != b {
				t.Errorf("alpha %s, seed %d: with events\n%s\nand without\n%s", alpha, seed, a, b)
			}
			if stops(one) == 0 {
				t.Errorf("alpha %s, seed %d: nobody was stopped", alpha, seed)
			}
		}
		if r := run(seed, "8", "40KB", ", headroom: 0", 1, false); r.Verdict.Violations == 0 {
			t.Errorf("seed %d: without headroom nothing was lost", seed)
		}
	}
}

// Where no input reaches the watermark alpha changes nothing.
func TestModelAlphaWithoutStops(t *testing.T) {
	digests := map[string]string{}
	for _, alpha := range []string{"none", "0.5", "8"} {
		s := runtest.Load(t, fmt.Sprintf(shared, 1, "100MB", alpha, ""), runtest.Sets(t, "workload.small.load=0.05", "workload.large.load=0.05")...)
		r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Digest: true})
		if err != nil {
			t.Fatal(err)
		}
		digests[alpha] = r.Digest
		if n := stops(r); n > 0 {
			t.Errorf("alpha %s: %d PFC frames", alpha, n)
		}
	}
	if digests["none"] == "" || digests["none"] != digests["0.5"] || digests["none"] != digests["8"] {
		t.Errorf("digests %v", digests)
	}
}
