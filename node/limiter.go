package node

import "fabemu/wire/unit"

// RateLimiter turns a rate into instants: it says when the next packet of a flow
// may start. It sees only starts; whether the line or the credit allows it is the
// port's matter.
type RateLimiter interface {
	// Next returns the earliest instant at which n bytes may start: now, or later.
	Next(now unit.Time, n unit.Size) unit.Time
	// Sent tells that n bytes started at now.
	Sent(now unit.Time, n unit.Size)
	// SetRate changes the rate from now on.
	SetRate(now unit.Time, r unit.Rate)
}

// InterPacketDelay is the rate limiter of HPL-2002-224: a packet starts no sooner
// than the packet before it would take at the flow's rate, from start to start.
// Time that passes unused is not made up for: there are no bursts. A change of the
// rate counts at once, also for the delay that runs.
type InterPacketDelay struct {
	rate  unit.Rate
	last  unit.Time // start of the last packet
	size  unit.Size // its length; 0 before the first
	delay unit.Duration
}

// NewInterPacketDelay returns a limiter at rate r.
func NewInterPacketDelay(r unit.Rate) *InterPacketDelay { return &InterPacketDelay{rate: r} }

// Next returns the start of the last packet plus the delay, or now.
func (l *InterPacketDelay) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.size == 0 {
		return now
	}
	return max(now, l.last.Add(l.delay))
}

// Sent begins a new delay.
func (l *InterPacketDelay) Sent(now unit.Time, n unit.Size) {
	if n != l.size {
		l.size, l.delay = n, l.rate.Serialise(n)
	}
	l.last = now
}

// SetRate changes the delay that runs, and those to come.
func (l *InterPacketDelay) SetRate(_ unit.Time, r unit.Rate) {
	if r != l.rate {
		l.rate, l.delay = r, r.Serialise(l.size)
	}
}
