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

// VirtualLanes is the flow control of InfiniBand. Port.VirtualLanes returns it.
type VirtualLanes struct {
	faceless
	port *Port
	all  []virtualLane // the data lanes, and then the lane of ACKs if they have one
	acks bool          // they do
	mads []mad         // packets of VL15 that wait for the link
}

func newVirtualLanes(p *Port, c *Config) *VirtualLanes {
	n := max(c.Lanes, 1)
	s := &VirtualLanes{port: p, acks: !c.AcksAsData, all: make([]virtualLane, n, n+1)}
	for lane := range s.all {
		s.all[lane].Credit = NewCredit(c.Room, 1)
	}
	if s.acks {
		s.all = append(s.all, virtualLane{Credit: NewCredit(AckRoom, ackBatch)})
	}
	return s
}

func (c *VirtualLanes) lanes() *VirtualLanes { return c }

// virtualLane is the flow control of a lane.
type virtualLane struct {
	Credit
	due unit.Time // when its next flow control packet is due, or owed; Port.owed is the first of all lanes
}

// owed is the due time of a flow control packet that leaves as soon as the link is idle.
const owed unit.Time = -1

// Number returns how many lanes the link has, and whether the last of them is the lane of ACKs.
func (c *VirtualLanes) Number() (n int, acks bool) { return len(c.all), c.acks }

// Used returns the occupancy of a lane's receive buffer in blocks.
func (c *VirtualLanes) Used(lane uint8) int { return c.all[lane].Used() }

// Room returns how many blocks a lane's receive buffer has.
func (c *VirtualLanes) Room(lane uint8) int { return c.all[lane].Room() }

// HasRoom reports whether the given number of blocks would fit into a lane's receive buffer.
func (c *VirtualLanes) HasRoom(lane uint8, blocks int) bool {
	return c.Used(lane)+blocks <= c.Room(lane)
}

func (c *VirtualLanes) maySend(now unit.Time, f *wire.Frame, n unit.Size) Answer {
	p := c.port
	if p.faulty {
		if a := p.faults.permits(now, f, n, p.Down()); a.Block != Open {
			return a
		}
	}
	switch {
	case int(f.Lane) >= len(c.all): // the mapping of service levels leads nowhere
	case c.all[f.Lane].MaySend(f.Blocks()):
		return Answer{Open, now}
	case p.Down(): // there is no credit then
		return Answer{Down, unit.Never}
	}
	return Answer{NoCredit, unit.Never}
}

func (c *VirtualLanes) sends(_ unit.Time, f *wire.Frame, _ unit.Size) (left int) {
	return c.all[f.Lane].Sent(f.Blocks())
}

func (c *VirtualLanes) receive(now unit.Time, a *Arrival) (pass bool) {
	p := c.port
	if (p.faulty || a.Head < p.since) && p.loses(now, a) {
		return false
	}
	f := &a.Frame
	if int(f.Lane) >= len(c.all) {
		return c.receiveMAD(now, a)
	}
	lane := &c.all[f.Lane]
	if f.Kind.Uncredited() {
		if f.Kind == wire.Management {
			return c.receiveMAD(now, a)
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

func (c *VirtualLanes) free(now unit.Time, f *wire.Frame) {
	p, lane, n := c.port, &c.all[f.Lane], f.Blocks()
	if p.faulty && f.Lane == DataLane {
		n -= p.faults.withdraw(&lane.Credit, n)
	}
	if lane.Freed(n) {
		lane.due, p.owed = owed, owed
	}
	p.rec.Release(now, uint16(p.id), f, int64(lane.Used()))
}

func (c *VirtualLanes) send(now unit.Time) (again unit.Time) {
	p := c.port
	if p.faulty {
		if at, idle := p.controlRetry(now); !idle {
			c.owe(now) // it waits for the link now, and for no instant that has passed
			return at
		}
	}
	again = unit.Never
	if p.Down() {
		return again
	}
	next, lanes := unit.Never, c.all
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
		f := p.out.draft()
		lane.fill(f, uint8(i))
		lane.due = now.Add(p.transmitter.medium.resend)
		next = min(next, lane.due)
		p.Start(now, f, p.transmitter.medium.packet, Note{})
	}
	if len(c.mads) > 0 {
		again, next = min(again, c.sendMADs(now)), owed // of those that wait too, for Control to return when they leave
	}
	p.owed = next
	return again
}

// owe marks the lanes whose flow control packet has to be repeated as owed, so that Resend leaves
// them out.
func (c *VirtualLanes) owe(now unit.Time) {
	for i := range c.all {
		if lane := &c.all[i]; lane.due <= now {
			lane.due, c.port.owed = owed, owed
		}
	}
}

func (c *VirtualLanes) repeats() unit.Time {
	at := unit.Never
	if c.port.Down() {
		return at
	}
	for i := range c.all {
		if due := c.all[i].due; due != owed {
			at = min(at, due)
		}
	}
	return at
}

func (c *VirtualLanes) restart(now unit.Time) {
	p := c.port
	for i := range c.mads {
		p.Lost(now, &c.mads[i].frame, trace.LinkWasDown)
	}
	c.mads = c.mads[:0]
	for lane := range c.all {
		c.all[lane].restart()
		c.all[lane].due = 0
	}
	p.owed = 0
	if p.faulty { // nothing is promised any more
		data := &c.all[DataLane]
		data.room -= int32(p.faults.take(int(data.room - data.used)))
	}
}

func (c *VirtualLanes) empty(now unit.Time) {
	p := c.port
	for lane := range c.all {
		if c := &c.all[lane]; c.used > 0 {
			c.used = 0
			p.rec.Release(now, uint16(p.id), &wire.Frame{Lane: uint8(lane)}, 0)
		}
	}
}
