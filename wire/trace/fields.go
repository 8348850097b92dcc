package trace

import (
	"fabemu/wire"
)

// Form is how a field is to be read.
type Form uint8

// The forms.
const (
	Number    Form = iota
	Unsigned       // a number of 64 bits without a sign
	Flag           // 1: true
	FrameKind      // a wire.Kind
	Why            // a Reason
	Cause          // a port.Block
	Rate           // a unit.Rate
	Statistic      // a retry.Counter
	Occupancy      // a number of blocks; of bytes where the port is on Ethernet
)

// Field is something that events of a kind have beside when, where and of which flow.
type Field struct {
	Key     string
	Form    Form
	Doc     string
	of      func(e *Event) int64
	present func(e *Event) bool // nil: always
}

// Of returns the field of an event, and whether the event has it.
func (f *Field) Of(e *Event) (v int64, ok bool) {
	if f.present != nil && !f.present(e) {
		return 0, false
	}
	return f.of(e), true
}

// about is the subject of an event of a kind.
type about struct {
	name   string
	doc    string
	port   func(e *Event) bool // whether its port means something
	fields []Field
}

// The meanings of A and B of an event, by their names.
func (e *Event) a() int64            { return e.A }
func (e *Event) b() int64            { return e.B }
func (e *Event) lane() int64         { return int64(e.Lane) }
func (e *Event) bytes() int64        { return int64(e.Bytes) }
func (e *Event) psn() int64          { return int64(e.PSN) }
func (e *Event) frameKind() int64    { return e.A & 0xff }
func (e *Event) fecn() int64         { return e.A >> 8 & 1 }
func (e *Event) becn() int64         { return e.A >> 9 & 1 }
func (e *Event) hasFlow() bool       { return e.Flow != 0 }
func (e *Event) hasFECN() bool       { return e.fecn() != 0 }
func (e *Event) hasBECN() bool       { return e.becn() != 0 }
func (e *Event) is(k wire.Kind) bool { return e.frameKind() == int64(k) }

func always(*Event) bool { return true }
func never(*Event) bool  { return false }

// The fields that several kinds have.
var (
	lane      = Field{Key: "lane", of: (*Event).lane, Doc: "virtual lane, or on Ethernet priority"}
	bytes     = Field{Key: "bytes", of: (*Event).bytes, Doc: "length on the line"}
	psn       = Field{Key: "psn", of: (*Event).psn, Doc: "number of the packet in its flow"}
	why       = Field{Key: "reason", Form: Why, of: (*Event).a, Doc: "the reason"}
	waiting   = Field{Key: "waiting", of: (*Event).Waiting, Doc: "how many frames wait for the port (cnt1)"}
	occupancy = Field{Key: "occupancy", Form: Occupancy, of: (*Event).Occupancy}
	frame     = []Field{
		{Key: "frame", Form: FrameKind, of: (*Event).frameKind, Doc: "kind of the frame"}, lane, bytes,
		{Key: "psn", of: (*Event).psn, present: (*Event).hasFlow, Doc: "number of the packet in its flow, where there is one"},
		{Key: "fecn", Form: Flag, of: (*Event).fecn, present: (*Event).hasFECN, Doc: "it is marked; absent if not"},
		{Key: "becn", Form: Flag, of: (*Event).becn, present: (*Event).hasBECN, Doc: "it carries a mark back; absent if not"},
	}
	sequence = psn.meaning("the sequence number of its first byte")
	payload  = bytes.meaning("its payload")
)

// with returns fields and further ones.
func with(fields []Field, more ...Field) []Field {
	return append(fields[:len(fields):len(fields)], more...)
}

// meaning returns a field with a meaning of its own.
func (f Field) meaning(doc string) Field {
	f.Doc = doc
	return f
}

// kinds has the fields of each kind of event: the meanings of its A and B stand here alone.
var kinds = [...]about{
	Start: {"start", "a frame begins on the line of the port", always, with(frame,
		Field{Key: "credit_blocks", of: (*Event).b, present: func(e *Event) bool { return e.B >= 0 }, Doc: "credit left on its lane; absent where the lane has none"})},
	Arrive: {"arrive", "a frame has come in by the port", always, with(frame,
		Field{Key: "classes", of: func(e *Event) int64 { return int64(e.PSN >> 8 & 0xff) }, present: func(e *Event) bool { return e.is(wire.PriorityPause) }, Doc: "of a PFC frame: the priorities that it concerns, a bit each"},
		Field{Key: "stopped", of: func(e *Event) int64 { return int64(e.PSN & 0xff) }, present: func(e *Event) bool { return e.is(wire.PriorityPause) }, Doc: "of a PFC frame: the priorities that it stops"},
		Field{Key: "quanta", of: (*Event).b, present: func(e *Event) bool { return e.is(wire.PriorityPause) || e.is(wire.Pause) }, Doc: "of PAUSE and PFC frames: for how long, in units of 512 bit times"},
		Field{Key: "occupancy", Form: Occupancy, of: (*Event).b, present: func(e *Event) bool { return !e.is(wire.PriorityPause) && !e.is(wire.Pause) }, Doc: "of the buffer of its lane, this frame included"})},
	Release: {"release", "a frame has left the buffer of the port", always, []Field{lane, occupancy.meaning("its content afterwards")}},
	Trigger: {"trigger", "congestion was detected on behalf of the port", always, []Field{why, waiting.meaning("how many frames wait for the port (cnt1), which is copied to cnt2")}},
	Mark:    {"mark", "a data frame was marked as it left by the port", always, []Field{why, waiting, psn}},
	Deliver: {"deliver", "a data frame has reached its destination whole; of TCP a segment of which something was missing", always, with(frame,
		Field{Key: "in_order", of: (*Event).b, present: func(e *Event) bool { return e.is(wire.TCP) }, Doc: "of TCP: how many bytes of payload are complete and in order with it that were not before"})},
	Feedback: {"feedback", "the source of the flow took in an ACK, or a notification", never, []Field{psn,
		{Key: "fecn", Form: Flag, of: (*Event).fecn, present: (*Event).hasFECN, Doc: "it is marked itself; absent if not"},
		{Key: "becn", Form: Flag, of: (*Event).becn, Doc: "it carries a mark back"},
		{Key: "rate", Form: Rate, of: (*Event).b, present: func(e *Event) bool { return e.B > 0 }, Doc: "rate of the flow afterwards, if its limiter reports it"}}},
	FlowStart: {"flow-start", "the source of the flow became active", never, nil},
	FlowStop:  {"flow-stop", "the source of the flow has ended", never, nil},
	Stall: {"stall", "the reason why a flow waits at its source, or frames for the line of the port, has changed", func(e *Event) bool { return e.Flow == 0 }, []Field{lane,
		{Key: "cause", Form: Cause, of: (*Event).a, Doc: "the reason from now on"}, {Key: "before", Form: Cause, of: (*Event).b, Doc: "the reason until now"}}},
	Control: {"control", "an event of the scenario was applied", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "which, as package wire/port counts them (port.EventKind)"},
		{Key: "b", of: (*Event).b, Doc: "the new rate in bits per second, the number of the table of routes, or how many bytes are left of a buffer, 0 for all of it; 0 for others"}}},
	Drop: {"drop", "a frame was discarded by the port", always, []Field{why, lane, bytes, psn,
		{Key: "figure", of: (*Event).b, Doc: "0 for data and ACKs; of others their kind, as package wire counts them (wire.Kind)"}}},
	TransferStart: {"transfer-start", "a transfer has arrived at the source of the flow", never, []Field{psn.meaning("the number of its last packet"),
		{Key: "arrived_ps", of: (*Event).a, Doc: "since when it is there"}, {Key: "bytes", of: (*Event).b, Doc: "its size"},
		{Key: "to", of: (*Event).bytes, present: func(e *Event) bool { return e.Bytes > 0 }, Doc: "of a workload: the address of its destination"}}},
	TransferEnd: {"transfer-end", "the last packet of a transfer has reached its destination whole", never, []Field{psn,
		{Key: "missing", of: (*Event).a, Doc: "how many packets of the flow are missing since the transfer before: 0 unless the fabric dropped some"},
		{Key: "bytes", of: (*Event).b, Doc: "how many bytes of payload came since then"}}},
	Queue: {"queue", "the queue of a lane at the port has become longer or shorter", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "bytes on the line that wait for the port in all lanes"},
		{Key: "b", of: (*Event).b, Doc: "bytes on the line that wait in this lane"}}},
	Notify: {"notify", "a congestion point sends a notification to the source of the flow, by the port", always, []Field{psn,
		{Key: "fb", of: (*Event).a, Doc: "quantised feedback"},
		{Key: "qoffset", of: func(e *Event) int64 { return e.B >> 16 }, Doc: "QOffset of the frame"},
		{Key: "qdelta", of: func(e *Event) int64 { return int64(int16(e.B)) }, Doc: "QDelta of the frame"}}},
	Deadlock: {"deadlock", "the frames that wait on a lane for the port wait in a cycle, which nothing ends", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "0"},
		{Key: "b", of: (*Event).b, Doc: "since when, in ps"}}},
	Limit: {"limit", "the reaction point of the flow, one that has a target, has changed its rate", never, []Field{
		{Key: "rate", Form: Rate, of: (*Event).a, Doc: "the rate"}, {Key: "target", Form: Rate, of: (*Event).b, Doc: "the target"}}},
	Timeout: {"timeout", "the ACK of the oldest packet of the flow that awaits one did not come in time", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "how many packets are sent again"},
		{Key: "b", of: (*Event).b, Doc: "of TCP the timeout, doubled, in ps; of others 0"}}},
	Violation: {"violation", "a promise of the fabric is broken", always, []Field{why.meaning("which"), lane, bytes, psn,
		{Key: "figure", of: (*Event).b, Doc: "a figure that belongs to it, such as the occupancy of the buffer in blocks"}}},
	Message: {"message", "a scheme sends a frame of its own: a congestion point by the port, or the source or the destination of the flow", always, []Field{psn,
		{Key: "value", Form: Unsigned, of: (*Event).a, Doc: "its 64 bits; the scheme defines their meaning"}}},
	Window: {"window", "the congestion window of the flow, or its slow start threshold, has changed (TCP, or a law with a window)", never, []Field{psn.meaning("the oldest sequence number, or packet, that is not acknowledged"),
		{Key: "cwnd", of: (*Event).a, Doc: "the congestion window in bytes"},
		{Key: "ssthresh", of: (*Event).b, present: func(e *Event) bool { return e.B >= 0 }, Doc: "the slow start threshold in bytes; absent where there is none yet"}}},
	RoundTrip: {"round-trip", "the source of the flow has measured a round trip (TCP, or RoCEv2 for a law with delays)", never, []Field{psn.meaning("the sequence number, or packet, that was acknowledged"),
		{Key: "rtt_ps", of: (*Event).a, Doc: "the round trip in ps"}, {Key: "rto_ps", of: (*Event).b, Doc: "the retransmission timeout from now on in ps"}}},
	Retransmit: {"retransmit", "the source of the flow sends a segment again, or a byte into a window that is closed (TCP), or goes back to the packet that a NAK asks for (RoCEv2)", never, []Field{why.meaning("why"), sequence.meaning("the sequence number of its first byte, or of the packet"), payload,
		{Key: "packets", of: (*Event).b, present: func(e *Event) bool { return e.B > 0 }, Doc: "of RoCEv2 how many packets are sent again"}}},
	Refuse: {"refuse", "an end of the flow has not taken in a segment, or a SACK block of it (TCP), or telemetry of a packet (RoCEv2)", never, []Field{why, sequence, payload}},
	CongestionLog: {"congestion-log", "the reaction point of the flow made an entry in its log of congestion (CCA)", never, []Field{psn,
		{Key: "level", of: (*Event).a, Doc: "how strong it is: the CCTI"}}},
	Round: {"round", "a rank has ended its part of a round of a collective operation", never, []Field{
		{Key: "round", of: (*Event).psn, Doc: "which round, from 1"}, {Key: "begun_ps", of: (*Event).a, Doc: "when its first operation began"},
		{Key: "ended_ps", of: (*Event).b, Doc: "when its last operation ended"}}},
	Backlog: {"backlog", "the number of transfers that wait for a source of a workload at an endpoint has changed", never, []Field{
		{Key: "transfers", of: (*Event).a, Doc: "how many wait now"}}},
	Wait: {"wait", "a rank has waited for long at the end of the run, or its program cannot go on", never, []Field{
		{Key: "reason", Form: Why, of: func(e *Event) int64 { return e.B & 0xff }, Doc: "why"},
		{Key: "since_ps", of: (*Event).a, Doc: "since when"},
		{Key: "of", of: (*Event).bytes, present: func(e *Event) bool { return e.Bytes > 0 }, Doc: "the address of the other rank; absent where the program is at fault"},
		{Key: "tag", of: (*Event).psn, Doc: "the tag of the message"},
		{Key: "line", of: func(e *Event) int64 { return e.B >> 8 }, present: func(e *Event) bool { return e.B >= 1<<8 }, Doc: "the line of the GOAL file; absent where there is none"}}},
	Watchdog: {"watchdog", "the PFC watchdog of the port has found a storm on a lane, or that it is over", always, []Field{lane,
		{Key: "storm", Form: Flag, of: (*Event).a, Doc: "it is a storm; else it is over"},
		{Key: "action", of: (*Event).b, Doc: "its action in a storm: 0 drop, 1 forward, 2 alert"}}},
	Retry: {"retry", "the retry of the link at the port has counted something that is not of every frame", always, []Field{
		{Key: "counter", Form: Statistic, of: (*Event).a, Doc: "which, by SAI's name, or one of ours in small letters"},
		{Key: "sequence", of: (*Event).b, Doc: "of the frame, or of the next one"}, lane,
		{Key: "psn", of: (*Event).psn, present: (*Event).hasFlow, Doc: "number of the packet in its flow, where there is one"}}},
}

// known reports whether the table has a kind.
func (k Kind) known() bool { return k != 0 && int(k) < len(kinds) }

// Kinds returns all kinds of events.
func Kinds() (all []Kind) {
	for k := range kinds {
		if k > 0 {
			all = append(all, Kind(k))
		}
	}
	return all
}

func (k Kind) String() string {
	if !k.known() {
		return "unknown"
	}
	return kinds[k].name
}

// Doc describes an event of the kind in a clause.
func (k Kind) Doc() string { return kinds[k].doc }

// Fields returns the fields that events of the kind have, in the order of the event log. They are not
// to be changed.
func (k Kind) Fields() []Field {
	if !k.known() {
		return nil
	}
	return kinds[k].fields
}

// Reason returns why a frame was marked or dropped, congestion detected, or which rule is violated.
func (e *Event) Reason() Reason { return Reason(e.A) }

// Occupancy returns the content of the buffer after Arrive and Release: blocks, on Ethernet bytes.
func (e *Event) Occupancy() int64 { return e.B }

// Waiting returns how many frames wait for the port at Trigger and Mark.
func (e *Event) Waiting() int64 { return e.B }

// HasPort reports whether the port of e means something: an event of a flow at its
// source, or to a machine, has none.
func (e *Event) HasPort() bool { return !e.Kind.known() || kinds[e.Kind].port(e) }
