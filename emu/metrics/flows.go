package metrics

import (
	"math/bits"

	"fabemu/emu/fabric"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The counters of a flow.
const (
	flowBytes   = iota // data received whole, headers included
	flowFrames         // data frames received whole
	flowMarked         // of them, those that carried a mark
	flowLimit          // not a counter but a state: the rate of the source in bits per second
	flowAllowed        // the limit over time: bits per second times 2^rateShift picoseconds
	flowStall          // picoseconds by port.Block, from here on
)

// Rarer counters.
const (
	flowNotified   = flowStall + port.Blocks + iota // notifications and messages taken in by the source
	flowMarkedAcks                                  // ACKs taken in by the source that carried a mark back
	flowFb                                          // sum of their quantised feedback
	flowTarget                                      // the rate that its reaction point wants back, as flowLimit
	flowWanted                                      // the target over time, as flowAllowed
	flowDrops                                       // data frames that were discarded on the path
	flowProbes                                      // frames that its reaction point itself has sent
	flowAnswers                                     // answers to probes taken in by the source
	flowColumns
)

// flowCounts are the counts of flows.
type flowCounts struct {
	ofFlows  int // where the counters of the first flow begin, in bins.now
	flows    []trace.Flow
	lives    []life // by flow
	patience unit.Duration
	silences []Silence // that are over
}

// begin makes the counters of flows, behind so many others, and returns how many there are with
// them.
func (c *flowCounts) begin(f *fabric.Fabric, columns int, patience unit.Duration) int {
	c.ofFlows, c.patience = columns, patience
	c.flows, c.lives = make([]trace.Flow, len(f.Flows)), make([]life, len(f.Flows))
	for i := range c.flows {
		c.flows[i].Block, c.flows[i].Seen, c.flows[i].Again = trace.Idle, 1<<trace.Idle, f.Flows[i].Timeout > 0 || f.Flows[i].Transport.Acks()
		c.flows[i].Any = f.Flows[i].Transport.AnyOrder()
		c.lives[i] = life{active: make([]Interval, 0, 1), limited: unit.Never, targeted: unit.Never,
			selective: f.Flows[i].Transport.Selective()}
	}
	return columns + len(f.Flows)*flowColumns
}

// settle settles all flows at the end of a bin.
func (c *flowCounts) settle(b *bins, streams *streamCounts, t unit.Time) {
	for i := range c.flows {
		f, x, at := &c.flows[i], &c.lives[i], c.ofFlows+i*flowColumns
		x.settle(f, b.now[at:], t)
		stream := streams.ofStreams + i*tcpColumns
		if streams.ofStreams > 0 {
			x.settleStream(f, b.now[stream:], t)
		}
		if fresh := x.columns.news(); fresh != 0 {
			b.rows.begin(at, fresh&^ofTCP)
			b.rows.begin(stream-flowColumns, fresh&ofTCP)
		}
	}
}

// settle settles a flow, whose counters begin with now.
func (x *life) settle(f *trace.Flow, now []int64, t unit.Time) {
	now[flowStall+int(f.Block)] += int64(t - f.Turned)
	f.Turned = t
	x.columns.begun |= uint32(f.Seen) << flowStall
	x.hold(f.Limit, now, t)
	now[flowLimit] = f.Limit
	if f.Frames != 0 {
		x.columns.begun |= 1<<flowBytes | 1<<flowFrames
		now[flowFrames] += int64(f.Frames)
		now[flowBytes] = f.Bytes
		f.Frames = 0
	}
	if f.Marked != 0 {
		x.columns.begun |= 1 << flowMarked
		now[flowMarked] += int64(f.Marked)
		f.Marked = 0
	}
	if f.AcksBack != 0 {
		x.columns.begun |= 1 << flowMarkedAcks
		now[flowMarkedAcks] += int64(f.AcksBack)
		f.AcksBack = 0
	}
	x.acks += int64(f.Acks)
	f.Acks = 0
}

// life is the history of a flow, and its rare counts. settle copies those of trace.Flow into the
// counters.
type life struct {
	columns columns // the columns of TCP follow the others

	active []Interval
	begun  []Transfer // those that have not ended, in the order of their packets
	ended  []Transfer

	acks              int64     // taken in by the source
	logged            int64     // View.Logged
	failed            bool      // its queue pair has failed: nothing of it waits any more
	settled           unit.Time // flowAllowed and flowWanted are counted up to here
	limited, targeted unit.Time // when the first limit and the first target were reported
	windowed          unit.Time // tcpWindowHeld is counted up to here
	lost              lost
	worst             worst // of the packets since the last edge that came ahead of their turn
	selective         bool  // such packets are accepted
}

// Interval is a span of model time: From <= t < To.
type Interval struct{ From, To unit.Time }

// rateShift scales rates over time, so that they fit into 64 bits: the unit is 17 millionths
// of a bit, and 400 Gb/s fit for six minutes.
const rateShift = 24

// allow notes the limit and the target of the source of a flow from an instant on.
func (c *Collector) allow(i int, from unit.Time, limit, target int64) {
	f, x, now := &c.flows[i], &c.lives[i], c.now[c.ofFlows+i*flowColumns:]
	if f.Limit == limit && now[flowTarget] == target {
		return
	}
	if limit > 0 {
		x.limited = min(x.limited, from)
	}
	if target > 0 {
		x.targeted = min(x.targeted, from)
	}
	x.hold(f.Limit, now, from)
	f.Limit, now[flowTarget] = limit, target
	if limit != 0 {
		x.columns.begun |= 1<<flowLimit | 1<<flowAllowed
	}
	if target != 0 {
		x.columns.begun |= 1<<flowTarget | 1<<flowWanted
	}
}

// hold counts the limit and the target of a source up to t.
func (x *life) hold(limit int64, now []int64, t unit.Time) {
	if limit != 0 {
		now[flowAllowed] += product(limit, t.Sub(x.settled), rateShift)
	}
	if target := now[flowTarget]; target != 0 {
		now[flowWanted] += product(target, t.Sub(x.settled), rateShift)
	}
	x.settled = t
}

// product returns the product of a state and a span, divided by 2^shift. The
// product may have more than 64 bits; the state and the span may be negative.
func product(state int64, span unit.Duration, shift int) int64 {
	switch {
	case span < 0:
		return -product(state, -span, shift)
	case state < 0:
		return -product(-state, span, shift)
	}
	high, low := bits.Mul64(uint64(state), uint64(span))
	return int64(high<<(64-shift) | low>>shift)
}

// resize finds out how long a frame of e's size takes the slowest link on the path of a flow.
func (c *Collector) resize(i int, e *trace.Event) {
	f := &c.flows[i]
	f.Size, f.Span = e.Bytes, 0
	for _, h := range c.fabric.Flows[i].Path.All() {
		f.Span = max(f.Span, c.rateAt(h.Wire, e.At).Serialise(unit.Size(e.Bytes)))
	}
}

// spread counts a frame that has come, and had begun to before the current bin, for its
// parts: at every edge that it straddles the part before the edge.
func (c *Collector) spread(at int, f *trace.Flow, e *trace.Event) {
	begin := e.At.Add(-f.Span)
	for k := c.cur; k > 0 && c.edges[k] > begin; k-- {
		if c.edges[k] <= e.At {
			c.rows.change(k, at+flowBytes, part(int64(e.Bytes), c.edges[k].Sub(begin), f.Span))
		}
	}
}

// part returns how many of a frame's bytes are over after so much of the time that it takes.
func part(bytes int64, gone, span unit.Duration) int64 {
	high, low := bits.Mul64(uint64(bytes), uint64(gone))
	n, _ := bits.Div64(high, low, uint64(span)) // gone is at most span: n is at most bytes
	return int64(n)
}
