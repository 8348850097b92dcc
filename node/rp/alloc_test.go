//go:build !race

package rp

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// No allocation for a frame, tagged or not, nor for a message.
func TestAllocsOfBCN(t *testing.T) {
	b := newBCN(t, func(p *BCNParams) { p.Drift = unit.Microsecond })
	frame, now := wire.Frame{Kind: wire.Data}, unit.Time(0)
	tags := 0
	if n := testing.AllocsPerRun(1000, func() {
		now = now.Add(unit.Microsecond)
		b.Feedback(now, told(here, -frames16, 0))
		b.Advance(now)
		if b.Tag(frame).CPID != 0 {
			tags++
		}
		b.Sent(now, 1500)
		b.Feedback(now, told(here, frames16, 0))
	}); n != 0 || tags == 0 {
		t.Errorf("it allocates %v times; %d frames were tagged", n, tags)
	}
}
