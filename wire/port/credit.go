package port

import "fabemu/wire"

// modulus is the range of InfiniBand's block counters: 12 bits (IBTA Volume 1,
// 7.9.4.3).
const modulus = 4096

// maxAdvertised is the most room that a flow control packet can offer: half of
// the counters' range, so that "behind" and "ahead" can be told apart.
const maxAdvertised = modulus / 2

// Credit is the flow control of one virtual lane, both directions of it, in
// blocks of 64 bytes (IBTA Volume 1, 7.9.4).
//
// The four counters, as the specification names them:
//
//	FCTBS  total blocks sent: what we have sent since the link came up
//	limit  the last FCCL that the peer told: how far FCTBS may go
//	ABR    adjusted blocks received: what we have received
//	used   what of it is still in our buffer
//
// FCTBS and ABR are absolute. A flow control packet carries our FCTBS, which the
// peer takes for its ABR, and ABR plus our free room, which the peer takes for
// its limit: whatever was lost before, the two agree again.
type Credit struct {
	fctbs, limit uint16 // sender
	abr          uint16 // receiver
	used, room   int

	told uint16 // the last FCCL that we told the peer
	owed bool   // a flow control packet is due
	up   bool   // the peer has told us its limit
}

// NewCredit returns the flow control of a lane with a receive buffer of room
// blocks.
func NewCredit(room int) Credit { return Credit{room: room} }

// MaySend reports whether the peer has room for n blocks.
func (c *Credit) MaySend(n int) bool {
	return c.up && (c.limit-c.fctbs-uint16(n))%modulus <= maxAdvertised
}

// Left returns how many blocks may still be sent. A limit behind what was sent, as
// an old flow control packet leaves it, is no credit.
func (c *Credit) Left() int {
	left := int((c.limit - c.fctbs) % modulus)
	if !c.up || left > maxAdvertised {
		return 0
	}
	return left
}

// Sent debits n blocks. It panics when there is no credit for them: the caller
// has not asked.
func (c *Credit) Sent(n int) {
	if !c.MaySend(n) {
		panic("port: sent without credit")
	}
	c.fctbs = (c.fctbs + uint16(n)) % modulus
}

// Received accounts for n blocks that came and must be stored. It reports false,
// and accounts for nothing in the buffer, when there is no room: the peer has
// broken the promise that makes the link lossless.
func (c *Credit) Received(n int) bool {
	c.abr = (c.abr + uint16(n)) % modulus
	if c.used+n > c.room {
		return false
	}
	c.used += n
	c.owe()
	return true
}

// Freed returns n blocks of the buffer to the peer.
func (c *Credit) Freed(n int) {
	if n > c.used {
		panic("port: freed more than was stored")
	}
	c.used -= n
	c.owe()
}

// owe decides whether the peer has to be told: as soon as there is more room than
// it knows of, and what it knows of is half or less of what it could have. A peer
// that sends all it may is so told of each block that is freed, and is never kept
// by credit that it has not been told of; one that sends little costs few flow
// control packets.
func (c *Credit) owe() {
	if knows := c.known(); knows <= min(c.room, maxAdvertised)/2 && c.offer() > knows {
		c.owed = true
	}
}

// known returns how many blocks the peer may still send by what it was told.
func (c *Credit) known() int {
	if n := int((c.told - c.abr) % modulus); n <= maxAdvertised {
		return n
	}
	return 0 // it has sent more than it might
}

// offer returns how many blocks it could be told of now.
func (c *Credit) offer() int { return min(c.room-c.used, maxAdvertised) }

// Used returns the occupancy of the buffer in blocks.
func (c *Credit) Used() int { return c.used }

// Room returns the capacity of the buffer in blocks.
func (c *Credit) Room() int { return c.room }

// Told takes in a flow control packet of the peer. It reports false when its
// operand is reserved, and the packet must be discarded.
func (c *Credit) Told(f *wire.Frame) bool {
	if f.Op != wire.OpNormal && f.Op != wire.OpInit {
		return false
	}
	c.abr = f.FCTBS % modulus
	c.limit = f.FCCL % modulus
	c.up = true
	return true
}

// Tell returns the flow control packet to send now. Until the peer has answered
// it asks for initialisation.
func (c *Credit) Tell(lane uint8) wire.Frame {
	c.owed = false
	c.told = (c.abr + uint16(c.offer())) % modulus
	op := wire.OpNormal
	if !c.up {
		op = wire.OpInit
	}
	return wire.Frame{
		Kind: wire.FlowControl, Lane: lane, Op: op,
		FCTBS: c.fctbs,
		FCCL:  c.told,
	}
}
