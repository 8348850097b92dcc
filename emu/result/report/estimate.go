package report

import (
	"fmt"
	"math"

	"fabemu/wire/unit"
)

// Estimate is the mean of the values that repetitions of a run have.
type Estimate struct {
	Mean      Number `json:"mean"`
	Deviation Number `json:"deviation"` // standard deviation of a value, 0 of a single one
	Interval  Number `json:"interval"`  // half of the 95 % confidence interval of the mean; missing of a single value
	Values    int    `json:"values"`    // how many there are
	Missing   int    `json:"missing"`   // how many repetitions have none
}

// EstimateOf returns the estimate of values; NaN counts as missing.
func EstimateOf(values []float64) Estimate {
	e := Estimate{Mean: Missing(), Interval: Missing()}
	var known []float64
	for _, v := range values {
		if Number(v).Known() {
			known = append(known, v)
		}
	}
	e.Values, e.Missing = len(known), len(values)-len(known)
	if e.Values == 0 {
		return e
	}
	mean, n := unit.Mean(known), float64(e.Values)
	var squares unit.Total
	for _, v := range known {
		squares.Add((v - mean) * (v - mean))
	}
	e.Mean = Number(mean)
	if e.Values > 1 {
		e.Deviation = Number(math.Sqrt(squares.Over(n - 1)))
		e.Interval = Number(Student95(e.Values-1)) * e.Deviation / Number(math.Sqrt(n))
	}
	return e
}

// String prints the mean and half of its interval, to the digit that the interval leaves certain.
func (e Estimate) String() string {
	text := e.Mean.Print("%.4g")
	if e.Interval.Known() && float64(e.Interval) > 1e-9*math.Abs(float64(e.Mean)) { // beyond the rounding of floats
		places := max(0, 1-int(math.Floor(math.Log10(float64(e.Interval)))))
		text = fmt.Sprintf("%.*f ± %.*f", places, float64(e.Mean), places, float64(e.Interval))
	}
	if e.Missing > 0 {
		text += fmt.Sprintf(" (%d of %d)", e.Values, e.Values+e.Missing)
	}
	return text
}

// Student95 is the 97.5 % quantile of Student's t distribution with n > 0 degrees of freedom: the
// mean of n + 1 values is within so many of its standard errors with a probability of 95 %. Beyond
// the table it is the expansion of Cornish and Fisher, which is right to four digits there.
func Student95(n int) float64 {
	table := [...]float64{12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814}
	if n <= len(table) {
		return table[n-1]
	}
	const z = 1.959964
	v := float64(n)
	z3, z5, z7 := z*z*z, math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z7+19*z5+17*z3-15*z)/(384*v*v*v)
}
