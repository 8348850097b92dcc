package metrics

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Metric is a figure that can be taken of a run: an expression, compiled.
type Metric struct {
	expression string
	over       *figure // nil: the metric is not a quotient
	figure     figure
}

// figure is a quantity of an object.
type figure struct {
	object  object
	formula formula
	end     string // of the name of a quantity that has several
}

// Compile reads an expression: an object of f, a dot and a quantity; or the
// quotient of two of them, written with " / ".
//
// Objects are the directions of links ("trunk.A-B" from A to B, "A1-A" where the
// link has no name), groups of flows ("local") and flows ("local.B1"). Where a
// name could be read in two ways, the longest object counts.
//
// Quantities are those of Quantities.
//
// The error says which objects f has, the nearest names first.
func Compile(expression string, f *fabric.Fabric) (Metric, error) {
	return objectsOf(f).compile(expression)
}

// Checker returns what says whether an expression can be measured in a scenario. It
// lays the last one out once.
func Checker() scenario.MetricChecker {
	var last *scenario.Scenario
	var o *objects
	return func(expression string, s *scenario.Scenario) error {
		if s != last {
			f, err := fabric.Build(s)
			if err != nil {
				return err
			}
			last, o = s, objectsOf(f)
		}
		_, err := o.compile(expression)
		return err
	}
}

func (o *objects) compile(expression string) (Metric, error) {
	m := Metric{expression: strings.TrimSpace(expression)}
	parts := strings.Split(expression, " / ")
	if len(parts) > 2 {
		return Metric{}, fmt.Errorf("metric %q: at most one \" / \" is understood", expression)
	}
	var err error
	if m.figure, err = o.figure(strings.TrimSpace(parts[0])); err != nil {
		return Metric{}, err
	}
	if len(parts) == 2 {
		m.over = new(figure)
		if *m.over, err = o.figure(strings.TrimSpace(parts[1])); err != nil {
			return Metric{}, err
		}
	}
	return m, nil
}

// figure reads an object and a quantity.
func (o *objects) figure(text string) (figure, error) {
	best, rest := -1, ""
	for i := len(text) - 1; i > 0 && best < 0; i-- {
		if text[i] != '.' {
			continue
		}
		k, known := o.byName[text[:i]]
		if known && k < 0 {
			return figure{}, fmt.Errorf("metric %q: two things are called %q", text, text[:i])
		}
		if known {
			best, rest = k, text[i+1:]
		}
	}
	if best < 0 {
		name := text
		if k, known := o.byName[text]; known && k >= 0 {
			return figure{}, fmt.Errorf("metric %q has no quantity: %s has %s", text, text, quantitiesOf(&o.all[k]))
		}
		for _, q := range table {
			for _, n := range q.names() {
				if before, found := strings.CutSuffix(text, "."+n); found && len(before) < len(name) {
					name = before
				}
			}
		}
		return figure{}, fmt.Errorf("metric %q: nothing in this fabric is called %q; there are %s", text, name, o.known(name))
	}
	object := o.all[best]
	for _, q := range table {
		if i := slices.Index(q.names(), rest); i >= 0 && q.on(&object) != nil {
			g := figure{object: object, formula: q.on(&object)}
			if q.Ends != nil {
				g.end = q.Ends[i]
			}
			return g, nil
		}
	}
	return figure{}, fmt.Errorf("metric %q: %s has no %q; it has %s", text, object.name, rest, quantitiesOf(&object))
}

func quantitiesOf(x *object) string {
	var have []string
	for _, q := range table {
		if q.on(x) != nil {
			have = append(have, q.names()...)
		}
	}
	return strings.Join(have, ", ")
}

// String returns the expression.
func (m Metric) String() string { return m.expression }

// Over returns the figure over from <= t < to, of a collector of the fabric that
// m was compiled for. It is not a number when it is undefined: a quotient by
// zero, a share of nothing, an interval that is empty or that the run did not
// reach the end of.
func (m Metric) Over(c *Collector, from, to unit.Time) float64 {
	v := c.figure(&m.figure, from, to)
	if m.over != nil {
		v = ratio(v, c.figure(m.over, from, to))
	}
	return v
}

// Check returns the value of the check at index i of the scenario's checks, over
// its interval.
func (c *Collector) Check(i int) float64 {
	during := c.scenario.Expect[i].During
	if during[1] == 0 { // of a program: it is not measured here
		return math.NaN()
	}
	return c.checks[i].Over(c, unit.Time(during[0]), unit.Time(during[1]))
}

// End returns the instant up to which the figures are complete.
func (c *Collector) End() unit.Time { return c.edges[c.cur] }

func (c *Collector) figure(g *figure, from, to unit.Time) float64 {
	if from < 0 || to <= from || to > c.End() {
		return math.NaN()
	}
	return g.formula(c, g, from, to)
}

// reached is how long it takes from an instant until something has the level that the end
// of g says, over a window, not a number when it has not by the end.
func reached(of formula) formula {
	return func(c *Collector, g *figure, from, to unit.Time) float64 {
		percent, _ := strconv.Atoi(g.end)
		window := c.scenario.Measure.Window
		for t := from.Add(window); t <= to; t = t.Add(window / unit.Duration(c.perWindow)) {
			if of(c, g, t.Add(-window), t) >= float64(percent)/100 {
				return t.Sub(from).Seconds()
			}
		}
		return math.NaN()
	}
}

// held returns the mean of a rate that is a state, over some flows and the time of an
// interval in which it is known, in bytes per second: it is from the first change on. It is
// not a number before.
func (c *Collector) held(column int, since func(*life) unit.Time, flows []int, from, to unit.Time) float64 {
	sum, known := 0.0, unit.Duration(0)
	for _, i := range flows {
		if first := max(from, since(&c.lives[i])); first < to {
			sum += c.grown(c.ofFlows+i*flowColumns+column, from, to) * (1 << rateShift)
			known += to.Sub(first)
		}
	}
	return ratio(sum/float64(unit.BytePerSecond), float64(known))
}

// used returns which share n counters of bytes are of what there is room for. They hold
// whole bytes: less than one of each too many is none.
func used(bytes, room float64, n int) float64 {
	if bytes > room && bytes < room+float64(n) {
		return 1
	}
	return ratio(bytes, room)
}

// most returns the greatest value of a column that starts anew at each edge.
func (c *Collector) most(column int, from, to unit.Time) float64 {
	most := int64(0)
	for k := 1; k <= c.cur; k++ {
		if c.edges[k] > from && c.edges[k-1] < to {
			most = max(most, c.rows.at(k, column))
		}
	}
	return float64(most)
}

// deviation returns the standard deviation of what a column grows by in a time, over the
// bins of an interval.
func (c *Collector) deviation(column int, from, to unit.Time) float64 {
	mean, squares := c.grown(column, from, to)/float64(to-from), 0.0
	for v, span := range c.means(column, from, to) {
		squares += (v - mean) * (v - mean) * float64(span)
	}
	return math.Sqrt(squares / float64(to-from))
}

// exceeded returns what a column grows by in a time at the most, over the bins that make up
// a share of an interval; in the others it grows by more.
func (c *Collector) exceeded(column int, share float64, from, to unit.Time) float64 {
	type part struct {
		mean float64
		span unit.Duration
	}
	var parts []part
	for v, span := range c.means(column, from, to) {
		parts = append(parts, part{v, span})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.mean, b.mean) })
	within := unit.Duration(0)
	for _, p := range parts {
		if within += p.span; float64(within) >= share*float64(to-from) {
			return p.mean
		}
	}
	return math.NaN()
}

// means yields what a column grows by in a time, bin by bin of an interval, and how long
// each is.
func (c *Collector) means(column int, from, to unit.Time) iter.Seq2[float64, unit.Duration] {
	return func(yield func(float64, unit.Duration) bool) {
		for t, k := from, c.edge(from+1); t < to; k++ {
			end := min(c.edges[k], to)
			if !yield(c.grown(column, t, end)/float64(end-t), end.Sub(t)) {
				return
			}
			t = end
		}
	}
}

// share returns what the flows of an object together could carry at the most, in
// bytes per second: what the slowest link does that all of them cross, or, where
// there is none, what each could have alone.
func (c *Collector) share(x *object, from, to unit.Time) float64 {
	slowest := func(hops []fabric.Hop) float64 {
		least := math.Inf(1)
		for _, h := range hops {
			least = min(least, c.capacity(h.Wire, from, to))
		}
		return least
	}
	if len(x.common) > 0 {
		return slowest(x.common)
	}
	sum := 0.0
	for _, i := range x.flows {
		sum += slowest(c.fabric.Flows[i].Hops)
	}
	return sum
}

// Jain returns Jain's fairness index of the rates of some flows: 1 when all are
// equal, 1/n when one of n has everything, not a number when nothing came.
func (c *Collector) Jain(flows []int, from, to unit.Time) float64 {
	sum, squares := 0.0, 0.0
	for _, i := range flows {
		v := c.grown(c.ofFlows+i*flowColumns+flowBytes, from, to)
		sum += v
		squares += v * v
	}
	return ratio(sum*sum, float64(len(flows))*squares)
}

// grown returns by how much a counter grew between two instants.
func (c *Collector) grown(column int, from, to unit.Time) float64 {
	a, b := c.edge(from), c.edge(to)
	if c.edges[a] == from && c.edges[b] == to {
		return float64(c.rows.at(b, column) - c.rows.at(a, column)) // exact
	}
	return c.at(column, b, to) - c.at(column, a, from)
}

// edge returns the first edge at or after t, or the last one.
func (c *Collector) edge(t unit.Time) int {
	k, _ := slices.BinarySearch(c.edges[:c.cur+1], t)
	return min(k, c.cur)
}

// at returns a counter at t, which is not after edge k and after the one before
// it: on a straight line between the two.
func (c *Collector) at(column, k int, t unit.Time) float64 {
	v := float64(c.rows.at(k, column))
	if k == 0 || c.edges[k] <= t {
		return v
	}
	before := float64(c.rows.at(k-1, column))
	return before + (v-before)*float64(t-c.edges[k-1])/float64(c.edges[k]-c.edges[k-1])
}

// ratio is a quotient that is not a number where it is undefined.
func ratio(a, b float64) float64 {
	if b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return math.NaN()
	}
	return a / b
}
