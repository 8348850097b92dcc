package node

import (
	"errors"
	"fmt"

	"fabemu/node/rp"
	"fabemu/node/selective"
	"fabemu/node/spray"
	"fabemu/node/traffic"
	"fabemu/node/uet"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// UET is the transport of Ultra Ethernet, on Ethernet (package node/uet): a packet delivery context
// for each flow. Links and switches may lose packets, and switches may trim them.
type UET struct{ uet.Params }

func (t UET) check(f *Flow) error {
	switch {
	case f.Family != wire.UET:
		return fmt.Errorf("frames of %v, and its transport is UET", f.Family)
	case f.Bodies != nil:
		return errors.New("its packets have bodies, and packets of UET have none")
	}
	return t.Valid()
}

func (UET) streams() bool { return false }

func (t UET) sender(s *source, e *Endpoint) sender {
	t.Frame(&s.frame)
	if tag := s.ownPacer.reaction.Tag; tag != nil { // the length that all packets have
		tagged := tag(s.frame)
		s.frame.UET().Flags |= tagged.UET().Flags & wire.UETState
	}
	s.window = &window{Acknowledged: Acknowledged{Window: t.Outstanding(), Timeout: t.Timeout, Loses: true}, expires: unit.Never}
	s.filled = true // an ACK may show that the retransmission which waits for the link is not needed
	r := &uetSender{packets: s.packets.of(s), endpoint: e, params: t.Params, paths: newPaths(t.Spray, t.Entropies, t.Seed, s.QP)}
	r.board = uet.NewSender(&r.params)
	return r
}

func (t UET) receiver(k *Sink, _ *Endpoint) (receiver, receiving) {
	return newUETReceiver(t.Params, k.QP != 0), receiving{acks: true, again: true, loses: true}
}

// uetSender is the sending half of UET.
type uetSender struct {
	*packets
	paths
	endpoint *Endpoint
	params   uet.Params
	board    uet.Sender
	known    uint64 // packets before it belong to the losses that the reaction point knows of
}

// reaction returns the reaction point of the flow.
func (r *uetSender) reaction() *rp.Reaction { return r.source.ownPacer.reaction }

func (r *uetSender) refuses(f *wire.Frame) trace.Reason {
	switch {
	case f.Kind != wire.Ack || f.Family != wire.UET:
		return trace.UnknownFlow
	case f.Src != r.source.Dst:
		return trace.Stranger
	}
	return trace.NoReason
}

func (r *uetSender) arrive(now unit.Time, a traffic.Arrival, rec *trace.Recorder) {
	r.packets.arrive(now, a, rec)
	r.demand(now)
}

// demand tells the reaction point how much there is to send.
func (r *uetSender) demand(now unit.Time) {
	note := r.reaction().Demand
	if note == nil {
		return
	}
	n := r.board.Waiting()
	if s := r.source; s.greedy && s.active {
		n += endless
	} else {
		n += unit.Size(r.offered) * r.full
		for i := r.begun; i < r.ends.len(); i++ {
			n -= r.full - r.ends.at(i).length
		}
	}
	g := &r.source.ownPacer
	g.tell(now, rp.DemandInput, n)
	note(now, n)
	g.due = r.reaction().Deadline()
}

// endless is what a greedy source has to send.
const endless unit.Size = 1 << 30

func (r *uetSender) next(now unit.Time) (port.Answer, unit.Size) {
	number, again := r.board.Lost()
	s := r.source
	w := s.window
	if s.fresh = !again; w.failed {
		return port.Answer{Block: port.Idle, Until: unit.Never}, 0
	}
	a, n := port.Answer{}, unit.Size(0)
	if again {
		if n = r.lengthOf(number); w.most > 0 && w.underway > 0 && w.underway+n > w.most {
			a = port.Answer{Block: port.Window, Until: unit.Never}
		}
	} else {
		a, n = r.packets.next(now)
	}
	if left := r.reaction().Allowance; a.Block == port.Open && left != nil && left() <= 0 {
		a = port.Answer{Block: port.Window, Until: unit.Never}
	}
	return a, n
}

func (r *uetSender) complete(_ unit.Time, f *wire.Frame) unit.Size {
	number, again := r.board.Lost()
	n, t := r.full, (*transfer)(nil)
	if again {
		f.UET().Flags |= wire.UETRetransmitted
		t = r.endedBy(number)
	} else {
		number = r.source.count
		t = r.ending()
	}
	f.PSN = uint32(number)
	if t != nil {
		if f.Payload, f.Last, n = t.rest, true, t.length; r.source.tagged() {
			f.SetImmediate(t.tag)
		}
	}
	f.SetAckReq(again || r.asks(f.Last, n))
	return n
}

// asks reports whether the next packet of a flow, of n bytes, which ends a transfer or not, asks
// for an ACK: it may be the last one for a while.
func (r *uetSender) asks(last bool, n unit.Size) bool {
	if r.packets.asks(last) {
		return true
	}
	left := r.reaction().Allowance
	return left != nil && left() <= n
}

// load reports whether there still is a packet: an ACK may have come while it waited.
func (r *uetSender) load(now unit.Time, f *wire.Frame) bool {
	if a, _ := r.next(now); a.Block != port.Open {
		return false
	}
	r.choose(now, f)
	f.UET().Offset = int16(max(int64(r.board.First())-1-int64(r.numberOf(f)), -1<<15))
	return true
}

// numberOf returns the number of a packet that is to leave.
func (r *uetSender) numberOf(f *wire.Frame) uint64 {
	return r.board.First() + uint64(f.PSN-uint32(r.board.First()))
}

func (r *uetSender) sent(now unit.Time) unit.Size {
	n := r.packets.depart(now, &r.board.Scoreboard, r.last)
	r.settle()
	return n
}

// settle takes over into the window what the context says.
func (r *uetSender) settle() {
	w := r.source.window
	w.n, w.underway, w.expires = r.board.InFlight(), r.board.Underway(), r.board.Deadline()
}

// receive takes in an ACK or a NACK.
func (r *uetSender) receive(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	s, b := r.source, &r.board
	w := s.window
	if w.failed {
		return
	}
	if f.RoCE().NAK {
		r.nack(now, f, rec)
		return
	}
	if f.UET().Flags&wire.UETProbed == 0 {
		r.learnFrom(now, f)
	}
	w.news, w.trip = b.Ack(now, f)
	for first := b.First(); r.begun > 0 && r.ends.front().last < first; r.begun-- {
		r.ends.pop()
	}
	whole := false
	for number, ok := b.Overdue(f); ok; number, ok = b.Overdue(f) {
		r.lost(now, number, 1, trace.Overtaken, rec)
		whole = whole || number >= r.known
	}
	r.settle()
	if whole {
		r.report(now, rec)
	}
	s.feedback(now, f, rec)
}

// lost reports packets that are lost from one on.
func (r *uetSender) lost(now unit.Time, number uint64, n int64, why trace.Reason, rec *trace.Recorder) {
	s := r.source
	rec.Emit(trace.Event{At: now, Kind: trace.Retransmit, Lane: s.Lane, Flow: s.QP, PSN: uint32(number), A: int64(why), B: n})
	r.learn(now, r.board.Path(number), spray.Lost)
}

// nack takes in a NACK.
func (r *uetSender) nack(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	b, w := &r.board, r.source.window
	code, flight := f.UET().Code, b.Underway()
	number, n, trip, ok := b.Nack(now, f)
	if !ok {
		return
	}
	lost := int64(1)
	if code == wire.NackOutOfOrder {
		for _, more := b.Expire(); more; _, more = b.Expire() {
			lost++
		}
		number = b.First()
	}
	why := trace.Reason(trace.SequenceError)
	trimmed := code == wire.NackTrimmed || code == wire.NackTrimmedLastHop
	if trimmed {
		why = trace.Trimmed
	}
	r.lost(now, number, lost, why, rec)
	r.settle()
	if trimmed && r.source.ownPacer.trimmed(now, rp.Trim{Bytes: n, RTT: trip, LastHop: code == wire.NackTrimmedLastHop, Flight: flight}, rec) {
		return
	}
	if number >= r.known || w.n == 0 {
		r.report(now, rec)
	}
}

// report tells the reaction point of losses: once for those of all that is in flight.
func (r *uetSender) report(now unit.Time, rec *trace.Recorder) {
	r.known = r.board.Next()
	r.source.ownPacer.lost(now, rec)
}

func (r *uetSender) advance(now unit.Time, rec *trace.Recorder) {
	s, b := r.source, &r.board
	if s.window.deadline() > now {
		return
	}
	first, n, bytes := uint64(0), int64(0), unit.Size(0)
	for {
		number, length, fails, ok := b.Expired(now)
		if fails {
			r.fail(now, trace.TimerExpired, rec)
			return
		}
		if !ok {
			break
		}
		if n == 0 {
			first = number
		}
		n++
		bytes += length
		r.learn(now, b.Path(number), spray.Expired)
	}
	probe := r.params.Control(wire.UETControl, false)
	if b.Probes(now, &probe) {
		e := r.endpoint
		probe.Src, probe.Dst, probe.QP = e.lid, s.Dst, s.QP
		e.push(probe)
		e.soon = now
	}
	r.settle()
	if n == 0 {
		return
	}
	rec.Emit(trace.Event{At: now, Kind: trace.Timeout, Lane: s.Lane, Flow: s.QP, PSN: uint32(first), A: n})
	if !s.ownPacer.expired(now, bytes, rec) && first >= r.known {
		r.report(now, rec)
	}
}

// deadline returns unit.Never: the source has the deadline of its window.
func (r *uetSender) deadline() unit.Time { return unit.Never }

// uetReceiver is the receiving half of UET.
type uetReceiver struct {
	prompt
	params uet.Params
	state  uet.Receiver
	early  selective.Arrivals // what is delivered, and counted when its turn comes
	live   bool               // else it stands for transfers that have ended
}

func newUETReceiver(p uet.Params, live bool) *uetReceiver {
	r := &uetReceiver{params: p, live: live}
	r.state = uet.NewReceiver(&r.params)
	return r
}

func (r *uetReceiver) of(*Endpoint, *sink, uint32) receiver { return newUETReceiver(r.params, true) }

func (r *uetReceiver) refuses(_ *sink, f *wire.Frame) trace.Reason {
	if f.Kind != wire.Data && f.Kind != wire.Trimmed || f.Family != wire.UET || f.UET().Flags&wire.UETOrdered != 0 != (r.params.Delivery == uet.Ordered) {
		return trace.UnknownFlow
	}
	return trace.NoReason
}

// packetOf returns what the header of a packet says.
func packetOf(f *wire.Frame, n unit.Size) uet.Packet {
	return uet.Packet{PSN: f.PSN, Length: n, Marked: f.FECN, Asks: f.RoCE().AckReq, Again: f.UET().Flags&wire.UETRetransmitted != 0}
}

// context returns the state of the context of a sink.
func (r *uetReceiver) context(s *sink) uet.Receiver {
	if r.live {
		return r.state
	}
	return uet.Ended(&r.params, s.next)
}

func (r *uetReceiver) receive(e *Endpoint, now unit.Time, s *sink, a *port.Arrival) {
	f := &a.Frame
	r.checkMark(e, now, s, f)
	context := r.context(s)
	v, ahead, answer := context.Receive(packetOf(f, a.Length))
	if r.live {
		r.state, s.next = context, context.Next
	}
	switch v {
	case uet.Duplicate:
		e.rec.Emit(trace.Event{At: now, Kind: trace.Refuse, Lane: f.Lane, Flow: f.QP, PSN: f.PSN, Bytes: f.Payload, A: int64(trace.Duplicate)})
	case uet.Refused:
		e.port.Lost(now, f, trace.NotInTurn)
	case uet.Ahead:
		p := selective.Packet{At: now, Length: uint32(a.Length), Payload: f.Payload, Last: f.Last, Marked: f.FECN}
		p.Tag, p.Tagged = f.Immediate()
		r.early.Keep(context.Next, f.PSN, p)
		e.rec.Deliver(now, f, p.Length, 0)
		e.rec.Emit(trace.Event{At: now, Kind: trace.Disorder, Flow: f.QP, PSN: f.PSN, A: int64(ahead)})
	case uet.InTurn:
		e.rec.Deliver(now, f, uint32(a.Length), 0)
		r.count(e, now, s, f)
		r.release(e, now, s, f.PSN+1)
	}
	r.answer(e, f, &context, &answer)
}

// checkMark reports a mark where there may be none.
func (r *uetReceiver) checkMark(e *Endpoint, now unit.Time, s *sink, f *wire.Frame) {
	if f.FECN && !r.params.ECN {
		e.rec.Emit(trace.Event{At: now, Kind: trace.Violation, Lane: f.Lane, Flow: s.qp, PSN: f.PSN, A: int64(trace.NotCapable)})
	}
}

// count counts a packet whose turn has come. The flow of a transfer may end with it.
func (r *uetReceiver) count(e *Endpoint, now unit.Time, s *sink, f *wire.Frame) {
	s.received = (s.received + 1) & psnMask
	if s.bytes += int64(f.Payload); f.Last {
		end := *f
		end.PSN &= psnMask // as that of the arrival
		e.endTransfer(now, s, &end)
	}
}

// release counts the packets whose turn has come, from a PSN on.
func (r *uetReceiver) release(e *Endpoint, now unit.Time, s *sink, psn uint32) {
	for ; !s.over && psn != r.state.Next; psn++ {
		p, ok := r.early.Take(psn)
		if !ok {
			return
		}
		f := wire.Frame{Kind: wire.Data, Family: wire.UET, Lane: s.lane, QP: s.qp, PSN: psn, Src: s.source, Dst: e.lid,
			Payload: p.Payload, Last: p.Last, FECN: p.Marked}
		if p.Tagged {
			f.SetImmediate(p.Tag)
		}
		r.count(e, now, s, &f)
	}
}

// answer queues the answer to a frame, if it has one.
func (r *uetReceiver) answer(e *Endpoint, f *wire.Frame, context *uet.Receiver, answer *uet.Answer) {
	if !answer.Sends {
		return
	}
	a := r.params.Control(wire.Ack, answer.Code != 0)
	context.Fill(&a, answer)
	a.Src, a.Dst, a.QP, a.Window = f.Dst, f.Src, f.QP, f.Window // the same source port
	*e.place(a.Lane) = a
}

// receiveTrimmed takes in the rest of a packet that a switch has trimmed.
func (r *uetReceiver) receiveTrimmed(e *Endpoint, now unit.Time, s *sink, f *wire.Frame) {
	r.checkMark(e, now, s, f)
	context := r.context(s)
	last := r.params.Codes.AtLastHop(f)
	answer := context.Trimmed(packetOf(f, 0), last)
	r.answer(e, f, &context, &answer)
	if s.answer != nil {
		if last {
			f.UET().Flags |= wire.UETLastHop
		}
		e.handToAnswerer(now, s, f)
	}
}

// receiveControl takes in a control packet of UET that its source has sent.
func (e *Endpoint) receiveControl(now unit.Time, f *wire.Frame) {
	s := e.sinkOf(now, f)
	if s == nil {
		e.port.Discard(now, f, trace.UnknownFlow)
		return
	}
	r, ok := s.receiver.(*uetReceiver)
	switch {
	case !ok:
		e.port.Discard(now, f, trace.UnknownFlow)
	case f.Src != s.source:
		e.port.Discard(now, f, trace.Stranger)
	case f.UET().Code == wire.UETProbe:
		e.port.Free(now, f)
		context := r.context(s)
		answer := context.Probed(f)
		r.answer(e, f, &context, &answer)
	case s.answer == nil && r.live:
		e.port.Discard(now, f, trace.NotAwaited)
	default:
		e.port.Free(now, f)
		if s.answer != nil {
			e.handToAnswerer(now, s, f)
		}
	}
}
