package unit

import (
	"math"
	"math/bits"
)

// Time is an instant of model time, in picoseconds since the run began.
type Time int64

// Never is the instant that does not come: the deadline of a node that waits
// for nothing but frames.
const Never Time = math.MaxInt64

// Duration is a span of model time, in picoseconds.
type Duration int64

// The spans that people name.
const (
	Picosecond  Duration = 1
	Nanosecond           = 1000 * Picosecond
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
)

// Add returns the instant d after t. Never stays Never, and so does an instant that lies
// beyond it.
func (t Time) Add(d Duration) Time {
	if sum := t + Time(d); d >= 0 && sum >= t || d < 0 && t != Never {
		return sum
	}
	return Never
}

// Sub returns the span from u to t.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Seconds returns t in seconds, for figures and reports.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Seconds returns d in seconds, for figures and reports.
func (d Duration) Seconds() float64 { return float64(d) / float64(Second) }

// Scale returns d*num/den through 128 bits, rounded down. It panics if den is
// not positive or the result does not fit: both are errors of the caller.
func (d Duration) Scale(num, den int64) Duration {
	if d < 0 || num < 0 || den <= 0 {
		panic("unit: Scale of a negative span")
	}
	hi, lo := bits.Mul64(uint64(d), uint64(num))
	q, _ := bits.Div64(hi, lo, uint64(den))
	if q > math.MaxInt64 {
		panic("unit: Scale overflows")
	}
	return Duration(q)
}
