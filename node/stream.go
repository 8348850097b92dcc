package node

import (
	"fmt"

	"fabemu/node/tcp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// TCP is the transport of a stream of bytes, on Ethernet (package node/tcp): a lost segment is
// sent again, and losses set a window. The packets of a flow, their IPv4 and TCP
// headers included, have its Payload at the most. Packets that arrive at it are written to the
// stream, and may leave as parts of others. A flow at which nothing more arrives, or that
// stops, ends with FIN.
type TCP struct{ tcp.Params }

func (t TCP) check(f wire.Family) error {
	if f != wire.Ethernet {
		return fmt.Errorf("TCP is for Ethernet: InfiniBand has a transport of its own")
	}
	_, err := t.Params.Check()
	return err
}

func (TCP) sending() *window     { return nil }
func (TCP) receiving() receiving { return receiving{loses: true} }

// isn returns the initial sequence number of an end of a flow: any will do.
func isn(qp uint32, end uint32) uint32 { return (2*qp + end) * 2654435761 }

// stream is the part of a source whose transport is TCP.
type stream struct {
	*tcp.Sender
	frame wire.Frame   // as the flow's packets are, but for the segment
	next  wire.Segment // to be sent
	fresh bool         // it carries bytes that were never sent
}

// newStream gives a flow its stream.
func newStream(s *source, t TCP, lid wire.LID, rec *trace.Recorder) error {
	if s.Bodies != nil {
		return fmt.Errorf("its packets have bodies, and packets of a stream have none")
	}
	if s.Payload < tcp.MinPacket {
		return fmt.Errorf("packets of %d bytes have no room for TCP: at least %d are wanted", s.Payload, tcp.MinPacket)
	}
	s.stream = &stream{
		Sender: tcp.NewSender(t.Params, s.Payload, isn(s.QP, 0), trace.Event{Flow: s.QP, Lane: s.Lane}, rec),
		frame:  wire.Frame{Lane: s.Lane, Tagged: s.Tagged, Src: lid, Dst: s.Dst, QP: s.QP},
	}
	return nil
}

// writeStream writes an arrival to the stream.
func (s *source) writeStream(now unit.Time, size unit.Size, at unit.Time, rec *trace.Recorder) {
	if size <= 0 {
		s.stream.Write(uint64(s.Payload-wire.TCPOverhead), false)
		return
	}
	seq := s.stream.Write(uint64(size), true)
	rec.Emit(trace.Event{At: now, Kind: trace.TransferStart, Lane: s.Lane, Flow: s.QP, PSN: seq, A: int64(at),
		B: int64(size)})
}

// runStream does all that is due at the stream.
func (s *source) runStream(now unit.Time) {
	s.stream.Greedy(s.greedy && s.active)
	if s.stopped || s.active && s.Traffic != nil && s.next.At == unit.Never {
		s.stream.Close()
	}
	s.stream.Advance(now)
}

// findSegment finds the next segment and reports whether there is one.
func (s *source) findSegment(now unit.Time) (ok bool) {
	st := s.stream
	if st.next, st.fresh, ok = st.Next(now); ok {
		f := s.frame
		s.complete(now, &f)
		s.full = s.framing.Length(&f)
	}
	return ok
}

// loadSegment completes the packet of a flow that leaves now: an ACK may have come since it was
// offered. It reports whether there still is one, no longer than the one that was offered.
func (s *source) loadSegment(now unit.Time, f *wire.Frame) bool {
	n := s.full
	if !s.findSegment(now) || s.full > n {
		return false
	}
	*f = s.frame
	s.complete(now, f)
	return true
}

// nextFrame returns the frame of the next segment.
func (st *stream) nextFrame() wire.Frame {
	f := st.frame
	f.SetSegment(&st.next)
	return f
}

// receiveSegment takes in a segment of a flow, which has come whole, at either end of the flow.
func (e *Endpoint) receiveSegment(now unit.Time, a *port.Arrival) {
	g := a.Frame.Segment()
	if i, ok := e.source.find(a.Frame.QP); ok {
		s := &e.sources[i]
		s.stream.Receive(now, &g)
		e.agenda.Set(flowSlot+i, now)
		return
	}
	i, _ := e.sink.find(a.Frame.QP) // there is one: refusesSegment lets no other pass
	s := &e.sinks[i]
	s.receiveSegment(now, a, &g, &e.rec)
	if s.answer != nil {
		s.answer.Receive(now, a.Frame)
	}
	e.agenda.Set(int(s.slot), now)
}

// refusesSegment returns why a segment is not one of a flow of the endpoint.
func (e *Endpoint) refusesSegment(f *wire.Frame) trace.Reason {
	peer, known := wire.LID(0), false
	if i, ok := e.source.find(f.QP); ok {
		peer, known = e.sources[i].Dst, e.sources[i].stream != nil && f.Back()
	} else if i, ok := e.sink.find(f.QP); ok {
		peer, known = e.sinks[i].source, e.sinks[i].stream != nil && !f.Back()
	}
	switch {
	case !known:
		return trace.UnknownFlow
	case f.Src != peer:
		return trace.Stranger
	}
	return trace.NoReason
}

// receiveSegment takes in a segment at the destination of its flow.
func (s *sink) receiveSegment(now unit.Time, a *port.Arrival, g *wire.Segment, rec *trace.Recorder) {
	t := s.stream.Receive(now, g)
	if t.Fresh {
		f := &a.Frame
		rec.Emit(trace.Event{At: now, Kind: trace.Deliver, Flow: f.QP, PSN: f.PSN, Bytes: uint32(a.Length),
			A: trace.FrameWord(f), B: int64(t.InOrder)})
	}
	for seq, size, ok := s.stream.Ended(); ok; seq, size, ok = s.stream.Ended() {
		rec.Emit(trace.Event{At: now, Kind: trace.TransferEnd, Lane: s.lane, Flow: s.qp, PSN: seq, B: int64(size)})
	}
}

// acknowledgeSegments queues the ACKs of a stream.
func (e *Endpoint) acknowledgeSegments(now unit.Time, s *sink) {
	s.stream.Advance(now)
	for {
		g, ok := s.stream.Next(now)
		if !ok {
			return
		}
		f := wire.Frame{Src: e.lid, Dst: s.source, QP: s.qp, Lane: s.lane}
		f.SetSegment(&g)
		e.push(f)
		e.soon = now
	}
}
