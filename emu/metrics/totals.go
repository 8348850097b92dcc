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

// Classes returns how many PFC frames came to a port, by priority.
func (c *Collector) Classes(node int, p port.ID) (n [port.Priorities]int64) {
	out := c.out(c.fabric.Nodes[node].Ports[p].Out())
	for k := range n {
		n[k] = c.last(out + inClasses + k)
	}
	return n
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
