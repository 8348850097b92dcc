package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/emu/study/fluid"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// TCP over RED: the background of the talk on QCN, the equations of Misra, Gong and Towsley,
// and RED beside a queue that drops at its tail.

func tcpRED() *Paper {
	return worded(&Paper{
		Name:   "tcp-red",
		Title:  "TCP over RED, and its fluid model",
		Source: "QCN (B. Prabhakar, Stanford), background: TCP--RED",
		About:  read("tcp-red.md"),
		units:  queuesIn(tcpPackets),
		Figures: []Figure{
			{Name: "instability", Source: "slide Instability of TCP--RED", Title: "The loop on both sides of its boundary", describe: tcpInstability},
			{Name: "fluid", Source: "slide Accuracy of analytical model", Title: "The equations beside the packets", describe: tcpAccuracy},
			{Name: "size", Source: "slide Why are the Diff Eqn models so accurate?", Title: "The equations, and how large the system is", describe: tcpSize},
			{Name: "boundary", Source: "slides TCP--RED: Stability analysis, Instability of TCP--RED", Title: "Where the loop begins to oscillate", describe: tcpBoundary},
			{Name: "droptail", Source: "Floyd and Jacobson 1993, abstract", Title: "Global synchronisation", describe: tcpDropTail},
		},
	})
}

const (
	tcpQueue   = "bottleneck.R-B.queue"
	tcpPackets = 1e-3 // of a byte
	tcpFrom    = 20 * unit.Time(unit.Second)
	tcpTo      = 60 * unit.Time(unit.Second)
)

func tcpRun(name string) Run { return Run{Scenario: "tcp/" + name, Seeds: true} }

// atRTT is a run with another RTT, in milliseconds.
func (r Run) atRTT(rtt float64) Run {
	return r.With(fmt.Sprintf("defaults.link.propagation=%gms", rtt/2))
}

// loopOf returns the equations of what a scenario has.
func loopOf(r Run) fluid.TCP {
	s := must(r.open())
	red := s.Switches[0].Marking.Params.(cp.REDParams)
	packet, way, line := s.Flows[0].Packet, s.Links[0], s.Links[len(s.Links)-1]
	trip := 2 * (way.Propagation + line.Propagation)
	for _, n := range []unit.Size{packet, wire.TCPOverhead} { // there, and its ACK back
		trip += way.Rate.Serialise(n) + line.Rate.Serialise(n)
	}
	return fluid.TCP{
		Sources: len(s.Flows), Capacity: line.Rate.BytesPerSecond() / float64(packet), RTT: trip,
		Memory: float64(s.Switches[0].Memory.Total(0)) / float64(packet), Packet: packet, AckEvery: 1, RED: red,
	}
}

// tcpSolution is what the equations say of a run: packets and seconds.
type tcpSolution struct {
	course                  *fluid.TCPCourse
	mean, deviation, period float64
}

// solveTCP follows the equations of a run for 150 s, and takes figures of the second half.
func solveTCP(r Run) func() *tcpSolution {
	return sync.OnceValue(func() *tcpSolution {
		const half, step = 75 * unit.Second, unit.Millisecond
		course := must(loopOf(r).Solve(2*half, step))
		at, means := odeCurve(step, course.Queue[half/step:], 1)
		return &tcpSolution{
			course: course, mean: course.Mean(course.Queue, half, 2*half), deviation: course.Deviation(course.Queue, half, 2*half),
			period: metrics.Period(means) * (at[1] - at[0]) * 1e-3,
		}
	})
}

// overEquations is a quantity of a run over what take finds in its equations.
func overEquations(q Quantity, solve func() *tcpSolution, take func(*tcpSolution) float64) Quantity {
	return Combine(func(v []float64) float64 { return v[0] / take(solve()) }, q).in(metrics.Share())
}

var (
	solvedMean   = func(s *tcpSolution) float64 { return s.mean }
	solvedPeriod = func(s *tcpSolution) float64 { return s.period }
)

// tcpMean is the mean queue of a run in packets; tcpPeriod its period in seconds.
func tcpMean(r Run) Quantity   { return scaled(Mean(r, tcpQueue, tcpFrom, tcpTo), tcpPackets) }
func tcpPeriod(r Run) Quantity { return Mean(r, tcpQueue+".period", tcpFrom, tcpTo) }

// tcpInstability is the loop on both sides of its boundary.
func tcpInstability(f *Figure) {
	stable, unstable := tcpRun("red-stable"), tcpRun("red-unstable")
	part := plot.Axis{Label: modelTime.Label, High: 20000}
	f.Plots = []Plot{
		{Name: "instability-queue", Title: "Queue", X: part, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{
			curve("RTT of 40 ms", stable.Once(), tcpQueue, tcpPackets), curve("RTT of 120 ms", unstable.Once(), tcpQueue, tcpPackets)}},
		{Name: "instability-window", Title: "Mean congestion window", X: part, Y: plot.Axis{Label: "window (packets)"}, Curves: []Curve{
			curve("RTT of 40 ms", stable.Once(), "sources.cwnd", tcpPackets), curve("RTT of 120 ms", unstable.Once(), "sources.cwnd", tcpPackets)}},
	}
}

// tcpAccuracy is the equations beside the runs.
func tcpAccuracy(f *Figure) {
	run := tcpRun("fluid")
	solve := solveTCP(run)
	f.Plots = []Plot{{Name: "fluid-queue", Title: "Queue at an RTT of 100 ms", X: plot.Axis{Label: modelTime.Label, High: 20000}, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{
		curve("run", run.Once(), tcpQueue, tcpPackets),
		{Name: "equations", Solved: func() (x, y []float64) { return odeCurve(solve().course.Step, solve().course.Queue, 1) }},
	}}}
	rtts := []float64{20, 40, 60, 80, 100, 120, 150, 200}
	over := func(name, label string, of func(Run) Quantity, take func(*tcpSolution) float64) (by []Quantity) {
		runs := Curve{Name: "runs"}
		solvers := map[float64]func() *tcpSolution{}
		for _, rtt := range rtts {
			r := run.atRTT(rtt)
			solvers[rtt] = solveTCP(r)
			runs.Points = append(runs.Points, Point{rtt, of(r)})
			by = append(by, overEquations(of(r), solvers[rtt], take))
		}
		f.Plots = append(f.Plots, Plot{Name: name, Title: strings.ToUpper(label[:1]) + label[1:], X: plot.Axis{Label: "RTT (ms of model time)"}, Y: plot.Axis{Label: label},
			Curves: []Curve{runs, computed("equations", rtts, func(rtt float64) float64 { return take(solvers[rtt]()) })}})
		return by
	}
	means := over("fluid-mean", "mean queue (packets)", tcpMean, solvedMean)
	periods := over("fluid-period", "period (s)", tcpPeriod, solvedPeriod)
	oscillate := slices.Index(rtts, 100)
	within := func(id string, list ...Quantity) {
		for i := range list {
			list[i] = FromOne(list[i])
		}
		f.claim(id, Highest(list...))
	}
	within("TR-2d", means[1:]...)
	within("TR-2i", means[0])
	within("TR-2e", periods[oscillate:len(rtts)-1]...)
	within("TR-2f", periods[len(rtts)-1])
	gaps := func(id, kind string) {
		r := tcpRun("red-stable").With("defaults.switch.marking.gaps=" + string(kind))
		within(id, overEquations(tcpMean(r), solveTCP(r), solvedMean))
	}
	gaps("TR-2g", cp.UniformGaps)
	gaps("TR-2h", cp.WaitGaps)
}

// tcpSize is the stable loop with more and more sources, and link, queue and average with them.
func tcpSize(f *Figure) {
	sizes := []int{12, 50, 200}
	const from, to = 10 * unit.Time(unit.Second), 40 * unit.Time(unit.Second)
	runs := Curve{Name: "runs"}
	var swings, far []Quantity
	for _, n := range sizes {
		r := Run{Scenario: "tcp/red-boundary", Seeds: true, Edits: [][2]string{{"A[1-50]", fmt.Sprintf("A[1-%d]", n)}}}.atRTT(40).With(
			"model.duration=40s", fmt.Sprintf("links.bottleneck.rate=%dkb/s", 1440*n), fmt.Sprintf("defaults.link.rate=%dkb/s", 3*1440*n),
			fmt.Sprintf("defaults.switch.memory=%dKB", 80*n), fmt.Sprintf("defaults.switch.marking.min=%dpackets", n),
			fmt.Sprintf("defaults.switch.marking.max=%dpackets", 11*n), fmt.Sprintf("defaults.switch.marking.q-weight=%g", 0.005/float64(n)))
		swing := Mean(r, tcpQueue+".deviation / "+tcpQueue, from, to)
		swings = append(swings, swing)
		far = append(far, FromOne(overEquations(scaled(Mean(r, tcpQueue, from, to), tcpPackets), solveTCP(r), solvedMean)))
		runs.Points = append(runs.Points, Point{float64(n), swing})
	}
	f.Plots = []Plot{{X: plot.Axis{Label: "sources; means over model time 10 to 40 s"}, Y: plot.Axis{Label: "deviation / mean of the queue"},
		Curves: []Curve{runs, computed("equations", sizes, func(int) float64 { return 0 })}}}
	f.claim("TR-3a", LeastStep(swings[2], swings[1], swings[0]))
	f.claim("TR-3b", LeastStep(far[2], far[1], far[0]))
}

// emptySine is the deviation over the mean of a sine that just reaches zero.
const emptySine = math.Sqrt2 / 2

// crossing is the X at which a quantity of points, by rising X, first reaches a level: on a
// straight line between two of them. It is not a number where it never does, or from the
// first one on.
func crossing(level float64, points []Point) Quantity {
	list := make([]Quantity, len(points))
	for i := range points {
		list[i] = points[i].Y
	}
	return Combine(func(v []float64) float64 {
		for i := range v {
			if v[i] >= level {
				if i == 0 {
					return math.NaN()
				}
				return points[i-1].X + (points[i].X-points[i-1].X)*(level-v[i-1])/(v[i]-v[i-1])
			}
		}
		return math.NaN()
	}, list...)
}

// tcpBoundary is the RTT at which the loop begins to oscillate, over the number of sources
// and the capacity.
func tcpBoundary(f *Figure) {
	base := Run{Scenario: "tcp/red-boundary", Sets: []string{"model.duration=40s"}}
	swing := func(r Run) Quantity {
		return Mean(r, tcpQueue+".deviation / "+tcpQueue, 10*unit.Time(unit.Second), 40*unit.Time(unit.Second))
	}
	sources := func(n int) Run {
		r := base
		r.Edits = [][2]string{{"A[1-50]", fmt.Sprintf("A[1-%d]", n)}}
		return r
	}
	capacity := func(c int) Run { // in packets per second
		return base.With(fmt.Sprintf("links.bottleneck.rate=%dkb/s", 8*c), "defaults.link.rate=400Mb/s")
	}
	packets := func(r Run, rtts ...float64) Quantity {
		var points []Point
		for _, rtt := range rtts {
			points = append(points, Point{rtt, swing(r.atRTT(rtt))})
		}
		return crossing(emptySine, points)
	}
	linear := func(r Run) float64 {
		c := loopOf(r)
		at := must(c.Boundary(0.005, 1, func(c *fluid.TCP, v float64) { c.RTT = unit.Duration(v * float64(unit.Second)) }))
		return at * 1e3
	}
	over := func(name, title, x string, run func(int) Run, at []int, rtts [][]float64) (measured, ratio []Quantity) {
		points := Curve{Name: "packets"}
		for i, v := range at {
			q := packets(run(v), rtts[i]...)
			measured = append(measured, q)
			points.Points = append(points.Points, Point{float64(v), q})
			ratio = append(ratio, Combine(func(of []float64) float64 { return of[0] / linear(run(v)) }, q).in(metrics.Share()))
		}
		f.Plots = append(f.Plots, Plot{Name: name, Title: title, X: plot.Axis{Label: x}, Y: plot.Axis{Label: "RTT of the boundary (ms)"},
			Curves: []Curve{points, computed("linear equations", at, func(v int) float64 { return linear(run(v)) })}})
		return measured, ratio
	}
	bySources, sourcesRatio := over("boundary-sources", "The boundary over the number of sources, at 9000 packets/s", "sources (RTTs are in model time)", sources, []int{20, 30, 50, 80, 120},
		[][]float64{{25, 35, 45, 55, 65}, {35, 45, 55, 65, 80}, {50, 65, 80, 95, 110}, {65, 85, 105, 125, 150}, {80, 105, 130, 160, 190}})
	byCapacity, capacityRatio := over("boundary-capacity", "The boundary over the capacity, with 50 sources", "capacity (packets per second of model time)", capacity, []int{4500, 9000, 18000},
		[][]float64{{100, 130, 160, 190, 220}, {50, 65, 80, 95, 110}, {25, 32.5, 40, 47.5, 55}})
	product := func(i int, c float64) Quantity { return scaled(byCapacity[i], c/9000) }
	var far []Quantity
	for _, q := range slices.Concat(sourcesRatio, capacityRatio) {
		far = append(far, FromOne(q))
	}
	f.claim("TR-1k", LeastStep(byCapacity[2], byCapacity[1], byCapacity[0]))
	f.claim("TR-1l", Over(Highest(product(0, 4500), product(1, 9000), product(2, 18000)), Lowest(product(0, 4500), product(1, 9000), product(2, 18000))))
	f.claim("TR-1m", LeastStep(bySources...))
	f.claim("TR-1n", Highest(far...))
}

// tcpDropTail is a queue that drops at its tail beside RED.
func tcpDropTail(f *Figure) {
	tail, red := tcpRun("droptail"), tcpRun("fluid")
	part := plot.Axis{Label: modelTime.Label, Low: 5000, High: 20000}
	windows := func(r Run) (all []Curve) {
		for _, a := range []string{"A1", "A17", "A34", "A50"} {
			all = append(all, curve(a, r.Once(), "sources."+a+".cwnd", tcpPackets))
		}
		return append(all, curve("mean of all", r.Once(), "sources.cwnd", tcpPackets))
	}
	synchrony := func(r Run) Quantity { return Mean(r, "sources.synchrony", tcpFrom, tcpTo) }
	f.Plots = []Plot{
		{Name: "droptail-windows", Title: "Windows over a drop-tail queue", X: part, Y: plot.Axis{Label: "window (packets)"}, Curves: windows(tail)},
		{Name: "droptail-red", Title: "Windows over RED", X: part, Y: plot.Axis{Label: "window (packets)"}, Curves: windows(red)},
	}
	f.claim("TD-5", Over(synchrony(tail), synchrony(red)))
	f.claim("TD-6", hit(tail))
}

// hit is the share of the flows that lose a frame in an episode of drops, as the mean of the
// episodes that begin after 10 s. Between two there is half a second without a drop.
func hit(r Run) Quantity {
	return Watch(r, func(f *fabric.Fabric) (trace.Sink, func() float64) {
		e := &episodes{}
		return e, func() float64 {
			e.end()
			return e.flows / e.n / float64(len(f.Flows))
		}
	}).in(metrics.Share())
}

// episodes counts flows that lose something in episodes of drops (trace.Sink).
type episodes struct {
	last     unit.Time
	of       map[uint32]bool // the flows of this one
	n, flows float64
}

// Record counts a drop.
func (s *episodes) Record(e *trace.Event) {
	const from, apart = 10 * unit.Time(unit.Second), 500 * unit.Millisecond
	if e.Kind != trace.Drop {
		return
	}
	if e.At.Sub(s.last) > apart {
		s.end()
		if e.At >= from {
			s.of = map[uint32]bool{}
		}
	}
	s.last = e.At
	if s.of != nil {
		s.of[e.Flow] = true
	}
}

// end ends an episode.
func (s *episodes) end() {
	if s.of != nil {
		s.n, s.flows, s.of = s.n+1, s.flows+float64(len(s.of)), nil
	}
}
