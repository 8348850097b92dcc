package main

import (
	"math"

	"fabemu/node"
	"fabemu/wire/unit"
)

// pairs lets packets leave two at a time, and then makes up for both.
type pairs struct {
	rate   unit.Rate
	owed   float64   // bytes that have left and have not had their time
	at     unit.Time // as of then
	second bool      // another one may leave behind the last
}

func newPairs(line unit.Rate) node.RateLimiter { return &pairs{rate: line} }

func (l *pairs) Next(now unit.Time, _ unit.Size) unit.Time {
	l.settle(now)
	switch {
	case l.second || l.owed < 1e-6:
		return now
	case l.rate == 0:
		return unit.Never
	}
	return now.Add(unit.Duration(math.Ceil(l.owed / l.rate.BytesPerSecond() * 1e12)))
}

func (l *pairs) Sent(now unit.Time, n unit.Size) {
	l.settle(now)
	l.second = l.owed < 1e-6
	l.owed += float64(n)
}

func (l *pairs) SetRate(now unit.Time, r unit.Rate) { l.settle(now); l.rate = r }

// settle pays off the debt up to now. It keeps the rounding of the last instant as a credit.
func (l *pairs) settle(now unit.Time) {
	l.owed = max(-1, l.owed-l.rate.BytesPerSecond()*now.Sub(l.at).Seconds())
	l.at = now
}
