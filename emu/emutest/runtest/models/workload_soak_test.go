//go:build soak

package models_test

import (
	"fmt"
	"testing"

	repeated "fabemu/emu/result/seeds"
	"fabemu/wire/unit"
)

// The mean slowdown under sharing for distributions with a long tail, which want long runs of small
// packets.
func TestModelMeanSlowdownOfSharingLong(t *testing.T) {
	meanSlowdown(t, "hadoop", 100, 0.5, 20, 8*unit.Second)
	meanSlowdown(t, "web-search", 250, 0.5, 20, 10*unit.Second)
}

// Of a hundred sets of ten seeds, the 95 % intervals of the p99 of 90 to 98 contain the p99 of a
// run that is a hundred times as long as all seeds of a set together.
func TestModelIntervalsOfP99Cover(t *testing.T) {
	const text = `name: covered
model: {duration: %v, seed: %d}
defaults: {link: {rate: 1Gb/s, propagation: 1ns, flow-control: none}, flow: {packet: 1000B}}
endpoints: ["h[1-2]"]
links: [h1 - h2]
workload: [{name: x, over: "h[1-2]", size: "10KB:0 30KB:100", load: 0.5, open: 4096, warm-up: 20ms, drain: 20ms}]
`
	const sets, number, counted = 100, 10, 300 * unit.Millisecond
	pooled := func(first, number int, counted unit.Duration) *repeated.Slowdown {
		var runs []repeated.Run
		for seed := range number {
			r := runWorkload(t, fmt.Sprintf(text, counted+40*unit.Millisecond, first+seed), false)
			runs = append(runs, repeated.Of(r.Result, r.Metrics.View()))
		}
		return &repeated.Pool(runs)[0]
	}
	long := pooled(1_000_000, 1, sets*number*counted)
	covered := map[string]int{}
	for set := range sets {
		s := pooled(1+set*number, number, counted)
		for name, want := range long.Figures {
			for of, x := range s.Figures {
				if of == name && x.Low <= want.Value && want.Value <= x.High {
					covered[name]++
				}
			}
		}
	}
	t.Logf("of %d sets of %d flows: %v; p99 is %v, of %d flows", sets, pooled(1, number, counted).Flows, covered, long.P99.Value, long.Flows)
	if n := covered["p99"]; n < 90 || n > 98 {
		t.Errorf("%d of %d intervals contain the p99", n, sets)
	}
}
