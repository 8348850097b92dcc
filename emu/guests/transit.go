package guests

import (
	"hash/maphash"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// soonEnough is by how much of wall time, in ns, a packet may come sooner than the model says:
// less than a guest's kernel needs to hand it on.
const soonEnough = 20_000

// mostUnderWay is how many packets of a flow are remembered.
const mostUnderWay = 1 << 16

// transit remembers when the packets of a flow came into the fabric, by both clocks: the loop may
// lag behind then, and have caught up when they come out, which would make their way shorter in
// wall time than it is. Packets of a flow do not overtake one another, and some are lost.
type transit struct {
	guests *Guests
	all    []entered
	head   int // of all, the first that may come
}

// entered is a packet that has come in.
type entered struct {
	hash  uint64
	model unit.Time
	wall  int64 // in ns
}

// enter notes a packet at a model time.
func (t *transit) enter(now unit.Time, b wire.Body) {
	if len(t.all)-t.head == mostUnderWay {
		t.head++
	}
	if t.head > len(t.all)/2 {
		t.all, t.head = append(t.all[:0], t.all[t.head:]...), 0
	}
	t.all = append(t.all, entered{maphash.Bytes(t.guests.seed, b.Bytes), now, t.guests.clock()})
}

// leave returns when, on the wall clock, a packet is to come that has come out at a model time:
// as long after it came in as the model says. One that nobody has noted is to come at once.
func (t *transit) leave(now unit.Time, b wire.Body) int64 {
	hash := maphash.Bytes(t.guests.seed, b.Bytes)
	for i := t.head; i < len(t.all); i++ {
		if e := &t.all[i]; e.hash == hash {
			t.head = i + 1
			return e.wall + int64(now.Sub(e.model)/unit.Nanosecond)*t.guests.fabric.Scenario.Wall.Dilation
		}
	}
	return 0
}
