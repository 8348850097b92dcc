package lookahead

import "fabemu/wire/unit"

// Participant is where a part reports its progress and reads the promises of the other parts: on the Board of a run
// on one machine, or as the Delegate of a coordinator behind a socket. k is an index of Boundary.In.
type Participant interface {
	// Boundary returns the boundary of the part.
	Boundary() *Boundary
	// Own returns the report of the part, to be filled in before State.
	Own() *Report
	// State takes in the report of the part, which others do not see yet.
	State() error
	// Publish shows the last report to the others. wait is set if the part then waits.
	Publish(wait bool) error
	// Look reads the reports and promises since the last call, and returns whether there were any.
	Look() (some bool, err error)
	// May reports whether the promises are enough for the last report of the part.
	May() bool
	// Earliest returns the earliest instant at which another part can have an event; a negative one if it is not known.
	Earliest() unit.Time
	// Promised returns the earliest due time of a frame that the part had not seen by its last State.
	Promised(k int) unit.Time
	// Lost returns the number up to which frames that have not arrived are lost.
	Lost(k int) uint32
	// Sent returns how many frames were sent, as far as the reports of other parts show.
	Sent(k int) uint32
}

// Waker wakes the parts of a run that has a board.
type Waker interface {
	// Clear forgets that this part was woken.
	Clear()
	// Sleep returns when this part has been woken since Clear, after ns nanoseconds, or at a signal. It returns
	// whether this part has been woken.
	Sleep(ns int64) (woken bool)
	// Wake wakes the parts that can continue. now is the model time of the wall clock, read after Publish.
	Wake(now unit.Time)
	// Ring wakes a part.
	Ring(part int)
}
