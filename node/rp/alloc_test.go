//go:build timing

package rp

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// No allocation for a frame, tagged or not, nor for a message.
func TestAllocsOfBCN(t *testing.T) {
	b := sampleBCN(t, func(p *BCNParams) { p.Drift = unit.Microsecond })
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

// No allocation for an ACK of an algorithm that uses ACKs.
func TestAllocsOfACKs(t *testing.T) {
	for _, l := range Algorithms() {
		if l.Feedback != Delays {
			continue
		}
		c, err := l.New(param.Defaults(l.Params), Site{Line: 10e9, Length: 1000})
		if err != nil {
			t.Fatal(err)
		}
		algorithm, now, f := c.Acknowledged, unit.Time(0), wire.Frame{Kind: wire.Ack}
		granted := wire.Frame{Kind: wire.UETControl, Family: wire.UET}
		granted.UET().Code = wire.UETCredit
		rates, i, allowed := map[unit.Rate]bool{}, uint64(0), unit.Size(0)
		if n := testing.AllocsPerRun(1000, func() {
			i++
			now = now.Add(unit.Microsecond)
			algorithm.Acked(now, Ack{Frame: &f, RTT: unit.Duration(40+i%40) * unit.Microsecond, Bytes: 1000, Oldest: i, Next: i + 10})
			algorithm.Lost(now)
			if c.Trimmed != nil {
				c.Trimmed(now, Trim{Bytes: 1000, Flight: 5000})
			}
			if c.Expired != nil {
				c.Expired(now, 1000)
			}
			c.Sent(now, algorithm.Window())
			if c.Demand != nil {
				c.Demand(now, 5000)
				granted.SetCredit(unit.Size(i) * 1000)
				c.Feedback(now, granted)
				allowed += c.Allowance()
			}
			if len(rates) < 2 {
				rates[c.Rate()] = true
			}
		}); n != 0 || len(rates) < 2 && algorithm.Window() == 0 && allowed == 0 {
			t.Errorf("%s allocates %v times, has %d rates and no window, and allows %v", l.Name, n, len(rates), allowed)
		}
	}
}
