package reproduce

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"fabemu/emu/report/plot"
	"fabemu/emu/study/fluid"
	"fabemu/wire/unit"
)

// The run that the equations of BCN lie over: four sources that begin one after another.
const (
	odeScenario = "bcn/convergence"
	odeStarts   = 5 * unit.Millisecond // from one source to the next
	odeStep     = 10 * unit.Microsecond
)

// overOne is the loop of that run.
func overOne() *fluid.BCNCourse {
	c := fluid.Published(4)
	for k := range c.Paths {
		c.Start = append(c.Start, unit.Duration(k)*odeStarts)
	}
	c.Memory = 600 * unit.KB // PAUSE comes at 100 frames of each source
	return must(c.Solve(unit.Second, odeStep))
}

// overTwo is the loop of the parking lot, with a rate unit.
func overTwo(ru unit.Rate) *fluid.BCNCourse {
	c := fluid.Published(6)
	c.Capacity = append(c.Capacity, c.Capacity[0])
	c.Paths = [][]int{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}, {1}}
	c.Ru = ru
	return must(c.Solve(4*unit.Second, 2*odeStep))
}

// odeCurve is a course of equations as a curve: each point is the mean of the steps that it
// stands for.
func odeCurve(step unit.Duration, of []float64, scale float64) (x, y []float64) {
	const steps = 50
	for i := 0; i+steps <= len(of); i += steps {
		sum := 0.0
		for _, v := range of[i : i+steps] {
			sum += v / steps
		}
		x, y = append(x, float64(i+steps/2)*step.Seconds()*1e3), append(y, sum*scale)
	}
	return x, y
}

// late returns the mean of the last half of a course.
func late(of []float64) float64 {
	sum, half := 0.0, of[len(of)/2:]
	for _, v := range half {
		sum += v / float64(len(half))
	}
	return sum
}

// ascents are the rates in bits per second from which the slides' own equation is followed.
var ascents = []struct {
	name  string
	rates [4]float64
}{
	{"from 9.7 Gb/s and three times 0.1", [4]float64{9.7e9, 1e8, 1e8, 1e8}},
	{"from 0.1 Gb/s each", [4]float64{1e8, 1e8, 1e8, 1e8}},
	{"from 2.8 Gb/s each", [4]float64{2.8e9, 2.8e9, 2.8e9, 2.8e9}},
}

func ascend(from [4]float64) *fluid.Ascent {
	return must(fluid.Published(4).Ascend(from[:], 400*unit.Millisecond, odeStep))
}

// fall is the furthest that V falls below what it was before, on the way from all ascents,
// as a share of its rise.
func fall() float64 {
	worst := 0.0
	for _, from := range ascents {
		a := ascend(from.rates)
		best := a.V[0]
		rise := slices.Max(a.V) - a.V[0]
		for _, v := range a.V {
			worst, best = max(worst, (best-v)/rise), max(best, v)
		}
	}
	return worst
}

// bcnODE is the analytical model of the slides beside the runs.
func bcnODE(f *Figure) {
	one := sync.OnceValue(overOne)
	equations := func(name string, take func(*fluid.BCNCourse) []float64, scale float64) Curve {
		return Curve{Name: name, Solved: func() (x, y []float64) { return odeCurve(one().Step, take(one()), scale) }}
	}
	// over is a quantity of a run over what take finds in the equations.
	over := func(course func() *fluid.BCNCourse, take func(*fluid.BCNCourse) float64, q Quantity) Quantity {
		return Combine(func(v []float64) float64 { return v[0] / take(course()) }, q)
	}

	r := Run{Scenario: odeScenario, Edits: [][2]string{{"to: D}", fmt.Sprintf("to: D, start: 0us + %v}", odeStarts)}}}.With("model.duration=1s")
	from, to := 200*ms, 1000*ms
	rate := func(c *fluid.BCNCourse) float64 { return late(c.Rate[0]) / 8 }
	var rates []Quantity
	for _, name := range []string{"A1", "A2", "A3", "A4"} {
		rates = append(rates, Mean(r, "sources."+name+".rate", from, to))
	}
	// lot is the claim about the parking lot with a rate unit.
	lot := func(id string, mbps float64) {
		r := Run{Scenario: "bcn/parking-lot"}.With("model.duration=500ms", setRu+fmt.Sprintf("%gMb/s", mbps))
		var rates []Quantity
		for _, flow := range []string{"b", "c", "long"} {
			rates = append(rates, Mean(r, flow+".rate", 100*ms, 500*ms))
		}
		f.claim(id, over(func() *fluid.BCNCourse { return overTwo(unit.Rate(mbps * 1e6)) },
			func(c *fluid.BCNCourse) float64 { return late(c.Rate[4]) / late(c.Rate[0]) },
			Combine(func(v []float64) float64 { return 2 * (v[0] + v[1]) / v[2] }, rates...)))
	}

	var v []Curve
	for _, from := range ascents {
		v = append(v, Curve{Name: from.name, Solved: func() (x, y []float64) {
			a := ascend(from.rates)
			end := a.V[len(a.V)-1]
			for i := 0; i < len(a.V); i += 20 {
				x, y = append(x, float64(i)*a.Step.Seconds()*1e3), append(y, a.V[i]-end)
			}
			return x, y
		}})
	}
	f.Plots = []Plot{
		{Name: "ode-rates", Title: "The analytical model: rates", X: plot.Axis{Label: modelTime.Label, High: 300}, Y: plot.Axis{Label: "rate (Gb/s)"},
			Curves: []Curve{
				curve("run, source A1", r, "sources.A1.rate", gbps), equations("equations, A1", func(c *fluid.BCNCourse) []float64 { return c.Rate[0] }, 1e-9),
				curve("run, source A4", r, "sources.A4.rate", gbps), equations("equations, A4", func(c *fluid.BCNCourse) []float64 { return c.Rate[3] }, 1e-9),
			},
			References: level("fixed point: C/4", 2.5)},
		{Name: "ode-queue", Title: "The analytical model: queue", X: plot.Axis{Label: modelTime.Label, High: 60}, Y: plot.Axis{Label: "queue (packets)"},
			Curves:     []Curve{curve("run", r, "shared.S-D.queue", packets), equations("equations", func(c *fluid.BCNCourse) []float64 { return c.Queue[0] }, packets)},
			References: level("Qeq = 16 packets", 16)},
		{Name: "ode-v", Title: "The analytical model: V along solutions", X: plot.Axis{Label: modelTime.Label, High: 150}, Y: plot.Axis{Label: "V less V at the end (1)"}, Curves: v},
	}
	f.claim("BO-1", Combine(func([]float64) float64 { return fall() }))
	f.claim("BO-2", over(one, rate, Lowest(rates...)))
	f.claim("BO-3", over(one, rate, Highest(rates...)))
	f.claim("BO-4", over(one, func(c *fluid.BCNCourse) float64 { return late(c.Queue[0]) }, Mean(r, "shared.S-D.queue", from, to)))
	lot("BO-5", 8)
	lot("BO-6", 0.8)
	f.claim("BO-7", Combine(func([]float64) float64 { return quickening() }))
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
