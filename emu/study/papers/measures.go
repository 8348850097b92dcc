package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"fabemu/emu/metrics"
	"fabemu/emu/study/papers/fluid"
	"fabemu/wire/unit"
)

// functions returns the functions of the language: those that make runs, those that combine
// quantities, and the measurements.
func functions() map[string]any {
	return map[string]any{
		"once": Run.Once,
		"with": Run.With,
		"seeds": func(r Run) Run {
			r.Seeds = true
			return r
		},
		"edited": func(r Run, old, text string) Run { // a run with another text in its scenario
			r.Edits = append(slices.Clip(r.Edits), [2]string{old, text})
			return r
		},
		"schemed": schemed(),
		"upTo": func(n int) (list []any) {
			for i := range n {
				list = append(list, float64(i+1))
			}
			return list
		},
		"list": func(values ...any) []any { return values },
		"reversed": func(values ...any) []any {
			slices.Reverse(values)
			return values
		},
		"cctOf": cctOf,
		"when": func(holds bool, a, b any) any {
			if holds {
				return a
			}
			return b
		},

		"highest":   highest,
		"lowest":    lowest,
		"spread":    spread,
		"sum":       sum,
		"average":   average,
		"leastStep": leastStep,
		"fromOne":   fromOne,
		"log2":      func(q Quantity) Quantity { return Combine(func(v []float64) float64 { return math.Log2(v[0]) }, q) },
		"above":     above,
		"early":     early,
		"farthest":  farthest,
		"jain":      func(rates ...Quantity) Quantity { return Combine(unit.Jain, rates...) },

		// Units that are known from elsewhere.
		"share":    func(q Quantity) Quantity { return q.in(metrics.Share()) },
		"seconds":  func(q Quantity) Quantity { return q.in(metrics.Seconds()) },
		"bytes":    func(q Quantity) Quantity { return q.in(metrics.Sizes()) },
		"crossing": crossing,

		"mean":       Mean,
		"fctOf":      fctOf,
		"fctRank":    fctRank,
		"sentAgain":  sentAgain,
		"triggers":   Triggers,
		"settled":    Settled,
		"reached":    Reached,
		"peak":       peak,
		"everybody":  everybody,
		"meanwhile":  meanwhile,
		"instant":    instant,
		"variance":   variance,
		"untilHyper": untilHyper,
		"fallen":     fallen,
		"hit":        hit,
		// How often a node counts something in a part of a run.
		"counted": func(r Run, node, counter string, from, to unit.Time) Quantity {
			return retryTimesOf(r, node, func(at map[string][]unit.Time) float64 { return within(at[counter], from, to) })
		},

		// How many times a packet fills the buffer of the trunk, and the share of these at which a
		// packet of the victim is in it.
		"timesFull": func(r Run, from unit.Time) Quantity {
			return counted(r, from, func(c *census) float64 { return c.fills })
		},
		"victimInFull": func(r Run, from unit.Time) Quantity {
			return counted(r, from, func(c *census) float64 { return c.withVictim / c.fills })
		},
		// How many packets of a group a marking event finds waiting, and how many of them leave
		// marked for each event.
		"waiting": func(r Run, from unit.Time, cause, group string) Quantity {
			e, g := censusCauses[cause], censusGroups[group]
			return counted(r, from, func(c *census) float64 { return c.events[e].waiting[g] / c.events[e].n })
		},
		"markedEach": func(r Run, from unit.Time, cause, group string) Quantity {
			e, g := censusCauses[cause], censusGroups[group]
			return counted(r, from, func(c *census) float64 { return c.marks[e][g] / c.events[e].n })
		},
		// The marked share of a group's packets over the marked share of another group's, for one
		// cause of marks.
		"preference": func(r Run, from unit.Time, cause, group, other string) Quantity {
			e, g, o := censusCauses[cause], censusGroups[group], censusGroups[other]
			return counted(r, from, func(c *census) float64 {
				return c.marks[e][g] / c.packets[g] / (c.marks[e][o] / c.packets[o])
			})
		},

		// An effect in a design, the part of the variation that it explains, and the standard
		// deviation of the errors.
		"effect": func(k int, responses ...Quantity) Quantity {
			return design(func(e effects) float64 { return e.q[k] }, responses)
		},
		"explained": func(k int, responses ...Quantity) Quantity {
			return design(func(e effects) float64 { return e.share[k] }, responses).in(metrics.Share())
		},
		"errors": func(responses ...Quantity) Quantity {
			return design(func(e effects) float64 { return e.errors }, responses)
		},

		// A course of the loop of one link, times a scale, and its mean in the end.
		"bcnCourse": func(quantity string, i int, scale float64) solution {
			return func() (x, y []float64) { return odeCurve(overOne().Step, courseOf(overOne(), quantity, i), scale) }
		},
		"bcnLate": func(quantity string) Quantity {
			return computed(func() float64 { return late(courseOf(overOne(), quantity, 0)) })
		},
		"bcnLot": bcnLot, "bcnV": bcnV,
		"bcnFall":       func() Quantity { return computed(fall) },
		"bcnQuickening": func() Quantity { return computed(quickening) },

		// The shares of marked packets at rest: by the closed form, by the equations, and of one
		// flow by itself with marks at random; and where the queue comes to rest.
		"closedShare": func(flows int) Quantity { return constant(must(restOf(flows).Closed())).in(metrics.Share()) },
		"restShare":   func(flows int) Quantity { return constant(must(restOf(flows).Rest())).in(metrics.Share()) },
		"aloneShare":  func(flows int) Quantity { return computed(func() float64 { return alone(flows) }).in(metrics.Share()) },
		"closedQueue": func(flows int) Quantity { return restingQueue(flows, fluid.DCQCN.Closed) },
		"restQueue":   func(flows int) Quantity { return restingQueue(flows, fluid.DCQCN.Rest) },

		"qcnCourse": qcnCourse, "qcnDeviation": qcnDeviation,
		// The mean of the queue from 300 to 500 ms.
		"qcnMean": func() Quantity {
			return computed(func() float64 { return qcnStep().Mean(qcnStep().Queue, 300*unit.Millisecond, 500*unit.Millisecond) })
		},

		// Of the equations of a run: the mean queue in packets, its period in seconds, and its
		// course.
		"tcpMean": func(r Run) Quantity {
			solve := solveTCP(r)
			return computed(func() float64 { return solve().mean })
		},
		"tcpPeriod": func(r Run) Quantity {
			solve := solveTCP(r)
			return computed(func() float64 { return solve().period })
		},
		"tcpQueue": func(r Run) solution {
			return func() (x, y []float64) {
				course := solveTCP(r)().course
				return odeCurve(course.Step, course.Queue, 1)
			}
		},
		"tcpBoundary": tcpBoundary,
	}
}

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

// cctOf is a flow's control with a table of one shift, and of multipliers from 0 on.
func cctOf(shift, entries int) string {
	var all []string
	for i := range entries {
		all = append(all, fmt.Sprintf("%d:%d", shift, i))
	}
	return fmt.Sprintf("control: {algorithm: cca, cct: %q}", strings.Join(all, ","))
}
