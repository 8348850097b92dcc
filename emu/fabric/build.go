package fabric

import (
	"fmt"

	"fabemu/emu/fabric/paths"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Build lays out a scenario. The fabric keeps pointers into s, which must not
// change after. It returns an error when a link or a flow names what is not
// there, when a flow has no path, or when the fabric is too large to address;
// of a scenario from scenario.Load none of it is true.
//
// The start of flow i is its Start and a part of its Jitter, drawn from stream i of the
// seed, so that a flow more does not change when the others start.
func Build(s *scenario.Scenario) (*Fabric, error) {
	if n := len(s.Switches) + len(s.Endpoints); n > int(wire.MaxLID) {
		return nil, fmt.Errorf("fabric: %d machines are more than the %d addresses of a subnet", n, wire.MaxLID)
	}
	f := &Fabric{Scenario: s}
	index, err := f.addMachines(s)
	if err != nil {
		return nil, err
	}
	if err := f.addWires(s, index); err != nil {
		return nil, err
	}
	f.Ways = scenario.WaysOf(s)
	f.roots = make([]paths.Step, len(f.Machines))
	for i := range f.Machines {
		root, last := f.Ways.Root(i)
		f.roots[i] = paths.Step{Link: last.Link, To: root}
	}
	if err := f.addFlows(s, index); err != nil {
		return nil, err
	}
	return f, nil
}

// addMachines adds the switches, then the endpoints, and returns their indices.
func (f *Fabric) addMachines(s *scenario.Scenario) (map[string]int, error) {
	index := make(map[string]int, len(s.Switches)+len(s.Endpoints))
	add := func(name string, sw *scenario.Switch, end *scenario.Endpoint) error {
		if _, twice := index[name]; twice {
			return fmt.Errorf("fabric: two machines are named %q", name)
		}
		i := len(f.Machines)
		index[name] = i
		f.Machines = append(f.Machines, Machine{Name: name, Switch: sw, Endpoint: end, LID: wire.LID(i + 1)})
		return nil
	}
	for i := range s.Switches {
		if err := add(s.Switches[i].Name, &s.Switches[i], nil); err != nil {
			return nil, err
		}
	}
	for i := range s.Endpoints {
		if err := add(s.Endpoints[i].Name, nil, &s.Endpoints[i]); err != nil {
			return nil, err
		}
	}
	return index, nil
}

// addWires adds the links in their order; a machine's ports are in that order
// too.
func (f *Fabric) addWires(s *scenario.Scenario, index map[string]int) error {
	for i := range s.Links {
		l := &s.Links[i]
		w := Wire{Link: l, Name: l.Name}
		if l.A == l.B {
			return fmt.Errorf("fabric: link %q joins %q to itself", l.Name, l.A)
		}
		for end, name := range []string{l.A, l.B} {
			at, ok := index[name]
			if !ok {
				return fmt.Errorf("fabric: link %q joins %q, which is no machine", l.Name, name)
			}
			m := &f.Machines[at]
			if len(m.Ports) >= int(NoRoute) {
				return fmt.Errorf("fabric: %s has more than %d ports", name, NoRoute)
			}
			w.Ends[end] = End{Machine: at, Port: port.ID(len(m.Ports))}
			m.Ports = append(m.Ports, Port{Wire: i, End: end})
		}
		f.Wires = append(f.Wires, w)
	}
	return nil
}

// end returns the end of w at a machine.
func (w *Wire) end(machine int) End {
	if w.Ends[0].Machine == machine {
		return w.Ends[0]
	}
	return w.Ends[1]
}

// maxQP is the last queue pair number that names one flow: 0xFFFFFF is for
// multicast.
const maxQP = 1<<24 - 2

// addFlows adds the flows with their addresses, starts and ways.
func (f *Fabric) addFlows(s *scenario.Scenario, index map[string]int) error {
	if len(s.Flows)+1 > maxQP {
		return fmt.Errorf("fabric: %d flows are more than there are queue pair numbers", len(s.Flows))
	}
	known := map[place]*Way{} // every so many hops
	for i := range s.Flows {
		flow := &s.Flows[i]
		src, okSrc := index[flow.From]
		dst, okDst := index[flow.To]
		switch {
		case !okSrc || !okDst:
			return fmt.Errorf("fabric: flow %q goes from %q to %q, and not both are machines",
				flow.Name, flow.From, flow.To)
		case f.Machines[src].Switch != nil || f.Machines[dst].Switch != nil:
			return fmt.Errorf("fabric: flow %q goes from %q to %q, and not both are endpoints",
				flow.Name, flow.From, flow.To)
		case src == dst:
			return fmt.Errorf("fabric: flow %q goes from %q to itself", flow.Name, flow.From)
		}
		way, later, err := f.way(scenario.Key{Src: src, Dst: dst, QP: uint32(i + FirstQP)}, known)
		if err != nil {
			return fmt.Errorf("fabric: flow %q: %w", flow.Name, err)
		}
		out := Flow{Flow: flow, QP: uint32(i + FirstQP), Family: f.Wires[way.Hop.Wire].Link.Family(), Src: src,
			Dst: dst, Way: way, Later: later, Stop: unit.Never}
		jitter := unit.NewRandom(s.Model.Seed, uint64(i)).Span(flow.Jitter)
		out.Start = unit.Time(0).Add(flow.Start).Add(jitter)
		if flow.Stop > 0 {
			out.Stop = unit.Time(flow.Stop)
		}
		f.Flows = append(f.Flows, out)
	}
	return nil
}

// place is a machine on the way to another, in a state of the links.
type place struct {
	state int
	scenario.Place
}

// way returns the way of a flow: at first, and in the later epochs in which it differs
// from that before.
func (f *Fabric) way(k scenario.Key, known map[place]*Way) (way *Way, later []*Way, err error) {
	last := way
	for _, e := range f.Ways.Epochs {
		now, err := f.lead(e.State, k, known)
		switch {
		case err != nil:
			return nil, nil, err
		case way == nil:
			way = now
		case !now.equal(last):
			later = append(later, now)
		}
		last = now
	}
	return way, later, nil
}

// lead returns the way of a flow in a state of the links. Where it comes to a place with a known way, it has
// the rest from there.
func (f *Fabric) lead(state int, k scenario.Key, known map[place]*Way) (*Way, error) {
	var hops []Hop
	var rest *Way
	var here []place // every so many hops
	for at := k.Src; at != k.Dst && rest == nil; {
		p := place{state, scenario.Place{At: at, Dst: k.Dst}}
		if len(hops) > 0 {
			if rest = known[p]; rest != nil {
				break
			}
		}
		if len(hops)%scenario.Leap == 0 {
			here = append(here, p)
		}
		s, ok := f.Ways.Next(state, at, k)
		switch {
		case !ok:
			return nil, scenario.ErrNoPath
		case len(hops) > len(f.Machines):
			return nil, scenario.ErrRound
		}
		from := 0
		if f.Wires[s.Link].Ends[1].Machine == at {
			from = 1
		}
		hops = append(hops, Hop{Wire: s.Link, From: from})
		at = s.To
	}
	way := WayOf(hops, rest)
	if f.Ways.Shared() {
		for i, w := 0, way; i < len(hops); i, w = i+1, w.Rest {
			if i > 0 && i%scenario.Leap == 0 {
				known[here[i/scenario.Leap]] = w
			}
		}
	}
	return way, nil
}
