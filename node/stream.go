package node

import (
	"fmt"

	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// TCP is the transport of a stream of bytes, on Ethernet (package node/tcp): a lost segment is retransmitted, and
// losses determine a window. The packets of a flow have at most its Payload, with IPv4 and TCP headers. Packets that
// the traffic offers are written to the stream, and may leave as parts of others. A flow whose traffic has ended, or
// that stops, ends with FIN.
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

// newStream gives a flow with TCP its stream.
func newStream(s *source, rec *trace.Recorder) {
	t, ok := s.Transport.(TCP)
	if !ok {
		return
	}
	s.filled, s.stream = true, &stream{
		Sender: tcp.NewSender(t.Params, s.Payload, isn(s.QP, 0), trace.Event{Flow: s.QP, Lane: s.Lane}, rec),
		frame:  wire.Frame{Lane: s.Lane, Tagged: s.Tagged, Src: s.frame.Src, Dst: s.Dst, QP: s.QP},
	}
}

// writeStream writes an arrival to the stream.
func (s *source) writeStream(now unit.Time, a traffic.Arrival, rec *trace.Recorder) {
	if a.Size <= 0 {
		s.stream.Write(uint64(s.Payload-wire.TCPOverhead), false)
		return
	}
	s.reportArrival(now, a, s.stream.Write(uint64(a.Size), true), rec)
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
	if s, _ := e.sourceOf(a.Frame.QP); s != nil {
		s.stream.Receive(now, &g)
		e.agenda.Set(s.slot, now)
		return
	}
	s := e.sinkOf(now, &a.Frame) // there is one: refusesSegment lets no other pass
	e.deliverSegment(now, s, a, &g)
	if s.answer != nil {
		s.answer.Receive(now, a.Frame)
	}
	e.agenda.Set(int(s.slot), now)
}

// refusesSegment returns why a segment is not one of a flow of the endpoint.
func (e *Endpoint) refusesSegment(now unit.Time, f *wire.Frame) trace.Reason {
	peer, known := wire.LID(0), false
	if s, _ := e.sourceOf(f.QP); s != nil {
		peer, known = s.Dst, s.stream != nil && f.Back()
	} else if s := e.sinkOf(now, f); s != nil {
		peer, known = s.source, s.stream != nil && !f.Back()
	}
	switch {
	case !known:
		return trace.UnknownFlow
	case f.Src != peer:
		return trace.Stranger
	}
	return trace.NoReason
}

// deliverSegment takes in a segment at the destination of its flow.
func (e *Endpoint) deliverSegment(now unit.Time, s *sink, a *port.Arrival, g *wire.Segment) {
	t := s.stream.Receive(now, g)
	if t.Fresh {
		f := &a.Frame
		e.rec.Emit(trace.Event{At: now, Kind: trace.Deliver, Flow: f.QP, PSN: f.PSN, Bytes: uint32(a.Length),
			A: trace.FrameWord(f), B: int64(t.InOrder)})
	}
	for seq, size, ok := s.stream.Ended(); ok; seq, size, ok = s.stream.Ended() {
		e.rec.Emit(trace.Event{At: now, Kind: trace.TransferEnd, Lane: s.lane, Flow: s.qp, PSN: seq, B: int64(size)})
		if s.pooled {
			e.close(now, s, &a.Frame)
		}
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
