package fabric

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Build lays out a scenario. The fabric keeps pointers into s, which must not
// change after. A scenario that is built in Go has to be right: resolve.Text checks
// it. Build returns an error if a node has too many ports, or a flow has no
// path; neither occurs in a scenario from resolve.Load.
//
// The start of flow i is its Start and a part of its Jitter, drawn from stream i of the
// seed. So another flow does not change the start of the others.
func Build(s *scenario.Scenario) (*Fabric, error) {
	f := &Fabric{Scenario: s, Paths: scenario.PathTableOf(s)}
	for i := range s.Switches {
		f.Nodes = append(f.Nodes, Node{Name: s.Switches[i].Name, Switch: &s.Switches[i]})
	}
	for i := range s.Endpoints {
		f.Nodes = append(f.Nodes, Node{Name: s.Endpoints[i].Name, Endpoint: &s.Endpoints[i]})
	}
	for i := range f.Nodes {
		f.Nodes[i].LID = wire.LID(i + 1)
		root, last := f.Paths.Root(i)
		f.roots = append(f.roots, paths.Step{Link: last.Link, To: root})
	}
	for i := range s.Links {
		f.addWire(&s.Links[i])
	}
	for i := range f.Nodes {
		if m := &f.Nodes[i]; len(m.Ports) > int(switchd.NoRoute) {
			return nil, fmt.Errorf("fabric: %s has more than %d ports", m.Name, switchd.NoRoute)
		}
	}
	known := map[place]*Path{} // every so many hops
	for i := range s.Flows {
		if err := f.addFlow(i, known); err != nil {
			return nil, fmt.Errorf("fabric: flow %q: %w", s.Flows[i].Name, err)
		}
	}
	return f, nil
}

// addWire adds a link. The ports of a node are in the order of the links.
func (f *Fabric) addWire(l *scenario.Link) {
	w := Wire{Link: l, Name: l.Name}
	for end, name := range [...]string{l.A, l.B} {
		at := f.Paths.Index[name]
		m := &f.Nodes[at]
		w.Ends[end] = End{Node: at, Port: port.ID(len(m.Ports))}
		m.Ports = append(m.Ports, Port{Wire: len(f.Wires), End: end})
	}
	f.Wires = append(f.Wires, w)
}

// side returns which end of w is at a node, 0 or 1.
func (w *Wire) side(node int) int {
	if w.Ends[0].Node == node {
		return 0
	}
	return 1
}

// addFlow adds a flow of the scenario with its addresses, its start and its paths.
func (f *Fabric) addFlow(i int, known map[place]*Path) error {
	flow := &f.Scenario.Flows[i]
	k := scenario.Key{Src: f.Paths.Index[flow.From], Dst: f.Paths.Index[flow.To], QP: uint32(i + FirstQP)}
	path, later, err := f.pathOf(k, known)
	if err != nil {
		return err
	}
	out := Flow{Flow: flow, QP: k.QP, Family: f.Wires[path.Hop.Wire].Link.Family(), Src: k.Src, Dst: k.Dst, Path: path,
		Later: later, Stop: scenario.Until(flow.Stop, flow.Drain, f.Scenario.Model.Duration)}
	jitter := unit.NewRandom(f.Scenario.Model.Seed, uint64(i)).Span(flow.Jitter)
	out.Start = unit.Time(0).Add(flow.Start).Add(jitter)
	if f.Spreads(&out) {
		out.certain = f.certainOf(&out)
	}
	f.Flows = append(f.Flows, out)
	return nil
}

// place is a node on the path to another, in a state of the links.
type place struct {
	state int
	scenario.Place
}

// pathOf returns the first path of a flow, and its path in each later epoch in which it changes.
func (f *Fabric) pathOf(k scenario.Key, known map[place]*Path) (path *Path, later []*Path, err error) {
	last := path
	for _, e := range f.Paths.Epochs {
		now, err := f.lead(e.State, k, known)
		switch {
		case err != nil:
			return nil, nil, err
		case path == nil:
			path = now
		case !now.equal(last):
			later = append(later, now)
		}
		last = now
	}
	return path, later, nil
}

// lead returns the path of a flow in a state of the links. At a place with a known path it takes
// the rest from there.
func (f *Fabric) lead(state int, k scenario.Key, known map[place]*Path) (*Path, error) {
	var hops []Hop
	var rest *Path
	var here []place // every so many hops
	_, err := f.Paths.Walk(state, k.Src, k, func(at int, s paths.Step) bool {
		p := place{state, scenario.Place{At: at, Dst: k.Dst}}
		if rest = known[p]; rest != nil {
			return false
		}
		if len(hops)%scenario.Leap == 0 {
			here = append(here, p)
		}
		hops = append(hops, Hop{Wire: s.Link, From: f.Wires[s.Link].side(at)})
		return true
	})
	if err != nil {
		return nil, err
	}
	path := PathOf(hops, rest)
	if f.Paths.Shared() {
		for i, w := 0, path; i < len(hops); i, w = i+1, w.Rest {
			if i > 0 && i%scenario.Leap == 0 {
				known[here[i/scenario.Leap]] = w
			}
		}
	}
	return path, nil
}
