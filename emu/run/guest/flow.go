package guest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// queueRoom is how many packets the queue of a flow holds: one that may leave, and one behind it,
// so that a line does not stop while the loop reads a device.
const queueRoom = 2

// queue holds the packets of a guest for a flow. It is the flow's node.BodySource.
type queue struct {
	guests   *Guests
	guest    *guest
	name     string // of the flow
	to       int    // node
	priority uint8
	family   wire.Family
	packet   uint32                   // the longest payload of its packets
	lane     *lane                    // of a guest with an adapter; nil: of another
	under    *transit                 // of a flow between real hosts; nil for others
	slots    [queueRoom + 1]wire.Body // one more than the queue holds: the packet that was taken last
	head     int
	count    int
}

func (q *queue) push(b wire.Body) {
	s := &q.slots[(q.head+q.count)%len(q.slots)]
	s.Type, s.Bytes = b.Type, append(s.Bytes[:0], b.Bytes...)
	q.count++
}

// Ready returns now if there is a packet, and never otherwise.
func (q *queue) Ready(now unit.Time) unit.Time {
	if q.count > 0 {
		return now
	}
	return unit.Never
}

// Take returns the first packet, and makes room for the pending packet and those behind it.
func (q *queue) Take(now unit.Time, _ int) (wire.Body, bool) {
	if q.count == 0 {
		return wire.Body{}, false
	}
	b := q.slots[q.head]
	q.head = (q.head + 1) % len(q.slots)
	q.count--
	if q.under != nil {
		q.under.enter(now, b)
	}
	q.guest.place(q)
	if q.guest.ready {
		if err := q.guests.read(q.guest, q); err != nil {
			q.guests.failed = errors.Join(q.guests.failed, err)
		}
	}
	return b, true
}

// timed is the queue of a guest with a stack in this program. It is the flow's node.BodyTimer.
type timed struct{ *queue }

// Advance runs the timers of the stack that are due, and reads the packets that it sends.
func (t *timed) Advance(now unit.Time) {
	t.guest.stack.Advance(now)
	t.guests.mustRead(t.guest)
}

// Deadline returns when the next timer of the stack is due.
func (t *timed) Deadline() unit.Time { return t.guest.stack.Deadline() }

// Take returns the first packet, and reads more from the stack.
func (t *timed) Take(now unit.Time, room int) (wire.Body, bool) {
	b, ok := t.queue.Take(now, room)
	t.guests.mustRead(t.guest)
	return b, ok
}

// mustRead reads a stack, which does not fail.
func (g *Guests) mustRead(x *guest) {
	if err := g.read(x, nil); err != nil {
		panic(fmt.Sprintf("guests: the stack of %s cannot be read: %v", x.name, err))
	}
}

// sink takes the packets that arrive for a guest by one flow.
type sink struct {
	guests *Guests
	to     *guest
	from   wire.MAC // of the guest at its other end
	under  *transit // of a flow between real hosts; nil for others
	flow   *fabric.Flow
	kept   []kept   // in order of arrival
	spare  [][]byte // memory of packets that were kept
	buf    []byte
}

// kept is a packet that is kept back until an instant of the wall clock, in ns.
type kept struct {
	at     int64
	packet []byte
}

// Put sends the guest a packet, at once or when its time has come. A packet whose frame was marked
// has CE.
func (s *sink) Put(model unit.Time, b wire.Body) {
	now, at := s.guests.clock(), int64(0)
	s.guests.now = now
	if s.under != nil {
		at = s.under.leave(model, b)
	}
	if a := s.to.nic; a != nil && a.peers[s.flow.Src] != nil {
		if s.guests.at = model; a.peers[s.flow.Src].receive(model, s.flow, &b) {
			return
		}
	}
	switch {
	case s.to.scene.ClearECN:
		b.ClearECN()
	case b.Marked:
		b.MarkIP()
	}
	packet := b.Bytes
	if s.to.scene.Kind == scenario.Tap && b.Type != wholeFrame {
		s.buf = appendMAC(appendMAC(s.buf[:0], s.to.mac), s.from)
		s.buf = append(binary.BigEndian.AppendUint16(s.buf, b.Type), b.Bytes...)
		packet = s.buf
	}
	if s.to.stack != nil {
		s.to.stack.Advance(model)
		s.guests.write(s.to, packet)
		s.guests.mustRead(s.to)
		return
	}
	if s.to.card != nil {
		s.to.card.join.Hold = min(max(holdLeast, s.guests.late(model)), holdMost)
	}
	if len(s.kept) == 0 {
		if at-now < soonEnough {
			s.guests.arrive(at, now)
			s.guests.write(s.to, packet)
			return
		}
		s.guests.keeping = append(s.guests.keeping, s)
	}
	var memory []byte
	if last := len(s.spare) - 1; last >= 0 {
		memory, s.spare = s.spare[last], s.spare[:last]
	}
	s.kept = append(s.kept, kept{at, append(memory[:0], packet...)})
}

// release sends the guest the packets whose time has come, and reports whether more are kept.
func (s *sink) release(now int64) bool {
	n := 0
	for n < len(s.kept) && s.kept[n].at-now < soonEnough {
		s.guests.arrive(s.kept[n].at, now)
		s.guests.write(s.to, s.kept[n].packet)
		s.spare = append(s.spare, s.kept[n].packet)
		n++
	}
	s.kept = append(s.kept[:0], s.kept[n:]...)
	return len(s.kept) > 0
}
