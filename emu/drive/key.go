package drive

import (
	"cmp"

	"fabemu/wire/unit"
)

// Key is the place of an event in the one order of a run. Several loops or processes each tell
// in their own order what happens to their machines; keys put it into the order of the virtual
// clock. Fabric.Key points to a Key, whose value is written down with all that is told while an
// event happens (records, frames of a Tap); a merge sorts that stably by Compare. An event is of one
// machine, so no two loops have the same key, and what one has told under one key keeps its order.
//
// What was told before the first event has the zero Key.
type Key struct {
	At    unit.Time // the instant, as the machine is told it
	Place Place
}

// Place is the place of an event among those of its instant: the frames that arrive, by path;
// changes from outside; then the machines that have something to do, and the look for deadlock
// at last. It is the same in every run of one fabric, in any loop or process.
type Place uint32

// The kinds of events, in their order.
const (
	placeOfPath    Place = iota << 30 // a frame arrives: the slot of its path
	placeOfChange                     // a change from outside: its number
	placeOfMachine                    // a machine does what is due: its rank
	placeOfWatch                      // the look for deadlock: the number of the output that it has found
)

// PlaceOfLook returns the place of what a look for deadlock has found, by its number (deadlock.Outputs).
func PlaceOfLook(n int) Place { return placeOfWatch + Place(n) }

// Compare returns -1, 0 or 1 where the event of k comes before, is, or comes after that of o.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.Place, o.Place))
}

// key notes that the event of a slot happens now.
func (o *order) key(now unit.Time, slot int) {
	if o.keyed {
		o.keyOf(now, slot)
	}
}

func (o *order) keyOf(now unit.Time, slot int) { o.keyAs(now, max(o.placeOf(slot), o.least)) }

// keyAs notes that an event with a place happens now.
func (o *order) keyAs(now unit.Time, p Place) {
	if o.fabric.Key != nil {
		*o.fabric.Key = Key{now, p}
	}
	if o.keys != nil {
		o.keys.Enter(now, uint32(p))
	}
}

// placeOf returns the place of the event of a slot that is next there.
func (o *order) placeOf(slot int) Place {
	switch n := len(o.paths); {
	case slot < n:
		return placeOfPath | Place(slot)
	case slot > n:
		return placeOfMachine | Place(o.seats[o.owner(slot)].rank)
	case o.numbers != nil:
		return placeOfChange | Place(o.numbers[o.change])
	}
	return placeOfChange | Place(o.change)
}
