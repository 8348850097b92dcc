package node

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Pacer is a rate limiter that several flows of an endpoint share, with the reaction point that
// governs it. If that is an rp.Limiting, a flow is put under the Pacer by the first feedback about
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
	Limiter    RateLimiter
	Controller rp.Controller
}

// pacer is a rate limiter and its reaction point at work. A flow has its own; it is
// under that, or under one that it shares.
type pacer struct {
	limiter    RateLimiter
	controller rp.Controller // nil: nothing changes the rate
	due        unit.Time     // when the controller has something to do; unit.Never: only feedback matters
	rate       unit.Rate     // the last that was set at the limiter
	flow       *source       // whose own pacer this is; nil: flows share it
	rated      rated         // the limiter, where it reports its rate; else nil
	rp.Extras                // of the controller
	*shared                  // flow is nil
}

// shared is what a pacer has in addition if flows share it.
type shared struct {
	members []*source      // those that may be under it
	under   int            // how many of them are
	turns   queue[*source] // those under it that have a packet, in the order of their turns
	out     *source        // whose packet may go and has not yet gone
	last    *source        // the one whose feedback the controller received last
	agenda  *agenda.Slots  // of the endpoint
	slot    int            // of the pacer there
}

// rated is a limiter that reports its rate.
type rated interface{ Rate() unit.Rate }

// newPacer returns the pacer of a limiter. Without a controller the limiter keeps its rate.
func newPacer(l RateLimiter, c rp.Controller) pacer {
	g := pacer{limiter: l, due: unit.Never}
	g.rated, _ = l.(rated)
	if c == nil {
		g.rate = g.limit()
		return g
	}
	g.rate = c.Rate()
	l.SetRate(0, g.rate)
	if _, fixed := c.(*rp.Fixed); fixed {
		return g // it has sent all that it ever sends
	}
	g.controller, g.due = c, c.Deadline()
	g.Extras = rp.ExtrasOf(c)
	return g
}

// newShared returns a pacer that flows share, and its place in an agenda.
func newShared(c *Pacer, a *agenda.Slots, slot int) *pacer {
	g := newPacer(c.Limiter, c.Controller)
	g.shared = &shared{agenda: a, slot: slot}
	a.Set(slot, g.due)
	return &g
}

// limits reports whether flows are limited now that are not at other times.
func (g *pacer) limits() bool { return g.Limiting != nil && g.Limiting.Active() }

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

// advance lets the controller do all that is due. The endpoint asks it for its own frames (probe).
func (g *pacer) advance(now unit.Time, rec *trace.Recorder) {
	if g.due <= now {
		g.controller.Advance(now)
		g.settle(now, rec)
	}
}

// feedback hands a frame that has come back to a flow to the controller.
func (g *pacer) feedback(now unit.Time, s *source, f *wire.Frame, rec *trace.Recorder) {
	if g.flow == nil {
		g.about(now, s)
	}
	if g.controller == nil {
		return
	}
	if g.Acknowledged != nil && f.Kind == wire.Ack {
		g.Acknowledged.Acked(now, s.measured(now, f, rec))
	} else {
		g.controller.Feedback(now, *f)
	}
	if g.Logger != nil {
		if level, ok := g.Logger.Log(); ok {
			rec.Emit(trace.Event{At: now, Kind: trace.CongestionLog, Flow: s.QP, PSN: f.PSN, A: int64(level)})
		}
	}
	g.settle(now, rec)
}

// sent records that a packet of a flow has started.
func (g *pacer) sent(now unit.Time, s *source, n unit.Size, rec *trace.Recorder) {
	g.limiter.Sent(now, n)
	if g.controller != nil {
		g.controller.Sent(now, n)
		g.settle(now, rec)
	}
	if g.flow == nil {
		g.about(now, s)
		g.out = nil
		g.next(now)
	}
}

// about notes which flow of those that share it the next feedback is about, and that it may have a
// frame to send.
func (g *pacer) about(now unit.Time, s *source) {
	g.last = s
	g.agenda.Set(g.slot, now)
}

// settle notes the wish of the controller, and hands the controller's rate to the limiter.
func (g *pacer) settle(now unit.Time, rec *trace.Recorder) {
	r := g.controller.Rate()
	g.due = g.controller.Deadline()
	changed := r != g.rate
	if changed {
		g.rate = r
		g.limiter.SetRate(now, r)
		if g.flow != nil && g.flow.Listener != nil {
			g.flow.Listener.Rate(now, r)
		}
	}
	if g.flow != nil {
		if changed && g.Targeted != nil {
			g.flow.limitChanged(now, rec)
		}
		if a := g.Acknowledged; a != nil && a.Window() != g.flow.window.most {
			g.flow.window.most = a.Window()
			g.flow.windowChanged(now, rec)
		}
		return
	}
	if over := g.Limiting != nil && !g.Limiting.Active(); changed || over && g.under > 0 {
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
	if s.pacer == g || g.Limiting != nil && !g.Limiting.Active() {
		return
	}
	s.pacer = g
	g.under++
	g.agenda.Set(s.slot, now)
	s.limitChanged(now, rec)
}

// setControllers gives flows other reaction points, by queue pair. Flows that share a limiter have
// the same one.
func (e *Endpoint) setControllers(now unit.Time, of map[uint32]rp.Controller) {
	for i := range e.sources {
		s := &e.sources[i]
		g, c := s.pacer, of[s.QP]
		if c == nil || c == g.controller {
			continue
		}
		if h, ok := c.(rp.Heir); ok && g.controller != nil {
			h.Inherit(now, g.controller)
		}
		g.controller, g.Extras = c, rp.ExtrasOf(c)
		g.settle(now, &e.rec)
		if g.flow == nil {
			g.agenda.Set(g.slot, now)
		}
		e.agenda.Set(s.slot, now)
	}
}
