package drive

import (
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The kinds of events, in the order in which they happen at one instant. They are the high part of a place.
const (
	placeOfPath   trace.Place = iota << 30 // a frame arrives: the slot of its path
	placeOfChange                          // a change from outside: its number
	placeOfNode                            // a node does its due work: its rank
	placeOfWatch                           // the look for deadlock: the number of the output that it has found
)

// PlaceOfLook returns the place of an output that a look for deadlock has found, by its number (deadlock.Outputs).
func PlaceOfLook(n int) trace.Place { return placeOfWatch + trace.Place(n) }

// key records that the event of a slot happens now.
func (o *order) key(now unit.Time, slot int) {
	if o.keyed {
		o.keyOf(now, slot)
	}
}

func (o *order) keyOf(now unit.Time, slot int) { o.keyAs(now, o.placeOf(slot)) }

// keyAs records that an event with a place happens now.
func (o *order) keyAs(now unit.Time, p trace.Place) {
	if o.fabric.Key != nil {
		*o.fabric.Key = trace.Key{At: now, Place: p}
	}
	if o.keys != nil {
		o.keys.Enter(trace.Key{At: now, Place: p})
	}
}

// placeOf returns the place of the event of a slot that is next there.
func (o *order) placeOf(slot int) trace.Place {
	switch n := len(o.paths); {
	case slot < n:
		return placeOfPath | trace.Place(o.paths[slot].place)
	case slot > n:
		return placeOfNode | trace.Place(o.holder(slot).place)
	case o.numbers != nil:
		return placeOfChange | trace.Place(o.numbers[o.change])
	}
	return placeOfChange | trace.Place(o.change)
}
