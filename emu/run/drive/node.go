package drive

import (
	"time"

	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Node is one element of a fabric, an endpoint or a switch: its complete protocol, without I/O or a
// clock. One goroutine owns it.
//
// The driver calls Receive, Advance and Apply with a time that never goes back; after each of them
// it calls Poll until there is no transmission left, and then reads Deadline.
//
// Receive only stores a frame. Advance acts on it at the same instant, once all frames of that
// instant have arrived. So after Receive or Apply the Deadline may be now; after Advance it is
// later than now. Each deadline inside is a field that is overwritten; nothing is ever cancelled,
// and a call of Advance that comes too early does nothing.
type Node interface {
	// Receive hands over a frame that may be acted on now. The driver may reuse a after the call.
	Receive(now unit.Time, p port.ID, a *port.Arrival)
	// Advance does everything that is due.
	Advance(now unit.Time)
	// Apply makes a change from outside.
	Apply(now unit.Time, p port.ID, c port.Change)
	// Poll takes the next frame for a link: it started at or before the instant of the last call.
	// It is valid until the node is called again.
	Poll() (*port.Transmission, bool)
	// Deadline returns when Advance has something to do; unit.Never if only a frame can change the
	// node.
	Deadline() unit.Time
}

// A Sharer is a node that can keep its slots in the agenda of a driver, which then calls Advance
// when one of them is due. Its Deadline only shows whether it has work without a slot now; after
// Advance there is none. It sends nothing in Receive.
type Sharer interface {
	Node
	// Slots returns how many slots it needs.
	Slots() int
	// Share moves its slots to a, from base on, before any other call. It returns the queue of the
	// node's transmissions, which all nodes that share an agenda use too: the driver reads it
	// instead of calling Poll.
	Share(a *agenda.Agenda, base int) *port.Outbox
}

// A Passer is a Sharer that can say when a frame will leave, at its arrival. The driver moves such
// a frame from link to link without a copy, and the node has nothing more to do for it. It has no
// work without a slot after Pass.
type Passer interface {
	Sharer
	// Plan has the node plan ahead, if it can, on lines. It comes before any frame.
	Plan(lines port.Lines) bool
	// Pass takes in a frame as Receive does. If ok, it has put it on a link, by its number in
	// lines, where it is due at an instant: a is then the frame as it arrives there.
	Pass(now unit.Time, p port.ID, a *port.Arrival) (line int32, due unit.Time, ok bool)
}

// Change is a change from outside, with its instant.
type Change struct {
	At     unit.Time
	Node   int
	Port   port.ID // of a change of a port
	Makes  port.Change
	number int32 // among all changes of a Setup
}

// Setup is the input of a driver: nodes, the wires between their ports, and the changes to make, in
// the order of their instants.
type Setup struct {
	Nodes   []Node
	Wires   [][2]port.End
	Changes []Change
	End     unit.Time   // the run covers [0, End)
	Run     uint32      // marks its datagrams
	Secret  wire.Secret // marks them too, against forgery

	// Least is, by path, the least time from the start of a frame until it is due, and Passing, by
	// node, the least time from an arrival until the node sends by another port because of it.
	// Promises between parts and domains rely on them. Both nil: no promise is possible.
	Least, Passing []unit.Duration
	// Key, if not nil, is where the driver writes the key of each event before it lets it happen.
	Key *trace.Key
	// Watch detects deadlock. It may be nil.
	Watch *deadlock.Watch
	// Progress stores how far the run is. It may be nil.
	Progress *pace.Progress
	// Tap receives each frame. It may be nil.
	Tap Tap
	// Outside is the source of packets from outside the fabric, on the wall clock in one process,
	// or of Stepped. It may be nil.
	Outside Outside
	// Visitor is called between two events. It may be nil.
	Visitor Visitor
	// Bodies holds the bodies of the frames in the nodes; their port.Outbox has the same. Nil: a
	// frame that arrives with a body has padding from then on.
	Bodies *wire.Bodies

	// Domains, if not nil, divides the nodes on the virtual clock.
	Domains *Domains
}

// LastChange returns the instant of the last of the changes, or 0 if there is none.
func (f *Setup) LastChange() unit.Time {
	if n := len(f.Changes); n > 0 {
		return f.Changes[n-1].At
	}
	return 0
}

// Outside brings packets of real hosts into a fabric on the wall clock. The driver's loop
// calls it while it waits, and from time to time when it lags behind. A node gets an offer
// at once, as a change from outside (port.Offer, port.SendMAD): at the model time of the wall
// clock, or, if the loop lags behind, at the time of the next event.
type Outside interface {
	// Look takes in packets that have arrived, without waiting, and calls offer for each node that
	// has something to send because of them. offer returns when the node receives the event.
	Look(offer func(node int, p port.ID, c port.Change) unit.Time) error
	// Wait returns when something has arrived, or when the given wall time has passed. With 0 it
	// yields this processor for a moment if a program outside waits for it.
	Wait(most time.Duration)
}

// A Tap watches the links, for captures. The driver's loop calls it: it must not block, and its
// arguments belong to the loop. The number of a path is that of the port that sends on it: 2*wire,
// plus 1 if that is the wire's second end. Wall times are in ns since the start of the run; 0 on
// the virtual clock. The Tap may use the body of a frame only during the call.
type Tap interface {
	// Sent receives a frame after it has left; late is the wall time from its instant until then.
	Sent(path int, t *port.Transmission, body wire.Body, now unit.Time, wall, late int64)
	// Received receives a frame before the node at the end of its path receives it.
	Received(path int, a *port.Arrival, body wire.Body, now unit.Time, wall int64)
}
