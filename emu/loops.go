package emu

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// nodes makes the nodes of the run, which report to the recording, for so many loops to
// share; 0: as many as help. It returns how many share them, and the reason if fewer do than were
// asked for.
func (r *recording) nodes(loops int, s assemble.Schemes) (f *drive.Setup, n int, why string, err error) {
	var of []int
	if !r.options.Wall() {
		if why = r.alone(&s); why == "" {
			of, n, why = r.divide(loops)
		}
	}
	if of == nil {
		f, err = assemble.New(r.fabric, s, r.events)
		return f, 1, why, err
	}
	f, err = assemble.Divided(r.fabric, s, r.share(of, n))
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
	case len(r.options.Recordings) > 0 || r.options.Schemes.Listen != nil:
		return "one loop records the feedback of flows"
	case guests > 0 || r.options.Schemes.BodySource != nil:
		return "packets of hosts and programs belong to one loop"
	case r.fabric.Scenario.Collects():
		return "packets that collect telemetry belong to one loop"
	case r.fabric.Scenario.Executes():
		return "algorithms in other programs are asked by one loop"
	case s.Warning() != "" || r.fabric.Scenario.Schemes != nil:
		return "schemes of the calling program belong to one loop"
	case r.options.codec():
		return "frames that are encoded belong to one loop"
	}
	return ""
}

// divide divides the nodes among domains, for so many loops to share (0: as many as help), and
// returns how many do. Where that is of no use, it returns why.
func (r *recording) divide(loops int) (of []int, n int, why string) {
	f, ends := r.fabric, 2*float64(len(r.fabric.Wires))
	domains := min(cmp.Or(r.options.Domains, max(len(f.Wires)/wiresPerDomain, perLoop*(loops-1))), len(f.Nodes))
	if domains < 2 {
		return nil, 1, "the fabric is small"
	}
	of = f.Partition(domains)
	switch between := f.Between(of); {
	case r.options.Domains > 0:
	case loops < 2 && (len(f.Wires) < leastWires || between < leastPerEnd*ends):
		return nil, 1, ""
	case between < leastPerDomain*float64(domains):
		return nil, 1, fmt.Sprintf("the fabric does about %.2g frame-hops in the minimum time that a frame takes from one domain to another, so the loops would wait for each other; longer links avoid that", between)
	}
	return of, min(cmp.Or(loops, runtime.GOMAXPROCS(0)), domains), fmt.Sprintf("there are %d domains", domains)
}

// What was measured on a processor with a cache of 2 MB, in CPU time per frame-hop of fat trees,
// relative to one domain:
//
//	endpoints  hops at the end of a wire in a window  time
//	128                          3.2                  1.15
//	256                          2.8                  1.05
//	512                          3.1                  0.84
//	1024                         3.1                  0.57
//	1024                         0.6                  0.87 to 0.97
//	1024                         0.25                 1.12 to 1.34
//
// By the cost that TestFiguresDomains counts, 686 endpoints have 1.08 at 0.5 hops, 0.97 at 0.9 and
// 0.90 at 1.25.
const (
	wiresPerDomain = 256  // their ports are in the cache together
	leastWires     = 1500 // with fewer of them all ports are
	leastPerEnd    = 0.75 // hops in a window at each end of a wire: it is met again while it is in the cache
	perLoop        = 4    // so many domains of a loop that all have about the same work
	leastPerDomain = 5    // hops in a window of each of several loops' domains
)

// shared is the record of a run of several domains. The thread that runs a domain counts the events
// that are apart (metrics.collector.CountApart) itself, and condenses the events of its nodes.
// It notes the others, which are put into the order of the run when all domains meet. With a
// log, or a sink that needs that order, it notes all.
type shared struct {
	*recording
	parts   []*part
	merge   trace.Merge // of the notes of the parts
	ordered bool        // all events are put into their order
	most    int         // how many notes of a domain wait before they are put into order, about
	met     unit.Time   // when the domains met last
}

// part is the record of one domain.
type part struct {
	run   *shared
	batch *trace.Batch
	notes []note
	next  int      // of them, when they are merged
	_     [64]byte // apart from the notes of other domains
}

// note is an event with its place in the order.
type note struct {
	key trace.Key
	trace.Event
}

// leastNotes is how many notes of a domain wait at least before they are put into order, and
// mostNotes how many of all domains do: they are in the cache still.
const leastNotes, mostNotes = 256, 16384

// share has the record receive the events of nodes that are divided among domains, by node, and
// returns what a driver needs for so many threads.
func (r *recording) share(of []int, threads int) *drive.Domains {
	n := slices.Max(of) + 1 // the parts behind the last node would be empty
	s := &shared{recording: r, ordered: r.log != nil || r.trace != nil || r.options.Sink != nil, most: max(mostNotes/n, leastNotes)}
	all := &drive.Domains{Of: of, Threads: threads, Meet: s}
	for range n {
		p := &part{run: s, notes: make([]note, 0, 2*s.most)}
		p.batch = trace.NewBatch(trace.MaxBatch, p)
		if !s.ordered && s.digest == nil && s.collector.Counts() {
			p.batch.Count(s.collector, trace.Flows{})
		}
		s.parts = append(s.parts, p)
		all.Events = append(all.Events, p.batch)
	}
	return all
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
func (s *shared) Full(domain int) bool { return len(s.parts[domain].notes) >= s.most }

// Edge returns when the domains have to meet: where the counters are written down.
func (s *shared) Edge() unit.Time {
	if s.ordered {
		return s.met.Add(orderEvery)
	}
	return s.collector.Edge()
}

// orderEvery is how often the notes of domains are put into order at least, where all are.
const orderEvery = 100 * unit.Microsecond

// Meet puts the notes into the order of the run.
func (s *shared) Meet(next unit.Time) {
	s.met = next
	for k, p := range s.parts {
		p.batch.Flush()
		if p.next = 0; len(p.notes) > 0 {
			s.merge.Add(k, p.notes[0].key)
		}
	}
	for k, ok := s.merge.First(); ok; k, ok = s.merge.First() {
		p := s.parts[k]
		e := &p.notes[p.next].Event
		if s.ordered {
			s.events.Record(e)
		} else {
			s.collector.Record(e)
		}
		if p.next++; p.next < len(p.notes) {
			s.merge.Next(p.notes[p.next].key)
		} else {
			p.notes = p.notes[:0]
			s.merge.End()
		}
	}
	if !s.ordered {
		s.collector.Advance(next)
		for _, p := range s.parts {
			p.batch.Flush() // for the next bin
		}
	}
}
