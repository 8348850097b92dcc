package node

import (
	"fmt"

	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Feedback for the scheme of a flow, and the frames that the scheme itself sends.

// Listener receives what the reaction point of a flow is told that has its own rate limiter, and
// what that permits. It must not keep telemetry that it receives.
type Listener interface {
	// Told reports what the reaction point is told at now, before it is. ACKs of UET are measured
	// whether or not it uses that. Starts of packets and the demand are reported if it has Demand.
	Told(now unit.Time, in rp.Input)
	// Limits reports what the reaction point permits: at time 0, and after what it is told. The
	// rate is that of the limiter.
	Limits(now unit.Time, l rp.Limits)
}

// refuses returns why a source does not take in a frame that has come back to it.
func (e *Endpoint) refuses(now unit.Time, s *source, f *wire.Frame) trace.Reason {
	if f.Kind == wire.CNP && s.Family != wire.RoCEv2 {
		return trace.UnknownFlow
	}
	g := s.sharedPacer
	if g == nil {
		g = &s.ownPacer
	}
	if why := refuses(now, g.reaction.Refuses, s.Dst, f, s.Marks); why != trace.NoReason {
		return why
	}
	if e.limiters > 0 && !s.Limited && !g.limits() && e.limited() >= e.limiters {
		return trace.NoLimiter
	}
	return trace.NoReason
}

// limited returns how many rate limiters are in use.
func (e *Endpoint) limited() (n int) {
	for i := range e.sources {
		if s := &e.sources[i]; s.Limited || s.ownPacer.limits() {
			n++
		}
	}
	for _, g := range e.pacers {
		if g.limits() {
			n++
		}
	}
	return n
}

// refuses returns why a frame about a flow is not wanted, at the end of the flow whose peer
// is the other one. Its scheme may refuse none (nil). With marks a CNP is wanted, unless the scheme
// refuses it.
func refuses(now unit.Time, by func(unit.Time, wire.Frame) trace.Reason, peer wire.LID, f *wire.Frame, marks bool) trace.Reason {
	if f.Kind.EndToEnd() && f.Src != peer {
		return trace.Stranger
	}
	if by != nil {
		return by(now, *f)
	}
	if f.Kind == wire.CNP && !marks {
		return trace.NotAwaited
	}
	return trace.NoReason
}

// sampled takes in a notification that names no flow: the pacer of those that it is about
// receives it once. It reports whether there is one.
func (e *Endpoint) sampled(now unit.Time, f *wire.Frame) bool {
	var informed *pacer
	for i := range e.sources {
		switch s := &e.sources[i]; {
		case !(s.sharedPacer != nil && s.Dst == f.Sampled().Dst && s.Lane == f.Sampled().Lane):
		case s.sharedPacer == informed:
			informed.join(now, s, &e.rec)
		default:
			informed = s.sharedPacer
			s.feedback(now, f, &e.rec)
		}
	}
	return informed != nil
}

// probe queues the own frames of the reaction point of a flow.
func (e *Endpoint) probe(now unit.Time, g *pacer, s *source) {
	if g.reaction.Send != nil && s != nil {
		e.sendOf(now, g.reaction.Controller, g.reaction.Send, s)
		g.due = g.reaction.Deadline()
	}
}

// end is an end of a flow whose scheme sends its own frames.
type end interface {
	// heads returns the destination, the flow and the priority of such a frame, and the fields of
	// IP of a CNP or a control packet of UET.
	heads() wire.Frame
}

func (s *source) heads() wire.Frame {
	to := wire.Frame{Lane: s.Lane}
	if u, ok := s.sender.(*uetSender); ok {
		to = u.params.Control(wire.UETControl, false)
	}
	to.Dst, to.QP = s.Dst, s.QP
	return to
}

func (s *sink) heads() wire.Frame {
	to := wire.Frame{Lane: s.lane}
	to.SetRoCE(s.cnp)
	if u, ok := s.receiver.(*uetReceiver); ok {
		to = u.params.Control(wire.UETControl, false)
	}
	to.Dst, to.QP = s.source, s.qp
	return to
}

// handToAnswerer hands a frame of a flow that ends here to its Answerer.
func (e *Endpoint) handToAnswerer(now unit.Time, s *sink, f *wire.Frame) {
	s.answer.Receive(now, *f)
	if t, ok := s.answer.(rp.TakingTurns); ok { // only the flow whose turn it is has anything to send
		if qp, at, ok := t.Turn(); ok && qp == s.qp {
			e.attend(max(at, now), s)
		} else {
			e.nextTurn(now, t, s)
		}
		return
	}
	e.attend(now, s)
}

// attend has a destination asked for frames of its own at an instant.
func (e *Endpoint) attend(at unit.Time, s *sink) {
	if s.slot == 0 {
		e.call(at, s)
		return
	}
	e.agenda.Set(int(s.slot), at)
}

// respond queues the answers to a flow, those of its transport first. It returns when there is more
// to do.
func (e *Endpoint) respond(now unit.Time, s *sink) unit.Time {
	s.receiver.respond(e, now, s)
	if s.answer != nil {
		e.sendOf(now, s.answer, s.answer.Send, s)
		if t, ok := s.answer.(rp.TakingTurns); ok {
			e.nextTurn(now, t, s)
		}
	}
	return s.deadline()
}

// nextTurn has the flow asked whose turn it is, unless it is that of s.
func (e *Endpoint) nextTurn(now unit.Time, t rp.TakingTurns, s *sink) {
	qp, at, ok := t.Turn()
	if !ok || qp == s.qp {
		return
	}
	at = max(at, now)
	if k, found := e.sink.find(qp); found {
		e.agenda.Set(int(e.sinks[k].slot), at)
	} else if p, _ := e.workloadOf(qp); p != nil && p.sinks[qp] != nil {
		e.call(at, p.sinks[qp])
	}
}

// deadline returns when something answers the flow by itself.
func (s *sink) deadline() unit.Time {
	t := s.receiver.deadline()
	if s.answer != nil {
		t = min(t, s.answer.Deadline())
	}
	return t
}

// atOnce is more frames than any scheme sends about a flow at one instant.
const atOnce = 1 << 10

// sendOf queues the own frames of a scheme at an end of a flow. The priority is that of the flow
// unless the scheme gives a higher one.
func (e *Endpoint) sendOf(now unit.Time, by any, send func(unit.Time) (wire.Frame, bool), from end) {
	for range atOnce {
		f, ok := send(now)
		if !ok {
			return
		}
		to := from.heads()
		f.Src, f.Dst, f.QP, f.Lane = e.lid, to.Dst, to.QP, max(f.Lane, to.Lane)
		if f.Kind == wire.CNP {
			f.Family = wire.RoCEv2
			f.SetRoCE(to.RoCE())
		}
		value := int64(f.Message().Value)
		if f.Kind == wire.UETControl {
			f.Family, f.Lane = wire.UET, to.Lane
			f.SetRoCE(to.RoCE())
			value = int64(f.UET().Amount)
		}
		e.push(f)
		e.soon = now
		e.rec.Emit(trace.Event{At: now, Kind: trace.Message, Lane: f.Lane, Flow: f.QP, PSN: f.PSN, A: value})
	}
	panic(fmt.Sprintf("node: %T has sent %d frames at %v, without an end", by, atOnce, now))
}

// push queues a frame of the endpoint's own.
func (e *Endpoint) push(f wire.Frame) { *e.place(f.Lane) = f }

// place makes a place for a frame of the endpoint's own on a lane.
func (e *Endpoint) place(lane uint8) *wire.Frame {
	e.owesControl |= 1 << (lane % 16)
	return e.own[lane].add()
}
