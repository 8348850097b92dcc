package fabric

import (
	"iter"
	"slices"

	"fabemu/emu/scenario/paths"
	"fabemu/switchd"
	"fabemu/wire/port"
)

// Path is the directed wires that a flow crosses, in order. It does not change: paths to one
// destination that meet share the rest. So the paths of a long chain take no more memory
// than the chain. nil is a path of no hops.
type Path struct {
	Hop  Hop   // the first
	Rest *Path // after it
}

// PathOf returns the path of some hops, with a rest behind them.
func PathOf(hops []Hop, rest *Path) *Path {
	all := make([]Path, len(hops))
	for i, h := range slices.Backward(hops) {
		all[i] = Path{Hop: h, Rest: rest}
		rest = &all[i]
	}
	return rest
}

// All returns the hops of a path, with their places from 0 on.
func (w *Path) All() iter.Seq2[int, Hop] {
	return func(yield func(int, Hop) bool) {
		for i, at := 0, w; at != nil; i, at = i+1, at.Rest {
			if !yield(i, at.Hop) {
				return
			}
		}
	}
}

// Hops returns the hops of a path as a list of the caller's.
func (w *Path) Hops() (hops []Hop) {
	for _, h := range w.All() {
		hops = append(hops, h)
	}
	return hops
}

// equal reports whether two paths have the same hops.
func (w *Path) equal(o *Path) bool {
	for w != o {
		if w == nil || o == nil || w.Hop != o.Hop {
			return false
		}
		w, o = w.Rest, o.Rest
	}
	return true
}

// Named reports whether w has its own name, not only the names of the
// nodes that it joins.
func (w *Wire) Named() bool {
	return w.Link == nil || w.Name != w.Link.A+" - "+w.Link.B
}

// LinkName returns the name of a direction of a wire: "trunk.A-B" for the link
// trunk, "A1-A" for one without its own name.
func (f *Fabric) LinkName(h Hop) string {
	w := &f.Wires[h.Wire]
	name := f.Nodes[w.Ends[h.From].Node].Name + "-" + f.Nodes[w.Ends[1-h.From].Node].Name
	if w.Named() {
		name = w.Name + "." + name
	}
	return name
}

// Table returns the routes of a switch to all endpoints, in a state of the links.
func (f *Fabric) Table(node, state int) switchd.Routes {
	t := switchd.Routes{To: slices.Repeat([]port.ID{unknown}, len(f.Nodes)+1)}
	twins := slices.Repeat([]port.ID{unknown}, len(f.Scenario.Switches)) // the entries towards switches and their twins
	var steps []paths.Step
	for dst := range f.Nodes {
		if f.Nodes[dst].Switch != nil {
			continue
		}
		root := f.roots[dst]
		if root.To == node {
			t.To[dst+1] = f.portTo(root, node)
			continue
		}
		toward := &t.To[root.To+1] // of a switch, until all endpoints behind it are known
		if *toward == unknown {
			to, twin := dst, toward
			if f.Nodes[root.To].Switch != nil {
				to = root.To
				twin = &twins[f.Paths.Twin(state, to)]
			}
			if *toward = *twin; *toward == unknown {
				steps = f.Paths.Steps(steps[:0], state, node, to)
				*toward = f.entry(&t, node, steps)
				if len(steps) > 0 && steps[0].To != to {
					*twin = *toward
				}
			}
		}
		t.To[dst+1] = *toward
	}
	t.To[0] = switchd.NoRoute
	for i := range f.Nodes {
		if f.Nodes[i].Switch != nil {
			t.To[i+1] = switchd.NoRoute
		}
	}
	return t
}

// unknown stands for a port that was not looked up yet.
const unknown = switchd.NoRoute - 1

// portTo returns the port of a node at the link of a step.
func (f *Fabric) portTo(s paths.Step, node int) port.ID {
	w := &f.Wires[s.Link]
	return w.Ends[w.side(node)].Port
}

// entry returns the value in a table for steps from a switch.
func (f *Fabric) entry(t *switchd.Routes, node int, steps []paths.Step) port.ID {
	switch len(steps) {
	case 0:
		return switchd.NoRoute
	case 1:
		return f.portTo(steps[0], node)
	}
	var room [64]port.ID
	equal := room[:0]
	for _, s := range steps {
		equal = append(equal, f.portTo(s, node))
	}
	k := slices.IndexFunc(t.Equal, func(other []port.ID) bool { return slices.Equal(other, equal) })
	if k < 0 {
		k = len(t.Equal)
		t.Equal = append(t.Equal, slices.Clone(equal))
	}
	return port.ID(len(f.Nodes[node].Ports) + k)
}
