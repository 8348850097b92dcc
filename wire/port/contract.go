package port

import (
	"fabemu/wire"
	"fabemu/wire/trace"
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

// Lines are the links on which a node sends, where a driver lets it put frames on them before these
// begin to leave: what it plans can be taken back until then.
type Lines interface {
	// Takes returns the number of the link of a port, for the driver, and whether frames may be put
	// on it.
	Takes(ID) (line int32, ok bool)
	// TakeBack takes the last n frames off the link of a port, which have not begun to leave, and
	// gives them back one by one, in their order.
	TakeBack(p ID, n int, to Planner)
}

// A Planner takes back frames whose departure it had planned.
type Planner interface {
	// Back takes a frame back that it had put on the link of a port.
	Back(p ID, f *wire.Frame)
}

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
const Blocks = trace.Causes

var _, _ = [1]struct{}{}[Idle-trace.Idle], [1]struct{}{}[LinkBusy-trace.FirstKept]

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

// draft returns an empty frame where the next transmission will have its own: one to be filled and
// started that is in no other memory yet.
func (o *Outbox) draft() *wire.Frame {
	t := o.place()
	o.end--
	t.Frame = wire.Frame{}
	return &t.Frame
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
