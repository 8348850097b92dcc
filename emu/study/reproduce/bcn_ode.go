package reproduce

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
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
func overOne() (*fluid.BCNCourse, error) {
	c := fluid.Published(4)
	for k := range c.Paths {
		c.Start = append(c.Start, unit.Duration(k)*odeStarts)
	}
	c.Memory = 600 * unit.KB // PAUSE comes at 100 frames of each source
	return c.Solve(unit.Second, odeStep)
}

// overTwo is the loop of the parking lot, with a rate unit.
func overTwo(ru unit.Rate) (*fluid.BCNCourse, error) {
	c := fluid.Published(6)
	c.Capacity = append(c.Capacity, c.Capacity[0])
	c.Paths = [][]int{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}, {1}}
	c.Ru = ru
	return c.Solve(4*unit.Second, 2*odeStep)
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

func ascend(from [4]float64) (*fluid.Ascent, error) {
	return fluid.Published(4).Ascend(from[:], 400*unit.Millisecond, odeStep)
}

// fall is the furthest that V falls below what it was before, on the way from all ascents,
// as a share of its rise.
func fall() float64 {
	worst := 0.0
	for _, from := range ascents {
		a, err := ascend(from.rates)
		if err != nil {
			return math.NaN()
		}
		best := a.V[0]
		rise := slices.Max(a.V) - a.V[0]
		for _, v := range a.V {
			worst, best = max(worst, (best-v)/rise), max(best, v)
		}
	}
	return worst
}

// bcnODE is the analytical model of the slides beside the runs.
func bcnODE() Figure {
	one := sync.OnceValues(overOne)
	solved := func(take func(*fluid.BCNCourse) []float64, scale float64) func() (x, y []float64, err error) {
		return func() (x, y []float64, err error) {
			c, err := one()
			if err != nil {
				return nil, nil, err
			}
			x, y = odeCurve(c.Step, take(c), scale)
			return x, y, nil
		}
	}
	// over is a quantity of a run over what take finds in the equations.
	over := func(course func() (*fluid.BCNCourse, error), take func(*fluid.BCNCourse) float64, q Quantity) Quantity {
		return Combine(func(v []float64) float64 {
			c, err := course()
			if err != nil {
				return math.NaN()
			}
			return v[0] / take(c)
		}, q)
	}

	const perSource = 8e-9 // Gb/s of bytes per second
	r := Run{Scenario: odeScenario, Edits: [][2]string{{"to: D}", fmt.Sprintf("to: D, start: 0us + %v}", odeStarts)}}}.With("model.duration=1s")
	from, to := 200*ms, 1000*ms
	rate := func(c *fluid.BCNCourse) float64 { return late(c.Rate[0]) / 8 }
	var rates []Quantity
	for _, name := range []string{"A1", "A2", "A3", "A4"} {
		rates = append(rates, Mean(r, "sources."+name+".rate", from, to))
	}
	// lot is the claim about the parking lot with a rate unit.
	lot := func(id string, mbps float64, differs string) Claim {
		ru := fmt.Sprintf("%g Mb/s", mbps)
		r := Run{Scenario: "bcn/parking-lot"}.With("model.duration=500ms", setRu+fmt.Sprintf("%gMb/s", mbps))
		var rates []Quantity
		for _, flow := range []string{"b", "c", "long"} {
			rates = append(rates, Mean(r, flow+".rate", 100*ms, 500*ms))
		}
		return Claim{Check: scenario.Check{
			ID: id, Basis: scenario.Derived, Source: "slide Simulations for Fairness", Claim: fmt.Sprintf("the fixed point of the equations is that of the run: the parking lot with Ru of %s", ru),
			From:   "Proportional fairness is C/6 and C/3, a ratio of short to long rates of 2.0; the equations have the same.",
			Metric: fmt.Sprintf("2(Rb+Rc)/(Ra1+...+Ra4) over 0.1 to 0.5 s, over that of the equations, with Ru of %s", ru),
			Low:    0.75, High: 1.05, Why: "A ratio from 1.5 to 2.1 over 2.0: nearer to proportional than to max-min fairness, which is 1.0.", Reason: differs,
		}, Value: over(func() (*fluid.BCNCourse, error) { return overTwo(unit.Rate(mbps * 1e6)) }, func(c *fluid.BCNCourse) float64 { return late(c.Rate[4]) / late(c.Rate[0]) },
			Combine(func(v []float64) float64 { return 2 * (v[0] + v[1]) / v[2] }, rates...))}
	}

	var v []Curve
	for _, from := range ascents {
		v = append(v, Curve{Name: from.name, Solved: func() (x, y []float64, err error) {
			a, err := ascend(from.rates)
			if err != nil {
				return nil, nil, err
			}
			end := a.V[len(a.V)-1]
			for i := 0; i < len(a.V); i += 20 {
				x, y = append(x, float64(i)*a.Step.Seconds()*1e3), append(y, a.V[i]-end)
			}
			return x, y, nil
		}})
	}
	const model, results = "slide Analytical Model", "slide Analytical Model Results"
	return Figure{
		Name: "ode", Source: "slides Analytical Model, Analytical Model Results", Title: "The analytical model beside the run",
		Caption: "Four sources without end begin 5 ms after one another. The run is one of " + odeScenario + "; the equations are those of package emu/study/fluid: the slides' (10) for the rates, with the queue, the sampling delay, and a spread of Fb of two frames. In the run every message moves a rate by a step, so that its queue swings about that of the equations, and rates that are equal in the mean wander; and a source that begins is told nothing until the first of its samples, where the equations have it told a little at once. The last picture is V along the slides' own equation, which has no queue: its P is 0 up to the capacity.",
		Plots: []Plot{
			{Name: "ode-rates", Title: "The analytical model: rates", X: plot.Axis{Label: modelTime.Label, High: 300}, Y: plot.Axis{Label: "rate (Gb/s)"},
				Curves: []Curve{
					curve("run, source A1", r, "sources.A1.rate", perSource), {Name: "equations, A1", Solved: solved(func(c *fluid.BCNCourse) []float64 { return c.Rate[0] }, 1e-9)},
					curve("run, source A4", r, "sources.A4.rate", perSource), {Name: "equations, A4", Solved: solved(func(c *fluid.BCNCourse) []float64 { return c.Rate[3] }, 1e-9)},
				},
				References: []plot.Reference{{Name: "fixed point: C/4", Low: 2.5, High: 2.5}}},
			{Name: "ode-queue", Title: "The analytical model: queue", X: plot.Axis{Label: modelTime.Label, High: 60}, Y: plot.Axis{Label: "queue (packets)"},
				Curves:     []Curve{curve("run", r, "shared.S-D.queue", packets), {Name: "equations", Solved: solved(func(c *fluid.BCNCourse) []float64 { return c.Queue[0] }, packets)}},
				References: []plot.Reference{{Name: "Qeq = 16 packets", Low: 16, High: 16}}},
			{Name: "ode-v", Title: "The analytical model: V along solutions", X: plot.Axis{Label: modelTime.Label, High: 150}, Y: plot.Axis{Label: "V less V at the end (1)"}, Curves: v},
		},
		Claims: []Claim{
			{Check: scenario.Check{ID: "BO-1", Basis: scenario.Quoted, Source: model, Claim: "V increases along any solution",
				Metric: "the furthest that V falls, as a share of its rise, along three solutions",
				Low:    0, High: 1e-9, Why: "It may not fall; 1e-9 is for what floats round."}, Value: Combine(func([]float64) float64 { return fall() })},
			{Check: scenario.Check{ID: "BO-2", Basis: scenario.Derived, Source: model, Claim: "the fixed point of the equations is that of the run: the slowest source",
				From:   "A solution converges to the maximum of V, which for one link is C/n.",
				Metric: "lowest rate of the four sources over 0.2 to 1 s, over that of the equations",
				Low:    0.8, High: 1.2, Why: "The rates of the four equal sources in the slides' parking lot lie up to 12 % from their mean; a fifth is allowed for."}, Value: over(one, rate, Lowest(rates...))},
			{Check: scenario.Check{ID: "BO-3", Basis: scenario.Derived, Source: model, Claim: "... the fastest source",
				From:   "As BO-2.",
				Metric: "highest rate of the four sources over 0.2 to 1 s, over that of the equations",
				Low:    0.8, High: 1.2, Why: "As BO-2."}, Value: over(one, rate, Highest(rates...))},
			{Check: scenario.Check{ID: "BO-4", Claim: "the queue of the run is that of the equations",
				Metric: "mean queue over 0.2 to 1 s, over that of the equations",
				Low:    0.75, High: 1.25, Why: "As for QCN: the slides have no figure; a quarter is what can be seen in a picture."}, Value: over(one, func(c *fluid.BCNCourse) float64 { return late(c.Queue[0]) }, Mean(r, "shared.S-D.queue", from, to))},
			lot("BO-5", 8,
				"The equations have means. In the run Fb has a standard deviation of 14 frames, and one such message raises a long flow's rate of 1.5 Gb/s by 450 Mb/s. Its rates scatter by 56 % of their mean, messages come in proportion to a rate, and a decrease is a share of it: what is taken off goes with the square of the rate, a third more than the mean says. Of its increases an eighth more is lost than the likelihood of a tag says, since the last link to lower a rate tends to be the one that will lower it again."),
			lot("BO-6", 0.8, ""),
			{Check: scenario.Check{ID: "BO-7", Basis: scenario.Quoted, Source: results, Claim: "Increasing Gi, Gd and Ru will always increase the rate of convergence",
				Metric: "least quickening of the equations' convergence when one of them is doubled",
				Low:    1 + 1e-9, High: none, Why: "More, for each of the three; the slides have no figure."}, Value: Combine(func([]float64) float64 { return quickening() })},
		},
	}
}

// quickening is how much faster the rates of two sources draw together when Gi, Gd or Ru
// is doubled, for the one that does least.
func quickening() float64 {
	convergence := func(c fluid.BCN) float64 {
		a, err := c.Ascend([]float64{5.001e9, 4.999e9}, 50*unit.Millisecond, odeStep)
		if err != nil {
			return math.NaN()
		}
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
