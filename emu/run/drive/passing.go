package drive

import (
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// plan has the nodes of an order that can plan ahead do so. Frames must be handed over as values,
// and nobody may look at nodes or links between two events.
func (o *order) plan() {
	o.passers = make([]Passer, len(o.nodes))
	next := int32(len(o.leaving))
	for m := range slices.Backward(o.nodes) {
		s := &o.nodes[m]
		if x, ok := s.Node.(Passer); ok && s.shares {
			if s.passes = x.Plan(lines{o, o.leaving[s.first:next]}); s.passes {
				o.passers[m] = x
			}
		}
		next = s.first
	}
}

// passOn has the next frame of a path pass through the node at its end.
func (o *order) passOn(p *path, through *slotted, slot int, now unit.Time) {
	o.key(now, placeOfPath, p.place)
	i := p.head
	f := o.shift(p, slot)
	o.hops++
	if !f.arrival.Frame.Kind.Control() {
		o.carried++
	}
	to, due, ok := o.passers[through.place].Pass(now, p.port, &f.arrival)
	if !ok {
		o.flights.put(i)
		return
	}
	o.append(to, &o.paths[to], i, due)
}

// lines are the links of a node.
type lines struct {
	*order
	by []int32 // by port: the path that begins there, as in order.leaving
}

// Takes implements port.Lines. Another domain gets no frame before it has begun.
func (l lines) Takes(p port.ID) (line int32, ok bool) {
	if int(p) >= len(l.by) {
		return 0, false
	}
	return l.by[p], l.by[p] >= 0
}

// TakeBack implements port.Lines.
func (l lines) TakeBack(id port.ID, n int, to port.Planner) {
	slot := l.by[id]
	p := &l.paths[slot]
	next := p.head
	if p.count -= int32(n); p.count == 0 {
		l.agenda.Unset(int(slot))
	} else {
		for range p.count {
			p.tail, next = next, l.flights.all[next].next
		}
	}
	for range n {
		i := next
		next = l.flights.all[i].next
		to.Back(id, &l.flights.all[i].arrival.Frame)
		l.flights.put(i)
	}
}
