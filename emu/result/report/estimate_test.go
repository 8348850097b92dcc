package report

import (
	"math"
	"slices"
	"testing"
)

// Tables of Student's t have 12.706, 2.776, 2.228, 2.201, 2.042 and 1.962 for 1, 4, 10, 11, 30
// and 1000 degrees of freedom.
func TestStudent(t *testing.T) {
	for n, want := range map[int]float64{1: 12.706, 4: 2.776, 10: 2.228, 11: 2.201, 30: 2.042, 1000: 1.962} {
		if got := Student95(n); math.Abs(got-want) > 6e-4 {
			t.Errorf("of %d degrees of freedom %v, want %v", n, got, want)
		}
	}
}

// TestEstimate: the mean of 2, 4, 4, 4, 5, 5, 7, 9 is 5, their deviation sqrt(32/7), and t of 7
// degrees of freedom is 2.365.
func TestEstimate(t *testing.T) {
	e := EstimateOf([]float64{2, 4, 4, 4, math.NaN(), 5, 5, 7, 9})
	if want := 2.36462 * math.Sqrt(32./7/8); e.Mean != 5 || math.Abs(float64(e.Interval)-want) > 1e-4 || e.Values != 8 || e.Missing != 1 {
		t.Errorf("%+v, interval %v is wanted", e, want)
	}
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{2, 4, 4, 4, 5, 5, 7, 9}, "5.0 ± 1.8"},
		{[]float64{0.51, 0.53, math.Inf(1)}, "0.52 ± 0.13 (2 of 3)"},
		{[]float64{3}, "3"},
		{[]float64{0.1, 0.1, 0.1}, "0.1"},
		{[]float64{math.NaN()}, "- (0 of 1)"},
		{nil, "-"},
	} {
		if got := EstimateOf(c.values).String(); got != c.want {
			t.Errorf("%v: %q, not %q", c.values, got, c.want)
		}
	}
}

// TestEqualValuesHaveTheirMean: the mean of equal values is that value, without a deviation. A
// bound at it accepts it.
func TestEqualValuesHaveTheirMean(t *testing.T) {
	for _, v := range []float64{63, 0.1, 1. / 3, 1e-12, 4.7e9} {
		for n := 2; n < 100; n++ {
			e := EstimateOf(slices.Repeat([]float64{v}, n))
			if e.Mean != Number(v) || e.Deviation != 0 || e.Interval != 0 {
				t.Fatalf("%d times %v: %+v", n, v, e)
			}
		}
	}
}
