package drive

import (
	"math/bits"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// flight is a frame in flight.
type flight struct {
	due     unit.Time
	arrival port.Arrival
	next    int32 // on the path
}

// take makes it a frame that a node has sent.
func (f *flight) take(t *port.Transmission) {
	a := &f.arrival
	a.Frame = t.Frame // an assignment to all at once would copy it twice
	a.Head, a.Tail, a.Length, a.Preamble = t.Start, t.Start.Add(t.Duration), t.Length, t.Preamble
}

// flights is the frames in flight and places for more.
//
// The lowest place that is free is taken first. So a few frames keep to little memory,
// and where all ports of a large fabric repeat their flow control at one instant, their
// packets are written one behind the other: a processor fetches such memory ahead.
type flights struct {
	all  []flight
	free []uint64 // by place, a bit: set where there is no frame
	some []uint64 // by word of free, a bit: set where the word is not zero, and until that is noticed
	low  int      // a word of free; none before it has a bit
}

// newFlights returns places for this many frames; there may be more of them later.
func newFlights(n int) flights {
	words := n/64 + 1
	f := flights{all: make([]flight, 0, 64*words), free: make([]uint64, 0, words), some: make([]uint64, 0, words/64+1)}
	f.grow()
	return f
}

// grow makes 64 more places. It may move all others.
func (f *flights) grow() {
	if len(f.free)%64 == 0 {
		f.some = append(f.some, 0)
	}
	f.some[len(f.some)-1] |= 1 << (len(f.free) % 64)
	f.free = append(f.free, ^uint64(0))
	f.all = slices.Grow(f.all, 64)[:64*len(f.free)]
}

// place makes a place for a frame. It may move all others.
func (f *flights) place() int32 {
	free := f.free[f.low]
	if free == 0 {
		free = f.seek()
	}
	f.free[f.low] = free & (free - 1)
	return int32(f.low*64 + bits.TrailingZeros64(free))
}

// seek makes low the first word that has a free place, and returns that.
func (f *flights) seek() uint64 {
	for k := range f.some {
		for f.some[k] != 0 {
			f.low = k*64 + bits.TrailingZeros64(f.some[k])
			if free := f.free[f.low]; free != 0 {
				return free
			}
			f.some[k] &= f.some[k] - 1 // it has been taken since
		}
	}
	f.low = len(f.free)
	f.grow()
	return f.free[f.low]
}

// put gives a place back. Its content stays until the place is taken again.
func (f *flights) put(i int32) {
	w := uint(i) / 64
	free := &f.free[w]
	if *free == 0 {
		f.some[w/64] |= 1 << (w % 64)
	}
	*free |= 1 << (uint(i) % 64)
	f.low = min(f.low, int(w))
}
