package node

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Pacer is a rate limiter that several flows of an endpoint share, with the reaction point that
// governs it. If that has Active, a flow is put under the Pacer by the first feedback about
// it, and leaves with all others when the reaction point no longer limits ("Can work with a single
// rate limiter. Alias all flows which have received negative feedback onto the rate limiter": "QCN:
// Quantized Congestion Notification", Basic QCN). Otherwise its flows are always under it.
//
// A notification that names no flow concerns the flows with the priority and the destination of the
// sampled frame.
//
// Flows that have a packet take turns. The flow whose turn it is asks the limiter; the others wait
// until its packet has gone.
type Pacer struct {
	Limiter  RateLimiter
	Reaction rp.Reaction
}

// pacer is a rate limiter and its reaction point at work. A flow has its own; it is
// under that, or under one that it shares.
type pacer struct {
	limiter  RateLimiter
	due      unit.Time    // when the reaction point has something to do; unit.Never: only feedback matters
	rate     unit.Rate    // the last that was set at the limiter
	flow     *source      // whose own pacer this is; nil: flows share it
	rated    rated        // the limiter, where it reports its rate; else nil
	reaction *rp.Reaction // of the flow, or of those that share it; zero: nothing changes the rate
	*shared               // flow is nil
}

// shared is what a pacer has in addition if flows share it.
type shared struct {
	members []*source      // those that may be under it
	under   int            // how many of them are
	turns   queue[*source] // those under it that have a packet, in the order of their turns
	out     *source        // whose packet may go and has not yet gone
	last    *source        // the one whose feedback the reaction point received last
	agenda  *agenda.Slots  // of the endpoint
	slot    int            // of the pacer there
}

// rated is a limiter that reports its rate.
type rated interface{ Rate() unit.Rate }

// newPacer returns the pacer of a limiter, with a reaction point that is its own. Without one the
// limiter keeps its rate.
func newPacer(l RateLimiter, r *rp.Reaction) pacer {
	g := pacer{limiter: l, reaction: r, due: unit.Never}
	g.rated, _ = l.(rated)
	if r.Controller == nil {
		g.rate = g.limit()
		return g
	}
	g.rate = r.Rate()
	l.SetRate(0, g.rate)
	if _, fixed := r.Controller.(*rp.Fixed); fixed {
		*r = rp.Reaction{} // it has sent all that it ever sends
	} else {
		g.due = r.Deadline()
	}
	return g
}

// newShared returns a pacer that flows share, and its place in an agenda.
func newShared(c *Pacer, a *agenda.Slots, slot int) *pacer {
	r := c.Reaction
	g := newPacer(c.Limiter, &r)
	g.shared = &shared{agenda: a, slot: slot}
	a.Set(slot, g.due)
	return &g
}

// limits reports whether flows are limited now that are not at other times.
func (g *pacer) limits() bool { return g.reaction.Active != nil && g.reaction.Active() }

// limit returns the rate of the limiter: the one that it reports, or else the one that it was
// given; 0 if it is not known.
func (g *pacer) limit() unit.Rate {
	if g.rated != nil {
		return g.rated.Rate()
	}
	return g.rate
}

// mayAsk reports whether it is a flow's turn, among those that share the pacer, to ask the limiter
// for its packet.
func (g *pacer) mayAsk(s *source) bool {
	if !s.inTurns {
		s.inTurns = true
		g.turns.push(s)
	}
	return g.out == nil && *g.turns.front() == s
}

// next wakes the flow whose turn it is.
func (g *pacer) next(now unit.Time) {
	if g.out == nil && !g.turns.empty() {
		g.agenda.Set((*g.turns.front()).slot, now)
	}
}

// advance lets the reaction point do all that is due. The endpoint asks it for its own frames
// (probe).
func (g *pacer) advance(now unit.Time, rec *trace.Recorder) {
	if g.due <= now {
		g.reaction.Advance(now)
		g.settle(now, rec)
	}
}

// feedback hands a frame that has come back to a flow to the reaction point.
func (g *pacer) feedback(now unit.Time, s *source, f *wire.Frame, rec *trace.Recorder) {
	if g.flow == nil {
		g.about(now, s)
	}
	if g.reaction.Controller == nil {
		return
	}
	if g.reaction.Acknowledged != nil && f.Kind == wire.Ack {
		a := s.measured(now, f)
		if a.RTT > 0 {
			rec.Emit(trace.Event{At: now, Kind: trace.RoundTrip, Flow: s.QP, PSN: f.PSN, A: int64(a.RTT), B: int64(s.window.Timeout)})
		}
		g.reaction.Acknowledged.Acked(now, a)
	} else {
		g.reaction.Feedback(now, *f)
	}
	if g.reaction.Log != nil {
		if level, ok := g.reaction.Log(); ok {
			rec.Emit(trace.Event{At: now, Kind: trace.CongestionLog, Flow: s.QP, PSN: f.PSN, A: int64(level)})
		}
	}
	g.settle(now, rec)
}

// sent records that a packet of a flow has started.
func (g *pacer) sent(now unit.Time, s *source, n unit.Size, rec *trace.Recorder) {
	g.limiter.Sent(now, n)
	if g.reaction.Demand != nil {
		g.tell(now, rp.StartInput, n)
	}
	if g.reaction.Controller != nil {
		g.reaction.Sent(now, n)
		g.settle(now, rec)
	}
	if g.flow == nil {
		g.about(now, s)
		g.out = nil
		g.next(now)
	}
}

// lost tells the reaction point, if it uses ACKs, that packets are sent again.
func (g *pacer) lost(now unit.Time, rec *trace.Recorder) {
	if a := g.reaction.Acknowledged; a != nil {
		g.tell(now, rp.LossInput, 0)
		a.Lost(now)
		g.settle(now, rec)
	}
}

// trimmed tells the reaction point that a packet was trimmed. It reports whether that wants to know
// each such packet, or there is none that could be told of losses.
func (g *pacer) trimmed(now unit.Time, t rp.Trim, rec *trace.Recorder) bool {
	if g.reaction.Trimmed == nil && g.reaction.Acknowledged != nil {
		return false
	}
	if l := g.listener(); l != nil {
		l.Told(now, rp.Input{Kind: rp.TrimInput, Trim: t})
	}
	if g.reaction.Trimmed != nil {
		g.reaction.Trimmed(now, t)
		g.settle(now, rec)
	}
	return true
}

// expired tells the reaction point that packets of n bytes were given up, and reports the same as
// trimmed.
func (g *pacer) expired(now unit.Time, n unit.Size, rec *trace.Recorder) bool {
	if g.reaction.Expired == nil && g.reaction.Acknowledged != nil {
		return false
	}
	g.tell(now, rp.ExpiryInput, n)
	if g.reaction.Expired != nil {
		g.reaction.Expired(now, n)
		g.settle(now, rec)
	}
	return true
}

// listener returns the listener of the flow; nil: it has none, or flows share the pacer.
func (g *pacer) listener() Listener {
	if g.flow == nil {
		return nil
	}
	return g.flow.Listener
}

// tell tells the listener what the reaction point is told of n bytes.
func (g *pacer) tell(now unit.Time, kind rp.InputKind, n unit.Size) {
	if l := g.listener(); l != nil {
		l.Told(now, rp.Input{Kind: kind, Bytes: n})
	}
}

// report tells the listener, which there is, what the reaction point permits.
func (g *pacer) report(now unit.Time) {
	l := rp.Limits{Credit: rp.NoCredit}
	if g.reaction.Controller != nil {
		l = g.reaction.Limits()
	}
	l.Rate = g.rate
	g.flow.Listener.Limits(now, l)
}

// about notes which flow of those that share it the next feedback is about, and that it may have a
// frame to send.
func (g *pacer) about(now unit.Time, s *source) {
	g.last = s
	g.agenda.Set(g.slot, now)
}

// settle notes the wish of the reaction point, and hands its rate to the limiter.
func (g *pacer) settle(now unit.Time, rec *trace.Recorder) {
	r := g.reaction.Rate()
	g.due = g.reaction.Deadline()
	changed := r != g.rate
	if changed {
		g.rate = r
		g.limiter.SetRate(now, r)
	}
	if g.flow != nil {
		if g.flow.Listener != nil {
			g.report(now)
		}
		if changed && g.reaction.Target != nil {
			g.flow.limitChanged(now, rec)
		}
		if a := g.reaction.Acknowledged; a != nil && a.Window() != g.flow.window.most {
			g.flow.window.most = a.Window()
			g.flow.windowChanged(now, rec)
		}
		return
	}
	if over := g.reaction.Active != nil && !g.reaction.Active(); changed || over && g.under > 0 {
		for _, s := range g.members {
			if s.pacer != g {
				continue
			}
			if over {
				s.pacer, s.inTurns = &s.ownPacer, false
				g.agenda.Set(s.slot, now)
			}
			s.limitChanged(now, rec)
		}
		if over {
			g.under, g.turns = 0, queue[*source]{ring: g.turns.ring}
		}
	}
	g.next(now)
}

// join brings a flow under the pacer, if that limits now.
func (g *pacer) join(now unit.Time, s *source, rec *trace.Recorder) {
	if s.pacer == g || g.reaction.Active != nil && !g.reaction.Active() {
		return
	}
	s.pacer = g
	g.under++
	g.agenda.Set(s.slot, now)
	s.limitChanged(now, rec)
}

// setReactions gives flows other reaction points, by queue pair. Flows that share a limiter have
// the same one.
func (e *Endpoint) setReactions(now unit.Time, of map[uint32]rp.Reaction) {
	for i := range e.sources {
		s := &e.sources[i]
		g, r := s.pacer, of[s.QP]
		if r.Controller == nil || r.Controller == g.reaction.Controller {
			continue
		}
		if r.Inherit != nil && g.reaction.Controller != nil {
			r.Inherit(now, g.reaction.Controller)
		}
		*g.reaction = r
		g.settle(now, &e.rec)
		if g.flow == nil {
			g.agenda.Set(g.slot, now)
		}
		e.agenda.Set(s.slot, now)
	}
}
