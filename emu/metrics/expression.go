package metrics

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
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
	object   object
	quantity quantity
	cause    port.Block // of quantity stalled
	level    float64    // of quantities recovery, shared and percentCompletion
}

type quantity uint8

const (
	utilisation quantity = iota
	rate
	marked
	fairness
	occupancy
	stalled
	transfers
	meanCompletion
	longestCompletion
	percentCompletion
	drops
	paused
	deadlocks
	queue
	longestQueue
	lateQueue
	queueDeviation
	recovery
	shared
	notifications
	feedback
	overhead
	limit
	target
	maxMin
	proportional
)

// A word is how a quantity is written.
type word struct {
	text     string
	quantity quantity
	cause    port.Block
	links    bool // links have it
	flows    bool // flows and groups have it
	level    float64
}

var words = func() []word {
	w := []word{
		{text: "utilisation", quantity: utilisation, links: true, flows: true},
		{text: "rate", quantity: rate, links: true, flows: true},
		{text: "marked", quantity: marked, links: true, flows: true},
		{text: "fairness", quantity: fairness, flows: true},
		{text: "occupancy", quantity: occupancy, links: true},
		{text: "paused", quantity: paused, links: true},
		{text: "deadlocks", quantity: deadlocks, links: true},
		{text: "queue", quantity: queue, links: true},
		{text: "queue.max", quantity: longestQueue, links: true},
		{text: "queue.p99", quantity: lateQueue, links: true},
		{text: "queue.deviation", quantity: queueDeviation, links: true},
	}
	for b := port.LineBusy; b < port.Blocks; b++ {
		w = append(w, word{text: "stalled." + b.String(), quantity: stalled, cause: b, links: true, flows: true})
	}
	w = append(w, word{text: "stalled.flow-control", quantity: stalled, cause: flowControl, links: true, flows: true})
	for _, percent := range []int{90, 95, 99} {
		level := float64(percent) / 100
		w = append(w,
			word{text: fmt.Sprintf("recovery.%d", percent), quantity: recovery, level: level, links: true, flows: true},
			word{text: fmt.Sprintf("shared.%d", percent), quantity: shared, level: level, flows: true})
	}
	return append(w,
		word{text: "drops", quantity: drops, links: true, flows: true},
		word{text: "transfers", quantity: transfers, flows: true},
		word{text: "completion.mean", quantity: meanCompletion, flows: true},
		word{text: "completion.p95", quantity: percentCompletion, level: 0.95, flows: true},
		word{text: "completion.p99", quantity: percentCompletion, level: 0.99, flows: true},
		word{text: "completion.max", quantity: longestCompletion, flows: true},
		word{text: "notifications", quantity: notifications, flows: true},
		word{text: "fb", quantity: feedback, flows: true},
		word{text: "feedback", quantity: overhead, flows: true},
		word{text: "limit", quantity: limit, flows: true},
		word{text: "target", quantity: target, flows: true},
		word{text: "max-min", quantity: maxMin, flows: true},
		word{text: "proportional", quantity: proportional, flows: true})
}()

// flowControl stands for the causes by which the link says that it has no room.
const flowControl = port.Blocks

// causesOf returns what a cause stands for.
func causesOf(cause port.Block) []port.Block {
	if cause == flowControl {
		return []port.Block{port.NoCredit, port.Paused}
	}
	return []port.Block{cause}
}

// Compile reads an expression: an object of f, a dot and a quantity; or the
// quotient of two of them, written with " / ".
//
// Objects are the directions of links ("trunk.A-B" from A to B, "A1-A" where the
// link has no name), groups of flows ("local") and flows ("local.B1"). Where a
// name could be read in two ways, the longest object counts.
//
// Quantities of links: utilisation (data on the line over what it can carry, 0
// to 1), rate (data in bytes per second, headers included, ACKs not), marked
// (share of data frames that were marked as they left by this line), occupancy
// (mean number of blocks in the buffer at the end of the link; on Ethernet bytes of
// what came by it and has not left the switch), paused (share of the time in which the
// far end had said PAUSE, for some priority), drops (frames that came over the link and
// were discarded at its end), deadlocks (cycles of waiting that were found to go
// through it), stalled.CAUSE
// (share of the time in which frames that waited were kept back by CAUSE:
// no-credit, line-busy, crossbar-busy; flow-control for those that the far end is the cause
// of, no-credit and paused), queue and queue.max (bytes that wait in the
// switch for the line, the mean and the most; in a switch with input buffers those of all
// inputs, not a number where frames may change their way in it),
// queue.deviation and queue.p99 (the standard deviation of that mean, and what it is at the
// most in 99 per cent of the time, taken over parts of measure.window:
// a twentieth of it, or more in large runs),
// recovery.90, .95 and .99 (how long it takes, in seconds from the beginning of the
// interval, until the utilisation is that many per cent: the end of the first
// measure.window over which it is).
//
// Quantities of flows and groups: utilisation (rate over the capacity of the
// slowest link that all flows of the group cross; where they share none, over
// the sum of each one's slowest), rate (data received whole, in bytes per
// second, headers included), marked (share of the data frames that came
// marked), fairness (Jain's index of the rates, 1/n to 1), stalled.CAUSE (share
// of the time in which CAUSE kept the source from sending, as the mean of the
// flows: rate-limited, window, line-busy, no-credit, flow-control as of links), transfers (how many finite
// transfers ended whole), completion.mean, .p95, .p99 and .max (how long those took,
// from the arrival at the source to the delivery of the last byte, in seconds),
// drops (frames discarded on the way), recovery.90, .95 and .99, shared.90, .95 and .99 (the same for the fairness),
// notifications (how many the sources took in), fb (the mean of their quantised
// feedback, 1 to 63), feedback (how many frames that say something of congestion the
// sources took in to each megabyte of 10^6 bytes that was received: notifications, and ACKs
// that carried a mark back), max-min and proportional (the rates that max-min and
// proportional fairness give them, in bytes per second, where all flows that are active at
// some time of the interval share the links: see shares.go), limit and target (the rate that the source is limited to, and the one
// that its reaction point wants back, in bytes per second: the mean of the flows over the
// time of the interval, from the first time on that such a rate was told).
//
// A frame that is on the line at the beginning or the end of an interval counts for its part
// there: on a link for the bytes that have left, of a flow for those that had come, where it
// takes as long as the slowest link on its way does.
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
		for _, w := range words {
			if before, found := strings.CutSuffix(text, "."+w.text); found {
				name = before
			}
		}
		return figure{}, fmt.Errorf("metric %q: nothing in this fabric is called %q; there are %s", text, name, o.known(name))
	}
	object := o.all[best]
	for _, w := range words {
		if w.text == rest && w.on(&object) {
			return figure{object, w.quantity, w.cause, w.level}, nil
		}
	}
	return figure{}, fmt.Errorf("metric %q: %s has no %q; it has %s", text, object.name, rest, quantitiesOf(&object))
}

// on reports whether an object has this quantity.
func (w *word) on(x *object) bool {
	if x.flows == nil {
		return w.links
	}
	return w.flows
}

func quantitiesOf(x *object) string {
	var have []string
	for _, w := range words {
		if w.on(x) {
			have = append(have, w.text)
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
	return c.checks[i].Over(c, unit.Time(during[0]), unit.Time(during[1]))
}

// End returns the instant up to which the figures are complete.
func (c *Collector) End() unit.Time { return c.edges[c.cur] }

func (c *Collector) figure(g *figure, from, to unit.Time) float64 {
	if from < 0 || to <= from || to > c.End() {
		return math.NaN()
	}
	if g.object.flows == nil {
		return c.linkFigure(g, from, to)
	}
	return c.flowsFigure(g, from, to)
}

func (c *Collector) linkFigure(g *figure, from, to unit.Time) float64 {
	out := c.out(g.object.hop)
	switch seconds := to.Sub(from).Seconds(); g.quantity {
	case rate:
		return c.grown(out+outBytes, from, to) / seconds
	case utilisation:
		return used(c.grown(out+outBytes, from, to), c.capacity(g.object.hop.Wire, from, to)*seconds, 1)
	case marked:
		return ratio(c.grown(out+outMarked, from, to), c.grown(out+outFrames, from, to))
	case occupancy:
		in := c.out(fabric.Hop{Wire: g.object.hop.Wire, From: 1 - g.object.hop.From})
		return c.grown(in+inOccupancy, from, to) / float64(to-from)
	case queue, longestQueue, lateQueue, queueDeviation:
		if c.lost && !InBytes(c.fabric, g.object.hop.Wire) {
			return math.NaN()
		}
		return c.queueFigure(g.quantity, out, from, to)
	case recovery:
		return c.reached(g, utilisation, from, to)
	case paused:
		return c.grown(out+outPaused, from, to) / float64(to-from)
	case deadlocks:
		return c.grown(out+outDeadlocks, from, to)
	case drops:
		in := c.out(fabric.Hop{Wire: g.object.hop.Wire, From: 1 - g.object.hop.From})
		return c.grown(in+inDrops, from, to)
	case stalled:
		time := 0.0
		for _, b := range causesOf(g.cause) {
			time += c.grown(out+outStall+int(b), from, to)
		}
		return time / float64(to-from)
	}
	return math.NaN()
}

// queueFigure returns a figure of the queue of a port whose counters begin at out.
func (c *Collector) queueFigure(q quantity, out int, from, to unit.Time) float64 {
	switch q {
	case longestQueue:
		return c.most(out+outLongest, from, to)
	case lateQueue:
		return c.exceeded(out+outQueue, 0.99, from, to) * (1 << queueShift)
	case queueDeviation:
		return c.deviation(out+outQueue, from, to) * (1 << queueShift)
	}
	return c.grown(out+outQueue, from, to) * (1 << queueShift) / float64(to-from)
}

func (c *Collector) flowsFigure(g *figure, from, to unit.Time) float64 {
	sum := func(column int) float64 {
		v := 0.0
		for _, i := range g.object.flows {
			v += c.grown(c.ofFlows+i*flowColumns+column, from, to)
		}
		return v
	}
	switch seconds := to.Sub(from).Seconds(); g.quantity {
	case rate:
		return sum(flowBytes) / seconds
	case utilisation:
		return used(sum(flowBytes), c.share(&g.object, from, to)*seconds, len(g.object.flows))
	case marked:
		return ratio(sum(flowMarked), sum(flowFrames))
	case fairness:
		return c.Jain(g.object.flows, from, to)
	case stalled:
		time := 0.0
		for _, b := range causesOf(g.cause) {
			time += sum(flowStall + int(b))
		}
		return time / float64(to-from) / float64(len(g.object.flows))
	case drops:
		return sum(flowDrops)
	case notifications:
		return sum(flowNotified)
	case feedback:
		return ratio(sum(flowFb), sum(flowNotified))
	case overhead:
		return ratio(sum(flowNotified)+sum(flowMarkedAcks), sum(flowBytes)/1e6)
	case maxMin, proportional:
		return c.fairRate(g.object.flows, g.quantity, from, to)
	case limit:
		return c.held(flowAllowed, func(x *life) unit.Time { return x.limited }, g.object.flows, from, to)
	case target:
		return c.held(flowWanted, func(x *life) unit.Time { return x.targeted }, g.object.flows, from, to)
	case recovery:
		return c.reached(g, utilisation, from, to)
	case shared:
		return c.reached(g, fairness, from, to)
	case transfers:
		n, _, _ := c.completions(g.object.flows, from, to)
		return float64(n)
	case meanCompletion:
		n, total, _ := c.completions(g.object.flows, from, to)
		return ratio(total, float64(n))
	case percentCompletion:
		return c.completion(g.object.flows, g.level, from, to)
	case longestCompletion:
		if n, _, longest := c.completions(g.object.flows, from, to); n > 0 {
			return longest
		}
	}
	return math.NaN()
}

// reached returns how long it takes from an instant until a quantity has the level of g
// over a window, not a number when it has not by the end.
func (c *Collector) reached(g *figure, q quantity, from, to unit.Time) float64 {
	of := figure{object: g.object, quantity: q}
	window := c.scenario.Measure.Window
	for t := from.Add(window); t <= to; t = t.Add(window / unit.Duration(c.perWindow)) {
		if c.figure(&of, t.Add(-window), t) >= g.level {
			return t.Sub(from).Seconds()
		}
	}
	return math.NaN()
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
			most = max(most, c.row(k)[column])
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

// out returns where the counters of the port begin that sends into h.
func (c *Collector) out(h fabric.Hop) int {
	end := c.fabric.Wires[h.Wire].Ends[h.From]
	return (int(c.first[end.Machine]) + int(end.Port)) * portColumns
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
		return float64(c.row(b)[column] - c.row(a)[column]) // exact
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
	v := float64(c.row(k)[column])
	if k == 0 || c.edges[k] <= t {
		return v
	}
	before := float64(c.row(k - 1)[column])
	return before + (v-before)*float64(t-c.edges[k-1])/float64(c.edges[k]-c.edges[k-1])
}

// ratio is a quotient that is not a number where it is undefined.
func ratio(a, b float64) float64 {
	if b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return math.NaN()
	}
	return a / b
}
