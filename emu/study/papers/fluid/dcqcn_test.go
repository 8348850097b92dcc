package fluid_test

import (
	"math"
	"testing"

	"fabemu/emu/study/papers/fluid"
	"fabemu/node/rp"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// paper is a link of 40 Gb/s with packets of 1000 bytes, and the parameters of the paper.
func paper(flows int) fluid.DCQCN {
	return fluid.DCQCN{Flows: flows, Capacity: 40e9, Packet: 1000, Algorithm: param.Defaults(rp.DCQCNParams{}), Min: 5 * unit.KB, Max: 200 * unit.KB, MaxP: 0.01}
}

// The closed form, p* = cbrt(R_AI N^2/(K C^2) (1/B + N/(T C))^2), by hand for two flows: R_AI =
// 5000 and C = 5e6 packets a second, B = 1e4 packets, K = T = 55 µs.
func TestDCQCNClosedForm(t *testing.T) {
	const by2 = 5000 * 4 / (55e-6 * 25e12) * (1e-4 + 2/275.) * (1e-4 + 2/275.)
	for _, tc := range []struct {
		flows    int
		p, queue float64 // of 1, in KB
	}{{2, math.Cbrt(by2), 23.03}, {4, 0.002320, 50.2}, {8, 0.005832, 118.7}, {10, 0.007849, 158.0}, {12, 0.010005, 200.1}} {
		c := paper(tc.flows)
		p, err := c.Closed()
		if err != nil || math.Abs(p/tc.p-1) > 1e-3 || math.Abs(c.Queue(p)/1e3/tc.queue-1) > 1e-3 {
			t.Errorf("%d flows: %v, a queue of %v, %v", tc.flows, p, c.Queue(p), err)
		}
	}
}

// Where few packets are marked between cycles the equations rest where the closed form says;
// else below it, since a flow that is cut before the timer is past its threshold is raised less.
func TestDCQCNRest(t *testing.T) {
	for _, scale := range []unit.Duration{1, 20} {
		c := paper(2)
		c.Algorithm.AlphaTimer /= scale
		c.Algorithm.RateTimer /= scale
		c.Algorithm.CNPInterval /= scale
		c.Algorithm.ActiveIncrease /= unit.Rate(scale * scale * scale) // the closed form belongs to R_AI/(K T^2)
		closed, _ := c.Closed()
		rest, err := c.Rest()
		switch near := math.Abs(rest/closed - 1); {
		case err != nil:
			t.Error(err)
		case scale == 1 && (near < 0.1 || near > 0.25 || rest > closed):
			t.Errorf("rest %v, closed form %v", rest, closed)
		case scale > 1 && near > 0.05:
			t.Errorf("timer of %v: rest %v, closed form %v", c.Algorithm.RateTimer, rest, closed)
		}
	}
}

// The algorithm by itself, with marks at random, rests a third above the equations. Most of that is
// the time behind a CNP in which no other is sent, and which begins with that CNP: where it begins
// by the clock, as in the equations, the flow rests a tenth above them.
func TestModelDCQCNAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, flows := range []int{2, 8} {
		c := paper(flows)
		rest, _ := c.Rest()
		over := func(rule string) float64 {
			c.Algorithm.CNPRule = rule
			p, err := c.Alone(1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			return p / rest
		}
		mark, clock := over(rp.AtNextMark), over(rp.AtClock)
		t.Logf("%d flows: %.3f of the equations, by the clock %.3f", flows, mark, clock)
		if mark < 1.25 || mark > 1.45 || clock < 1 || clock > 1.2 || clock > mark-0.15 {
			t.Errorf("%d flows: %.3f of the equations, by the clock %.3f", flows, mark, clock)
		}
	}
}

// Algorithms of other rules have no such equations.
func TestDCQCNRefuses(t *testing.T) {
	for _, change := range []func(*fluid.DCQCN){
		func(c *fluid.DCQCN) { c.Flows = 0 }, func(c *fluid.DCQCN) { c.Max = c.Min }, func(c *fluid.DCQCN) { c.MaxP = 0 },
		func(c *fluid.DCQCN) { c.Algorithm.Phases = rp.PhasesOfTimer }, func(c *fluid.DCQCN) { c.Algorithm.AlphaUpdate = rp.AlphaByTimer },
		func(c *fluid.DCQCN) { c.Algorithm.RateTimer = 0 },
	} {
		c := paper(2)
		change(&c)
		_, closed := c.Closed()
		_, rest := c.Rest()
		if closed == nil || rest == nil {
			t.Errorf("%+v: %v, %v", c, closed, rest)
		}
	}
}
