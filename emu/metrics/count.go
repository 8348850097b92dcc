package metrics

import (
	"slices"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// count adds events to the counters, whatever their time.
func (c *Collector) count(events []trace.Event) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case trace.Release:
			c.tallies[c.first.number(e)].Hold(e.At, e.Lane, e.B)
		case trace.Queue:
			c.tallies[c.first.number(e)].SetQueue(e.At, e.A)
		case trace.Start:
			c.countStart(e)
		case trace.Arrive:
			c.countArrival(e)
		case trace.Deliver:
			c.deliver(e)
		case trace.Stall:
			c.countStall(e)
		case trace.Mark:
			c.countMark(e)
		case trace.Trigger:
			c.why(e).Trigger(e.Reason())
		case trace.CongestionLog:
			if i := int(e.Flow - firstQP); i < len(c.flows) {
				c.lives[i].logged++
			}
		case trace.Feedback, trace.Limit:
			c.countAboutFlow(e)
		default:
			c.countRare(e)
		}
	}
}

// countStart counts a frame that begins on a link.
func (c *Collector) countStart(e *trace.Event) {
	n := c.first.number(e)
	kind, _, _ := trace.FrameOf(e.A)
	data := trace.IsData(e.A)
	c.tallies[n].Start(e.At, kind, data, e.Bytes)
	if c.messages {
		c.countMessage(n, true, kind, e.Lane, e.Bytes, e.B)
	}
	if data && e.Node >= c.switches { // it leaves its source
		if i := int(e.Flow - firstQP); i < len(c.flows) {
			c.flows[i].Send(e.PSN)
		}
	}
}

// countArrival counts a frame that has come by a port.
func (c *Collector) countArrival(e *trace.Event) {
	n := c.first.number(e)
	switch kind, _, _ := trace.FrameOf(e.A); {
	case kind.Traffic():
		if c.ahead != nil {
			if out, ok := c.joins(e.Node, e.Flow); ok {
				c.tallies[out].SetQueue(e.At, c.tallies[out].Queue+int64(e.Bytes))
			}
		}
		c.tallies[n].Hold(e.At, e.Lane, e.B)
	case kind == wire.Pause || kind == wire.PriorityPause:
		c.pause(e)
	case c.messages:
		c.countMessage(n, false, kind, e.Lane, e.Bytes, e.B)
	}
}

// countMessage counts a frame for the retry of links and for credits of channels: one that starts
// at a port, or one that has come and is no traffic.
func (c *Collector) countMessage(n uint32, starts bool, kind wire.Kind, lane uint8, bytes uint32, left int64) {
	if starts && c.retries.of(n) != nil {
		c.countProtected(n, kind, lane)
	}
	switch {
	case isSet(kind):
		end := 1
		if starts {
			end = 0
		}
		c.countRetry(n, setCounters[kind-wire.LLRAck][end])
	case c.credits != nil:
		c.countCredits(n, starts, kind, bytes, left)
	}
}

// countStall counts the cause that keeps a flow, or the frames that wait for a link, from now on.
func (c *Collector) countStall(e *trace.Event) {
	if uint64(e.A) >= port.Blocks {
		return
	}
	if i := int(e.Flow - firstQP); i < len(c.flows) {
		c.flows[i].Turn(e.At, uint8(e.A))
	} else if e.Flow == 0 {
		c.tallies[c.first.number(e)].Turn(e.At, e.Lane, uint8(e.A))
	}
}

// countMark counts a data frame that was marked as it left by a port.
func (c *Collector) countMark(e *trace.Event) {
	n := c.first.number(e)
	c.ports[n].columns.begun |= 1 << outMarked
	c.now[int(n)*portColumns+outMarked]++
	c.why(e).Mark(e.Reason())
	if int(e.Node) < len(c.recent) {
		c.recent[e.Node].Add(trace.Marked{QP: e.Flow, At: e.At})
	}
}

// firsts are the places of nodes' first ports among all ports.
type firsts []uint32

// number returns the place of e's port among all ports.
func (x firsts) number(e *trace.Event) uint32 { return x[uint32(e.Node)] + uint32(e.Port) }

// countRare counts an event of a kind that few frames cause.
func (c *Collector) countRare(e *trace.Event) {
	n := int(c.first.number(e))
	switch e.Kind {
	case trace.Drop:
		if c.drops[n] == nil {
			c.drops[n] = new(dropCounts)
		}
		c.drops[n][e.A&(reasons-1)]++
		c.ports[n].columns.begun |= 1 << inDrops
		c.now[n*portColumns+inDrops]++
		if trace.Reason(e.A).OfFault() {
			c.ports[n].columns.begun |= 1 << inFaults
			c.now[n*portColumns+inFaults]++
		}
	case trace.Watchdog:
		c.countStorm(e)
	case trace.Trim:
		column := outTrimmed + int(e.B&1)
		c.ports[n].columns.begun |= 1 << column
		c.now[n*portColumns+column]++
	case trace.Retry:
		c.countRetry(c.first.number(e), retry.Counter(e.A))
		return
	case trace.Deadlock:
		c.ports[n].columns.begun |= 1 << outDeadlocks
		c.now[n*portColumns+outDeadlocks]++
	case trace.Control:
		switch x := &c.faults[n]; port.ChangeKind(e.A) {
		case port.LinkDown{}.Kind(), port.Restart{}.Kind():
			if !x.down {
				x.down = true
				x.downs++
			}
			return
		case port.LinkUp{}.Kind():
			x.down = false
			return
		case port.RateChange{}.Kind():
		default:
			return
		}
		for i := range c.flows {
			c.flows[i].Size = 0 // its Span has changed
		}
		if s := c.ports[n].pausing; s != nil {
			s.quantum = unit.Rate(e.B).Serialise(wire.Quantum / 8)
		}
	case trace.Violation:
		if e.Reason() == trace.BadProgram { // the fabric has kept its promises
			break
		}
		c.violated++
		if len(c.violations) < maxViolations {
			c.violations = append(c.violations, *e)
		}
	}
	c.countAboutFlow(e)
}

// countAboutFlow counts an event of a kind that few frames cause for the flow that it names, if it
// names one.
func (c *Collector) countAboutFlow(e *trace.Event) {
	if i := int(e.Flow - firstQP); i < len(c.flows) {
		c.countOfFlow(i, e)
	} else if e.Flow != 0 {
		c.countTransfer(e)
	}
}

// countStorm counts a report of a PFC watchdog.
func (c *Collector) countStorm(e *trace.Event) {
	s := Storm{int(e.Node), port.ID(e.Port), e.Lane, int(e.B), e.At, unit.Never}
	if e.A != 0 {
		c.storms = append(c.storms, s)
		n := c.first.number(e)
		c.ports[n].columns.begun |= 1 << outStorms
		c.now[int(n)*portColumns+outStorms]++
		return
	}
	for i := range slices.Backward(c.storms) {
		if x := &c.storms[i]; x.Node == s.Node && x.Port == s.Port && x.Priority == s.Priority {
			x.To = e.At
			return
		}
	}
}

// countOfFlow counts an event of a kind that few frames cause for a flow.
func (c *Collector) countOfFlow(i int, e *trace.Event) {
	f, x, flow := &c.flows[i], &c.lives[i], &c.fabric.Flows[i]
	now := c.now[c.ofFlows+i*flowColumns:]
	switch e.Kind {
	case trace.Feedback:
		c.feedback(i, e)
	case trace.Limit:
		c.allow(i, e.At, e.A, e.B)
	case trace.FlowStart:
		x.active = append(x.active, Interval{e.At, unit.Never})
		f.Begin(e.At)
	case trace.FlowStop:
		if n := len(x.active); n > 0 && x.active[n-1].To == unit.Never {
			x.active[n-1].To = e.At
		}
	case trace.TransferStart:
		x.begun = append(x.begun, Transfer{PSN: e.PSN, Arrived: unit.Time(e.A), Bytes: e.B})
	case trace.TransferEnd:
		x.end(e)
	case trace.Message:
		if int(e.Node) == flow.Src {
			now[flowProbes]++
			x.columns.begun |= 1 << flowProbes
		}
	case trace.Drop:
		if e.B != 0 {
			return
		}
		now[flowDrops]++
		x.columns.begun |= 1 << flowDrops
		if e.Lane == flow.Priority { // on another lane it was an ACK, or a notification
			x.lost.add(e, f.Delivered)
			if !f.Again && trace.Reason(e.A) != trace.EgressFull {
				f.Gone++
			}
		}
		if !c.isStream(i) {
			x.lose(e.PSN)
		}
	case trace.Failure:
		x.failed = true
		c.failures = append(c.failures, Failure{Flow: i, Work: -1, QP: e.Flow, Src: flow.Src, Dst: flow.Dst,
			At: e.At, Reason: e.Reason(), Packets: e.B})
	case trace.Disorder:
		c.disordered(e)
	case trace.Window, trace.RoundTrip, trace.Retransmit, trace.Timeout, trace.Refuse:
		if c.ofStreams > 0 {
			c.tcp(i, e)
		}
	}
}

// deliver counts a data frame that has come to its destination.
func (c *Collector) deliver(e *trace.Event) {
	i := int(e.Flow - firstQP) // 0 and 1 wrap around to a number that no flow has
	if i >= len(c.flows) {
		c.countTransfer(e)
		return
	}
	f := &c.flows[i]
	_, marked, _ := trace.FrameOf(e.A)
	if f.Deliver(e.PSN, e.Bytes, marked, e.B); !f.Plain(e.At, c.lo, e.Bytes, c.patience) {
		c.unusual(i, e)
	}
	f.Delivered = max(f.Delivered, e.At)
}

// unusual counts what it means that the size of a data frame differs from the one before it in its
// flow, or that it comes after long, or has begun to come in the bin before.
func (c *Collector) unusual(i int, e *trace.Event) {
	f := &c.flows[i]
	if e.Bytes != f.Size {
		c.resize(i, e)
	}
	if e.At.Add(-f.Span) < c.lo {
		c.spread(c.ofFlows+i*flowColumns, f, e)
	}
	if e.At.Sub(f.Delivered) >= c.patience {
		c.silences = append(c.silences, Silence{Flow: i, From: f.Delivered, To: e.At, Lost: c.lives[i].lost.most(f.Delivered)})
	}
}

// feedback counts an ACK, or a notification, that a source has taken in.
func (c *Collector) feedback(i int, e *trace.Event) {
	x, now := &c.lives[i], c.now[c.ofFlows+i*flowColumns:]
	c.allow(i, e.At, e.B, now[flowTarget])
	kind, _, marked := trace.FrameOf(e.A)
	if kind == wire.Ack {
		c.flows[i].Acknowledge(e.PSN, marked)
		return
	}
	now[flowNotified]++
	now[flowFb] += trace.FbOf(e.A)
	x.columns.begun |= 1<<flowNotified | 1<<flowFb
	if kind == wire.Probe {
		now[flowAnswers]++
		x.columns.begun |= 1 << flowAnswers
	}
}
