package unit

import (
	"math"
	"math/bits"
)

// Size is a number of bytes.
type Size int64

// The sizes that people name, by thousands and by 1024.
const (
	Byte Size = 1
	KB        = 1000 * Byte
	MB        = 1000 * KB
	GB        = 1000 * MB
	KiB       = 1024 * Byte
	MiB       = 1024 * KiB
	GiB       = 1024 * MiB
)

// Rate is a number of bits per second. Zero means that nothing moves.
type Rate int64

// The rates that people name.
const (
	BitPerSecond  Rate = 1
	BytePerSecond      = 8 * BitPerSecond
)

// Serialise returns how long n bytes take on a link of rate r, rounded up to a
// whole picosecond, so that a line never runs faster than its rate. It returns
// a span that never ends when r is not positive.
func (r Rate) Serialise(n Size) Duration {
	if r <= 0 {
		return Duration(Never)
	}
	hi, lo := bits.Mul64(uint64(n), 8*uint64(Second))
	if hi >= uint64(r) {
		return Duration(Never)
	}
	q, rem := bits.Div64(hi, lo, uint64(r))
	if rem > 0 {
		q++
	}
	if q > math.MaxInt64 {
		return Duration(Never)
	}
	return Duration(q)
}

// RateOf returns the rate at which n bytes take the span d, rounded to the
// nearest bit per second, at most the largest Rate. It returns 0 when d is not
// positive.
func RateOf(n Size, d Duration) Rate {
	if d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), 8*uint64(Second))
	var carry uint64
	lo, carry = bits.Add64(lo, uint64(d)/2, 0)
	hi += carry
	if hi >= uint64(d) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(d))
	return Rate(min(q, math.MaxInt64))
}

// BytesPerSecond returns r in bytes per second, for figures and reports.
func (r Rate) BytesPerSecond() float64 { return float64(r) / 8 }
