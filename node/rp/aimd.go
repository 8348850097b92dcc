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

// AIMDParams are the parameters of AIMD.
type AIMDParams struct {
	Ratio
	Factor
}

// aimdAlgorithm is the row of AIMD.
func aimdAlgorithm() Algorithm {
	return row(Algorithm{Name: "aimd", Feedback: Echoes,
		Doc: "divides the rate by a factor per mark, and adds to it without (Santos, Turner and Janakiraman)"},
		func(p AIMDParams, s Site) Controller { return newAIMD(p, s) })
}

func newAIMD(p AIMDParams, s Site) *AIMD { return &AIMD{newMultiplicative(p.Ratio, p.Factor, s)} }

// Feedback takes in an ACK.
func (c *AIMD) Feedback(_ unit.Time, f wire.Frame) {
	if c.unmarked(&f) {
		step := float64((c.m - 1) * c.min * c.min) // rounded here: never fused into the sum below
		c.r = math.Min(c.r+float64(step/c.r), c.max)
	}
}
