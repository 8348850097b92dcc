package fabric

import (
	"slices"

	"fabemu/emu/scenario/paths"
	"fabemu/switchd"
	"fabemu/wire/port"
)

// Table returns the routes of a switch to all endpoints, in a state of the links.
func (f *Fabric) Table(node, state int) switchd.Routes {
	t := switchd.Routes{To: slices.Repeat([]port.ID{switchd.NoRoute}, len(f.Nodes)+1)}
	toward := slices.Repeat([]port.ID{unknown}, len(f.Nodes)) // by root
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
		if toward[root.To] == unknown {
			to := dst
			if f.Nodes[root.To].Switch != nil {
				to = root.To
			}
			steps = f.Paths.Steps(steps[:0], state, node, to)
			toward[root.To] = f.entry(&t, node, steps)
		}
		t.To[dst+1] = toward[root.To]
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
	equal := make([]port.ID, len(steps))
	for i, s := range steps {
		equal[i] = f.portTo(s, node)
	}
	k := slices.IndexFunc(t.Equal, func(other []port.ID) bool { return slices.Equal(other, equal) })
	if k < 0 {
		k = len(t.Equal)
		t.Equal = append(t.Equal, equal)
	}
	return port.ID(len(f.Nodes[node].Ports) + k)
}
