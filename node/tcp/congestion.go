package tcp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// congestion is the state of congestion control, in bytes.
type congestion struct {
	cwnd      uint64
	threshold uint64 // ssthresh
	grown     uint64 // bytes that were acknowledged since cwnd grew, in congestion avoidance
	copies    int    // duplicate ACKs in a row
	recovery  bool   // fast recovery continues
	recover   uint64 // the position that ends it, or before which none begins; RFC 6582, section 3.2
	partial   bool   // a partial ACK has come in it
	lost      bool   // the segment at una is to be retransmitted
	reduced   bool   // cwnd was halved by a mark, and CWR is owed
	marked    uint64 // marks of bytes below are nothing new
	timeouts  uint64 // the position of the last timeout, and one more
	told      [2]uint64
	why       trace.Reason // of the segment that is retransmitted now
	before    uint64       // una before the last ACK of something new
	fraction               // DCTCP
}

// duplicates is how many duplicate ACKs show a loss (RFC 5681, section 3.2; DupThresh of RFC
// 6675).
const duplicates = 3

// recovers reports whether fast recovery uses the blocks that the receiver has.
func (s *Sender) recovers() bool { return s.recovery && s.peerSACK }

// allowed returns how much may be in flight now, beyond una.
func (s *Sender) allowed(now unit.Time) uint64 {
	// RFC 5681, section 4.1: after a timeout's time without a segment, cwnd is no more than
	// the initial window.
	if data, _ := s.reach(); s.nxt == s.una && s.nxt < data && s.idle != unit.Never && now.Sub(s.idle) > s.rto {
		if first := s.p.initialWindow(uint32(s.mss)); s.cwnd > first {
			s.cwnd, s.grown = first, 0
			s.changed(now)
		}
	}
	if s.recovers() {
		if free := s.cwnd - min(s.cwnd, s.pipe()); free >= s.mss {
			return s.nxt - s.una + free
		}
		return s.nxt - s.una
	}
	if !s.recovery && s.copies > 0 && s.copies < duplicates {
		return s.cwnd + uint64(s.copies)*s.mss // limited transmit (RFC 3042)
	}
	return s.cwnd
}

// again returns the part that is to be sent once more before anything else.
func (s *Sender) again() (span, bool) {
	if s.lost {
		return span{left: s.una, right: min(s.una+s.mss, s.top)}, true
	}
	if s.recovers() && s.cwnd >= s.pipe()+s.mss {
		return s.board.lostAfter(s.una, s.mss)
	}
	return span{}, false
}

// changed reports cwnd and the threshold if they are others than were last reported.
func (s *Sender) changed(now unit.Time) {
	if is := [2]uint64{s.cwnd, s.threshold}; is != s.told {
		s.told = is
		threshold := int64(-1)
		if s.threshold != endless {
			threshold = int64(s.threshold)
		}
		s.report(now, trace.Event{Kind: trace.Window, PSN: s.sequence(s.una), A: int64(s.cwnd), B: threshold})
	}
}

// half returns the threshold after a loss (RFC 5681, equation (4)).
func (s *Sender) half(flight uint64) uint64 { return max(flight/2, 2*s.mss) }

// acknowledge takes in an ACK of all up to a position, una at least; with update it
// has changed the window.
func (s *Sender) acknowledge(now unit.Time, g *wire.Segment, ack uint64, update bool) {
	flight := s.nxt - s.una
	news, nxt := ack-s.una, s.nxt
	if news > 0 { // RFC 8257, section 3.3: alpha (steps 5 to 7) comes before the window (step 9)
		nxt = s.board.skip(max(nxt, ack))
		s.observe(&s.p, ack, news, nxt, g.Flags&wire.ECE != 0)
	}
	if s.mark && g.Flags&wire.ECE != 0 && ack > s.marked {
		s.echoed(now, flight)
	}
	if news == 0 {
		// RFC 5681, section 2: the conditions of a duplicate ACK; by RFC 6675, that it reports
		// something new that the receiver has.
		copies := !update
		if s.peerSACK {
			copies = s.board.news
		}
		if copies && s.top > s.una && g.Flags&wire.FIN == 0 && !s.probe {
			s.copy(flight)
		}
		s.changed(now)
		return
	}
	s.before, s.una, s.nxt = s.una, ack, nxt
	s.top = max(s.top, s.nxt)
	for _, ok := s.more.pop(ack); ok; _, ok = s.more.pop(ack) {
	}
	s.board.cut(ack)
	s.measure(now, ack)
	s.lost = false
	first := false
	switch {
	case !s.recovery:
		s.copies = 0
		// Not while something else than cwnd limits, nor by an echo of a mark (RFC 3168, section
		// 6.1.2).
		if 2*flight > s.cwnd && !(s.mark && g.Flags&wire.ECE != 0) {
			s.grow(news)
		}
	case ack >= s.recover || s.p.Recovery == Reno:
		s.recovery, s.copies = false, 0
		s.cwnd = s.threshold
		if s.p.Recovery == NewReno { // RFC 6582, section 3.2, (3), the first choice
			s.cwnd = min(s.threshold, max(s.nxt-s.una, s.mss)+s.mss)
		}
	case s.peerSACK:
	default: // a partial ACK
		first = !s.partial
		s.partial, s.lost, s.why = true, true, trace.PartialACK
		s.cwnd -= min(s.cwnd, news)
		if news >= s.mss {
			s.cwnd += s.mss
		}
		s.cwnd = max(s.cwnd, s.mss)
	}
	switch {
	case s.nxt == s.una: // RFC 6298, (5.2)
		s.expires = unit.Never
	case !s.recovery || first || s.peerSACK || s.p.Steady: // (5.3); in recovery as RFC 6582, section 4, has it
		s.arm(now)
	}
	s.changed(now)
}

// grow lets cwnd grow by the acknowledged bytes (RFC 5681, section 3.1).
func (s *Sender) grow(news uint64) {
	if s.cwnd < s.threshold {
		s.cwnd += min(news, s.mss)
		return
	}
	// "The RECOMMENDED way to increase cwnd during congestion avoidance is to count the number
	// of bytes that have been acknowledged by ACK segments for new data."
	if s.grown += news; s.grown >= s.cwnd {
		s.grown -= s.cwnd
		s.cwnd += s.mss
	}
}

// copy takes in a duplicate ACK.
func (s *Sender) copy(flight uint64) {
	s.copies++
	switch {
	case s.recovery && !s.peerSACK:
		s.cwnd += s.mss
		return
	case s.recovery:
		return
	case s.copies < duplicates && !(s.peerSACK && s.board.isLost(s.una, s.mss)):
		return
	case s.peerSACK:
		if s.una < s.recover { // RFC 6675, section 5.1
			return
		}
	case s.una <= s.recover && (s.cwnd <= s.mss || s.una-s.before > 4*s.mss):
		// RFC 6582, section 3.2, (2): the duplicates may be of segments that were retransmitted. By
		// the heuristic of section 4.1 they are not if the last ACK has not gone far.
		return
	}
	if limited := uint64(min(s.copies-1, duplicates-1)) * s.mss; flight > limited {
		flight -= limited // segments of limited transmit does not count (RFC 3042)
	}
	s.recovery, s.partial, s.lost, s.why = true, false, true, trace.DuplicateACKs
	s.recover, s.marked, s.reduced = s.top, s.top, s.mark
	s.threshold, s.grown = s.half(flight), 0
	s.cwnd = s.threshold + duplicates*s.mss
	if s.peerSACK {
		s.cwnd, s.board.highest = s.threshold, 0
	}
}

// echoed takes in a mark: cwnd is lowered once in a round trip (RFC 3168, section 6.1.2).
func (s *Sender) echoed(now unit.Time, flight uint64) {
	s.marked = s.top
	if s.recovery {
		return
	}
	s.threshold, s.grown = s.afterMark(flight), 0
	s.cwnd, s.reduced = s.threshold, true
	s.changed(now)
}

// timeout begins again behind the acknowledged bytes (RFC 5681, section 3.1; RFC 6582, section
// 3.2, (4)).
func (s *Sender) timeout(now unit.Time) {
	if s.timeouts != s.una+1 { // "the value of ssthresh is held constant" for the same segment
		// "No more than" half of the flight: in a recovery, much of that has arrived, and the
		// threshold was halved when it began.
		threshold := s.half(s.nxt - s.una)
		if s.recovery {
			threshold = min(threshold, s.threshold)
		}
		s.threshold = threshold
	}
	s.timeouts = s.una + 1
	s.cwnd, s.grown = s.mss, 0
	s.recovery, s.copies, s.lost, s.why = false, 0, false, trace.TimerExpired
	s.recover, s.marked, s.reduced = s.top, s.top, s.mark
	s.board.forget() // the receiver may have thrown away its blocks (RFC 2018, section 8)
	s.nxt = s.una
	s.changed(now)
}
