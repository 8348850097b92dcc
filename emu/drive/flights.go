package drive

import (
	"math/bits"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// flight is a frame under way.
type flight struct {
	due     unit.Time
	arrival port.Arrival
	arrived bool  // the datagram has been seen
	next    int32 // on the path
}

// flights is the frames under way and places for more.
//
// The lowest place that is free is taken first. So a few frames keep to little memory,
// and where all ports of a large fabric repeat their flow control at one instant, their
// packets are written one behind the other: a processor fetches such memory ahead.
type flights struct {
	all  []flight
	free []uint64 // by place, a bit: set where there is no frame; it goes on behind the end of all
	some []uint64 // by word of free, a bit: set where the word is not zero
	low  int      // no word of free before this one has a bit
}

// newFlights returns places for so many frames; there may be more of them later.
func newFlights(n int) flights {
	words := n/64 + 1
	return flights{all: make([]flight, 0, n), free: make([]uint64, 0, words), some: make([]uint64, 0, words/64+1)}
}

// place makes a place for a frame. It may move all others.
func (f *flights) place() int32 {
	if f.low < len(f.free) {
		if free := f.free[f.low]; free&(free-1) != 0 { // and others will be left
			i := f.low*64 + bits.TrailingZeros64(free)
			f.free[f.low] = free & (free - 1)
			if i == len(f.all) {
				f.all = append(f.all, flight{})
			}
			return int32(i)
		}
	}
	return f.find()
}

// find is take where the lowest word that was known to have a free place has none, or its
// last one.
func (f *flights) find() int32 {
	for k, words := range f.some {
		if words == 0 {
			continue
		}
		w := k*64 + bits.TrailingZeros64(words)
		i := w*64 + bits.TrailingZeros64(f.free[w])
		f.free[w] &= f.free[w] - 1 // without its lowest bit
		if f.free[w] == 0 {
			f.some[k] &= words - 1
		}
		if i == len(f.all) {
			f.all = append(f.all, flight{})
		}
		f.low = w
		return int32(i)
	}
	if len(f.free)%64 == 0 {
		f.some = append(f.some, 0)
	}
	f.some[len(f.some)-1] |= 1 << (len(f.free) % 64)
	f.free = append(f.free, ^uint64(0))
	return f.find()
}

// put gives a place back. What was in it stays there until it is taken again.
func (f *flights) put(i int32) {
	w := uint(i) / 64
	free := &f.free[w]
	if *free == 0 {
		f.some[w/64] |= 1 << (w % 64)
	}
	*free |= 1 << (uint(i) % 64)
	f.low = min(f.low, int(w))
}
