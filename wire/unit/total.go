package unit

import "math"

// Total is a sum of floats that keeps what each addition rounds off (Neumaier's algorithm), so that
// whole numbers have an exact sum in any order, and equal values have exactly that mean. The zero
// value is the sum of nothing.
type Total struct{ sum, rest float64 }

// Add adds a value.
func (t *Total) Add(v float64) {
	sum := t.sum + v
	if math.Abs(t.sum) >= math.Abs(v) {
		t.rest += (t.sum - sum) + v
	} else {
		t.rest += (v - sum) + t.sum
	}
	t.sum = sum
}

// Value returns the sum.
func (t *Total) Value() float64 { return t.Over(1) }

// Over returns the sum divided by n, rounded once.
func (t *Total) Over(n float64) float64 {
	q := t.sum / n
	if math.IsNaN(q) || math.IsInf(q, 0) {
		return q
	}
	return q + (math.FMA(-q, n, t.sum)+t.rest)/n
}

// Sum returns the sum of values.
func Sum(values []float64) float64 {
	t := totalOf(values)
	return t.Value()
}

// Mean returns the mean of values, not a number if there are none.
func Mean(values []float64) float64 {
	t := totalOf(values)
	return t.Over(float64(len(values)))
}

func totalOf(values []float64) (t Total) {
	for _, v := range values {
		t.Add(v)
	}
	return t
}
