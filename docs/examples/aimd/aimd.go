package main

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// aimd adds a thousandth of the line's rate for each ACK without a mark, and halves its rate
// for each that has one.
type aimd struct{ rate, line unit.Rate }

func newAIMD(line unit.Rate) rp.Reaction {
	return rp.Reaction{Controller: &aimd{rate: line, line: line}}
}

func (c *aimd) Feedback(_ unit.Time, f wire.Frame) {
	switch {
	case f.Kind != wire.Ack:
	case f.BECN:
		c.rate = max(c.rate/2, c.line/256)
	default:
		c.rate = min(c.rate+c.line/1000, c.line)
	}
}

func (c *aimd) Rate() unit.Rate { return c.rate }

// ACKs alone change its rate, and neither time nor sent packets do.
func (c *aimd) Sent(unit.Time, unit.Size) {}
func (c *aimd) Advance(unit.Time)         {}
func (c *aimd) Deadline() unit.Time       { return unit.Never }
