package metrics

import (
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
	outStall           // picoseconds by port.Block, from here on
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
	inClasses                                    // PFC frames that came, by priority, from here on
	portColumns  = inClasses + port.Priorities
)

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
	blocked unit.Time     // outStall is counted up to here
	pausing *pausingState // Ethernet, or InfiniBand with several data lanes; else nil
	block   port.Block    // the cause that has held the line back since blocked
	columns columns
}

// unstalled are the columns for the time in which nothing stalls a port; no metric uses them.
const unstalled = 1<<(outStall+port.Open) | 1<<(outStall+port.Idle)

// pausingState has the further states of a port of Ethernet, by priority; without PFC there
// is the first only.
type pausingState struct {
	counted unit.Time     // outPaused is counted up to here
	until   []unit.Time   // until when the peer has stopped it
	quantum unit.Duration // at the rate of the link
}

// causes is why frames were marked at a port, and congestion detected, by
// trace.Reason. It is large, and most ports of a large fabric have none.
type causes struct{ marks, triggers [reasonsOfMarks]int64 }

// why returns the causes of a port, to count one of them.
func (c *Collector) why(port uint32) *causes {
	if c.causes[port] == nil {
		c.causes[port] = new(causes)
	}
	return c.causes[port]
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
	spoken, stopped := trace.ClassesOf(e.PSN)
	p.columns.begun |= uint32(spoken) << inClasses
	for class := range s.until {
		if spoken>>class&1 == 1 {
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
	for _, e := range c.scenario.Events {
		c.lost = c.lost || e.Restart > 0
	}
	if c.lost = c.lost || c.scenario.Rerouted(); c.lost {
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
