package metrics

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The counters of a port: out is the line that leaves it, in the buffer behind it. The counters
// of most ports come first, so that the rare ones lie side by side. The counts of every frame are
// in the tally of the port until a bin ends, and the amounts that wait in its state.
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

// tally has the counts of every frame at a port, and the states that they need: a cache line.
// settlePort copies it into the other counters.
type tally struct {
	occupancy int64 // blocks in the buffer; on Ethernet bytes
	most      int64
	area      int64 // inOccupancy at an instant, less occupancy times that, modulo 2^64
	bytes     int64 // outBytes, the last frame as a whole
	began     unit.Time
	last      uint32 // bytes of the last data frame, which began then; 0: it is known to be over
	frames    uint32 // outFrames, since they were written down; so are the others
	acks      uint32 // outAcks
	control   uint32 // outControl
	counted   lanes
	ofInputs  bool // its frames wait in a switch with input buffers (Collector.ahead)
	_         [6]byte
}

// hold records the amount in the buffer of a port from an instant on.
func (y *tally) hold(from unit.Time, holds int64) {
	y.area += (y.occupancy - holds) * int64(from)
	if y.occupancy = holds; holds > y.most {
		y.most = holds
	}
}

// held returns inOccupancy at an instant.
func (y *tally) held(at unit.Time) int64 { return y.area + y.occupancy*int64(at) }

// lanes is the number of the lanes, from 0 on, whose events state the amount in the buffer of a port.
type lanes = uint8

const (
	oneByOne  lanes = 0   // with PFC: an event states the amount of one priority
	firstLane lanes = 1   // InfiniBand: only the data lane is counted
	allAtOnce lanes = 255 // Ethernet: an event states the amount of all priorities
)

// unsent returns how many bytes of the last data frame of a port leave at or after t, by a link of this rate.
func (y *tally) unsent(rate unit.Rate, t unit.Time) int64 {
	span, gone := rate.Serialise(unit.Size(y.last)), t.Sub(y.began)
	if gone >= span {
		y.last = 0
		return 0
	}
	return int64(y.last) - part(int64(y.last), gone, span)
}

// portState has the counts and the states of a port: a tally and one more cache line.
type portState struct {
	tally
	blocked unit.Time     // outStall is counted up to here
	changed unit.Time     // outQueue is counted up to here
	queue   int64         // bytes that wait for the link since then
	waited  int64         // outQueue
	longest int64         // outLongest
	pausing *pausingState // Ethernet, or InfiniBand with several data lanes; else nil
	block   port.Block    // the cause that has held the line back since blocked
	columns columns
	_       [4]byte
}

// unstalled are the columns for the time in which nothing stalls a port: nobody asks for them.
const unstalled = 1<<(outStall+port.Open) | 1<<(outStall+port.Idle)

// pausingState has the further states of a port of Ethernet, by priority; without PFC there
// is the first only.
type pausingState struct {
	lanes   []int64       // occupancy
	counted unit.Time     // outPaused is counted up to here
	until   []unit.Time   // until when the peer has stopped it
	quantum unit.Duration // at the rate of the link
}

// causes is why frames were marked at a port, and congestion detected, by
// trace.Reason. It is large and rarely touched: not part of portState.
type causes struct{ marks, triggers [reasonsOfMarks]int64 }

// holdLane records the amount in the buffer of a port after e, which states the amount of one priority.
func (p *portState) holdLane(e *trace.Event) {
	if int(e.Lane) >= len(p.pausing.lanes) {
		return // ACKs on InfiniBand
	}
	lane := &p.pausing.lanes[e.Lane]
	p.hold(e.At, p.occupancy+e.B-*lane)
	*lane = e.B
}

// pause records a PAUSE or PFC frame from the peer of e's port: how many quanta to stop, and with PFC
// which priorities.
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

// queueShift scales the time for which bytes wait, so that it fits into 64 bits for
// any queue and any run.
const queueShift = 10

// setQueue notes that this many bytes wait for the link of a port from an instant on.
func (p *portState) setQueue(from unit.Time, bytes int64) {
	span := int64(from - p.changed)
	p.changed = from
	p.waited += p.queue * span >> queueShift
	p.queue = bytes
	if bytes > p.longest {
		p.longest = bytes
	}
}

// place is an output of a switch with input buffers.
type place struct {
	node int32
	out  uint32 // number of its port
}

// findQueues finds the places where the frames of each flow wait in switches with input buffers. Such a
// switch reports the amounts in its inputs, and no queues of outputs. Where frames may change their way,
// or are lost in a switch, the queues cannot be found: there are none then.
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
			c.ports[out].ofInputs = true
		}
	}
}

// joins returns the port for whose line a data frame waits that has come, where it waits in a switch
// with input buffers.
func (c *Collector) joins(e *trace.Event) (number uint32, ok bool) {
	if i := int(e.Flow - firstQP); i < len(c.ahead) {
		for _, p := range c.ahead[i] {
			if p.node == e.Node {
				return p.out, true
			}
		}
	}
	return 0, false
}
