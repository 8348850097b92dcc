package tcp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Receiver is TCP at the destination of a flow: the other end of a Sender.
type Receiver struct {
	end
	ends marks // where transfers end that have not come whole

	ended uint64 // where the last one has ended that has

	irs     uint32
	nxt     uint64 // RCV.NXT: the next position that is missing
	edge    uint64 // behind the highest position that the Sender was allowed to send
	shift   uint8  // of windows in segments
	selects bool   // the Sender takes SACK blocks
	echo    bool   // a mark came, and no CWR since (RFC 3168, section 6.1.3); DCTCP: the last segment was marked
	before  uint64 // DCTCP: the position up to which segments await an ACK with the echo of before; 0: none
	fin     uint64 // the position of FIN; 0: it has not come
	acked   bool   // our SYN is acknowledged
	gone    bool   // our FIN is
	spans   spans  // the bytes that came beyond nxt
	stamp   uint64

	unread  uint64 // bytes in order that the application has not taken
	readAt  unit.Time
	pending int       // segments with data that are not acknowledged
	delayed unit.Time // when they are, whatever comes
	hello   bool      // SYN is to leave, or FIN
	expires unit.Time // when it leaves again
	rto     unit.Duration
	opens   unit.Time // when the application has made room worth telling
}

// NewReceiver returns the destination of a connection whose packets, headers included, have packet
// bytes at most.
func NewReceiver(p Params, packet uint32, iss uint32, who trace.Event, rec *trace.Recorder) *Receiver {
	return &Receiver{
		end: end{p: p, mss: uint64(segments(packet)), iss: iss, who: who, rec: rec}, shift: scale(p.ReceiveWindow),
		delayed: unit.Never, expires: unit.Never, opens: unit.Never, rto: p.InitialRTO,
	}
}

// Agree has the receiver wait for a Sender that agrees with it (Sender.Agree).
func (r *Receiver) Agree() { r.agreed = true }

// Over reports whether nothing more can come: both ends have closed the connection, or it was
// reset.
func (r *Receiver) Over() bool { return r.gone || r.state == reset }

// Awaits reports whether SYN with a sequence number opens a connection: there is none, or an older
// one.
func (r *Receiver) Awaits(iss uint32) bool { return r.state == closed || int32(iss-r.irs) > 0 }

// Taken is the result of a segment.
type Taken struct {
	Fresh   bool   // it has brought something that was missing
	InOrder uint64 // bytes that are in order now and were not
}

// Ended returns the sequence number behind the next transfer that has come whole, if there is
// one, and how many bytes have come with it.
func (r *Receiver) Ended() (seq uint32, size uint64, ok bool) {
	at, ok := r.ends.pop(r.nxt)
	if ok {
		size, r.ended = at-r.ended, at
	}
	return r.irs + uint32(at), size, ok
}

// Receive takes in a segment, which it may change.
func (r *Receiver) Receive(now unit.Time, g *wire.Segment) (t Taken) {
	r.read(now)
	switch {
	case r.state == reset:
		r.refuse(now, g, trace.NotAwaited)
		return t
	case r.state == closed:
		r.listen(now, g)
		if !r.agreed || r.state == closed {
			return t
		}
	}
	if r.agreed && g.Flags&wire.SYN != 0 && g.Seq == r.irs {
		g.Seq, g.Flags = g.Seq+1, g.Flags&^wire.SYN // data comes with it
	}
	ahead := int64(int32(g.Seq - (r.irs + uint32(r.nxt))))
	behind := ahead + int64(g.Length)
	if g.Flags&wire.SYN != 0 {
		// The same SYN again: ours was lost. Any other is answered and dropped (RFC 5961, section
		// 4).
		if g.Seq == r.irs && !r.acked {
			r.hello = true
		} else {
			r.answer = true
		}
		r.refuse(now, g, trace.NotAcceptable)
		return t
	}
	if !r.acceptable(ahead, behind) {
		r.answer = g.Flags&wire.RST == 0 || r.answer
		why := trace.NotAcceptable
		if ahead < 0 && behind <= 0 && uint64(-ahead) < r.nxt { // it lies in the bytes that have come
			why = trace.Duplicate
		}
		r.acknowledge(g)
		r.refuse(now, g, why)
		return t
	}
	switch {
	case g.Flags&wire.RST != 0:
		if ahead != 0 { // RFC 5961, section 3.2
			r.challenge(now, g, trace.NotAcceptable)
			return t
		}
		*r = Receiver{end: r.end, shift: r.shift, nxt: r.nxt, delayed: unit.Never, expires: unit.Never, opens: unit.Never}
		r.state, r.answer = reset, false
		r.refuse(now, g, trace.WasReset)
		return t
	case g.Flags&wire.ACK == 0:
		r.refuse(now, g, trace.NotAcceptable)
		return t
	case !r.acknowledge(g):
		r.challenge(now, g, trace.NeverSent)
		return t
	case g.Length == 0 && g.Flags&wire.FIN == 0:
		return t
	}
	left, right := r.nxt+uint64(max(ahead, 0)), r.nxt+uint64(max(behind, 0))
	if r.mark {
		r.echoes(g)
	}
	if g.Flags&wire.FIN != 0 && r.fin == 0 && right <= r.edge {
		r.fin = right
	}
	right = min(right, r.edge)
	if g.Length > 0 && g.Flags&wire.PSH != 0 && right > r.nxt {
		r.ends.insert(right)
	}
	r.place(now, g, left, right, &t)
	return t
}

// place notes that a part of the stream is there, and decides when to acknowledge it (RFC 5681,
// section 4.2).
func (r *Receiver) place(now unit.Time, g *wire.Segment, left, right uint64, t *Taken) {
	was, gaps := r.nxt, len(r.spans) > 0
	if right > left {
		x := span{left: left, right: right}
		t.Fresh = !r.spans.holds(x)
		r.stamp++
		x.stamp = r.stamp
		if left > r.nxt {
			i := r.spans.add(x)
			r.spans[i].stamp = r.stamp
		} else {
			r.nxt = right
			for len(r.spans) > 0 && r.spans[0].left <= r.nxt {
				r.nxt = max(r.nxt, r.spans[0].right)
				r.spans.cut(r.nxt)
			}
		}
	}
	t.InOrder = r.nxt - was
	if r.p.Read > 0 {
		r.unread += t.InOrder
	}
	if r.fin > 0 && r.nxt == r.fin {
		r.nxt++
		r.answer, r.hello = true, true
	}
	switch r.pending++; {
	case !t.Fresh || gaps || len(r.spans) > 0, r.p.DelayedACK == 0: // out of order, or a gap is filled
		r.answer = true
	case r.pending >= 2 && uint64(g.Length) >= r.mss || r.pending > 2:
		r.answer = true
	case r.delayed == unit.Never:
		r.delayed = now.Add(r.p.DelayedACK)
	}
}

// acceptable is the test of RFC 9293, section 3.10.7.4, for a segment that begins so far ahead
// of the awaited bytes, and ends in front of behind.
func (r *Receiver) acceptable(ahead, behind int64) bool {
	window := int64(r.edge) - int64(r.nxt)
	if ahead == behind {
		return ahead == 0 || ahead > 0 && ahead < window
	}
	return ahead >= 0 && ahead < window || behind > 0 && behind <= window
}

// acknowledge takes in the ACK of a segment. It reports whether that is of something that was sent.
func (r *Receiver) acknowledge(g *wire.Segment) bool {
	if g.Flags&wire.ACK == 0 {
		return false
	}
	sent := uint32(1)
	if r.saidFIN() {
		sent = 2
	}
	ahead := g.Ack - r.iss
	if ahead > sent || ahead == 0 {
		return false
	}
	r.acked = true
	if r.state == opening {
		r.state = established
		if r.fin == 0 || r.nxt != r.fin+1 {
			r.hello, r.expires = false, unit.Never
		}
	}
	if ahead == 2 {
		r.gone, r.hello, r.expires = true, false, unit.Never
	}
	return true
}

// saidFIN reports whether our FIN has left, or may have.
func (r *Receiver) saidFIN() bool { return r.fin > 0 && r.nxt == r.fin+1 }

// listen waits for SYN.
func (r *Receiver) listen(now unit.Time, g *wire.Segment) {
	if flags := g.Flags & (wire.SYN | wire.ACK | wire.RST); flags != wire.SYN && !(r.agreed && flags == wire.SYN|wire.ACK) {
		r.refuse(now, g, trace.NotAwaited)
		return
	}
	r.irs, r.nxt, r.ended = g.Seq, 1, 1
	if r.agreed {
		r.state, r.acked, r.iss = established, true, answering(g.Seq)
		r.selects, r.mark = r.p.Recovery == SACK, r.p.ECN
		r.edge = 1 + scaled(uint64(r.p.ReceiveWindow), r.shift)
		return
	}
	r.state, r.hello = opening, true
	if g.MSS > 0 {
		r.mss = min(r.mss, uint64(g.MSS))
	}
	r.selects = g.SACKPermitted && r.p.Recovery == SACK
	r.mark = r.p.ECN && g.Flags&(wire.ECE|wire.CWR) == wire.ECE|wire.CWR
	if !g.Scales {
		r.shift = 0
	}
}

// read lets the application take as much as it has had the time for.
func (r *Receiver) read(now unit.Time) {
	if r.p.Read > 0 {
		took := uint64(r.p.Read.BytesPerSecond() * now.Sub(r.readAt).Seconds())
		if took >= r.unread {
			r.unread, r.readAt = 0, now
		} else if took > 0 {
			r.unread -= took
			r.readAt = r.readAt.Add(r.p.Read.Serialise(unit.Size(took)))
		}
	}
}

// room returns the window: it never takes back room that it has given.
func (r *Receiver) room() uint64 {
	free := uint64(r.p.ReceiveWindow) - min(uint64(r.p.ReceiveWindow), r.unread)
	// Receiver's silly window avoidance (RFC 9293, section 3.8.6.2.2).
	if given := r.edge - min(r.edge, r.nxt); free < given+min(uint64(r.p.ReceiveWindow)/2, r.mss) {
		free = given
	}
	return scaled(free, r.shift)
}

// Next returns the segment to send now, if there is one, and counts it as sent.
func (r *Receiver) Next(now unit.Time) (g wire.Segment, ok bool) {
	if !r.answer && !r.hello {
		return g, false
	}
	r.read(now)
	g = wire.Segment{Back: true, Seq: r.iss + 1, Ack: r.irs + uint32(r.nxt), Flags: wire.ACK}
	if r.state == opening && r.hello {
		r.hello = false
		g.Seq, g.Flags, g.MSS = r.iss, wire.SYN|wire.ACK, uint16(min(r.mss, 65535))
		g.SACKPermitted, g.Scales, g.Scale = r.selects, true, r.shift
		g.Window = uint16(min(uint64(r.p.ReceiveWindow), 65535))
		r.edge = max(r.edge, r.nxt+uint64(g.Window))
		if r.mark {
			g.Flags |= wire.ECE
			g.ECT = r.p.Congestion == DCTCP // RFC 8257, section 3.6
		}
		r.expires = now.Add(r.rto)
		return g, true
	}
	if r.before > 0 {
		return r.nextBefore(g), true
	}
	window := r.room()
	r.edge = max(r.edge, r.nxt+window)
	g.Window = uint16(window >> r.shift)
	if r.echo {
		g.Flags |= wire.ECE
	}
	if r.selects {
		r.blocks(&g)
	}
	if r.saidFIN() {
		g.Flags |= wire.FIN
		if r.gone {
			g.Seq, g.Flags = r.iss+2, g.Flags&^wire.FIN
		} else if r.hello || r.expires == unit.Never {
			r.expires = now.Add(r.rto)
		}
	}
	r.answer, r.hello = false, false
	r.pending, r.delayed = 0, unit.Never
	r.opens = unit.Never
	if r.unread > 0 {
		r.opens = now.Add(r.p.Read.Serialise(unit.Size(min(r.unread, uint64(r.p.ReceiveWindow)/2, r.mss)))).Add(1)
	}
	return g, true
}

// blocks returns the blocks beyond the ACK, the latest first (RFC 2018, section 4).
func (r *Receiver) blocks(g *wire.Segment) {
	below := uint64(endless)
	for k := range g.SACK {
		best := -1
		for i := range r.spans {
			if x := r.spans[i].stamp; x < below && (best < 0 || x > r.spans[best].stamp) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		x := &r.spans[best]
		below = x.stamp
		g.SACK[k] = wire.SACKBlock{Left: r.irs + uint32(x.left), Right: r.irs + uint32(x.right)}
	}
}

// Deadline returns when Advance has something to do.
func (r *Receiver) Deadline() unit.Time { return min(r.delayed, r.expires, r.opens) }

// Advance does all that is due: nothing if it is called early.
func (r *Receiver) Advance(now unit.Time) {
	if now >= r.delayed {
		r.answer, r.delayed = true, unit.Never
	}
	if now >= r.opens {
		r.opens = unit.Never
		r.read(now)
		if given := r.edge - min(r.edge, r.nxt); r.room() > given {
			r.answer = true // a window update
		} else if r.unread > 0 {
			r.opens = now.Add(r.p.Read.Serialise(unit.Size(min(r.unread, r.mss)))).Add(1)
		}
	}
	if now >= r.expires { // SYN, or FIN, is lost
		r.hello, r.expires = true, unit.Never
		r.rto = min(2*r.rto, r.p.MaxRTO)
	}
}
