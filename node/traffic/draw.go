package traffic

import (
	"math/bits"

	"fabemu/wire/unit"
)

// draw takes numbers with a distribution from a random generator.
type draw struct {
	random       *unit.Random
	destinations uint64
}

// to draws a destination.
func (d *draw) to() int {
	if d.destinations == 1 {
		return 0
	}
	return int(d.random.Below(d.destinations))
}

// exponential draws from the exponential distribution of mean 1, only with comparisons:
// the first of a run of falling numbers is the fraction if the run has an odd length;
// each run that has not adds one to the whole (J. von Neumann, "Various techniques used
// in connection with random digits", 1951).
func (d *draw) exponential() span {
	for whole := uint64(0); ; whole++ {
		first := d.random.Uint64()
		odd := true
		for last := first; ; odd = !odd {
			next := d.random.Uint64()
			if next >= last {
				break
			}
			last = next
		}
		if odd {
			return span{whole, first}
		}
	}
}

// pareto draws from the Pareto distribution of least value 1 whose shape is 2^63 over
// inverse. The logarithm of such a number is exponential.
func (d *draw) pareto(inverse uint64) span { return exp(d.exponential().times(span{0, 2 * inverse})) }

// exp returns e to the power of x, at most 2^40: e^x = 2^k e^r with x = k ln 2 + r,
// and of e^r the series.
func exp(x span) span {
	const (
		ln2   = 0xB17217F7D1CF79AB // times 2^64
		power = 40
	)
	if x.whole >= 32 {
		return span{1 << power, 0}
	}
	k, r := bits.Div64(x.whole, x.frac, ln2) // whole is below ln2 as a number
	if k >= power {
		return span{1 << power, 0}
	}
	// Horner's rule with the fraction of each partial sum, which is below one: the sum
	// is at most (e^r-1)/r, and r is below ln 2.
	sum := uint64(0)
	for n := uint64(20); n > 0; n-- {
		hi, _ := bits.Mul64(r, sum)
		term, carry := bits.Add64(r, hi, 0)
		sum, _ = bits.Div64(carry, term, n) // for n = 1 there is no carry
	}
	return span{1<<k | sum>>(64-k), sum << k}
}
