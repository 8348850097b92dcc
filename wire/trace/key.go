package trace

import (
	"cmp"

	"fabemu/wire/unit"
)

// Key is the place of an event of a driver in the one order of a run. Several loops or processes
// each report in their own order the events of their nodes; keys put them into the order of the
// virtual clock. Reports have the key of the event in which they are made, and a merge sorts them
// stably by Compare. An event is of one node, so no two loops have the same key, and the reports of
// one loop under one key keeps its order.
//
// Reports before the first event have the zero Key.
type Key struct {
	At    unit.Time // the instant, as the node is handed it
	Place Place
}

// Place is the place of an event of a driver among the events of its instant (package
// emu/run/drive). It is the same in every run of one fabric, in any loop or process.
type Place uint32

// Compare returns -1, 0 or 1 where the event of k comes before, is, or comes after the event of o.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.Place, o.Place))
}

// Since records that the events of a Batch from a place on were reported while an event of a driver
// happened.
type Since struct {
	Key
	From int
}

// Enter notes that all that is recorded from now on is reported in a driver's event.
func (b *Batch) Enter(k Key) {
	if n := len(b.keys); n > 0 && b.keys[n-1].From == int(b.n) {
		b.keys[n-1].Key = k
		return
	}
	b.keys = append(b.keys, Since{k, int(b.n)})
}

// Keys returns the drivers' events of the events that a sink is receiving, in their order, if there
// are any.
func (b *Batch) Keys() []Since { return b.keys }
