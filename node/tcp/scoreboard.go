package tcp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// board is the scoreboard of RFC 6675: the blocks that the receiver has beyond its ACK.
type board struct {
	has     spans
	news    bool   // the last segment has reported something new
	highest uint64 // HighRxt: bytes that were retransmitted in this recovery lie below
}

// forget forgets everything.
func (b *board) forget() { b.has, b.highest = b.has[:0], 0 }

// cut forgets the acknowledged blocks.
func (b *board) cut(ack uint64) { b.has.cut(ack) }

// skip returns the first position from one on that the receiver does not have.
func (b *board) skip(at uint64) uint64 {
	for i := range b.has {
		if x := &b.has[i]; x.left <= at && at < x.right {
			return x.right
		}
	}
	return at
}

// gapEnd returns where the first part above a position begins that the receiver has.
func (b *board) gapEnd(at uint64) uint64 {
	for i := range b.has {
		if b.has[i].left > at {
			return b.has[i].left
		}
	}
	return endless
}

// sacked takes in the blocks that a segment reports. A block that is not part of the data that
// was sent and is not acknowledged is counted and left alone (RFC 2018, section 5.1).
func (s *Sender) sacked(now unit.Time, g *wire.Segment) {
	s.board.news = false
	for _, k := range g.SACK {
		if k == (wire.SACKBlock{}) {
			break
		}
		left, right := int32(k.Left-s.sequence(s.una)), int32(k.Right-s.sequence(s.una))
		x := span{left: s.una + uint64(int64(left)), right: s.una + uint64(int64(right))}
		switch {
		case left <= 0 && right <= 0 && left < right:
			continue // it came twice (RFC 2883), or is old
		case left < 0 || right <= left || x.right > s.top:
			s.refuse(now, g, trace.NeverSent)
			continue
		}
		if !s.board.has.holds(x) {
			s.board.news = true
			s.board.has.add(x)
		}
	}
}

// lostBelow returns the position below which bytes that the receiver does not have count as lost:
// IsLost of RFC 6675, section 4. Three parts of the stream lie above it, or more than two
// segments.
func (b *board) lostBelow(mss uint64) uint64 {
	bytes := uint64(0)
	for i := len(b.has) - 1; i >= 0; i-- {
		bytes += b.has[i].right - b.has[i].left
		if len(b.has)-i >= duplicates || bytes > (duplicates-1)*mss {
			return b.has[i].left
		}
	}
	return 0
}

// isLost reports whether a position counts as lost.
func (b *board) isLost(at, mss uint64) bool { return at < b.lostBelow(mss) }

// pipe returns how much is in flight (SetPipe of RFC 6675, section 4).
func (s *Sender) pipe() (n uint64) {
	lost, high := s.board.lostBelow(s.mss), min(s.board.highest, s.top)
	at := s.una
	gap := func(to uint64) {
		if to <= at {
			return
		}
		if to > max(at, lost) {
			n += to - max(at, lost) // not lost
		}
		if high := min(to, high, max(lost, at)); high > at {
			n += high - at // lost, and retransmitted
		}
	}
	for i := range s.board.has {
		gap(s.board.has[i].left)
		at = max(at, s.board.has[i].right)
	}
	gap(s.nxt)
	return n
}

// lostAfter returns the first part above una that is lost and was not retransmitted in this
// recovery (NextSeg of RFC 6675, section 4, rule 1).
func (b *board) lostAfter(una, mss uint64) (span, bool) {
	at := b.skip(max(una, b.highest))
	if at >= b.lostBelow(mss) {
		return span{}, false
	}
	return span{left: at, right: min(at+mss, b.gapEnd(at))}, true
}
