package node

import (
	"errors"
	"fmt"

	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// TCP is the transport of a stream of bytes, on Ethernet (package node/tcp): a lost segment is
// retransmitted, and losses determine a window. The packets of a flow have at most its Payload,
// with IPv4 and TCP headers. Packets that the traffic offers are written to the stream, and may
// leave as parts of others. A flow whose traffic has ended, or that stops, ends with FIN.
//
// In a workload each transfer has a connection, which begins with its first segment, without a
// handshake, and ends with FIN on its last. The connection between two ranks never ends.
type TCP struct{ tcp.Params }

func (t TCP) check(f *Flow) error {
	switch {
	case f.Family != wire.Ethernet:
		return errors.New("TCP is for Ethernet: InfiniBand has its own transport")
	case f.Bodies != nil:
		return errors.New("its packets have bodies, and packets of a stream have none")
	case f.Payload < tcp.MinPacket:
		return fmt.Errorf("packets of %d bytes have no room for TCP, which needs at least %d", f.Payload, tcp.MinPacket)
	}
	_, err := t.Params.Check()
	return err
}

func (TCP) streams() bool { return true }

func (t TCP) sender(s *source, e *Endpoint) sender {
	s.filled = true
	iss := isn(s.QP, 0)
	if p := s.workload; p != nil { // later transfers with this queue pair have higher sequence numbers
		iss += p.used[p.place(s)] / p.rounds() << 24
	}
	return &stream{
		Sender: tcp.NewSender(t.Params, s.Payload, iss, trace.Event{Flow: s.QP, Lane: s.Lane}, &e.rec),
		source: s,
		frame:  wire.Frame{Lane: s.Lane, Tagged: s.Tagged, Src: e.lid, Dst: s.Dst, QP: s.QP},
	}
}

func (t TCP) receiver(k *Sink, e *Endpoint) (receiver, receiving) {
	return &streamReceiver{t.Params, tcp.NewReceiver(t.Params, wire.MaxMSDU, isn(k.QP, 1), trace.Event{Flow: k.QP, Lane: k.Lane}, &e.rec)},
		receiving{loses: true}
}

// isn returns the initial sequence number of an end of a flow: any will do.
func isn(qp uint32, end uint32) uint32 { return (2*qp + end) * 2654435761 }

// stream is the sending half of TCP.
type stream struct {
	*tcp.Sender
	source  *source
	frame   wire.Frame   // as the flow's packets are, but for the segment
	segment wire.Segment // to be sent
	length  unit.Size    // of its packet on the link
	draft   wire.Frame   // that packet, while its length is computed
}

func (st *stream) refuses(f *wire.Frame) trace.Reason {
	return refusesSegment(f, true, st.source.Dst)
}

// refusesSegment returns why a frame is no segment that comes from a peer, in a direction of the
// flow.
func refusesSegment(f *wire.Frame, back bool, peer wire.LID) trace.Reason {
	switch {
	case f.Kind != wire.TCP || f.Back() != back:
		return trace.UnknownFlow
	case f.Src != peer:
		return trace.Stranger
	}
	return trace.NoReason
}

func (st *stream) receive(now unit.Time, f *wire.Frame, _ *trace.Recorder) {
	g := f.Segment()
	st.Receive(now, &g)
}

// arrive writes an arrival to the stream.
func (st *stream) arrive(now unit.Time, a traffic.Arrival, rec *trace.Recorder) {
	if a.Size <= 0 {
		st.Write(uint64(st.source.Payload-wire.TCPOverhead), false)
		return
	}
	if st.source.workload != nil {
		st.Agree(now)
	}
	st.source.reportArrival(now, a, st.Write(uint64(a.Size), true), rec)
}

// reach returns how much of a stream is over: of that to a rank what has left, of another nothing
// until both ends have closed the connection.
func (st *stream) reach() (all, over uint64) {
	if all, over = st.Reach(); st.transfer() && !st.Over() {
		over = 0
	}
	return all, over
}

// transfer reports whether the stream is one transfer of a workload.
func (st *stream) transfer() bool { return st.source.workload != nil && st.source.workload.kept == nil }

func (st *stream) advance(now unit.Time, _ *trace.Recorder) {
	s := st.source
	st.Greedy(s.greedy && s.active)
	if s.stopped || s.active && s.Traffic != nil && s.next.At == unit.Never || st.transfer() {
		st.Close()
	}
	st.Advance(now)
}

func (st *stream) deadline() unit.Time { return st.Deadline() }

func (st *stream) next(now unit.Time) (port.Answer, unit.Size) {
	switch {
	case st.find(now):
		return port.Answer{}, st.length
	case st.Waits():
		return port.Answer{Block: port.Window, Until: unit.Never}, 0
	}
	return port.Answer{Block: port.Idle, Until: unit.Never}, 0
}

// find finds the next segment and reports whether there is one.
func (st *stream) find(now unit.Time) (ok bool) {
	if st.segment, st.source.fresh, ok = st.Next(now); ok {
		st.draft = st.source.frame
		st.source.complete(now, &st.draft)
		st.length = st.source.framing.Length(&st.draft)
	}
	return ok
}

func (st *stream) complete(_ unit.Time, f *wire.Frame) unit.Size {
	*f = st.frame
	f.SetSegment(&st.segment)
	return st.length
}

// load completes the packet that leaves now: an ACK may have come since it was offered. The segment
// must be no longer than the one that was offered.
func (st *stream) load(now unit.Time, f *wire.Frame) bool {
	n := st.length
	if !st.find(now) || st.length > n {
		return false
	}
	*f = st.source.frame
	st.source.complete(now, f)
	return true
}

func (st *stream) sent(now unit.Time) unit.Size {
	st.Sent(now, &st.segment)
	return st.length
}

// streamReceiver is the receiving half of TCP.
type streamReceiver struct {
	params tcp.Params
	stream *tcp.Receiver
}

// begins reports whether a segment opens a connection: there is none, or an older one whose last
// ACK was lost.
func (r *streamReceiver) begins(f *wire.Frame) bool {
	return f.Flags&wire.SYN != 0 && r.stream.Awaits(f.PSN)
}

// of returns the receiver of a connection without a handshake.
func (r *streamReceiver) of(e *Endpoint, s *sink, packet uint32) receiver {
	next := tcp.NewReceiver(r.params, packet, 0, trace.Event{Flow: s.qp, Lane: s.lane}, &e.rec)
	next.Agree()
	return &streamReceiver{r.params, next}
}

func (r *streamReceiver) refuses(s *sink, f *wire.Frame) trace.Reason {
	return refusesSegment(f, false, s.source)
}

func (r *streamReceiver) receive(e *Endpoint, now unit.Time, s *sink, a *port.Arrival) {
	f := &a.Frame
	g := f.Segment()
	t := r.stream.Receive(now, &g)
	if t.Fresh {
		e.rec.Deliver(now, f, uint32(a.Length), int64(t.InOrder))
	}
	for seq, size, ok := r.stream.Ended(); ok; seq, size, ok = r.stream.Ended() {
		e.rec.Emit(trace.Event{At: now, Kind: trace.TransferEnd, Lane: s.lane, Flow: s.qp, PSN: seq, B: int64(size)})
		if s.pooled {
			e.close(now, s, f)
		}
	}
	e.attend(now, s)
	if s.pooled && r.stream.Over() {
		p, _ := e.workloadOf(s.qp)
		e.remove(now, p, s)
	}
}

// respond queues the ACKs of a stream.
func (r *streamReceiver) respond(e *Endpoint, now unit.Time, s *sink) {
	r.stream.Advance(now)
	for {
		g, ok := r.stream.Next(now)
		if !ok {
			return
		}
		f := wire.Frame{Src: e.lid, Dst: s.source, QP: s.qp, Lane: s.lane}
		f.SetSegment(&g)
		e.push(f)
		e.soon = now
	}
}

func (r *streamReceiver) deadline() unit.Time { return r.stream.Deadline() }
