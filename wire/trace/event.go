package trace

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Kind says what happened. The zero value is invalid on purpose.
type Kind uint8

// The kinds of events. Where A and B are not named they are zero.
const (
	_ Kind = iota

	// Start: a frame begins on the line of Port. Bytes is its length on the line, A
	// its FrameWord. B is the credit left on its lane in blocks, -1 where the lane
	// has none.
	Start
	// Arrive: a frame was handed to the machine by Port. Bytes is its length on the
	// line, A its FrameWord. B is the occupancy of the buffer of its lane in blocks,
	// this frame included; on Ethernet in bytes, and of a PAUSE frame the quanta. PSN of
	// a PFC frame is its ClassesWord.
	Arrive
	// Release: a frame left the buffer of Port. B is the occupancy left, in blocks; on
	// Ethernet in bytes.
	Release
	// Trigger: congestion was detected on behalf of egress Port. A is the Reason, B
	// the number of frames that wait for that port (cnt1), which is copied to cnt2.
	Trigger
	// Mark: a data frame was marked as it left by Port. A is the Reason, B the number
	// of frames that waited for that port.
	Mark
	// Deliver: a data frame reached its destination whole. Bytes is its length on the
	// line, A its FrameWord.
	Deliver
	// Feedback: the source of Flow took in an ACK, or a notification. A is its
	// FrameWord, B the rate of the flow afterwards in bits per second.
	Feedback
	// FlowStart and FlowStop: the source of Flow became active, or ended.
	FlowStart
	FlowStop
	// Stall: what keeps Flow at its source (Flow not zero), or the frames that wait
	// on Lane for the line of Port (Flow zero), changed. A is the port.Block that
	// holds from now on, B the one that held before.
	Stall
	// Control: an event of the scenario was applied. A and B say what.
	Control
	// Drop: a frame was discarded by Port. A is the Reason, B 0 for data and ACKs, for
	// others their wire.Kind.
	Drop
	// TransferStart: a transfer arrived at the source of Flow. PSN is that of its last
	// packet, by which TransferEnd names it; A is the instant since when it is there, B
	// its size in bytes.
	TransferStart
	// TransferEnd: the last packet of a transfer reached its destination whole. A is how
	// many packets of Flow are missing since the transfer before, 0 unless the fabric
	// dropped some; B how many bytes of payload came since then.
	TransferEnd
	// Queue: the queue of Lane at egress Port has become longer or shorter. A is how much
	// waits for the port in all lanes, B in this one, in bytes on the line.
	Queue
	// Notify: a congestion point sends a notification to the source of Flow, by Port. A is
	// the quantised feedback; B is QOffset and QDelta, 16 bits each.
	Notify
	// Deadlock: what waits on Lane for Port waits in a cycle, which nothing ends. B is
	// since when.
	Deadlock
	// Limit: the reaction point of Flow, one that has a target, changed its rate. A is the
	// rate, B the target, in bits per second.
	Limit
	// Timeout: the ACK of the oldest packet of Flow that awaits one did not come in time;
	// it is PSN, and A packets are sent again.
	Timeout
	// Violation: a promise of the fabric is broken. A is the Reason, B a figure that
	// belongs to it.
	Violation
	// Message: a scheme sends a frame of its own: a congestion point by Port, or the reaction
	// point of Flow, or what answers it at its destination. A is its Value.
	Message
)

var kindNames = [...]string{"", "start", "arrive", "release", "trigger", "mark", "deliver", "feedback", "flow-start", "flow-stop", "stall", "control", "drop", "transfer-start", "transfer-end", "queue", "notify", "deadlock", "limit", "timeout", "violation", "message"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && k != 0 {
		return kindNames[k]
	}
	return "unknown"
}

// Reason says why a frame was marked or dropped, or what was violated.
type Reason int64

// The reasons.
const (
	NoReason       Reason = iota
	FullBuffer            // marked: an input buffer was full
	OverThreshold         // marked: too many frames waited for an output
	Overrun               // violated: a frame came that its buffer has no room for
	CreditOverrun         // violated: a frame was sent without credit
	OutOfOrder            // violated: a frame came before one that was sent earlier
	NoRoute               // dropped: nobody has this destination
	NotForUs              // dropped: an endpoint got a frame for another one
	UnknownFlow           // dropped: an endpoint has no such queue pair
	BadFlowControl        // dropped: a flow control packet with a reserved operand
	NoSuchLane            // dropped: a frame of a virtual lane that is not in use
	SentPaused            // violated: a frame was sent while the peer had said PAUSE
	BufferFull            // dropped: no room, where no flow control promises it
	LinkWasDown           // dropped: the link went down while the frame was under way, or its sender has forgotten a PAUSE because it was down
	Restarted             // dropped: it was in a switch that was restarted
	NotInTurn             // dropped: a packet before it is missing, and will be sent again
	EgressFull            // dropped: its source had no room for it
	Stranger              // dropped: a frame from one end of a flow to the other, and its sender is neither
	NotAwaited            // dropped: an answer that is late, or of another time, or comes again
	NoLimiter             // dropped: congestion was to be answered, and all rate limiters were in use
)

var reasonNames = [...]string{"none", "full-buffer", "over-threshold", "overrun", "credit-overrun", "out-of-order", "no-route", "not-for-us", "unknown-flow", "bad-flow-control", "no-such-lane", "sent-paused", "buffer-full", "link-was-down", "restarted", "not-in-turn", "egress-full", "stranger", "not-awaited", "no-limiter"}

func (r Reason) String() string {
	if r >= 0 && int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Event is something that happened in a machine.
type Event struct {
	At      unit.Time // when, in model time
	Seq     uint32    // number of the event in its machine, from 0
	Machine int32     // index of the machine in the fabric
	Port    uint16    // index of the port in the machine
	Kind    Kind
	Lane    uint8
	Flow    uint32 // queue pair that names the flow; 0 where there is none
	PSN     uint32
	Bytes   uint32
	A, B    int64 // what they mean depends on Kind
}

// A Sink takes events. It must not keep the pointer: the event is overwritten by
// a later one.
type Sink interface{ Record(*Event) }

// Recorder stamps the events of one machine and writes them down for its sink. The
// zero value records nothing.
type Recorder struct {
	batch   *Batch
	machine int32
	seq     uint32
}

// NewRecorder returns the recorder of a machine. A nil sink is silence. Recorders that
// are used one at a time may have a Batch in common.
func NewRecorder(machine int, sink Sink) Recorder {
	batch, ok := sink.(*Batch)
	if !ok {
		batch = NewBatch(1, sink)
	}
	return Recorder{batch: batch, machine: int32(machine)}
}

// Emit reports e; its Machine and Seq are set here.
func (r *Recorder) Emit(e Event) {
	if r.batch == nil {
		return
	}
	written := r.batch.place()
	*written = e
	written.Machine, written.Seq = r.machine, r.seq
	r.seq++
	r.batch.placed()
}

// FrameWord packs what an event says of a frame into one figure: its kind, its marks,
// and the feedback of a notification.
func FrameWord(f *wire.Frame) int64 {
	w := int64(f.Kind) | int64(f.Fb)<<16
	if f.FECN {
		w |= 1 << 8
	}
	if f.BECN {
		w |= 1 << 9
	}
	return w
}

// FbOf returns the quantised feedback in a FrameWord, 0 to 63.
func FbOf(word int64) int64 { return word >> 16 & 0x3f }

// FrameOf takes a FrameWord apart.
func FrameOf(word int64) (kind wire.Kind, fecn, becn bool) {
	return wire.Kind(word & 0xff), word&(1<<8) != 0, word&(1<<9) != 0
}

// ClassesWord packs the priorities that a PFC frame speaks of, and those that it stops.
func ClassesWord(f *wire.Frame) uint32 { return uint32(f.Classes)<<8 | uint32(f.Stopped) }

// ClassesOf takes a ClassesWord apart.
func ClassesOf(word uint32) (spoken, stopped uint8) { return uint8(word >> 8), uint8(word) }
