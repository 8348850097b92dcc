package drive

import (
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// flight is a frame in flight. It has two cache lines, of which the frame is the first.
type flight struct {
	arrival port.Arrival
	after   unit.Time // when the next on the path is due: that is in another place of the memory
	next    int32     // on the path; of a place without a frame, among those
	_       [16]byte
}

// take makes it a frame that a node has sent.
func (f *flight) take(t *port.Transmission) {
	a := &f.arrival
	a.Frame = t.Frame // an assignment to all at once would copy it twice
	a.Head, a.Tail, a.Length, a.Preamble = t.Start, t.Start.Add(t.Duration), t.Length, t.Preamble
}

// flights is the frames in flight and places for more. The place that was given back last is taken
// first, because it is in the cache.
type flights struct {
	all  []flight
	free int32 // a place without a frame; none: there is none
}

// newFlights returns room for this many frames; there may be more of them later.
func newFlights(n int) flights { return flights{all: make([]flight, 0, n), free: none} }

// place makes a place for a frame. It may move all others.
func (f *flights) place() (i int32) {
	if i = f.free; i == none {
		f.all = append(f.all, flight{})
		return int32(len(f.all) - 1)
	}
	f.free = f.all[i].next
	return i
}

// put gives a place back. Its content stays until the place is taken again.
func (f *flights) put(i int32) { f.all[i].next, f.free = f.free, i }
