package port

import (
	"math"

	"fabemu/wire"
)

// account is the arithmetic of credits of one virtual lane or channel, both directions of it. InfiniBand and
// Ultra Ethernet send the same counters under other names:
//
//	           InfiniBand (IBTA Volume 1, 7.9.4)               Ultra Ethernet (5.2)
//	consumed   FCTBS, total blocks sent                        S_CC, credits consumed
//	limit      the last FCCL of the peer                       S_CF and the configured limit, CL
//	received   ABR, adjusted blocks received                   R_CC, credits consumed
//	used       blocks of these that are still in our buffer    R_CC - R_CF
//
// The counters are cyclic and absolute. A message from the sender carries consumed, which the peer takes for its
// received; one from the receiver carries how far the peer may go: whatever was lost before, the two agree again.
type account[N uint16 | uint32] struct {
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
func (a *account[N]) last() N {
	if most := uint32(wire.CreditModulus - 1); uint32(^N(0)) > most {
		return N(most)
	}
	return modulus - 1
}

// restart sets the counters to zero, as link initialisation does. The content of the buffer stays there.
func (a *account[N]) restart() { *a = account[N]{used: a.used, room: a.room} }

// ahead returns how many credits are left after n more. ok is false if the limit is behind that: half of the
// counters' range counts as behind.
func (a *account[N]) ahead(n int) (left N, ok bool) {
	last := a.last()
	left = (a.limit - a.consumed - N(n)) & last
	return left, a.up && left <= last/2+1
}

// MaySend reports whether the peer has room for n blocks.
func (a *account[N]) MaySend(n int) bool {
	_, ok := a.ahead(n)
	return ok
}

// Left returns how many blocks may still be sent. An old flow control packet can leave the limit behind the blocks
// that were sent; then there is no credit.
func (a *account[N]) Left() int {
	if left, ok := a.ahead(0); ok {
		return int(left)
	}
	return 0
}

// Sent debits n blocks and returns how many may still be sent. It panics if there is no credit for them, because
// then the caller has not asked MaySend.
func (a *account[N]) Sent(n int) (left int) {
	rest, ok := a.ahead(n)
	if !ok {
		panic("port: sent without credit")
	}
	a.consumed = (a.consumed + N(n)) & a.last()
	return int(rest)
}

// Received accounts for n blocks that have arrived and must be stored. If there is no room it returns false and
// leaves the buffer as it is: the peer has broken the promise that makes the link lossless.
func (a *account[N]) Received(n int) bool {
	a.received = (a.received + N(n)) & a.last()
	if n > int(a.room-a.used) {
		return false
	}
	a.used += int32(n)
	return true
}

// free takes n blocks out of the buffer.
func (a *account[N]) free(n int) {
	if n > int(a.used) {
		panic("port: freed more than was stored")
	}
	a.used -= int32(n)
}

// Used returns the occupancy of the buffer in blocks.
func (a *account[N]) Used() int { return int(a.used) }

// Room returns the capacity of the buffer in blocks.
func (a *account[N]) Room() int { return int(a.room) }

// Credit is the flow control of one virtual lane of InfiniBand, in blocks of 64 bytes (IBTA Volume 1, 7.9.4): an
// account, and the packets that keep both ends in step. A flow control packet carries FCTBS, and the sum of ABR and
// our free room, which becomes the peer's limit.
type Credit struct {
	account[uint16]
	fresh uint16 // blocks freed since the peer was last notified, up to the most that fits
	batch uint16 // notify the peer when fresh reaches this
}

// NewCredit returns the flow control of a lane with a receive buffer of room blocks. The peer is notified once at
// least batch blocks have been freed.
func NewCredit(room, batch int) Credit {
	return Credit{account[uint16]{room: int32(min(room, math.MaxInt32))}, 0, uint16(max(batch, 1))}
}

// restart sets the counters to zero, as link initialisation does. The content of the buffer stays there.
func (c *Credit) restart() {
	c.account.restart()
	c.fresh = 0
}

// Freed returns n blocks of the buffer to the peer. It reports whether the peer must be notified now.
func (c *Credit) Freed(n int) bool {
	c.free(n)
	c.fresh = uint16(min(int(c.fresh)+n, math.MaxUint16))
	return c.fresh >= c.batch
}

// Receive takes in a flow control packet of the peer. It returns false if the operand of the packet is reserved, so
// that the packet must be discarded.
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

// Packet returns the flow control packet to send now. It asks for initialisation until the peer has answered.
func (c *Credit) Packet(lane uint8) wire.Frame {
	c.fresh = 0
	op := wire.OpNormal
	if !c.up {
		op = wire.OpInit
	}
	limit := (c.received + uint16(min(c.room-c.used, maxAdvertised))) % modulus
	return wire.Frame{Kind: wire.FlowControl, Lane: lane, Part: wire.PartOf(wire.CreditPart{Op: op, FCTBS: c.consumed, FCCL: limit})}
}
