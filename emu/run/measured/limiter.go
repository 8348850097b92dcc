package measured

import (
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// limiter hands measured instants to a rate limiter.
type limiter struct {
	node.RateLimiter
	time    *Pacing
	handed  unit.Time // the latest instant that it was handed
	gave    unit.Time // the later instant that it gave; unit.Never: none, or another rate is wanted
	permits bool      // it lets a packet start, of up to size
	size    unit.Size
	as      unit.Time // as of when it lets it
	at      unit.Time // and when the answer was there: the packet starts no earlier
}

// rated is a limiter that has a rate to show.
type rated struct {
	*limiter
	rate interface{ Rate() unit.Rate }
}

func (l rated) Rate() unit.Rate { return l.rate.Rate() }

// Limiter returns l in measured time.
func (p *Pacing) Limiter(l node.RateLimiter) node.RateLimiter {
	p.limiter = &limiter{RateLimiter: l, time: p, gave: unit.Never}
	if r, ok := l.(interface{ Rate() unit.Rate }); ok {
		return rated{p.limiter, r}
	}
	return p.limiter
}

// hand returns the instant that the limiter is handed: at, or the latest before.
func (l *limiter) hand(at unit.Time) unit.Time {
	l.handed = max(l.handed, at)
	return l.handed
}

// Next asks the limiter. A packet that it has let start may start, whatever else has come since.
func (l *limiter) Next(now unit.Time, n unit.Size) unit.Time {
	if l.permits && n <= l.size {
		return max(now, l.at)
	}
	as, due := l.time.read(now), now
	if l.gave != unit.Never && now <= l.gave {
		as = min(as, l.gave) // asked as of the instant that it gave: lateness does not add up
		due = as
	}
	as = l.hand(as)
	if t := l.RateLimiter.Next(as, n); t > as {
		l.permits, l.gave = false, t
		return t
	}
	l.permits, l.gave, l.size, l.as = true, unit.Never, n, as
	l.at = l.time.read(now)
	l.time.time.Starts.note(l.at.Sub(due), l.time.packet)
	return l.at
}

// Sent reports the start of a packet: as of the instant as of which the limiter let it start,
// where nothing else has kept it.
func (l *limiter) Sent(now unit.Time, n unit.Size) {
	at := now
	if l.permits && now <= l.at {
		at = l.as
	}
	l.permits = false
	l.RateLimiter.Sent(l.hand(at), n)
}

func (l *limiter) SetRate(now unit.Time, r unit.Rate) {
	l.RateLimiter.SetRate(l.hand(l.time.read(now)), r)
}

// listener notifies a node.Listener with the instants that the limiter and the reaction point have.
type listener struct {
	of   node.Listener
	time *Pacing
}

// Listener returns l in measured time. It may be nil.
func (p *Pacing) Listener(l node.Listener) node.Listener {
	if l == nil {
		return nil
	}
	return &listener{l, p}
}

// Told is called before the reaction point is told.
func (l *listener) Told(now unit.Time, in rp.Input) {
	if l.time.reacts && in.Kind != rp.StartInput && in.Kind != rp.DemandInput {
		now = l.time.read(now)
		l.time.feedback = now
	}
	l.of.Told(now, in)
}

// Limits is called when the limiter has the rate.
func (l *listener) Limits(now unit.Time, x rp.Limits) {
	l.of.Limits(max(now, l.time.limiter.handed), x)
}
