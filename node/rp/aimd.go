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
// laws this one is the slowest to take back bandwidth.
type AIMD struct {
	ackClocked
	r, min, max, m float64 // bits per second: the packet length cancels out
}

// NewAIMD returns the law for one flow, which starts at the highest rate.
func NewAIMD(c Config) *AIMD {
	return &AIMD{r: float64(c.Max), min: float64(c.Max) / float64(c.Ratio), max: float64(c.Max), m: c.Factor}
}

// Feedback takes in an ACK.
func (c *AIMD) Feedback(_ unit.Time, f wire.Frame) {
	if f.BECN {
		c.r = math.Max(c.r/c.m, c.min)
	} else {
		step := float64((c.m - 1) * c.min * c.min) // rounded here: never fused into the sum below
		c.r = math.Min(c.r+float64(step/c.r), c.max)
	}
}

// Rate returns the rate, to the nearest bit per second.
func (c *AIMD) Rate() unit.Rate { return unit.Rate(math.Round(c.r)) }
