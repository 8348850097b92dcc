//go:build timing

package limitertest_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/limitertest"
	"fabemu/node"
	"fabemu/wire/unit"
)

func TestWallXTimeRate(t *testing.T) { limitertest.Run(t, runtest.XTimeRate) }

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
	if want := regexp.MustCompile(`--- FAIL: TestWallOfAWrongLimiter/steady/700Mbps[^\n]*
 +limitertest.go:\d+: \d+ starts, burst [^\n]*
 +limitertest.go:\d+: a rate that stays, and always a packet
 +burst: at [^\n]* bytes more have started than the rate permits, want at most 3000
 +start +bytes +rate +gap before +at this rate
 +[0-9.]+[mµ]s +1500 +700Mb/s`); !want.Match(out) {
		t.Errorf("the output does not match:\n%s", out)
	}
}
