package unit

import "math/bits"

// Random is a seeded generator of random numbers: PCG XSL RR 128/64 (M. E.
// O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
// Algorithms for Random Number Generation", HMC-CS-2014-0905). Two generators
// with the same seed and stream give the same numbers forever; the standard
// library's promises less.
type Random struct{ hi, lo, incHi, incLo uint64 }

// NewRandom returns the generator for one stream of a seed. Each node and
// each flow has its own stream, so that adding one does not change the numbers that
// the others draw.
func NewRandom(seed, stream uint64) *Random {
	r := &Random{incHi: stream >> 63, incLo: stream<<1 | 1}
	r.step()
	var carry uint64
	r.lo, carry = bits.Add64(r.lo, seed, 0)
	r.hi += carry
	r.step()
	return r
}

func (r *Random) step() {
	const mulHi, mulLo = 2549297995355413924, 4865540595714422341
	hi, lo := bits.Mul64(r.lo, mulLo)
	hi += r.hi*mulLo + r.lo*mulHi
	var carry uint64
	r.lo, carry = bits.Add64(lo, r.incLo, 0)
	r.hi, _ = bits.Add64(hi, r.incHi, carry)
}

// Uint64 returns 64 random bits.
func (r *Random) Uint64() uint64 {
	r.step()
	return bits.RotateLeft64(r.hi^r.lo, -int(r.hi>>58))
}

// Below returns a number in [0, n), each as likely as the others up to 2^-64.
// It panics when n is 0.
func (r *Random) Below(n uint64) uint64 {
	if n == 0 {
		panic("unit: Below(0)")
	}
	hi, _ := bits.Mul64(r.Uint64(), n)
	return hi
}

// Span returns a span in [0, d); a d that is not positive gives 0.
func (r *Random) Span(d Duration) Duration {
	if d <= 0 {
		return 0
	}
	return Duration(r.Below(uint64(d)))
}
