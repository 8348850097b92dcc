package papers

import (
	"math"
	"slices"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// fcts returns the FCTs of all transfers of a run in s, the shortest first, and whether each flow
// has completed one.
func fcts(x *emu.Result) (all []float64, complete bool) {
	complete = true
	for i := range x.Flows {
		ended := x.Metrics.Transfers(i)
		complete = complete && len(ended) > 0
		for k := range ended {
			all = append(all, ended[k].Completion().Seconds())
		}
	}
	slices.Sort(all)
	return all, complete
}

// fctOf returns the mean FCT of all flows of a run in s, or the last. It is not a number where a
// flow is not complete.
func fctOf(r Run, which string) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		all, complete := fcts(x)
		if !complete {
			return math.NaN(), nil
		}
		if which == "last" {
			return all[len(all)-1], nil
		}
		return unit.Mean(all), nil
	}).in(metrics.Seconds())
}

// fctRank returns the n-th FCT of a run in s, from 1 for the shortest.
func fctRank(r Run, n int) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		all, complete := fcts(x)
		if !complete {
			return math.NaN(), nil
		}
		return all[n-1], nil
	}).in(metrics.Seconds())
}

// sentAgain returns how many packets the flows of a run have retransmitted.
func sentAgain(r Run) Quantity {
	return Take(r, func(x *emu.Result) (n float64, err error) {
		for i := range x.Flows {
			m, err := x.Metrics.Compile(x.Flows[i].Name + ".retransmissions")
			if err != nil {
				return 0, err
			}
			n += m.Over(x.Metrics, 0, x.Metrics.End())
		}
		return n, nil
	})
}
