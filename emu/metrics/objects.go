package metrics

import (
	"cmp"
	"slices"
	"sync"

	"fabemu/emu/base/spelling"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// InBytes reports whether the buffers at the ends of a wire are counted in bytes, as on Ethernet.
// On InfiniBand they are counted in blocks of credit.
func InBytes(f *fabric.Fabric, w int) bool {
	l := f.Wires[w].Link
	return l != nil && l.Family() == wire.Ethernet
}

// An object has figures: a direction of a wire, or some flows.
type object struct {
	name   string
	flows  []int               // none: a link, or a workload
	work   int                 // of a workload its number, from 1 on
	common func() []fabric.Hop // of several flows: the hops that all of them cross
	hop    fabric.Hop
}

// objects are the objects of a fabric: links, groups, then the flows that are not a
// group of their own.
type objects struct {
	all    []object
	byName map[string]int  // -1: two objects have the name
	rows   []*Figure       // the table of figures, with those of the run
	flows  map[string]bool // the names of those of flows

	ends func() [2][][]int // by node, the flows that begin there, and those that end there
}

func objectsOf(f *fabric.Fabric, more ...*Figure) *objects {
	most := 2 * (len(f.Wires) + len(f.Flows))
	o := &objects{all: make([]object, 0, most), byName: make(map[string]int, most), rows: slices.Concat(table, more), flows: map[string]bool{}}
	for _, f := range o.rows {
		if f.Of == Flow {
			o.flows[f.Name] = true
		}
	}
	o.ends = sync.OnceValue(func() (all [2][][]int) {
		all[0], all[1] = make([][]int, len(f.Nodes)), make([][]int, len(f.Nodes))
		for i := range f.Flows {
			src, dst := f.Flows[i].Src, f.Flows[i].Dst
			all[0][src], all[1][dst] = append(all[0][src], i), append(all[1][dst], i)
		}
		return all
	})
	for w := range f.Wires {
		for from := range 2 {
			h := fabric.Hop{Wire: w, From: from}
			o.add(object{name: f.LinkName(h), hop: h})
		}
	}
	for _, g := range f.Groups() {
		o.add(flowsObject(f, g.Name, g.Flows))
	}
	for i := range f.Flows {
		if f.Flows[i].Name != f.Flows[i].Group {
			o.add(flowsObject(f, f.Flows[i].Name, []int{i}))
		}
	}
	for k, p := range f.Workloads() {
		o.add(object{name: p.Name, work: k + 1})
	}
	return o
}

// flowsObject returns the object of some flows.
func flowsObject(f *fabric.Fabric, name string, flows []int) object {
	o := object{name: name, flows: flows}
	if len(flows) > 1 {
		o.common = sync.OnceValue(func() []fabric.Hop { return commonHops(f, flows) })
	}
	return o
}

// commonHops returns the hops that some flows share.
func commonHops(f *fabric.Fabric, flows []int) []fabric.Hop {
	pass := make([]int, 2*len(f.Wires)) // so many of the flows, from the first on, go by each hop
	for n, i := range flows {
		for _, h := range f.Certain(&f.Flows[i]).All() {
			if k := 2*h.Wire + h.From; pass[k] == n {
				pass[k]++
			}
		}
	}
	return slices.DeleteFunc(f.Certain(&f.Flows[flows[0]]).Hops(), func(h fabric.Hop) bool { return pass[2*h.Wire+h.From] < len(flows) })
}

func (o *objects) add(x object) {
	if _, taken := o.byName[x.name]; taken {
		o.byName[x.name] = -1
		return
	}
	o.byName[x.name] = len(o.all)
	o.all = append(o.all, x)
}

// known lists the objects for an error message, those whose names are nearest
// to name first.
func (o *objects) known(name string) string {
	names := make([]string, len(o.all))
	for i := range o.all {
		names[i] = o.all[i].name
	}
	return spelling.Some(spelling.ByNearness(name, names), 12)
}

// capacity is the rate of a wire from an instant on.
type capacity struct {
	from unit.Time
	rate unit.Rate
}

func capacitiesOf(f *fabric.Fabric, s *scenario.Scenario) capacities {
	all := make(capacities, len(f.Wires))
	for i := range f.Wires {
		all[i] = []capacity{{0, f.Wires[i].Link.Rate}}
		for _, e := range s.Events {
			if rate := e.Touches(f.Wires[i].Link).Rate; rate > 0 {
				all[i] = append(all[i], capacity{unit.Time(e.At), rate})
			}
		}
		slices.SortStableFunc(all[i], func(a, b capacity) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// capacities are those of each wire, by time.
type capacities [][]capacity

// at returns how fast a wire is at an instant.
func (c capacities) at(wire int, t unit.Time) unit.Rate {
	steps := c[wire]
	i := len(steps) - 1
	for i > 0 && steps[i].from > t {
		i--
	}
	return steps[i].rate
}

// rateAt returns how fast a wire is at an instant.
func (c *Collector) rateAt(wire int, t unit.Time) unit.Rate { return c.capacities.at(wire, t) }

// capacity returns the mean capacity of a wire in one direction from one instant to
// another, in bytes per second.
func (c *Collector) capacity(wire int, from, to unit.Time) float64 {
	steps := c.capacities[wire]
	var sum unit.Total
	for i, step := range steps {
		until := unit.Never
		if i+1 < len(steps) {
			until = steps[i+1].from
		}
		if a, b := max(step.from, from), min(until, to); b > a {
			sum.Add(step.rate.BytesPerSecond() * b.Sub(a).Seconds())
		}
	}
	return sum.Over(to.Sub(from).Seconds())
}
