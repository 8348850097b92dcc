package rp

import (
	"math"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// FIMD is fast increase, multiplicative decrease (US 7,920,476, claim 2):
//
//	marked ACK     r := max(r / m, Rmin)
//	unmarked ACK   r := min(r * m^(Rmin/r), Rmax)
//
// so that a mark is made good after 1/Rmin, at every rate.
type FIMD struct{ multiplicative }

// FIMDParams are the parameters of FIMD.
type FIMDParams struct {
	Ratio
	Factor
}

// fimdAlgorithm is the row of FIMD.
func fimdAlgorithm() Algorithm {
	return row(Algorithm{Name: "fimd", Feedback: Echoes,
		Doc: "divides the rate by a factor per mark, and recovers faster the lower the rate is (Santos, Turner and Janakiraman)"},
		func(p FIMDParams, s Site) Controller { return newFIMD(p, s) })
}

func newFIMD(p FIMDParams, s Site) *FIMD { return &FIMD{newMultiplicative(p.Ratio, p.Factor, s)} }

// Feedback takes in an ACK.
func (c *FIMD) Feedback(_ unit.Time, f wire.Frame) {
	if c.unmarked(&f) {
		c.r = math.Min(c.r*math.Pow(c.m, c.min/c.r), c.max)
	}
}
