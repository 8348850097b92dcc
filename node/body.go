package node

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// BodySource supplies the bodies of a flow's packets, for example from a device or a program.
// It is the flow's traffic.
//
// It is asked for a body only at the instant at which the packet leaves: for a packet of the
// flow's Payload, the window is open, the limiter permits it, and the link is idle and has
// credit, or is not paused. A device is not read while any of these stops the flow; it then
// treats its writers in its own way.
//
// A source that cannot predict its next body returns when to ask again.
//
// A protocol can be built from a source and a sink at each end of two flows, one in each
// direction: it acknowledges bodies on the reverse flow.
type BodySource interface {
	// Ready returns the instant from which there is a body: not after now if there is one, unit.Never if there will
	// be none. It is asked again at that instant, when the flow does anything, when a BodySink of the same endpoint
	// has received a body, because the source may wait for that, and when the endpoint receives port.Offer.
	Ready(now unit.Time) unit.Time
	// Take returns the next body, of at most room bytes, which the flow copies. It returns false if there is none
	// after all; then Ready is asked again, a nanosecond later at the earliest.
	Take(now unit.Time, room int) (wire.Body, bool)
}

// BodyTimer is a BodySource that has something to do at instants of its own, whether or not its packets can leave:
// the timers of its protocol.
type BodyTimer interface {
	BodySource
	// Advance does everything that is due. Ready is asked after it.
	Advance(now unit.Time)
	// Deadline returns when Advance has something to do; unit.Never: nothing. It changes only through Advance, and
	// through the bodies that a BodySink of the same endpoint receives.
	Deadline() unit.Time
}

// BodySink receives the bodies of a flow: each once, in the order in which their packets are delivered, which is the
// order of sending unless routes change or packets are lost. The arguments of Put belong to it during the call.
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
	length  unit.Size         // on the link, of the packet that has been loaded
	again   bool              // of the transport: packets may be retransmitted,
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

// load gives a packet its body: that which it had before, where it is retransmitted.
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

// unload takes the packet of a flow from its place for the link: there is none after all.
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
