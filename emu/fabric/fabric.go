package fabric

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Fabric is a scenario laid out: nodes, the wires between their ports, and
// the routes between them. Everything is in slices, in a fixed order:
// switches in the order of the scenario, then endpoints; the index of a node
// is its place in the total order of events.
type Fabric struct {
	Scenario *scenario.Scenario // that is laid out
	Nodes    []Node
	Wires    []Wire // in the order of the scenario's links
	Flows    []Flow // in the order of the scenario's flows
	Paths    *scenario.PathTable

	roots []paths.Step // for each node, the last node on all paths to it, and the link from there
}

// Node is a switch or an endpoint.
type Node struct {
	Name     string
	Switch   *scenario.Switch   // nil for an endpoint
	Endpoint *scenario.Endpoint // nil for a switch
	LID      wire.LID           // address; index + 1
	Ports    []Port
}

// Port is one end of a wire.
type Port struct {
	Wire int // index in Fabric.Wires
	End  int // 0 for Wire.Ends[0], 1 for Wire.Ends[1]
}

// Wire is a link of the scenario between two ports.
type Wire struct {
	Link *scenario.Link
	Name string // the link's name
	Ends [2]End
}

// Peer returns the other end of the wire at a port.
func (f *Fabric) Peer(p Port) End { return f.Wires[p.Wire].Ends[1-p.End] }

// Home returns the switch of an endpoint. For a switch, and for an endpoint without one, it returns the
// node itself.
func (f *Fabric) Home(node int) int {
	if m := &f.Nodes[node]; m.Switch == nil && len(m.Ports) > 0 {
		if peer := f.Peer(m.Ports[0]).Node; f.Nodes[peer].Switch != nil {
			return peer
		}
	}
	return node
}

// End names a port of a node.
type End = port.End

// Flow is a flow of the scenario with its addresses.
type Flow struct {
	*scenario.Flow
	Family   wire.Family // of the links that it crosses
	QP       uint32      // queue pair at both ends: index + FirstQP
	Src, Dst int         // nodes
	Start    unit.Time   // with the jitter drawn from the seed
	Stop     unit.Time   // unit.Never: at the end of the run
	Path     *Path       // never nil
	Later    []*Path     // after it, one for each change of the routes
}

// FirstQP is the queue pair of the first flow.
const FirstQP = scenario.FirstQP

// Hop is a wire crossed in one direction: from Ends[From] to the other end.
type Hop struct{ Wire, From int }

// Group is the flows of one entry of a scenario.
type Group struct {
	Name  string
	Flows []int // indices in Fabric.Flows
}

// Groups returns the groups of flows, in the order of the flows.
func (f *Fabric) Groups() (groups []Group) {
	at := make(map[string]int)
	for i := range f.Flows {
		name := f.Flows[i].Group
		k, known := at[name]
		if !known {
			k = len(groups)
			at[name] = k
			groups = append(groups, Group{Name: name})
		}
		groups[k].Flows = append(groups[k].Flows, i)
	}
	return groups
}

// DataLinks returns the directions of wires that the data of some flow crosses, now or after
// the routes have changed, in the order of the wires.
func (f *Fabric) DataLinks() (links []Hop) {
	carries := make([][2]bool, len(f.Wires))
	for i := range f.Flows {
		for _, path := range append([]*Path{f.Flows[i].Path}, f.Flows[i].Later...) {
			for _, h := range path.All() {
				carries[h.Wire][h.From] = true
			}
		}
	}
	for _, p := range f.Workloads() {
		f.spread(p, carries)
	}
	for w := range carries {
		for from, yes := range carries[w] {
			if yes {
				links = append(links, Hop{Wire: w, From: from})
			}
		}
	}
	return links
}

// Out returns the direction of its wire in which a port sends.
func (p Port) Out() Hop { return Hop{Wire: p.Wire, From: p.End} }

// In returns the direction of its wire from which a port receives.
func (p Port) In() Hop { return Hop{Wire: p.Wire, From: 1 - p.End} }
