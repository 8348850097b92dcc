package metrics

import (
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
func (v *View) Classes(node int, p port.ID) (n [port.Priorities]int64) {
	out := v.c.out(v.c.fabric.Nodes[node].Ports[p].Out())
	for k := range n {
		n[k] = v.c.last(out + inClasses + k)
	}
	return n
}

// FrameHops returns how many data and ACK frames were put on a link, flow
// control packets not counted.
func (v *View) FrameHops() int64 {
	n := int64(0)
	for at := 0; at < v.c.ofFlows; at += portColumns {
		n += v.c.last(at+outFrames) + v.c.last(at+outAcks)
	}
	return n
}

// Drops returns how many frames were discarded, for each trace.Reason of which
// there were any, in the order of the reasons.
func (v *View) Drops() []ReasonCount {
	var all dropCounts
	for _, of := range v.c.drops {
		if of != nil {
			for r, n := range of {
				all[r] += n
			}
		}
	}
	return ReasonCounts(all[:])
}

// Loss is how many frames were discarded at a place for a reason.
type Loss struct {
	Node   int
	Port   port.ID // by which they had come; of an endpoint's own packets the only one
	Reason trace.Reason
	Count  int64
}

// Losses returns Drops by place: in the order of the nodes, their ports, the reasons.
func (v *View) Losses() (all []Loss) {
	number := 0
	for i := range v.c.fabric.Nodes {
		for p := range v.c.fabric.Nodes[i].Ports {
			if of := v.c.drops[number]; of != nil {
				for _, x := range ReasonCounts(of[:]) {
					all = append(all, Loss{i, port.ID(p), x.Reason, x.Count})
				}
			}
			number++
		}
	}
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
func (v *View) Storms() []Storm { return v.c.storms }

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
func (v *View) Violations() (first []trace.Event, total int64) { return v.c.violations, v.c.violated }
