package metrics

import (
	"math"
	"slices"

	"fabemu/wire/unit"
)

// Series is a figure over model time. UnitOf returns its unit.
type Series struct {
	Kind   string      // object and quantity: "link.rate", "flow.limit", "buffer.occupancy", ...
	Name   string      // of the link's direction, the group, the flow
	Times  []unit.Time // which series share
	Values []float64   // NaN where undefined
}

// Kinds of series. Rates, utilisations and stalls exist for links, groups and
// flows.
const (
	LinkRate         = "link.rate"
	LinkUtilisation  = "link.utilisation"
	GroupRate        = "group.rate"
	GroupUtilisation = "group.utilisation"
	FlowRate         = "flow.rate"
	FlowUtilisation  = "flow.utilisation"
	FlowLimit        = "flow.limit"
	FlowTarget       = "flow.target"
	FlowFb           = "flow.fb"
	FlowWindow       = "flow.cwnd"
	BufferOccupancy  = "buffer.occupancy"
	LinkQueue        = "link.queue"
	LinkStalled      = "link.stalled." // and the cause
	FlowStalled      = "flow.stalled." // and the cause
)

// Series returns the curves of the figures, with all points that were measured. Rates and
// utilisations are means over the scenario's window, centred on each point, and cut where it would
// leave the run; a point is at each regular edge. Occupancies (by the link that fills the buffer)
// and stalls are means from each point to the next, stamped with the first; only causes that
// occurred are there. The limit of a flow is the rate that its source's limiter allows at the
// instant, in bytes per second. Its target is the rate to which its reaction point wants to return.
// Queues, targets and feedback are there if there were any.
//
// The links are all links that some flow crosses, in the direction of its data.
func (c *Collector) Series() []Series { return c.series(1) }

// Outline returns the curves of Series with fewer points, for a picture. A curve keeps at least
// OutlinePoints points if it has as many, and in a run of many windows at most twice that. In a
// large fabric it keeps fewer, so that the table has at most outlineRows rows, but never fewer than
// leastPoints.
func (c *Collector) Outline() []Series {
	return c.series(c.outlineStep())
}

// The most rows of an outline, which are 4 MB in a table, and its least number of points.
const (
	outlineRows = 80_000
	leastPoints = 100
)

// outlineStep returns how many regular edges the points of an outline are apart.
func (c *Collector) outlineStep() int64 {
	step := c.smoothStep()
	chosen, curves := c.scenario.Measure.Curves.Choose(), int64(0)
	for _, h := range c.fabric.DataLinks() {
		if chosen(c.fabric.LinkName(h)) {
			curves += 4 // rate, utilisation, occupancy, and a queue or stalls
		}
	}
	for i := range c.fabric.Flows {
		if chosen(c.fabric.Flows[i].Name) {
			curves += 3 // rate, utilisation, limit
		}
	}
	edges := int64(len(c.points()))
	for edges/step*curves > outlineRows && edges/(2*step) >= leastPoints {
		step *= 2
	}
	return step
}

// smoothStep returns the step that gives smooth curves, however many there are. outlineStep begins
// with it.
func (c *Collector) smoothStep() int64 {
	windows := float64(c.End()) / float64(c.scenario.Measure.Window)
	if halves := int64(2 * windows); halves >= OutlinePoints {
		return c.perWindow / 2 * (halves / OutlinePoints)
	}
	wanted := max(int64(math.Ceil(OutlinePoints/max(windows, 1))), 2)
	step := int64(1)
	for _, s := range [...]int64{2, 4, 5, 10} { // a window is a whole number of steps
		if c.perWindow%s == 0 && c.perWindow/s >= wanted {
			step = s
		}
	}
	return step
}

// OutlinePoints is how many points a curve has that looks smooth in a picture: one for each
// three pixels of its width.
const OutlinePoints = 250

// Curve is how a figure is drawn over model time.
type Curve struct {
	Kind   string // of its series, in front of the end of its name if it has several; empty: it is not drawn
	Groups string // of those of groups and workloads; empty: they have none

	how    drawing
	column func(x At, end string) int // of the counter that is drawn; negative: there is nothing to draw
	scale  float64                    // what one of the counter is
	where  func(At) bool              // nil: everywhere
}

// GroupKind returns the kind of the series of groups that stand for those of this kind of their
// flows; empty: there are none.
func GroupKind(kind string) string {
	for _, f := range table {
		if f.Series.Kind == kind {
			return f.Series.Groups
		}
	}
	return ""
}

// OfGroups reports whether series of a kind are of groups of flows.
func OfGroups(kind string) bool {
	return kind != "" && slices.ContainsFunc(table, func(f *Figure) bool { return f.Series.Groups == kind })
}

// drawing is what the points of a curve are.
type drawing uint8

const (
	sliding drawing = iota // the figure over measure.window around a point
	states                 // a counter that is a state, at an edge
	known                  // the same, from the first edge on at which it is not 0
	means                  // the mean of a counter of time, from an edge to the next
)

// curves are series in the making.
type curves struct {
	c        *Collector
	all      []Series
	chosen   func(string) bool
	step     int64
	points   []unit.Time
	times    []unit.Time // of sliding figures
	edges    []int
	instants []unit.Time // of the others
}

// series returns all series with each point that is a multiple of step: by the table of figures,
// those that are means from point to point behind the others.
func (c *Collector) series(step int64) []Series {
	w := &curves{c: c, chosen: c.scenario.Measure.Curves.Choose(), step: step, points: c.points(), edges: c.every(step)}
	for i := int64(0); i < int64(len(w.points)); i += step {
		w.times = append(w.times, w.points[i])
	}
	for _, k := range w.edges {
		w.instants = append(w.instants, c.edges[k])
	}
	v := &View{c: *c}
	links := c.fabric.DataLinks()
	for _, h := range links {
		w.object(At{View: v, Hop: h}, false)
	}
	for _, g := range c.fabric.Groups() {
		w.group(flowsObject(c.fabric, g.Name, g.Flows))
	}
	for k, p := range c.workloads {
		w.group(object{name: p.Name, work: k + 1})
	}
	for x := range v.EachFlow {
		w.object(x, false)
	}
	for _, h := range links {
		w.object(At{View: v, Hop: h}, true)
	}
	for x := range v.EachFlow {
		w.object(x, true)
	}
	return w.all
}

// object adds the curves of a link or a flow: the means from point to point, or the others.
func (w *curves) object(x At, between bool) {
	name := x.String()
	if !w.chosen(name) {
		return
	}
	for f := range x.Figures(x.Of) {
		if c := &f.Series; c.Kind == "" || (c.how == means) != between || c.where != nil && !c.where(x) {
			continue
		} else if c.how == sliding {
			o := x.object()
			o.name = name
			w.slide(c.Kind, o, f.over)
			continue
		}
		for _, end := range f.ends() {
			w.draw(f, x, name, end)
		}
	}
}

// group adds the curves of a group, or of a workload.
func (w *curves) group(o object) {
	if !w.chosen(o.name) {
		return
	}
	for _, f := range w.c.objects.rows {
		if f.Series.Groups != "" {
			w.slide(f.Series.Groups, o, f.over)
		}
	}
}

// slide adds a figure over the window around each point.
func (w *curves) slide(kind string, o object, of formula) {
	values := make([]float64, 0, len(w.times))
	g, half := &term{object: o, formula: of}, w.c.perWindow/2
	for i := int64(0); i < int64(len(w.points)); i += w.step {
		to := w.c.End()
		if k := i + half; k < int64(len(w.points)) {
			to = w.points[k]
		}
		values = append(values, w.c.figure(g, w.points[max(0, i-half)], to))
	}
	w.all = append(w.all, Series{kind, o.name, w.times, values})
}

// draw adds a counter.
func (w *curves) draw(f *Figure, x At, name, end string) {
	c, rows := &f.Series, &w.c.rows
	column := c.column(x, end)
	if column < 0 {
		return
	}
	s := Series{c.Kind + end, name, w.instants, make([]float64, len(w.edges))}
	for i, k := range w.edges {
		s.Values[i] = float64(rows.at(k, column)) * c.scale
	}
	switch c.how {
	case means:
		for i, k := range w.edges[1:] {
			from := w.edges[i]
			s.Values[i] = float64(rows.at(k, column)-rows.at(from, column)) / float64(w.c.edges[k]-w.c.edges[from]) * c.scale
		}
		s.Values = s.Values[:len(w.edges)-1]
	case known:
		first := slices.IndexFunc(s.Values, func(v float64) bool { return v > 0 })
		if first < 0 {
			return
		}
		s.Times, s.Values = s.Times[first:], s.Values[first:]
	}
	s.Times = s.Times[:len(s.Values)]
	w.all = append(w.all, s)
}

// regular returns the i-th regular edge.
func (c *Collector) regular(i int64) unit.Time {
	return unit.Time(unit.Duration(i).Scale(int64(c.scenario.Measure.Window), c.perWindow))
}

// points returns the regular edges that the run has reached.
func (c *Collector) points() []unit.Time {
	var times []unit.Time
	for t := unit.Time(0); t <= c.End(); t = c.regular(int64(len(times))) {
		times = append(times, t)
	}
	return times
}

// every returns the numbers of the edges between which series are taken: all of them with a
// step of 1, else each regular edge that is a multiple of it, and the end.
func (c *Collector) every(step int64) (edges []int) {
	next := unit.Time(0)
	for k := 0; k <= c.cur; k++ {
		if step > 1 && k < c.cur && c.edges[k] != next {
			continue
		}
		edges = append(edges, k)
		next = c.regular(int64(len(edges)) * step)
	}
	return edges
}
