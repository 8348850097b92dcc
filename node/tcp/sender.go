package tcp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Sender is TCP at the source of a flow.
//
// Next shows the segment that it would send, Sent notes that it has left, Receive takes in
// a segment that has come back, and Advance does the work that is due at Deadline. Instants never
// decrease.
type Sender struct {
	end
	more marks // where transfers end, beyond the acknowledged bytes

	greedy    bool
	closed    bool   // nothing more is written
	written   uint64 // position behind the bytes that the application has written
	una       uint64 // SND.UNA: all below is acknowledged
	nxt       uint64 // SND.NXT: the next position to send
	top       uint64 // the highest that nxt has been
	window    uint64 // SND.WND, scaled
	largest   uint64 // the largest of those
	wl2       uint64 // SND.WL2: the ACK that has set the window
	peerScale uint8
	peerSACK  bool
	fin       bool   // the receiver's FIN has come
	rcv       uint32 // RCV.NXT: the next sequence number of the receiver

	congestion
	timer
	idle  unit.Time // when the last segment with data left
	probe bool      // the timer belongs to a closed window
	due   bool      // a probe is to be sent
	board board     // the blocks that the receiver has
}

// timer is the retransmission timer and the values that it is computed from (RFC 6298).
type timer struct {
	srtt, rttvar unit.Duration // 0: nothing is measured yet
	rto          unit.Duration // as it is, doubled or not
	expires      unit.Time     // unit.Never: the timer is off
	timed        uint64        // the position whose ACK is waited for; 0: none is
	timedAt      unit.Time
	lostSYN      bool
}

// NewSender returns the source of a connection whose packets, headers included, have packet bytes
// at most. Events name the flow and the lane of who.
func NewSender(p Params, packet uint32, iss uint32, who trace.Event, rec *trace.Recorder) *Sender {
	s := &Sender{end: end{p: p, mss: uint64(segments(packet)), iss: iss, who: who, rec: rec}, written: 1}
	s.timer = timer{rto: p.InitialRTO, expires: unit.Never}
	s.threshold, s.alpha = endless, 1 // "DCTCP.Alpha, which is initialized to 1"
	if p.Threshold > 0 {
		s.threshold = uint64(p.Threshold)
	}
	s.idle = unit.Never
	return s
}

// Agree opens the connection without a handshake: both ends have equal parameters, and know them.
// The first segment has SYN and data, as with TCP Fast Open (RFC 7413), and others follow without
// waiting for an answer. An open connection stays as it is.
func (s *Sender) Agree(now unit.Time) {
	if s.state != closed {
		return
	}
	s.agreed, s.state = true, established
	s.una, s.nxt, s.top, s.wl2 = 1, 1, 1, 1
	s.rcv = answering(s.iss) + 1
	s.peerScale, s.peerSACK, s.mark = scale(s.p.ReceiveWindow), s.p.Recovery == SACK, s.p.ECN
	s.window = scaled(uint64(s.p.ReceiveWindow), s.peerScale)
	s.largest, s.cwnd = s.window, s.p.initialWindow(uint32(s.mss))
	s.changed(now)
}

// Greedy makes the application write forever, or stop.
func (s *Sender) Greedy(on bool) {
	if s.greedy && !on {
		s.written = max(s.written, s.top)
	}
	s.greedy = on
}

// Write has the application write n bytes, with which a transfer ends if last is true. It
// returns the sequence number behind them.
func (s *Sender) Write(n uint64, last bool) uint32 {
	s.written += n
	if last {
		s.more.push(s.written)
	}
	return s.sequence(s.written)
}

// Close notes that nothing more is written: FIN follows.
func (s *Sender) Close() { s.closed = true }

// Waits reports whether there is data that was never sent: a window keeps it if Next has
// nothing.
func (s *Sender) Waits() bool {
	data, _ := s.reach()
	return s.nxt < data && (s.written > 1 || s.greedy)
}

// Reach returns how many bytes have been written, and how many of them have left, SYN included.
func (s *Sender) Reach() (written, left uint64) { return s.written, s.top }

// Over reports whether both ends have closed the connection, and the receiver's FIN was answered.
func (s *Sender) Over() bool { return s.fin && !s.answer && s.una > s.written }

// sequence returns the sequence number of a position.
func (s *Sender) sequence(at uint64) uint32 { return s.iss + uint32(at) }

// reach returns the position behind the available data, and behind FIN if that may follow.
func (s *Sender) reach() (data, fin uint64) {
	switch {
	case s.greedy:
		return endless - 1, endless - 1
	case s.closed:
		return s.written, s.written + 1
	}
	return s.written, s.written
}

// Next returns the segment to be sent now, as far as windows allow; ok is false if there is
// none. It may be asked any number of times before Sent. fresh reports whether it carries
// data that was never sent.
func (s *Sender) Next(now unit.Time) (g wire.Segment, fresh, ok bool) {
	g = wire.Segment{Flags: wire.ACK, Ack: s.rcv, Seq: s.sequence(s.nxt)}
	switch s.state {
	case reset:
		return g, false, false
	case closed, opening:
		if s.nxt > 0 || s.written == 1 && !s.greedy {
			return g, false, false
		}
		g = wire.Segment{Seq: s.iss, Flags: wire.SYN, Window: 65535, MSS: uint16(min(s.mss, 65535)),
			SACKPermitted: s.p.Recovery == SACK, Scales: true}
		if s.p.ECN {
			g.Flags |= wire.ECE | wire.CWR
			g.ECT = s.p.Congestion == DCTCP // RFC 8257, section 3.6
		}
		return g, false, true
	}
	g.Window = 65535
	if at, ok := s.again(); ok {
		return s.segment(g, at.left, min(at.right, at.left+s.mss)), false, true
	}
	data, fin := s.reach()
	right := s.una + min(s.window, s.allowed(now))
	if s.due {
		g = s.segment(g, s.nxt, s.nxt+1)
		return g, false, true
	}
	if s.nxt >= fin || s.nxt >= right && s.nxt < data {
		return g, false, s.answer
	}
	last := min(s.nxt+s.mss, data, s.more.next(s.nxt), s.board.gapEnd(s.nxt))
	if last > right {
		// Sender's silly window avoidance (RFC 9293, section 3.8.6.2.1): a part of all that there
		// is goes only if the window of the receiver will never be larger.
		if right < s.una+s.window || right-s.nxt < max(1, s.largest/2) || right <= s.nxt {
			return g, false, s.answer
		}
		last = right
	}
	g = s.segment(g, s.nxt, last)
	return g, s.nxt >= s.top && g.Length > 0, true
}

// segment completes a segment with the bytes between two positions.
func (s *Sender) segment(g wire.Segment, from, to uint64) wire.Segment {
	g.Seq = s.sequence(from)
	if s.agreed && from == 1 {
		g.Seq, g.Flags = s.iss, g.Flags|wire.SYN
	}
	data, fin := s.reach()
	if end := min(to, data, s.more.next(from)); end > from {
		g.Length = uint32(end - from)
	}
	end := from + uint64(g.Length)
	if g.Length > 0 && end == s.more.next(from) {
		g.Flags |= wire.PSH
	}
	if end == data && fin > data && !s.due && (from == s.nxt || s.top > data) {
		g.Flags |= wire.FIN
	}
	if s.mark && g.Length > 0 && from >= s.top && !s.due {
		// "ECN-capable TCP implementations MUST NOT set either ECT codepoint in the IP header
		// for retransmitted data packets", nor for window probes (RFC 3168, 6.1.5, 6.1.6).
		g.ECT = true
		if s.reduced {
			g.Flags |= wire.CWR
		}
	}
	return g
}

// Sent notes that the segment that Next shows leaves.
func (s *Sender) Sent(now unit.Time, g *wire.Segment) {
	s.answer = false
	seq := g.Seq
	switch {
	case g.Flags&wire.SYN == 0:
	case s.agreed:
		seq++
	default:
		if s.top > 0 {
			s.report(now, trace.Event{Kind: trace.Retransmit, PSN: g.Seq, A: int64(trace.TimerExpired)})
		} else {
			s.timed, s.timedAt = 1, now
		}
		s.state, s.nxt, s.top = opening, 1, 1
		s.arm(now)
		return
	}
	from := s.una + uint64(seq-s.sequence(s.una))
	length := uint64(g.Length)
	if g.Flags&wire.FIN != 0 {
		length++
	}
	if length == 0 {
		return
	}
	s.idle = now
	to := from + length
	if s.due { // a probe leaves nxt where it is: its byte may not be taken
		s.due = false
		s.top = max(s.top, to)
		s.report(now, trace.Event{Kind: trace.Retransmit, PSN: seq, Bytes: g.Length, A: int64(trace.WindowProbe)})
		return
	}
	if g.Flags&wire.CWR != 0 {
		s.reduced = false
	}
	if from < s.top {
		s.report(now, trace.Event{Kind: trace.Retransmit, PSN: seq, Bytes: g.Length, A: int64(s.why)})
		if s.timed > from { // Karn: nothing is measured of segments that are retransmitted
			s.timed = 0
		}
		s.lost = s.lost && from != s.una
		s.board.highest = max(s.board.highest, to)
	} else if s.timed == 0 {
		s.timed, s.timedAt = to, now
	}
	if from == s.nxt {
		s.nxt = s.board.skip(to)
	}
	s.top = max(s.top, to, s.nxt)
	if s.expires == unit.Never || s.probe { // RFC 6298, (5.1)
		s.arm(now)
	}
}

// arm starts the retransmission timer.
func (s *Sender) arm(at unit.Time) { s.expires, s.probe = at.Add(s.rto), false }

// Receive takes in a segment.
func (s *Sender) Receive(now unit.Time, g *wire.Segment) {
	switch s.state {
	case closed, reset:
		s.refuse(now, g, trace.NotAwaited)
		return
	case opening:
		s.open(now, g)
		return
	}
	if g.Flags&wire.RST != 0 {
		// RFC 5961, section 3.2: only the sequence number that is waited for resets, one
		// within the window is challenged.
		if g.Seq != s.rcv {
			s.challenge(now, g, trace.NotAcceptable)
			return
		}
		s.state, s.expires = reset, unit.Never
		s.refuse(now, g, trace.WasReset)
		return
	}
	ahead := int32(g.Ack - s.sequence(s.una))
	ack := s.una + uint64(int64(ahead))
	switch {
	case g.Flags&wire.SYN != 0, g.Length > 0:
		// A SYN that is received again, or out of place, is answered (RFC 5961, section 4); data
		// has no place here.
		s.challenge(now, g, trace.NotAcceptable)
		return
	case g.Flags&wire.ACK == 0:
		s.refuse(now, g, trace.NotAcceptable)
		return
	case ahead > 0 && ack > s.top, ahead < 0 && uint64(-int64(ahead)) > max(s.largest, 1):
		// RFC 9293, section 3.10.7.4, and RFC 5961, section 5: an ACK of bytes that were never
		// sent, and one that is older than a window, are answered and dropped.
		s.challenge(now, g, trace.NeverSent)
		return
	}
	if g.Flags&wire.FIN != 0 {
		if g.Seq == s.rcv && !s.fin {
			s.fin = true
			s.rcv++
		}
		s.answer = true
	}
	if ahead < 0 {
		return
	}
	before := s.window
	if ack >= s.wl2 {
		s.window, s.wl2 = uint64(g.Window)<<s.peerScale, ack
		s.largest = max(s.largest, s.window)
	}
	if s.peerSACK {
		s.sacked(now, g)
	}
	s.acknowledge(now, g, ack, s.window != before)
	s.persist(now)
}

// open takes in the answer to SYN.
func (s *Sender) open(now unit.Time, g *wire.Segment) {
	switch ok := g.Ack == s.iss+1; {
	case g.Flags&wire.RST != 0 && g.Flags&wire.ACK != 0 && ok:
		s.state, s.expires = reset, unit.Never
		s.refuse(now, g, trace.WasReset)
		return
	case g.Flags&(wire.SYN|wire.ACK) != wire.SYN|wire.ACK || !ok || g.Flags&wire.RST != 0:
		s.refuse(now, g, trace.NotAcceptable)
		return
	}
	s.state, s.una, s.answer = established, 1, true
	s.rcv = g.Seq + 1
	if g.MSS > 0 {
		s.mss = min(s.mss, uint64(g.MSS))
	}
	s.mss = max(s.mss, 1)
	if g.Scales {
		s.peerScale = min(g.Scale, 14)
	}
	s.peerSACK = g.SACKPermitted && s.p.Recovery == SACK
	s.mark = s.p.ECN && g.Flags&(wire.ECE|wire.CWR) == wire.ECE
	s.window, s.wl2 = uint64(g.Window), 1
	s.largest = s.window
	s.measure(now, 1)
	s.expires = unit.Never
	s.cwnd = s.p.initialWindow(uint32(s.mss))
	if s.lostSYN { // RFC 5681, section 3.1; RFC 6298, (5.7)
		s.cwnd, s.rto = s.mss, max(s.rto, min(3*unit.Second, s.p.MaxRTO))
	}
	s.changed(now)
	s.persist(now)
}

// persist starts the timer of a window that is closed, and stops it when that opens.
func (s *Sender) persist(now unit.Time) {
	data, _ := s.reach()
	shut := s.nxt == s.una && s.nxt < data && s.window < min(s.mss, data-s.nxt) && s.window < max(1, s.largest/2)
	switch {
	case shut && s.expires == unit.Never: // RFC 9293, section 3.8.6.1
		s.arm(now)
		s.probe = true
	case !shut && s.probe:
		s.expires, s.probe, s.due = unit.Never, false, false
		s.unback()
	}
}

// unback takes the doubling of the timeout back.
func (s *Sender) unback() {
	if s.srtt > 0 {
		s.rto = min(max(s.srtt+max(granularity, 4*s.rttvar), s.p.MinRTO), s.p.MaxRTO)
	}
}

// granularity is G of RFC 6298: model time has no other.
const granularity = unit.Nanosecond

// measure takes in that all up to a position is acknowledged: a round trip, if it is the round trip
// of the timed segment (RFC 6298, section 2).
func (s *Sender) measure(now unit.Time, ack uint64) {
	if s.timed == 0 || ack < s.timed {
		return
	}
	r := now.Sub(s.timedAt)
	s.timed = 0
	if s.srtt == 0 {
		s.srtt, s.rttvar = r, r/2
	} else {
		s.rttvar = (3*s.rttvar + max(s.srtt-r, r-s.srtt)) / 4
		s.srtt = (7*s.srtt + r) / 8
	}
	s.srtt = max(s.srtt, 1)
	s.unback()
	s.report(now, trace.Event{Kind: trace.RoundTrip, PSN: s.sequence(ack), A: int64(r), B: int64(s.rto)})
}

// Deadline returns when Advance has something to do.
func (s *Sender) Deadline() unit.Time { return s.expires }

// Advance does all that is due: nothing if it is called early.
func (s *Sender) Advance(now unit.Time) {
	if now < s.expires {
		s.persist(now)
		return
	}
	at := s.expires
	s.rto = min(2*s.rto, s.p.MaxRTO) // RFC 6298, (5.5)
	if s.probe {
		s.due = true
		s.arm(at)
		s.probe = true
		return
	}
	s.report(now, trace.Event{Kind: trace.Timeout, PSN: s.sequence(s.una),
		A: int64((s.nxt - s.una + s.mss - 1) / s.mss), B: int64(s.rto)})
	s.expires, s.timed = unit.Never, 0
	if s.state == opening {
		s.nxt, s.lostSYN = 0, true
		return
	}
	s.timeout(now)
	s.persist(now)
}
