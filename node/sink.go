package node

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// sink is the receiving half of a flow.
type sink struct {
	qp        uint32   // of the flow
	receiver  receiver // of its transport
	receiving          // how that treats packets
	reorders  bool     // packets may overtake one another
	pooled    bool     // it is for a flow of a workload
	over      bool     // that has come whole, and the sink serves another next

	asked  bool // RoCEv2: a NAK was sent, and the packet that it asks for has not come
	marked bool // RoCEv2: a packet since the last ACK was

	lane     uint8    // its priority
	source   wire.LID // where the flow comes from
	slot     int32    // in the agenda of the endpoint; 0: it has none
	call     int32    // of a workload: its slot in workloadSet.calls, and one more; 0: it has none
	next     uint32   // PSN expected
	received uint32   // messages, for the ACK's MSN
	missing  uint32   // packets that did not come since the last transfer ended
	bytes    int64    // of payload that came since then

	bodies BodySink    // where the bodies of the packets go; nil: nowhere
	answer rp.Answerer // nil: nothing answers the flow
}

// accept takes in a data packet that has arrived whole.
//
// It reports whether there is something to acknowledge: not if a packet is missing
// that will be retransmitted, and this one after it.
func (e *Endpoint) accept(now unit.Time, s *sink, a *port.Arrival) bool {
	f := &a.Frame
	ahead := (f.PSN - s.next) & psnMask
	if s.again && ahead != 0 {
		if ahead <= psnMask/2 {
			e.port.Lost(now, f, trace.NotInTurn)
			return false
		}
		return true // it came before, and its ACK did not
	}
	s.asked = false
	e.rec.Deliver(now, f, uint32(a.Length), 0)
	if ahead == 0 || !s.overtaken(now, f, ahead, &e.rec) {
		s.next = (f.PSN + 1) & psnMask
	}
	s.received = (s.received + 1) & psnMask
	s.bytes += int64(f.Payload)
	if f.Last {
		e.endTransfer(now, s, f)
	}
	if s.bodies != nil {
		if b := e.out.Bodies.Of(f); b.Type != 0 {
			b.Marked = f.FECN
			s.bodies.Put(now, b)
		}
	}
	return true
}

// receiveTrimmed takes in the headers of a packet that a switch has trimmed. Where the transport
// does not know of trimming, a packet without its ICRC is damaged, and is dropped.
func (e *Endpoint) receiveTrimmed(now unit.Time, f *wire.Frame) {
	s, why := e.sinkOf(now, f), trace.UnknownFlow
	if s != nil {
		why = s.receiver.refuses(s, f)
	}
	if why == trace.NoReason {
		if r, ok := s.receiver.(trimReceiver); ok {
			if f.Stamped() {
				f.Stamp().Held = unit.Duration(now)
			}
			e.port.Free(now, f)
			r.receiveTrimmed(e, now, s, f)
			return
		}
		why = trace.Trimmed
	}
	e.port.Discard(now, f, why)
}

// endTransfer ends a transfer with its last packet.
func (e *Endpoint) endTransfer(now unit.Time, s *sink, f *wire.Frame) {
	e.rec.Emit(trace.Event{At: now, Kind: trace.TransferEnd, Lane: f.Lane, Flow: f.QP, PSN: f.PSN,
		A: int64(s.missing), B: s.bytes})
	s.missing, s.bytes = 0, 0
	if s.pooled {
		e.close(now, s, f)
	}
}

// overtaken notes a packet that is so far ahead of its turn, and reports whether it is behind
// instead: one that was sent later has overtaken it.
//
// Links keep their order, and links of InfiniBand lose nothing, so a packet out of order is a
// violation, unless routes may change; it is counted all the same.
func (s *sink) overtaken(now unit.Time, f *wire.Frame, ahead uint32, rec *trace.Recorder) bool {
	behind := ahead > psnMask/2
	switch {
	case s.reorders && behind:
		s.missing -= min(s.missing, 1) // it seemed to be
		return true
	case s.loses && !behind:
		s.missing += ahead
	case !s.reorders && f.Family != wire.Guest: // its packets may take several paths
		rec.Emit(trace.Event{At: now, Kind: trace.Violation, Flow: f.QP, PSN: f.PSN, A: int64(trace.OutOfOrder),
			B: int64(s.next)})
	}
	return false
}

// ack returns the ACK of the data packet that was delivered last, which echoes its mark.
func (s *sink) ack(f *wire.Frame, lane uint8) wire.Frame {
	return wire.Frame{Kind: wire.Ack, Lane: lane, DSCP: s.ackSL, BECN: f.FECN, Src: f.Dst, Dst: f.Src, QP: f.QP, PSN: f.PSN,
		MSN: s.received}
}
