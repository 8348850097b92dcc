package port

import (
	"math"

	"fabemu/wire"
)

// modulus is the range of InfiniBand's block counters: 12 bits (IBTA Volume 1,
// 7.9.4.3).
const modulus = 4096

// maxAdvertised is the most room that a flow control packet can offer: half of
// the counters' range, so that "behind" and "ahead" can be distinguished.
const maxAdvertised = modulus / 2

// Credit is the flow control of one virtual lane, both directions of it, in
// blocks of 64 bytes (IBTA Volume 1, 7.9.4).
//
// The four counters, as the specification names them:
//
//	FCTBS  total blocks sent: the blocks that we have sent since the link came up
//	limit  the last FCCL that the peer sent: how far FCTBS may go
//	ABR    adjusted blocks received: the blocks that we have received
//	used   blocks of these that are still in our buffer
//
// FCTBS and ABR are absolute. A flow control packet carries our FCTBS, which the
// peer takes for its ABR, and ABR plus our free room, which the peer takes for
// its limit: whatever was lost before, the two agree again.
type Credit struct {
	fctbs, limit uint16 // sender
	abr          uint16 // receiver
	owed         bool   // a flow control packet is due
	up           bool   // the peer has sent its limit
	used, room   int32

	fresh uint16 // blocks freed since the peer was last notified, up to the most that fits
	batch uint16 // notify the peer when fresh reaches this
}

// NewCredit returns the flow control of a lane with a receive buffer of room
// blocks, whose peer is notified once batch blocks have been freed, at least.
func NewCredit(room, batch int) Credit {
	return Credit{room: int32(min(room, math.MaxInt32)), batch: uint16(max(batch, 1))}
}

// restart sets the counters to zero, as link initialisation does; the content of the
// buffer stays there.
func (c *Credit) restart() {
	*c = Credit{used: c.used, room: c.room, batch: c.batch}
}

// MaySend reports whether the peer has room for n blocks.
func (c *Credit) MaySend(n int) bool {
	return c.up && (c.limit-c.fctbs-uint16(n))%modulus <= maxAdvertised
}

// Left returns how many blocks may still be sent. A limit behind the blocks that were sent, as
// an old flow control packet leaves it, is no credit.
func (c *Credit) Left() int {
	left := int((c.limit - c.fctbs) % modulus)
	if !c.up || left > maxAdvertised {
		return 0
	}
	return left
}

// Sent debits n blocks, and returns how many may still be sent. It panics when there is no
// credit for them: the caller has not asked.
func (c *Credit) Sent(n int) (left int) {
	rest := (c.limit - c.fctbs - uint16(n)) % modulus
	if !c.up || rest > maxAdvertised {
		panic("port: sent without credit")
	}
	c.fctbs = (c.fctbs + uint16(n)) % modulus
	return int(rest)
}

// Received accounts for n blocks that came and must be stored. It reports false,
// and accounts for nothing in the buffer, when there is no room: the peer has
// broken the promise that makes the link lossless.
func (c *Credit) Received(n int) bool {
	c.abr = (c.abr + uint16(n)) % modulus
	if n > int(c.room-c.used) {
		return false
	}
	c.used += int32(n)
	return true
}

// Freed returns n blocks of the buffer to the peer.
func (c *Credit) Freed(n int) {
	if n > int(c.used) {
		panic("port: freed more than was stored")
	}
	c.used -= int32(n)
	c.fresh = uint16(min(int(c.fresh)+n, math.MaxUint16))
	if c.fresh >= c.batch {
		c.owed = true
	}
}

// Used returns the occupancy of the buffer in blocks.
func (c *Credit) Used() int { return int(c.used) }

// Room returns the capacity of the buffer in blocks.
func (c *Credit) Room() int { return int(c.room) }

// Receive takes in a flow control packet of the peer. It reports false when its
// operand is reserved, and the packet must be discarded.
func (c *Credit) Receive(f *wire.Frame) bool {
	sent := f.Credit()
	if sent.Op != wire.OpNormal && sent.Op != wire.OpInit {
		return false
	}
	c.abr = sent.FCTBS % modulus
	c.limit = sent.FCCL % modulus
	c.up = true
	return true
}

// Packet returns the flow control packet to send now. As long as the peer has not answered
// it asks for initialisation.
func (c *Credit) Packet(lane uint8) wire.Frame {
	c.owed, c.fresh = false, 0
	op := wire.OpNormal
	if !c.up {
		op = wire.OpInit
	}
	limit := (c.abr + uint16(min(c.room-c.used, maxAdvertised))) % modulus
	return wire.Frame{Kind: wire.FlowControl, Lane: lane, Part: wire.PartOf(wire.CreditPart{Op: op, FCTBS: c.fctbs, FCCL: limit})}
}
