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
	"fabemu/emu/scenario"
	"fabemu/emu/study/fluid"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// TCP over RED: the background of the talk on QCN, the equations of Misra, Gong and Towsley,
// and RED beside a queue that drops at its tail.

// aboutTCP is the text before the figures; ~ stands for a backquote.
const aboutTCP = `
The talk on QCN begins with TCP over RED as "a deep dive into a basic control loop": sources that halve their windows when a packet is lost, a queue that drops the more the longer it is, and differential equations that say what comes of it. It becomes unstable as the product of bandwidth and delay grows. Here are packets, the equations, and the boundary of both.

## The laws

A *source* is TCP with NewReno (~node/tcp~): ~transport: {kind: tcp}~. *RED* stands in front of each queue (~switchd/cp/red.go~): ~marking: {scheme: red}~. A frame that comes makes the average of the queue

    avg = (1 - w) avg + w q

and with avg between min and max it is dropped with a probability that rises in a line from 0 to max-p; from max on always. Each rule has a test that names its section of the paper: ~switchd/cp/red_paper_test.go~.

| | Floyd and Jacobson 1993 | ns-2, before it had automatic values | tc red of Linux | in a scenario |
|---|---|---|---|---|
| thresholds | 5 and 15 packets | 5 and 15 packets | a twelfth and a quarter of the limit, in bytes | ~min~, ~max~, in packets or bytes |
| max-p | 1/50 | 1/10 | 1/50 | ~max-p~ |
| weight | 0.002 | 0.002 | by the burst that is to pass | ~q-weight~, ~burst~ |
| above max | each frame | to 1 at twice max | each frame | ~gentle~ |
| frames from one drop to the next, at a constant p | uniform from 1 to 1/p (method 2), or geometric (method 1) | uniform from 1/p to 2/p | uniform | ~gaps~ |
| drop or mark | either | drop, or mark up to max | drop, or mark | ~ecn~, ~hard-drop~ |
| all at once | ~version: paper~ | ~version: ns-2~ | ~version: tc~ | |

The *equations* are those of V. Misra, W. Gong and D. Towsley (SIGCOMM 2000), for N sources with windows W, a queue q with average x, a capacity C in packets and R = RTT + q/C:

    W' = 1/R - W/2 W(t-R)/R(t-R) p(x(t-R))
    q' = N W/R - C
    x' = - C ln(1 - w) (q - x)

Linearised about their rest (C. Hollot, V. Misra, D. Towsley, W. Gong, INFOCOM 2001) they say whether a small oscillation comes back smaller or larger, by the criterion of Nyquist: where it comes back as it went is the *boundary*. ~go doc ./emu/study/fluid TCP~ has both.

## What the talk leaves open

| | here | from |
|---|---|---|
| RED | min 50, max 550 packets, max-p 0.1, weight 0.0001 | Low et al., INFOCOM 2002, the talk's source, as far as it is known |
| RTT, buffer | 40 to 200 ms; 4 MB, of which the queue never takes more than a tenth | the pictures have no numbers |
| packet | 1000 bytes with headers: 9000 packets/s are 72 Mb/s | ours |
| gaps | geometric: each packet is picked by itself, as in the equations | ours; the others are below |
| TCP | NewReno, an ACK for each packet, slow start up to 10 packets, a retransmission timeout of at least 1 s | RFC 5681, 6582, 6298; ours |
| oscillates | the deviation of the queue is 0.71 of its mean or more: a sine of that size just runs empty | ours |

## To run it

~~~sh
go run ./cmd/fabemu run tcp/red-stable --short --clock virtual
go run ./cmd/fabemu run tcp/red-unstable --short --clock virtual
go run ./cmd/fabemu sweep tcp/red-boundary --short --set defaults.link.propagation=30ms,42ms,60ms --metric bottleneck.R-B.queue --metric bottleneck.R-B.queue.deviation --metric bottleneck.R-B.queue.period --out boundary
~~~

Over real sockets 9000 packets a second are few: a short run, 20 s of the model, takes 40 s at a dilation of 2:

~~~
fabemu run tcp/droptail --short
~~~

## What this is not

* The talk's pictures have no numbers but those of its last slide, and its simulator's settings are not in it. "Accurate" is read as within a fifth.
* All sources have one RTT. Drop-tail synchronises them more than it would with many RTTs, and the equations know one only.
* The boundary is that of these parameters of RED: another weight moves it.
`

func tcpRED() *Paper {
	return &Paper{
		Name:    "tcp-red",
		Title:   "TCP over RED, and its fluid model",
		Source:  "QCN (B. Prabhakar, Stanford), background: TCP--RED",
		About:   strings.ReplaceAll(aboutTCP, "~", "`"),
		Figures: []Figure{tcpInstability(), tcpAccuracy(), tcpBoundary(), tcpDropTail()},
	}
}

const (
	tcpQueue   = "bottleneck.R-B.queue"
	tcpPackets = 1e-3 // of a byte
	tcpFrom    = 20 * unit.Time(unit.Second)
	tcpTo      = 60 * unit.Time(unit.Second)
)

func tcpRun(name string) Run { return Run{Scenario: "tcp/" + name, Seeds: true} }

// tcpChecks takes over the claims of a scenario: queues in packets.
func tcpChecks(name string) []Claim { return ethernetChecks(tcpRun(name), tcpPackets) }

// atRTT is a run with another RTT, in milliseconds.
func (r Run) atRTT(rtt float64) Run {
	return r.With(fmt.Sprintf("defaults.link.propagation=%gms", rtt/2))
}

// loopOf returns the equations of what a scenario has.
func loopOf(r Run) (fluid.TCP, error) {
	s, err := r.open()
	if err != nil {
		return fluid.TCP{}, err
	}
	red, ok := s.Switches[0].Marking.Params.(cp.REDParams)
	if !ok {
		return fluid.TCP{}, fmt.Errorf("%v has no RED", r)
	}
	packet, way, line := s.Flows[0].Packet, s.Links[0], s.Links[len(s.Links)-1]
	trip := 2 * (way.Propagation + line.Propagation)
	for _, n := range []unit.Size{packet, wire.TCPOverhead} { // there, and its ACK back
		trip += way.Rate.Serialise(n) + line.Rate.Serialise(n)
	}
	return fluid.TCP{
		Sources: len(s.Flows), Capacity: line.Rate.BytesPerSecond() / float64(packet), RTT: trip,
		Memory: float64(s.Switches[0].Memory.Total(0)) / float64(packet), Packet: packet, AckEvery: 1, RED: red,
	}, nil
}

// tcpSolution is what the equations say of a run: packets and seconds.
type tcpSolution struct {
	course                  *fluid.TCPCourse
	mean, deviation, period float64
}

// solveTCP follows the equations of a run for 150 s, and takes figures of the second half.
func solveTCP(r Run) func() (*tcpSolution, error) {
	return sync.OnceValues(func() (*tcpSolution, error) {
		const half, step = 75 * unit.Second, unit.Millisecond
		c, err := loopOf(r)
		if err != nil {
			return nil, err
		}
		course, err := c.Solve(2*half, step)
		if err != nil {
			return nil, err
		}
		at, means := odeCurve(step, course.Queue[half/step:], 1)
		return &tcpSolution{
			course: course, mean: course.Mean(course.Queue, half, 2*half), deviation: course.Deviation(course.Queue, half, 2*half),
			period: metrics.Period(means) * (at[1] - at[0]) * 1e-3,
		}, nil
	})
}

// overEquations is a quantity of a run over what take finds in its equations.
func overEquations(q Quantity, solve func() (*tcpSolution, error), take func(*tcpSolution) float64) Quantity {
	return Combine(func(v []float64) float64 {
		s, err := solve()
		if err != nil {
			return math.NaN()
		}
		return v[0] / take(s)
	}, q)
}

var (
	solvedMean   = func(s *tcpSolution) float64 { return s.mean }
	solvedPeriod = func(s *tcpSolution) float64 { return s.period }
)

// tcpMean is the mean queue of a run in packets; tcpPeriod its period in seconds.
func tcpMean(r Run) Quantity   { return scaled(Mean(r, tcpQueue, tcpFrom, tcpTo), tcpPackets) }
func tcpPeriod(r Run) Quantity { return Mean(r, tcpQueue+".period", tcpFrom, tcpTo) }

// tcpInstability is the loop on both sides of its boundary.
func tcpInstability() Figure {
	stable, unstable := tcpRun("red-stable"), tcpRun("red-unstable")
	part := plot.Axis{Label: modelTime.Label, High: 20000}
	return Figure{
		Name: "instability", Source: "slide Instability of TCP--RED", Title: "The loop on both sides of its boundary",
		Caption: "Fifty sources, 9000 packets/s, at an RTT of 40 and of 120 ms. Queues in packets of 1000 B, means over a sliding window of 400 ms; windows in packets, as the mean of all sources.",
		Plots: []Plot{
			{Name: "instability-queue", Title: "Queue", X: part, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{
				curve("RTT of 40 ms", stable.Once(), tcpQueue, tcpPackets), curve("RTT of 120 ms", unstable.Once(), tcpQueue, tcpPackets)}},
			{Name: "instability-window", Title: "Mean congestion window", X: part, Y: plot.Axis{Label: "window (packets)"}, Curves: []Curve{
				curve("RTT of 40 ms", stable.Once(), "sources.cwnd", tcpPackets), curve("RTT of 120 ms", unstable.Once(), "sources.cwnd", tcpPackets)}},
		},
		Claims: append(tcpChecks("red-stable"), tcpChecks("red-unstable")...),
	}
}

// tcpAccuracy is the equations beside the runs.
func tcpAccuracy() Figure {
	run := tcpRun("fluid")
	solve := solveTCP(run)
	f := Figure{
		Name: "fluid", Source: "slide Accuracy of analytical model", Title: "The equations beside the packets",
		Caption: "Fifty sources, 9000 packets/s. Above, at an RTT of 100 ms, of each the first 20 s: the equations begin with windows of 1 and have no slow start. Below over the RTT, from 20 to 60 s of a run, and from 75 to 150 s of the equations. Where they rest they have no period.",
		Plots: []Plot{{Name: "fluid-queue", Title: "Queue at an RTT of 100 ms", X: plot.Axis{Label: modelTime.Label, High: 20000}, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{
			curve("run", run.Once(), tcpQueue, tcpPackets),
			{Name: "equations", Solved: func() (x, y []float64, err error) {
				s, err := solve()
				if err != nil {
					return nil, nil, err
				}
				x, y = odeCurve(s.course.Step, s.course.Queue, 1)
				return x, y, nil
			}},
		}}},
		Claims: tcpChecks("fluid"),
	}
	rtts := []float64{20, 40, 60, 80, 100, 120, 150, 200}
	over := func(name, label string, of func(Run) Quantity, take func(*tcpSolution) float64) (by []Quantity) {
		runs := Curve{Name: "runs"}
		solvers := make([]func() (*tcpSolution, error), len(rtts))
		for i, rtt := range rtts {
			r := run.atRTT(rtt).Once()
			solvers[i] = solveTCP(r)
			runs.Points = append(runs.Points, Point{rtt, of(r)})
			by = append(by, overEquations(of(r), solvers[i], take))
		}
		f.Plots = append(f.Plots, Plot{Name: name, Title: strings.ToUpper(label[:1]) + label[1:], X: plot.Axis{Label: "RTT (ms of model time)"}, Y: plot.Axis{Label: label}, Curves: []Curve{runs, {Name: "equations", Solved: func() (x, y []float64, err error) {
			for i, solver := range solvers {
				s, err := solver()
				if err != nil {
					return nil, nil, err
				}
				x, y = append(x, rtts[i]), append(y, take(s))
			}
			return x, y, nil
		}}}})
		return by
	}
	means := over("fluid-mean", "mean queue (packets)", tcpMean, solvedMean)
	periods := over("fluid-period", "period (s)", tcpPeriod, solvedPeriod)
	oscillate := slices.Index(rtts, 100)
	within := func(id, says, measured string, list ...Quantity) Claim {
		for i := range list {
			list[i] = FromOne(list[i])
		}
		return Claim{Check: scenario.Check{ID: id, Basis: scenario.Derived, Source: f.Source, Claim: says, From: "\"Why are the Diff Eqn models so accurate?\": accurate is within a fifth.", Metric: measured, Low: 0, High: 0.2, Why: "As TR-2a."}, Value: Highest(list...), Unit: Percent}
	}
	f.Claims = append(f.Claims,
		within("TR-2d", "the mean queue is that of the equations at other RTTs", "mean queue over that of the equations, at the most from 1, for RTTs of 40 to 200 ms", means[1:]...),
		within("TR-2i", "and at the shortest RTT", "the same at 20 ms", means[0]).butDiffers("Windows are of eight packets there. The equations take the square of the mean window for the mean of its square: sources have 1.41/sqrt(p) packets on their way, where random losses leave them 1.31/sqrt(p) (T. Ott, J. Kemperman, M. Mathis, 1996). And the equations have no timeouts; with a least timeout of 200 ms in place of 1 s the queue is a fifth shorter than theirs, and not a quarter."),
		within("TR-2e", "the period is that of the equations where they oscillate", "period over that of the equations, at the most from 1, for RTTs of 100 to 150 ms", periods[oscillate:len(rtts)-1]...),
		within("TR-2f", "and at the longest RTT", "the same at 200 ms", periods[len(rtts)-1]),
	)
	for i, gaps := range []cp.REDGaps{cp.UniformGaps, cp.WaitGaps} {
		differs := ""
		if gaps == cp.WaitGaps {
			differs = "It is a point beyond a fifth, as that of uniform gaps is two below: the queue of all is shorter than that of the equations by about as much, for the first reason of TR-2i."
		}
		r := tcpRun("red-stable").With("defaults.switch.marking.gaps=" + string(gaps)).Once()
		f.Claims = append(f.Claims, within(fmt.Sprintf("TR-2%c", 'g'+i), fmt.Sprintf("the mean queue is that of the equations with gaps: %s, with the share that RED then drops", gaps),
			"mean queue over that of the equations, from 1, at an RTT of 40 ms", overEquations(tcpMean(r), solveTCP(r), solvedMean)).butDiffers(differs))
	}
	return f
}

// butDiffers is a claim that is known not to come out, for a reason.
func (c Claim) butDiffers(reason string) Claim {
	c.Reason = reason
	return c
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
func tcpBoundary() Figure {
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
	linear := func(r Run) (float64, error) {
		c, err := loopOf(r)
		if err != nil {
			return 0, err
		}
		at, err := c.Boundary(0.005, 1, func(c *fluid.TCP, v float64) { c.RTT = unit.Duration(v * float64(unit.Second)) })
		return at * 1e3, err
	}
	f := Figure{
		Name: "boundary", Source: "slides TCP--RED: Stability analysis, Instability of TCP--RED", Title: "Where the loop begins to oscillate",
		Caption: "The RTT from which on the deviation of the queue is 0.71 of its mean, on a straight line between runs of 40 s at four or five RTTs, of which the first 10 s are left out; and the RTT from which on the linear equations are unstable. Points are of one run each.",
	}
	over := func(name, title, x string, run func(int) Run, at []int, rtts [][]float64) (measured, ratio []Quantity) {
		points := Curve{Name: "packets"}
		for i, v := range at {
			q := packets(run(v), rtts[i]...)
			measured = append(measured, q)
			points.Points = append(points.Points, Point{float64(v), q})
			ratio = append(ratio, Combine(func(of []float64) float64 {
				l, err := linear(run(v))
				if err != nil {
					return math.NaN()
				}
				return of[0] / l
			}, q))
		}
		f.Plots = append(f.Plots, Plot{Name: name, Title: title, X: plot.Axis{Label: x}, Y: plot.Axis{Label: "RTT of the boundary (ms)"}, Curves: []Curve{points, {Name: "linear equations", Solved: func() (x, y []float64, err error) {
			for _, v := range at {
				l, err := linear(run(v))
				if err != nil {
					return nil, nil, err
				}
				x, y = append(x, float64(v)), append(y, l)
			}
			return x, y, nil
		}}}})
		return measured, ratio
	}
	bySources, sourcesRatio := over("boundary-sources", "The boundary over the number of sources, at 9000 packets/s", "sources (RTTs are in model time)", sources, []int{20, 30, 50, 80, 120},
		[][]float64{{25, 35, 45, 55, 65}, {35, 45, 55, 65, 80}, {50, 65, 80, 95, 110}, {65, 85, 105, 125, 150}, {80, 105, 130, 160, 190}})
	byCapacity, capacityRatio := over("boundary-capacity", "The boundary over the capacity, with 50 sources", "capacity (packets per second of model time)", capacity, []int{4500, 9000, 18000},
		[][]float64{{100, 130, 160, 190, 220}, {50, 65, 80, 95, 110}, {25, 32.5, 40, 47.5, 55}})
	slides := "slide Instability of TCP--RED"
	product := func(i int, c float64) Quantity { return scaled(byCapacity[i], c/9000) }
	var far []Quantity
	for _, q := range slices.Concat(sourcesRatio, capacityRatio) {
		far = append(far, FromOne(q))
	}
	f.Claims = []Claim{
		{Check: scenario.Check{ID: "TR-1k", Basis: scenario.Derived, Source: slides, Claim: "the longer the RTT that is too long, the smaller the capacity", From: "\"As the bandwidth-delay-product increases, the TCP--RED control loop becomes unstable\".",
			Metric: "least fall of the boundary from 4500 to 9000 to 18000 packets/s, in ms", Low: 1, High: none, Why: "It falls by a millisecond at the least: RTTs are further apart."}, Value: LeastStep(byCapacity[2], byCapacity[1], byCapacity[0])},
		{Check: scenario.Check{ID: "TR-1l", Basis: scenario.Derived, Source: slides, Claim: "it is the product of both that counts", From: "\"As the bandwidth-delay-product increases\".",
			Metric: "RTT times capacity at the boundary, greatest over least of the three", Low: 1, High: 1.15, Why: "In the equations it is the same to the last digit. A seventh is the step from one RTT to the next."}, Value: Over(Highest(product(0, 4500), product(1, 9000), product(2, 18000)), Lowest(product(0, 4500), product(1, 9000), product(2, 18000)))},
		{Check: scenario.Check{ID: "TR-1m", Basis: scenario.Derived, Source: "slide TCP--RED: Stability analysis", Claim: "there is a condition of stability on the number of users: more are more stable", From: "\"Determine stability conditions (RTT limits, number of users, etc)\", and the linear equations.",
			Metric: "least rise of the boundary over 20, 30, 50, 80, 120 sources, in ms", Low: 1, High: none, Why: "It rises by a millisecond at the least."}, Value: LeastStep(bySources...)},
		{Check: scenario.Check{ID: "TR-1n", Basis: scenario.Quoted, Source: "slide Unit step response of the network", Claim: "Is linearized analysis useful? ... Yes!",
			Metric: "boundary of the packets over that of the linear equations, at the most from 1", Low: 0, High: 0.25, Why: "A quarter up or down: chance makes a loop swing before it is unstable, and a queue that runs empty is no linear one."}, Value: Highest(far...), Unit: Percent},
	}
	return f
}

// tcpDropTail is a queue that drops at its tail beside RED.
func tcpDropTail() Figure {
	tail, red := tcpRun("droptail"), tcpRun("fluid")
	part := plot.Axis{Label: modelTime.Label, Low: 5000, High: 20000}
	windows := func(r Run) (all []Curve) {
		for _, a := range []string{"A1", "A17", "A34", "A50"} {
			all = append(all, curve(a, r.Once(), "sources."+a+".cwnd", tcpPackets))
		}
		return append(all, curve("mean of all", r.Once(), "sources.cwnd", tcpPackets))
	}
	synchrony := func(r Run) Quantity { return Mean(r, "sources.synchrony", tcpFrom, tcpTo) }
	return Figure{
		Name: "droptail", Source: "Floyd and Jacobson 1993, abstract", Title: "Global synchronisation",
		Caption: "Fifty sources, 9000 packets/s, an RTT of 100 ms: a queue of 300 packets that drops at its tail, and RED. Windows in packets of four sources, and the mean of all, over a sliding window of 400 ms. Synchrony is the variance of the mean of all windows over the mean of their variances: 1 where all move alike, 1/50 where each moves by itself.",
		Plots: []Plot{
			{Name: "droptail-windows", Title: "Windows over a drop-tail queue", X: part, Y: plot.Axis{Label: "window (packets)"}, Curves: windows(tail)},
			{Name: "droptail-red", Title: "Windows over RED", X: part, Y: plot.Axis{Label: "window (packets)"}, Curves: windows(red)},
		},
		Claims: append(tcpChecks("droptail"),
			Claim{Check: scenario.Check{ID: "TD-5", Basis: scenario.Quoted, Source: "abstract", Claim: "The RED gateway ... avoids the global synchronization of many connections decreasing their window at the same time",
				Metric: "synchrony over the drop-tail queue, over that with RED", Low: 5, High: none, Why: "The paper has no figure for it. RED's own loop is unstable at this RTT and synchronises a little; five times as much is another kind."}, Value: Over(synchrony(tail), synchrony(red))},
			Claim{Check: scenario.Check{ID: "TD-6", Claim: "in each episode of drops nearly all sources lose a packet", Metric: "share of the sources that lose one, mean of the episodes; drops less than half a second apart are one episode", Low: 0.8, High: 1, Why: "All but a fifth: each has one packet more on its way than fits, when all windows have grown by one."}, Value: hit(tail), Unit: Percent},
		),
	}
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
	})
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
