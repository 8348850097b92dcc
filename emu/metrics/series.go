package metrics

import (
	"slices"

	"math"

	"fabemu/wire/port"
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

// series returns all series with each point that is a multiple of step.
func (c *Collector) series(step int64) []Series {
	var all []Series
	points, edges := c.points(), c.every(step)
	times, instants := make([]unit.Time, 0, int64(len(points))/step+1), make([]unit.Time, len(edges))
	for i := int64(0); i < int64(len(points)); i += step {
		times = append(times, points[i])
	}
	for i, k := range edges {
		instants[i] = c.edges[k]
	}
	chosen := c.scenario.Measure.Curves.Choose()
	add := func(kind, name string, times []unit.Time, values []float64) {
		all = append(all, Series{kind, name, times[:len(values)], values})
	}
	windowed := func(kind string, x object, of formula) {
		if !chosen(x.name) {
			return
		}
		add(kind, x.name, times, c.windowed(points, step, &term{object: x, formula: of}))
	}
	used := c.fabric.DataLinks()
	for _, h := range used {
		x := object{name: c.fabric.LinkName(h), hop: h}
		windowed(LinkRate, x, linkRate)
		windowed(LinkUtilisation, x, linkUtilisation)
	}
	for _, g := range c.fabric.Groups() {
		windowed(GroupRate, flowsObject(c.fabric, g.Name, g.Flows), flowRate)
		windowed(GroupUtilisation, flowsObject(c.fabric, g.Name, g.Flows), flowUtilisation)
	}
	for k, w := range c.works {
		x := object{name: w.workload.Name, work: k + 1}
		windowed(GroupRate, x, flowRate)
		windowed(GroupUtilisation, x, workUtilisation)
	}
	for i := range c.fabric.Flows {
		x := flowsObject(c.fabric, c.fabric.Flows[i].Name, []int{i})
		if !chosen(x.name) {
			continue
		}
		windowed(FlowRate, x, flowRate)
		windowed(FlowUtilisation, x, flowUtilisation)
		at := c.ofFlows + i*flowColumns
		add(FlowLimit, x.name, instants, c.states(at+flowLimit, edges, bytesPerSecond))
		if c.last(at+flowTarget) > 0 {
			target := c.states(at+flowTarget, edges, bytesPerSecond)
			// Before its reaction point reports one, a flow has no target: none, and not zero.
			if first := slices.IndexFunc(target, func(v float64) bool { return v > 0 }); first >= 0 {
				add(FlowTarget, x.name, instants[first:], target[first:])
			}
			windowed(FlowFb, x, meanFeedback)
		}
		if c.hasWindow(i) {
			add(FlowWindow, x.name, instants, c.states(c.ofStreams+i*tcpColumns+tcpWindow, edges, func(v int64) float64 { return float64(v) }))
		}
	}
	stalls := func(kind, name string, first int) {
		if !chosen(name) {
			return
		}
		for b := port.LinkBusy; b < port.Blocks; b++ {
			if column := first + int(b); c.last(column) > 0 {
				add(kind+b.String(), name, instants, c.binned(column, edges, 1))
			}
		}
	}
	for _, h := range used {
		name := c.fabric.LinkName(h)
		if !chosen(name) {
			continue
		}
		add(BufferOccupancy, name, instants, c.binned(c.in(h)+inOccupancy, edges, 1))
		if column := c.out(h) + outQueue; InBytes(c.fabric, h.Wire) && c.last(column) > 0 {
			add(LinkQueue, name, instants, c.binned(column, edges, 1<<queueShift))
		}
		stalls(LinkStalled, name, c.out(h)+outStall)
	}
	for i := range c.fabric.Flows {
		stalls(FlowStalled, c.fabric.Flows[i].Name, c.ofFlows+i*flowColumns+flowStall)
	}
	return all
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

// windowed takes a figure over the window around each point that is a multiple of step.
func (c *Collector) windowed(points []unit.Time, step int64, g *term) []float64 {
	values := make([]float64, 0, int64(len(points))/step+1)
	half := c.perWindow / 2
	for i := int64(0); i < int64(len(points)); i += step {
		to := c.End()
		if k := i + half; k < int64(len(points)) {
			to = points[k]
		}
		values = append(values, c.figure(g, points[max(0, i-half)], to))
	}
	return values
}

// binned takes the mean of a counter of time, scaled, from each of some edges to the next.
func (c *Collector) binned(column int, edges []int, scale float64) []float64 {
	values := make([]float64, len(edges)-1)
	for i, k := range edges[1:] {
		from := edges[i]
		values[i] = float64(c.rows.at(k, column)-c.rows.at(from, column)) / float64(c.edges[k]-c.edges[from]) * scale
	}
	return values
}

// states reads a state at each of some edges.
func (c *Collector) states(column int, edges []int, read func(int64) float64) []float64 {
	values := make([]float64, len(edges))
	for i, k := range edges {
		values[i] = read(c.rows.at(k, column))
	}
	return values
}

func bytesPerSecond(rate int64) float64 { return unit.Rate(rate).BytesPerSecond() }
