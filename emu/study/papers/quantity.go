package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Run is a run of a scenario that comes with the program.
type Run struct {
	Scenario string
	Edits    [][2]string // parts of its text and their replacements, where --set does not reach
	Sets     []string    // changes, as in --set: "defaults.link.buffer=8packets"
	Seeds    bool        // its figures are means over several seeds
	Short    bool        // its short run

	Schemes *scenario.Schemes // the tables of schemes; nil: the tables of the program
}

// With returns the run with further changes.
func (r Run) With(sets ...string) Run {
	r.Sets = append(slices.Clip(r.Sets), sets...)
	return r
}

// Once returns the run with one seed, where a mean is not wanted.
func (r Run) Once() Run {
	r.Seeds = false
	return r
}

// String returns the run as on a command line.
func (r Run) String() string {
	words := []string{r.Scenario}
	if r.Short {
		words = append(words, "--short")
	}
	for _, e := range r.Edits {
		words = append(words, e[0]+"=>"+e[1])
	}
	return strings.Join(append(words, r.Sets...), " ")
}

// open reads the scenario of a run. Its own checks are for the scenario as it
// stands, and are left out.
func (r Run) open(sets ...scenario.Set) (*scenario.Scenario, error) {
	src, err := builtin.Read(r.Scenario)
	if err != nil {
		return nil, err
	}
	text, options := string(src), []resolve.Option{}
	if r.Schemes != nil {
		options = append(options, resolve.WithSchemes(*r.Schemes))
	}
	if r.Short { // its checks are shortened with it
		options = append(options, resolve.Short())
	} else {
		text, _, _ = strings.Cut(text, "\nexpect:")
		text += "\n"
	}
	for _, e := range r.Edits {
		if !strings.Contains(text, e[0]) {
			return nil, fmt.Errorf("%s does not have %q", r.Scenario, e[0])
		}
		text = strings.ReplaceAll(text, e[0], e[1])
	}
	var all []scenario.Set
	for _, s := range r.Sets {
		set, err := scenario.ParseSet(s)
		if err != nil {
			return nil, err
		}
		all = append(all, set)
	}
	return resolve.Load(r.Scenario+".yaml", []byte(text), append(all, sets...), append(options, resolve.Lint(lint.Check))...)
}

// Quantity is a number that is taken of runs.
type Quantity struct {
	leaves []*leaf
	of     func(v func(*leaf) float64) float64
	unit   metrics.Unit // without a word: only the text in addition to the value gives it
}

// in returns the quantity with a unit that Take, Watch or Combine cannot derive.
func (q Quantity) in(u metrics.Unit) Quantity {
	q.unit = u
	return q
}

// unitOf returns the unit of a metric. A quotient of two of one kind is a share.
func unitOf(metric string) metrics.Unit {
	a, b, quotient := strings.Cut(metric, " / ")
	if quotient {
		return quotientOf(unitOf(a), unitOf(b))
	}
	return metrics.UnitOf(a, true)
}

func quotientOf(a, b metrics.Unit) metrics.Unit {
	if a.Word == "" || a.Word != b.Word {
		return metrics.Unit{}
	}
	return metrics.Share()
}

// leaf is a number that is taken of one run: of its result, or of its events.
type leaf struct {
	run   Run
	take  func(*emu.Result) (float64, error)
	watch func(*fabric.Fabric) (trace.Sink, func() float64)
}

func single(l *leaf) Quantity {
	return Quantity{leaves: []*leaf{l}, of: func(v func(*leaf) float64) float64 { return v(l) }}
}

// Take is a number of a run that take finds in its result.
func Take(r Run, take func(*emu.Result) (float64, error)) Quantity {
	return single(&leaf{run: r, take: take})
}

// Watch is a number of a run that a sink finds in its events: watch makes the sink for
// the run's fabric, and a function that returns the number at the end.
func Watch(r Run, watch func(*fabric.Fabric) (trace.Sink, func() float64)) Quantity {
	return single(&leaf{run: r, watch: watch})
}

// follow is a number that the function of computes from means of a metric of a run.
func follow(r Run, metric string, of func(x *emu.Result, over func(from, to unit.Time) float64) float64) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		m, err := metrics.Compile(metric, x.Metrics.Fabric())
		if err != nil {
			return 0, err
		}
		return of(x, func(from, to unit.Time) float64 { return m.Over(x.Metrics, from, to) }), nil
	})
}

// Mean is the figure of a metric (metrics.Compile) over an interval of a run.
func Mean(r Run, metric string, from, to unit.Time) Quantity {
	return follow(r, metric, func(_ *emu.Result, over func(from, to unit.Time) float64) float64 { return over(from, to) }).in(unitOf(metric))
}

// with is the quantity of other runs instead of its own.
func (q Quantity) with(of func(Run) Run) Quantity {
	changed, list := map[*leaf]*leaf{}, make([]*leaf, len(q.leaves))
	for i, l := range q.leaves {
		if changed[l] == nil {
			changed[l] = new(*l)
			changed[l].run = of(l.run)
		}
		list[i] = changed[l]
	}
	before := q.of
	q.leaves, q.of = list, func(v func(*leaf) float64) float64 { return before(func(l *leaf) float64 { return v(changed[l]) }) }
	return q
}

// Combine makes a quantity of others. It has no unit; see in.
func Combine(of func(values []float64) float64, list ...Quantity) Quantity {
	var q Quantity
	for _, x := range list {
		q.leaves = append(q.leaves, x.leaves...)
	}
	q.of = func(v func(*leaf) float64) float64 {
		values := make([]float64, len(list))
		for i, x := range list {
			values[i] = x.of(v)
		}
		return of(values)
	}
	return q
}

// common is the unit that all have; none where they differ.
func common(list ...Quantity) metrics.Unit {
	for _, q := range list[1:] {
		if q.unit.Word != list[0].unit.Word {
			return metrics.Unit{}
		}
	}
	return list[0].unit
}

// fold returns the function that computes a quantity from others. It has their unit, if all have
// the same.
func fold(of func(values []float64) float64) func(list ...Quantity) Quantity {
	return func(list ...Quantity) Quantity { return Combine(of, list...).in(common(list...)) }
}

// What is computed from quantities of one unit.
var (
	highest = fold(slices.Max[[]float64])
	lowest  = fold(slices.Min[[]float64])
	spread  = fold(func(v []float64) float64 { return slices.Max(v) - slices.Min(v) })
	sum     = fold(unit.Sum)
	average = fold(unit.Mean)
	minus   = fold(func(v []float64) float64 { return v[0] - v[1] })
	fromOne = fold(func(v []float64) float64 { return math.Abs(v[0] - 1) }) // how far a ratio is from one

	// The least step from one to the next is positive when they rise.
	leastStep = fold(func(v []float64) float64 {
		least := math.Inf(1)
		for i := 1; i < len(v); i++ {
			least = min(least, v[i]-v[i-1])
		}
		return least
	})
)

// Over is a / b.
func Over(a, b Quantity) Quantity {
	return Combine(func(v []float64) float64 { return v[0] / v[1] }, a, b).in(quotientOf(a.unit, b.unit))
}

// Triggers counts the marking events of a run for a reason, at the lines whose name
// begins with link (all of them for "").
func Triggers(r Run, link, reason string) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		n := int64(0)
		for _, l := range x.Links {
			if !strings.HasPrefix(l.Name, link) {
				continue
			}
			for _, c := range l.Triggers {
				if c.Reason == reason {
					n += c.Count
				}
			}
		}
		return float64(n), nil
	}).in(metrics.Unit{Word: "events", Whole: true})
}

// course takes the points of a sliding mean: model times in milliseconds, values.
func course(x *emu.Result, metric string) (at, values []float, err error) {
	m, err := metrics.Compile(metric, x.Metrics.Fabric())
	if err != nil {
		return nil, nil, err
	}
	window, end := unit.Time(x.WindowPs), x.Metrics.End()
	for t := unit.Time(0); t <= end; t += window / 20 {
		at = append(at, float(t.Seconds()*1e3))
		values = append(values, float(m.Over(x.Metrics, max(0, t-window/2), min(end, t+window/2))))
	}
	return at, values, nil
}

// Settled is when a metric has settled after an instant, in seconds of model time
// since then: the end of the first window from which on its sliding mean, for as long
// as hold, stays within a share of its mean over an interval at the end. It is not a
// number when that does not happen.
func Settled(r Run, metric string, after, window, hold unit.Time, within float64, from, to unit.Time) Quantity {
	return follow(r, metric, func(_ *emu.Result, over func(from, to unit.Time) float64) float64 {
		want := over(from, to)
		since, ok := lasting(after+window, to, window/20, hold, func(t unit.Time) bool {
			return math.Abs(over(t-window, t)-want) <= within*want
		})
		if !ok {
			return math.NaN()
		}
		return since.Sub(after).Seconds()
	}).in(metrics.Seconds())
}

// lasting returns the first of the instants at equal steps from which on something holds for
// as long as hold.
func lasting(from, to, step, hold unit.Time, holds func(t unit.Time) bool) (since unit.Time, ok bool) {
	since = from
	for t := from; t <= to; t += step {
		switch {
		case !holds(t):
			since = t + step
		case t-since >= hold:
			return since, true
		}
	}
	return 0, false
}

// Reached is when a metric reaches a level after an instant, in seconds of model time
// since then: the middle of the first window whose mean is at least the level. It is
// not a number when that does not happen before the run ends.
func Reached(r Run, metric string, level float64, after unit.Time) Quantity {
	return follow(r, metric, func(x *emu.Result, over func(from, to unit.Time) float64) float64 {
		window := unit.Time(x.WindowPs)
		for t := after + window; t <= x.Metrics.End(); t += window / 20 {
			if over(t-window, t) >= level {
				return (t - window/2).Sub(after).Seconds()
			}
		}
		return math.NaN()
	}).in(metrics.Seconds())
}

// scaled is q times a factor: no longer in the unit of q.
func scaled(q Quantity, by float64) Quantity {
	if by == 1 {
		return q
	}
	return Combine(func(v []float64) float64 { return v[0] * by }, q)
}

// constant is a number.
func constant(v float64) Quantity { return Combine(func([]float64) float64 { return v }) }
