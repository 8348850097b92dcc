//go:build !race

package limitertest_test

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"fabemu/emu/limitertest"
	"fabemu/node"
	"fabemu/wire/unit"
)

// xtime is golang.org/x/time/rate as a limiter: a bucket of somebody else, which reckons
// in time.Time, and to which a clock that runs backwards gives tokens twice.
type xtime struct{ *rate.Limiter }

func newXTime(r unit.Rate) node.RateLimiter {
	return xtime{rate.NewLimiter(rate.Limit(r.BytesPerSecond()), 9000)}
}

// instant rounds down to a whole nanosecond: what came in by then is there.
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

func TestWallXTimeRate(t *testing.T) { limitertest.Run(t, newXTime) }

func TestWallOurs(t *testing.T) {
	t.Run("token bucket", func(t *testing.T) {
		limitertest.Run(t, func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 4500) })
	})
	t.Run("inter-packet delay", func(t *testing.T) {
		limitertest.Run(t, func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) })
	})
}

// free lets everything start.
type free struct{}

func (free) Next(now unit.Time, _ unit.Size) unit.Time { return now }
func (free) Sent(unit.Time, unit.Size)                 {}
func (free) SetRate(unit.Time, unit.Rate)              {}

// TestWallOfAWrongLimiter is run by TestWallFailureShowsThePackets.
func TestWallOfAWrongLimiter(t *testing.T) {
	if os.Getenv("LIMITERTEST_WRONG") != "" {
		limitertest.Run(t, func(unit.Rate) node.RateLimiter { return free{} })
	}
}

// A failure is that of an ordinary test, and has the packets around.
func TestWallFailureShowsThePackets(t *testing.T) {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWallOfAWrongLimiter$", "-test.short")
	c.Env = append(os.Environ(), "LIMITERTEST_WRONG=1")
	out, err := c.CombinedOutput()
	if err == nil {
		t.Fatal("it passes")
	}
	if want := regexp.MustCompile(`--- FAIL: TestWallOfAWrongLimiter/steady/100Mbps[^\n]*
 +limitertest.go:\d+: \d+ starts, burst [^\n]*
 +limitertest.go:\d+: a rate that stays, and always a packet
 +burst: at [^\n]* bytes more have started than the rate lets through, want 3000 at most
 +start +bytes +rate +gap before +at this rate
 +[0-9.]+ms +1500 +100Mb/s`); !want.Match(out) {
		t.Errorf("the output does not match:\n%s", out)
	}
}
