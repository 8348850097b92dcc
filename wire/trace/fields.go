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

// Field is something that events of a kind have in addition to when, where and of which flow.
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
	lane      = Field{Key: "lane", of: (*Event).lane, Doc: "virtual lane or priority"}
	bytes     = Field{Key: "bytes", of: (*Event).bytes, Doc: "length on the wire"}
	psn       = Field{Key: "psn", of: (*Event).psn, Doc: "packet number in the flow"}
	why       = Field{Key: "reason", Form: Why, of: (*Event).a, Doc: "the reason"}
	waiting   = Field{Key: "waiting", of: (*Event).Waiting, Doc: "frames waiting for the port (cnt1)"}
	occupancy = Field{Key: "occupancy", Form: Occupancy, of: (*Event).Occupancy}
	frame     = []Field{
		{Key: "frame", Form: FrameKind, of: (*Event).frameKind, Doc: "kind of the frame"}, lane, bytes,
		{Key: "psn", of: (*Event).psn, present: (*Event).hasFlow, Doc: "packet number in the flow, if any"},
		{Key: "fecn", Form: Flag, of: (*Event).fecn, present: (*Event).hasFECN, Doc: "it is marked; otherwise absent"},
		{Key: "becn", Form: Flag, of: (*Event).becn, present: (*Event).hasBECN, Doc: "it returns a mark; otherwise absent"},
	}
	sequence = psn.meaning("sequence number of its first byte")
	payload  = bytes.meaning("its payload")
)

// with returns fields and further ones.
func with(fields []Field, more ...Field) []Field {
	return append(fields[:len(fields):len(fields)], more...)
}

// meaning returns a field with its own meaning.
func (f Field) meaning(doc string) Field {
	f.Doc = doc
	return f
}

// kinds has the fields of each kind of event: the meanings of its A and B are only here.
var kinds = [...]about{
	Start: {"start", "the port starts to send a frame", always, with(frame,
		Field{Key: "credit_blocks", of: (*Event).b, present: func(e *Event) bool { return e.B >= 0 }, Doc: "credit left on its lane; absent on lanes without credit"})},
	Arrive: {"arrive", "the port has received a frame", always, with(frame,
		Field{Key: "classes", of: func(e *Event) int64 { return int64(e.PSN >> 8 & 0xff) }, present: func(e *Event) bool { return e.is(wire.PriorityPause) }, Doc: "PFC: enabled priorities, one bit each"},
		Field{Key: "stopped", of: func(e *Event) int64 { return int64(e.PSN & 0xff) }, present: func(e *Event) bool { return e.is(wire.PriorityPause) }, Doc: "PFC: priorities that it stops, one bit each"},
		Field{Key: "quanta", of: (*Event).b, present: func(e *Event) bool { return e.is(wire.PriorityPause) || e.is(wire.Pause) }, Doc: "PAUSE, PFC: duration in units of 512 bit times"},
		Field{Key: "occupancy", Form: Occupancy, of: (*Event).b, present: func(e *Event) bool { return !e.is(wire.PriorityPause) && !e.is(wire.Pause) }, Doc: "of its lane's buffer, including this frame"})},
	Release: {"release", "a frame has left the port's buffer", always, []Field{lane, occupancy.meaning("the buffer's content afterwards")}},
	Trigger: {"trigger", "congestion was detected for the port", always, []Field{why, waiting.meaning("frames waiting for the port (cnt1), copied to cnt2")}},
	Mark:    {"mark", "a data frame was marked on leaving the port", always, []Field{why, waiting, psn}},
	Deliver: {"deliver", "the destination has received a data frame, or a TCP segment with missing bytes", always, with(frame,
		Field{Key: "in_order", of: (*Event).b, present: func(e *Event) bool { return e.is(wire.TCP) }, Doc: "TCP: bytes of payload that it completes in order"})},
	Feedback: {"feedback", "the flow's source received an ACK or a notification", never, []Field{psn,
		{Key: "fecn", Form: Flag, of: (*Event).fecn, present: (*Event).hasFECN, Doc: "it is itself marked; otherwise absent"},
		{Key: "becn", Form: Flag, of: (*Event).becn, Doc: "it returns a mark"},
		{Key: "rate", Form: Rate, of: (*Event).b, present: func(e *Event) bool { return e.B > 0 }, Doc: "the flow's rate afterwards, if its limiter reports it"}}},
	FlowStart: {"flow-start", "the flow's source became active", never, nil},
	FlowStop:  {"flow-stop", "the flow's source has ended", never, nil},
	Stall: {"stall", "the reason for a flow's wait at its source, or of frames for the port, has changed", func(e *Event) bool { return e.Flow == 0 }, []Field{lane,
		{Key: "cause", Form: Cause, of: (*Event).a, Doc: "the new reason"}, {Key: "before", Form: Cause, of: (*Event).b, Doc: "the previous reason"}}},
	Control: {"control", "an event of the scenario was applied", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "its number in package wire/port (port.ChangeKind)"},
		{Key: "b", of: (*Event).b, Doc: "new rate in bits per second, number of the routing table, or bytes left of a buffer (0: all); otherwise 0"}}},
	Drop: {"drop", "the port discarded a frame", always, []Field{why, lane, bytes, psn,
		{Key: "figure", of: (*Event).b, Doc: "0 for data and ACKs, otherwise the kind's number in package wire (wire.Kind)"}}},
	TransferStart: {"transfer-start", "a message has arrived at the flow's source", never, []Field{psn.meaning("number of its last packet"),
		{Key: "arrived_ps", of: (*Event).a, Doc: "time of arrival"}, {Key: "bytes", of: (*Event).b, Doc: "its size"},
		{Key: "to", of: (*Event).bytes, present: func(e *Event) bool { return e.Bytes > 0 }, Doc: "workloads: address of the destination"}}},
	TransferEnd: {"transfer-end", "the destination has received the last packet of a message", never, []Field{psn,
		{Key: "missing", of: (*Event).a, Doc: "packets missing since the previous message"},
		{Key: "bytes", of: (*Event).b, Doc: "payload received since then"}}},
	Queue: {"queue", "the queue of a lane at the port has changed", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "bytes waiting for the port in all lanes"},
		{Key: "b", of: (*Event).b, Doc: "bytes waiting in this lane"}}},
	Notify: {"notify", "the port's congestion point notifies the flow's source", always, []Field{psn,
		{Key: "fb", of: (*Event).a, Doc: "quantised feedback"},
		{Key: "qoffset", of: func(e *Event) int64 { return e.B >> 16 }, Doc: "QOffset of the frame"},
		{Key: "qdelta", of: func(e *Event) int64 { return int64(int16(e.B)) }, Doc: "QDelta of the frame"}}},
	Deadlock: {"deadlock", "frames waiting on a lane for the port are in a lasting cycle", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "0"},
		{Key: "b", of: (*Event).b, Doc: "start of the wait, in ps"}}},
	Limit: {"limit", "the flow's reaction point has changed the rate, if it has a target", never, []Field{
		{Key: "rate", Form: Rate, of: (*Event).a, Doc: "the rate"}, {Key: "target", Form: Rate, of: (*Event).b, Doc: "the target"}}},
	Timeout: {"timeout", "the flow's oldest packet in flight got no ACK in time", always, []Field{
		{Key: "a", of: (*Event).a, Doc: "packets to retransmit"},
		{Key: "b", of: (*Event).b, Doc: "TCP: the doubled timeout in ps; otherwise 0"}}},
	Violation: {"violation", "the fabric broke an invariant", always, []Field{why.meaning("which"), lane, bytes, psn,
		{Key: "figure", of: (*Event).b, Doc: "a related value, such as the buffer's occupancy in blocks"}}},
	Message: {"message", "the scheme sends a frame, from the port or an end of the flow", always, []Field{psn,
		{Key: "value", Form: Unsigned, of: (*Event).a, Doc: "64 bits, as defined by the scheme"}}},
	Window: {"window", "the flow's congestion window or slow start threshold has changed (TCP, or an algorithm with a window)", never, []Field{psn.meaning("oldest unacknowledged sequence number, or packet"),
		{Key: "cwnd", of: (*Event).a, Doc: "congestion window in bytes"},
		{Key: "ssthresh", of: (*Event).b, present: func(e *Event) bool { return e.B >= 0 }, Doc: "slow start threshold in bytes; absent until there is one"}}},
	RoundTrip: {"round-trip", "the flow's source has measured a round trip (TCP, or RoCEv2 for an algorithm with delays)", never, []Field{psn.meaning("acknowledged sequence number, or packet"),
		{Key: "rtt_ps", of: (*Event).a, Doc: "round trip in ps"}, {Key: "rto_ps", of: (*Event).b, Doc: "new retransmission timeout in ps"}}},
	Retransmit: {"retransmit", "the flow's source retransmits a segment or probes a closed window (TCP), or goes back after a NAK (RoCEv2)", never, []Field{why.meaning("why"), sequence.meaning("sequence number of its first byte, or of the packet"), payload,
		{Key: "packets", of: (*Event).b, present: func(e *Event) bool { return e.B > 0 }, Doc: "RoCEv2: packets to retransmit"}}},
	Refuse: {"refuse", "an end of the flow has refused a segment or SACK block (TCP), or a packet's telemetry (RoCEv2)", never, []Field{why, sequence, payload}},
	CongestionLog: {"congestion-log", "the flow's reaction point made an entry in its congestion log (CCA)", never, []Field{psn,
		{Key: "level", of: (*Event).a, Doc: "the CCTI"}}},
	Round: {"round", "a rank has completed its part of a round of a collective", never, []Field{
		{Key: "round", of: (*Event).psn, Doc: "number of the round, from 1"}, {Key: "begun_ps", of: (*Event).a, Doc: "start of its first operation"},
		{Key: "ended_ps", of: (*Event).b, Doc: "end of its last operation"}}},
	Backlog: {"backlog", "the number of a workload's flows waiting at an endpoint has changed", never, []Field{
		{Key: "transfers", of: (*Event).a, Doc: "flows now waiting"}}},
	Wait: {"wait", "a rank has waited long at the end of the run, or its program cannot continue", never, []Field{
		{Key: "reason", Form: Why, of: func(e *Event) int64 { return e.B & 0xff }, Doc: "why"},
		{Key: "since_ps", of: (*Event).a, Doc: "start of the wait"},
		{Key: "of", of: (*Event).bytes, present: func(e *Event) bool { return e.Bytes > 0 }, Doc: "address of the other rank; absent if the program is at fault"},
		{Key: "tag", of: (*Event).psn, Doc: "the tag of the message"},
		{Key: "line", of: func(e *Event) int64 { return e.B >> 8 }, present: func(e *Event) bool { return e.B >= 1<<8 }, Doc: "line of the GOAL file, if any"}}},
	Watchdog: {"watchdog", "the port's PFC watchdog has found a storm on a lane, or its end", always, []Field{lane,
		{Key: "storm", Form: Flag, of: (*Event).a, Doc: "a storm; otherwise its end"},
		{Key: "action", of: (*Event).b, Doc: "action: 0 drop, 1 forward, 2 alert"}}},
	Retry: {"retry", "link layer retry at the port has counted something other than a regular frame", always, []Field{
		{Key: "counter", Form: Statistic, of: (*Event).a, Doc: "SAI's name, or one of ours in lower case"},
		{Key: "sequence", of: (*Event).b, Doc: "sequence number of the frame, or of the next one"}, lane,
		{Key: "psn", of: (*Event).psn, present: (*Event).hasFlow, Doc: "packet number in the flow, if any"}}},
	Failure: {"failure", "the flow's queue pair has failed after its retry-count, and sends nothing any more (RoCEv2)", never, []Field{
		why.meaning("what it would have been retransmitted for"), psn.meaning("oldest packet without an ACK"),
		{Key: "packets", of: (*Event).b, Doc: "packets without an ACK"},
		{Key: "to", of: (*Event).bytes, present: func(e *Event) bool { return e.Bytes > 0 }, Doc: "workloads: address of the destination"}}},
	Disorder: {"disorder", "a packet that came ahead of its turn was delivered", never, []Field{psn,
		{Key: "ahead", of: (*Event).a, Doc: "so many packets ahead of the oldest missing one when it came"},
		{Key: "held_ps", of: (*Event).b, Doc: "time that it waited in the reorder buffer, in ps; 0: it was placed at once"}}},
	Trim: {"trim", "a switch had no room for a packet at the port and trimmed it", always, []Field{lane, bytes.meaning("length of what is left, on the wire"), psn,
		{Key: "last_hop", Form: Flag, of: (*Event).a, Doc: "the port leads to an endpoint"},
		{Key: "dropped", Form: Flag, of: (*Event).b, Doc: "there was no room for that either, or for a packet that was trimmed before"}}},
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

// Fields returns the fields that events of the kind have, in the order of the event log. They are
// not to be changed.
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
// source, or to a node, has none.
func (e *Event) HasPort() bool { return !e.Kind.known() || kinds[e.Kind].port(e) }
