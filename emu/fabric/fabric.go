package fabric

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/node"
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

// Home returns the switch of an endpoint. For a switch, and for an endpoint without one, it returns
// the node itself.
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

	certain *Path // of a flow that takes several paths: Fabric.Certain
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
		if w := &f.Flows[i]; f.Spreads(w) {
			f.spread([]int{w.Src}, []int{w.Dst}, carries)
			continue
		}
		for _, path := range append([]*Path{f.Flows[i].Path}, f.Flows[i].Later...) {
			for _, h := range path.All() {
				carries[h.Wire][h.From] = true
			}
		}
	}
	for _, p := range f.Workloads() {
		f.spread(p.Members, p.Members, carries)
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

// Workload is a workload of the scenario with its addresses.
type Workload struct {
	*scenario.Workload
	Members []int        // nodes, in the order of the workload
	Range   node.QPRange // of its transfers, from each member in turn
	Flow    Flow         // with all that its transfers have in common
	Plain   scenario.Flow
}

// Workloads returns the workloads of the scenario.
func (f *Fabric) Workloads() (all []*Workload) {
	if f.Scenario == nil || len(f.Scenario.Workloads) == 0 {
		return nil
	}
	ranges := f.Scenario.Ranges()
	for i := range f.Scenario.Workloads {
		w := &f.Scenario.Workloads[i]
		p := &Workload{Workload: w, Range: ranges[i]}
		names := w.Members()
		for _, name := range names {
			p.Members = append(p.Members, f.Paths.Index[name])
		}
		p.Plain = w.Template(names[0], names[1])
		p.Flow = Flow{Flow: &p.Plain, Src: p.Members[0], Dst: p.Members[1],
			Family: f.Wires[f.Nodes[p.Members[0]].Ports[0].Wire].Link.Family()}
		all = append(all, p)
	}
	return all
}

// Transfer returns the index of the workload of a queue pair, and the node that sends with it; -1:
// it is not a transfer of a workload.
func Transfer(workloads []*Workload, qp uint32) (workload, source int) {
	for k, p := range workloads {
		if n := (qp - p.Range.First) / p.Range.Each; qp >= p.Range.First && int(n) < len(p.Members) {
			return k, p.Members[n]
		}
	}
	return -1, 0
}

// spread notes the directions of wires that frames from some nodes to others can cross, now or
// after the routes have changed, with any choice among equal paths.
func (f *Fabric) spread(from, to []int, carries [][2]bool) {
	for _, e := range f.Paths.Epochs {
		for _, dst := range to {
			f.Paths.Flood(e.State, from, dst, func(at int, s paths.Step) {
				carries[s.Link][f.Wires[s.Link].side(at)] = true
			})
		}
	}
}

// Sizes are the sizes of a data frame.
type Sizes struct {
	Blocks   int       // of credit
	Length   unit.Size // on the line
	Datagram unit.Size // with its trailer in a datagram
}

// Framing returns the framing of the lines.
func (f *Fabric) Framing() wire.Framing { return f.Scenario.Model.Framing }

// Frame returns a data frame of a flow, for its length.
func (f *Fabric) Frame(w *Flow) wire.Frame { return f.Scenario.Frame(w.Flow, w.Family) }

// Largest returns the sizes of the largest data frame of any flow.
func (f *Fabric) Largest() (s Sizes) {
	framing := f.Framing()
	frames := make([]wire.Frame, 0, len(f.Flows)+len(f.Scenario.Workloads))
	for i := range f.Flows {
		frames = append(frames, f.Frame(&f.Flows[i]))
	}
	for _, p := range f.Workloads() {
		frames = append(frames, f.Frame(&p.Flow))
	}
	for _, frame := range frames {
		s.Blocks = max(s.Blocks, wire.BlocksOf(frame.WireSize()))
		s.Length = max(s.Length, framing.Length(&frame))
		s.Datagram = max(s.Datagram, frame.WireSize()+wire.TrailerSize)
	}
	return s
}

// Room returns a buffer in blocks of credit, where s are the sizes of the largest frame.
func (s Sizes) Room(r unit.Room) int {
	if r.Packets > 0 {
		return r.Packets * s.Blocks
	}
	return int(r.Bytes / wire.BlockSize)
}

// Longest returns for each wire the duration of the longest data frame on it.
func (f *Fabric) Longest() []unit.Duration {
	length := f.Largest().Length
	longest := make([]unit.Duration, len(f.Wires))
	for i := range f.Wires {
		longest[i] = f.Wires[i].Link.Rate.Serialise(length)
	}
	return longest
}
