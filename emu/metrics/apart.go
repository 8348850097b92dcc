package metrics

import (
	"fabemu/emu/fabric"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Counts reports whether nodes may count for c (trace.Counter): not where starts are both joins'
// concern and wanted.
func (c *Collector) Counts() bool { return !c.messages || c.ahead == nil }

// Own implements trace.Counter. The start of data at its source counts for a flow, too.
func (c *Collector) Own(node int32) *trace.Own {
	first := c.first[node]
	behind := first + uint32(len(c.fabric.Nodes[node].Ports))
	own := &trace.Own{Ports: c.tallies[first:behind], Reasons: c.causes[first:behind]}
	if c.ahead != nil {
		own.Joins = func(flow uint32) *trace.Counts {
			if out, ok := c.joins(node, flow); ok {
				return &c.tallies[out]
			}
			return nil
		}
	}
	if node < c.switches {
		own.Latest = &c.recent[node]
	} else {
		own.Wants = trace.DataStarts
	}
	if c.messages {
		own.Wants |= trace.Messages
		own.Frame = func(port uint16, starts bool, f *wire.Frame, n uint32, left int64) {
			c.countMessage(first+uint32(port), starts, f.Kind, f.Lane, n, left)
		}
	}
	return own
}

// Flows returns the flows, whose ends count for c if all nodes report to one trace.Batch, and the
// transfers of workloads.
func (c *Collector) Flows() trace.Flows {
	f := trace.Flows{All: c.flows, First: firstQP, Patience: c.patience}
	if c.works != nil {
		f.Transfers = func(qp uint32) *trace.Arrivals {
			if k, _ := fabric.Transfer(c.workloads, qp); k >= 0 {
				return &c.works[k].came
			}
			return nil
		}
	}
	return f
}

// Bin implements trace.Counter.
func (c *Collector) Bin() (from, to unit.Time) { return c.lo, c.next }

// Settle implements trace.Counter.
func (c *Collector) Settle(node func(end unit.Time)) { c.behind = append(c.behind, node) }

// Several goroutines may count for a Collector, each the events of its own nodes, as far as
// these are apart: an event is apart if it counts only for a port of its node. All others come
// one at a time and in the order of the run, while no goroutine is at the events of the bin before
// or after: the figures of a flow depend on the reports of both of its ends.

// CountApart counts e if it is apart, and falls into the bin that is being counted. It reports
// whether it has, and nothing more is to be done about e.
func (c *Collector) CountApart(e *trace.Event) bool {
	if e.At < c.lo || e.At >= c.next {
		return false
	}
	switch e.Kind {
	case trace.Start:
		if e.Node >= c.switches { // of a source: packets of the flow
			if kind, _, _ := trace.FrameOf(e.A); kind == wire.Data || kind == wire.TCP {
				return false
			}
		}
	case trace.Arrive:
		switch kind, _, _ := trace.FrameOf(e.A); kind {
		case wire.Pause, wire.PriorityPause: // an event of the scenario changes how long that is
			return false
		case wire.CFUpdate: // gives back the credits of packets, which are not apart at a source
			if e.Node >= c.switches {
				return false
			}
		}
	case trace.Stall:
		if e.Flow != 0 {
			return false
		}
	case trace.Release, trace.Queue, trace.Mark, trace.Trigger:
	default:
		return false
	}
	c.add(e)
	return true
}

// Edge returns the end of the bin that is being counted.
func (c *Collector) Edge() unit.Time { return c.next }

// Advance closes the bins that end at or before t, as an event of t would. It is part of
// trace.Counter.
func (c *Collector) Advance(t unit.Time) {
	if t >= c.next {
		c.advance(t)
	}
}
