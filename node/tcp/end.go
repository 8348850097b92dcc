package tcp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// end is the common part of both ends of a connection.
type end struct {
	p      Params
	mss    uint64      // SMSS of RFC 5681
	iss    uint32      // sequence number of its SYN
	who    trace.Event // names the flow and the lane in events
	rec    *trace.Recorder
	state  state
	mark   bool // both ends support marks
	agreed bool // the connection has no handshake (Agree)
	answer bool // an ACK is owed
}

// state is how far the connection has come.
type state uint8

const (
	closed      state = iota // no SYN: the Sender's has not left, none has come to the Receiver
	opening                  // SYN has left, or come
	established              // and was acknowledged
	reset                    // the other end has reset the connection, and nothing is sent any more
)

// answering returns the initial sequence number of the receiver, where both ends know it from the
// sender's.
func answering(iss uint32) uint32 { return iss + 1<<31 }

// report records an event of the flow.
func (e *end) report(now unit.Time, v trace.Event) {
	v.At, v.Flow, v.Lane = now, e.who.Flow, e.who.Lane
	e.rec.Emit(v)
}

// refuse records that a segment was not taken in.
func (e *end) refuse(now unit.Time, g *wire.Segment, why trace.Reason) {
	e.report(now, trace.Event{Kind: trace.Refuse, PSN: g.Seq, Bytes: g.Length, A: int64(why)})
}

// challenge refuses a segment, and answers it by an ACK (RFC 5961).
func (e *end) challenge(now unit.Time, g *wire.Segment, why trace.Reason) {
	e.answer = true
	e.refuse(now, g, why)
}
