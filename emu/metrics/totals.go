package metrics

import (
	"cmp"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Fabric returns the fabric whose events are counted.
func (c *Collector) Fabric() *fabric.Fabric { return c.fabric }

// Scenario returns the scenario that is run.
func (c *Collector) Scenario() *scenario.Scenario { return c.scenario }

// Stalls is the time spent waiting, by its cause (port.Block). Open and Idle are not stalls; for
// links they are 0.
type Stalls [port.Blocks]unit.Duration

// LinkTotals are the totals of one direction of a link in the whole run.
type LinkTotals struct {
	Bytes    int64                 // data on the link, headers included
	Frames   int64                 // data frames
	Marked   int64                 // data frames marked as they left by this line
	Acks     int64                 // ACK frames
	Control  int64                 // flow control packets
	Marks    [reasonsOfMarks]int64 // Marked by trace.Reason
	Triggers [reasonsOfMarks]int64 // how often congestion was detected on its behalf, by trace.Reason
	Stalled  Stalls                // of the frames that wait for the link, lane 0
}

// Link returns the totals of a direction of a link.
func (c *Collector) Link(h fabric.Hop) LinkTotals {
	number := c.out(h) / portColumns
	t := c.link(h)
	t.Bytes = c.tallies[number].Bytes
	if x := c.causes[number]; x != nil {
		t.Marks, t.Triggers = x.marks, x.triggers
	}
	return t
}

// link returns those without reasons; of a frame that has not left whole at the end, its part.
func (c *Collector) link(h fabric.Hop) LinkTotals {
	out := c.out(h)
	return LinkTotals{
		Bytes: c.last(out + outBytes), Frames: c.last(out + outFrames), Marked: c.last(out + outMarked),
		Acks: c.last(out + outAcks), Control: c.last(out + outControl), Stalled: c.stalls(out + outStall),
	}
}

// Classes returns how many PFC frames came to a port, by priority.
func (c *Collector) Classes(node int, p port.ID) (n [port.Priorities]int64) {
	out := c.out(c.fabric.Nodes[node].Ports[p].Out())
	for k := range n {
		n[k] = c.last(out + inClasses + k)
	}
	return n
}

// stalls returns the stalls whose counters begin at a column.
func (c *Collector) stalls(first int) (s Stalls) {
	for b := range s {
		s[b] = unit.Duration(c.last(first + b))
	}
	return s
}

// Buffer returns how full the data lane of the buffer behind a port was, in blocks: the mean over
// the time of the run, and the most.
func (c *Collector) Buffer(node int, p port.ID) (mean float64, most int64) {
	i := int(c.first[node]) + int(p)
	return ratio(float64(c.last(i*portColumns+inOccupancy)), float64(c.End())), c.tallies[i].Most
}

// FlowCounts are the counts of a flow up to an instant.
type FlowCounts struct {
	Bytes      int64 // data received whole, headers included
	Frames     int64
	Marked     int64 // of Frames, those that came marked
	Notified   int64 // notifications and messages that the source took in
	MarkedAcks int64 // ACKs that it took in and that carried the mark back
	Logged     int64 // entries that its reaction point made in its log of congestion
	Probes     int64
	Drops      int64
	Stalled    Stalls // of the source
	Transfers  int    // that have ended

	Retransmits, Timeouts int64 // of TCP
}

// counts returns the counts of the flow at an index of the fabric's flows.
func (c *Collector) counts(i int) FlowCounts {
	last := func(column int) int64 { return c.last(c.ofFlows + i*flowColumns + column) }
	n := FlowCounts{
		Bytes: last(flowBytes), Frames: last(flowFrames), Marked: last(flowMarked), Notified: last(flowNotified),
		MarkedAcks: last(flowMarkedAcks), Logged: c.lives[i].logged, Probes: last(flowProbes), Drops: last(flowDrops),
		Stalled: c.stalls(c.ofFlows + i*flowColumns + flowStall), Transfers: len(c.lives[i].ended),
	}
	if c.ofStreams > 0 {
		at := c.ofStreams + i*tcpColumns
		n.Retransmits, n.Timeouts = c.last(at+tcpRetransmits), c.last(at+tcpTimeouts)
	}
	return n
}

// FlowTotals are the totals of a flow in the whole run.
type FlowTotals struct {
	FlowCounts
	Acks   int64      // taken in by the source
	Limit  unit.Rate  // the rate of the limiter at the end; 0 if it has not reported one
	Active []Interval // when the source had something to send
}

// Flow returns the totals of the flow at an index of the fabric's flows. The
// caller must not change Active.
func (c *Collector) Flow(i int) FlowTotals {
	return FlowTotals{
		FlowCounts: c.counts(i), Acks: c.lives[i].acks, Active: c.lives[i].active,
		Limit: unit.Rate(c.last(c.ofFlows + i*flowColumns + flowLimit)),
	}
}

// FrameHops returns how many data and ACK frames were put on a link, flow
// control packets not counted.
func (c *Collector) FrameHops() int64 {
	n := int64(0)
	for at := 0; at < c.ofFlows; at += portColumns {
		n += c.last(at+outFrames) + c.last(at+outAcks)
	}
	return n
}

// Drops returns how many frames were discarded, for each trace.Reason of which
// there were any, in the order of the reasons.
func (c *Collector) Drops() []ReasonCount { return ReasonCounts(c.drops[:]) }

// loss is a kind of drop: where, and why.
type loss struct {
	node   int32
	port   uint16
	reason trace.Reason
}

// Loss is how many frames were discarded at a place for a reason.
type Loss struct {
	Node   int
	Port   port.ID // by which they had come; of an endpoint's own packets the only one
	Reason trace.Reason
	Count  int64
}

// Losses returns Drops by place: in the order of the nodes, their ports, the reasons.
func (c *Collector) Losses() []Loss {
	var all []Loss
	for l, n := range c.losses {
		all = append(all, Loss{int(l.node), port.ID(l.port), l.reason, n})
	}
	slices.SortFunc(all, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// Storm is a PFC storm at a queue, as the watchdog of its switch has found it.
type Storm struct {
	Node     int
	Port     port.ID
	Priority uint8
	Action   int       // of the watchdog, as its event has it
	From, To unit.Time // unit.Never: it lasts
}

// Storms returns the storms in the order in which they were found. The caller must not change them.
func (c *Collector) Storms() []Storm { return c.storms }

// ReasonCount is how often something happened for a reason.
type ReasonCount struct {
	Reason trace.Reason
	Count  int64
}

// ReasonCounts returns the reasons in a table that occurred, in their order.
func ReasonCounts(table []int64) []ReasonCount {
	var out []ReasonCount
	for r, n := range table {
		if n > 0 {
			out = append(out, ReasonCount{trace.Reason(r), n})
		}
	}
	return out
}

// Violations returns the first violations, and how many there were in all. The
// caller must not change them.
func (c *Collector) Violations() (first []trace.Event, total int64) { return c.violations, c.violated }
