package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/wire/unit"
)

// BCN: Analytical Model and Simulation Study, Raj Jain, slides at the meeting of IEEE 802.1
// of July 19, 2006.

func bcn() *Paper {
	return worded(&Paper{
		Name:   "bcn",
		Title:  "Backward Congestion Notification",
		Source: "BCN (R. Jain, IEEE 802.1, July 2006)",
		About:  read("bcn.md"),
		units:  queuesIn(packets),
		Figures: []Figure{
			{Name: "convergence", Source: "slides Simulation Study: Convergence, Simulation on Convergence", Title: "Convergence: a 2 x 2 factorial design", describe: bcnConvergence},
			{Name: "dimensioning", Source: "slide Dimensioning Problem", Title: "The dimensioning problem", describe: bcnDimensioning},
			{Name: "asymmetric", Source: "slides Asymmetric Topology and Multiple Congestion Points, A Simulation Result on BCN and the Enhanced Version", Title: "One link of 1 Gb/s", describe: bcnAsymmetric},
			{Name: "initial-rate", Source: "slide Dimensioning Problem", Title: "From 5 Gb/s to less than 1", describe: bcnInitialRate},
			{Name: "parking-lot", Source: "slides Max-min vs Proportional Fairness, Simulations for Fairness", Title: "The parking lot", describe: bcnParkingLot},
			{Name: "bursty", Source: "slide Bursty Traffic", Title: "Bursty traffic", describe: bcnBursty},
			{Name: "mixed", Source: "slides Mixed TCP and UDP Traffic", Title: "Four sources with TCP, four without", describe: bcnMixed},
			{Name: "severe", Source: "slide Other Issues", Title: "BCN(0,0)", describe: bcnSevere},
			{Name: "delay", Source: "slide Bandwidth*Delay Product", Title: "Propagation of 0.5 and of 9.5 us", describe: bcnDelay},
			{Name: "sampling", Source: "slide Analytical Model Results", Title: "Sampling", describe: bcnSampling},
			{Name: "gains", Source: "slide Analytical Model Results", Title: "Rate of convergence and gains", describe: bcnGains},
			{Name: "two-points", Source: "slide Action Items for Next Time", Title: "Two switches sending to the same source", describe: bcnTwoPoints},
			{Name: "two-way", Source: "slide Action Items for Next Time", Title: "Two-way traffic", describe: bcnTwoWay},
			{Name: "lost", Source: "slide Issues to be Studied (From March Meeting)", Title: "Lost messages and tags", describe: bcnLost},
			{Name: "ode", Source: "slides Analytical Model, Analytical Model Results", Title: "The analytical model beside the run", describe: bcnODE},
		},
	})
}

const (
	bcnQueue     = "shared.S-D.queue"
	bcnDeviation = "shared.S-D.queue.deviation"
	qeqPackets   = 16 // of BCN's scenarios
	setPm        = "defaults.switch.marking.pm="
	setRu        = "defaults.flow.control.ru="
	gbps         = 8e-9 // Gb/s of bytes per second
)

// bcnRun is a run of a scenario of BCN, of which figures are means over seeds.
func bcnRun(name string) Run { return Run{Scenario: "bcn/" + name, Seeds: true} }

// packetsOf is a metric of a queue over an interval of a run, in packets.
func packetsOf(r Run, metric string, from, to unit.Time) Quantity {
	return scaled(Mean(r, metric, from, to), packets)
}

// effects are those of a 2^2 factorial design: of the factors A and B and of both together
// on a response, with the parts of its variation that they explain (R. Jain, The Art of
// Computer Systems Performance Analysis, chapters 17 and 18).
type effects struct {
	q      [4]float64 // q0, the mean; qA, qB, qAB: what a factor at its high level adds
	share  [4]float64 // their parts of the variation, that of errors first; they add up to 1
	errors float64    // standard deviation of the errors
}

// factorial analyses the responses of a design, each with its replications: with A and B
// low, A high, B high, both high.
func factorial(y [4][]float64) effects {
	var e effects
	var mean [4]float64
	replications, squares := float64(len(y[0])), 0.0
	for i, values := range y {
		for _, v := range values {
			mean[i] += v / replications
		}
		for _, v := range values {
			squares += (v - mean[i]) * (v - mean[i])
		}
	}
	for i := range e.q {
		for k, m := range mean {
			sign := 1.0 // of the contrast: the product of the levels of the factors in i
			if i&1&^k != 0 {
				sign = -sign
			}
			if i&2&^k != 0 {
				sign = -sign
			}
			e.q[i] += sign * m / 4
		}
	}
	variation := squares
	for _, q := range e.q[1:] {
		variation += 4 * replications * q * q
	}
	e.share[0] = squares / variation
	for i, q := range e.q[1:] {
		e.share[i+1] = 4 * replications * q * q / variation
	}
	e.errors = math.Sqrt(squares / (4 * (replications - 1)))
	return e
}

// design is the 2^2 design over Ru and Pm of a run: what is measured of it with each seed,
// as factorial takes it, and a number of its analysis.
func design(r Run, measure func(Run) Quantity, of func(effects) float64) Quantity {
	const seeds = 5
	var list []Quantity
	for _, sets := range [][]string{factors("0.8Mb/s", "0.01"), factors("8Mb/s", "0.01"), factors("0.8Mb/s", "0.1"), factors("8Mb/s", "0.1")} {
		for seed := range seeds {
			x := r.With(sets...).With(fmt.Sprintf("model.seed=%d", seed+1))
			x.Seeds = false
			list = append(list, measure(x))
		}
	}
	return Combine(func(v []float64) float64 {
		var y [4][]float64
		for i := range y {
			y[i] = v[i*seeds : (i+1)*seeds]
		}
		return of(factorial(y))
	}, list...)
}

func factors(ru, pm string) []string { return []string{setRu + ru, setPm + pm} }

// speed is one of the two configurations of the slides, all links of 1 or of 10 Gb/s.
type speed struct {
	name     string
	run      Run
	from, to unit.Time // when the queue has settled, if it does
	top      float64   // of the picture, in packets
}

func speeds() [2]speed {
	return [2]speed{
		{"1 Gb/s", bcnRun("dimensioning"), 100 * ms, 400 * ms, 400},
		{"10 Gb/s", bcnRun("convergence"), 50 * ms, 100 * ms, 80},
	}
}

// bcnConvergence is the factorial design.
func bcnConvergence(f *Figure) {
	f.Table = &Table{Title: "Deviation of the queue (packets)", Columns: []string{"mean: q0", "Ru: qRu", "Pm: qPm", "both: qRuPm", "errors: their deviation"}}
	for i, s := range speeds() {
		deviation := func(r Run) Quantity { return packetsOf(r, bcnDeviation, s.from, s.to) }
		effect := func(k int) Quantity {
			return design(s.run, deviation, func(e effects) float64 { return e.q[k] })
		}
		share := func(k int) Quantity {
			return design(s.run, deviation, func(e effects) float64 { return e.share[k] }).in(metrics.Share())
		}
		f.Table.Rows = append(f.Table.Rows,
			unjudged("effects at "+s.name, "of the design", Plain, effect(0), effect(1), effect(2), effect(3),
				design(s.run, deviation, func(e effects) float64 { return e.errors })),
			unjudged("parts of the variation at "+s.name, "of the design", Percent,
				Sum(share(0), share(1), share(2), share(3)), share(1), share(2), share(3), share(0)))

		settled := func(sets []string) Quantity {
			return Settled(s.run.With(sets...), bcnQueue, 0, 2*ms, 5*ms, 0.5, s.from, s.to)
		}
		told := func(sets []string) Quantity {
			return Mean(s.run.With(sets...), "sources.notifications", s.from, s.to)
		}
		claim := func(letter string, value Quantity) {
			f.claim("B-2-{at}"+letter, value, "at", strings.Replace(s.name, " Gb/s", "G", 1), "speed", s.name)
		}
		claim("a", effect(1))
		claim("b", effect(2))
		claim("c", Sum(share(1), share(2), share(3)))
		claim("d", Minus(settled(factors("0.8Mb/s", "0.1")), settled(factors("8Mb/s", "0.1"))))
		claim("e", Over(told(factors("0.8Mb/s", "0.1")), told(factors("0.8Mb/s", "0.01"))))

		p := Plot{Name: "convergence-" + []string{"1g", "10g"}[i], Title: "Convergence: all links " + s.name, X: modelTime, Y: plot.Axis{Label: "queue (packets)", High: s.top}, References: level("Qeq = 16 packets", qeqPackets)}
		for _, c := range [][2]string{{"8Mb/s", "0.01"}, {"8Mb/s", "0.1"}, {"0.8Mb/s", "0.01"}, {"0.8Mb/s", "0.1"}} {
			p.Curves = append(p.Curves, curve("Ru "+strings.Replace(c[0], "M", " M", 1)+", Pm "+c[1], s.run.With(factors(c[0], c[1])...), bcnQueue, packets))
		}
		f.Plots = append(f.Plots, p)
	}
	slow := speeds()[0]
	swing := func(sets []string) Quantity {
		return packetsOf(slow.run.With(sets...), bcnDeviation, slow.from, slow.to)
	}
	f.claim("B-2-f", Over(swing(factors("8Mb/s", "0.01")), swing(factors("0.8Mb/s", "0.1"))))
}

// bcnDimensioning lays the two configurations beside one another.
func bcnDimensioning(f *Figure) {
	s := speeds()
	deviation := func(s speed) Quantity { return packetsOf(s.run, bcnDeviation, s.from, s.to) }
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, References: level("Qeq = 16 packets", qeqPackets),
		Curves: []Curve{curve("1 Gb/s", s[0].run, bcnQueue, packets), curve("10 Gb/s", s[1].run, bcnQueue, packets)}}}
	f.claim("B-1c", Over(deviation(s[0]), packetsOf(s[0].run.With(setRu+"0.8Mb/s"), bcnDeviation, s[0].from, s[0].to)))
	f.claim("B-1d", Over(deviation(s[0]), deviation(s[1])))
}

// current is the asymmetric topology with the same Pm and Ru everywhere, and by hand that
// with those of its rate for each link.
func current() Run {
	return bcnRun("asymmetric").With("switches.T.marking.pm=0.01", "defaults.switch.marking.bottleneck=false")
}

// bcnAsymmetric is the topology of which one link is slow.
func bcnAsymmetric(f *Figure) {
	enhanced := bcnRun("asymmetric")
	deviation := func(r Run, link string) Quantity {
		return packetsOf(r, link+".queue.deviation", 40*ms, 120*ms)
	}
	f.claim("B-3d", deviation(current(), "slow.T-E"))
	f.claim("B-3h", packetsOf(current(), "fast.S-D.queue", 40*ms, 120*ms))
	f.claim("B-3e", Over(deviation(current(), "slow.T-E"), deviation(enhanced, "slow.T-E")))

	for _, c := range [][3]string{{"fast", "fast.S-D", "10 Gb/s"}, {"slow", "slow.T-E", "1 Gb/s"}} {
		f.Plots = append(f.Plots, Plot{Name: "asymmetric-" + c[0], Title: "Asymmetric topology: the link of " + c[2], X: modelTime, Y: plot.Axis{Label: "queue (packets)"},
			References: level("Qeq = 16 packets", qeqPackets),
			Curves:     []Curve{curve("same Pm and Ru", current(), c[1]+".queue", packets), curve("enhanced", enhanced, c[1]+".queue", packets)}})
	}
}

// fallen is when the limit of a group has fallen below a level, in bytes per second, and
// stays there for as long as hold, in seconds of model time. It is not a number when that
// does not happen.
func fallen(r Run, group string, level float64, hold unit.Time) Quantity {
	return follow(r, group+".limit", func(x *emu.Result, over func(from, to unit.Time) float64) float64 {
		step := unit.Time(x.WindowPs) / 20
		since, ok := lasting(step, x.Metrics.End(), step, hold-step, func(t unit.Time) bool { return over(t-step, t) < level })
		if !ok {
			return math.NaN()
		}
		return (since - step).Seconds()
	}).in(metrics.Seconds())
}

// bcnInitialRate is the rate that limiters begin with.
func bcnInitialRate(f *Figure) {
	time := func(r Run) Quantity { return fallen(r, "slow-sources", 1/gbps, 5*ms) }
	enhanced := bcnRun("asymmetric")
	f.Plots = []Plot{{X: plot.Axis{Label: modelTime.Label, High: 40}, Y: plot.Axis{Label: "rate (Gb/s)"},
		Curves: []Curve{curve("initial rate 5 Gb/s", current(), "slow-sources.limit", gbps), curve("half of the bottleneck", enhanced, "slow-sources.limit", gbps)}}}
	f.claim("B-4a", time(current()))
	f.claim("B-4b", Over(time(enhanced), time(current())))
}

// proportional and maxMin are the allocations for the parking lot of two links of capacity
// c, n flows through both and one through each: of a flow through both, and of one through
// one.
func proportional(c, n float64) (both, one float64) {
	// n log a + 2 log b is greatest under n a + b = c where n/a = n x, 2/b = x, x the price of
	// both links together: a = 1/x, b = 2/x.
	x := (n + 2) / c
	return 1 / x, 2 / x
}

func maxMin(c, n float64) (both, one float64) { return c / (n + 1), c / (n + 1) }

// bcnParkingLot is the parking lot.
func bcnParkingLot(f *Figure) {
	r := bcnRun("parking-lot")
	small := r.With(setRu + "0.8Mb/s")
	rate := func(r Run, flow string) Quantity {
		return scaled(Mean(r, flow+".rate", 100*ms, 300*ms), gbps)
	}
	ratio := func(r Run) Quantity {
		return Combine(func(v []float64) float64 { return 2 * (v[0] + v[1]) / v[2] }, rate(r, "b"), rate(r, "c"), rate(r, "long"))
	}
	const c, n = 10, 4
	pa, pb := proportional(c, n)
	ma, mb := maxMin(c, n)
	fixed := func(name string, v ...float64) Curve {
		return computedAt(name, []int{1, 2, 3, 4, 5, 6}, func(i int) float64 { return v[i-1] })
	}
	p := Plot{X: plot.Axis{Label: "flow: a1 to a4, b, c; means over model time 100 to 300 ms", Low: 0, High: 7}, Y: plot.Axis{Label: "rate (Gb/s)"},
		Curves: []Curve{{Name: "run, Ru 8 Mb/s"}, {Name: "run, Ru 0.8 Mb/s"}, fixed("slides", 1.4643, 1.4532, 1.5430, 1.7291, 3.0795, 3.0185),
			fixed("proportional", pa, pa, pa, pa, pb, pb), fixed("max-min", ma, ma, ma, ma, mb, mb)}}
	var ran []Quantity
	for i, flow := range []string{"long.A1", "long.A2", "long.A3", "long.A4", "b", "c"} {
		ran = append(ran, rate(r, flow))
		p.Curves[0].Points = append(p.Curves[0].Points, Point{float64(i + 1), ran[i]})
		p.Curves[1].Points = append(p.Curves[1].Points, Point{float64(i + 1), rate(small, flow)})
	}
	f.Plots = []Plot{p}
	f.claim("B-5e", ratio(r))
	f.claim("B-5f", ratio(small))
	f.claim("B-5g", Combine(func(v []float64) float64 {
		far := func(a, b float64) (sum float64) {
			for i, x := range v {
				want := a
				if i >= n {
					want = b
				}
				sum += (x - want) * (x - want)
			}
			return sum
		}
		return far(pa, pb) / far(ma, mb)
	}, ran...))
}

// bcnBursty sweeps the period of bursts.
func bcnBursty(f *Figure) {
	periods := []int{1, 2, 4, 10, 20, 40} // ms; a source offers 2 Gb/s in the mean
	points := Curve{Name: "deviation"}
	deviation := map[int]Quantity{}
	for _, p := range periods {
		deviation[p] = packetsOf(bcnRun("bursty").With(fmt.Sprintf("flows.sources.burst=%dKB", p*250)), bcnDeviation, 20*ms, 400*ms)
		points.Points = append(points.Points, Point{float64(p), deviation[p]})
	}
	s := speeds()[1]
	f.Plots = []Plot{{X: plot.Axis{Label: "burst period (ms of model time)"}, Y: plot.Axis{Label: "deviation of the queue (packets)"}, Curves: []Curve{points},
		References: level("Qeq", qeqPackets)}}
	f.claim("B-7b", Over(Highest(deviation[1], deviation[2], deviation[4]), deviation[40]))
	f.claim("B-7c", Settled(s.run, bcnQueue, 0, 1*ms, 5*ms, 0.5, s.from, s.to))
}

// bcnSevere compares BCN(0,0) on and off.
func bcnSevere(f *Figure) {
	r := bcnRun("severe")
	off, zeros := r.With("defaults.switch.marking.severe=false"), r.With("defaults.switch.marking.zeros=true")
	const use = "shared.S-D.utilisation"
	whole := func(r Run) Quantity { return Mean(r, use, 0, 40*ms) }
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "link (%)", High: 105},
		Curves: []Curve{curve("without BCN(0,0)", off, use, 100), curve("with it", r, use, 100), curve("zeros at the equilibrium too", zeros, use, 100)}}}
	f.claim("B-9b", Minus(whole(off), whole(r)))
	f.claim("B-9c", Minus(whole(zeros), whole(r)))
	f.claim("B-9d", whole(zeros))
	swing := func(r Run) Quantity { return Mean(r, bcnDeviation, 0, 40*ms) }
	f.claim("B-9e", Over(swing(zeros), swing(off)))
}

// bcnMixed has TCP beside UDP, and TCP alone.
func bcnMixed(f *Figure) {
	both := bcnRun("mixed")
	alone := both.With("flows.udp.transport=tcp")
	used := func(r Run) Quantity { return Mean(r, "shared.S-D.utilisation", 100*ms, 1000*ms) }
	swing := func(r Run) Quantity { return Mean(r, bcnDeviation, 100*ms, 1000*ms) }
	f.claim("B-6f", Over(used(both), used(alone)))
	f.claim("B-6g", Over(swing(both), swing(alone)))

	f.Table = &Table{Title: "TCP and UDP under other switches", Columns: []string{"UDP over TCP", "part of the time in which TCP's window binds", "TCP segments dropped in all"}}
	row := func(says string, r Run) {
		f.Table.Rows = append(f.Table.Rows, unjudged(says, "", Plain, Mean(r, "udp.rate / tcp.rate", 100*ms, 1000*ms),
			Mean(r, "tcp.stalled.window", 100*ms, 1000*ms), Mean(r, "tcp.drops", 0, 1000*ms)))
	}
	row("PAUSE, 200 KB to a port, as above", both)
	dropping := both
	dropping.Edits = [][2]string{{"flow-control: pause", "flow-control: none"}, {"    high: 150KB\n    low: 147KB\n", "    lossless: []\n"}}
	for _, kb := range []int{200, 100, 50} {
		row(fmt.Sprintf("without PAUSE, %d KB to a port", kb), dropping.With(fmt.Sprintf("defaults.switch.memory=%dKB per port", kb)))
	}
	row("PAUSE, without BCN", both.With("defaults.switch.marking.scheme=none"))
}

// bcnDelay compares the two delays.
func bcnDelay(f *Figure) {
	long := bcnRun("delay")
	short := long.With("defaults.link.propagation=500ns")
	deviation := func(r Run) Quantity { return Mean(r, bcnDeviation, 20*ms, 40*ms) }
	told := func(r Run) Quantity { return Mean(r, "sources.notifications", 20*ms, 40*ms) }
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{curve("0.5 us", short, bcnQueue, packets), curve("9.5 us", long, bcnQueue, packets)},
		References: level("Qeq = 16 packets", qeqPackets)}}
	f.claim("B-8c", Over(told(long), told(short)))
	f.claim("B-8d", Over(deviation(long), deviation(short)))
}

// bcnSampling sweeps Pm.
func bcnSampling(f *Figure) {
	swings, waits := Curve{Name: "deviation"}, Curve{Name: "runs"}
	var deviation []Quantity
	const seconds, sources = 20e-3, 4
	theory := func(pm float64) float64 { return 1500 * 8 / (10e9 / sources * pm) } // s
	far := []Quantity{}
	pms := []float64{0.0025, 0.005, 0.01, 0.02, 0.05, 0.1}
	for _, pm := range pms {
		r := bcnRun("sampling").With(setPm + fmt.Sprint(pm))
		wait := Combine(func(v []float64) float64 { return seconds * sources / v[0] }, Mean(r, "sources.notifications", 20*ms, 40*ms)).in(metrics.Seconds())
		d := packetsOf(r, bcnDeviation, 20*ms, 40*ms)
		deviation = append(deviation, d)
		swings.Points = append(swings.Points, Point{pm, d})
		waits.Points = append(waits.Points, Point{pm, scaled(wait, 1e3)})
		far = append(far, FromOne(Over(wait, constant(theory(pm)).in(metrics.Seconds()))))
	}
	axis := plot.Axis{Label: "Pm, over model time 20 to 40 ms"}
	f.Plots = []Plot{
		{Name: "sampling-delay", Title: "The sampling delay", X: axis, Y: plot.Axis{Label: "delay (ms)"}, Curves: []Curve{waits, computedAt("S / (r Pm)", pms, func(pm float64) float64 { return theory(pm) * 1e3 })}},
		{Name: "sampling-deviation", Title: "Oscillation and sampling", X: axis, Y: plot.Axis{Label: "deviation of the queue (packets)"}, Curves: []Curve{swings}},
	}
	f.claim("B-11b", Highest(far...))
	told := func(r Run) Quantity { return Mean(r, "sources.notifications", 20*ms, 40*ms) }
	all, two := bcnRun("sampling"), bcnRun("sampling")
	two.Edits = [][2]string{{"A[1-4]", "A[1-2]"}}
	f.claim("B-11d", Over(told(all), told(all.With("defaults.flow.packet=750B"))))
	f.claim("B-11e", scaled(Over(told(all), told(two)), 2./sources))
	f.claim("B-11c", Over(deviation[0], deviation[len(deviation)-1]))
}

// bcnGains is how long it takes to settle, by gains.
func bcnGains(f *Figure) {
	r := bcnRun("gains")
	const window, hold = 1 * ms, 5 * ms
	gains := []struct {
		name, set string
		at        func(float64) string
	}{
		{"Gi", "defaults.flow.control.gi=", func(f float64) string { return fmt.Sprint(4 * f) }},
		{"Gd", "defaults.flow.control.gd=", func(f float64) string { return fmt.Sprint(f / 128) }},
		{"Ru", setRu, func(f float64) string { return fmt.Sprintf("%gMb/s", 8*f) }},
	}
	for _, step := range []struct {
		name     string
		from, to unit.Time
	}{
		{"down", 20 * ms, 100 * ms},
		{"up", 100 * ms, 140 * ms},
	} {
		p := Plot{Name: "gains-" + step.name, Title: "Settling after the step " + step.name, X: plot.Axis{Label: "gain over that of the other figures; settling in model time"}, Y: plot.Axis{Label: "settling time (ms)"}}
		for _, g := range gains {
			c := Curve{Name: g.name, Scale: 1e3}
			for _, x := range []float64{0.25, 0.5, 1} {
				c.Points = append(c.Points, Point{x, Settled(r.With(g.set+g.at(x)), bcnQueue, step.from, window, hold, 0.5, step.to-10*ms, step.to)})
			}
			p.Curves = append(p.Curves, c)
			if g.name != "Ru" { // Gi Ru is one number
				f.claim("B-10-{gain}-{step}", Minus(c.Points[0].Y, c.Points[2].Y), "gain", g.name, "what", strings.Replace(g.name, "Gi", "Gi or Ru", 1), "step", step.name)
			}
		}
		f.Plots = append(f.Plots, p)
	}
}

// bcnLost has a fifth of the messages lost, or of the tags.
func bcnLost(f *Figure) {
	r := bcnRun("convergence")
	messages, tags := r.With("defaults.switch.marking.lost=20"), r.With("defaults.switch.marking.lost-tags=20")
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)", High: 80}, References: level("Qeq = 16 packets", qeqPackets),
		Curves: []Curve{curve("all come", r, bcnQueue, packets), curve("a fifth of the messages is lost", messages, bcnQueue, packets), curve("a fifth of the tags is not seen", tags, bcnQueue, packets)}}}
	f.claim("BL-1", packetsOf(messages, bcnQueue, 50*ms, 100*ms))
	f.claim("BL-2", packetsOf(tags, bcnQueue, 50*ms, 100*ms))
	f.claim("BL-3", Over(packetsOf(messages, bcnDeviation, 50*ms, 100*ms), packetsOf(r, bcnDeviation, 50*ms, 100*ms)))
}

// bcnTwoPoints is a source that two switches tell different things.
func bcnTwoPoints(f *Figure) {
	r := bcnRun("two-points")
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (Gb/s)", High: 10}, Curves: []Curve{
		curve("through both", r, "both.rate", gbps), curve("three through the first", r, "one.rate", gbps), curve("three through the second", r, "other.rate", gbps),
	}}}
}

// bcnTwoWay is traffic both ways.
func bcnTwoWay(f *Figure) {
	r := bcnRun("two-way")
	const there = "shared.S-T.queue"
	alone := Run{Scenario: r.Scenario, Seeds: true, Edits: [][2]string{{"  - {name: back, from: \"B[1-4]\", to: \"A[1-4]\"}\n", ""}}}
	deviation := func(r Run) Quantity { return packetsOf(r, there+".deviation", 20*ms, 40*ms) }
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{curve("both ways: there", r, there, packets), curve("both ways: back", r, "shared.T-S.queue", packets), curve("one way", alone, there, packets)},
		References: level("Qeq = 16 packets", qeqPackets)}}
	f.claim("BW-5", Over(deviation(r), deviation(alone)))
	f.claim("BW-6", Over(deviation(r.With(setPm+"0.1")), deviation(r)))
}
