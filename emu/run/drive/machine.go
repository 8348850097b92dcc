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

// Machine is one element of a fabric, an endpoint or a switch: all of its
// protocol, no I/O and no clock. One goroutine owns it.
//
// The driver calls Receive, Advance and Apply with a time that never goes back;
// after each of them it calls Poll until there is nothing, and then reads
// Deadline.
//
// Receive only stores a frame. Advance acts on it at the same
// instant, when all frames of that instant are in. So after Receive or Apply the
// Deadline may be now; after Advance it is later than now. Each deadline inside is
// a field that is overwritten; nothing is ever cancelled, and a call of Advance
// that comes too early does nothing.
type Machine interface {
	// Receive hands over a frame that may be acted on now. It is the driver's after the call.
	Receive(now unit.Time, p port.ID, a *port.Arrival)
	// Advance does all that is due.
	Advance(now unit.Time)
	// Apply makes a change from outside.
	Apply(now unit.Time, e port.Event)
	// Poll takes the next frame for a link: it started at or before the instant of
	// the last call. It is there until the machine is called again.
	Poll() (*port.Transmission, bool)
	// Deadline returns when Advance has something to do; unit.Never when only a frame
	// can matter.
	Deadline() unit.Time
}

// A Sharer is a machine that can have its slots in the agenda of a driver, which then
// calls Advance when one of them is due. Its Deadline only shows whether
// it has work without a slot now; after Advance there is none. In Receive it
// sends nothing.
type Sharer interface {
	Machine
	// Slots returns how many slots it has.
	Slots() int
	// Share gives them places in a, from base on, before anything is called. It returns where the
	// machine's transmissions wait, which all machines that share an agenda share too: the driver
	// looks there in place of Poll.
	Share(a *agenda.Agenda, base int) *port.Outbox
}

// Change is a change from outside at an instant.
type Change struct {
	At      unit.Time
	Machine int
	Event   port.Event
}

// Setup is the input of a driver: machines, the wires between their ports, and the
// changes to come, in the order of their instants.
type Setup struct {
	Machines []Machine
	Wires    [][2]port.End
	Changes  []Change
	End      unit.Time   // the run covers [0, End)
	Run      uint32      // marks its datagrams
	Secret   wire.Secret // marks them too, against forgers

	// Ties is another tie rule, for tests: machine i is ordered as Ties[i], and the
	// ports of a machine by the order of the machines at their other ends. Nil is the
	// rule of the model: by index, and by port.
	Ties []int
	// Least is, by path, the least time from the start of a frame until it is due, and Passing,
	// by machine, the least time from an arrival until the machine sends by another port because of it.
	// Promises between parts and loops rest on them. Both nil: no promise is possible.
	Least, Passing []unit.Duration
	// Key, if not nil, is where the driver writes the key of each event before it lets it happen.
	Key *trace.Key
	// Watch looks for deadlock. It may be nil.
	Watch *deadlock.Watch
	// Progress stores how far the run is. It may be nil.
	Progress *pace.Progress
	// Tap receives each frame. It may be nil.
	Tap Tap
	// Outside is where packets come from by themselves, on the wall clock in one process. It
	// may be nil.
	Outside Outside
	// Visitor looks in between two events. It may be nil.
	Visitor Visitor
	// Bodies holds the bodies of the frames in the machines; their port.Outbox has the same. Nil: a
	// frame that comes with a body has padding from then on.
	Bodies *wire.Bodies

	// Loops, if not nil, has several loops run the machines.
	Loops *Loops
}

// LastChange returns the instant of the last of the changes, 0 if there is none.
func (f *Setup) LastChange() unit.Time {
	if n := len(f.Changes); n > 0 {
		return f.Changes[n-1].At
	}
	return 0
}

// Outside brings packets of real hosts into a fabric on the wall clock. The driver's loop
// calls it while it waits, and from time to time when it lags behind. A machine gets an offer
// at once, as a change from outside (port.Offer): at the model time of the wall clock, or,
// if the loop lags behind, at the time of the next event.
type Outside interface {
	// Look takes in packets that have come, without waiting, and names the machines that have
	// something to send by it.
	Look(offer func(machine int)) error
	// Wait returns when something has come, or when so much wall time has passed. With 0 it gives this processor
	// away for a moment, if a program outside waits for it.
	Wait(most time.Duration)
}

// A Tap watches the links, for captures. The driver's loop calls it: it must not
// wait on the wall clock, and its arguments belong to the loop. A path has the
// number of the port that sends on it: 2*wire, and 1 more if that is the wire's
// second end. Wall times are in ns since the begin of the run; 0 on the virtual
// clock. The body of a frame is its as long as the call.
type Tap interface {
	// Sent receives a frame after it has left; late is the wall time from its instant
	// until then.
	Sent(path int, t *port.Transmission, body wire.Body, now unit.Time, wall, late int64)
	// Received receives a frame before the machine at the end of its path does.
	Received(path int, a *port.Arrival, body wire.Body, now unit.Time, wall int64)
}
