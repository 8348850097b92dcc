package report

import (
	"math"

	"fabemu/emu/metrics"
)

// Sums compares a run with the same one on the virtual clock. In each phase of the latter it takes the
// links that several flows cross and that reports name, and the groups of several flows.
// It returns the greatest difference of their utilisation (0 to 1), Missing where there is
// nothing to compare, and the name of the link or group.
func Sums(c, virtual *metrics.Collector) (apart Number, of string) {
	f := virtual.Fabric()
	apart = Missing()
	compare := func(name string, got, want float64) {
		if d := Number(math.Abs(got - want)); d > apart || d.Known() && !apart.Known() {
			apart, of = d, name
		}
	}
	for _, p := range virtual.Phases() {
		crossed := make(map[[2]int]int)
		for _, i := range p.Flows {
			for _, h := range f.Flows[i].Path.All() {
				crossed[[2]int{h.Wire, h.From}]++
			}
		}
		for _, h := range aggregates(f) {
			if crossed[[2]int{h.Wire, h.From}] > 1 {
				_, got := c.LinkFigures(h, p.Interval)
				_, want := virtual.LinkFigures(h, p.Interval)
				compare(f.LinkName(h), got, want)
			}
		}
		for _, g := range f.Groups() {
			if active := both(g.Flows, p.Flows); len(active) > 1 {
				_, got := c.FlowFigures(active, p.Interval)
				_, want := virtual.FlowFigures(active, p.Interval)
				compare(g.Name, got, want)
			}
		}
	}
	return apart, of
}
