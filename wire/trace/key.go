package trace

import (
	"cmp"

	"fabemu/wire/unit"
)

// Key is the place of an event of a driver in the one order of a run. Several loops or processes each
// report in their own order what happens to their machines; keys put it into the order of the virtual
// clock. What is reported while an event happens has its key, and a merge sorts that stably by Compare.
// An event is of one machine, so no two loops have the same key, and what one has reported under one
// key keeps its order.
//
// What was reported before the first event has the zero Key.
type Key struct {
	At    unit.Time // the instant, as the machine is handed it
	Place Place
}

// Place is the place of an event of a driver among those of its instant (package emu/drive). It is the
// same in every run of one fabric, in any loop or process.
type Place uint32

// Compare returns -1, 0 or 1 where the event of k comes before, is, or comes after that of o.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.Place, o.Place))
}

// Since says that the events of a Batch from a place on were reported while an event of a driver
// happened.
type Since struct {
	Key
	From int
}

// Enter says that what is recorded from now on is reported in a driver's event.
func (b *Batch) Enter(k Key) {
	if n := len(b.keys); n > 0 && b.keys[n-1].From == int(b.n) {
		b.keys[n-1].Key = k
		return
	}
	b.keys = append(b.keys, Since{k, int(b.n)})
}

// Keys returns the drivers' events of the events that a sink is being handed, in their order;
// there are none where nobody has said them.
func (b *Batch) Keys() []Since { return b.keys }
