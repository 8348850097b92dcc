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
type FIMD struct {
	ackClocked
	r, min, max, m float64 // bits per second
}

// NewFIMD returns the law for one flow, which starts at the highest rate.
func NewFIMD(c Config) *FIMD {
	return &FIMD{r: float64(c.Max), min: float64(c.Max) / float64(c.Ratio), max: float64(c.Max), m: c.Factor}
}

// Feedback takes in an ACK.
func (c *FIMD) Feedback(_ unit.Time, f wire.Frame) {
	if f.BECN {
		c.r = math.Max(c.r/c.m, c.min)
	} else {
		c.r = math.Min(c.r*math.Pow(c.m, c.min/c.r), c.max)
	}
}

// Rate returns the rate, to the nearest bit per second.
func (c *FIMD) Rate() unit.Rate { return unit.Rate(math.Round(c.r)) }
