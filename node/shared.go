package node

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Shared is one rate limiter of an endpoint that several of its flows share, with the
// reaction point that governs it. A flow comes under it with the first notification
// that is about it, and leaves with all others when the reaction point no longer limits
// ("Can work with a single rate limiter. Alias all flows which have received negative
// feedback onto the rate limiter": "QCN: Quantized Congestion Notification", Basic QCN).
//
// A notification that names no flow is about those that go to the destination of the
// sampled frame with its priority.
//
// Flows take turns: of those that have a packet, the one goes first whose last packet
// under the limiter is the longest ago: they ask a picosecond apart. While the packet of
// one waits for the line the others wait too.
type Shared struct {
	reaction Reaction
	limiter  RateLimiter
	members  []*member
	era      int       // how often the reaction point has begun to limit
	turn     int       // of the packets sent under the limiter
	out      *member   // whose packet may go and has not yet
	told     unit.Time // the latest instant that any of its limiters was told
}

// Reaction is a reaction point that limits at some times and does not at others.
type Reaction interface {
	rp.Controller
	Active() bool
	Target() unit.Rate
}

// NewShared returns a limiter that flows may share.
func NewShared(reaction Reaction, limiter RateLimiter) *Shared {
	return &Shared{reaction: reaction, limiter: limiter}
}

// Join makes a flow one that may come under s. It takes the place of its limiter and
// controller; while it is not under s it has the limiter own, and the rate line.
func (s *Shared) Join(f *Flow, own RateLimiter, line unit.Rate) {
	m := &member{s: s, place: len(s.members), own: own, line: line, dst: f.Dst, lane: f.Lane}
	s.members = append(s.members, m)
	f.Limiter, f.Controller = pacer{m}, m
}

// member is a flow that may come under a shared limiter: its limiter and its
// controller.
type member struct {
	s     *Shared
	place int // in s.members
	own   RateLimiter
	line  unit.Rate
	dst   wire.LID
	lane  uint8
	era   int // it came under s in this one
	last  int // the turn of its last packet under s

	asked   int       // the turn for which from is
	from    unit.Time // when it may have it
	changed bool      // the rate is another since from was found
}

// under reports whether the flow is under the shared limiter.
func (m *member) under() bool { return m.s.reaction.Active() && m.era == m.s.era }

// concerns reports whether a notification that names no flow is about this one.
func (m *member) concerns(f *wire.Frame) bool {
	return m.dst == f.SampledDst && m.lane == f.SampledLane
}

// join brings the flow under the shared limiter.
func (m *member) join() {
	if m.era != m.s.era {
		m.era, m.last, m.changed = m.s.era, m.s.turn, true
	}
}

// Feedback takes in a notification about the flow.
func (m *member) Feedback(now unit.Time, f wire.Frame) {
	was := m.s.reaction.Active()
	m.s.reaction.Feedback(now, f)
	if !m.s.reaction.Active() {
		return
	}
	if !was {
		m.s.era++
	}
	m.join()
}

// Sent tells the reaction point of what leaves under it.
func (m *member) Sent(now unit.Time, n unit.Size) {
	if m.under() {
		m.s.reaction.Sent(now, n)
	}
}

// Advance ends a cycle of the timer, if it is time.
func (m *member) Advance(now unit.Time) { m.s.reaction.Advance(now) }

// Deadline returns when the timer ends its cycle.
func (m *member) Deadline() unit.Time {
	if m.under() {
		return m.s.reaction.Deadline()
	}
	return unit.Never
}

// Rate returns the rate of all flows under the limiter together, or the line's.
func (m *member) Rate() unit.Rate {
	if m.under() {
		return m.s.reaction.Rate()
	}
	return m.line
}

// Target returns the rate that the reaction point wants back.
func (m *member) Target() unit.Rate {
	if m.under() {
		return m.s.reaction.Target()
	}
	return m.line
}

// pacer is a member as a limiter: Sent means something else to a controller.
type pacer struct{ *member }

// Next returns when the flow has its turn.
func (p pacer) Next(now unit.Time, n unit.Size) unit.Time {
	m := p.member
	if !m.under() {
		return m.own.Next(now, n)
	}
	if m.s.out != nil && m.s.out != m {
		return unit.Never // until it has gone
	}
	free := m.s.limiter.Next(now, n)
	if m.asked != m.s.turn || m.changed || free > now {
		m.asked, m.changed = m.s.turn, false
		m.from = free
		if free != unit.Never {
			m.from = free.Add(unit.Duration(m.ahead()))
		}
	}
	if m.from > now {
		return m.from
	}
	m.s.out = m
	return now
}

// ahead returns how many flows under the limiter have their turn before this one.
func (m *member) ahead() int {
	n := 0
	for i, other := range m.s.members {
		if other == m || !other.under() {
			continue
		}
		if other.last < m.last || other.last == m.last && i < m.place {
			n++
		}
	}
	return n
}

// Sent takes a packet out.
func (p pacer) Sent(now unit.Time, n unit.Size) {
	m := p.member
	if m.s.out == m {
		m.s.out = nil
	}
	if !m.under() {
		m.own.Sent(now, n)
		return
	}
	m.s.limiter.Sent(now, n)
	m.s.turn++
	m.last = m.s.turn
}

// SetRate changes the rate of the limiter that the flow is under.
func (p pacer) SetRate(now unit.Time, r unit.Rate) {
	m := p.member
	if m.under() {
		m.s.limiter.SetRate(now, r)
		for _, other := range m.s.members {
			other.changed = true
		}
		return
	}
	m.own.SetRate(now, r)
}
