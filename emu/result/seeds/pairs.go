package seeds

import (
	"math"
	"slices"

	"fabemu/emu/result/report"
)

// Pair is two runs with one seed, of two sets of repetitions. The seed gives both the same flows,
// sizes and times. So much of what differs between seeds is the same in both, and not in their
// difference.
type Pair struct{ A, B *Run }

// Paired returns the pairs of two sets, without void runs.
func Paired(a, b []Run) (all []Pair) {
	for i := range a {
		k := slices.IndexFunc(b, func(r Run) bool { return r.Seed == a[i].Seed })
		if k >= 0 && !a[i].Void && !b[k].Void {
			all = append(all, Pair{&a[i], &b[k]})
		}
	}
	return all
}

// value returns a figure of a run, or a missing one.
func (r *Run) value(kind, name string) report.Number {
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Kind == kind && f.Name == name {
			return f.Value
		}
	}
	return report.Missing()
}

// Difference returns how much higher a figure is in the second runs of pairs: the mean of b - a,
// with its interval by Student's t. A pair is missing if one of its runs does not have the figure.
func Difference(pairs []Pair, kind, name string) report.Estimate {
	values := make([]float64, len(pairs))
	for i, p := range pairs {
		values[i] = float64(p.B.value(kind, name) - p.A.value(kind, name))
	}
	return report.EstimateOf(values)
}

// Effect is what a difference shows.
type Effect string

// The effects.
const (
	Higher   Effect = "higher"
	Lower    Effect = "lower"
	NoEffect Effect = "none"    // the interval contains zero: whatever the difference is, these pairs do not show it
	Unknown  Effect = "unknown" // there are fewer than two pairs
)

// EffectOf returns what a difference shows: only what its 95 % interval leaves no doubt of is
// called an effect.
func EffectOf(d report.Estimate) Effect {
	switch low, high := d.Mean-d.Interval, d.Mean+d.Interval; {
	case !d.Interval.Known():
		return Unknown
	case low > 0:
		return Higher
	case high < 0:
		return Lower
	}
	return NoEffect
}

// Ratios returns the slowdown of a workload in the second runs of pairs, divided by that in the
// first runs, by the names of Band.Figures: the geometric mean over the pairs, with its interval by
// Student's t of the logarithms. A figure that the flows of some run are too few for is missing of
// its pair.
func Ratios(pairs []Pair, workload string) map[string]Interval {
	logs := make([][]float64, len(figuresOf))
	for _, p := range pairs {
		a, b := p.A.band(workload), p.B.band(workload)
		for k, f := range figuresOf {
			logs[k] = append(logs[k], math.Log(float64(f.of(&b).Value/f.of(&a).Value)))
		}
	}
	all := map[string]Interval{}
	for k, f := range figuresOf {
		e := report.EstimateOf(logs[k])
		exp := func(log report.Number) report.Number { return report.Number(math.Exp(float64(log))) }
		all[f.Name] = Interval{exp(e.Mean), exp(e.Mean - e.Interval), exp(e.Mean + e.Interval)}
	}
	return all
}

// band returns the figures of a workload's flows in a run.
func (r *Run) band(workload string) Band {
	var flows []flow
	for i := range r.Samples {
		if r.Samples[i].Workload == workload {
			flows = r.Samples[i].unpack(0, flows)
		}
	}
	return bandOf(flows, nil)
}
