package drive

import (
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The kinds of events, in the order in which they happen at one instant. They are the high part of
// a place.
const (
	placeOfPath   trace.Place = iota << 30 // a frame arrives: the slot of its path
	placeOfChange                          // a change from outside: its number
	placeOfNode                            // a node does its due work: its rank
	placeOfWatch                           // the look for deadlock: the number of the output that it has found
)

// PlaceOfLook returns the place of an output that a look for deadlock has found, by its number
// (deadlock.Outputs).
func PlaceOfLook(n int) trace.Place { return placeOfWatch + trace.Place(n) }

// key records that an event happens now, of a kind, and with its number there.
func (o *order) key(now unit.Time, kind trace.Place, number int32) {
	if o.keyed {
		o.keyAs(trace.Key{At: now, Place: kind | trace.Place(number)})
	}
}

// keyAs records the key of the event that happens now.
func (o *order) keyAs(k trace.Key) {
	if o.fabric.Key != nil {
		*o.fabric.Key = k
	}
	if o.keys != nil {
		o.keys.Enter(k)
	}
}
