package reactiontest_test

import (
	"testing"

	"fabemu/emu/limitertest/reactiontest"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// halver halves its rate with each mark, and raises it by a thousandth with each ACK without one.
type halver struct{ rate, line unit.Rate }

func (c *halver) Feedback(_ unit.Time, f wire.Frame) {
	if f.BECN {
		c.rate = max(c.rate/2, c.line/256)
	} else {
		c.rate = min(c.rate+c.line/1000, c.line)
	}
}
func (c *halver) Rate() unit.Rate         { return c.rate }
func (*halver) Sent(unit.Time, unit.Size) {}
func (*halver) Advance(unit.Time)         {}
func (*halver) Deadline() unit.Time       { return unit.Never }

func TestHalver(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	reactiontest.Run(t, func(s rp.Site) rp.Reaction { return rp.Reaction{Controller: &halver{s.Line, s.Line}} }, nil)
}
