package node

import (
	"math/bits"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// lanes holds the virtual lanes of an InfiniBand endpoint with several data lanes.
type lanes struct {
	slToVL  port.SLToVL
	arbiter *port.Arbiter
	data    int // lanes for data
	acks    bool
}

// noLane is the result of choose if no lane may send or must be asked.
const noLane = 0xFF

// makeLanes makes the queues of an endpoint and, if there are several data lanes, the lanes.
// Sources may then wait on any of them.
func (e *Endpoint) makeLanes(c *port.Config) {
	e.own = make([]queue[wire.Frame], port.Priorities)
	if c.FlowControl == port.Credits && c.Lanes > 1 {
		e.own = make([]queue[wire.Frame], port.MaxDataLanes+1)
		e.lanes = &lanes{slToVL: c.SLToVL, arbiter: port.NewArbiter(c.Arbitration, c.Lanes), data: c.Lanes, acks: !c.AcksAsData}
		e.addLane(port.ManagementLane)
	}
}

// ackLane returns the lane of a flow's ACKs if there are several data lanes, or if ACKs are sent
// like data.
func (e *Endpoint) ackLane(s *sink) uint8 {
	switch {
	case e.lanes == nil:
		return port.DataLane
	case s.acksAsData:
		return e.lanes.slToVL.Of(s.ackSL)
	}
	return uint8(e.lanes.data)
}

// choose returns the lane to serve among those on which frames wait, a bit each: if the link is
// idle, the one that arbitration chooses among those that can send. A lane that cannot send is
// returned so that its frames learn the reason; usual is the first of them.
func (e *Endpoint) choose(now unit.Time, some uint16, usual uint8) uint8 {
	if e.port.Transmitter().Free() > now {
		return usual
	}
	can := uint16(0)
	for left := some; left != 0; left &= left - 1 {
		lane := bits.TrailingZeros16(left)
		if f, n := e.front(now, lane); e.port.MaySendIdle(now, f, n).Block == port.Open {
			can |= 1 << lane
		}
	}
	if e.lanes.acks && can>>e.lanes.data&1 == 1 {
		return uint8(e.lanes.data)
	}
	if lane, ok := e.lanes.arbiter.Next(can); ok {
		return lane
	}
	return uint8(bits.Len16(some&^can) - 1)
}

// front returns the first waiting frame of a lane, and its length on the link.
func (e *Endpoint) front(now unit.Time, lane int) (*wire.Frame, unit.Size) {
	if e.owesControl>>lane&1 == 1 {
		f := e.own[lane].front()
		return f, e.port.Framing().Length(f)
	}
	s, f := e.ready[lane].first, e.draft
	*f = s.frame
	return f, s.complete(now, f)
}

// arbitrated accounts for a sent frame if there are several data lanes.
func (e *Endpoint) arbitrated(f *wire.Frame) {
	if int(f.Lane) < e.lanes.data {
		e.lanes.arbiter.Sent(f.Blocks())
	}
}

// changeLanes gives the service levels other lanes, if there are several data lanes. Waiting
// packets move to their new lanes; ACKs keep theirs.
func (e *Endpoint) changeLanes(t port.SLToVL) {
	if e.lanes == nil {
		return
	}
	e.lanes.slToVL = t
	var moved chain
	for lane := range e.ready {
		for !e.ready[lane].empty() {
			moved.push(e.ready[lane].pop())
		}
	}
	e.waiting = 0
	for i := range e.sources {
		s := &e.sources[i]
		s.Lane = t.Of(s.SL)
		s.frame.Lane = s.Lane
	}
	for !moved.empty() {
		s := moved.pop()
		e.ready[s.Lane].push(s)
		e.waiting |= 1 << (s.Lane % 16)
	}
}
