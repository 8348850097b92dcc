package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Metric is a figure that can be taken of a run: an expression, compiled.
type Metric struct {
	expression string
	over       *term // nil: the metric is not a quotient
	figure     term
}

// term is a figure of an object in an expression.
type term struct {
	object  object
	row     *Figure
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
// Figures lists the quantities.
//
// The error lists the objects of f, the nearest names first. There are more figures than in the
// table if they are given.
func Compile(expression string, f *fabric.Fabric, more ...*Figure) (Metric, error) {
	return objectsOf(f, more...).compile(expression)
}

// Compile is the function Compile for the fabric of a run, with the figures of the run.
func (c *Collector) Compile(expression string) (Metric, error) { return c.objects.compile(expression) }

// Checker returns a function that checks whether an expression can be measured in a scenario. It
// lays the last scenario out once. There are more figures than in the table if they are given.
func Checker(more ...*Figure) resolve.MetricChecker {
	var last *scenario.Scenario
	var o *objects
	return func(expression string, s *scenario.Scenario) error {
		if s != last {
			f, err := fabric.Build(s)
			if err != nil {
				return err
			}
			last, o = s, objectsOf(f, more...)
		}
		if names, ok := strings.CutSuffix(expression, ".rate"); ok && scenario.Plural(names) {
			return o.choose(names)
		}
		_, err := o.compile(expression)
		return err
	}
}

// choose returns an error if a name with ranges stands for no object.
func (o *objects) choose(names string) error {
	chosen, err := scenario.Chooser(names)
	if err == nil && !slices.ContainsFunc(o.all, func(x object) bool { return chosen(x.name) }) {
		err = unknown{names, fmt.Errorf("nothing in this fabric has a name like %q; there are %s", names, o.known(names))}
	}
	return err
}

// unknown is the error of a name that nothing has.
type unknown struct {
	name string
	error
}

func (u unknown) Unknown() string { return u.name }

func (o *objects) compile(expression string) (Metric, error) {
	m := Metric{expression: strings.TrimSpace(expression)}
	parts := strings.Split(expression, " / ")
	if len(parts) > 2 {
		return Metric{}, fmt.Errorf("metric %q: at most one \" / \" is understood", expression)
	}
	from := 0
	for i, part := range parts {
		text := strings.TrimSpace(part)
		g, err := o.figure(text)
		if err != nil {
			at := param.Misread{Err: err, At: from + strings.Index(part, text)}
			if inner, ok := errors.AsType[param.Misread](err); ok {
				at.At += inner.At
			}
			return Metric{}, at
		}
		if i == 0 {
			m.figure = g
		} else {
			m.over = &g
		}
		from += len(part) + len(" / ")
	}
	return m, nil
}

// figure reads an object and a quantity.
func (o *objects) figure(text string) (term, error) {
	best, rest := -1, ""
	for i := len(text) - 1; i > 0 && best < 0; i-- {
		k, known := o.byName[text[:i]]
		if !known || text[i] != '.' {
			continue
		}
		if k < 0 {
			return term{}, fmt.Errorf("metric %q: two things are called %q", text, text[:i])
		}
		best, rest = k, text[i+1:]
	}
	if best < 0 {
		name := text
		if k, known := o.byName[text]; known && k >= 0 {
			return term{}, fmt.Errorf("metric %q has no quantity: %s has %s", text, text, o.quantitiesOf(&o.all[k]))
		}
		if before, _, found := quantityIn(text); found {
			name = before
		}
		return term{}, unknown{name, fmt.Errorf("metric %q: nothing in this fabric is called %q%s; there are %s", text, name, o.meant(text), o.known(name))}
	}
	object := o.all[best]
	for g := range o.figures(&object) {
		if g.row.name(g.end) == rest {
			return g, nil
		}
	}
	return term{}, param.Misread{Err: fmt.Errorf("metric %q: %s has no %q%s; it has %s", text, object.name, rest, o.meant(text), o.quantitiesOf(&object)),
		At: len(text) - len(rest)}
}

// quantityIn splits a text in front of the quantity at its end; found is false if it has none.
func quantityIn(text string) (name, quantity string, found bool) {
	name = text
	for n := range names {
		if before, ok := strings.CutSuffix(text, "."+n); ok && len(before) < len(name) {
			name, quantity, found = before, n, true
		}
	}
	return name, quantity, found
}

// meant asks whether the nearest figure was meant that there is; it is empty if none is near.
func (o *objects) meant(text string) string {
	name, quantity, found := quantityIn(text)
	if !found {
		if at := strings.LastIndexByte(text, '.'); at > 0 {
			name, quantity = text[:at], text[at+1:]
		}
	}
	all := make([]string, len(o.all), 2*len(o.all))
	for i := range o.all {
		all[i] = o.all[i].name
		link, _, _ := strings.Cut(all[i], ".") // without its direction
		all = append(all, link)
	}
	if _, known := o.byName[name]; !known {
		name = spelling.Nearest(name, all)
	}
	k := slices.IndexFunc(o.all, func(x object) bool { return x.name == name })
	if k < 0 && name != "" {
		k = slices.Index(all[len(o.all):], name)
	}
	if k < 0 || quantity == "" {
		return spelling.DidYouMean(name)
	}
	near := spelling.Nearest(quantity, strings.Split(o.quantitiesOf(&o.all[k]), ", "))
	if near == "" {
		return ""
	}
	return spelling.DidYouMean(o.all[k].name + "." + near)
}

func (o *objects) quantitiesOf(x *object) string {
	var have []string
	for g := range o.figures(x) {
		have = append(have, g.row.name(g.end))
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
	return m.take(c.between(from, to))
}

// OverRun returns the figure where no interval is named. Transfers are those that count in the
// report of the run: which arrive after the warm-up, whenever they end. Other figures leave out the
// first fifth of the run.
func (m Metric) OverRun(c *Collector) float64 { return m.take(c.usual) }

// span is the time over which a figure is taken, and whether it can be.
type span func(*term) (taken, bool)

// figure returns a figure, or not a number.
func (of span) figure(g *term) float64 {
	if t, ok := of(g); ok {
		return g.formula(t)
	}
	return math.NaN()
}

func (m Metric) take(of span) float64 {
	v := of.figure(&m.figure)
	if m.over != nil {
		v = ratio(v, of.figure(m.over))
	}
	return v
}

// name is the figure as an expression has it.
func (f *term) name() string { return f.object.name + "." + f.row.name(f.end) }

// Why returns the reason why the metric is undefined over from <= t < to.
func (m Metric) Why(c *Collector, from, to unit.Time) string {
	if to > c.End() {
		return fmt.Sprintf("the run ended at %v", c.End())
	}
	return m.why(c.between(from, to))
}

// WhyOverRun returns the reason why OverRun is undefined in a run that has come to its end.
func (m Metric) WhyOverRun(c *Collector) string { return m.why(c.usual) }

func (m Metric) why(of span) string {
	for _, f := range []*term{&m.figure, m.over} {
		if f == nil || !math.IsNaN(of.figure(f)) {
			continue
		}
		if why := f.thin(of); why != "" {
			return why
		}
		why := cmp.Or(f.row.None, "nothing was there to measure")
		if m.over != nil {
			why = f.name() + ": " + why
		}
		return why
	}
	if m.over != nil {
		return m.over.name() + " is 0"
	}
	return ""
}

// WhyNot returns the reason why the check at an index is undefined, as Metric.Why.
func (v *View) WhyNot(i int) string {
	during := v.c.scenario.Expect[i].During
	if during[1] == 0 {
		return ""
	}
	return v.c.checks[i].Why(&v.c, unit.Time(during[0]), unit.Time(during[1]))
}

// Values returns Metric.Values of the check at an index.
func (v *View) Values(i int) int {
	during := v.c.scenario.Expect[i].During
	return v.c.checks[i].Values(&v.c, unit.Time(during[0]), unit.Time(during[1]))
}

// Check returns the value of the check at index i of the scenario's checks, and whether it is
// decided: its interval has passed. Those of programs are not measured here.
func (v *View) Check(i int) (value float64, decided bool) {
	during := v.c.scenario.Expect[i].During
	if during[1] == 0 || unit.Time(during[1]) > v.End() {
		return math.NaN(), false
	}
	return v.c.checks[i].Over(&v.c, unit.Time(during[0]), unit.Time(during[1])), true
}

// End returns the instant up to which the figures are complete.
func (c *Collector) End() unit.Time { return c.edges[c.cur] }

// usual is the span where no interval is named.
func (c *Collector) usual(g *term) (taken, bool) {
	if g.row != nil && g.row.Whole {
		return taken{g, c, 0, unit.Never}, true
	}
	end := unit.Time(c.scenario.Model.Duration)
	return c.between(end/5, end)(g)
}

// between is the span from <= t < to.
func (c *Collector) between(from, to unit.Time) span {
	ok := from >= 0 && to > from && to <= c.End()
	return func(g *term) (taken, bool) { return taken{g, c, from, to}, ok }
}

// figure returns a figure over from <= t < to.
func (c *Collector) figure(g *term, from, to unit.Time) float64 { return c.between(from, to).figure(g) }

// out returns the first counter of the port that sends into h; in returns the first counter of
// the port at its end.
func (c *Collector) out(h fabric.Hop) int {
	end := c.fabric.Wires[h.Wire].Ends[h.From]
	return (int(c.first[end.Node]) + int(end.Port)) * portColumns
}

func (c *Collector) in(h fabric.Hop) int { return c.out(fabric.Hop{Wire: h.Wire, From: 1 - h.From}) }

// Jain returns the fairness index of the rates of some flows (unit.Jain).
func (c *Collector) Jain(flows []int, from, to unit.Time) float64 {
	rates := make([]float64, len(flows))
	for k, i := range flows {
		rates[k] = c.grown(c.ofFlows+i*flowColumns+flowBytes, from, to)
	}
	return unit.Jain(rates)
}

// grown returns by how much a counter grew between two instants, up to now if the second is later
// than the last edge.
func (c *Collector) grown(column int, from, to unit.Time) float64 {
	if to > c.End() {
		return float64(c.last(column)) - c.at(column, c.edge(from), from)
	}
	a, b := c.edge(from), c.edge(to)
	if c.edges[a] == from && c.edges[b] == to {
		return float64(c.rows.at(b, column) - c.rows.at(a, column)) // exact
	}
	return c.at(column, b, to) - c.at(column, a, from)
}

// edge returns the first edge at or after t, or the last one.
func (c *Collector) edge(t unit.Time) int {
	before := 0 // an edge at or before t: regular edges are behind it, and the edges of checks further
	if bin := (int64(c.scenario.Measure.Window) + c.perWindow - 1) / c.perWindow; t > 0 {
		before = int(min(int64(t)/bin, int64(c.cur)))
	}
	if c.edges[before] == t {
		return before
	}
	k, _ := slices.BinarySearch(c.edges[before:c.cur+1], t)
	return min(before+k, c.cur)
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
