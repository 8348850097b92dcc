package guests

import (
	"hash/maphash"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// soonEnough is how much wall time, in ns, a packet may arrive before its time in the model: less
// than a guest's kernel needs to pass it on.
const soonEnough = 20_000

// mostUnderWay is how many packets of a flow are remembered.
const mostUnderWay = 1 << 16

// transit records when the packets of a flow entered the fabric, by both clocks. The loop may lag
// behind then, and have caught up when they come out, which would make their way too short in
// wall time. Packets of a flow do not overtake one another, and some are lost.
type transit struct {
	guests *Guests
	all    []entered
	head   int // index of the first packet that may still come out
}

// entered is a packet that has entered the fabric.
type entered struct {
	hash  uint64
	model unit.Time
	wall  int64 // in ns
}

// enter records a packet at a model time.
func (t *transit) enter(now unit.Time, b wire.Body) {
	if len(t.all)-t.head == mostUnderWay {
		t.head++
	}
	if t.head > len(t.all)/2 {
		t.all, t.head = append(t.all[:0], t.all[t.head:]...), 0
	}
	t.all = append(t.all, entered{maphash.Bytes(t.guests.seed, b.Bytes), now, t.guests.clock()})
}

// leave returns the wall time at which a packet must arrive that comes out at a model time: its
// entry plus its time in the model. It returns 0 for a packet without a record.
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
