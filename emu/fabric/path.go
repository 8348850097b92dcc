package fabric

import (
	"iter"
	"slices"
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

// equal reports whether two ways have the same hops.
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
