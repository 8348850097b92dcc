package unit

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestSums: the sum and the mean of values are those of rational numbers, rounded once.
func TestSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 400; n++ {
		equal := make([]float64, n)
		whole, any := make([]float64, n), make([]float64, n)
		v := math.Ldexp(random.Float64(), random.IntN(80)-40)
		exact := new(big.Rat)
		for i := range n {
			equal[i], whole[i] = v, float64(random.Int64N(1<<40))
			any[i] = math.Ldexp(random.Float64()-0.3, random.IntN(20))
			exact.Add(exact, new(big.Rat).SetFloat64(any[i]))
		}
		if got := Mean(equal); got != v {
			t.Fatalf("the mean of %d times %v is %v", n, v, got)
		}
		sum := int64(0)
		for _, x := range whole {
			sum += int64(x)
		}
		if got := Sum(whole); got != float64(sum) {
			t.Errorf("the sum of %d whole numbers is %v, not %v", n, got, sum)
		}
		if want, _ := exact.Float64(); Sum(any) != want {
			t.Errorf("the sum of %d values is %v, not %v", n, Sum(any), want)
		}
		if want, _ := exact.Quo(exact, big.NewRat(int64(n), 1)).Float64(); Mean(any) != want {
			t.Errorf("the mean of %d values is %v, not %v", n, Mean(any), want)
		}
	}
	if got := Mean([]float64{63, 63, 63, 63, 63, 63, 63, 63, 63, 63}); got != 63 {
		t.Errorf("the mean of ten times 63 is %v", got)
	}
	if got := Sum([]float64{1e100, 1, -1e100}); got != 1 {
		t.Errorf("1e100 + 1 - 1e100 = %v", got)
	}
	inf := math.Inf(1)
	if got := Sum([]float64{1, inf, 2}); got != inf {
		t.Errorf("with an infinity it is %v", got)
	}
	if got := Sum([]float64{1, math.NaN()}); !math.IsNaN(got) || !math.IsNaN(Mean(nil)) || Sum(nil) != 0 {
		t.Errorf("of no number it is %v; of nothing %v and %v", got, Mean(nil), Sum(nil))
	}
}
