package traffic

import (
	"math"
	"math/big"
	"testing"

	"fabemu/wire/unit"
)

// exp is e^x to nearly all of its bits.
func TestExp(t *testing.T) {
	r := unit.NewRandom(1, 0)
	for range 10_000 {
		x := span{r.Below(27), r.Uint64()}
		in := float64(x.whole) + float64(x.frac)/(1<<64)
		got := exp(x)
		out := float64(got.whole) + float64(got.frac)/(1<<64)
		if want := math.Exp(in); math.Abs(out-want) > 1e-13*want {
			t.Fatalf("exp(%v) = %v, want %v", in, out, want)
		}
	}
	if got := exp(span{0, 0}); got != (span{1, 0}) {
		t.Errorf("exp(0) = %v", got)
	}
	for _, x := range []span{{28, 0}, {31, math.MaxUint64}, {32, 0}, {math.MaxUint64, 0}} {
		if got := exp(x); got != (span{1 << 40, 0}) {
			t.Errorf("exp(%v) = %v, want 2^40", x, got)
		}
	}
}

// Products are those of big integers, rounded down by less than three units of the last
// bit.
func TestTimes(t *testing.T) {
	r := unit.NewRandom(2, 0)
	number := func(s span) *big.Int {
		n := new(big.Int).SetUint64(s.whole)
		return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(s.frac))
	}
	for range 10_000 {
		a, b := span{r.Uint64() >> r.Below(64), r.Uint64()}, span{r.Uint64() >> r.Below(64), r.Uint64()}
		want := new(big.Int).Mul(number(a), number(b))
		want.Rsh(want, 64)
		got := a.times(b)
		if want.BitLen() > 128 {
			if got.whole != math.MaxUint64 {
				t.Fatalf("%v * %v = %v, too large", a, b, got)
			}
			continue
		}
		if d := want.Sub(want, number(got)); d.Sign() < 0 || d.Cmp(big.NewInt(3)) >= 0 {
			t.Fatalf("%v * %v = %v, off by %v", a, b, got, d)
		}
	}
}
