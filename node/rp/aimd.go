package rp

import (
	"math"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// AIMD is additive increase, multiplicative decrease under the same design rule,
// which binds it at Rmin only: dr/dt = (m-1) Rmin^2, in packets per second, so
// that
//
//	marked ACK     r := max(r / m, Rmin)
//	unmarked ACK   r := min(r + (m-1) Rmin^2 / r, Rmax)
//
// A mark at a high rate takes longer than 1/Rmin to be made good: of the three
// algorithms this one is the slowest to take back bandwidth.
type AIMD struct{ multiplicative }

// MultiplicativeParams are the parameters of AIMD and of FIMD.
type MultiplicativeParams struct {
	Ratio
	Factor
}

func aimdAlgorithm() Algorithm {
	return row(Algorithm{Name: "aimd", Feedback: Echoes,
		Doc: "divides the rate by a factor per mark, and adds to it without marks (Santos, Turner and Janakiraman)"},
		func(p MultiplicativeParams, s Site) Reaction { return Reaction{Controller: newAIMD(p, s)} })
}

func newAIMD(p MultiplicativeParams, s Site) *AIMD {
	return &AIMD{newMultiplicative(p.Ratio, p.Factor, s)}
}

// Feedback takes in an ACK.
func (c *AIMD) Feedback(_ unit.Time, f wire.Frame) {
	if c.unmarked(&f) {
		step := float64((c.m - 1) * c.min * c.min) // rounded here: never fused into the sum below
		c.r = math.Min(c.r+float64(step/c.r), c.max)
	}
}

// FIMD is fast increase, multiplicative decrease (US 7,920,476, claim 2):
//
//	marked ACK     r := max(r / m, Rmin)
//	unmarked ACK   r := min(r * m^(Rmin/r), Rmax)
//
// so that a mark is made good after 1/Rmin, at every rate.
type FIMD struct{ multiplicative }

func fimdAlgorithm() Algorithm {
	return row(Algorithm{Name: "fimd", Feedback: Echoes,
		Doc: "divides the rate by a factor per mark, and recovers faster the lower the rate is (Santos, Turner and Janakiraman)"},
		func(p MultiplicativeParams, s Site) Reaction { return Reaction{Controller: newFIMD(p, s)} })
}

func newFIMD(p MultiplicativeParams, s Site) *FIMD {
	return &FIMD{newMultiplicative(p.Ratio, p.Factor, s)}
}

// Feedback takes in an ACK.
func (c *FIMD) Feedback(_ unit.Time, f wire.Frame) {
	if c.unmarked(&f) {
		c.r = math.Min(c.r*math.Pow(c.m, c.min/c.r), c.max)
	}
}
