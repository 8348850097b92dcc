package lookahead

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// Report is the progress of a part, and the promises that it needs for its next event.
type Report struct {
	Over bool       // the part is at the end of the run
	Next unit.Time  // the instant of its next event; not in bytes
	Out  []Outgoing // by index in Boundary.Out
	In   []Incoming // by index in Boundary.In
}

// Outgoing is a path that leads away from a part.
type Outgoing struct {
	Claim unit.Time // the earliest due time of the next frame, if no frame arrives that has not been seen
	Floor unit.Time // the earliest due time in any case, because the link is busy
	Due   unit.Time // the first due time of the frames since the last report; unit.Never: there are none
	Sent  uint32    // frames sent so far
}

// Incoming is a path that comes from another part.
type Incoming struct {
	Need unit.Time // the part needs the promise that no frame is due earlier
	Seen uint32    // frames seen so far
}

// Promise is about a path that comes from another part.
type Promise struct {
	At   unit.Time // no frame that has not been seen is due earlier
	Lost uint32    // up to that number, frames that have not arrived are lost
}

// Both travel as bytes: a report is a byte for Over, and then the fields of each path in their
// order; a message of promises has one for each path that comes from elsewhere.

// PromiseSize is the size of a promise in bytes.
const PromiseSize = 8 + 4

// errReport reports bytes that are not a report of the part they come from.
var errReport = errors.New("not a report of this part")

// NewReport returns a report with room for the paths of a boundary.
func NewReport(b *Boundary) Report {
	return Report{Out: make([]Outgoing, len(b.Out)), In: make([]Incoming, len(b.In))}
}

// Append appends the bytes of s.
func (s *Report) Append(b []byte) []byte {
	over := byte(0)
	if s.Over {
		over = 1
	}
	return appendAll(appendAll(append(b, over), s.Out), s.In)
}

// appendAll appends values of a size that is fixed.
func appendAll(b []byte, values any) []byte {
	b, err := binary.Append(b, binary.BigEndian, values)
	if err != nil {
		panic(err) // a mistake of this package
	}
	return b
}

// read reads a report of Append for the same boundary.
func (s *Report) read(b []byte) error {
	out, in := binary.Size(s.Out), binary.Size(s.In)
	if len(b) != 1+out+in || b[0] > 1 {
		return fmt.Errorf("%d bytes: %w", len(b), errReport)
	}
	s.Over = b[0] == 1
	_, err := binary.Decode(b[1:], binary.BigEndian, s.Out)
	_, again := binary.Decode(b[1+out:], binary.BigEndian, s.In)
	return errors.Join(err, again)
}

// ReadPromises reads the promises in a message, for all paths that lead to a part.
func ReadPromises(all []Promise, b []byte) error {
	if len(b) != len(all)*PromiseSize {
		return fmt.Errorf("a promise of %d bytes, and not of %d: of another version?", len(b), len(all)*PromiseSize)
	}
	_, err := binary.Decode(b, binary.BigEndian, all)
	for _, p := range all {
		if p.At < 0 {
			return fmt.Errorf("a promise of %v", p.At)
		}
	}
	return err
}

// Delegate is the Participant of a part whose coordinator is behind a socket.
type Delegate struct {
	boundary *Boundary
	reported Report
	due      []unit.Time // by place in Boundary.Out: the first due time since the last report that has left
	promises []Promise   // by place in Boundary.In
	buf      []byte
	send     func(report []byte) error
	receive  func(b []byte) (int, error)
}

// NewDelegate returns the delegate of the nodes for which here returns true. send sends a report.
// receive reads a message of promises, and returns 0 if there is none.
func NewDelegate(f Fabric, here func(m int) bool, send func([]byte) error, receive func([]byte) (int, error)) (*Delegate, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	b := NewBoundary(f, here)
	d := &Delegate{boundary: b, reported: NewReport(b), promises: make([]Promise, len(b.In)), send: send, receive: receive}
	d.due = slices.Repeat([]unit.Time{unit.Never}, len(b.Out))
	return d, nil
}

// Boundary returns the boundary of the part.
func (d *Delegate) Boundary() *Boundary { return d.boundary }

// Own returns the report of the part, to be filled in before State.
func (d *Delegate) Own() *Report { return &d.reported }

// State takes in the report of the part, which is not sent yet.
func (d *Delegate) State() error {
	for k := range d.due {
		d.due[k] = min(d.due[k], d.reported.Out[k].Due)
	}
	return nil
}

// Publish sends the last report.
func (d *Delegate) Publish(bool) error {
	for k := range d.due {
		d.reported.Out[k].Due, d.due[k] = d.due[k], unit.Never
	}
	d.buf = d.reported.Append(d.buf[:0])
	return d.send(d.buf)
}

// Look reads the promises that have arrived, and returns whether there were any.
func (d *Delegate) Look() (some bool, err error) {
	size := len(d.promises)*PromiseSize + 1 // one more: a message that is longer is wrong
	d.buf = slices.Grow(d.buf[:0], size)
	for b := d.buf[:size]; ; some = true {
		n, err := d.receive(b)
		if n == 0 || err != nil {
			return some, err
		}
		if err := ReadPromises(d.promises, b[:n]); err != nil {
			return some, err
		}
	}
}

// May reports whether the promises are enough for the last report of the part.
func (d *Delegate) May() bool {
	for k := range d.promises {
		if d.reported.In[k].Need > d.promises[k].At {
			return false
		}
	}
	return true
}

// Earliest returns -1, because a delegate does not receive the reports of other parts.
func (d *Delegate) Earliest() unit.Time { return -1 }

// Promised returns the promise for the path at index k of Boundary.In.
func (d *Delegate) Promised(k int) unit.Time { return d.promises[k].At }

// Lost returns the number up to which frames that have not arrived are lost, on the path at index k
// of Boundary.In.
func (d *Delegate) Lost(k int) uint32 { return d.promises[k].Lost }

// Sent returns 0, because a delegate does not receive the reports of other parts.
func (d *Delegate) Sent(int) uint32 { return 0 }

// Participant is where a part reports its progress and reads the promises of the other parts: on
// the Board of a run on one machine, or as the Delegate of a coordinator behind a socket. k is an
// index of Boundary.In.
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
	// Earliest returns the earliest instant at which another part can have an event; a negative one
	// if it is not known.
	Earliest() unit.Time
	// Promised returns the earliest due time of a frame that the part had not seen by its last
	// State.
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
	// Sleep returns when this part has been woken since Clear, after ns nanoseconds, or at a
	// signal. It returns whether this part has been woken.
	Sleep(ns int64) (woken bool)
	// Wake wakes the parts that can continue. now is the model time of the wall clock, read after
	// Publish.
	Wake(now unit.Time)
	// Ring wakes a part.
	Ring(part int)
}
