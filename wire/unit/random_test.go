package unit_test

import (
	"math"
	"math/big"
	"testing"

	"fabemu/wire/unit"
)

// reference is PCG XSL RR 128/64 written down as its paper states it, with big
// integers: state = state * mul + inc, output = rotr(hi ^ lo, state >> 122).
type reference struct{ state, inc *big.Int }

var (
	mul, _  = new(big.Int).SetString("47026247687942121848144207491837523525", 10)
	modulus = new(big.Int).Lsh(big.NewInt(1), 128)
	low64   = new(big.Int).SetUint64(math.MaxUint64)
)

func newReference(seed, stream uint64) *reference {
	inc := new(big.Int).SetUint64(stream)
	inc.Lsh(inc, 1).SetBit(inc, 0, 1)
	r := &reference{state: new(big.Int), inc: inc}
	r.step()
	r.state.Add(r.state, new(big.Int).SetUint64(seed)).Mod(r.state, modulus)
	r.step()
	return r
}

func (r *reference) step() {
	r.state.Mul(r.state, mul).Add(r.state, r.inc).Mod(r.state, modulus)
}

func (r *reference) uint64() uint64 {
	r.step()
	hi := new(big.Int).Rsh(r.state, 64).Uint64()
	lo := new(big.Int).And(r.state, low64).Uint64()
	turn := new(big.Int).Rsh(r.state, 122).Uint64()
	x := hi ^ lo
	return x>>turn | x<<((64-turn)&63)
}

// TestRandomReference compares the generator with its definition.
func TestRandomReference(t *testing.T) {
	for _, seed := range []uint64{0, 1, 42, math.MaxUint64} {
		for _, stream := range []uint64{0, 1, 54, 1 << 63, math.MaxUint64} {
			r, ref := unit.NewRandom(seed, stream), newReference(seed, stream)
			for i := range 1000 {
				if got, want := r.Uint64(), ref.uint64(); got != want {
					t.Fatalf("seed %d, stream %d: number %d is %#x, not %#x", seed, stream, i, got, want)
				}
			}
		}
	}
}

// TestRandomKnown pins numbers, so that a run gives the same in every release.
// The first are those of the demonstration program of the PCG library for seed
// 42 and stream 54.
func TestRandomKnown(t *testing.T) {
	r := unit.NewRandom(42, 54)
	for i, want := range []uint64{0x86b1da1d72062b68, 0x1304aa46c9853d39, 0xa3670e9e0dd50358, 0xf9090e529a7dae00, 0xc85b9fd837996f2c, 0x606121f8e3919196} {
		if got := r.Uint64(); got != want {
			t.Errorf("number %d is %#x, not %#x", i, got, want)
		}
	}
}

// TestBelow: numbers are in range, and spread evenly (chi squared at 99.99 %).
func TestBelow(t *testing.T) {
	r := unit.NewRandom(1, 1)
	const bins, draws = 64, 64000
	var count [bins]int
	for range draws {
		v := r.Below(bins)
		if v >= bins {
			t.Fatalf("%d is not below %d", v, bins)
		}
		count[v]++
	}
	chi := 0.0
	for _, c := range count {
		d := float64(c) - draws/bins
		chi += d * d / (draws / bins)
	}
	if chi > 113 || chi < 28 { // 63 degrees of freedom
		t.Errorf("chi squared is %.1f", chi)
	}
	for range 1000 {
		if v := r.Below(1); v != 0 {
			t.Fatalf("%d is not below 1", v)
		}
		if v := r.Below(math.MaxUint64); v == math.MaxUint64 {
			t.Fatal("the end itself")
		}
	}
	if !panics(func() { r.Below(0) }) {
		t.Error("Below(0) does not panic")
	}
}

// TestSpan: spans are below their limit, with the mean of uniform ones.
func TestSpan(t *testing.T) {
	r := unit.NewRandom(2, 3)
	const d, draws = 1034 * unit.Nanosecond, 100000
	sum := 0.0
	for range draws {
		v := r.Span(d)
		if v < 0 || v >= d {
			t.Fatalf("%v is not below %v", v, d)
		}
		sum += float64(v)
	}
	if mean := sum / draws / float64(d); math.Abs(mean-0.5) > 0.005 { // five standard errors
		t.Errorf("the mean is %v of the limit", mean)
	}
	if r.Span(0) != 0 || r.Span(-1) != 0 {
		t.Error("a span that is not positive")
	}
}

// TestStreams: streams of one seed and seeds of one stream have nothing in
// common.
func TestStreams(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(10) {
		for stream := range uint64(100) {
			r := unit.NewRandom(seed, stream)
			for range 10 {
				seen[r.Uint64()] = true
			}
		}
	}
	if len(seen) != 10000 {
		t.Errorf("%d different numbers of 10000", len(seen))
	}
}
