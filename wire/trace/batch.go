package trace

import "fabemu/wire/unit"

// Batch takes the events of recorders that are used one at a time, and hands them on when there are
// enough of them: all to the first sink, then all to the next. So the memory of a sink is still in
// the cache, and a wait for memory is shared by many events. Each sink has all events, in their
// order, but only once Flush was called.
type Batch struct {
	sinks []Bulk
	keys  []Since // where the key changes
	n     uint8   // so many events wait
	last  uint8   // with one more than so many they are handed on

	counter Counter   // nil: events are all there is
	from    unit.Time // recorders count what happens from here on for
	span    uint64    // so long
	flows   Flows     // those that recorders count for, too

	events [MaxBatch]Event // those that wait, and places for more: there are as many as n can count
}

// MaxBatch is the most events that a Batch has wait.
const MaxBatch = 1 << 8

// A Bulk is a Sink that takes many events with one call. They are in the order of time.
type Bulk interface {
	Sink
	RecordAll([]Event)
}

// each has a sink take events one by one.
type each struct{ Sink }

func (s each) RecordAll(events []Event) {
	for i := range events {
		s.Record(&events[i])
	}
}

// NewBatch returns one that hands its events on whenever there are this many, up to MaxBatch;
// with 1, each at once, which recorders need that do not report in the order of time. Nil sinks are
// left out. Without any it returns nil, which is silence.
func NewBatch(size int, sinks ...Sink) *Batch {
	b := &Batch{last: uint8(min(max(size, 1), MaxBatch) - 1)}
	for _, s := range sinks {
		if s == nil {
			continue
		}
		bulk, ok := s.(Bulk)
		if !ok {
			bulk = each{s}
		}
		b.sinks = append(b.sinks, bulk)
	}
	if len(b.sinks) == 0 {
		return nil
	}
	return b
}

// place returns where the next event is written, and its number among those that wait.
func (b *Batch) place() (e *Event, n uint8) { return &b.events[b.n], b.n }

// placed notes that event n was written.
func (b *Batch) placed(n uint8) {
	b.n = n + 1
	if n == b.last {
		b.handOn(int(n) + 1)
	}
}

// Record takes e. It is a Sink itself, for events that were recorded elsewhere.
func (b *Batch) Record(e *Event) {
	place, n := b.place()
	*place = *e
	b.placed(n)
}

// Flush passes on the events that wait. Call it at the end of a run; it does nothing for a nil
// Batch.
func (b *Batch) Flush() {
	if b != nil {
		b.handOn(int(b.n))
	}
}

// handOn hands on the first n events: those that wait, and one that was placed.
func (b *Batch) handOn(n int) {
	b.n = 0
	for _, s := range b.sinks {
		s.RecordAll(b.events[:n])
	}
	if n := len(b.keys); n > 0 {
		b.keys[0] = b.keys[n-1]
		b.keys[0].From = 0
		b.keys = b.keys[:1]
	}
	if b.counter != nil {
		b.begin()
	}
}

// begin reads which bin is being counted.
func (b *Batch) begin() {
	from, to := b.counter.Bin()
	b.from, b.span = from, uint64(to-from)
}

// Reach passes on the events that wait and, where recorders count, ends the bins that end at or
// before an instant, before which everything has happened. It does nothing for a nil Batch.
func (b *Batch) Reach(now unit.Time) {
	if b.Flush(); b != nil && b.counter != nil {
		b.reach(now)
	}
}

// reach ends the bins before an instant.
func (b *Batch) reach(now unit.Time) {
	b.handOn(int(b.n))
	b.counter.Advance(now)
	b.begin()
}
