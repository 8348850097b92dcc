package port

import (
	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/unit"
)

// ID is the number of a port within its node, from 0.
type ID uint16

// AnyPort stands for all ports.
const AnyPort ID = 0xFFFF

// End identifies a port of a node in a fabric.
type End struct {
	Node int
	Port ID
}

// Arrival is a frame that has arrived at a port. The node may act on it from the instant at which
// it receives it.
type Arrival struct {
	Frame  wire.Frame
	Head   unit.Time // when the first bit left the peer's port
	Tail   unit.Time // when the last bit left the peer's port
	Length unit.Size // length on the link

	Preamble wire.Preamble // its sequence, on a link with retry
}

// Transmission is a frame that a node sends on a link.
type Transmission struct {
	Port     ID
	Preamble wire.Preamble // its sequence, on a link with retry
	Frame    wire.Frame
	Start    unit.Time     // first bit on the link; never after the instant of the call
	Duration unit.Duration // how long the frame occupies the link
	Due      unit.Time     // when the peer may act on it
	Length   unit.Size     // length on the link
	Note     Note
}

// Note holds facts about a frame that its bytes do not contain, for captures and events.
type Note struct {
	Reason  uint8  // a trace.Reason: why the frame was marked here; 0: it was not
	Waiting uint16 // frames that waited for this port (cnt1)
	Credit  int32  // blocks of credit left on the lane after this frame; -1: the lane has no credit
}

// Event is a change of a port that comes from outside, from the scenario.
type Event struct {
	Port ID
	Kind EventKind
	Rate unit.Rate // RateChange, ServiceRate: the new rate

	Table int       // RoutesChange: the index of the table of routes to use
	Class uint8     // Deadlock: the lane or priority that waits
	Since unit.Time // Deadlock: since when it waits; FaultStart: when the fault begins

	Fault   *fault.Config // FaultStart: the fault without its instants: it begins at Since and lasts for Last
	Out     bool          // FaultStart: in the outgoing direction; else in the incoming one
	Last    unit.Duration // FaultStart, Stuck: how long it lasts
	Classes uint8         // StormStart, StormStop: the priorities, a bit each; 0: all
	Invalid wire.Kind     // StormStart, StormStop: the storm has frames of this kind that the peer must ignore; 0: valid frames
	Peer    bool          // PauseIgnored, PauseObeyed: the peer ignores or obeys; else the port itself
	Buffer  BufferConfig  // BufferChange: the part of the buffer that is left; zero: all of it. WatermarksChange: High and Low
	Setting any           // WatchdogChange, SLToVLChange, ArbitrationChange, MarkingChange, ControlChange: the parameters, the table or what they make; RoutesChange: a new table, which gets the index Table, or nil
	Frame   *wire.Frame   // SendMAD: the packet, with its body in the Outbox
	In      ID            // SLToVLChange: of a switch: the input that the table is for; AnyPort: all
}

// EventKind is the kind of an Event. The zero value is invalid on purpose.
type EventKind uint8

// The kinds of events.
const (
	_                 EventKind = iota
	RateChange                  // the link runs at Event.Rate from its next frame on
	LinkDown                    // nothing crosses the link any more; frames in flight are lost
	LinkUp                      // the link comes up: flow control starts from its initial state
	ServiceRate                 // of an endpoint: it takes frames out of its ingress at Event.Rate; 0: at once
	StormStart                  // a pause storm: the port keeps its peer stopped, whatever its buffer holds
	StormStop                   // the storm is over
	Restart                     // of a switch: its content is lost, and its links are down until LinkUp
	Deadlock                    // the driver has found the port in a cycle of waiting; the port reports it
	RoutesChange                // of a switch: it uses the routes of Event.Table from now on
	Offer                       // of an endpoint: its flows may have packets from outside to send; its driver sends this event
	FaultStart                  // the link has a fault in one direction; both ends apply it
	Stuck                       // the port sends nothing but flow control for Event.Last
	PauseIgnored                // PAUSE frames have no effect; both ends apply it
	PauseObeyed                 // PAUSE frames have an effect again
	SinkStopped                 // of an endpoint: it stops taking frames out of its ingress
	SinkStarted                 // it takes them out again
	BufferChange                // of a switch: Event.Buffer is left of the receive buffer of the port
	WatermarksChange            // of a switch: all its inputs have the watermarks of Event.Buffer
	WatchdogChange              // of a switch: its PFC watchdog has the parameters of Event.Setting
	SLToVLChange                // frames that leave by the port have the lanes of Event.Setting, an SLToVL; those that wait for it keep theirs
	ArbitrationChange           // the lanes of the port are arbitrated as Event.Setting says, an Arbitration
	MarkingChange               // of a switch with input buffers: it has the congestion points of Event.Setting, a cp.Maker
	SendMAD                     // the port sends Event.Frame on VL15
	ControlChange               // of an endpoint: its flows have the reaction points of Event.Setting, a map[uint32]rp.Controller by queue pair
)

var eventWords = [...]string{
	0: "unknown", RateChange: "rate-change", LinkDown: "link-down", LinkUp: "link-up", ServiceRate: "service-rate",
	StormStart: "storm-start", StormStop: "storm-stop", Restart: "restart", Deadlock: "deadlock",
	RoutesChange: "routes-change", Offer: "offer",
	FaultStart: "fault-start", Stuck: "stuck", PauseIgnored: "pause-ignored", PauseObeyed: "pause-obeyed",
	SinkStopped: "sink-stopped", SinkStarted: "sink-started", BufferChange: "buffer-change",
	WatermarksChange: "watermarks-change", WatchdogChange: "watchdog-change",
	SLToVLChange: "sl2vl-change", ArbitrationChange: "vlarb-change", MarkingChange: "marking-change", SendMAD: "send-mad",
	ControlChange: "control-change",
}

func (k EventKind) String() string { return unit.Word(k, eventWords[:]) }

// Block is the reason why a frame may not be sent.
type Block uint8

// The answers to "may I send?".
const (
	Open         Block = iota // yes
	Idle                      // there is nothing to send
	LinkBusy                  // the link is busy with another frame until Answer.Until
	NoCredit                  // the peer's buffer has no room; only a flow control packet changes that
	CrossbarBusy              // the input buffer feeds another output
	RateLimited               // the flow's rate limiter delays the frame until Answer.Until
	Window                    // the window is full of packets that await their ACK; on a link with retry, of frames
	Paused                    // the peer has sent PAUSE, until Answer.Until if it does not repeat it
	Down                      // the link is down, or the port is stuck until Answer.Until
)

// Blocks is the number of kinds of Block.
const Blocks = 9

var blockWords = [Blocks]string{
	Open: "open", Idle: "idle", LinkBusy: "line-busy", NoCredit: "no-credit", CrossbarBusy: "crossbar-busy",
	RateLimited: "rate-limited", Window: "window", Paused: "paused", Down: "down",
}

func (b Block) String() string { return unit.Word(b, blockWords[:]) }

// Answer is the answer to "may I send?": the reason against it, and until when it holds. Until is
// unit.Never if only a frame from the peer can change the answer.
type Answer struct {
	Block Block
	Until unit.Time
}

// Wait describes a frame that waits in a node for an output. The detection of deadlock uses it.
type Wait struct {
	In    ID        // the port by which it arrived: it occupies memory of that input
	Out   ID        // where it is to leave
	From  uint8     // its lane or priority at In
	Class uint8     // its lane or priority at Out; 0 where flow control has no classes
	Block Block     // the reason that blocks Out: NoCredit or Paused, or a reason that ends by itself
	Since unit.Time // since when, if that is NoCredit or Paused
	Room  bool      // there is room again at In: the sender there has been notified, or is about to be
}

// Outbox is the queue of a node's transmissions, in the order in which they were started. The
// driver empties it after each call, so all nodes of a driver can share one, which then stays in
// the cache even in a large fabric. The nodes also share the kinds of their links through it, and
// the bodies of their frames.
type Outbox struct {
	Bodies wire.Bodies

	queue []Transmission // the waiting transmissions are those from next to before end
	next  int
	end   int
	media media
}

// place returns where to write the next transmission. The memory still holds an earlier one.
func (o *Outbox) place() *Transmission {
	n := o.end
	if n == len(o.queue) {
		o.queue = append(o.queue, Transmission{})
	}
	o.end = n + 1
	return &o.queue[n]
}

// Poll takes the next transmission. It is valid until a node is called again.
func (o *Outbox) Poll() (*Transmission, bool) {
	if o.next == o.end { // the next transmission is written to the same memory again
		o.next, o.end = 0, 0
		return nil, false
	}
	t := &o.queue[o.next]
	o.next++
	return t, true
}
