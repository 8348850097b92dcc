package metrics

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The room for trace.Reason in tables of drops, and in the tables of marks that each port has:
// powers of two, so that a mask keeps an unknown reason within them.
const (
	reasons        = 64
	reasonsOfMarks = 32
)

// maxViolations is how many violations are kept; all are counted.
const maxViolations = 100

// Collector counts the events of one run. Make one with New, feed it with
// Record, end it with Close; the figures are complete then.
type Collector struct {
	fabric   *fabric.Fabric
	scenario *scenario.Scenario
	checks   []Metric // of scenario.Expect, in its order

	lo, next  unit.Time // the bin that is being counted: lo <= At < next
	now       []int64   // the counters: ports, then flows
	ofFlows   int       // where the counters of the first flow begin, in now
	ofStreams int       // where the counters of TCP begin; 0: no flow has it
	ofWorks   int       // where the counters of workloads begin
	workloads []*fabric.Workload
	works     []workload // by workload
	ideal     *fabric.Ideal
	first     firsts  // of ports, by node
	wires     []int32 // by port: the wire that it sends into
	ports     []portState
	tallies   []trace.Counts // by port
	causes    []*causes      // by port; nil: there were none
	ahead     [][]place      // by flow: the switches with input buffers on its path, and where it leaves them; nil: they have no queues
	lost      bool           // the queues of such switches cannot be found
	messages  bool           // those of retry, or of credits of channels, are counted
	flows     []flowState
	lives     []life    // by flow
	switches  int32     // nodes from here on are endpoints
	recent    []markLog // by switch
	patience  unit.Duration
	silences  []Silence // that are over
	storms    []Storm
	drops     [reasons]int64
	losses    map[loss]int64 // the same by place
	retries   retries
	credits   credits

	edges     []unit.Time
	cur       int // edges[cur] is lo
	rows      rows
	perWindow int64
	longest   unit.Duration // a bin that ended so long ago has all of its frames
	asked     chan struct{} // requests for the course of the run; nil: there are none
	courses   chan *Course  // has room for one: there is no second request before it is taken

	objects    *objects
	capacities [][]capacity // of each wire, by time
	violations []trace.Event
	violated   int64
	closed     bool
}

// New returns the collector of one run of s on f. It fails when a check of s
// names a figure that f does not have, or when the run is too long for its
// window. The run has more figures than the table if they are given.
func New(f *fabric.Fabric, s *scenario.Scenario, more ...*Figure) (*Collector, error) {
	c := &Collector{fabric: f, scenario: s, losses: map[loss]int64{}, objects: objectsOf(f, more...), capacities: capacitiesOf(f, s)}
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
	ports := 0
	c.patience = c.longestSilence()
	for i := range f.Nodes {
		if f.Nodes[i].Switch != nil {
			c.switches = int32(i) + 1
		}
		c.first = append(c.first, uint32(ports))
		ports += len(f.Nodes[i].Ports)
		for _, p := range f.Nodes[i].Ports {
			c.wires = append(c.wires, int32(p.Wire))
		}
	}
	c.ofFlows = ports * portColumns
	columns := c.ofFlows + len(f.Flows)*flowColumns
	for i := range f.Flows {
		if c.ofStreams == 0 && c.resends(i) {
			c.ofStreams = columns
			columns += len(f.Flows) * tcpColumns
		}
	}
	columns = c.beginWorks(columns)
	c.now = make([]int64, columns)
	c.ports, c.tallies, c.causes = make([]portState, ports), make([]trace.Counts, ports), make([]*causes, ports)
	c.recent = make([]markLog, c.switches)
	c.beginCredits()
	c.messages = c.credits != nil || slices.ContainsFunc(f.Wires, func(w fabric.Wire) bool { return w.Link.Retry.On() })
	c.flows, c.lives = make([]flowState, len(f.Flows)), make([]life, len(f.Flows))
	for i := range c.ports {
		c.ports[i].block, c.ports[i].columns.known, c.tallies[i].Lanes = port.Idle, unstalled, firstLane
	}
	c.countPauses()
	c.findQueues()
	for i := range c.flows {
		c.flows[i].columns.begun = 1 << (flowStall + port.Idle)
		c.flows[i].block, c.flows[i].again = port.Idle, f.Flows[i].Timeout > 0 || f.Flows[i].Transport.Acks()
		c.lives[i] = life{active: make([]Interval, 0, 4), limited: unit.Never, targeted: unit.Never}
	}
	c.violations = make([]trace.Event, 0, maxViolations)
	var err error
	if c.edges, c.perWindow, err = edgesOf(s, max(columns, 1), ports*portWeight+columns-c.ofFlows); err != nil {
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

// countPauses has ports of Ethernet count their buffers in bytes, and their pauses. On InfiniBand
// the buffers of several data lanes count together.
func (c *Collector) countPauses() {
	for w := range c.fabric.Wires {
		l := c.fabric.Wires[w].Link
		classes, counted := 1, uint8(allAtOnce)
		switch l.FlowControl {
		case port.PriorityPauseFrames, port.ChannelCredits:
			classes, counted = port.Priorities, oneByOne
		case port.PauseFrames, port.NoFlowControl:
		default:
			if classes, counted = l.Lanes.Count(), oneByOne; classes == 1 {
				continue
			}
		}
		for _, end := range c.fabric.Wires[w].Ends {
			p := int(c.first[end.Node]) + int(end.Port)
			if c.tallies[p].Lanes = counted; counted == oneByOne {
				c.tallies[p].ByLane = make([]int64, classes)
			}
			c.ports[p].pausing = &pausingState{until: make([]unit.Time, classes), quantum: l.Rate.Serialise(wire.Quantum / 8)}
		}
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
	for i := range c.ports {
		p := &c.ports[i]
		c.settlePort(i, p, &c.tallies[i], (*[portColumns]int64)(c.now[i*portColumns:]), t)
		if fresh := p.columns.news(); fresh != 0 {
			c.rows.begin(i*portColumns, fresh)
		}
	}
	for i := range c.flows {
		f, x, at := &c.flows[i], &c.lives[i], c.ofFlows+i*flowColumns
		f.settle(x, c.now[at:], t)
		stream := c.ofStreams + i*tcpColumns
		if c.ofStreams > 0 {
			x.holdWindow(c.now[stream:], t)
		}
		if fresh := f.columns.news(); fresh != 0 {
			c.rows.begin(at, fresh&^ofTCP)
			c.rows.begin(stream-flowColumns, fresh&ofTCP)
		}
	}
}

// settlePort does it for a port, whose counters begin with now.
func (c *Collector) settlePort(i int, p *portState, y *trace.Counts, now *[portColumns]int64, t unit.Time) {
	y.SetQueue(t, y.Queue)
	now[outStall+int(p.block)] += int64(t - p.blocked)
	p.blocked = t
	begun := p.columns.begun
	if begun>>outPaused&1 == 1 {
		now[outPaused] += p.pausing.pausedUp(t)
		p.pausing.counted = max(p.pausing.counted, t)
	}
	if y.Frames != 0 {
		begun |= 1<<outBytes | 1<<outFrames
		now[outFrames] += int64(y.Frames)
		y.Frames = 0
	}
	if y.Acks != 0 {
		begun |= 1 << outAcks
		now[outAcks] += int64(y.Acks)
		y.Acks = 0
	}
	if y.Control != 0 {
		begun |= 1 << outControl
		now[outControl] += int64(y.Control)
		y.Control = 0
	}
	now[outBytes] = y.Bytes
	if y.Last != 0 {
		now[outBytes] -= unsent(y, c.rateAt(int(c.wires[i]), y.Began), t)
	}
	if now[inOccupancy] = y.Area + y.Occupancy*int64(t); now[inOccupancy] != 0 {
		begun |= 1 << inOccupancy
	}
	if now[outLongest] = y.Longest; y.Waited|y.Longest != 0 {
		begun |= 1<<outQueue | 1<<outLongest
	}
	now[outQueue] = y.Waited
	y.Longest = y.Queue
	p.columns.begun = begun
}

// settle does it for a flow, whose counters begin with now.
func (f *flowState) settle(x *life, now []int64, t unit.Time) {
	now[flowStall+int(f.block)] += int64(t - f.blocked)
	f.blocked = t
	x.hold(now, t)
	if f.frames != 0 {
		f.columns.begun |= 1<<flowBytes | 1<<flowFrames
		now[flowFrames] += int64(f.frames)
		now[flowBytes] = f.bytes
		f.frames = 0
	}
	x.acks += int64(f.acks)
	f.acks = 0
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
	for i := range c.lives {
		active := c.lives[i].active
		for k := range active {
			active[k].To = min(active[k].To, end)
		}
		c.lives[i].active = slices.DeleteFunc(active, func(a Interval) bool { return a.To <= a.From })
	}
}
