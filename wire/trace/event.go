package trace

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Kind is the kind of an event. The zero value is invalid on purpose.
type Kind uint8

// The kinds of events. The facts of each of them, and the meanings of its A and B, are in
// [Kind.Fields].
const (
	_             Kind = iota
	Start              // a frame begins on the link of Port
	Arrive             // a frame was handed to the node by Port
	Release            // a frame left the buffer of Port
	Trigger            // congestion was detected on behalf of egress Port
	Mark               // a data frame was marked as it left by Port
	Deliver            // a data frame reached its destination whole
	Feedback           // the source of Flow took in an ACK, or a notification
	FlowStart          // the source of Flow became active
	FlowStop           // it ended
	Stall              // the reason that keeps Flow at its source (not zero), or the frames that wait on Lane for the link of Port, changed
	Control            // an event of the scenario was applied
	Drop               // a frame was discarded by Port
	TransferStart      // a transfer arrived at the source of Flow; PSN is the number of its last packet, by which TransferEnd names it
	TransferEnd        // the last packet of a transfer reached its destination whole
	Queue              // the queue of Lane at egress Port became longer or shorter
	Notify             // a congestion point sends a notification to the source of Flow, by Port
	Deadlock           // a frame on Lane for Port waits in a cycle, which nothing ends
	Limit              // the reaction point of Flow, one that has a target, changed its rate
	Timeout            // the ACK of the oldest packet of Flow that awaits one, PSN, did not come in time
	Violation          // a promise of the fabric is broken
	Message            // a scheme sends its own frame, by Port or for Flow
	Window             // the congestion window of Flow, or its slow start threshold, changed
	RoundTrip          // the source of Flow measured a round trip
	Retransmit         // the source of Flow sends a TCP segment again, or a window probe, or packets at a NAK
	Refuse             // an end of Flow has not taken in a TCP segment, or telemetry
	CongestionLog      // the reaction point of Flow made an entry in its log of congestion
	Round              // a rank has ended a round of a collective operation
	Backlog            // the number of transfers that wait for a source of a workload at an endpoint has changed
	Wait               // a rank has waited for long at the end of the run, or cannot continue
	Watchdog           // the PFC watchdog of Port has found a storm on Lane, or its end
	Retry              // the retry of the link at Port has counted something
	Failure            // the queue pair of Flow has failed: its packets were retransmitted too often without progress
	Disorder           // a packet of Flow that came ahead of its turn was delivered
	Trim               // a switch has no room for a packet at Port, and sends only its headers, or has none for these either
)

// Reason is why a frame was marked or dropped, or which promise was violated.
type Reason int64

// The reasons.
const (
	NoReason       Reason = iota
	FullBuffer            // marked: an input buffer was full
	OverThreshold         // marked: too many frames waited for an output
	Overrun               // violated: a frame came that its buffer has no room for
	CreditOverrun         // violated: a frame was sent without credit
	OutOfOrder            // violated: a frame came before one that was sent earlier
	NoRoute               // dropped: no node has this address
	NotForUs              // dropped: an endpoint got a frame for another one
	UnknownFlow           // dropped: an endpoint has no such queue pair
	BadFlowControl        // dropped: a flow control packet with a reserved operand
	NoSuchLane            // dropped: a frame of a virtual lane that is not in use
	SentPaused            // violated: a frame was sent although the peer had sent PAUSE
	BufferFull            // dropped: no room, where no flow control promises it
	LinkWasDown           // dropped: the link went down while the frame was in flight, or its sender has forgotten a PAUSE because it was down
	Restarted             // dropped: it was in a switch that was restarted
	NotInTurn             // dropped: a packet before it is missing, and will be retransmitted
	EgressFull            // dropped: its source had no room for it
	Stranger              // dropped: a frame from one end of a flow to the other, and its sender is neither
	NotAwaited            // dropped: an answer that is late, or of another time, or is received again
	NoLimiter             // dropped: congestion was to be answered, and all rate limiters were in use
	EarlyDrop             // dropped: a congestion point discarded it to keep a queue short
	EarlyMark             // marked: a congestion point would have discarded it
	TimerExpired          // sent again: the retransmission timer has run out
	DuplicateACKs         // sent again: three duplicate ACKs, or the receiver's SACK blocks, show that it is lost
	PartialACK            // sent again: an ACK in a recovery shows the next loss
	WindowProbe           // sent again and again: the window of the receiver is closed
	NotAcceptable         // refused: a segment that does not fit the state of its connection, or its window
	NeverSent             // refused: an ACK, or a SACK block, of a packet that was never sent, or very old
	Duplicate             // refused: all of the segment had come before
	WasReset              // refused: the segment has reset the connection
	SequenceError         // sent again: a NAK asks for it (RoCEv2)
	NotCapable            // violated: a packet that may not be marked was marked
	BadProgram            // violated: the program of a rank cannot continue
	RequiresItself        // a rank cannot continue: an operation indirectly requires itself
	TooManyOpen           // a rank cannot continue: more operations, dependencies or messages are open than it can hold
	NoMessage             // a rank waits: a receive has no message
	NoReceive             // a rank waits: a message has come and no receive has taken it
	NotSent               // a rank waits: a message has not left, or was not acknowledged
	LostOnLink            // dropped: a fault of the link has lost it
	BadFCS                // dropped: a fault of the link has corrupted it, and its check sequence does not fit
	Ignored               // dropped: a PAUSE at a port that ignores them by a fault
	StormDropped          // dropped: by the PFC watchdog of a queue in a storm
	NotStopped            // dropped: no room, since a fault kept the sender from stopping: a PAUSE was lost, late or ignored, or frames were late
	TooManyHops           // refused: telemetry of more switches than it has room for
	RetryDiscard          // dropped: the retry of the link has not ended its handshake, or has given up
	LifetimeOver          // dropped: it has waited for credit at the head of its lane for too long
	Overtaken             // sent again: packets that were sent later have arrived (RoCEv2)
	Trimmed               // dropped: a switch had no room for it, and sent its headers on; sent again: only these have arrived
	TrimFull              // dropped: no room for it in a switch that trims, nor for its headers
)

var reasonNames = [...]string{
	"none", "full-buffer", "over-threshold", "overrun", "credit-overrun", "out-of-order", "no-route",
	"not-for-us", "unknown-flow", "bad-flow-control", "no-such-lane", "sent-paused", "buffer-full",
	"link-was-down", "restarted", "not-in-turn", "egress-full", "stranger", "not-awaited", "no-limiter",
	"early-drop", "early-mark", "timeout", "duplicate-acks", "partial-ack", "window-probe", "not-acceptable",
	"never-sent", "duplicate", "reset", "sequence-error", "not-capable", "bad-program",
	"requires-itself", "too-many-open", "no-message", "no-receive", "not-sent",
	"lost-on-link", "fcs-error", "ignored", "storm-dropped", "not-stopped",
	"too-many-hops", "retry-discard", "lifetime-over", "overtaken",
	"trimmed", "trim-full",
}

// OfFault reports whether a frame was discarded by a requested fault, as its consequence, or by
// a watchdog.
func (r Reason) OfFault() bool { return r >= LostOnLink && r <= NotStopped || r == RetryDiscard }

func (r Reason) String() string {
	if r >= 0 && int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Event is something that happened in a node.
type Event struct {
	At    unit.Time // when, in model time
	Seq   uint32    // number of the event in its node, from 0
	Node  int32     // index of the node in the fabric
	Port  uint16    // index of the port in the node
	Kind  Kind
	Lane  uint8
	Flow  uint32 // queue pair that names the flow; 0 where there is none
	PSN   uint32
	Bytes uint32
	A, B  int64 // their meaning depends on Kind: see Kind.Fields
}

// A Sink takes events. It must not keep the pointer: the event is overwritten by
// a later one.
type Sink interface{ Record(*Event) }

// Recorder stamps the events of one node and writes them down for its sink. The
// zero value records nothing.
type Recorder struct {
	batch *Batch
	seq   uint32 // of the next event: it lies before node, as in an Event, and both are copied at once
	node  int32

	own *Own // nil: it counts nothing itself; a pointer, because the first cache lines of a switch have its Recorder
}

// NewRecorder returns the recorder of a node. A nil sink is silence. Recorders that
// are used one at a time may have a Batch in common.
func NewRecorder(node int, sink Sink) Recorder {
	batch, ok := sink.(*Batch)
	if !ok {
		batch = NewBatch(1, sink)
	}
	r := Recorder{batch: batch, node: int32(node)}
	if batch != nil && batch.counter != nil {
		r.own = batch.counter.Own(int32(node))
	}
	return r
}

// Emit reports e; its Node and Seq are set here.
func (r *Recorder) Emit(e Event) {
	if b := r.batch; b != nil {
		written, n := b.place()
		*written = e
		written.Seq, written.Node = r.seq, r.node
		r.seq++
		b.placed(n)
		if ofFlows>>e.Kind&1 == 1 {
			r.ofFlow()
		}
	}
}

// Frame reports an event that concerns a frame at a port. Unlike Emit, Frame and State build the
// event in the batch itself instead of copying it there, because most events are theirs.
func (r *Recorder) Frame(now unit.Time, k Kind, port uint16, f *wire.Frame, bytes uint32, a, b int64) {
	if to := r.batch; to != nil {
		e, n := to.place()
		e.At, e.Seq, e.Node = now, r.seq, r.node
		e.Port, e.Kind, e.Lane = port, k, f.Lane
		e.Flow, e.PSN, e.Bytes = f.QP, f.PSN, bytes
		e.A, e.B = a, b
		r.seq++
		to.placed(n)
	}
}

// State reports the state that a port or a flow is in from now on. It has no PSN and no length;
// otherwise it works as Frame does.
func (r *Recorder) State(now unit.Time, k Kind, port uint16, lane uint8, flow uint32, a, b int64) {
	if to := r.batch; to != nil {
		e, n := to.place()
		e.At, e.Seq, e.Node = now, r.seq, r.node
		e.Port, e.Kind, e.Lane = port, k, lane
		e.Flow, e.PSN, e.Bytes = flow, 0, 0
		e.A, e.B = a, b
		r.seq++
		to.placed(n)
	}
}

// FrameWord packs the facts of a frame in an event into one figure: its kind, its marks,
// the feedback of a notification, and whether a TCP segment carries data.
func FrameWord(f *wire.Frame) int64 {
	w := int64(f.Kind) | one(f.FECN)<<8 | one(f.BECN)<<9
	switch {
	case f.Kind == wire.Notification:
		w |= int64(f.Sampled().Fb) << 16
	case f.Kind == wire.TCP && f.Payload > 0:
		w |= loaded
	}
	return w
}

// one returns 1 for true and 0 for false, which takes the processor no branch.
func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// loaded is the bit of a FrameWord that is set if a TCP segment carries data.
const loaded = 1 << 10

// IsData reports whether a FrameWord belongs to a frame with data of a flow.
func IsData(word int64) bool {
	k := wire.Kind(word & 0xff)
	return k == wire.Data || k == wire.TCP && word&loaded != 0
}

// FbOf returns the quantised feedback in a FrameWord, 0 to 63.
func FbOf(word int64) int64 { return word >> 16 & 0x3f }

// FrameOf takes a FrameWord apart.
func FrameOf(word int64) (kind wire.Kind, fecn, becn bool) {
	return wire.Kind(word & 0xff), word&(1<<8) != 0, word&(1<<9) != 0
}

// ClassesWord packs the priorities that a PFC frame names, and those that it stops.
func ClassesWord(f *wire.Frame) uint32 {
	p := f.Pause()
	return uint32(p.Classes)<<8 | uint32(p.Stopped)
}

// ClassesOf takes a ClassesWord apart.
func ClassesOf(word uint32) (named, stopped uint8) { return uint8(word >> 8), uint8(word) }
