package lookahead

import "fabemu/wire/unit"

// Participant is where a part reports its progress and reads the promises of the other parts: on the Board of a run
// on one computer, or as the Delegate of a coordinator behind a socket. k is an index of Boundary.In.
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

// Turn decides when a part does something in a run whose order may be late. Of the parts that share a processor, the
// one whose event is next waits without sleeping, and the others sleep.
type Turn interface {
	// Sent notes a frame for a machine of another part. It leaves before the next Await.
	Sent(machine int, due unit.Time)
	// Await waits until it is the turn of this part, whose next event, of t, is due at target on the wall clock. It
	// returns t then, and -1 when look has taken in frames, or after a while. look waits for frames for so many ns at
	// the most, and returns how many have come.
	Await(t unit.Time, target int64, look func(ns int64) (came int64, err error)) (turn unit.Time, err error)
}
