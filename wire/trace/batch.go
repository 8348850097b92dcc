package trace

// Batch takes the events of recorders that are used one at a time, and hands them on
// when there are enough of them: all to the first sink, then all to the next. So a sink
// is met again while what it needs is near, and what it waits for of memory, it waits for
// with one event for many. Each sink has all events, in their order, but only once Flush
// was called.
type Batch struct {
	sinks  []Bulk
	events []Event  // those that wait, and places for more
	n      int      // so many wait
	keys   []Since  // where the key changes
	_      [48]byte // that of another loop is in another line of the cache
}

// A Bulk is a Sink that takes many events with one call.
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

// NewBatch returns one that hands its events on whenever there are so many; with 1, each
// at once. Nil sinks are left out. Without any it returns nil, which is silence.
func NewBatch(size int, sinks ...Sink) *Batch {
	b := &Batch{events: make([]Event, max(size, 1))}
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

// place returns where the next event is written.
func (b *Batch) place() *Event { return &b.events[b.n] }

// placed says that it was.
func (b *Batch) placed() {
	if b.n++; b.n == len(b.events) {
		b.Flush()
	}
}

// Record takes e. It is a Sink itself, for events that were recorded elsewhere.
func (b *Batch) Record(e *Event) {
	*b.place() = *e
	b.placed()
}

// Flush hands on what waits. It belongs at the end of a run; a nil Batch has nothing.
func (b *Batch) Flush() {
	if b == nil {
		return
	}
	events := b.events[:b.n]
	b.n = 0
	for _, s := range b.sinks {
		s.RecordAll(events)
	}
	if n := len(b.keys); n > 0 {
		b.keys[0] = b.keys[n-1]
		b.keys[0].From = 0
		b.keys = b.keys[:1]
	}
}
