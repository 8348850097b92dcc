package metrics

import (
	"errors"
	"fmt"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// reasons is the room for trace.Reason in tables: a power of two, so that a
// mask keeps an unknown reason within it.
const reasons = 32

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
	ofStreams int       // where those of TCP begin; 0: no flow has it
	first     []int32   // index of each machine's first port in ports
	wires     []int32   // by port: the wire that it sends into
	tallies   []tally   // by port
	ports     []portState
	counted   []lanes   // by port
	ethernet  bool      // some of them are pausing
	causes    []causes  // by port
	ahead     [][]place // by flow: the switches with input buffers on its way, and where it leaves them; nil: they have no queues
	inputs    []bool    // by port: that of such a switch
	lost      bool      // what waits for outputs of such switches cannot be told
	flows     []flowState
	lives     []life // by flow
	switches  int32  // machines from here on are endpoints
	patience  unit.Duration
	silences  []Silence // that are over
	drops     [reasons]int64
	losses    map[loss]int64 // the same by place

	edges     []unit.Time
	cur       int // edges[cur] is lo
	rows      rows
	perWindow int64
	asked     *asked // nil: nobody asks how the run goes

	objects    *objects
	capacities [][]capacity // of each wire, by time
	violations []trace.Event
	violated   int64
	overruns   int64 // of them, those that only an overtaken frame can explain
	closed     bool
}

// New returns the collector of one run of s on f. It fails when a check of s
// names a figure that f does not have, or when the run is too long for its
// window.
func New(f *fabric.Fabric, s *scenario.Scenario) (*Collector, error) {
	c := &Collector{fabric: f, scenario: s, losses: map[loss]int64{}, objects: objectsOf(f), capacities: capacitiesOf(f, s)}
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
	c.patience = c.bear()
	for i := range f.Machines {
		if f.Machines[i].Switch != nil {
			c.switches = int32(i) + 1
		}
		c.first = append(c.first, int32(ports))
		ports += len(f.Machines[i].Ports)
		for _, p := range f.Machines[i].Ports {
			c.wires = append(c.wires, int32(p.Wire))
		}
	}
	c.ofFlows = ports * portColumns
	columns := c.ofFlows + len(f.Flows)*flowColumns
	for i := range f.Flows {
		if c.ofStreams == 0 && c.resends(uint32(i)) {
			c.ofStreams = columns
			columns += len(f.Flows) * tcpColumns
		}
	}
	c.now = make([]int64, columns)
	c.tallies, c.ports, c.causes = make([]tally, ports), make([]portState, ports), make([]causes, ports)
	c.counted = make([]lanes, ports)
	c.flows, c.lives = make([]flowState, len(f.Flows)), make([]life, len(f.Flows))
	for i := range c.ports {
		c.ports[i].block, c.ports[i].columns.known = port.Idle, unstalled
	}
	c.countPauses()
	c.look()
	for i := range c.flows {
		c.flows[i].columns.begun = 1 << (flowStall + port.Idle)
		c.flows[i].block, c.flows[i].again = port.Idle, f.Flows[i].Timeout > 0 || f.Flows[i].Transport.Acks()
		c.lives[i] = life{active: make([]Interval, 0, 4), limited: unit.Never, targeted: unit.Never}
	}
	c.violations = make([]trace.Event, 0, maxViolations)
	var err error
	if c.edges, c.perWindow, err = edgesOf(s, max(len(c.now), 1)); err != nil {
		return nil, err
	}
	c.rows = newRows(len(c.now))
	c.rows.add(c.now)
	c.next = c.edges[1]
	return c, nil
}

// countPauses has ports of Ethernet count their buffers in bytes, and by what they are paused.
func (c *Collector) countPauses() {
	for w := range c.fabric.Wires {
		l := c.fabric.Wires[w].Link
		classes, counted := 1, allAtOnce
		switch l.FlowControl {
		case port.PriorityPauseFrames:
			classes, counted = port.Priorities, oneByOne
		case port.PauseFrames, port.NoFlowControl:
		default:
			continue
		}
		c.ethernet = true
		for _, end := range c.fabric.Wires[w].Ends {
			number := int(c.first[end.Machine]) + int(end.Port)
			c.counted[number] = counted
			c.ports[number].pausing = &pausingState{
				lanes: make([]int64, classes), until: make([]unit.Time, classes),
				quantum: l.Rate.Serialise(wire.Quantum / 8),
			}
		}
	}
}

// Record counts e. It is a trace.Sink. Events should come in the order of time;
// one that comes late is counted where it belongs all the same, only slower.
// An event at or after the end of the run falls into no bin.
func (c *Collector) Record(e *trace.Event) {
	if e.At >= c.next && !c.advance(e.At) {
		if e.Kind == trace.Violation { // no promise is kept only until the end
			c.rare(e)
		}
		return
	}
	if e.At < c.lo {
		c.late(e)
		return
	}
	c.add(e)
}

// RecordAll is Record of many events. It is a trace.Bulk.
func (c *Collector) RecordAll(events []trace.Event) {
	for len(events) > 0 {
		n := c.count(events, c.lo, c.next.Sub(c.lo))
		if n == len(events) {
			return
		}
		c.Record(&events[n])
		events = events[n+1:]
	}
}

// add adds e to the counters, whenever it was.
func (c *Collector) add(e *trace.Event) { c.count([]trace.Event{*e}, e.At, 1) }

// Limit says what the limiter of a flow lets through in the beginning, before the first
// event.
func (c *Collector) Limit(qp uint32, r unit.Rate) {
	e := trace.Event{Flow: qp}
	if at, ok := c.flow(&e); ok {
		c.allow(at, &e, int64(r), 0)
		*c.rows.cell(0, at+flowLimit) = int64(r)
	}
}

// count adds events to the counters, as far as they lie side by side within a span of time, and
// returns how many these are. A call for each would cost a tenth more.
func (c *Collector) count(events []trace.Event, from unit.Time, span unit.Duration) int {
	for i := range events {
		e := &events[i]
		if uint64(e.At.Sub(from)) >= uint64(span) {
			return i
		}
		switch e.Kind {
		case trace.Start:
			y := &c.tallies[c.number(e)]
			kind, _, _ := trace.FrameOf(e.A)
			switch {
			case kind == wire.Data || kind == wire.TCP && trace.IsData(e.A):
				y.bytes += int64(e.Bytes)
				y.began, y.last = e.At, e.Bytes
				y.frames++
				if i := e.Flow - firstQP; e.Machine >= c.switches && i < uint32(len(c.flows)) {
					f := &c.flows[i]
					if f.sent++; f.again {
						f.sent = e.PSN + 1
					}
				}
				if c.ahead != nil {
					c.leave(e)
				}
			case kind == wire.Ack || kind == wire.TCP:
				y.acks++
			case kind == wire.FlowControl:
				y.control++
			}
		case trace.Arrive, trace.Release:
			if e.Kind == trace.Arrive {
				if kind, _, _ := trace.FrameOf(e.A); !kind.Traffic() {
					c.pause(e, kind)
					continue
				} else if c.ahead != nil {
					c.join(e)
				}
			}
			n, holds := c.number(e), e.B
			switch c.counted[n] {
			case firstLane:
				if e.Lane != 0 {
					continue
				}
			case oneByOne:
				holds = c.ofLanes(n, e)
			}
			y := &c.tallies[n]
			y.area += y.occupancy * int64(e.At-y.since)
			y.occupancy, y.since, y.most = holds, e.At, max(y.most, holds)
		case trace.Deliver:
			if at, ok := c.flow(e); ok {
				f := &c.flows[e.Flow-firstQP]
				if e.Bytes != f.size {
					c.resize(f, e)
				}
				if e.At.Add(-f.span) < c.lo {
					c.spread(at, f, e)
				}
				if e.At.Sub(f.heard) >= c.patience {
					c.hear(e.Flow-firstQP, e.At)
				}
				f.heard = max(f.heard, e.At)
				if f.gone++; f.again {
					f.gone = e.PSN + 1
				}
				c.now[at+flowBytes] += int64(e.Bytes)
				c.now[at+flowFrames]++
				fecn := e.A >> 8 & 1 // trace.FrameWord
				c.now[at+flowMarked] += fecn
				f.columns.begun |= 1<<flowBytes | 1<<flowFrames | uint32(fecn)<<flowMarked
				if c.ofStreams > 0 {
					f.columns.begun |= 1 << (flowColumns + tcpInOrder)
					c.now[c.ofStreams+int(e.Flow-firstQP)*tcpColumns+tcpInOrder] += e.B
				}
			}
		case trace.Feedback:
			if at, ok := c.flow(e); ok {
				c.allow(at, e, e.B, c.now[at+flowTarget])
				f := &c.flows[e.Flow-firstQP]
				if kind, _, _ := trace.FrameOf(e.A); kind != wire.Ack {
					c.now[at+flowNotified]++
					c.now[at+flowFb] += trace.FbOf(e.A)
					f.columns.begun |= 1<<flowNotified | 1<<flowFb
					if kind == wire.Probe {
						c.now[at+flowAnswers]++
						f.columns.begun |= 1 << flowAnswers
					}
					break
				}
				f.acks++
				becn := e.A >> 9 & 1
				c.now[at+flowMarkedAcks] += becn
				f.columns.begun |= uint32(becn) << flowMarkedAcks
			}
		case trace.Queue:
			c.lengthen(e)
		case trace.Limit:
			if at, ok := c.flow(e); ok {
				c.allow(at, e, e.A, e.B)
			}
		case trace.Stall: // e.A keeps a flow, or the frames that wait for a line, from now on
			block := port.Block(e.A)
			switch {
			case uint64(e.A) >= port.Blocks:
			case e.Flow != 0:
				if at, ok := c.flow(e); ok {
					f := &c.flows[e.Flow-firstQP]
					c.now[at+flowStall+int(f.block)] += int64(e.At - f.blocked)
					f.begins(e.At)
					f.block, f.blocked = block, e.At
					f.columns.begun |= 1 << ((flowStall + block) & 31)
				}
			case e.Lane == 0:
				n := c.number(e)
				p := &c.ports[n]
				c.now[int(n)*portColumns+outStall+int(p.block)] += int64(e.At - p.blocked)
				p.block, p.blocked = block, e.At
				p.columns.begun |= 1 << ((outStall + block) & 31)
			}
		case trace.Mark:
			c.begin(e, 1<<outMarked)
			c.now[c.port(e)+outMarked]++
			c.causes[c.number(e)].marks[e.A&(reasons-1)]++
		case trace.Trigger:
			c.causes[c.number(e)].triggers[e.A&(reasons-1)]++
		default:
			c.rare(e)
		}
	}
	return len(events)
}

// firstQP is the queue pair of the first flow (fabric.Flow.QP).
const firstQP = 2

// number returns the place of e's port among all ports.
func (c *Collector) number(e *trace.Event) int32 { return c.first[e.Machine] + int32(e.Port) }

// port returns where the counters of e's port begin.
func (c *Collector) port(e *trace.Event) int { return int(c.number(e)) * portColumns }

// flow returns where the counters of e's flow begin; not ok when e names none.
func (c *Collector) flow(e *trace.Event) (at int, ok bool) {
	i := e.Flow - firstQP // 0 and 1 wrap around to what no flow has
	return c.ofFlows + int(i)*flowColumns, i < uint32(len(c.flows))
}

// rare counts what does not happen with every frame.
func (c *Collector) rare(e *trace.Event) {
	switch e.Kind {
	case trace.FlowStart:
		if _, ok := c.flow(e); ok {
			f := &c.lives[e.Flow-firstQP]
			f.active = append(f.active, Interval{e.At, unit.Never})
			c.flows[e.Flow-firstQP].begins(e.At)
		}
	case trace.FlowStop:
		if _, ok := c.flow(e); ok {
			f := &c.lives[e.Flow-firstQP]
			if n := len(f.active); n > 0 && f.active[n-1].To == unit.Never {
				f.active[n-1].To = e.At
			}
		}
	case trace.TransferStart:
		if _, ok := c.flow(e); ok {
			f := &c.lives[e.Flow-firstQP]
			f.begun = append(f.begun, Transfer{PSN: e.PSN, Arrived: unit.Time(e.A), Bytes: e.B})
		}
	case trace.TransferEnd:
		if _, ok := c.flow(e); ok {
			c.lives[e.Flow-firstQP].end(e)
		}
	case trace.Message:
		if at, ok := c.flow(e); ok && int(e.Machine) == c.fabric.Flows[e.Flow-firstQP].Src {
			c.now[at+flowProbes]++
			c.flows[e.Flow-firstQP].columns.begun |= 1 << flowProbes
		}
	case trace.Drop:
		c.drops[e.A&(reasons-1)]++
		c.losses[loss{e.Machine, e.Port, trace.Reason(e.A)}]++
		c.begin(e, 1<<inDrops)
		c.now[c.port(e)+inDrops]++
		if at, ok := c.flow(e); ok && e.B == 0 {
			c.now[at+flowDrops]++
			c.flows[e.Flow-firstQP].columns.begun |= 1 << flowDrops
			// On another lane it was an ACK, or a notification.
			if f := &c.flows[e.Flow-firstQP]; !f.again && e.Lane == c.fabric.Flows[e.Flow-firstQP].Priority && trace.Reason(e.A) != trace.EgressFull {
				f.gone++
			}
			if !c.isStream(e.Flow - firstQP) {
				c.lives[e.Flow-firstQP].lose(e.PSN)
			}
		}
	case trace.Window, trace.RoundTrip, trace.Retransmit, trace.Timeout, trace.Refuse:
		c.tcp(e)
	case trace.Deadlock:
		c.begin(e, 1<<outDeadlocks)
		c.now[c.port(e)+outDeadlocks]++
	case trace.Control:
		if port.EventKind(e.A) != port.RateChange {
			return
		}
		for i := range c.flows {
			c.flows[i].size = 0 // its span is not what it was
		}
		if p := c.pausing(c.number(e)); p != nil {
			p.quantum = unit.Rate(e.B).Serialise(wire.Quantum / 8)
		}
	case trace.Violation:
		c.violated++
		if trace.Reason(e.A) == trace.Overrun && c.Keeps(int(e.Machine)) {
			c.overruns++
		}
		if len(c.violations) < maxViolations {
			c.violations = append(c.violations, *e)
		}
	}
}

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

// settle counts occupancies, queues, stalls and limits up to t, the end of a bin, and writes all
// of it down.
func (c *Collector) settle(t unit.Time) {
	counters := c.now
	for i := range c.ports {
		p, y, now := &c.ports[i], &c.tallies[i], (*[portColumns]int64)(counters)
		counters = counters[portColumns:]
		y.area += y.occupancy * int64(t-y.since)
		y.since = t
		p.waited += p.queue * int64(t-p.changed) >> queueShift
		p.changed = t
		now[outStall+p.block%port.Blocks] += int64(t - p.blocked)
		p.blocked = t
		if p.columns.begun>>outPaused&1 == 1 {
			now[outPaused] += p.pausing.pausedUp(t)
			p.pausing.told = t
		}
		write(y, p, now)
		if y.last != 0 {
			now[outBytes] -= c.unsent(i, t)
		}
		p.longest = p.queue
		if fresh := p.columns.news(); fresh != 0 {
			c.rows.begin(i*portColumns, fresh)
		}
	}
	for i := range c.flows {
		f, at := &c.flows[i], c.ofFlows+i*flowColumns
		c.now[at+flowStall+int(f.block)] += int64(t - f.blocked)
		f.blocked = t
		c.hold(at, f, t)
		if c.ofStreams > 0 {
			c.holdWindow(c.ofStreams+i*tcpColumns, i, t)
		}
		if fresh := f.columns.news(); fresh != 0 {
			c.rows.begin(at, fresh&^ofTCP)
			c.rows.begin(c.ofStreams+i*tcpColumns-flowColumns, fresh&ofTCP)
		}
	}
}

// begin notes that counters of e's port begin to count.
func (c *Collector) begin(e *trace.Event, begun uint32) {
	c.ports[c.number(e)].columns.begun |= begun
}

// write writes down with the counters of a port what is counted beside them, and notes which of
// these have begun.
func write(y *tally, p *portState, now *[portColumns]int64) {
	begun := uint32(0)
	if y.frames != 0 {
		begun |= 1<<outBytes | 1<<outFrames
		now[outFrames] += int64(y.frames)
		y.frames = 0
	}
	if y.acks != 0 {
		begun |= 1 << outAcks
		now[outAcks] += int64(y.acks)
		y.acks = 0
	}
	if y.control != 0 {
		begun |= 1 << outControl
		now[outControl] += int64(y.control)
		y.control = 0
	}
	if now[outBytes] = y.bytes; y.area != 0 {
		begun |= 1 << inOccupancy
		now[inOccupancy] = y.area
	}
	if now[outLongest] = p.longest; p.waited|p.longest != 0 {
		begun |= 1<<outQueue | 1<<outLongest
	}
	now[outQueue] = p.waited
	p.columns.begun |= begun
}

// writeAll writes down what is counted of all ports.
func (c *Collector) writeAll() {
	for i := range c.ports {
		write(&c.tallies[i], &c.ports[i], (*[portColumns]int64)(c.now[i*portColumns:]))
	}
}

// held is a state that an event changes and whose time is counted: in which columns the
// old one and the new one are, how much they count, and by how much that is shifted.
type held struct {
	oldColumn, newColumn int
	oldWeight, newWeight int64
	shift                int
}

// late counts an event whose bin is closed: it adds to the rows since then what
// the event adds to the counters. Where time is counted (occupancy, queues, stalls,
// limits), the old state was counted up to each edge and the new one not at all.
func (c *Collector) late(e *trace.Event) {
	k, _ := slices.BinarySearch(c.edges[:c.cur+1], e.At+1) // the first edge after e
	c.writeAll()
	before := slices.Clone(c.now)
	var states []held
	longest, length := -1, int64(0)
	if p, bytes, ok := c.queueing(e); ok {
		column := int(p)*portColumns + outQueue
		length = c.ports[p].queue + bytes
		states = append(states, held{column, column, c.ports[p].queue, length, queueShift})
		longest = int(p)*portColumns + outLongest
	}
	switch data, _, _ := trace.FrameOf(e.A); {
	case e.Kind == trace.Release, e.Kind == trace.Arrive && data.Traffic():
		if holds, ok := c.holds(e); ok {
			column := c.port(e) + inOccupancy
			states = append(states, held{column, column, c.tallies[c.number(e)].occupancy, holds, 0})
		}
	case e.Kind == trace.Queue:
		column := c.port(e) + outQueue
		states = append(states, held{column, column, c.ports[c.number(e)].queue, e.A, queueShift})
		longest, length = c.port(e)+outLongest, e.A
	case e.Kind == trace.Feedback, e.Kind == trace.Limit:
		if at, ok := c.flow(e); ok {
			limit, target := e.B, before[at+flowTarget]
			if e.Kind == trace.Limit {
				limit, target = e.A, e.B
			}
			states = append(states, held{at + flowAllowed, at + flowAllowed, before[at+flowLimit], limit, rateShift},
				held{at + flowWanted, at + flowWanted, before[at+flowTarget], target, rateShift})
		}
	case e.Kind == trace.Window:
		if at, ok := c.stream(e); ok {
			states = append(states, held{at + tcpWindowHeld, at + tcpWindowHeld, before[at+tcpWindow], e.A, rateShift},
				held{at + tcpThresholdHeld, at + tcpThresholdHeld, before[at+tcpThreshold], max(e.B, 0), rateShift})
		}
	case e.Kind == trace.Stall && uint64(e.A) < port.Blocks:
		at, ok := c.flow(e)
		if e.Flow != 0 && ok {
			at += flowStall
			states = append(states, held{at + int(c.flows[e.Flow-firstQP].block), at + int(e.A), 1, 1, 0})
		} else if e.Flow == 0 && e.Lane == 0 {
			at = c.port(e) + outStall
			states = append(states, held{at + int(c.ports[c.number(e)].block), at + int(e.A), stalls(c.ports[c.number(e)].block), stalls(port.Block(e.A)), 0})
		}
	}
	c.add(e)
	c.writeAll()
	added := slices.Clone(c.now)
	for i, v := range before {
		added[i] -= v
	}
	for _, x := range states {
		added[x.oldColumn] = 0
	}
	if longest >= 0 {
		added[longest], c.ports[longest/portColumns].longest = 0, length
	}
	for ; k <= c.cur; k++ {
		for i, v := range added {
			c.rows.change(k, i, v)
		}
		for _, x := range states {
			span := c.edges[k].Sub(e.At)
			c.rows.change(k, x.oldColumn, -product(x.oldWeight, span, x.shift))
			c.rows.change(k, x.newColumn, product(x.newWeight, span, x.shift))
		}
		if e.Kind == trace.Start {
			c.rows.change(k, c.port(e)+outBytes, -c.unsent(int(c.number(e)), c.edges[k]))
		}
		switch { // a machine tells in order what it does: nothing is known of the port after e
		case longest < 0:
		case c.edges[k-1] > e.At:
			*c.rows.cell(k, longest) = length
		default:
			cell := c.rows.cell(k, longest)
			*cell = max(*cell, length)
		}
	}
}

// Close ends the run at end: what is still going on is counted up to it. A run
// that ends before its scenario does has figures up to its end only. Record must
// not be called afterwards.
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
