package traffic

import (
	"math"
	"math/bits"

	"fabemu/wire/unit"
)

// span is a number that is not negative, with 64 bits behind the point: of picoseconds,
// or of anything. A result that does not fit is the largest span, which as a time is Never.
type span struct{ whole, frac uint64 }

// instantOf returns t as the span from the start of the run.
func instantOf(t unit.Time) span { return span{whole: uint64(t)} }

// spanOf returns how long n bytes take at rate r, which is not 0.
func spanOf(n unit.Size, r unit.Rate) span {
	hi, lo := bits.Mul64(uint64(n), 8*uint64(unit.Second))
	if hi >= uint64(r) {
		return span{math.MaxUint64, 0}
	}
	whole, rest := bits.Div64(hi, lo, uint64(r))
	frac, _ := bits.Div64(rest, 0, uint64(r))
	return span{whole, frac}
}

// ratio returns a/b.
func ratio(a, b uint64) span {
	frac, _ := bits.Div64(a%b, 0, b)
	return span{a / b, frac}
}

// time returns the instant, rounded down.
func (s span) time() unit.Time {
	if s.whole >= uint64(unit.Never) {
		return unit.Never
	}
	return unit.Time(s.whole)
}

func (s *span) add(t span) {
	var carry, over uint64
	s.frac, carry = bits.Add64(s.frac, t.frac, 0)
	if s.whole, over = bits.Add64(s.whole, t.whole, carry); over != 0 {
		*s = span{math.MaxUint64, 0}
	}
}

// sub takes off t, which is not larger.
func (s *span) sub(t span) {
	var borrow uint64
	s.frac, borrow = bits.Sub64(s.frac, t.frac, 0)
	s.whole, _ = bits.Sub64(s.whole, t.whole, borrow)
}

// times returns the product, rounded down.
func (s span) times(t span) span {
	high, whole := bits.Mul64(s.whole, t.whole)
	if high != 0 {
		return span{math.MaxUint64, 0}
	}
	p := span{whole: whole}
	for _, c := range [2][2]uint64{{s.whole, t.frac}, {s.frac, t.whole}} {
		w, f := bits.Mul64(c[0], c[1])
		p.add(span{w, f})
	}
	f, _ := bits.Mul64(s.frac, t.frac)
	p.add(span{0, f})
	return p
}
