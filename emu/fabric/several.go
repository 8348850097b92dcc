package fabric

import (
	"cmp"
	"slices"

	"fabemu/emu/scenario/paths"
)

// Spreads reports whether packets of a flow take several paths at a time, where there are equal
// ones: switches, or its source, choose for each packet, or for a few. Then Flow.Path is only one
// of those paths.
func (f *Fabric) Spreads(w *Flow) bool { return f.Scenario != nil && f.Scenario.Spreads(w.Transport) }

// Levels returns the hops that packets of a flow may take at the start of the run, with any choice
// among equal paths: by their distance from its source, and in the order of the nodes that they
// leave. Each path has one hop of each level. Of a flow that takes one path a level has one hop.
func (f *Fabric) Levels(w *Flow) (levels [][]Hop) {
	if !f.Spreads(w) {
		return slices.Collect(slices.Chunk(w.Path.Hops(), 1))
	}
	at := []int{w.Src}
	var steps []paths.Step
	for len(at) > 0 && !slices.Contains(at, w.Dst) && len(levels) <= len(f.Nodes) {
		var level []Hop
		var next []int
		for _, node := range at {
			steps = f.Paths.Steps(steps[:0], 0, node, w.Dst)
			for _, s := range steps {
				level = append(level, f.hop(s, node))
				next = append(next, s.To)
			}
		}
		if len(level) == 0 {
			break
		}
		slices.Sort(next)
		at = slices.Compact(next)
		levels = append(levels, level)
	}
	return levels
}

// hop returns the hop of a step from a node.
func (f *Fabric) hop(s paths.Step, node int) Hop {
	return Hop{Wire: s.Link, From: f.Wires[s.Link].side(node)}
}

// Certain returns the hops that every packet of a flow takes: its path, but if it takes several the
// hops that they share.
func (f *Fabric) Certain(w *Flow) *Path {
	switch {
	case w.certain != nil:
		return w.certain
	case f.Spreads(w):
		return f.certainOf(w)
	}
	return w.Path
}

func (f *Fabric) certainOf(w *Flow) *Path {
	var hops []Hop
	for _, level := range f.Levels(w) {
		if len(level) == 1 {
			hops = append(hops, level[0])
		}
	}
	return PathOf(hops, nil)
}

// Choice is the equal outputs of a node to some destinations.
type Choice struct {
	Node int
	Hops []Hop // in the order of their wires
}

// Choices returns the choices that data of flows and workloads leaves at the start of the run, each
// once, by their nodes.
func (f *Fabric) Choices() (all []Choice) {
	sources := map[int][]int{} // by the end of paths, those who send there
	enter := func(src, dst int) {
		root, _ := f.Paths.Root(dst)
		if !slices.Contains(sources[root], src) {
			sources[root] = append(sources[root], src)
		}
	}
	for i := range f.Flows {
		enter(f.Flows[i].Src, f.Flows[i].Dst)
	}
	for _, p := range f.Workloads() {
		for _, dst := range p.Members {
			root, _ := f.Paths.Root(dst)
			sources[root] = append(sources[root], p.Members...)
		}
	}
	for root, from := range sources {
		by := map[int][]Hop{}
		f.Paths.Flood(0, from, root, func(at int, s paths.Step) { by[at] = append(by[at], f.hop(s, at)) })
		for at, hops := range by {
			slices.SortFunc(hops, byWire)
			same := func(c Choice) bool { return c.Node == at && slices.Equal(c.Hops, hops) }
			if len(hops) > 1 && !slices.ContainsFunc(all, same) {
				all = append(all, Choice{at, hops})
			}
		}
	}
	slices.SortFunc(all, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), slices.CompareFunc(a.Hops, b.Hops, byWire))
	})
	return all
}

func byWire(a, b Hop) int { return cmp.Or(cmp.Compare(a.Wire, b.Wire), cmp.Compare(a.From, b.From)) }
