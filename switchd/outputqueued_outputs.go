package switchd

import (
	"math/bits"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// serve lets an output send the oldest frame of the highest priority that the peer has not stopped;
// of priorities with weights, of the one whose turn it is.
func (s *OutputQueued) serve(now unit.Time, p int) {
	s.agenda.Set(s.transmitterSlot(p), s.offer(now, p, &s.ports[p], &s.outputs[p]))
}

// serveControl does the same for an output whose port may have flow control to send, which goes
// first.
func (s *OutputQueued) serveControl(now unit.Time, p int) {
	pt, wake := &s.ports[p], unit.Never
	if pt.OwesControl(now) {
		wake = pt.Control(now)
	}
	s.agenda.Set(s.transmitterSlot(p), min(wake, s.offer(now, p, pt, &s.outputs[p])))
	if len(s.channels) > 0 { // whose timers begin when they are looked at: not before the frame has left
		s.agenda.Set(s.resendSlot(p), pt.Resend())
	} else if !pt.Armed() {
		s.setTimer(p, pt)
	}
}

// offer lets an output start a waiting frame, without flow control. It returns when the output
// should be looked at again.
func (s *OutputQueued) offer(now unit.Time, p int, pt *port.Port, o *output) (wake unit.Time) {
	wake = unit.Never
	if o.sending != none || pt.Transmitter().Free() > now {
		if news := o.news(); news != 0 {
			s.hold(now, p, o, news)
		}
		if o.sending != none || o.waits != 0 {
			wake = pt.Transmitter().Free()
		}
		return wake
	}
	for left := o.waits | o.kept; left != 0; {
		lane := uint(bits.Len8(left) - 1)
		if s.order.strict < port.Priorities {
			lane = s.weigh(now, p, left)
		}
		lane %= port.Priorities
		left &^= 1 << lane
		block := port.Open
		if head := o.queue[lane].head; head != none {
			sl := &s.slots.all[head]
			a := pt.MaySendIdle(now, &sl.frame, sl.length)
			if sl.tail > now {
				a = stillIn(now, pt, sl, a)
			}
			if a.Block == port.Open {
				s.start(now, p, lane, sl, pt, o)
				if news := o.news() & (left | 1<<lane); news != 0 {
					s.hold(now, p, o, news)
				}
				if o.waits&^o.line != 0 {
					s.wake(now, p) // the line keeps frames of higher priority now
				}
				return pt.Transmitter().Free()
			}
			block, wake = a.Block, min(wake, a.Until)
		}
		if block != o.block[lane] {
			s.stall(now, p, lane, block, o)
		}
	}
	return wake
}

// hold records for some priorities, a bit each, that the link is busy: those that have a frame wait
// for it, and the others have no reason to wait.
func (s *OutputQueued) hold(now unit.Time, p int, o *output, some uint8) {
	for some != 0 {
		lane, _ := s.order.first(some)
		some &^= 1 << lane
		block := port.Open
		if o.waits>>lane&1 == 1 {
			block = port.LinkBusy
		}
		s.stall(now, p, lane, block, o)
	}
}

// asks reports whether offer may have something to do. While a frame is being sent, its end is
// already in the agenda.
func (o *output) asks() bool {
	return o.sending == none && o.waits != 0 || o.news() != 0
}

// news returns the priorities for which hold would change the recorded reason.
func (o *output) news() uint8 { return o.waits&^o.line | o.kept&^o.waits }

// stall records the reason for which a priority waits from now on.
func (s *OutputQueued) stall(now unit.Time, p int, lane uint, block port.Block, o *output) {
	s.stalled(now, p, uint8(lane), block, o.block[lane])
	o.blocks(lane, block)
}

// blocks notes that reason.
func (o *output) blocks(lane uint, block port.Block) {
	o.block[lane] = block
	o.kept &^= 1 << lane
	o.line &^= 1 << lane
	if block != port.Open {
		o.kept |= 1 << lane
	}
	if block == port.LinkBusy {
		o.line |= 1 << lane
	}
}

// stillIn decides whether a frame whose tail is still arriving may leave by an output, because the
// link there may be faster than the one on which it arrives. a is the answer of the output itself.
func stillIn(now unit.Time, pt *port.Port, sl *slot, a port.Answer) port.Answer {
	if at := ready(pt, sl.tail, sl.length); a.Block == port.Open && at > now {
		return port.Answer{Block: port.LinkBusy, Until: at}
	}
	return a
}

// weigh returns the first of some priorities, a bit each, if there are weights and the link is
// idle. If no strict priority is among them, it is the one whose turn it is.
func (s *OutputQueued) weigh(now unit.Time, p int, some uint8) uint {
	first, weighted := s.order.first(some)
	if !weighted {
		return first
	}
	pt, o := &s.ports[p], &s.outputs[p]
	var lengths [port.Priorities]unit.Size
	var can, empty uint8
	for _, lane := range s.order.order[s.order.strict:] {
		head := o.queue[lane].head
		if head == none {
			empty |= 1 << lane
			continue
		}
		sl := &s.slots.all[head]
		if a := pt.MaySendIdle(now, &sl.frame, sl.length); stillIn(now, pt, sl, a).Block == port.Open {
			can |= 1 << lane
			lengths[lane] = sl.length
		}
	}
	if can == 0 {
		return first
	}
	return uint(s.rounds[p].next(&s.order, can, empty, &lengths))
}

// start sends the oldest frame of a priority.
func (s *OutputQueued) start(now unit.Time, p int, lane uint, sl *slot, pt *port.Port, o *output) {
	q := &o.queue[lane]
	o.sending, q.head = q.head, sl.next
	if q.head == none {
		o.waits &^= 1 << lane
	}
	note := port.Note{Waiting: uint16(min(o.waiting, 1<<16-1)), Credit: -1}
	s.leave(o, q, sl)
	if s.points.some && sl.frame.Kind.Traffic() {
		note.Reason = uint8(s.sampleLeaving(now, sl))
	}
	if s.dog != nil {
		s.dog.sent[p] |= 1 << lane
	}
	if sl.frame.Kind == wire.Data && sl.frame.Telemetry() != wire.NoTelemetry { // not for ACKs, which carry it back
		s.out.Bodies.AddHop(&sl.frame, &wire.Hop{Time: now, Sent: o.sent, Queue: o.total, Rate: pt.Transmitter().Rate()})
	}
	o.sent += sl.length
	pt.Start(now, &sl.frame, sl.length, note)
	s.report(now, p, uint8(lane), o.total, q.bytes)
}

// leave removes a frame from the counters of its queue.
func (s *OutputQueued) leave(o *output, q *queue, sl *slot) {
	q.bytes -= sl.length
	o.total -= sl.length
	o.waiting--
	if s.points.some {
		q.frames--
		q.cells -= s.cells(sl)
	}
}

// complete ends a transmission: the tail has left, and the frame's memory is free.
func (s *OutputQueued) complete(now unit.Time, p int) {
	o := &s.outputs[p]
	id := o.sending
	o.sending = none
	s.release(now, id)
}

// resume lets the senders go on that Dynamic watermarks stop no longer, by any port.
func (s *OutputQueued) resume() {
	d := s.memory.pool
	for _, k := range d.resumed {
		in, class := s.memory.whose(k)
		s.pausing[in].Resume(class)
		s.touch(in)
	}
	d.resumed = d.resumed[:0]
}

// retryServe checks the retry of a link after a frame has arrived. It makes the next Advance serve
// the output, or a later one if nothing is due yet, for example an ACK for which it is too early.
func (s *OutputQueued) retryServe(now unit.Time, p int, pt *port.Port) {
	if !pt.TakeRetryNews() {
		return
	}
	if pt.OwesControl(now) || !s.nothingNew(now, p) {
		s.wake(now, p)
	} else { // with retry a port is never Armed
		s.setTimer(p, pt)
	}
}

// nothingNew reports whether serve would find nothing to report about the frames that wait for an
// output.
func (s *OutputQueued) nothingNew(now unit.Time, p int) bool {
	o := &s.outputs[p]
	return o.waits|o.kept == 0 || o.news() == 0 && s.ports[p].Transmitter().Free() > now
}

// release frees the memory of a frame, and its slot.
func (s *OutputQueued) release(now unit.Time, id int32) {
	sl := &s.slots.all[id]
	s.slots.give(id, sl)
	if sl.input == ownFrame {
		return
	}
	in, lane := int(sl.input), sl.frame.Lane
	if s.belts != nil {
		s.freed(now, in, sl.output)
	}
	taken, resume := s.memory.free(in, lane, sl.length)
	if s.belts != nil {
		s.awaits(in)
	}
	pt := &s.ports[in]
	pt.Released(now, &sl.frame, taken)
	if resume && len(s.pausing) > 0 {
		s.pausing[in].Resume(s.memory.class(lane))
		s.touch(in)
	}
	if d := s.memory.pool; d != nil && len(d.resumed) > 0 {
		s.resume()
	}
	if len(s.channels) > 0 {
		switch control := s.channels[in].GiveBack(now, &sl.frame, sl.length); {
		case control == unit.Never:
		case control <= now || !s.nothingNew(now, in):
			s.touch(in)
		default:
			if slot := s.transmitterSlot(in); control < s.agenda.Due(slot) {
				s.agenda.Set(slot, control)
			}
		}
	}
}
