package guest

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

// marked is how many bytes of a packet its mark depends on: its headers of Ethernet, IPv6 and TCP.
const marked = 128

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
	t.all = append(t.all, entered{t.mark(b), now, t.guests.clock()})
}

// mark returns the mark of a packet. Its headers, with numbers and checksums, make it its own.
func (t *transit) mark(b wire.Body) uint64 {
	return maphash.Bytes(t.guests.seed, b.Bytes[:min(len(b.Bytes), marked)])
}

// arrive records by how much later than in the model (at; 0: not known) a packet of real hosts
// arrives, in wall time.
func (g *Guests) arrive(at, now int64) {
	if at != 0 {
		_ = g.errors.RecordValue(min(max(0, now-at), 100_000_000_000)) // the histogram has room for it
	}
}

// leave returns the wall time at which a packet must arrive that comes out at a model time: its
// entry plus its time in the model. It returns 0 for a packet without a record.
func (t *transit) leave(now unit.Time, b wire.Body) int64 {
	hash := t.mark(b)
	for i := t.head; i < len(t.all); i++ {
		if e := &t.all[i]; e.hash == hash {
			t.head = i + 1
			return e.wall + int64(now.Sub(e.model)/unit.Nanosecond)*t.guests.fabric.Scenario.Wall.Dilation
		}
	}
	return 0
}
