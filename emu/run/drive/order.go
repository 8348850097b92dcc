package drive

import (
	"cmp"
	"fmt"
	"slices"

	"fabemu/emu/run/deadlock"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// order is the common part of all drivers: the total order of events, and the frames
// that are in flight.
type order struct {
	fabric  *Setup
	paths   []path    // in the order of their slots
	flights flights   // the frames in flight, of all paths
	leaving []int32   // by port, node after node: the path that begins there
	nodes   []slotted // by node
	passers []Passer  // by node; nil: it receives frames
	slots   []int32   // by node: its first slot
	owners  []int32   // by slots from first on, nodeSlots of them together: their node
	first   int       // the first slot of a node
	last    int       // the slot of the look for deadlock, behind the slots of nodes
	change  int       // the next of the fabric's Changes
	agenda  *agenda.Agenda
	outbox  *port.Outbox // of the nodes that share the agenda
	soon    agenda.Now   // by node: those that share the agenda and have something to do now
	now     unit.Time
	trailer wire.Trailer       // of the datagram that is being read
	elapsed int64              // wall time of the event, ns since the start; 0 on the virtual clock
	hops    int64              // frames handed over
	carried int64              // of these, frames that are not flow control
	watcher *deadlock.Detector // nil: deadlock is not looked for

	carry func(slot int32, t *port.Transmission) error // sends a frame by a path; nil: as a value
	buf   []byte                                       // of a frame that is handed over as bytes
	keys  *trace.Batch                                 // takes the keys of the events; nil: only the fabric's Key does
	keyed bool                                         // some do

	report func(deadlock.Waits) error // takes the waiting frames at an instant of the watch; nil: the watcher looks by itself
}

// path is one direction of a wire. A large fabric has many, and touches another one
// with each event: it is small.
type path struct {
	number int32 // 2*wire + which end sends: the sending port's number in the fabric
	place  int32 // among the paths of the fabric, in the order of their slots
	node   int32 // that it leads to
	port   port.ID
	seq    uint32 // of the first frame in flight
	count  int32  // frames in flight: a list of flights, in the order in which they were sent
	head   int32
	tail   int32
}

// slotted is a node and where it is in the order.
type slotted struct {
	Node
	number int32 // in the fabric
	place  int32 // in order.nodes
	first  int32 // where its ports are in order.leaving
	shares bool  // its slots are its own, as Sharer
	passes bool  // it is in order.passers
}

// nodeSlots divides the slot count of every node: a line of the agenda has two such places, and
// no more nodes.
const nodeSlots = 4

// none is the path of a port that no wire joins.
const none int32 = -1

// Ranks returns, by number of a path, its position among the events of one instant.
func (f *Setup) Ranks() ([]int, error) {
	o, err := number(f)
	if err != nil {
		return nil, err
	}
	ranks := make([]int, len(o.paths))
	for slot := range o.paths {
		ranks[o.paths[slot].number] = slot
	}
	return ranks, nil
}

// newOrder numbers the paths, the nodes, and the changes of those that are here, and reads the
// first deadlines. Nodes that can share the agenda do, if they may.
func newOrder(f *Setup, share bool) (*order, error) {
	o, err := number(f)
	if err == nil {
		err = o.lay(share)
	}
	if err != nil {
		return nil, err
	}
	o.fabric.Changes = slices.DeleteFunc(o.fabric.Changes, func(c Change) bool { return f.Nodes[c.Node] == nil })
	if o.watcher = deadlock.New(f.Watch, f.Nodes, f.Wires, f.End, o.fabric.LastChange()); o.watcher != nil {
		o.agenda.Set(o.watchSlot(), o.watcher.Next())
	}
	o.begin()
	return o, nil
}

// begin reads the first deadlines of the nodes, and the first of the changes. Nodes that run in
// another process are nil.
func (o *order) begin() {
	o.agenda.Set(o.changeSlot(), o.nextChange())
	for m := range o.nodes {
		switch s := &o.nodes[m]; {
		case s.Node == nil:
		case s.shares:
			out := s.Node.(Sharer).Share(o.agenda, o.nodeSlot(m))
			if o.outbox != nil && out != o.outbox {
				panic("drive: nodes that share an agenda have separate outboxes")
			}
			o.outbox = out
		default:
			o.agenda.Set(o.nodeSlot(m), max(0, s.Deadline()))
		}
	}
}

// number numbers paths, nodes and changes.
func number(f *Setup) (*order, error) {
	own := *f
	own.Changes = slices.Clone(f.Changes)
	for i := range own.Changes {
		own.Changes[i].number = int32(i)
	}
	o := &order{fabric: &own, keyed: f.Key != nil, nodes: make([]slotted, 0, len(f.Nodes)), paths: make([]path, 0, 2*len(f.Wires))}
	for m, node := range f.Nodes {
		o.nodes = append(o.nodes, slotted{Node: node, number: int32(m), place: int32(m)})
	}
	for w, ends := range f.Wires {
		for i := range ends {
			if m := ends[i].Node; m < 0 || m >= len(f.Nodes) {
				return nil, fmt.Errorf("wire %d ends at node %d; there are %d", w, m, len(f.Nodes))
			}
			o.paths = append(o.paths, path{number: int32(2*w + i), node: int32(ends[1-i].Node), port: ends[1-i].Port})
		}
	}
	slices.SortFunc(o.paths, func(a, b path) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port)) })
	for slot := range o.paths {
		o.paths[slot].place = int32(slot)
	}
	return o, o.join()
}

// lay gives paths and nodes their slots. Nodes that can share the agenda are to, if they may.
func (o *order) lay(share bool) error {
	o.slots, o.owners = make([]int32, len(o.nodes)), nil
	o.first = len(o.paths)/nodeSlots*nodeSlots + nodeSlots
	o.last = o.first
	for m := range o.nodes {
		n, at := 1, &o.nodes[m]
		s, ok := at.Node.(Sharer)
		if at.shares = ok && share; at.shares {
			n = s.Slots()
		}
		o.slots[m] = int32(o.last)
		for ; n > 0; n -= nodeSlots {
			o.owners = append(o.owners, int32(m))
			o.last += nodeSlots
		}
	}
	o.agenda = agenda.New(o.last + 1)
	if last := o.agenda.Last(); o.fabric.End > last && share {
		return o.lay(false) // which takes fewer slots
	} else if o.fabric.End > last {
		return fmt.Errorf("a run of %v is too long for %d nodes and %d wires: at most %v", unit.Duration(o.fabric.End), len(o.nodes), len(o.fabric.Wires), unit.Duration(last))
	}
	o.flights = newFlights(2 * len(o.paths)) // most never have more at a time; what is not used takes no memory
	o.soon = agenda.NewNow(len(o.nodes))
	return nil
}

// The slots of the agenda: arrivals by path, then changes from outside, then the
// deadlines of nodes; last of all, the look for deadlock.
func (o *order) changeSlot() int    { return len(o.paths) }
func (o *order) nodeSlot(m int) int { return int(o.slots[m]) }
func (o *order) watchSlot() int     { return o.last }

// owner returns the node that a slot belongs to.
func (o *order) owner(slot int) int { return int(o.owners[uint(slot-o.first)/nodeSlots]) }

// holder returns the entry of the node that a slot belongs to.
func (o *order) holder(slot int) *slotted { return &o.nodes[o.owner(slot)] }

// join finds the path that leaves by each port.
func (o *order) join() error {
	ports := make([]int32, len(o.nodes)) // how many each node has
	for i := range o.paths {
		from := o.from(&o.paths[i])
		ports[from.Node] = max(ports[from.Node], int32(from.Port)+1)
	}
	all := int32(0)
	for m, n := range ports {
		o.nodes[m].first = all
		all += n
	}
	o.leaving = make([]int32, all)
	for i := range o.leaving {
		o.leaving[i] = none
	}
	for i := range o.paths {
		from := o.from(&o.paths[i])
		at := &o.leaving[int(o.nodes[from.Node].first)+int(from.Port)]
		if *at != none {
			return fmt.Errorf("port %d of node %d is joined twice", from.Port, from.Node)
		}
		*at = int32(i)
	}
	return nil
}

// from returns where a path begins.
func (o *order) from(p *path) port.End { return o.fabric.Wires[p.number/2][p.number%2] }

// push makes a place for one more frame on the path in slot, due at an instant. It may move the
// places of all other frames.
func (o *order) push(slot int32, p *path, due unit.Time) *flight {
	i := o.flights.place()
	o.append(slot, p, i, due)
	return &o.flights.all[i]
}

// append puts a frame behind the others on a path.
func (o *order) append(slot int32, p *path, i int32, due unit.Time) {
	if p.count == 0 {
		p.head = i
		o.agenda.Set(int(slot), due)
	} else {
		last := &o.flights.all[p.tail]
		last.next, last.after = i, due
	}
	p.tail = i
	p.count++
}

// pop takes the first frame in flight off the path, and gives its place back. The result stays
// valid until the next push.
func (o *order) pop(p *path, slot int) *flight {
	i := p.head
	f := o.shift(p, slot)
	o.flights.put(i)
	return f
}

// shift takes the first frame in flight off the path; its place stays taken.
func (o *order) shift(p *path, slot int) *flight {
	f := &o.flights.all[p.head]
	p.head = f.next
	p.count--
	p.seq++
	if p.count == 0 {
		o.agenda.Unset(slot)
	} else {
		o.agenda.Set(slot, f.after)
	}
	return f
}

// deliver hands the next frame of a path to the node at its end.
func (o *order) deliver(p *path, to *slotted, slot int, now unit.Time) {
	o.key(now, placeOfPath, p.place)
	f := o.pop(p, slot)
	o.hops++
	if !f.arrival.Frame.Kind.Control() {
		o.carried++
	}
	if o.fabric.Tap != nil {
		o.fabric.Tap.Received(int(p.number), &f.arrival, o.fabric.Bodies.Of(&f.arrival.Frame), now, o.elapsed)
	}
	to.Receive(now, p.port, &f.arrival)
}

// nextChange returns when the next change from outside is.
func (o *order) nextChange() unit.Time {
	if o.change < len(o.fabric.Changes) {
		return o.fabric.Changes[o.change].At
	}
	return unit.Never
}

// insert adds a change, behind the others of its instant. The last event is not later.
func (o *order) insert(c Change) {
	all, i := o.fabric.Changes, o.change
	for i < len(all) && all[i].At <= c.At {
		i++
	}
	if o.change == 0 {
		o.fabric.Changes = slices.Insert(all, i, c)
	} else { // in the place of one that has been made: packets from outside do not fill the memory
		o.change--
		copy(all[o.change:], all[o.change+1:i])
		all[i-1] = c
	}
	o.agenda.Set(o.changeSlot(), o.nextChange())
}
