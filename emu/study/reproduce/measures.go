package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"fabemu/emu/metrics"
)

// functions returns the functions of the language: those that make runs, those that combine
// quantities, and the measurements.
func functions() map[string]any {
	return map[string]any{
		"seeds":    Run.seeded,
		"once":     Run.Once,
		"with":     Run.With,
		"edited":   Run.edited,
		"upTo":     upTo,
		"list":     func(values ...any) []any { return values },
		"reversed": reversed,
		"cctOf":    cctOf,
		"when":     when,

		"highest":   Highest,
		"lowest":    Lowest,
		"spread":    Spread,
		"sum":       Sum,
		"average":   average,
		"leastStep": LeastStep,
		"fromOne":   FromOne,
		"log2":      log2,
		"share":     asShare,
		"seconds":   asSeconds,
		"bytes":     asBytes,
		"jain":      func(rates ...Quantity) Quantity { return Combine(jain, rates...) },
		"crossing":  crossing,

		"mean":      Mean,
		"triggers":  Triggers,
		"settled":   Settled,
		"reached":   Reached,
		"peak":      peak,
		"everybody": everybody,
		"timesFull": timesFull, "victimInFull": victimInFull,
		"waiting": waiting, "markedEach": markedEach, "preference": preference,
		"counted":    retryCount,
		"meanwhile":  meanwhile,
		"instant":    instant,
		"variance":   variance,
		"untilHyper": untilHyper,
		"fallen":     fallen,
		"hit":        hit,

		"effect": effect, "explained": explained, "errors": residual,
		"bcnCourse": bcnCourse, "bcnLate": bcnLate, "bcnLot": bcnLot, "bcnV": bcnV,
		"bcnFall":       func() Quantity { return computed(fall) },
		"bcnQuickening": func() Quantity { return computed(quickening) },

		"closedShare": closedShare, "restShare": restShare, "aloneShare": aloneShare,
		"closedQueue": closedQueue, "restQueue": restQueue,
		"qcnCourse": qcnCourse, "qcnMean": qcnMean, "qcnDeviation": qcnDeviation,
		"tcpMean":     tcpMean,
		"tcpPeriod":   tcpPeriod,
		"tcpQueue":    tcpQueue,
		"tcpBoundary": tcpBoundary,
	}
}

// average is the mean of all.
func average(list ...Quantity) Quantity {
	return scaled(Sum(list...), 1/float64(len(list))).in(common(list...))
}

// upTo returns the whole numbers from 1 to n.
func upTo(n int) (list []any) {
	for i := range n {
		list = append(list, float64(i+1))
	}
	return list
}

// log2 is the logarithm of a quantity to base 2.
func log2(q Quantity) Quantity {
	return Combine(func(v []float64) float64 { return math.Log2(v[0]) }, q)
}

// reversed returns a list from its end.
func reversed(values ...any) []any {
	list := slices.Clone(values)
	slices.Reverse(list)
	return list
}

// asShare, asSeconds and asBytes are quantities whose units are known from elsewhere.
func asShare(q Quantity) Quantity   { return q.in(metrics.Share()) }
func asSeconds(q Quantity) Quantity { return q.in(metrics.Seconds()) }
func asBytes(q Quantity) Quantity   { return q.in(metrics.Sizes()) }

// computed is a number that needs no run; of computes it once, when it is needed.
func computed(of func() float64) Quantity {
	once := sync.OnceValue(of)
	return Combine(func([]float64) float64 { return once() })
}

// memo computes each value of a function once.
func memo[V any](of func(int) V) func(int) V {
	var values sync.Map
	return func(n int) V {
		once, _ := values.LoadOrStore(n, sync.OnceValue(func() V { return of(n) }))
		return once.(func() V)()
	}
}

// crossing is the X at which a quantity at points, by rising X, first reaches a level: on a
// straight line between two of them. It is not a number where it never does, or from the
// first one on.
func crossing(level float64, at []any, list ...Quantity) Quantity {
	return Combine(func(v []float64) float64 {
		for i := range v {
			if v[i] >= level {
				if i == 0 {
					return math.NaN()
				}
				x, next := at[i-1].(float64), at[i].(float64)
				return x + (next-x)*(level-v[i-1])/(v[i]-v[i-1])
			}
		}
		return math.NaN()
	}, list...)
}

// when returns a where a condition holds, else b.
func when(holds bool, a, b any) any {
	if holds {
		return a
	}
	return b
}

// cctOf is a flow's control with a table of one shift, and of multipliers from 0 on.
func cctOf(shift, entries int) string {
	var all []string
	for i := range entries {
		all = append(all, fmt.Sprintf("%d:%d", shift, i))
	}
	return fmt.Sprintf("control: {law: cca, cct: %q}", strings.Join(all, ","))
}
