package papers

import (
	"math"
	"slices"
	"sync"

	"fabemu/emu/study/papers/fluid"
	"fabemu/wire/unit"
)

const odeStep = 10 * unit.Microsecond

// overOne is the loop of one link: four sources that begin 5 ms after one another.
var overOne = sync.OnceValue(func() *fluid.BCNCourse {
	c := fluid.Published(4)
	for k := range c.Paths {
		c.Start = append(c.Start, unit.Duration(k)*5*unit.Millisecond)
	}
	c.Memory = 600 * unit.KB // PAUSE comes at 100 frames of each source
	return must(c.Solve(unit.Second, odeStep))
})

// courseOf returns the course of the queue, or of the rate of a source.
func courseOf(c *fluid.BCNCourse, quantity string, i int) []float64 {
	return map[string][][]float64{"queue": c.Queue, "rate": c.Rate}[quantity][i]
}

// bcnLot is the rate of a flow through one link of the parking lot over the rate of one through
// both, in the end, with a rate unit in Mb/s.
func bcnLot(ru float64) Quantity {
	return computed(func() float64 {
		c := fluid.Published(6)
		c.Capacity = append(c.Capacity, c.Capacity[0])
		c.Paths = [][]int{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}, {1}}
		c.Ru = unit.Rate(ru * 1e6)
		solved := must(c.Solve(4*unit.Second, 2*odeStep))
		return late(solved.Rate[4]) / late(solved.Rate[0])
	})
}

// odeCurve is a course of equations as a curve: each point is the mean of the steps that it
// stands for.
func odeCurve(step unit.Duration, of []float64, scale float64) (x, y []float64) {
	const steps = 50
	for i := 0; i+steps <= len(of); i += steps {
		x, y = append(x, float64(i+steps/2)*step.Seconds()*1e3), append(y, unit.Mean(of[i:i+steps])*scale)
	}
	return x, y
}

// late returns the mean of the last half of a course.
func late(of []float64) float64 { return unit.Mean(of[len(of)/2:]) }

// ascents are the rates in bits per second from which the slides' own equation is followed.
var ascents = [][4]float64{{9.7e9, 1e8, 1e8, 1e8}, {1e8, 1e8, 1e8, 1e8}, {2.8e9, 2.8e9, 2.8e9, 2.8e9}}

func ascend(from [4]float64) *fluid.Ascent {
	return must(fluid.Published(4).Ascend(from[:], 400*unit.Millisecond, odeStep))
}

// fall is the greatest fall of V below an earlier value, on the path from all ascents, as a share
// of its rise.
func fall() float64 {
	worst := 0.0
	for _, from := range ascents {
		a := ascend(from)
		best := a.V[0]
		rise := slices.Max(a.V) - a.V[0]
		for _, v := range a.V {
			worst, best = max(worst, (best-v)/rise), max(best, v)
		}
	}
	return worst
}

// bcnV is V along the solution from one of the ascents, less V at its end.
func bcnV(i int) solution {
	return func() (x, y []float64) {
		a := ascend(ascents[i])
		end := a.V[len(a.V)-1]
		for i := 0; i < len(a.V); i += 20 {
			x, y = append(x, float64(i)*a.Step.Seconds()*1e3), append(y, a.V[i]-end)
		}
		return x, y
	}
}

// quickening is how much faster the rates of two sources draw together when Gi, Gd or Ru
// is doubled, for the one that does least.
func quickening() float64 {
	convergence := func(c fluid.BCN) float64 {
		a := must(c.Ascend([]float64{5.001e9, 4.999e9}, 50*unit.Millisecond, odeStep))
		apart := func(i int) float64 { return a.Rate[0][i] - a.Rate[1][i] }
		return math.Log(apart(len(a.V)/4) / apart(len(a.V)/2))
	}
	base := convergence(fluid.Published(2))
	least := math.Inf(1)
	for _, change := range []func(c *fluid.BCN){func(c *fluid.BCN) { c.Gi *= 2 }, func(c *fluid.BCN) { c.Gd *= 2 }, func(c *fluid.BCN) { c.Ru *= 2 }} {
		c := fluid.Published(2)
		change(&c)
		least = min(least, convergence(c)/base)
	}
	return least
}
