package trace

import "fabemu/wire/unit"

// Since says that the events of a Batch from a place on were reported while an event of a driver
// happened: at an instant, and with a place in the order of that instant (emu/drive, Key).
type Since struct {
	At    unit.Time
	Place uint32
	From  int
}

// Enter says that what is recorded from now on is reported in a driver's event.
func (b *Batch) Enter(at unit.Time, place uint32) {
	if n := len(b.keys); n > 0 && b.keys[n-1].From == int(b.n) {
		b.keys[n-1].At, b.keys[n-1].Place = at, place
		return
	}
	b.keys = append(b.keys, Since{at, place, int(b.n)})
}

// Keys returns the drivers' events of the events that a sink is being handed, in their order;
// there are none where nobody has said them.
func (b *Batch) Keys() []Since { return b.keys }
