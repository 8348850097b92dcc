package node

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// BodySource is where the packets of a flow have their bodies from: a device, a program. It
// is the flow's traffic.
//
// It is asked for a body only when the packet leaves at that instant: the window is open, the
// limiter lets it, and the line is idle and has credit, or is not paused, for a packet of the
// flow's Payload. A device is not read while any of these stops the flow; it then treats
// its writers in its own way.
//
// A source that cannot predict its next body returns when to be asked again.
//
// A source and a sink at each end of two flows, there and back, are all that a protocol of
// its own needs: it acknowledges bodies of the flow back.
type BodySource interface {
	// Ready returns the instant from which there is a body: now or before if there is one,
	// unit.Never if there will be none. It is asked again when the flow does anything, then,
	// whenever a BodySink of the same endpoint has had a body, as the arrival may be the one that it
	// waits for, and whenever the endpoint receives port.Offer.
	Ready(now unit.Time) unit.Time
	// Take returns the next body, of at most room bytes, which the flow copies; false if
	// there is none after all. Then Ready is asked again, a nanosecond later at the earliest.
	Take(now unit.Time, room int) (wire.Body, bool)
}

// BodyTimer is a BodySource that has something to do at instants of its own, whatever keeps
// its packets: the timers of a protocol that it speaks.
type BodyTimer interface {
	BodySource
	// Advance does all that is due. Ready is asked after it.
	Advance(now unit.Time)
	// Deadline returns when the next of it is due; unit.Never: nothing is. It changes only
	// by Advance, and by the bodies that a BodySink of the same endpoint is handed.
	Deadline() unit.Time
}

// BodySink is where the bodies of a flow go: each once, in the order in which their packets
// are delivered, which is that in which they were taken unless routes change or packets are
// lost. The arguments of Put are its own for the call.
type BodySink interface {
	Put(now unit.Time, b wire.Body)
}

// bodied is the part of a source whose packets have bodies.
type bodied struct {
	from    BodySource
	timer   BodyTimer // from, if it is one; nil: it is not
	store   *wire.Bodies
	framing wire.Framing
	wait    unit.Time         // Ready is not asked before
	length  unit.Size         // on the line, of the packet that has been loaded
	again   bool              // of the transport: packets may be sent again,
	unacked queue[wire.Frame] // and these await their ACK
}

// timerOf returns a source of bodies as a BodyTimer; nil: it is none.
func timerOf(b BodySource) BodyTimer {
	t, _ := b.(BodyTimer)
	return t
}

// ready returns when there is a body, given how many packets await their ACK, and whether
// new ones may be offered.
func (b *bodied) ready(now unit.Time, inFlight int, active bool) unit.Time {
	switch {
	case inFlight < b.unacked.len():
		return now
	case !active:
		return unit.Never
	}
	return max(b.wait, b.from.Ready(now))
}

// load gives a packet its body: that which it had before, where it is sent again.
func (b *bodied) load(now unit.Time, f *wire.Frame, inFlight int) bool {
	if inFlight < b.unacked.len() {
		b.store.Put(f, b.store.Of(b.unacked.at(inFlight)))
	} else {
		body, ok := b.from.Take(now, f.Family.BodyRoom(f.Payload))
		if !ok {
			b.wait = now.Add(unit.Nanosecond)
			return false
		}
		b.store.Put(f, body)
		if b.again {
			kept := *f
			b.store.Put(&kept, body)
			b.unacked.push(kept)
		}
	}
	b.length = b.framing.Length(f)
	return true
}

// acked forgets the bodies of packets that have been acknowledged.
func (b *bodied) acked(packets int) {
	for ; packets > 0 && !b.unacked.empty(); packets-- {
		b.store.Free(b.unacked.front())
		b.unacked.pop()
	}
}

// Sources whose packets are not all alike: they have bodies, or are segments of a stream.

// hasContents reports whether there is contents for a packet.
func (s *source) hasContents(now unit.Time) port.Answer {
	if s.body != nil {
		if since := s.body.ready(now, s.window.inFlight(), s.active); since > now {
			return port.Answer{Block: port.Idle, Until: since}
		}
		return port.Answer{}
	}
	switch {
	case s.findSegment(now):
		return port.Answer{}
	case s.stream.Waits():
		return port.Answer{Block: port.Window, Until: unit.Never}
	}
	return port.Answer{Block: port.Idle, Until: unit.Never}
}

// advanceContents lets the origin of the contents do all that is due.
func (s *source) advanceContents(now unit.Time) {
	switch {
	case s.stream != nil:
		s.runStream(now)
	case s.body.timer != nil:
		s.body.timer.Advance(now)
	}
}

// contentsDeadline returns when advanceContents has something to do.
func (s *source) contentsDeadline() unit.Time {
	switch {
	case s.stream != nil:
		return s.stream.Deadline()
	case s.body.timer != nil:
		return s.body.timer.Deadline()
	}
	return unit.Never
}

// load gives the packet of a flow that leaves now its contents. It reports whether there still is any.
func (e *Endpoint) load(now unit.Time, s *source, f *wire.Frame) bool {
	if s.stream != nil {
		return s.loadSegment(now, f)
	}
	if !s.body.load(now, f, s.window.inFlight()) {
		return false
	}
	if s.body.timer != nil {
		e.askBodies(now) // it may have made room for another flow
	}
	return true
}

// unload takes the packet of a flow from its place for the line: there is none after all.
func (e *Endpoint) unload(now unit.Time, s *source) {
	if g := s.sentBy; g.flow == nil {
		g.out = nil
		g.next(now)
	}
	e.offer(now, s)
}

// deliverBody hands the body of a packet that was delivered to its flow's sink.
func (s *sink) deliverBody(now unit.Time, f *wire.Frame, bodies *wire.Bodies) {
	if b := bodies.Of(f); b.Type != 0 {
		b.Marked = f.FECN
		s.bodies.Put(now, b)
	}
}

// freeBody ends the body of a packet that has come, and has the sources asked again.
func (e *Endpoint) freeBody(now unit.Time, f *wire.Frame) {
	e.out.Bodies.Free(f)
	e.askBodies(now)
}

// askBodies has the sources asked for bodies again.
func (e *Endpoint) askBodies(now unit.Time) {
	for _, i := range e.bodied {
		e.agenda.Set(flowSlot+i, now)
	}
}
