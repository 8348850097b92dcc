package port

import (
	"math"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// counters are the arithmetic of credits of one virtual lane or channel, both directions of it.
// InfiniBand and Ultra Ethernet send the same counters under other names:
//
//	           InfiniBand (IBTA Volume 1, 7.9.4)               Ultra Ethernet (5.2)
//	consumed   FCTBS, total blocks sent                        S_CC, credits consumed
//	limit      the last FCCL of the peer                       S_CF and the configured limit, CL
//	received   ABR, adjusted blocks received                   R_CC, credits consumed
//	used       blocks of these that are still in our buffer    R_CC - R_CF
//
// The counters are cyclic and absolute. A message from the sender carries consumed, which the peer
// takes for its received; one from the receiver carries how far the peer may go: whatever was lost
// before, the two agree again.
type counters[N uint16 | uint32] struct {
	used, room int32
	consumed   N // sender
	limit      N
	received   N    // receiver
	up         bool // the limit is known
}

// modulus is the range of InfiniBand's block counters, which have 12 bits (IBTA Volume 1, 7.9.4.3).
const modulus = 4096

// maxAdvertised is the most room that a flow control packet can offer: half of
// the counters' range, so that "behind" and "ahead" can be distinguished.
const maxAdvertised = modulus / 2

// last returns the highest value of the counters: 12 bits of InfiniBand, 20 of Ultra Ethernet.
func (a *counters[N]) last() N {
	if most := uint32(wire.CreditModulus - 1); uint32(^N(0)) > most {
		return N(most)
	}
	return modulus - 1
}

// restart sets the counters to zero, as link initialisation does. The content of the buffer stays
// there.
func (a *counters[N]) restart() { *a = counters[N]{used: a.used, room: a.room} }

// ahead returns how many credits are left after n more. ok is false if the limit is behind that:
// half of the counters' range counts as behind.
func (a *counters[N]) ahead(n int) (left N, ok bool) {
	last := a.last()
	left = (a.limit - a.consumed - N(n)) & last
	return left, a.up && left <= last/2+1
}

// MaySend reports whether the peer has room for n blocks.
func (a *counters[N]) MaySend(n int) bool {
	_, ok := a.ahead(n)
	return ok
}

// Left returns how many blocks may still be sent. An old flow control packet can leave the limit
// behind the blocks that were sent; then there is no credit.
func (a *counters[N]) Left() int {
	if left, ok := a.ahead(0); ok {
		return int(left)
	}
	return 0
}

// Sent debits n blocks and returns how many may still be sent. It panics if there is no credit for
// them, because then the caller has not asked MaySend.
func (a *counters[N]) Sent(n int) (left int) {
	rest, ok := a.ahead(n)
	if !ok {
		panic("port: sent without credit")
	}
	a.consumed = (a.consumed + N(n)) & a.last()
	return int(rest)
}

// Received accounts for n blocks that have arrived and must be stored. If there is no room it
// returns false and leaves the buffer as it is: the peer has broken the promise that makes the link
// lossless.
func (a *counters[N]) Received(n int) bool {
	a.received = (a.received + N(n)) & a.last()
	if n > int(a.room-a.used) {
		return false
	}
	a.used += int32(n)
	return true
}

// free takes n blocks out of the buffer.
func (a *counters[N]) free(n int) {
	if n > int(a.used) {
		panic("port: freed more than was stored")
	}
	a.used -= int32(n)
}

// Used returns the occupancy of the buffer in blocks.
func (a *counters[N]) Used() int { return int(a.used) }

// Room returns the capacity of the buffer in blocks.
func (a *counters[N]) Room() int { return int(a.room) }

// Credit is the flow control of one virtual lane of InfiniBand, in blocks of 64 bytes (IBTA Volume
// 1, 7.9.4): counters, and the packets that keep both ends in step. A flow control packet carries
// FCTBS, and the sum of ABR and our free room, which becomes the peer's limit.
type Credit struct {
	counters[uint16]
	fresh uint16 // blocks freed since the peer was last notified, up to the most that fits
	batch uint16 // notify the peer when fresh reaches this
}

// NewCredit returns the flow control of a lane with a receive buffer of room blocks. The peer is
// notified once at least batch blocks have been freed.
func NewCredit(room, batch int) Credit {
	return Credit{counters[uint16]{room: int32(min(room, math.MaxInt32))}, 0, uint16(max(batch, 1))}
}

// restart sets the counters to zero, as link initialisation does. The content of the buffer stays
// there.
func (c *Credit) restart() {
	c.counters.restart()
	c.fresh = 0
}

// Freed returns n blocks of the buffer to the peer. It reports whether the peer must be notified
// now.
func (c *Credit) Freed(n int) bool {
	c.free(n)
	c.fresh = uint16(min(int(c.fresh)+n, math.MaxUint16))
	return c.fresh >= c.batch
}

// Receive takes in a flow control packet of the peer. It returns false if the operand of the packet
// is reserved, so that the packet must be discarded.
func (c *Credit) Receive(f *wire.Frame) bool {
	sent := f.Credit()
	if sent.Op != wire.OpNormal && sent.Op != wire.OpInit {
		return false
	}
	c.received = sent.FCTBS % modulus
	c.limit = sent.FCCL % modulus
	c.up = true
	return true
}

// Packet returns the flow control packet to send now. It asks for initialisation until the peer has
// answered.
func (c *Credit) Packet(lane uint8) (f wire.Frame) {
	c.fill(&f, lane)
	return f
}

// fill makes f, which is empty, that packet.
func (c *Credit) fill(f *wire.Frame, lane uint8) {
	c.fresh = 0
	f.Kind, f.Lane = wire.FlowControl, lane
	part := f.Credit()
	part.Op, part.FCTBS = wire.OpNormal, c.consumed
	if !c.up {
		part.Op = wire.OpInit
	}
	part.FCCL = (c.received + uint16(min(c.room-c.used, maxAdvertised))) % modulus
}

// credits is the flow control of InfiniBand.
type credits struct {
	lanes []virtualLane // the data lanes, and then the lane of ACKs if they have one
	acks  bool          // they do
	mads  []mad         // packets of VL15 that wait for the link
}

// virtualLane is the flow control of a lane.
type virtualLane struct {
	Credit
	due unit.Time // when its next flow control packet is due, or owed; Port.owed is the first of all lanes
}

// owed is the due time of a flow control packet that leaves as soon as the link is idle.
const owed unit.Time = -1

// Lanes returns how many lanes the link has, and whether the last of them is the lane of ACKs. On
// Ethernet there are none.
func (p *Port) Lanes() (n int, acks bool) {
	if c, ok := p.control.(*credits); ok {
		return len(c.lanes), c.acks
	}
	return 0, false
}

func (p *Port) lane(lane uint8) *Credit { return &p.control.(*credits).lanes[lane].Credit }

// Used returns the occupancy of a lane's receive buffer in blocks, on InfiniBand.
func (p *Port) Used(lane uint8) int { return p.lane(lane).Used() }

// Room returns how many blocks a lane's receive buffer has, on InfiniBand.
func (p *Port) Room(lane uint8) int { return p.lane(lane).Room() }

// HasRoom reports whether the given number of blocks would fit into a lane's receive buffer, on
// InfiniBand.
func (p *Port) HasRoom(lane uint8, blocks int) bool {
	c := p.lane(lane)
	return c.Used()+blocks <= c.Room()
}

func (c *credits) maySend(p *Port, now unit.Time, f *wire.Frame, n unit.Size) Answer {
	if p.faulty {
		if a := p.faults.permits(now, f, n, p.Down()); a.Block != Open {
			return a
		}
	}
	switch {
	case int(f.Lane) >= len(c.lanes): // the mapping of service levels leads nowhere
	case c.lanes[f.Lane].MaySend(f.Blocks()):
		return Answer{Open, now}
	case p.Down(): // there is no credit then
		return Answer{Down, unit.Never}
	}
	return Answer{NoCredit, unit.Never}
}

func (c *credits) receive(p *Port, now unit.Time, a *Arrival) (pass bool) {
	if (p.faulty || a.Head < p.since) && p.loses(now, a) {
		return false
	}
	f := &a.Frame
	if int(f.Lane) >= len(c.lanes) {
		return c.receiveMAD(p, now, a)
	}
	lane := &c.lanes[f.Lane]
	if f.Kind.Uncredited() {
		if f.Kind == wire.Management {
			return c.receiveMAD(p, now, a)
		}
		if !lane.Receive(f) {
			p.Lost(now, f, trace.BadFlowControl)
			return false
		}
		p.rec.Arrive(now, uint16(p.id), f, uint32(a.Length), int64(lane.Used()))
		return false
	}
	if !lane.Received(f.Blocks()) {
		p.rec.Frame(now, trace.Violation, uint16(p.id), f, uint32(a.Length), int64(trace.Overrun), int64(lane.Used()))
		p.Lost(now, f, trace.Overrun)
		return false
	}
	p.rec.Arrive(now, uint16(p.id), f, uint32(a.Length), int64(lane.Used()))
	return true
}

func (c *credits) free(p *Port, now unit.Time, f *wire.Frame) {
	lane, n := &c.lanes[f.Lane], f.Blocks()
	if p.faulty && f.Lane == DataLane {
		n -= p.faults.withdraw(&lane.Credit, n)
	}
	if lane.Freed(n) {
		lane.due, p.owed = owed, owed
	}
	p.rec.Release(now, uint16(p.id), f, int64(lane.Used()))
}

func (c *credits) send(p *Port, now unit.Time) (again unit.Time) {
	if p.faulty {
		if at, idle := p.controlRetry(now); !idle {
			c.owe(p, now) // it waits for the link now, and for no instant that has passed
			return at
		}
	}
	again = unit.Never
	if p.Down() {
		return again
	}
	next, lanes := unit.Never, c.lanes
	for i := range lanes {
		lane := &lanes[i]
		if lane.due > now {
			next = min(next, lane.due)
			continue
		}
		if p.transmitter.free > now {
			again, next = p.transmitter.free, owed
			lane.due = owed
			continue
		}
		var f wire.Frame
		lane.fill(&f, uint8(i))
		lane.due = now.Add(p.transmitter.medium.resend)
		next = min(next, lane.due)
		p.Start(now, &f, p.transmitter.medium.packet, Note{})
	}
	if len(c.mads) > 0 {
		again, next = min(again, c.sendMADs(p, now)), owed // of those that wait too, for Control to return when they leave
	}
	p.owed = next
	return again
}

// owe marks the lanes whose flow control packet has to be repeated as owed, so that Resend leaves
// them out.
func (c *credits) owe(p *Port, now unit.Time) {
	for i := range c.lanes {
		if lane := &c.lanes[i]; lane.due <= now {
			lane.due, p.owed = owed, owed
		}
	}
}

func (c *credits) repeats(p *Port) unit.Time {
	at := unit.Never
	if p.Down() {
		return at
	}
	for i := range c.lanes {
		if due := c.lanes[i].due; due != owed {
			at = min(at, due)
		}
	}
	return at
}

func (c *credits) asked() uint8 { return 0 }

func (c *credits) restart(p *Port, now unit.Time) {
	for i := range c.mads {
		p.Lost(now, &c.mads[i].frame, trace.LinkWasDown)
	}
	c.mads = c.mads[:0]
	for lane := range c.lanes {
		c.lanes[lane].restart()
		c.lanes[lane].due = 0
	}
	p.owed = 0
	if p.faulty { // nothing is promised any more
		data := &c.lanes[DataLane]
		data.room -= int32(p.faults.take(int(data.room - data.used)))
	}
}

func (c *credits) empty(p *Port, now unit.Time) {
	for lane := range c.lanes {
		if c := &c.lanes[lane]; c.used > 0 {
			c.used = 0
			p.rec.Release(now, uint16(p.id), &wire.Frame{Lane: uint8(lane)}, 0)
		}
	}
}
