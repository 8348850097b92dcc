package papers

import (
	"math"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The measurements of link layer retry that need instants: the counters of a run are sums to its
// end.

// retryTimes are the instants at which the links of a node counted something, by the name of the
// counter (trace.Sink).
type retryTimes struct {
	node int
	at   map[string][]unit.Time
}

// Record notes an event that counts.
func (m *retryTimes) Record(e *trace.Event) {
	if k, ok := metrics.RetryCounter(e); ok && int(e.Node) == m.node {
		name := strings.TrimSuffix(k.String(), "_CTL_OS")
		m.at[name] = append(m.at[name], e.At)
	}
}

// retryTimesOf is a number that is taken of these instants.
func retryTimesOf(r Run, node string, of func(at map[string][]unit.Time) float64) Quantity {
	return Watch(r, func(f *fabric.Fabric) (trace.Sink, func() float64) {
		m := &retryTimes{at: map[string][]unit.Time{}}
		for i := range f.Nodes {
			if f.Nodes[i].Name == node {
				m.node = i
			}
		}
		return m, func() float64 { return of(m.at) }
	})
}

// within returns how many instants are in an interval without its end.
func within(at []unit.Time, from, to unit.Time) (n float64) {
	for _, t := range at {
		if from <= t && t < to {
			n++
		}
	}
	return n
}

// meanwhile is how often a node counts something between the first times that it counts two other
// things.
func meanwhile(r Run, node, counter, first, last string) Quantity {
	return retryTimesOf(r, node, func(at map[string][]unit.Time) float64 {
		if len(at[first]) == 0 || len(at[last]) == 0 {
			return math.NaN()
		}
		return within(at[counter], at[first][0], at[last][0])
	})
}

// instant is when a node counts something for the n-th time, in seconds of model time. It is not a
// number when it does not.
func instant(r Run, node, counter string, n int) Quantity {
	return retryTimesOf(r, node, func(at map[string][]unit.Time) float64 {
		if len(at[counter]) < n {
			return math.NaN()
		}
		return at[counter][n-1].Seconds()
	}).in(metrics.Seconds())
}
