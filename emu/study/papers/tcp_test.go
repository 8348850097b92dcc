package papers

import (
	"math"
	"slices"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The scenarios have the figures of the equations, as their text says.
func TestScenariosHaveTheFiguresOfTheEquations(t *testing.T) {
	near := func(what string, got, want, within float64) {
		if math.Abs(got/want-1) > within {
			t.Errorf("%s is %.5g, and the scenario has %.5g", what, got, want)
		}
	}
	s := solveTCP(Run{Scenario: "tcp/fluid"})()
	fluid, err := emu.Open("tcp/fluid")
	if err != nil {
		t.Fatal(err)
	}
	all := fluid.Expect
	for id, want := range map[string]struct{ value, within float64 }{"TR-2a": {1000 * s.mean, 0.2}, "TR-2b": {s.period, 0.2}, "TR-2c": {1000 * s.course.Deviation(s.course.Queue, 75*unit.Second, 150*unit.Second), 0.25}} {
		c := all[slices.IndexFunc(all, func(c scenario.Check) bool { return c.ID == id })]
		near(id+", low", want.value*(1-want.within), c.Low, 0.005)
		near(id+", high", want.value*(1+want.within), c.High, 0.005)
	}
	for name, want := range map[string]struct {
		stable bool
		period float64
	}{"red-stable": {true, 0}, "red-unstable": {false, 2.5}, "red-boundary": {true, 1.8}} {
		c := loopOf(Run{Scenario: "tcp/" + name})
		gain, frequency, err := c.Margin()
		if err != nil || gain < 1 != want.stable && name != "red-boundary" || name == "red-boundary" && math.Abs(gain-1) > 0.02 {
			t.Errorf("%s: a gain of %.4g, %v", name, gain, err)
		}
		if want.period > 0 {
			near(name+": the period", 1/frequency, want.period, 0.03)
		}
	}
}

// The boundary is where a straight line between two points crosses the level.
func TestCrossing(t *testing.T) {
	for _, c := range []struct {
		y    []float64
		want float64
	}{{[]float64{0.1, 0.5, 0.9}, 25}, {[]float64{0.1, 0.7, 0.9}, 20}, {[]float64{0.8, 0.9}, math.NaN()}, {[]float64{0.1, 0.2}, math.NaN()}, {[]float64{0.1, 0.8, 0.2, 0.9}, 10 + 10*0.6/0.7}} {
		var at []any
		var points []Quantity
		for i, y := range c.y {
			at, points = append(at, float64(10*(i+1))), append(points, constant(y))
		}
		q := crossing(0.7, at, points...)
		if got := q.of(nil); got != c.want && !(math.Abs(got-c.want) < 1e-9) && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v: %v, want %v", c.y, got, c.want)
		}
	}
}

// Drops less than half a second apart are one episode, and the first ten seconds do not count.
func TestEpisodesOfDrops(t *testing.T) {
	e := &episodes{}
	for _, d := range []struct {
		at   float64
		flow uint32
	}{{5, 1}, {9.9, 2}, {10.2, 3}, {12, 1}, {12.1, 1}, {12.5, 2}, {14, 7}, {14.4, 8}, {14.8, 9}} {
		e.Record(&trace.Event{At: unit.Time(d.at * float64(unit.Second)), Kind: trace.Drop, Flow: d.flow})
	}
	e.Record(&trace.Event{At: 20 * unit.Time(unit.Second), Kind: trace.Mark, Flow: 1})
	if e.end(); e.n != 2 || e.flows != 5 {
		t.Errorf("%v flows in %v episodes, want 5 in 2", e.flows, e.n)
	}
}
