package uet

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Verdict is what becomes of a packet that has come.
type Verdict uint8

// The verdicts.
const (
	InTurn    Verdict = iota // it is the next one
	Ahead                    // it is accepted ahead of its turn
	Duplicate                // it has come before
	Refused                  // it is too far ahead, or out of order: it is dropped
)

// Packet is what the header of a packet says.
type Packet struct {
	PSN    uint32
	Length unit.Size // on the link
	Marked bool
	Asks   bool // for an ACK
	Again  bool // it is a retransmission
}

// Answer is an answer to a packet. The zero value is none.
type Answer struct {
	Sends bool
	Code  uint8 // of a NACK; 0: it is an ACK
	Packet
	probed bool
	opaque int16
	base   uint32 // of the bitmap of the ACK of a probe
}

// Receiver is the state of a packet delivery context at its destination.
type Receiver struct {
	Next uint32 // the PSN of the oldest packet that is missing

	p       *Params
	seen    []uint64 // bits of the packets from Next on that have come, by PSN modulo their number, a power of two
	kept    int      // of them
	unacked unit.Size
	began   bool // a packet has come
	asks    bool // an ACK is to follow when no packet is missing any more
	nacked  bool // ordered: a NACK for the missing packet was sent
}

// NewReceiver returns the receiver of a context.
func NewReceiver(p *Params) Receiver { return Receiver{p: p} }

// Ended returns the receiver of a context that has ended before a PSN: all packets are duplicates.
func Ended(p *Params, next uint32) Receiver { return Receiver{p: p, Next: next, began: true} }

// Kept returns how many packets wait for an earlier one.
func (r *Receiver) Kept() int { return r.kept }

// has reports whether a packet from Next on has come.
func (r *Receiver) has(psn uint32) bool {
	return psn-r.Next < uint32(64*len(r.seen)) && *r.word(psn)>>(psn&63)&1 == 1
}

func (r *Receiver) word(psn uint32) *uint64 { return &r.seen[psn>>6&uint32(len(r.seen)-1)] }

// grow makes room for packets that are so far ahead.
func (r *Receiver) grow(ahead uint32) {
	old := *r
	n := max(1, len(r.seen))
	for uint32(64*n) <= ahead+64 { // the word of Next may be that of the last packet, too
		n *= 2
	}
	if n == len(r.seen) {
		return
	}
	r.seen = make([]uint64, n)
	for i := range uint32(64 * len(old.seen)) {
		if old.has(r.Next + i) {
			*r.word(r.Next + i) |= 1 << ((r.Next + i) & 63)
		}
	}
}

// Receive takes in a data packet that has come whole. It returns how far it is ahead of its turn.
func (r *Receiver) Receive(p Packet) (v Verdict, ahead uint32, a Answer) {
	ahead = p.PSN - r.Next
	if ahead>>31 == 1 || r.has(p.PSN) {
		r.unacked = 0
		return Duplicate, ahead, Answer{Sends: true, Packet: p}
	}
	if ahead >= uint32(r.p.Range) {
		return Refused, ahead, Answer{Sends: true, Code: wire.NackOutOfWindow, Packet: p}
	}
	if r.p.Delivery == Ordered && ahead > 0 {
		if !r.nacked {
			a = Answer{Sends: true, Code: wire.NackOutOfOrder, Packet: p}
		}
		r.nacked = true
		return Refused, ahead, a
	}
	r.unacked += p.Length
	at := !r.began || p.Marked || p.Asks || r.unacked >= r.p.AckBytes
	r.began, r.asks = true, r.asks || p.Asks
	if ahead > 0 {
		r.grow(ahead)
		*r.word(p.PSN) |= 1 << (p.PSN & 63)
		r.kept++
		v = Ahead
	} else {
		r.nacked = false
		for r.Next++; r.kept > 0 && r.has(r.Next); r.Next++ {
			*r.word(r.Next) &^= 1 << (r.Next & 63)
			r.kept--
		}
		if r.kept == 0 && r.asks {
			at, r.asks = true, false
		}
	}
	if at {
		r.unacked = 0
	}
	return v, ahead, Answer{Sends: at, Packet: p}
}

// Trimmed takes in the header of a packet that a switch has trimmed: it is asked for again, unless
// it has come.
func (r *Receiver) Trimmed(p Packet, lastHop bool) Answer {
	a := Answer{Sends: true, Packet: p}
	switch {
	case (p.PSN-r.Next)>>31 == 1 || r.has(p.PSN):
		a.Marked = false
	case lastHop:
		a.Code = wire.NackTrimmedLastHop
	default:
		a.Code = wire.NackTrimmed
	}
	return a
}

// Probed takes in a probe.
func (r *Receiver) Probed(f *wire.Frame) Answer {
	return Answer{Sends: true, Packet: Packet{PSN: f.PSN}, probed: true, opaque: f.UET().Offset, base: f.UET().Base}
}

// Fill fills in f, a frame of Params.Control, what an answer says. Its addresses, its flow and its
// path are the caller's matter.
func (r *Receiver) Fill(f *wire.Frame, a *Answer) {
	x := f.UET()
	f.BECN = a.Marked
	if a.Again {
		x.Flags |= wire.UETRetransmitted
	}
	if a.Code != 0 {
		f.PSN, x.Code = a.PSN, a.Code
		return
	}
	f.PSN = r.Next - 1
	switch x.Offset = short(a.PSN - f.PSN); {
	case a.probed:
		x.Flags, x.Offset = x.Flags|wire.UETProbed, a.opaque
	}
	if r.p.Delivery == Ordered {
		return
	}
	base := a.PSN
	switch {
	case a.probed:
		base = a.base
	case a.Marked || a.Asks:
	default:
		if base = a.PSN - 63; int32(base-(r.Next+1)) < 0 {
			base = r.Next + 1
		}
	}
	x.Flags |= wire.UETState
	x.BitmapOffset = short(base - f.PSN)
	x.Bitmap, x.OutOfOrder = r.bits(f.PSN+uint32(int32(x.BitmapOffset))), uint16(min(r.kept, 1<<16-1))
}

// short returns a difference of PSNs as far as a header has room for it.
func short(d uint32) int16 { return int16(min(max(int32(d), -1<<15), 1<<15-1)) }

// bits returns which of 64 packets from a PSN on have come.
func (r *Receiver) bits(from uint32) (b uint64) {
	if behind := r.Next - from; int32(behind) > 0 { // these have come
		if behind >= 64 {
			return 1<<64 - 1
		}
		return 1<<behind - 1 | r.bits(r.Next)<<behind
	}
	room := uint32(64 * len(r.seen))
	ahead := from - r.Next
	if ahead >= room || r.kept == 0 {
		return 0
	}
	b = *r.word(from) >> (from & 63)
	if from&63 != 0 {
		b |= *r.word(from + 64) << (64 - from&63)
	}
	if left := room - ahead; left < 64 {
		b &= 1<<left - 1
	}
	return b
}
