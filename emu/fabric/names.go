package fabric

// Named reports whether w has a name of its own, and not just those of the
// machines that it joins.
func (w *Wire) Named() bool {
	return w.Link == nil || w.Name != w.Link.A+" - "+w.Link.B
}

// LinkName returns the name of a direction of a wire: "trunk.A-B" for the link
// trunk, "A1-A" for one without a name of its own.
func (f *Fabric) LinkName(h Hop) string {
	w := &f.Wires[h.Wire]
	name := f.Machines[w.Ends[h.From].Machine].Name + "-" + f.Machines[w.Ends[1-h.From].Machine].Name
	if w.Named() {
		name = w.Name + "." + name
	}
	return name
}
