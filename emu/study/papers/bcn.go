package papers

import (
	"math"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// The measurements of the slides on BCN that are algorithms.

// effects are the effects in a 2^2 factorial design: of the factors A and B and of both together
// on a response, with the parts of its variation that they explain (R. Jain, The Art of
// Computer Systems Performance Analysis, chapters 17 and 18).
type effects struct {
	q      [4]float64 // q0, the mean; qA, qB, qAB: the addition of a factor at its high level
	share  [4]float64 // their parts of the variation, the part of errors first; they add up to 1
	errors float64    // standard deviation of the errors
}

// factorial analyses the responses of a design, each with its replications: with A and B
// low, A high, B high, both high.
func factorial(y [4][]float64) effects {
	var e effects
	var mean [4]float64
	replications, errors := float64(len(y[0])), unit.Total{}
	for i, values := range y {
		mean[i] = unit.Mean(values)
		for _, v := range values {
			errors.Add((v - mean[i]) * (v - mean[i]))
		}
	}
	for i := range e.q {
		for k, m := range mean {
			sign := 1.0 // of the contrast: the product of the levels of the factors in i
			if i&1&^k != 0 {
				sign = -sign
			}
			if i&2&^k != 0 {
				sign = -sign
			}
			e.q[i] += sign * m / 4
		}
	}
	squares := errors.Value()
	variation := squares
	for _, q := range e.q[1:] {
		variation += 4 * replications * q * q
	}
	e.share[0] = squares / variation
	for i, q := range e.q[1:] {
		e.share[i+1] = 4 * replications * q * q / variation
	}
	e.errors = math.Sqrt(squares / (4 * (replications - 1)))
	return e
}

// design analyses the 2^2 design whose responses are given, as factorial takes them: all
// replications of one choice after another, each choice with as many.
func design(of func(effects) float64, responses []Quantity) Quantity {
	return Combine(func(v []float64) float64 {
		var y [4][]float64
		for i, n := 0, len(v)/len(y); i < len(y); i++ {
			y[i] = v[i*n : (i+1)*n]
		}
		return of(factorial(y))
	}, responses...)
}

// fallen is when the limit of a group has fallen below a level, in bytes per second, and
// stays there for as long as hold, in seconds of model time. It is not a number when that
// does not happen.
func fallen(r Run, group string, level float64, hold unit.Time) Quantity {
	return follow(r, group+".limit", func(x *emu.Result, over func(from, to unit.Time) float64) float64 {
		step := unit.Time(x.WindowPs) / 20
		since, ok := lasting(step, x.Metrics.End(), step, hold-step, func(t unit.Time) bool { return over(t-step, t) < level })
		if !ok {
			return math.NaN()
		}
		return (since - step).Seconds()
	}).in(metrics.Seconds())
}
