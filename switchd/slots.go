package switchd

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// slot is a place in the memory of a switch for a frame, occupied until the frame's tail has left:
// in an input buffer from the moment at which its header has arrived. It has two cache lines. The
// first contains all that an output looks at while the frame waits for it.
type slot struct {
	state    state
	reason   uint8 // a trace.Reason: why it was marked here
	input    port.ID
	output   port.ID
	lane     uint8     // input buffer: the virtual lane by which it came; that of frame is the one by which it leaves
	bypassed int32     // by how many younger frames (model M2)
	next     int32     // in the list that it is in
	tail     unit.Time // when all of the frame has arrived
	eligible unit.Time // the earliest instant at which it may be forwarded
	length   unit.Size // on the link
	frame    wire.Frame
	starve   unit.Duration // input buffer: how late its credit goes back
}

// ownFrame is the input of a frame that the switch itself sends.
const ownFrame port.ID = 0xFFFF

// none ends a list of slots.
const none int32 = -1

// slots is the memory of a switch for frames. The slots that are free are a list; the others can be
// in a list each.
type slots struct {
	all  []slot
	free int32
}

// empty frees all slots.
func (s *slots) empty() { s.all, s.free = s.all[:0], none }

// take takes a free slot. It still holds an earlier frame.
func (s *slots) take() (id int32, sl *slot) {
	if id = s.free; id == none {
		id = int32(len(s.all))
		s.all = append(s.all, slot{})
	} else {
		s.free = s.all[id].next
	}
	return id, &s.all[id]
}

// give frees a slot.
func (s *slots) give(id int32, sl *slot) { sl.next, s.free = s.free, id }

// fifo is a list of slots: the first and the last of them. If head is none, it is empty.
type fifo struct{ head, tail int32 }

// push puts a slot at the end of a list.
func (s *slots) push(q *fifo, id int32, sl *slot) {
	if q.head == none {
		q.head = id
	} else {
		s.all[q.tail].next = id
	}
	q.tail = id
	sl.next = none
}

// pop takes the first slot of a list; there is one.
func (s *slots) pop(q *fifo) (id int32, sl *slot) {
	id = q.head
	sl = &s.all[id]
	q.head = sl.next
	return id, sl
}

// insert puts a slot into a list, behind another one, or first if before is none.
func (s *slots) insert(q *fifo, before, id int32, sl *slot) {
	if before == none {
		sl.next, q.head = q.head, id
	} else {
		sl.next, s.all[before].next = s.all[before].next, id
	}
	if sl.next == none {
		q.tail = id
	}
}

// remove takes a slot out of a list. The slot ahead of it is before, or none.
func (s *slots) remove(q *fifo, before, id int32, sl *slot) {
	if before == none {
		q.head = sl.next
	} else {
		s.all[before].next = sl.next
	}
	if q.tail == id {
		q.tail = before
	}
}
