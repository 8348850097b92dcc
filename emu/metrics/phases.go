package metrics

import (
	"cmp"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Phase is a part of the run in which the same flows are active and no event
// changes the fabric. The warm-up and the drain of a workload are apart.
type Phase struct {
	Interval           // without its first window, in which the fabric settles
	Begin    unit.Time // with it
	Flows    []int     // the flows that are active, by index
}

// Phases returns the phases that last two windows or longer, in their order;
// shorter ones belong to the change from one to the next. A run that has none is
// one phase, in which every flow counts that is active at some time of it. So is an
// endless run, from its start.
func (v *View) Phases() []Phase {
	if v.c.scenario.Endless && v.End() > 0 {
		return []Phase{{Interval{0, v.End()}, 0, v.c.active(0, v.End())}}
	}
	window := v.c.scenario.Measure.Window
	changes := []unit.Time{0, v.End()}
	for i := range v.c.lives {
		for _, a := range v.c.lives[i].active {
			changes = append(changes, a.From, a.To)
		}
	}
	for _, x := range v.c.scenario.Changes() {
		changes = append(changes, min(x.At, v.End()))
	}
	for i := range v.c.scenario.Workloads {
		w := &v.c.scenario.Workloads[i]
		if until := scenario.Until(0, w.Drain, v.c.scenario.Model.Duration); w.WarmUp+w.Drain > 0 {
			changes = append(changes, min(v.c.CountsFrom(i), v.End()), min(until, v.End()))
		}
	}
	slices.Sort(changes)
	changes = slices.Compact(changes)
	var phases []Phase
	for i, end := range changes[1:] {
		begin := changes[i]
		if end.Sub(begin) < 2*window {
			continue
		}
		// Whole bins, so that the figures are exact.
		from, to := v.c.edges[v.c.edge(begin.Add(window))], end
		if k := v.c.edge(end); v.c.edges[k] > end {
			to = v.c.edges[k-1]
		}
		phases = append(phases, Phase{Interval{from, to}, begin, v.c.active(begin, begin+1)})
	}
	if phases == nil && v.End() > 0 {
		whole := Interval{0, v.End()}
		if v.End() > unit.Time(2*window) {
			whole.From = v.c.edges[v.c.edge(unit.Time(window))]
		}
		phases = []Phase{{whole, 0, v.c.active(0, v.End())}}
	}
	return phases
}

// active returns the flows that are active at some time of from <= t < to.
func (c *Collector) active(from, to unit.Time) []int {
	var flows []int
	for i := range c.lives {
		if slices.ContainsFunc(c.lives[i].active, func(a Interval) bool { return a.From < to && from < a.To }) {
			flows = append(flows, i)
		}
	}
	return flows
}

// LinkFigures returns the mean rate in bytes per second and the utilisation (0 to
// 1) of a direction of a link.
func (v *View) LinkFigures(h fabric.Hop, over Interval) (bytesPerSecond, share float64) {
	return v.c.rateAndShare(object{hop: h}, linkRate, linkUtilisation, over)
}

// FlowFigures returns the mean rate in bytes per second of some flows together,
// and its share (0 to 1) of the rate that they could have.
func (v *View) FlowFigures(flows []int, over Interval) (bytesPerSecond, share float64) {
	return v.c.rateAndShare(flowsObject(v.c.fabric, "", flows), flowRate, flowUtilisation, over)
}

func (c *Collector) rateAndShare(x object, rate, share formula, over Interval) (bytesPerSecond, of float64) {
	return c.figure(&term{object: x, formula: rate}, over.From, over.To),
		c.figure(&term{object: x, formula: share}, over.From, over.To)
}

// Bottleneck is a direction of a link and the flows for which it is the
// narrowest: where the capacity divided by the number of flows is the least on
// their path.
type Bottleneck struct {
	Hop   fabric.Hop
	Flows []int
}

// Bottlenecks returns the places where some flows are stopped, by the number of flows and not by
// their rates; only links with two flows or more. Of equal ones the first on the path counts.
func (v *View) Bottlenecks(flows []int, over Interval) []Bottleneck {
	crossing := make([][2]int, len(v.c.fabric.Wires))
	for _, i := range flows {
		for _, h := range v.c.fabric.Certain(&v.c.fabric.Flows[i]).All() {
			crossing[h.Wire][h.From]++
		}
	}
	held := make([][2][]int, len(v.c.fabric.Wires))
	for _, i := range flows {
		share := func(h fabric.Hop) float64 {
			return v.c.capacity(h.Wire, over.From, over.To) / float64(crossing[h.Wire][h.From])
		}
		if hops := v.c.fabric.Certain(&v.c.fabric.Flows[i]).Hops(); len(hops) > 0 {
			h := slices.MinFunc(hops, func(a, b fabric.Hop) int { return cmp.Compare(share(a), share(b)) })
			held[h.Wire][h.From] = append(held[h.Wire][h.From], i)
		}
	}
	var all []Bottleneck
	for w := range held {
		for from, flows := range held[w] {
			if len(flows) > 1 {
				all = append(all, Bottleneck{fabric.Hop{Wire: w, From: from}, flows})
			}
		}
	}
	return all
}
