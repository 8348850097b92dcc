package papers

import (
	"fmt"
	"math"
	"sync"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/study/papers/fluid"
	"fabemu/wire/unit"
)

// The measurements of the talk on QCN that are algorithms, and its equations.

// qcnStep solves the equations of the unit step with ten sources.
var qcnStep = sync.OnceValue(func() *fluid.Course {
	return must(fluid.Standard(10, 50*unit.Microsecond).Solve(500*unit.Millisecond, 5*unit.Microsecond))
})

// qcnCourse is the course of the queue in bytes, or of the rate of a source in bits per second,
// times a scale.
func qcnCourse(quantity string, scale float64) solution {
	return func() (x, y []float64) {
		const steps = 20 // to a point
		solved := qcnStep()
		values := map[string][]float64{"queue": solved.Queue, "rate": solved.Rate}[quantity]
		for i := 0; i < len(values); i += steps {
			x, y = append(x, float64(i)*solved.Step.Seconds()*1e3), append(y, values[i]*scale)
		}
		return x, y
	}
}

// qcnDeviation is the standard deviation of the queue from 150 to 300 ms after a unit step of n
// sources, with an RTT in us.
func qcnDeviation(n, rtt int) Quantity {
	return computed(func() float64 {
		loop := fluid.Standard(n, unit.Duration(rtt)*unit.Microsecond)
		solved := must(loop.Solve(300*unit.Millisecond, 5*unit.Microsecond))
		return solved.Deviation(solved.Queue, 150*unit.Millisecond, 300*unit.Millisecond)
	})
}

// variance is the variance of the completion times of the transfers of fct, in square seconds.
func variance(r Run) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		n, sum, squares := 0.0, 0.0, 0.0
		for i, f := range x.Metrics.Fabric().Flows {
			if f.Group != "files" {
				continue
			}
			for _, t := range x.Metrics.Transfers(i) {
				if t.Ended < 100*ms || t.Missing > 0 {
					continue
				}
				v := t.Completion().Seconds()
				n, sum, squares = n+1, sum+v, squares+v*v
			}
		}
		return squares/n - sum/n*sum/n, nil
	})
}

// peak is the greatest mean of a metric over windows that follow one another. Those
// without a value do not count.
func peak(r Run, metric string, window unit.Time) Quantity {
	return follow(r, metric, func(x *emu.Result, over func(from, to unit.Time) float64) float64 {
		most := math.Inf(-1)
		for t := unit.Time(0); t+window <= x.Metrics.End(); t += window {
			if v := over(t, t+window); v > most {
				most = v
			}
		}
		return most
	})
}

// untilHyper is how many packets a source has sent since its last notification when
// hyper-active increase begins after an instant, the fewest of all ten. A target that rises
// by 40 Mb/s within 400 µs is hyper-active increase: in that time active increase adds at
// most 5 Mb/s for the timer and as much for the byte counter, at up to 1.05 Gb/s.
func untilHyper(r Run, after unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		const step = unit.Time(200 * unit.Microsecond) // a twentieth of the window
		fewest := math.Inf(1)
		for i := range 10 {
			var of [3]metrics.Metric
			for k, quantity := range []string{"rate", "notifications", "target"} {
				var err error
				if of[k], err = metrics.Compile(fmt.Sprintf("sources.A%d.%s", i+1, quantity), x.Metrics.Fabric()); err != nil {
					return 0, err
				}
			}
			var sent [3]float64 // packets since the last notification: now, and one and two steps ago
			var target [3]float64
			for t := unit.Time(0); t < x.Metrics.End(); t += step {
				over := func(k int) float64 { return of[k].Over(x.Metrics, t, t+step) }
				now := sent[0] + over(0)*step.Seconds()*(1.0/1500)
				if over(1) > 0 {
					now = 0
				}
				sent = [3]float64{now, sent[0], sent[1]}
				target = [3]float64{over(2), target[0], target[1]}
				if t > after && target[0]-target[2] >= 40e6/8 {
					fewest = min(fewest, sent[2])
					break
				}
			}
		}
		if math.IsInf(fewest, 1) {
			return math.NaN(), nil
		}
		return fewest, nil
	})
}
