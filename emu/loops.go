package emu

import (
	"fmt"
	"runtime"
	"slices"

	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// nodes makes the nodes of the run, which report to the recording, for so many loops to
// share; 0: as many as help, at most one less than there are processors. It returns how many
// share them, and the reason if fewer do than were asked for.
func (r *recording) nodes(loops int, s assemble.Schemes) (f *drive.Setup, n int, why string, err error) {
	asked := loops
	if asked == 0 && !r.options.wall() {
		loops = runtime.GOMAXPROCS(0) - 1
	}
	var of []int
	if loops > 1 {
		if why = r.alone(&s); why == "" {
			of, why = r.partition(loops)
		}
	}
	if of == nil {
		f, err = assemble.New(r.fabric, s, r.events)
		return f, 1, why, err
	}
	shared := r.share(of)
	f, err = assemble.Shared(r.fabric, s, shared)
	if n = len(shared.Events); n < asked {
		why = fmt.Sprintf("there are at most %d nodes", n)
	}
	return f, n, why, err
}

// alone returns why one loop must run all nodes; empty: more can.
func (r *recording) alone(s *assemble.Schemes) string {
	guests, _ := r.fabric.Scenario.Guests()
	switch {
	case r.tap != nil:
		return "a capture is written by one loop"
	case r.hub != nil:
		return "a run that is shown, or changed, while active has one loop"
	case len(r.options.Told) > 0 || r.options.Schemes.Listen != nil:
		return "one loop records the feedback of flows"
	case guests > 0 || r.options.Schemes.BodySource != nil:
		return "packets of hosts and programs belong to one loop"
	case r.fabric.Scenario.Collects():
		return "packets that collect telemetry belong to one loop"
	case s.Warning() != "" || r.fabric.Scenario.Schemes != nil:
		return "schemes of the calling program belong to one loop"
	}
	return ""
}

// partition shares the nodes between loops, or returns why that is of no use.
func (r *recording) partition(loops int) (of []int, why string) {
	loops = min(loops, len(r.fabric.Nodes))
	if loops < 2 {
		return nil, "the fabric has one node"
	}
	of = r.fabric.Partition(loops)
	if between := r.fabric.Between(of); between < leastBetween*float64(loops) && !r.options.force {
		return nil, fmt.Sprintf("the fabric does about %.2g frame-hops in the minimum time that a frame takes from one loop to another, so they would wait for each other; longer links avoid that", between)
	}
	return of, ""
}

// leastBetween is how many frame-hops each of several loops must have to do, at least, before
// it waits for the others: to wait takes as long as one or two.
const leastBetween = 30

// shared is the record of a run whose nodes several loops share. Each loop counts the events
// that are apart (metrics.collector.CountApart) itself, and condenses the events of its nodes.
// It notes the others, which are put into the order of the run when all loops have met. With a
// log, or a sink that needs that order, it notes all.
type shared struct {
	*recording
	parts   []*part
	ordered bool      // all events are put into their order
	met     unit.Time // when the loops met last
}

// part is the record of one loop.
type part struct {
	run   *shared
	batch *trace.Batch
	notes []note
	next  int      // of them, when they are merged
	_     [64]byte // apart from the notes of other loops
}

// note is an event with its place in the order.
type note struct {
	key trace.Key
	trace.Event
}

// most is how many notes of a loop wait before they are put into order, about.
const most = 4096

// share has the record receive the events of nodes that several loops share, by node, and returns
// the part of it that a driver needs.
func (r *recording) share(of []int) *drive.Loops {
	s := &shared{recording: r, ordered: r.log != nil || r.trace != nil || r.options.Sink != nil}
	loops := &drive.Loops{Of: of, Meet: s}
	for range slices.Max(of) + 1 { // the parts behind the last node would be empty
		p := &part{run: s, notes: make([]note, 0, 2*most)}
		p.batch = trace.NewBatch(trace.MaxBatch, p)
		if !s.ordered && s.digest == nil && s.collector.Counts() {
			p.batch.Count(s.collector)
		}
		s.parts = append(s.parts, p)
		loops.Events = append(loops.Events, p.batch)
	}
	return loops
}

// Record is there for trace.Sink: events come by RecordAll.
func (p *part) Record(e *trace.Event) { p.RecordAll([]trace.Event{*e}) }

// RecordAll counts the events that are apart, and notes the rest.
func (p *part) RecordAll(events []trace.Event) {
	keys, k := p.batch.Keys(), 0
	for i := range events {
		e := &events[i]
		if !p.run.ordered {
			if p.run.digest != nil {
				p.run.digest.Record(e)
			}
			if p.run.collector.CountApart(e) {
				continue
			}
		}
		for k+1 < len(keys) && keys[k+1].From <= i {
			k++
		}
		p.notes = append(p.notes, note{keys[k].Key, *e})
	}
}

// Full reports whether so much waits that it should be put into order.
func (s *shared) Full(loop int) bool { return len(s.parts[loop].notes) >= most }

// Edge returns when the loops have to meet: where the counters are written down.
func (s *shared) Edge() unit.Time {
	if s.ordered {
		return s.met.Add(orderEvery)
	}
	return s.collector.Edge()
}

// orderEvery is how often the notes of loops are put into order at least, where all are.
const orderEvery = 100 * unit.Microsecond

// Meet puts the notes into the order of the run.
func (s *shared) Meet(next unit.Time) {
	s.met = next
	for _, p := range s.parts {
		p.batch.Flush()
		p.next = 0
	}
	for {
		var first *part
		for _, p := range s.parts {
			if p.next < len(p.notes) && (first == nil || p.notes[p.next].key.Compare(first.notes[first.next].key) < 0) {
				first = p
			}
		}
		if first == nil {
			break
		}
		e := &first.notes[first.next].Event
		first.next++
		if s.ordered {
			s.events.Record(e)
		} else {
			s.collector.Record(e)
		}
	}
	for _, p := range s.parts {
		p.notes = p.notes[:0]
	}
	if !s.ordered {
		s.collector.Advance(next)
		for _, p := range s.parts {
			p.batch.Flush() // for the next bin
		}
	}
}
