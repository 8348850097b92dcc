package runtest

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"fabemu/node"
	"fabemu/wire/unit"
)

// xtime is golang.org/x/time/rate as a limiter: a bucket by others, which computes
// in time.Time, and to which a clock that runs backwards gives tokens twice.
type xtime struct{ *rate.Limiter }

func XTimeRate(r unit.Rate) node.RateLimiter {
	return xtime{rate.NewLimiter(rate.Limit(r.BytesPerSecond()), 9000)}
}

// instant rounds down to a whole nanosecond: tokens that came by then are there.
func instant(t unit.Time) time.Time { return time.Unix(0, int64(t)/1000) }

func (l xtime) Burst() unit.Size { return unit.Size(l.Limiter.Burst()) }

func (l xtime) Next(now unit.Time, n unit.Size) unit.Time {
	short := float64(n) - l.TokensAt(instant(now))
	switch {
	case short <= 0:
		return now
	case l.Limit() == 0:
		return unit.Never
	}
	wait := math.Floor(short/float64(l.Limit())*1e9) + 2 // whole nanoseconds, on the safe side
	return (now - now%1000).Add(unit.Duration(wait) * unit.Nanosecond)
}

func (l xtime) Sent(now unit.Time, n unit.Size) { l.AllowN(instant(now), int(n)) }

func (l xtime) SetRate(now unit.Time, r unit.Rate) {
	l.SetLimitAt(instant(now), rate.Limit(r.BytesPerSecond()))
}
