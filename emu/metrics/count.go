package metrics

import (
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// count adds events to the counters, whenever they were.
func (c *Collector) count(events []trace.Event) {
	for len(events) > 0 {
		if n := c.countFrames(events); n < len(events) {
			c.rest(&events[n])
			events = events[n+1:]
			continue
		}
		return
	}
}

// countFrames counts what most frames tell. It returns how many events it has counted, up to one of
// which rest has something to count: a loop without calls keeps what it works with in registers.
func (c *Collector) countFrames(events []trace.Event) int {
	first, ports := c.first, c.ports
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case trace.Start:
			p := &ports[first.number(e)]
			switch kind, _, _ := trace.FrameOf(e.A); {
			case kind == wire.Data || kind == wire.TCP && trace.IsData(e.A):
				p.bytes += int64(e.Bytes)
				p.began, p.last = e.At, e.Bytes
				p.frames++
				if e.Machine >= c.switches {
					if i := int(e.Flow - firstQP); i < len(c.flows) {
						f := &c.flows[i]
						if f.sent++; f.again {
							f.sent = e.PSN + 1
							if int32((f.gone-e.PSN)<<8) > 0 { // modulo 2^24
								c.owes(i)
							}
						}
					}
				}
				if p.ofInputs && c.ahead != nil {
					p.queueIs(e.At, p.queue-int64(e.Bytes))
				}
			case kind == wire.Ack || kind == wire.TCP:
				p.acks++
			case kind == wire.FlowControl:
				p.control++
			}
			continue
		case trace.Arrive:
			if kind, _, _ := trace.FrameOf(e.A); kind == wire.Pause || kind == wire.PriorityPause {
				return i
			} else if !kind.Traffic() {
				continue
			}
			if c.ahead != nil {
				if out, ok := c.joins(e); ok {
					p := &ports[out]
					p.queueIs(e.At, p.queue+int64(e.Bytes))
				}
			}
			fallthrough // the buffer holds another amount, as after a release
		case trace.Release:
			p := &ports[first.number(e)]
			if e.Lane < p.counted {
				p.hold(e.At, e.B)
				continue
			}
			if p.counted != oneByOne {
				continue
			}
		case trace.Queue:
			ports[first.number(e)].queueIs(e.At, e.A)
			continue
		case trace.Deliver:
			i := int(e.Flow - firstQP) // 0 and 1 wrap around to what no flow has
			if i >= len(c.flows) {
				continue
			}
			f := &c.flows[i]
			if f.gone++; f.again {
				f.gone = e.PSN + 1
			}
			f.bytes += int64(e.Bytes)
			f.frames++
			if _, fecn, _ := trace.FrameOf(e.A); fecn {
				c.now[c.ofFlows+i*flowColumns+flowMarked]++
				f.columns.begun |= 1 << flowMarked
			}
			if e.Bytes == f.size && e.At.Sub(c.lo) >= f.span && e.At.Sub(f.heard) < c.patience && c.ofStreams == 0 {
				f.heard = max(f.heard, e.At)
				continue
			}
		case trace.Stall: // e.A keeps a flow, or the frames that wait for a line, from now on
			block, i := port.Block(e.A), int(e.Flow-firstQP)
			if i < len(c.flows) && uint64(e.A) < port.Blocks {
				f := &c.flows[i]
				c.now[c.ofFlows+i*flowColumns+flowStall+int(f.block)] += int64(e.At - f.blocked)
				c.begins(i, e.At)
				f.block, f.blocked = block, e.At
				f.columns.begun |= 1 << ((flowStall + block) & 31)
				continue
			}
		case trace.Mark:
			p, n := &ports[first.number(e)], int(first.number(e))
			p.columns.begun |= 1 << outMarked
			c.now[n*portColumns+outMarked]++
			c.causes[n].marks[e.A&(reasons-1)]++
			continue
		case trace.Trigger:
			c.causes[first.number(e)].triggers[e.A&(reasons-1)]++
			continue
		}
		return i
	}
	return len(events)
}

// firsts are the places of machines' first ports among all ports.
type firsts []uint32

// number returns the place of e's port among all ports.
func (x firsts) number(e *trace.Event) uint32 { return x[uint32(e.Machine)] + uint32(e.Port) }

// number returns the place of e's port among all ports.
func (c *Collector) number(e *trace.Event) uint32 { return c.first.number(e) }

// port returns where the counters of e's port begin.
func (c *Collector) port(e *trace.Event) int { return int(c.number(e)) * portColumns }

// flow returns where the counters of e's flow begin; not ok when e names none.
func (c *Collector) flow(e *trace.Event) (at int, ok bool) {
	i := e.Flow - firstQP // 0 and 1 wrap around to what no flow has
	return c.ofFlows + int(i)*flowColumns, i < uint32(len(c.flows))
}

// rest counts what countFrames has left of an event.
func (c *Collector) rest(e *trace.Event) {
	switch e.Kind {
	case trace.Arrive:
		if kind, _, _ := trace.FrameOf(e.A); kind.Traffic() {
			c.holdLane(e)
		} else {
			c.pause(e)
		}
	case trace.Release:
		c.holdLane(e)
	case trace.Deliver:
		c.deliver(e)
	case trace.Feedback:
		c.feedback(e)
	case trace.Limit:
		if at, ok := c.flow(e); ok {
			c.allow(at, e, e.A, e.B)
		}
	case trace.Stall:
		if block := port.Block(e.A); uint64(e.A) < port.Blocks && e.Flow == 0 && e.Lane == 0 {
			n := c.number(e)
			p := &c.ports[n]
			c.now[int(n)*portColumns+outStall+int(p.block)] += int64(e.At - p.blocked)
			p.block, p.blocked = block, e.At
			p.columns.begun |= 1 << ((outStall + block) & 31)
		}
	case trace.FlowStart:
		if _, ok := c.flow(e); ok {
			f := &c.lives[e.Flow-firstQP]
			f.active = append(f.active, Interval{e.At, unit.Never})
			c.begins(int(e.Flow-firstQP), e.At)
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
		if s := c.ports[c.number(e)].pausing; s != nil {
			s.quantum = unit.Rate(e.B).Serialise(wire.Quantum / 8)
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

// deliver counts a data frame that is not like the one before it in its flow, or comes after long, or
// has begun to come in the bin before, or is one of TCP.
func (c *Collector) deliver(e *trace.Event) {
	i := e.Flow - firstQP
	f := &c.flows[i]
	if e.Bytes != f.size {
		c.resize(f, e)
	}
	if e.At.Add(-f.span) < c.lo {
		c.spread(c.ofFlows+int(i)*flowColumns, f, e)
	}
	if e.At.Sub(f.heard) >= c.patience {
		c.hear(i, e.At)
	}
	f.heard = max(f.heard, e.At)
	if c.ofStreams > 0 {
		f.columns.begun |= 1 << (flowColumns + tcpInOrder)
		c.now[c.ofStreams+int(i)*tcpColumns+tcpInOrder] += e.B
	}
}

// feedback counts an ACK, or a notification, that a source has taken in.
func (c *Collector) feedback(e *trace.Event) {
	at, ok := c.flow(e)
	if !ok {
		return
	}
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
		return
	}
	f.acks++
	f.owed = f.owed && int32((f.gone-e.PSN-1)<<8) > 0
	becn := e.A >> 9 & 1 // trace.FrameWord
	c.now[at+flowMarkedAcks] += becn
	f.columns.begun |= uint32(becn) << flowMarkedAcks
}

// begin notes that counters of e's port begin to count.
func (c *Collector) begin(e *trace.Event, begun uint32) {
	c.ports[c.number(e)].columns.begun |= begun
}
