package node

import (
	"fabemu/node/selective"
	"fabemu/node/spray"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// selectiveSender is the sending half of RoCE where only lost packets are retransmitted. As in IRN
// (Mittal et al., SIGCOMM 2018, 3.1), an ACK says up to which packet all have come, and which one
// has come in addition, packets in flight are limited, and there is a shorter timeout where few of
// them are. A NAK says at once which packet is missing of which a switch has left only the headers;
// it is no feedback for the reaction point but as a loss. What differs from IRN: how far a packet
// must be overtaken to be lost is a parameter; a retransmission can be found lost like any packet;
// and after a timeout all packets that are not known to have arrived are lost, not the oldest one
// only.
type selectiveSender struct {
	roceSender
	paths
	board selective.Scoreboard
	armed unit.Time // since then the oldest packet awaits its ACK
	known uint64    // packets before it belong to the losses that the reaction point knows of
}

func newSelectiveSender(r roceSender) *selectiveSender {
	r.source.filled = true // an ACK may show that the retransmission which waits for the link is not needed
	return &selectiveSender{roceSender: r, paths: newPaths(r.params.Spray, r.params.Entropies, r.params.Seed, r.source.QP), board: selective.Scoreboard{
		Loss: selective.Loss{Distance: r.params.LossDistance, Time: r.params.LossTime}}}
}

func (r *selectiveSender) next(now unit.Time) (port.Answer, unit.Size) {
	number, again := r.board.Lost()
	s := r.source
	if s.fresh = !again; s.fresh || s.window.failed {
		return r.roceSender.next(now)
	}
	n, w := r.lengthOf(number), s.window
	if w.most > 0 && w.underway > 0 && w.underway+n > w.most {
		return port.Answer{Block: port.Window, Until: unit.Never}, 0
	}
	return port.Answer{}, n
}

func (r *selectiveSender) complete(now unit.Time, f *wire.Frame) unit.Size {
	number, again := r.board.Lost()
	if !again {
		return r.roceSender.complete(now, f)
	}
	n := r.full
	f.PSN = uint32(number) & psnMask
	if t := r.endedBy(number); t != nil {
		if f.Payload, f.Last, n = t.rest, true, t.length; r.source.tagged() {
			f.SetImmediate(t.tag)
		}
	}
	f.SetAckReq(true)
	if f.Stamped() {
		f.Stamp().SentAt = now
	}
	return n
}

// load reports whether there still is a packet: an ACK may have come while it waited.
func (r *selectiveSender) load(now unit.Time, f *wire.Frame) bool {
	if a, _ := r.next(now); a.Block != port.Open {
		return false
	}
	r.choose(now, f)
	return true
}

func (r *selectiveSender) sent(now unit.Time) unit.Size {
	w := r.source.window
	if w.expires == unit.Never {
		r.armed = now
	}
	n := r.packets.depart(now, &r.board, r.last)
	r.settle()
	return n
}

// depart accounts for the packet that starts now, a lost one first, and returns its length. It
// takes a path.
func (p *packets) depart(now unit.Time, b *selective.Scoreboard, path uint16) unit.Size {
	if number, again := b.Lost(); again {
		b.Resend(now, path)
		return p.lengthOf(number)
	}
	n := p.sent(now)
	b.Send(now, n, path)
	return n
}

// settle takes over into the window what the scoreboard says.
func (r *selectiveSender) settle() {
	w, p := r.source.window, &r.params
	w.n, w.underway, w.expires = r.board.InFlight(), r.board.Underway(), unit.Never
	after := p.Timeout
	if p.LowTimeout > 0 && w.n <= p.LowPackets {
		after = p.LowTimeout
	}
	if after > 0 && w.underway > 0 {
		w.expires = r.armed.Add(after)
	}
}

// receive takes in an ACK.
func (r *selectiveSender) receive(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	s, b := r.source, &r.board
	if s.window.failed {
		r.store.Free(f)
		return
	}
	if f.HasBody() {
		r.takeTelemetry(now, f, rec)
	}
	missing := f.Missing()
	if !missing {
		r.learnFrom(now, f)
	}
	oldest := s.oldest()
	selected, names := f.Selected()
	news := b.Ack(following(oldest, f.PSN+1), following(oldest, selected), names && !missing)
	for first := b.First(); r.begun > 0 && r.ends.front().last < first; r.begun-- {
		r.ends.pop()
	}
	whole := false
	if missing && b.Miss(following(oldest, selected)) {
		whole = r.lost(now, following(oldest, selected), trace.Trimmed, rec)
	}
	for number, ok := b.Lose(); ok; number, ok = b.Lose() {
		if r.lost(now, number, trace.Overtaken, rec) {
			whole = true
		}
	}
	if news > 0 {
		r.armed, r.retries = now, 0
	}
	s.window.news = news
	r.settle()
	if whole {
		r.report(now, rec)
	}
	if news > 0 && !missing {
		s.feedback(now, f, rec)
	}
}

// lost reports a packet that was found lost, and whether the reaction point does not know yet.
func (r *selectiveSender) lost(now unit.Time, number uint64, why trace.Reason, rec *trace.Recorder) (news bool) {
	s := r.source
	rec.Emit(trace.Event{At: now, Kind: trace.Retransmit, Lane: s.Lane, Flow: s.QP, PSN: uint32(number) & psnMask, A: int64(why), B: 1})
	r.learn(now, r.board.Path(number), spray.Lost)
	return number >= r.known
}

// following returns the number of the packet with a PSN that is the first from another one on.
func following(from uint64, psn uint32) uint64 { return from + uint64((psn-uint32(from))&psnMask) }

// report tells the reaction point of losses: once for those of all that is in flight.
func (r *selectiveSender) report(now unit.Time, rec *trace.Recorder) {
	r.known = r.board.Next()
	r.source.ownPacer.lost(now, rec)
}

func (r *selectiveSender) advance(now unit.Time, rec *trace.Recorder) {
	s := r.source
	if s.window.deadline() > now {
		return
	}
	if most := r.params.RetryCount; most != Unlimited && r.retries >= most {
		r.fail(now, trace.TimerExpired, rec)
		return
	}
	r.retries++
	oldest, n := r.board.First(), 0
	r.learn(now, r.board.Path(oldest), spray.Expired)
	for _, ok := r.board.Expire(); ok; _, ok = r.board.Expire() {
		n++
	}
	rec.Emit(trace.Event{At: now, Kind: trace.Timeout, Lane: s.Lane, Flow: s.QP, PSN: uint32(oldest) & psnMask, A: int64(n)})
	r.settle()
	r.report(now, rec)
}

// deadline returns unit.Never: the source has the deadline of its window.
func (r *selectiveSender) deadline() unit.Time { return unit.Never }

// selectiveReceiver is the receiving half of RoCE where only lost packets are retransmitted.
type selectiveReceiver struct {
	roceReceiver
	early selective.Arrivals
	most  uint32 // a packet this far ahead of its turn, or farther, is dropped
}

// newSelectiveReceiver returns the receiver of a flow. That of a workload, whose transfers have
// their own, stands for transfers that have ended: it keeps nothing.
func newSelectiveReceiver(p RoCEParams, k *Sink) *selectiveReceiver {
	r := &selectiveReceiver{roceReceiver: roceReceiver{params: p}}
	if k.QP != 0 {
		r.most = uint32(p.Reorder)
	}
	return r
}

func (r *selectiveReceiver) of(*Endpoint, *sink, uint32) receiver {
	return &selectiveReceiver{roceReceiver: r.roceReceiver, most: uint32(r.params.Reorder)}
}

func (r *selectiveReceiver) receive(e *Endpoint, now unit.Time, s *sink, a *port.Arrival) {
	f := &a.Frame
	r.checkMark(e, now, s, f)
	ahead := (f.PSN - s.next) & psnMask
	switch asks := f.RoCE().AckReq || r.early.Kept() > 0; {
	case ahead > psnMask/2:
		r.refuse(e, now, a)
		r.answer(e, s, f)
	case ahead >= max(r.most, 1):
		e.port.Lost(now, f, trace.NotInTurn)
	case r.early.Has(s.next, f.PSN):
		r.refuse(e, now, a)
		r.answer(e, s, f).SetSelected(f.PSN)
	case ahead > 0:
		r.keep(e, now, s, a, ahead)
		r.answer(e, s, f).SetSelected(f.PSN)
	default:
		e.accept(now, s, a)
		r.release(e, now, s)
		if s.marked = s.marked || f.FECN; asks {
			r.answer(e, s, f)
		}
	}
}

// receiveTrimmed asks for a packet of which a switch has left the headers, unless another copy has
// come.
func (r *selectiveReceiver) receiveTrimmed(e *Endpoint, now unit.Time, s *sink, f *wire.Frame) {
	r.checkMark(e, now, s, f)
	ahead := (f.PSN - s.next) & psnMask
	a := r.answer(e, s, f)
	if ahead <= psnMask/2 && !r.early.Has(s.next, f.PSN) {
		a.SetMissing(f.PSN)
	}
}

// refuse reports a packet that has come before.
func (r *selectiveReceiver) refuse(e *Endpoint, now unit.Time, a *port.Arrival) {
	e.rec.Emit(trace.Event{At: now, Kind: trace.Refuse, Lane: a.Frame.Lane, Flow: a.Frame.QP, PSN: a.Frame.PSN, Bytes: a.Frame.Payload,
		A: int64(trace.Duplicate)})
}

// keep keeps a packet that is ahead of its turn. With direct placement it is delivered, and only
// the end of its message waits.
func (r *selectiveReceiver) keep(e *Endpoint, now unit.Time, s *sink, a *port.Arrival, ahead uint32) {
	f := &a.Frame
	p := selective.Packet{At: now, Length: uint32(a.Length), Payload: f.Payload, Last: f.Last, Marked: f.FECN}
	p.Tag, p.Tagged = f.Immediate()
	r.early.Keep(s.next, f.PSN, p)
	if r.params.Order == Direct {
		e.rec.Deliver(now, f, p.Length, 0)
		r.disorder(e, now, f, ahead, 0)
	}
}

// disorder reports a packet that came so far ahead of its turn, and was held for a time.
func (r *selectiveReceiver) disorder(e *Endpoint, now unit.Time, f *wire.Frame, ahead uint32, held unit.Duration) {
	e.rec.Emit(trace.Event{At: now, Kind: trace.Disorder, Flow: f.QP, PSN: f.PSN, A: int64(ahead), B: int64(held)})
}

// release counts the packets whose turn has come. The flow of a transfer may end with one of them.
func (r *selectiveReceiver) release(e *Endpoint, now unit.Time, s *sink) {
	for !s.over {
		p, ok := r.early.Take(s.next)
		if !ok {
			return
		}
		f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Lane: s.lane, QP: s.qp, PSN: s.next, Src: s.source, Dst: e.lid,
			Payload: p.Payload, Last: p.Last, FECN: p.Marked}
		if p.Tagged {
			f.SetImmediate(p.Tag)
		}
		if r.params.Order == SelectiveRepeat {
			e.rec.Deliver(now, &f, p.Length, 0)
			r.disorder(e, now, &f, p.Ahead, now.Sub(p.At))
		}
		s.next = (s.next + 1) & psnMask
		s.received = (s.received + 1) & psnMask
		if s.bytes += int64(f.Payload); f.Last {
			e.endTransfer(now, s, &f)
		}
	}
}

// answer queues the ACK for a packet. It says up to which packet all have come.
func (r *selectiveReceiver) answer(e *Endpoint, s *sink, f *wire.Frame) *wire.Frame {
	a := r.params.Ack(false)
	a.Src, a.Dst, a.QP, a.MSN, a.PSN = f.Dst, f.Src, f.QP, s.received, (s.next-1)&psnMask
	a.Window = f.Window // the same source port
	a.BECN, s.marked = r.params.Echo && (s.marked || f.FECN), false
	if a.Stamped() {
		a.Extension = f.Extension
		f.Stamp().Body = 0 // telemetry continues with the ACK
	}
	place := e.place(a.Lane)
	*place = a
	return place
}
