package rp

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// LIPD is linear inter-packet delay, the algorithm of all figures of HPL-2002-224
// (US 7,920,476; Santos, Turner, Janakiraman, INFOCOM 2003):
//
//	marked ACK     r := max(r / (1 + r/Rmax), Rmin)      the delay grows by one packet time
//	unmarked ACK   r := min(r / (1 - Rmin/Rmax), Rmax)   the delay shrinks by its Rmin/Rmax-th part
//
// The state is the delay itself, from start to start of two packets, in whole
// picoseconds: it lies between one packet time at Rmax and one at Rmin.
type LIPD struct {
	ackClocked
	delay     unit.Duration // 1/r
	step      unit.Duration // 1/Rmax: one packet time
	highest   unit.Duration // 1/Rmin
	ratio     unit.Duration // Rmax/Rmin
	length    unit.Size
	rate, max unit.Rate
}

// LIPDParams are the parameters of LIPD.
type LIPDParams struct{ Ratio }

func lipdAlgorithm() Algorithm {
	return row(Algorithm{Name: "lipd", Feedback: Echoes,
		Doc: "lengthens the inter-packet delay by a packet time per mark, and shortens it proportionally without marks (Santos, Turner and Janakiraman)"},
		func(p LIPDParams, s Site) Reaction { return Reaction{Controller: newLIPD(p, s)} })
}

func newLIPD(p LIPDParams, s Site) *LIPD {
	step := s.Line.Serialise(s.Length)
	return &LIPD{
		delay: step, step: step, highest: step * unit.Duration(p.RmaxOverRmin), ratio: unit.Duration(p.RmaxOverRmin),
		length: s.Length, rate: s.Line, max: s.Line,
	}
}

// Feedback takes in an ACK.
func (c *LIPD) Feedback(_ unit.Time, f wire.Frame) {
	if f.Kind != wire.Ack {
		return
	}
	before := c.delay
	if f.BECN {
		c.delay = min(c.delay+c.step, c.highest)
	} else {
		c.delay = max(c.delay-max(c.delay/c.ratio, 1), c.step)
	}
	switch c.delay {
	case before:
	case c.step:
		c.rate = c.max
	default:
		c.rate = min(unit.RateOf(c.length, c.delay), c.max)
	}
}

// Rate returns the rate that the delay amounts to.
func (c *LIPD) Rate() unit.Rate { return c.rate }
