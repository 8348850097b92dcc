package metrics

import (
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"slices"
)

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
		p := &c.ports[c.number(e)]
		if holds, ok := p.holds(e); ok {
			column := c.port(e) + inOccupancy
			states = append(states, held{column, column, p.occupancy, holds, 0})
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
