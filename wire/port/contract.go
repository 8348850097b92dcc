package port

import (
	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/unit"
)

// ID is the number of a port within its machine, from 0.
type ID uint16

// End is a port of a machine of a fabric.
type End struct {
	Machine int
	Port    ID
}

// Arrival is a frame that a port's link has brought. The frame may be acted on
// at the instant at which the machine is given it.
type Arrival struct {
	Frame  wire.Frame
	Head   unit.Time     // first bit left the peer's line
	Tail   unit.Time     // last bit left the peer's line
	Length unit.Size     // length on the line
	Late   unit.Duration // by how much after its due time the machine receives it; 0 on the virtual clock

	Preamble wire.Preamble // its sequence, on a link with retry
}

// Transmission is a frame that a machine puts on a link.
type Transmission struct {
	Port     ID
	Preamble wire.Preamble // its sequence, on a link with retry
	Frame    wire.Frame
	Start    unit.Time     // first bit on the line; never after the instant of the call
	Duration unit.Duration // how long the line is taken
	Due      unit.Time     // when the peer may act on it
	Length   unit.Size     // length on the line
	Note     Note
}

// Note has facts that the bytes of a frame lack: for captures and events.
type Note struct {
	Reason  uint8  // a trace.Reason: why the frame was marked here; 0 if it was not
	Waiting uint16 // frames that waited for this port (cnt1)
	Credit  int32  // blocks of credit left on the lane after this frame; -1 where the lane has none
}

// Event is something that happens to a port from outside, by the scenario.
type Event struct {
	Port ID
	Kind EventKind
	Rate unit.Rate // RateChange, ServiceRate: the new rate

	Table int       // RoutesChange: which of its tables of routes
	Class uint8     // Deadlock: the lane or priority that waits
	Since unit.Time // Deadlock: since when; FaultStart: from when on

	Fault   *fault.Config // FaultStart: without the instants; it begins at Since and lasts for Last
	Out     bool          // FaultStart: of the direction that leaves here; else of the one that comes
	Last    unit.Duration // FaultStart, Stuck: for how long
	Classes uint8         // StormStart, StormStop: of which priorities, a bit each; 0: all
	Invalid wire.Kind     // StormStart, StormStop: of frames of this kind that the peer has to ignore; 0: of valid ones
	Peer    bool          // PauseIgnored, PauseObeyed: by the peer; else by the port itself
	Buffer  BufferConfig  // BufferChange: the part that is left of it; zero: all of it
}

// EventKind is the kind of an Event. The zero value is invalid on purpose.
type EventKind uint8

// The kinds of events.
const (
	_            EventKind = iota
	RateChange             // the line runs at Event.Rate from its next frame on
	LinkDown               // nothing crosses the link any more; frames that are under way are lost
	LinkUp                 // a new incarnation of the link: flow control begins anew
	ServiceRate            // of an endpoint: it takes frames out of its ingress at Event.Rate; 0 is at once
	StormStart             // a pause storm: the port keeps its peer stopped, whatever its buffer holds
	StormStop              // the storm is over
	Restart                // of a switch: all that was in it is lost, and its links are down until LinkUp
	Deadlock               // the port was found in a cycle of waiting: its driver has found it, and the port reports it
	RoutesChange           // of a switch: from now on Event.Table counts
	Offer                  // of an endpoint: its flows may have packets to send, from outside; its driver notifies it
	FaultStart             // the link has a fault in one direction; both ends apply it
	Stuck                  // the port sends nothing but flow control for Event.Last
	PauseIgnored           // PAUSE frames have no effect any more; both ends apply it
	PauseObeyed            // they have an effect again
	SinkStopped            // of an endpoint: it takes no frames out of its ingress any more
	SinkStarted            // it takes them out again
	BufferChange           // of a switch: Event.Buffer is left of the receive buffer of the port
)

// eventWords are the words for kinds of events.
var eventWords = [...]string{
	0: "unknown", RateChange: "rate-change", LinkDown: "link-down", LinkUp: "link-up", ServiceRate: "service-rate",
	StormStart: "storm-start", StormStop: "storm-stop", Restart: "restart", Deadlock: "deadlock",
	RoutesChange: "routes-change", Offer: "offer",
	FaultStart: "fault-start", Stuck: "stuck", PauseIgnored: "pause-ignored", PauseObeyed: "pause-obeyed",
	SinkStopped: "sink-stopped", SinkStarted: "sink-started", BufferChange: "buffer-change",
}

func (k EventKind) String() string { return unit.Word(k, eventWords[:]) }

// Block is why a frame may not be sent.
type Block uint8

// The answers to "may I send?".
const (
	Open         Block = iota // yes
	Idle                      // there is nothing to send
	LineBusy                  // the line serialises another frame until Answer.Until
	NoCredit                  // the peer's buffer has no room; a flow control packet ends it
	CrossbarBusy              // the input buffer feeds another output
	RateLimited               // the flow's rate limiter keeps it, until Answer.Until
	Window                    // as many packets as the window allows await their ACK; on a link with retry, as many frames
	Paused                    // the peer has sent PAUSE, until Answer.Until if it does not send it again
	Down                      // the link is down, or the port is stuck until Answer.Until
)

// Blocks is the number of kinds of Block.
const Blocks = 9

// blockWords are the words for kinds of Block.
var blockWords = [Blocks]string{
	Open: "open", Idle: "idle", LineBusy: "line-busy", NoCredit: "no-credit", CrossbarBusy: "crossbar-busy",
	RateLimited: "rate-limited", Window: "window", Paused: "paused", Down: "down",
}

func (b Block) String() string { return unit.Word(b, blockWords[:]) }

// OfLink reports whether the link keeps a frame although its line is idle.
func (b Block) OfLink() bool { return 1<<b&(1<<NoCredit|1<<Window|1<<Paused|1<<Down) != 0 }

// Answer is the answer to "may I send?": why not, and until when. Until is
// unit.Never where only a frame can change it.
type Answer struct {
	Block Block
	Until unit.Time
}

// Wait is a frame that waits in a machine for an output, as one that looks for
// deadlock needs it.
type Wait struct {
	In    ID        // where it came in: it keeps memory of that input
	Out   ID        // where it is to leave
	Class uint8     // its lane or priority; 0 where flow control has no classes
	Block Block     // the reason that keeps Out: NoCredit or Paused, or anything that ends by itself
	Since unit.Time // since when, if that is NoCredit or Paused
	Room  bool      // there is room again at In: the sender there is about to be notified, if not yet
}
