package metrics

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

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

// begin notes that counters of e's port begin to count.
func (c *Collector) begin(e *trace.Event, begun uint32) {
	c.ports[c.number(e)].columns.begun |= begun
}
