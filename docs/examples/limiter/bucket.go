package main

import (
	"time"

	"golang.org/x/time/rate"

	"fabemu/node"
	"fabemu/wire/unit"
)

// bucket is golang.org/x/time/rate as a limiter. It computes in nanoseconds: tokens count up to the last whole
// nanosecond, and an instant to wait for is one nanosecond later, on the safe side.
type bucket struct{ *rate.Limiter }

func newBucket(line unit.Rate) node.RateLimiter {
	return bucket{rate.NewLimiter(rate.Limit(line.BytesPerSecond()), 9000)}
}

func instant(t unit.Time) time.Time { return time.Unix(0, int64(t)/1000) }

func (l bucket) Next(now unit.Time, n unit.Size) unit.Time {
	short := float64(n) - l.TokensAt(instant(now))
	switch {
	case short <= 0:
		return now
	case l.Limit() == 0:
		return unit.Never
	}
	wait := short / float64(l.Limit()) * 1e9
	return (now - now%1000).Add((unit.Duration(wait) + 2) * unit.Nanosecond)
}

func (l bucket) Sent(now unit.Time, n unit.Size) { l.AllowN(instant(now), int(n)) }

func (l bucket) SetRate(now unit.Time, r unit.Rate) {
	l.SetLimitAt(instant(now), rate.Limit(r.BytesPerSecond()))
}

func (l bucket) Burst() unit.Size { return unit.Size(l.Limiter.Burst()) }
