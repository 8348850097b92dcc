package metrics

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"

	"fabemu/emu/fabric"
	"fabemu/wire/unit"
)

// taken is a figure as it is taken of a run, over from <= t < to.
type taken struct {
	*term
	c        *Collector
	from, to unit.Time
}

// formula takes a figure. It is not a number where the figure is undefined.
type formula func(t taken) float64

// span is how long the time is, in picoseconds; seconds is the same in seconds.
func (t taken) span() float64 { return float64(t.to - t.from) }

func (t taken) seconds() float64 { return t.to.Sub(t.from).Seconds() }

// grown returns by how much a counter grew.
func (t taken) grown(column int) float64 { return t.c.grown(column, t.from, t.to) }

// sum returns by how much a counter of the flows of the object grew.
func (t taken) sum(column int) float64 {
	if t.object.work > 0 {
		of := map[int]int{flowBytes: workBytes, flowFrames: workFrames, flowMarked: workMarked}
		return t.grown(t.c.ofWorks + (t.object.work-1)*workColumns + of[column])
	}
	var v unit.Total
	for _, i := range t.object.flows {
		v.Add(t.grown(t.c.ofFlows + i*flowColumns + column))
	}
	return v.Value()
}

// sent is the growth of a counter of the port that sends into a link, received of a counter of the
// port at its end, and summed of a counter of some flows.
func sent(column int) formula {
	return func(t taken) float64 { return t.grown(t.c.out(t.object.hop) + column) }
}

func received(column int) formula {
	return func(t taken) float64 { return t.grown(t.c.in(t.object.hop) + column) }
}

// pauses is how many PAUSE and PFC frames came over a link, or only PFC frames about the priority
// that ends the name.
func pauses(t taken) float64 {
	column := inPauses
	if t.end != "" {
		column = inClasses + int(t.end[0]-'0')
	}
	return received(column)(t)
}

func summed(column int) formula { return func(t taken) float64 { return t.sum(column) } }

// mean divides an accumulated time by the length of the interval.
func mean(of formula) formula { return func(t taken) float64 { return of(t) / t.span() } }

func quotient(a, b formula) formula { return func(t taken) float64 { return ratio(a(t), b(t)) } }

// stalled is the time in the counters by cause, from the first column on, of the causes that the
// end of the figure names.
func stalled(of func(column int) formula, first int) formula {
	return func(t taken) (time float64) {
		for _, b := range causesOf(t.end) {
			time += of(first + int(b))(t)
		}
		return time
	}
}

func linkRate(t taken) float64 { return sent(outBytes)(t) / t.seconds() }

func flowRate(t taken) float64 { return t.sum(flowBytes) / t.seconds() }

func linkUtilisation(t taken) float64 {
	return used(sent(outBytes)(t), t.c.capacity(t.object.hop.Wire, t.from, t.to)*t.seconds(), 1)
}

func flowUtilisation(t taken) float64 {
	if t.object.work > 0 {
		return workUtilisation(t)
	}
	return used(t.sum(flowBytes), t.share()*t.seconds(), len(t.object.flows))
}

// workUtilisation is the rate of a workload, over the rate of the lines of its endpoints together.
func workUtilisation(t taken) float64 {
	lines, c := 0.0, t.c
	for _, m := range c.works[t.object.work-1].workload.Members {
		lines += c.capacity(c.fabric.Nodes[m].Ports[0].Wire, t.from, t.to)
	}
	return flowRate(t) / lines
}

func fairness(t taken) float64 { return t.c.Jain(t.object.flows, t.from, t.to) }

var meanFeedback = quotient(summed(flowFb), summed(flowNotified))

// ofQueue is a figure of the queue of a port whose counters begin at out.
func ofQueue(of func(t taken, out int) float64) formula {
	return func(t taken) float64 {
		if t.c.lost && !InBytes(t.c.fabric, t.object.hop.Wire) {
			return math.NaN()
		}
		return of(t, t.c.out(t.object.hop))
	}
}

// reached is the time from the start until a figure, over a window, has the level at the end of its
// name. It is not a number if the figure has not reached the level by the end.
func reached(of formula) formula {
	return func(t taken) float64 {
		percent, _ := strconv.Atoi(t.end)
		window := t.c.scenario.Measure.Window
		part := t
		for part.to = t.from.Add(window); part.to <= t.to; part.to = part.to.Add(window / unit.Duration(t.c.perWindow)) {
			if part.from = part.to.Add(-window); of(part) >= float64(percent)/100 {
				return part.to.Sub(t.from).Seconds()
			}
		}
		return math.NaN()
	}
}

// meanRate is the mean of a rate that is a state, over some flows and the part of the time in which
// it is known, in bytes per second: it is from the first change on. It is not a number before.
func meanRate(column int, since func(*life) unit.Time) formula {
	return func(t taken) float64 {
		known := unit.Duration(0)
		for _, i := range t.object.flows {
			if first := max(t.from, since(&t.c.lives[i])); first < t.to {
				known += t.to.Sub(first)
			}
		}
		return ratio(t.sum(column)*(1<<rateShift)/float64(unit.BytePerSecond), float64(known))
	}
}

// used returns the share of bytes in some room. n counters hold whole bytes, so an excess of less
// than one byte for each is none.
func used(bytes, room float64, n int) float64 {
	if bytes > room && bytes < room+float64(n) {
		return 1
	}
	return ratio(bytes, room)
}

// most returns the greatest value of a column that starts again at each edge.
func (t taken) most(column int) float64 {
	most := int64(0)
	for k := 1; k <= t.c.cur; k++ {
		if t.c.edges[k] > t.from && t.c.edges[k-1] < t.to {
			most = max(most, t.c.rows.at(k, column))
		}
	}
	return float64(most)
}

// deviation returns the standard deviation of the growth of a column in a time, over the
// bins of the time.
func (t taken) deviation(column int) float64 {
	mean := t.grown(column) / t.span()
	var squares unit.Total
	for v, span := range t.means(column) {
		squares.Add((v - mean) * (v - mean) * float64(span))
	}
	return math.Sqrt(squares.Over(t.span()))
}

// exceeded returns the highest growth of a column over the bins that make up a share of a time; in
// the other bins it grows by more.
func (t taken) exceeded(column int, share float64) float64 {
	type stretch struct {
		mean float64
		span unit.Duration
	}
	var stretches []stretch
	for v, span := range t.means(column) {
		stretches = append(stretches, stretch{v, span})
	}
	slices.SortFunc(stretches, func(a, b stretch) int { return cmp.Compare(a.mean, b.mean) })
	within := unit.Duration(0)
	for _, p := range stretches {
		if within += p.span; float64(within) >= share*t.span() {
			return p.mean
		}
	}
	return math.NaN()
}

// means yields the growth of a column over a time, bin by bin, and the length of each bin.
func (t taken) means(column int) iter.Seq2[float64, unit.Duration] {
	return func(yield func(float64, unit.Duration) bool) {
		for at, k := t.from, t.c.edge(t.from+1); at < t.to; k++ {
			end := min(t.c.edges[k], t.to)
			if !yield(t.c.grown(column, at, end)/float64(end-at), end.Sub(at)) {
				return
			}
			at = end
		}
	}
}

// share returns the highest rate of the flows of the object together, in bytes per second: the rate
// of the slowest link that all of them cross, or, if there is none, the sum of the rates that each
// could have exclusively.
func (t taken) share() float64 {
	slowest := func(hops iter.Seq2[int, fabric.Hop]) float64 {
		least := math.Inf(1)
		for _, h := range hops {
			least = min(least, t.c.capacity(h.Wire, t.from, t.to))
		}
		return least
	}
	if t.object.common != nil {
		if common := t.object.common(); len(common) > 0 {
			return slowest(slices.All(common))
		}
	}
	var sum unit.Total
	for _, i := range t.object.flows {
		sum.Add(slowest(t.c.fabric.Certain(&t.c.fabric.Flows[i]).All()))
	}
	return sum.Value()
}

// ratio is a quotient that is not a number where it is undefined.
func ratio(a, b float64) float64 {
	if b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return math.NaN()
	}
	return a / b
}

// Period returns after how many values, at equal distances, a course repeats itself: the lag
// at which it has most in common with itself, among those behind the first at which it has
// nothing. It is not a number where that is less than a fifth: the course does not oscillate.
func Period(values []float64) float64 {
	mean := unit.Mean(values)
	common := make([]float64, len(values)/2+1) // autocovariance, by lag
	for lag := range common {
		for i, v := range values[lag:] {
			common[lag] += (v - mean) * (values[i] - mean)
		}
	}
	first := 0
	for first < len(common) && common[first] > 0 {
		first++
	}
	best := 0
	for lag := first; lag < len(common); lag++ {
		if common[lag] > 0 && (best == 0 || common[lag] > common[best]) {
			best = lag
		}
	}
	if best == 0 || best == len(common)-1 || common[best] < common[0]/5 {
		return math.NaN()
	}
	// The top of the parabola through three points.
	before, top, after := common[best-1], common[best], common[best+1]
	return float64(best) + (before-after)/(2*(before-2*top+after))
}

// longestCourse is how many values the period of a metric is found from at most.
const longestCourse = 4096

// period returns the period of the growth of a column in a time, in seconds.
func (t taken) period(column int) float64 {
	n := min(int(t.to.Sub(t.from)/(t.c.scenario.Measure.Window/20)), longestCourse)
	values := make([]float64, max(n, 0))
	for i := range values {
		at := func(i int) unit.Time { return t.from + (t.to-t.from)/unit.Time(n)*unit.Time(i) }
		values[i] = t.c.grown(column, at(i), at(i+1))
	}
	return Period(values) * t.seconds() / float64(n)
}
