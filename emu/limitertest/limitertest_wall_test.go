//go:build !race

package limitertest_test

import (
	"math"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"fabemu/emu/limitertest"
	"fabemu/node"
	"fabemu/wire/unit"
)

// xtime is golang.org/x/time/rate as a limiter: a bucket of somebody else, which reckons
// in time.Time, and to which a clock that runs backwards gives tokens twice.
type xtime struct{ bucket *rate.Limiter }

func newXTime(r unit.Rate) node.RateLimiter {
	return xtime{rate.NewLimiter(rate.Limit(r.BytesPerSecond()), 4500)}
}

// instant rounds down to a whole nanosecond: what came in by then is there.
func instant(t unit.Time) time.Time { return time.Unix(0, int64(t)/1000) }

func (l xtime) Next(now unit.Time, n unit.Size) unit.Time {
	short := float64(n) - l.bucket.TokensAt(instant(now))
	if short <= 0 {
		return now
	}
	wait := math.Floor(short/float64(l.bucket.Limit())*1e9) + 2 // whole nanoseconds, on the safe side
	return (now - now%1000).Add(unit.Duration(wait) * unit.Nanosecond)
}

func (l xtime) Sent(now unit.Time, n unit.Size) { l.bucket.AllowN(instant(now), int(n)) }

func (l xtime) SetRate(now unit.Time, r unit.Rate) {
	l.bucket.SetLimitAt(instant(now), rate.Limit(r.BytesPerSecond()))
}

func TestWallXTimeRate(t *testing.T) {
	limitertest.Test(t, limitertest.Config{New: newXTime, Burst: 4500})
}

func TestWallOurs(t *testing.T) {
	t.Run("token bucket", func(t *testing.T) {
		limitertest.Test(t, limitertest.Config{New: func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 4500) }, Burst: 4500})
	})
	t.Run("inter-packet delay", func(t *testing.T) {
		limitertest.Test(t, limitertest.Config{New: func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) }})
	})
}
