package node

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
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
	// Ready returns the instant from which there is a body: not after now if there is one,
	// unit.Never if there will be none. It is asked again at that instant, when the flow does
	// anything, when a BodySink of the same endpoint has received a body, because the source may
	// wait for that, and when the endpoint receives port.Offer.
	Ready(now unit.Time) unit.Time
	// Take returns the next body, of at most room bytes, which the flow copies. It returns false if
	// there is none after all; then Ready is asked again, a nanosecond later at the earliest.
	Take(now unit.Time, room int) (wire.Body, bool)
}

// BodyTimer is a BodySource that also has something to do at other instants, whether or not its
// packets can leave: the timers of its protocol.
type BodyTimer interface {
	BodySource
	// Advance does everything that is due. Ready is asked after it.
	Advance(now unit.Time)
	// Deadline returns when Advance has something to do; unit.Never: nothing. It changes only
	// through Advance, and through the bodies that a BodySink of the same endpoint receives.
	Deadline() unit.Time
}

// BodySink receives the bodies of a flow: each once, in the order in which their packets are
// delivered, which is the order of sending unless routes change or packets are lost. The arguments
// of Put belong to it during the call.
type BodySink interface {
	Put(now unit.Time, b wire.Body)
}

// bodies is the sender of packets that have bodies: the packets of a transport, which acknowledges
// and retransmits them, each with the body that it has got.
type bodies struct {
	sender   // of the transport
	source   *source
	endpoint *Endpoint
	from     BodySource
	timer    BodyTimer         // from, if it is one; nil: it is not
	wait     unit.Time         // Ready is not asked before
	length   unit.Size         // on the link, of the packet that has been loaded
	unacked  queue[wire.Frame] // with a window: the packets that await their ACK, and may be retransmitted
}

// ready returns when there is a body. New ones are offered only while the source is active.
func (b *bodies) ready(now unit.Time) unit.Time {
	switch {
	case b.source.window.hasFailed():
		return unit.Never
	case b.source.window.inFlight() < b.unacked.len():
		return now
	case !b.source.active:
		return unit.Never
	}
	return max(b.wait, b.from.Ready(now))
}

func (b *bodies) next(now unit.Time) (port.Answer, unit.Size) {
	if since := b.ready(now); since > now {
		return port.Answer{Block: port.Idle, Until: since}, 0
	}
	return b.source.packets.permitted()
}

// load gives a packet its body: that which it had before, where it is retransmitted.
func (b *bodies) load(now unit.Time, f *wire.Frame) bool {
	if b.source.window.hasFailed() {
		return false
	}
	store := &b.endpoint.out.Bodies
	if n := b.source.window.inFlight(); n < b.unacked.len() {
		store.Put(f, store.Of(b.unacked.at(n)))
	} else {
		body, ok := b.from.Take(now, f.Family.BodyRoom(f.Payload))
		if !ok {
			b.wait = now.Add(unit.Nanosecond)
			return false
		}
		store.Put(f, body)
		if b.source.window != nil {
			kept := *f
			store.Put(&kept, body)
			b.unacked.push(kept)
		}
	}
	b.length = b.source.framing.Length(f)
	if b.timer != nil {
		b.endpoint.askBodies(now) // it may have made room for another flow
	}
	return true
}

func (b *bodies) sent(now unit.Time) unit.Size {
	b.sender.sent(now)
	return b.length
}

// receive takes in an ACK, and forgets the bodies of packets that it acknowledges.
func (b *bodies) receive(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	oldest := b.source.oldest()
	b.sender.receive(now, f, rec)
	for n := b.source.oldest() - oldest; n > 0 && !b.unacked.empty(); n-- {
		b.endpoint.out.Bodies.Free(b.unacked.front())
		b.unacked.pop()
	}
}

func (b *bodies) advance(now unit.Time, rec *trace.Recorder) {
	if b.timer != nil {
		b.timer.Advance(now)
	}
	b.sender.advance(now, rec)
}

// deadline returns when the timer has something to do. The source has the deadline of its window.
func (b *bodies) deadline() unit.Time {
	if b.timer == nil {
		return unit.Never
	}
	return b.timer.Deadline()
}

// freeBody ends the body of a packet that has come, and has the sources asked again.
func (e *Endpoint) freeBody(now unit.Time, f *wire.Frame) {
	e.out.Bodies.Free(f)
	e.askBodies(now)
}

// askBodies has the sources asked for bodies again.
func (e *Endpoint) askBodies(now unit.Time) {
	for _, slot := range e.bodied {
		e.agenda.Set(slot, now)
	}
}
