package metrics

import (
	"math"

	"fabemu/wire/unit"
)

// Period returns after how many values, at equal distances, a course repeats itself: the lag
// at which it has most in common with itself, among those behind the first at which it has
// nothing. It is not a number where that is less than a fifth: the course does not oscillate.
func Period(values []float64) float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	common := make([]float64, len(values)/2+1) // autocovariance, by lag
	for lag := range common {
		for i, v := range values[lag:] {
			common[lag] += (v - mean) * (values[i] - mean)
		}
	}
	first := 0
	for first < len(common) && common[first] > 0 {
		first++
	}
	best := 0
	for lag := first; lag < len(common); lag++ {
		if common[lag] > 0 && (best == 0 || common[lag] > common[best]) {
			best = lag
		}
	}
	if best == 0 || best == len(common)-1 || common[best] < common[0]/5 {
		return math.NaN()
	}
	// The top of the parabola through three points.
	before, top, after := common[best-1], common[best], common[best+1]
	return float64(best) + (before-after)/(2*(before-2*top+after))
}

// longestCourse is how many values the period of a metric is found from at most.
const longestCourse = 4096

// period returns the period of the growth of a column in a time, in seconds.
func (t taken) period(column int) float64 {
	n := min(int(t.to.Sub(t.from)/(t.c.scenario.Measure.Window/20)), longestCourse)
	values := make([]float64, max(n, 0))
	for i := range values {
		at := func(i int) unit.Time { return t.from + (t.to-t.from)/unit.Time(n)*unit.Time(i) }
		values[i] = t.c.grown(column, at(i), at(i+1))
	}
	return Period(values) * t.seconds() / float64(n)
}
