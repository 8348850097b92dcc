package metrics

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// reasons is the room for trace.Reason in tables of drops: a power of two, so that a mask keeps an
// unknown reason within it.
const reasons = 64

// maxViolations is how many violations are kept; all are counted.
const maxViolations = 100

// Collector counts the events of one run. Make one with New, feed it with
// Record, end it with Close; the figures are complete then. It is what its parts are: the counters
// of all of them lie in one slice, a part's columns behind those of the part before.
type Collector struct {
	fabric   *fabric.Fabric
	scenario *scenario.Scenario
	checks   []Metric // of scenario.Expect, in its order

	bins
	portCounts
	flowCounts
	streamCounts
	workCounts

	asked   chan struct{} // requests for the course of the run; nil: there are none
	courses chan *Course  // has room for one: there is no second request before it is taken

	behind []func(end unit.Time) // nodes that count late (Settle)

	objects    *objects
	capacities capacities
	violations []trace.Event
	failures   []Failure
	violated   int64
	closed     bool
}

// New returns the collector of one run of s on f. It fails when a check of s
// names a figure that f does not have, or when the run is too long for its
// window. The run has more figures than the table if they are given.
func New(f *fabric.Fabric, s *scenario.Scenario, more ...*Figure) (*Collector, error) {
	c := &Collector{fabric: f, scenario: s, objects: objectsOf(f, more...), capacities: capacitiesOf(f, s)}
	var wrong []error
	for i := range s.Expect {
		m, err := Metric{}, error(nil)
		if _, ofProgram := s.ProgramMetric(s.Expect[i].Metric); !ofProgram {
			m, err = c.objects.compile(s.Expect[i].Metric)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("check %s: %w", s.Expect[i].ID, err))
		}
		c.checks = append(c.checks, m)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	columns := c.beginPorts(f, s)
	columns = c.flowCounts.begin(f, columns, c.longestSilence())
	columns = c.streamCounts.begin(f, columns)
	columns = c.workCounts.begin(f, columns)
	c.now = make([]int64, columns)
	c.keep()
	c.violations = make([]trace.Event, 0, maxViolations)
	var err error
	if c.edges, c.perWindow, err = edgesOf(s, max(columns, 1), len(c.ports)*portWeight+columns-c.ofFlows); err != nil {
		return nil, err
	}
	c.rows = newRows(len(c.now))
	for k := range c.works {
		c.rows.begin(c.ofWorks+k*workColumns, 1<<workColumns-1)
	}
	c.rows.add(c.now)
	c.next = c.edges[1]
	return c, nil
}

// keep has ports and flows count the times of stalls among the counters.
func (c *Collector) keep() {
	for i := range c.tallies {
		c.tallies[i].Kept = (*trace.Held)(c.now[i*portColumns+firstStall:])
	}
	for i := range c.flows {
		c.flows[i].Kept = (*[trace.Causes]int64)(c.now[c.ofFlows+i*flowColumns+flowStall:])
	}
}

// Record counts e. It is a trace.Sink. Events should come in the order of time; a late one is
// counted correctly, but more slowly. An event at or after the end of the run falls into no bin.
func (c *Collector) Record(e *trace.Event) {
	if e.At >= c.next && !c.advance(e.At) {
		if e.Kind == trace.Violation { // no promise is kept only until the end
			c.add(e)
		}
		return
	}
	if e.At < c.lo {
		c.late(e)
		return
	}
	c.add(e)
}

// RecordAll counts events, which are in the order of time, faster than calls of Record. It
// implements trace.Bulk.
func (c *Collector) RecordAll(events []trace.Event) {
	for len(events) > 0 {
		n := c.within(events)
		c.count(events[:n])
		if events = events[n:]; len(events) > 0 {
			c.Record(&events[0])
			events = events[1:]
		}
	}
}

// within returns how many events, the first ones, fall into the bin that is being counted.
func (c *Collector) within(events []trace.Event) int {
	switch {
	case events[0].At < c.lo:
		return 0
	case events[len(events)-1].At < c.next:
		return len(events)
	}
	return sort.Search(len(events), func(i int) bool { return events[i].At >= c.next })
}

// add adds e to the counters, whenever it was.
func (c *Collector) add(e *trace.Event) { c.count([]trace.Event{*e}) }

// Limit sets the rate of the limiter of a flow at the beginning, before the first event.
func (c *Collector) Limit(qp uint32, r unit.Rate) {
	if i := int(qp - firstQP); i < len(c.flows) {
		c.allow(i, 0, int64(r), 0)
		*c.rows.cell(0, c.ofFlows+i*flowColumns+flowLimit) = int64(r)
	}
}

// firstQP is the queue pair of the first flow (fabric.Flow.QP).
const firstQP = 2

// advance closes the bins that end at or before t. It reports whether t is
// within the run; at its end next stays there, so that every event after it
// comes here too.
func (c *Collector) advance(t unit.Time) bool {
	for c.cur+1 < len(c.edges) && t >= c.edges[c.cur+1] {
		c.cur++
		c.settle(c.edges[c.cur])
		c.rows.add(c.now)
	}
	c.lo = c.edges[c.cur]
	c.answer()
	if c.cur+1 == len(c.edges) {
		c.next = c.lo
		return false
	}
	c.next = c.edges[c.cur+1]
	return true
}

// settle counts occupancies, queues, stalls and limits up to t, the end of a bin, and copies the
// counts of every frame into the counters.
func (c *Collector) settle(t unit.Time) {
	for _, node := range c.behind {
		node(t)
	}
	c.portCounts.settle(&c.bins, c.capacities, t)
	c.flowCounts.settle(&c.bins, &c.streamCounts, t)
	c.workCounts.settle(&c.bins)
}

// Close ends the run at end: states that last are counted up to it. A run that ends before its
// scenario does has figures up to its end only. Record must not be called afterwards.
func (c *Collector) Close(end unit.Time) {
	if c.closed {
		return
	}
	c.closed = true
	end = min(end, c.edges[len(c.edges)-1])
	if c.advance(end); end > c.lo {
		c.edges = append(c.edges[:c.cur+1], end)
		c.advance(end)
	}
	c.edges = c.edges[:c.cur+1]
	c.behind = nil // a result does not keep the nodes of its run
	for i := range c.lives {
		c.lives[i].active = upTo(end, c.lives[i].active)
	}
}

// upTo cuts intervals at an instant.
func upTo(end unit.Time, all []Interval) []Interval {
	for i := range all {
		all[i].To = min(all[i].To, end)
	}
	return slices.DeleteFunc(all, func(a Interval) bool { return a.To <= a.From })
}
