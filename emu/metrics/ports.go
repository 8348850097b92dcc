package metrics

import (
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The counters of a port: out is the line that leaves it, in the buffer behind it. The counters
// of most ports come first, so that the rare ones lie side by side. The counts of every frame, and
// the amounts that wait, are in its trace.Counts until a bin ends.
const (
	outBytes    = iota // data on the link, headers included
	outFrames          // data frames
	inOccupancy        // blocks in the buffer, times picoseconds
	outQueue           // bytes that wait for the link, times 1024 picoseconds
	outLongest         // not a counter: the most bytes that waited since the last edge
	firstStall         // picoseconds by port.Block, from LinkBusy on
	outStall    = firstStall - int(port.LinkBusy)
)

// Rarer counters.
const (
	outControl   = outStall + port.Blocks + iota // flow control packets
	outPaused                                    // picoseconds for which the peer had a priority stopped
	inPauses                                     // PAUSE and PFC frames that came
	outAcks                                      // ACK frames
	outMarked                                    // data frames that were marked as they left
	outDeadlocks                                 // cycles of waiting that were found to go through the line
	inDrops                                      // frames that came and were discarded
	inFaults                                     // of them, those that a fault has lost, or its consequence
	outStorms                                    // storms that a PFC watchdog found
	outTrimmed                                   // packets for the line that a switch has trimmed
	outTrimDrops                                 // and those of which there was no room for the headers either
	inClasses                                    // PFC frames that came, by priority, from here on
	portColumns  = inClasses + port.Priorities
)

// portCounts are the counts of ports, and of the queues and links behind them.
type portCounts struct {
	first    firsts  // of ports, by node
	wires    []int32 // by port: the wire that it sends into
	ports    []portState
	tallies  []trace.Counts   // by port
	causes   []*trace.Reasons // by port; nil: there were none
	faults   []faultCounts    // by port
	ahead    [][]place        // by flow: the switches with input buffers on its path, and where it leaves them; nil: they have no queues
	lost     bool             // the queues of such switches cannot be found
	messages bool             // those of retry, or of credits of channels, are counted
	switches int32            // nodes from here on are endpoints
	recent   []trace.Latest   // by switch
	storms   []Storm
	drops    []*dropCounts // by port; nil: there were none
	retries  retries
	credits  credits
}

// dropCounts are the frames that came by a port, or were its node's own, and were discarded, by
// trace.Reason.
type dropCounts [reasons]int64

// faultCounts is how the events of a link have touched a port.
type faultCounts struct {
	downs int32 // how often the link has gone down
	down  bool
}

// beginPorts makes the counters of ports, which come first, and returns how many there are.
func (c *Collector) beginPorts(f *fabric.Fabric, s *scenario.Scenario) (columns int) {
	ports := 0
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
	c.ports, c.tallies, c.causes = make([]portState, ports), make([]trace.Counts, ports), make([]*trace.Reasons, ports)
	c.faults = make([]faultCounts, ports)
	c.recent, c.drops = make([]trace.Latest, c.switches), make([]*dropCounts, ports)
	c.beginCredits()
	if slices.ContainsFunc(f.Wires, func(w fabric.Wire) bool { return w.Link.Retry.On() }) {
		c.retries = make(retries, ports)
	}
	c.messages = c.credits != nil || c.retries != nil
	for i := range c.ports {
		c.tallies[i].Blocks, c.tallies[i].Lanes = trace.Empty, firstLane
	}
	for i := range c.recent {
		c.recent[i].First, c.recent[i].Flows = firstQP, uint32(len(f.Flows))
	}
	c.countPauses()
	c.findQueues()
	return ports * portColumns
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
			x := &pausingState{until: make([]unit.Time, classes), quantum: l.Rate.Serialise(wire.Quantum / 8)}
			if c.tallies[p].Lanes = counted; counted == oneByOne {
				x.byLane = make([]int64, classes)
				c.tallies[p].ByLane = &x.byLane
			}
			c.ports[p].pausing = x
		}
	}
}

// settle settles all ports at the end of a bin.
func (c *portCounts) settle(b *bins, rates capacities, t unit.Time) {
	for i := range c.ports {
		p := &c.ports[i]
		if w := c.causes[i]; w != nil && w.Fresh != 0 {
			p.columns.begun |= 1 << outMarked
			b.now[i*portColumns+outMarked] += int64(w.Fresh)
			w.Fresh = 0
		}
		c.settlePort(rates, i, p, &c.tallies[i], (*[portColumns]int64)(b.now[i*portColumns:]), t)
		if fresh := p.columns.news(); fresh != 0 {
			b.rows.begin(i*portColumns, fresh)
		}
	}
}

// settlePort settles a port, whose counters begin with now.
func (c *portCounts) settlePort(rates capacities, i int, p *portState, y *trace.Counts, now *[portColumns]int64, t unit.Time) {
	y.SetQueue(t, y.Queue)
	y.Until(t, (*trace.Held)(now[firstStall:]))
	begun := p.columns.begun | uint32(y.Seen>>trace.FirstKept)<<firstStall
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
		now[outBytes] -= unsent(y, rates.at(int(c.wires[i]), y.Began), t)
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

// Values of trace.Counts.Lanes.
const (
	oneByOne  = 0   // with PFC: an event states the amount of one priority
	firstLane = 1   // InfiniBand: only the data lane is counted
	allAtOnce = 255 // Ethernet: an event states the amount of all priorities
)

// unsent returns how many bytes of the last data frame of a port leave at or after t, by a link of
// this rate.
func unsent(y *trace.Counts, rate unit.Rate, t unit.Time) int64 {
	span, gone := rate.Serialise(unit.Size(y.Last)), max(0, t.Sub(y.Began))
	if gone >= span {
		y.Last = 0
		return 0
	}
	return int64(y.Last) - part(int64(y.Last), gone, span)
}

// portState has the states of a port that trace.Counts lacks.
type portState struct {
	pausing *pausingState // Ethernet, or InfiniBand with several data lanes; else nil
	columns columns
}

// pausingState has the further states of a port of Ethernet, by priority; without PFC there
// is the first only.
type pausingState struct {
	counted unit.Time     // outPaused is counted up to here
	until   []unit.Time   // until when the peer has stopped it
	quantum unit.Duration // at the rate of the link
	byLane  []int64       // trace.Counts.ByLane, which has no room for it
}

// why returns why frames were marked at e's port, and congestion detected.
func (c *Collector) why(e *trace.Event) *trace.Reasons {
	at := &c.causes[c.first.number(e)]
	if *at == nil {
		*at = new(trace.Reasons)
	}
	return *at
}

// pause records a PAUSE or PFC frame from the peer of e's port: how many quanta to stop, and with
// PFC which priorities.
func (c *Collector) pause(e *trace.Event) {
	number := int(c.first.number(e))
	p, now := &c.ports[number], c.now[number*portColumns:]
	s := p.pausing
	if s == nil {
		return
	}
	p.columns.begun |= 1<<inPauses | 1<<outPaused
	now[inPauses]++
	now[outPaused] += s.pausedUp(e.At)
	s.counted = max(s.counted, e.At)
	until := e.At.Add(unit.Duration(e.B) * s.quantum)
	if kind, _, _ := trace.FrameOf(e.A); kind == wire.Pause {
		s.until[0] = until
		return
	}
	named, stopped := trace.ClassesOf(e.PSN)
	p.columns.begun |= uint32(named) << inClasses
	for class := range s.until {
		if named>>class&1 == 1 {
			now[inClasses+class]++
			s.until[class] = e.At
			if stopped>>class&1 == 1 {
				s.until[class] = until
			}
		}
	}
}

// pausedUp returns how long the link was stopped since it was last counted, up to t.
func (p *pausingState) pausedUp(t unit.Time) int64 {
	last := unit.Time(0)
	for _, u := range p.until {
		last = max(last, u)
	}
	return max(int64(min(t, last)-p.counted), 0)
}

const queueShift = trace.QueueShift

// place is an output of a switch with input buffers.
type place struct {
	node int32
	out  uint32 // number of its port
}

// findQueues finds the places where the frames of each flow wait in switches with input buffers.
// Such a switch reports the amounts in its inputs, and no queues of outputs. Where frames may
// change their path, or are lost in a switch, the queues cannot be found: there are none then.
func (c *Collector) findQueues() {
	if c.lost = c.lost || c.scenario.Restarts() || c.scenario.Rerouted(); c.lost {
		return
	}
	for i := range c.fabric.Flows {
		for _, h := range c.fabric.Flows[i].Path.Rest.All() {
			wire := &c.fabric.Wires[h.Wire]
			end := wire.Ends[h.From]
			if InBytes(c.fabric, h.Wire) || c.fabric.Nodes[end.Node].Switch == nil {
				continue
			}
			if c.ahead == nil {
				c.ahead = make([][]place, len(c.fabric.Flows))
			}
			out := c.first[end.Node] + uint32(end.Port)
			c.ahead[i] = append(c.ahead[i], place{int32(end.Node), out})
			c.tallies[out].OfInputs = true
		}
	}
}

// joins returns the number of the port for whose line a data frame waits that has come, where it
// waits in a switch with input buffers.
func (c *Collector) joins(node int32, flow uint32) (number uint32, ok bool) {
	if i := int(flow - firstQP); i < len(c.ahead) {
		for _, p := range c.ahead[i] {
			if p.node == node {
				return p.out, true
			}
		}
	}
	return 0, false
}
