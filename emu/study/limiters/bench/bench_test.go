package bench_test

import (
	"testing"

	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// A bucket as deep as a packet is not found at fault. The other limiters of the product are tested
// by package limitertest, and its reaction points by package limiters.
func TestFiguresOfABucketOfAPacket(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, c := range bench.Cases() {
		r := bench.Measure(func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 1500) }, c, nil)
		if r.Starts == 0 {
			t.Errorf("%s: nothing has started", c.Name)
		}
		for _, f := range r.Faults {
			t.Errorf("%s: %v", c.Name, f)
		}
	}
}
