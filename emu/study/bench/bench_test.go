//go:build !race

package bench_test

import (
	"testing"

	"fabemu/emu/study/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// No limiter of the product is found at fault.
func TestFiguresOfOurLimiters(t *testing.T) {
	for name, new := range map[string]bench.New{
		"inter-packet delay": func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) },
		"token bucket":       func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 4500) },
		"bucket of a packet": func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 1500) },
	} {
		for _, c := range bench.Cases() {
			r := bench.Measure(new, c, nil)
			if r.Starts == 0 {
				t.Errorf("%s: %s: nothing has started", name, c.Name)
			}
			for _, f := range r.Faults {
				t.Errorf("%s: %s: %v", name, c.Name, f)
			}
		}
	}
}
