package main

import (
	"time"

	"github.com/juju/ratelimit"
	uber "go.uber.org/ratelimit"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/study/limiters"
	"fabemu/node"
	"fabemu/wire/unit"
)

// depth is the depth of the buckets here, in bytes. packet is the length of a packet for a limiter
// that counts packets.
const depth, packet = 9000, 1500

// others returns the limiters of other modules.
func others() []*limiters.Subject {
	return []*limiters.Subject{
		{Name: "golang.org/x/time/rate",
			Note: "a bucket of 9000 bytes; `TokensAt` is `Next`, and `AllowN` is `Sent`", New: func(r unit.Rate) node.RateLimiter {
				return runtest.XTimeRate(r)
			}},
		{Name: "go.uber.org/ratelimit",
			Note: "it counts packets, one of 1500 bytes each, and keeps up to 10 of them; `Take` blocks: its clock (`WithClock`) gets the time of the call and does not sleep, so that it returns the instant; another rate is another limiter, which begins with the last start; a packet that waits for the line has taken its turn before", New: func(r unit.Rate) node.RateLimiter {
				l := &uberLimiter{}
				l.SetRate(0, r)
				return l
			}},
		{Name: "github.com/juju/ratelimit",
			Note: "a bucket of 9000 bytes; `Take` returns how long to wait, on a clock with the time of the call; another rate is another bucket, with the content of the last one; a packet that waits for the line has taken its bytes before; its rate is within 1 % of the one that is set", New: func(r unit.Rate) node.RateLimiter {
				l := &jujuLimiter{}
				l.SetRate(0, r)
				return l
			}},
	}
}

// instant is model time as in these modules, whole nanoseconds. The epoch is not zero:
// for one of them that is no time.
func instant(t unit.Time) time.Time { return time.Unix(1e9, int64(t)/1000) }

// after returns the instant d after the nanosecond that holds t.
func after(t unit.Time, d time.Duration) unit.Time {
	return (t - t%1000).Add(unit.Duration(d) * unit.Nanosecond)
}

// setClock is a clock that others set, and on which nothing sleeps.
type setClock struct{ now time.Time }

func (c *setClock) Now() time.Time      { return c.now }
func (*setClock) Sleep(d time.Duration) {}

// permit is the instant at which a packet may start, from a limiter that answers once for each packet.
type permit struct {
	clock setClock
	at    unit.Time
	given bool
	open  bool      // the packet may start, whatever the rate is then
	last  unit.Time // the last start
}

// Sent uses the permit up.
func (p *permit) Sent(now unit.Time, _ unit.Size) { p.given, p.open, p.last = false, false, now }

// next returns when the packet may start, which is asked for at now.
func (p *permit) next(now unit.Time) unit.Time {
	p.open = p.at <= now
	return max(now, p.at)
}

// uberLimiter is go.uber.org/ratelimit as a limiter.
type uberLimiter struct {
	permit
	limiter uber.Limiter // nil: at no rate
}

func (l *uberLimiter) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.limiter == nil && !l.open {
		return unit.Never
	}
	if !l.given {
		l.clock.now = instant(now)
		l.at, l.given = after(now, l.limiter.Take().Sub(l.clock.now)), true
	}
	return l.next(now)
}

func (l *uberLimiter) SetRate(now unit.Time, r unit.Rate) {
	had := l.limiter != nil
	l.given, l.limiter = l.open, nil
	if per := r.Serialise(packet); per < unit.Duration(unit.Never) {
		l.limiter = uber.New(1, uber.Per(time.Duration(per/1000)), uber.WithClock(&l.clock))
		if had {
			l.clock.now = instant(l.last)
			l.limiter.Take()
		}
	}
}

func (l *uberLimiter) Burst() unit.Size { return 12*packet - 1 }

// jujuLimiter is github.com/juju/ratelimit as a limiter.
type jujuLimiter struct {
	permit
	bucket *ratelimit.Bucket // nil: at no rate
	size   int64             // of the packet that has its permit
	level  int64             // of the bucket, when it was put away
}

func (l *jujuLimiter) Next(now unit.Time, n unit.Size) unit.Time {
	if l.bucket == nil && !l.open {
		return unit.Never
	}
	if !l.given {
		l.clock.now, l.size = instant(now), int64(n)
		l.at, l.given = after(now, l.bucket.Take(l.size)), true
	}
	return l.next(now)
}

func (l *jujuLimiter) SetRate(now unit.Time, r unit.Rate) {
	l.clock.now = instant(now)
	level := int64(depth)
	switch {
	case l.bucket != nil:
		level = l.bucket.Available()
	case l.size > 0:
		level = l.level
	}
	if l.given && !l.open {
		level, l.given = level+l.size, false // it asks again
	}
	l.bucket, l.level = nil, level
	if r > 0 {
		l.bucket = ratelimit.NewBucketWithRateAndClock(r.BytesPerSecond(), depth, &l.clock)
		l.bucket.Take(depth - level)
	}
}

func (l *jujuLimiter) Burst() unit.Size { return depth + packet - 1 }
