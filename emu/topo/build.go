package topo

import (
	"errors"
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/topo/paths"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Build lays out a scenario. The fabric keeps pointers into s, which must not
// change after. It returns an error when a link or a flow names what is not
// there, when a flow has no path, or when the fabric is too large to address;
// of a scenario from scenario.Load none of it is true.
//
// Routes are shortest paths, with ties as package paths says. The start of flow
// i is its Start and a part of its Jitter, drawn from stream i of the seed, so
// that a flow more does not change when the others start.
func Build(s *scenario.Scenario) (*Fabric, error) {
	if n := len(s.Switches) + len(s.Endpoints); n > int(wire.MaxLID) {
		return nil, fmt.Errorf("topo: %d machines are more than the %d addresses of a subnet", n, wire.MaxLID)
	}
	f := &Fabric{}
	index, err := f.addMachines(s)
	if err != nil {
		return nil, err
	}
	if err := f.addWires(s, index); err != nil {
		return nil, err
	}
	g, _ := scenario.Graph(s)
	f.route(g)
	if err := f.addFlows(s, g, index); err != nil {
		return nil, err
	}
	return f, nil
}

// addMachines adds the switches, then the endpoints, and returns their indices.
func (f *Fabric) addMachines(s *scenario.Scenario) (map[string]int, error) {
	index := make(map[string]int, len(s.Switches)+len(s.Endpoints))
	add := func(name string, sw *scenario.Switch, end *scenario.Endpoint) error {
		if _, twice := index[name]; twice {
			return fmt.Errorf("topo: two machines are named %q", name)
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
			return fmt.Errorf("topo: link %q joins %q to itself", l.Name, l.A)
		}
		for end, name := range []string{l.A, l.B} {
			at, ok := index[name]
			if !ok {
				return fmt.Errorf("topo: link %q joins %q, which is no machine", l.Name, name)
			}
			m := &f.Machines[at]
			if len(m.Ports) >= int(NoRoute) {
				return fmt.Errorf("topo: %s has more than %d ports", name, NoRoute)
			}
			w.Ends[end] = End{Machine: at, Port: port.ID(len(m.Ports))}
			m.Ports = append(m.Ports, Port{Wire: i, End: end})
		}
		f.Wires = append(f.Wires, w)
	}
	return nil
}

// route fills in the routes of the switches.
func (f *Fabric) route(g *paths.Graph) {
	for i := range f.Machines {
		if f.Machines[i].Switch == nil {
			continue
		}
		routes := make([]port.ID, len(f.Machines)+1)
		routes[0] = NoRoute // no machine has this LID
		for dst := range f.Machines {
			out := NoRoute
			if step, ok := g.Next(i, dst); ok {
				out = f.Wires[step.Link].end(i).Port
			}
			routes[f.Machines[dst].LID] = out
		}
		f.Machines[i].Routes = routes
	}
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
func (f *Fabric) addFlows(s *scenario.Scenario, g *paths.Graph, index map[string]int) error {
	if len(s.Flows)+1 > maxQP {
		return fmt.Errorf("topo: %d flows are more than there are queue pair numbers", len(s.Flows))
	}
	for i := range s.Flows {
		flow := &s.Flows[i]
		src, okSrc := index[flow.From]
		dst, okDst := index[flow.To]
		switch {
		case !okSrc || !okDst:
			return fmt.Errorf("topo: flow %q goes from %q to %q, and not both are machines", flow.Name, flow.From, flow.To)
		case f.Machines[src].Switch != nil || f.Machines[dst].Switch != nil:
			return fmt.Errorf("topo: flow %q goes from %q to %q, and not both are endpoints", flow.Name, flow.From, flow.To)
		case src == dst:
			return fmt.Errorf("topo: flow %q goes from %q to itself", flow.Name, flow.From)
		}
		hops, err := f.way(g, src, dst)
		if err != nil {
			return fmt.Errorf("topo: flow %q: %w", flow.Name, err)
		}
		out := Flow{Flow: flow, QP: uint32(i + FirstQP), Family: f.Wires[hops[0].Wire].Link.Family(), Src: src, Dst: dst, Hops: hops, Stop: unit.Never}
		jitter := unit.NewRandom(s.Model.Seed, uint64(i)).Span(flow.Jitter)
		out.Start = unit.Time(0).Add(flow.Start).Add(jitter)
		if flow.Stop > 0 {
			out.Stop = unit.Time(flow.Stop)
		}
		f.Flows = append(f.Flows, out)
	}
	return nil
}

// errNoPath says that no links lead to the destination.
var errNoPath = errors.New("there is no path")

// errRound says that routes lead past the same switch again and again.
var errRound = errors.New("the routes go round")

// way returns the hops from a machine to another.
func (f *Fabric) way(g *paths.Graph, src, dst int) ([]Hop, error) {
	var hops []Hop
	for at := src; at != dst; {
		step, ok := g.Next(at, dst)
		if !ok {
			return nil, errNoPath
		}
		if len(hops) > len(f.Machines) {
			return nil, errRound
		}
		from := 0
		if f.Wires[step.Link].Ends[1].Machine == at {
			from = 1
		}
		hops = append(hops, Hop{Wire: step.Link, From: from})
		at = step.To
	}
	return hops, nil
}
