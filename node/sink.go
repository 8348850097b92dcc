package node

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// sink is the receiving half of a flow.
type sink struct {
	next     uint32 // PSN expected
	received uint32 // messages, for the ACK's MSN
}

// delivered takes in a data packet that has arrived whole, and returns the ACK
// that echoes its mark. Links are lossless and keep their order, so a packet out
// of order is a violation; it is counted and acknowledged all the same.
func (s *sink) delivered(now unit.Time, a *port.Arrival, rec *trace.Recorder) wire.Frame {
	f := &a.Frame
	rec.Emit(trace.Event{At: now, Kind: trace.Deliver, Flow: f.QP, PSN: f.PSN, Bytes: uint32(a.Length), A: trace.FrameWord(f)})
	if f.PSN != s.next {
		rec.Emit(trace.Event{At: now, Kind: trace.Violation, Flow: f.QP, PSN: f.PSN, A: int64(trace.OutOfOrder), B: int64(s.next)})
	}
	s.next = (f.PSN + 1) & (1<<24 - 1)
	s.received = (s.received + 1) & (1<<24 - 1)
	return wire.Frame{Kind: wire.Ack, Lane: port.AckLane, BECN: f.FECN, Src: f.Dst, Dst: f.Src, QP: f.QP, PSN: f.PSN, MSN: s.received}
}
