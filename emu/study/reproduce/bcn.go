package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// BCN: Analytical Model and Simulation Study, Raj Jain, slides at the meeting of IEEE 802.1
// of July 19, 2006.

// aboutBCN is the text before the figures; ~ stands for a backquote.
const aboutBCN = `
Backward Congestion Notification was the first proposal for congestion notification in IEEE 802.1, and is ECM in a later one. These slides study it by simulation and by an analytical model.

## The laws

A *congestion point* is a queue of a switch (~switchd/cp/bcn.go~). It samples frames that join the queue with the probability Pm, and sends their source a message with

    Qoff   = Qeq - Qlen                 from -Qeq to Qeq
    Qdelta = arrivals - departures      since the last sample, from -2 Qeq to 2 Qeq

A queue above Qeq has a message sent whoever sent the frame. One below has it sent only if the frame carries a tag that says that this point limits its flow. A *reaction point* (~node/rp/bcn.go~) is additive increase and multiplicative decrease by

    Fb = Qoff - W Qdelta
    Fb > 0:  R = R + Gi Fb Ru
    Fb < 0:  R = max(0, R (1 - Gd |Fb|))

In the text that is left of the slides, the last line reads ~Min{0,~. The message BCN(0,0) stops a source for a random time. Jain's enhancement has the rate of the bottleneck in the message: Ru and the rate at which a limiter begins follow from it.

## What the slides leave open

| | here | from |
|---|---|---|
| W, Gi, Gd | 2, 4, 1/128 | the literature on BCN of 2006 |
| Qeq | 16 frames of 1500 B | the same |
| Pm, Ru | 0.01 and 8 Mb/s at 10 Gb/s, 0.1 and 0.8 Mb/s at 1 Gb/s | the slides |
| initial rate | 5 Gb/s; with the enhancement half of the bottleneck | the slides |
| Qsc, the longest stop | four times Qeq, 100 us | ours; the default of Intel's adapters |
| BCN(0,0) | off, but in bcn/severe | the slides: it causes oscillations |
| sources, edge switches | four to a link, none: no queue forms there | ours: "Indicate: Number of flows" is an action item of the slides |
| memory | 200 KB to a port, PAUSE at 150 KB | ours: PAUSE keeps the fabric lossless, and leaves the queue room to swing |
| traffic | greedy sources without TCP, but in bcn/mixed | ours |

The slides have pictures without figures beside the parking lot's and the settling time. *Oscillation* is measured as the standard deviation of the queue (~queue.deviation~), and a queue is called *unstable* where that is more than Qeq: it is empty again and again then, or nowhere near Qeq.

## To run it

~~~sh
go run ./cmd/fabemu run bcn/convergence --clock virtual
go run ./cmd/fabemu run bcn/parking-lot --short --clock virtual
go run ./cmd/fabemu sweep bcn/convergence --set model.duration=20ms --set defaults.switch.marking.pm=0.01,0.02,0.05 --metric shared.S-D.queue.deviation --out pm
~~~

Over real sockets a short run takes 8 to 24 s. Of eleven, all claims came out as they do on the virtual clock, in event logs that are equal to the byte; with a load of sixteen on two cores all verdicts were ~order-only~:

~~~
fabemu run bcn/convergence --short
~~~
`

func bcn() *Paper {
	return &Paper{
		Name:   "bcn",
		Title:  "Backward Congestion Notification",
		Source: "BCN (R. Jain, IEEE 802.1, July 2006)",
		About:  strings.ReplaceAll(aboutBCN, "~", "`"),
		Figures: []Figure{
			bcnConvergence(), bcnDimensioning(), bcnAsymmetric(), bcnInitialRate(), bcnParkingLot(), bcnBursty(),
			bcnMixed(), bcnSevere(), bcnDelay(), bcnSampling(), bcnGains(), bcnTwoPoints(), bcnTwoWay(), bcnODE(),
		},
	}
}

const (
	bcnQueue     = "shared.S-D.queue"
	bcnDeviation = "shared.S-D.queue.deviation"
	qeqPackets   = 16 // of BCN's scenarios
	setPm        = "defaults.switch.marking.pm="
	setRu        = "defaults.flow.control.ru="
	gbps         = 8e-9 // of bytes per second
)

// bcnRun is a run of a scenario of BCN, of which figures are means over seeds.
func bcnRun(name string) Run { return Run{Scenario: "bcn/" + name, Seeds: true} }

// bcnChecks takes over the claims of a scenario of BCN.
func bcnChecks(name string) []Claim { return packetChecks(bcnRun(name)) }

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
	differs  [2]string // why a small Ru makes oscillations no smaller, and the time to converge no longer
}

func speeds() [2]speed {
	return [2]speed{
		{"1 Gb/s", bcnRun("dimensioning"), 100 * ms, 400 * ms, 400, [2]string{"",
			"The first milliseconds leave a queue of 100 to 150 packets. With a small Ru it drains sooner, and then runs empty before it comes up; with a large one it drains slowly. Both have settled after some 10 ms: the difference is 0.2 ms, with a standard deviation of 2.5 ms."}},
		{"10 Gb/s", bcnRun("convergence"), 50 * ms, 100 * ms, 80, [2]string{
			"At 10 Gb/s all four queues are stable, and swing by 0.4 to 1.4 packets in the mean: Ru explains 4 % of the variation, and errors 24 %.", ""}},
	}
}

// bcnConvergence is the factorial design.
func bcnConvergence() Figure {
	f := Figure{
		Name: "convergence", Source: "slides Simulation Study: Convergence, Simulation on Convergence", Title: "Convergence: a 2 x 2 factorial design",
		Caption: "Four sources share a link; all links have 1 Gb/s, or all 10. Ru is 0.8 or 8 Mb/s, Pm 0.01 or 0.1: the levels that the slides have for the two rates. The response is the standard deviation of the queue in packets, from 100 to 400 ms at 1 Gb/s and from 50 to 100 ms at 10. q0 is its mean, qRu, qPm and qRuPm are what the high level adds, and the low one takes away, with the parts of the variation that they explain, in five replications each. Pictures: means over a sliding window of 2 ms and of 1 ms.",
		Claims:  bcnChecks("convergence"),
		Table:   &Table{Title: "Deviation of the queue (packets)", Columns: []string{"mean: q0", "Ru: qRu", "Pm: qPm", "both: qRuPm", "errors: their deviation"}},
	}
	for i, s := range speeds() {
		deviation := func(r Run) Quantity { return packetsOf(r, bcnDeviation, s.from, s.to) }
		effect := func(k int) Quantity {
			return design(s.run, deviation, func(e effects) float64 { return e.q[k] })
		}
		share := func(k int) Quantity {
			return design(s.run, deviation, func(e effects) float64 { return e.share[k] })
		}
		blank := Claim{Check: scenario.Check{Low: -none, High: none}}
		row, parts := blank, blank
		row.Claim, row.Metric = "effects at "+s.name, "of the design"
		parts.Claim, parts.Metric, parts.Unit = "parts of the variation at "+s.name, "of the design", Percent
		f.Table.Rows = append(f.Table.Rows,
			Row{row, []Quantity{effect(0), effect(1), effect(2), effect(3), design(s.run, deviation, func(e effects) float64 { return e.errors })}},
			Row{parts, []Quantity{Sum(share(0), share(1), share(2), share(3)), share(1), share(2), share(3), share(0)}})

		const slide, says = "slide Simulation on Convergence: Conclusions", "Large P..., small R... make oscillations smaller ... In both cases"
		settled := func(sets []string) Quantity {
			return Settled(s.run.With(sets...), bcnQueue, 0, 2*ms, 5*ms, 0.5, s.from, s.to)
		}
		told := func(sets []string) Quantity {
			return Mean(s.run.With(sets...), "sources.notifications", s.from, s.to)
		}
		id := fmt.Sprintf("B-2%s", []string{"-1G", "-10G"}[i])
		f.Claims = append(f.Claims,
			Claim{Check: scenario.Check{ID: id + "a", Basis: scenario.Quoted, Source: slide, Claim: says, Metric: s.name + ": qRu of the deviation (packets)",
				Low: positive, High: none, Why: "A large Ru makes it larger. The slides have pictures without figures.", Reason: s.differs[0]}, Value: effect(1)},
			Claim{Check: scenario.Check{ID: id + "b", Basis: scenario.Quoted, Source: slide, Claim: says, Metric: s.name + ": qPm of the deviation (packets)",
				Low: -none, High: -positive, Why: "A large Pm makes it smaller. The slides have pictures without figures."}, Value: effect(2)},
			Claim{Check: scenario.Check{ID: id + "c", Basis: scenario.Derived, Source: slide, Claim: "the differences are not chance", From: "\"make oscillations smaller\": the factors do, and not the draw.",
				Metric: s.name + ": what Ru, Pm and both explain of the variation",
				Low:    0.5, High: 1, Why: "More than errors do."}, Value: Sum(share(1), share(2), share(3)), Unit: Percent},
			Claim{Check: scenario.Check{ID: id + "d", Basis: scenario.Quoted, Source: slide, Claim: "Small R... long time to converge", Metric: s.name + ": time until the queue stays within half of its mean at the end for 5 ms, with Ru of 0.8 Mb/s less with 8 Mb/s, Pm = 0.1", Low: positive, High: none, Why: "Longer. The slide has no figure.", Reason: s.differs[1]}, Value: Minus(settled(factors("0.8Mb/s", "0.1")), settled(factors("8Mb/s", "0.1"))), Unit: Milliseconds},
			Claim{Check: scenario.Check{ID: id + "e", Basis: scenario.Quoted, Source: slide, Claim: "Larger P... excessive signaling overhead", Metric: s.name + ": messages with Pm of 0.1, over those with 0.01", Low: 5, High: 20, Why: "Ten times the samples; half and twice of that, since not each sample makes a message."}, Value: Over(told(factors("0.8Mb/s", "0.1")), told(factors("0.8Mb/s", "0.01")))},
		)
		p := Plot{Name: "convergence-" + []string{"1g", "10g"}[i], Title: "Convergence: all links " + s.name, X: modelTime, Y: plot.Axis{Label: "queue (packets)", High: s.top}, References: []plot.Reference{{Name: "Qeq = 16 packets", Low: qeqPackets, High: qeqPackets}}}
		for _, c := range [][2]string{{"8Mb/s", "0.01"}, {"8Mb/s", "0.1"}, {"0.8Mb/s", "0.01"}, {"0.8Mb/s", "0.1"}} {
			p.Curves = append(p.Curves, curve("Ru "+strings.Replace(c[0], "M", " M", 1)+", Pm "+c[1], s.run.With(factors(c[0], c[1])...), bcnQueue, packets))
		}
		f.Plots = append(f.Plots, p)
	}
	return f
}

// bcnDimensioning lays the two configurations beside one another.
func bcnDimensioning() Figure {
	s := speeds()
	deviation := func(s speed) Quantity { return packetsOf(s.run, bcnDeviation, s.from, s.to) }
	return Figure{
		Name: "dimensioning", Source: "slide Dimensioning Problem", Title: "The dimensioning problem",
		Caption: "Pm = 0.01 and Ru = 8 Mb/s on links of 1 and of 10 Gb/s. PAUSE comes at 400 packets.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, References: []plot.Reference{{Name: "Qeq = 16 packets", Low: qeqPackets, High: qeqPackets}},
			Curves: []Curve{curve("1 Gb/s", s[0].run, bcnQueue, packets), curve("10 Gb/s", s[1].run, bcnQueue, packets)}}},
		Claims: append(bcnChecks("dimensioning"),
			Claim{Check: scenario.Check{ID: "B-1c", Basis: scenario.Quoted, Source: "slide Dimensioning Problem", Claim: "The rate increase unit R... should be set as C/N for some N. If not, there are large oscillations",
				Metric: "deviation of the queue at 1 Gb/s, over that with Ru = 0.8 Mb/s",
				Low:    2, High: none, Why: "C/1250 at 10 Gb/s is 8 Mb/s, at 1 Gb/s 0.8 Mb/s. The slide has no figure; large is twice and more."}, Value: Over(deviation(s[0]), packetsOf(s[0].run.With(setRu+"0.8Mb/s"), bcnDeviation, s[0].from, s[0].to))},
			Claim{Check: scenario.Check{ID: "B-1d", Basis: scenario.Derived, Source: "slide Dimensioning Problem", Claim: "at 10 Gb/s the same Pm and Ru are stable", From: "\"Same P... and R... leads to instability\": of the two configurations, the one that they are not for.",
				Metric: "deviation of the queue at 1 Gb/s, over that at 10 Gb/s", Low: 2, High: none, Why: "As B-1c."}, Value: Over(deviation(s[0]), deviation(s[1]))}),
	}
}

// current is the asymmetric topology with the same Pm and Ru everywhere, and by hand that
// with those of its rate for each link.
func current() Run {
	return bcnRun("asymmetric").With("switches.T.marking.pm=0.01", "defaults.switch.marking.bottleneck=false")
}

// bcnAsymmetric is the topology of which one link is slow.
func bcnAsymmetric() Figure {
	enhanced := bcnRun("asymmetric")
	deviation := func(r Run, link string) Quantity {
		return packetsOf(r, link+".queue.deviation", 40*ms, 120*ms)
	}
	f := Figure{
		Name: "asymmetric", Source: "slides Asymmetric Topology and Multiple Congestion Points, A Simulation Result on BCN and the Enhanced Version", Title: "One link of 1 Gb/s",
		Caption: "Four sources share a link of 10 Gb/s, four others one of 1 Gb/s behind a second switch. Pm = 0.01 and Ru = 8 Mb/s for all, or Jain's enhancement: Pm is 0.1 at the slow link, and messages tell its rate, from which Ru = C/1250 and the initial rate C/2 follow. Means over a sliding window of 2 ms.",
		Claims: append(bcnChecks("asymmetric"),
			Claim{Check: scenario.Check{ID: "B-3d", Basis: scenario.Quoted, Source: "slide A Simulation Result on BCN and the Enhanced Version", Claim: "Not Stable", Metric: "deviation of the queue at 1 Gb/s without the enhancement (packets)",
				Low: qeqPackets, High: none, Why: "More than Qeq. The slide has pictures without figures."}, Value: deviation(current(), "slow.T-E")},
			Claim{Check: scenario.Check{ID: "B-3e", Basis: scenario.Derived, Source: "slide Dimensioning Problem", Claim: "Need to add bottleneck rate to the BCN message", From: "Without it the queue is \"Not Stable\", with it \"Stable with oscillations\".", Metric: "deviation of the queue at 1 Gb/s without the enhancement, over that with it",
				Low: 2, High: none, Why: "Twice and more. The slides have no figure."}, Value: Over(deviation(current(), "slow.T-E"), deviation(enhanced, "slow.T-E"))}),
	}
	for _, c := range [][3]string{{"fast", "fast.S-D", "10 Gb/s"}, {"slow", "slow.T-E", "1 Gb/s"}} {
		f.Plots = append(f.Plots, Plot{Name: "asymmetric-" + c[0], Title: "Asymmetric topology: the link of " + c[2], X: modelTime, Y: plot.Axis{Label: "queue (packets)"},
			References: []plot.Reference{{Name: "Qeq = 16 packets", Low: qeqPackets, High: qeqPackets}},
			Curves:     []Curve{curve("same Pm and Ru", current(), c[1]+".queue", packets), curve("enhanced", enhanced, c[1]+".queue", packets)}})
	}
	return f
}

// fallen is when the limit of a group has fallen below a level, in bytes per second, and
// stays there for as long as hold, in seconds of model time. It is not a number when that
// does not happen.
func fallen(r Run, group string, level float64, hold unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		m, err := metrics.Compile(group+".limit", x.Metrics.Fabric())
		if err != nil {
			return 0, err
		}
		step := unit.Time(x.WindowPs) / 20
		since := unit.Time(-1)
		for t := step; t <= x.Metrics.End(); t += step {
			switch v := m.Over(x.Metrics, t-step, t); {
			case !(v < level):
				since = -1
			case since < 0:
				since = t - step
			}
			if since >= 0 && t-since >= hold {
				return since.Seconds(), nil
			}
		}
		return math.NaN(), nil
	})
}

// bcnInitialRate is the rate that limiters begin with.
func bcnInitialRate() Figure {
	const slide = "slide Dimensioning Problem"
	time := func(r Run) Quantity { return fallen(r, "slow-sources", 1/gbps, 5*ms) }
	enhanced := bcnRun("asymmetric")
	return Figure{
		Name: "initial-rate", Source: slide, Title: "From 5 Gb/s to less than 1",
		Caption: "The sources of the slow link of the asymmetric topology: the mean of what their limiters let through, over a sliding window of 2 ms. Below 1 Gb/s is from when on the mean of a tenth of a ms is, for 5 ms.",
		Plots: []Plot{{X: plot.Axis{Label: modelTime.Label, High: 40}, Y: plot.Axis{Label: "rate (Gb/s)"},
			Curves: []Curve{curve("initial rate 5 Gb/s", current(), "slow-sources.limit", gbps), curve("half of the bottleneck", enhanced, "slow-sources.limit", gbps)}}},
		Claims: []Claim{
			{Check: scenario.Check{ID: "B-4a", Basis: scenario.Quoted, Source: slide, Claim: "It takes long time for the sources to decrease their rates to less than 1 Gbps.", Metric: "time until the mean limit of the sources is below 1 Gb/s",
				Low: 0.004, High: none, Why: "The slide has no figure. Long: more than the settling time of the slides, some 4 ms."}, Value: time(current()), Unit: Milliseconds},
			{Check: scenario.Check{ID: "B-4b", Basis: scenario.Derived, Source: slide, Claim: "Need to add bottleneck rate to the BCN message", From: "With it the first message has the source begin at half of the bottleneck.", Metric: "the same with the enhancement, over that without",
				Low: 0, High: 0.5, Why: "Half of the time or less. The slide has no figure."}, Value: Over(time(enhanced), time(current()))},
		},
	}
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
func bcnParkingLot() Figure {
	const slide = "slide Simulations for Fairness"
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
		return Curve{Name: name, Solved: func() (x, y []float64, err error) {
			for i, rate := range v {
				x, y = append(x, float64(i+1)), append(y, rate)
			}
			return x, y, nil
		}}
	}
	p := Plot{X: plot.Axis{Label: "flow: a1 to a4, b, c; means over model time 100 to 300 ms", Low: 0, High: 7}, Y: plot.Axis{Label: "rate (Gb/s)"},
		Curves: []Curve{{Name: "run, Ru 8 Mb/s"}, {Name: "run, Ru 0.8 Mb/s"}, fixed("slides", 1.4643, 1.4532, 1.5430, 1.7291, 3.0795, 3.0185),
			fixed("proportional", pa, pa, pa, pa, pb, pb), fixed("max-min", ma, ma, ma, ma, mb, mb)}}
	for i, flow := range []string{"long.A1", "long.A2", "long.A3", "long.A4", "b", "c"} {
		p.Curves[0].Points = append(p.Curves[0].Points, Point{float64(i + 1), rate(r, flow)})
		p.Curves[1].Points = append(p.Curves[1].Points, Point{float64(i + 1), rate(small, flow)})
	}
	const why = "Proportional fairness makes it %.1f and max-min fairness %.1f, and the slides' run 1.97: nearer to the first, and not above it by more than a twentieth."
	reason := fmt.Sprintf(why, 2*2*pb/(n*pa), 2*2*mb/(n*ma))
	return Figure{
		Name: "parking-lot", Source: "slides Max-min vs Proportional Fairness, Simulations for Fairness", Title: "The parking lot",
		Caption: "Four flows a cross two links of 10 Gb/s, b and c one each. Proportional fairness maximises the sum of the logarithms of the rates, max-min fairness the least of them.",
		Plots:   []Plot{p},
		Claims: append(bcnChecks("parking-lot"),
			Claim{Check: scenario.Check{ID: "B-5e", Basis: scenario.Quoted, Source: slide, Claim: "2(R...+R...)/(R...+...+R...)=1.97", Metric: "2 (b + c) / (a1 + ... + a4) with Ru of 8 Mb/s, that of 10 Gb/s", Low: 1.5, High: 2.1, Why: reason,
				Reason: "See B-5a: 2.8, with a standard deviation of 0.6 over the seeds; flows through both links have less than proportional fairness gives them."}, Value: ratio(r)},
			Claim{Check: scenario.Check{ID: "B-5f", Basis: scenario.Quoted, Source: slide, Claim: "2(R...+R...)/(R...+...+R...)=1.97", Metric: "the same with Ru of 0.8 Mb/s, the other level of the factorial design", Low: 1.5, High: 2.1, Why: reason}, Value: ratio(small)},
			Claim{Check: scenario.Check{ID: "B-5g", Basis: scenario.Derived, Source: "slide Summary", Claim: "BCN achieves Proportional Fairness (vs max-min fairness)", From: "Of the two allocations the run's is nearer to the proportional one.",
				Metric: "how far the six rates are from the proportional ones, over how far from the max-min ones (sums of squares)",
				Low:    0, High: 1 - 1e-9, Why: "Nearer to the first."}, Value: Combine(func(v []float64) float64 {
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
			}, slices.Collect(func(yield func(Quantity) bool) {
				for _, x := range p.Curves[0].Points {
					if !yield(x.Y) {
						return
					}
				}
			})...)}),
	}
}

// bcnBursty sweeps the period of bursts.
func bcnBursty() Figure {
	const slide = "slide Bursty Traffic"
	periods := []int{1, 2, 4, 10, 20, 40} // ms; a source offers 2 Gb/s in the mean
	points := Curve{Name: "deviation"}
	deviation := map[int]Quantity{}
	for _, p := range periods {
		deviation[p] = packetsOf(bcnRun("bursty").With(fmt.Sprintf("flows.sources.burst=%dKB", p*250)), bcnDeviation, 20*ms, 400*ms)
		points.Points = append(points.Points, Point{float64(p), deviation[p]})
	}
	s := speeds()[1]
	return Figure{
		Name: "bursty", Source: slide, Title: "Bursty traffic",
		Caption: "Four sources have bursts of a Pareto distribution (shape 1.5), at 10 Gb/s and with a fifth of that in the mean. The period is the mean time from burst to burst.",
		Plots: []Plot{{X: plot.Axis{Label: "burst period (ms of model time)"}, Y: plot.Axis{Label: "deviation of the queue (packets)"}, Curves: []Curve{points},
			References: []plot.Reference{{Name: "Qeq", Low: qeqPackets, High: qeqPackets}}}},
		Claims: append(bcnChecks("bursty"),
			Claim{Check: scenario.Check{ID: "B-7b", Basis: scenario.Quoted, Source: slide, Claim: "If not, the system tends to be unstable.", Metric: "greatest deviation of the queue with periods of 1, 2 and 4 ms, over that with 40 ms",
				Low: 1 + 1e-9, High: none, Why: "Larger. The slide has a picture without figures."}, Value: Over(Highest(deviation[1], deviation[2], deviation[4]), deviation[40])},
			Claim{Check: scenario.Check{ID: "B-7c", Basis: scenario.Quoted, Source: slide, Claim: "Settling time ~ 4 ms for the above simulations", Metric: "time until the queue of four greedy sources at 10 Gb/s stays within half of its mean at the end for 5 ms",
				Low: 0.002, High: 0.008, Why: "Half and twice of it."}, Value: Settled(s.run, bcnQueue, 0, 1*ms, 5*ms, 0.5, s.from, s.to), Unit: Milliseconds}),
	}
}

// bcnSevere compares BCN(0,0) on and off.
func bcnSevere() Figure {
	r := bcnRun("severe")
	off, zeros := r.With("defaults.switch.marking.severe=false"), r.With("defaults.switch.marking.zeros=true")
	const use = "shared.S-D.utilisation"
	whole := func(r Run) Quantity { return Mean(r, use, 0, 40*ms) }
	return Figure{
		Name: "severe", Source: "slide Other Issues", Title: "BCN(0,0)",
		Caption: "Four sources begin at once. BCN(0,0) beyond four times Qeq stops them; zeros are sent at the equilibrium too, where the original message had them for both.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "link (%)", High: 105},
			Curves: []Curve{curve("without BCN(0,0)", off, use, 100), curve("with it", r, use, 100), curve("zeros at the equilibrium too", zeros, use, 100)}}},
		Claims: append(bcnChecks("severe"),
			Claim{Check: scenario.Check{ID: "B-9b", Basis: scenario.Derived, Source: "slide Other Issues", Claim: "BCN(0,0) costs throughput", From: "\"This leads to low throughput\": by comparison with the same without it.", Metric: "use of the link from 0 to 40 ms without BCN(0,0), less that with it",
				Low: positive, High: none, Why: "Less. The slide has no figure."}, Value: Minus(whole(off), whole(r)), Unit: Points},
			Claim{Check: scenario.Check{ID: "B-9c", Basis: scenario.Quoted, Source: "slide Other Issues", Claim: "sending back Q...=0, Q...=0 to Indicate the severe congestion, which may cause low link utilization",
				Metric: "use of the link from 0 to 40 ms with zeros at the equilibrium too, less that with BCN(0,0) alone",
				Low:    -none, High: -positive, Why: "Less: \"is very likely when the queue operates at the equilibrium\"."}, Value: Minus(whole(zeros), whole(r)), Unit: Points},
			Claim{Check: scenario.Check{ID: "B-9d", Basis: scenario.Quoted, Source: "slide Other Issues", Claim: "This leads to low throughput", Metric: "use of the link from 0 to 40 ms with zeros at the equilibrium too",
				Low: 0, High: 0.9, Why: "That of B-9a."}, Value: whole(zeros), Unit: Percent}),
	}
}

// bcnMixed has TCP beside UDP, and TCP alone.
func bcnMixed() Figure {
	both := bcnRun("mixed")
	alone := both.With("flows.udp.transport=tcp")
	used := func(r Run) Quantity { return Mean(r, "shared.S-D.utilisation", 100*ms, 1000*ms) }
	swing := func(r Run) Quantity { return Mean(r, bcnDeviation, 100*ms, 1000*ms) }
	const slide, says = "slide Mixed TCP and UDP Traffic: Results", "No significant performance difference compared with ... TCP-only workload"
	return Figure{
		Name: "mixed", Source: "slides Mixed TCP and UDP Traffic", Title: "Four sources with TCP, four without",
		Caption: "They share a link of 10 Gb/s. TCP alone is the same with TCP in place of UDP.",
		Claims: append(bcnChecks("mixed"),
			Claim{Check: scenario.Check{ID: "B-6f", Basis: scenario.Quoted, Source: slide, Claim: says, Metric: "utilisation of the link with both, over that with TCP alone",
				Low: 0.95, High: 1.05, Why: "A twentieth below or above is no significant difference."}, Value: Over(used(both), used(alone))},
			Claim{Check: scenario.Check{ID: "B-6g", Basis: scenario.Quoted, Source: slide, Claim: says, Metric: "deviation of the queue with both, over that with TCP alone",
				Low: 0.5, High: 2, Why: "The slide has no figure. Half and twice, as in B-8d."}, Value: Over(swing(both), swing(alone))}),
	}
}

// bcnDelay compares the two delays.
func bcnDelay() Figure {
	long := bcnRun("delay")
	short := long.With("defaults.link.propagation=500ns")
	deviation := func(r Run) Quantity { return Mean(r, bcnDeviation, 20*ms, 40*ms) }
	told := func(r Run) Quantity { return Mean(r, "sources.notifications", 20*ms, 40*ms) }
	return Figure{
		Name: "delay", Source: "slide Bandwidth*Delay Product", Title: "Propagation of 0.5 and of 9.5 us",
		Caption: "Four sources share a link of 10 Gb/s. Means over a sliding window of 1 ms.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{curve("0.5 us", short, bcnQueue, packets), curve("9.5 us", long, bcnQueue, packets)},
			References: []plot.Reference{{Name: "Qeq = 16 packets", Low: qeqPackets, High: qeqPackets}}}},
		Claims: append(bcnChecks("delay"),
			Claim{Check: scenario.Check{ID: "B-8c", Basis: scenario.Quoted, Source: "slide Bandwidth*Delay Product", Claim: "propagation delay ... have small effect on ... the feedback delay", Metric: "messages in 20 ms with 9.5 us, over those with 0.5 us",
				Low: 0.8, High: 1.25, Why: "The slide has no figure. Of the feedback delay all but 40 us in 480 is the time from sample to sample."}, Value: Over(told(long), told(short))},
			Claim{Check: scenario.Check{ID: "B-8d", Basis: scenario.Derived, Source: "slide Bandwidth*Delay Product", Claim: "so the queue swings no more", From: "\"The queue is stable\" at 9.5 us as it is at 0.5.", Metric: "deviation of the queue with 9.5 us, over that with 0.5 us",
				Low: 0.5, High: 2, Why: "The slide has no figure. Half and twice: less than what the factors of the convergence study do."}, Value: Over(deviation(long), deviation(short))}),
	}
}

// bcnSampling sweeps Pm.
func bcnSampling() Figure {
	const slide = "slide Analytical Model Results"
	swings, waits := Curve{Name: "deviation"}, Curve{Name: "runs"}
	var deviation []Quantity
	theory := Curve{Name: "S / (r Pm)"}
	var x, y []float64
	far := []Quantity{}
	for _, pm := range []float64{0.0025, 0.005, 0.01, 0.02, 0.05, 0.1} {
		r := bcnRun("sampling").With(setPm + fmt.Sprint(pm))
		const seconds, sources = 20e-3, 4
		want := 1500 * 8 / (10e9 / sources * pm) // s
		wait := Combine(func(v []float64) float64 { return seconds * sources / v[0] }, Mean(r, "sources.notifications", 20*ms, 40*ms))
		d := packetsOf(r, bcnDeviation, 20*ms, 40*ms)
		deviation = append(deviation, d)
		swings.Points = append(swings.Points, Point{pm, d})
		waits.Points = append(waits.Points, Point{pm, scaled(wait, 1e3)})
		x, y = append(x, pm), append(y, want*1e3)
		far = append(far, FromOne(scaled(wait, 1/want)))
	}
	theory.Solved = func() ([]float64, []float64, error) { return x, y, nil }
	axis := plot.Axis{Label: "Pm, over model time 20 to 40 ms"}
	return Figure{
		Name: "sampling", Source: slide, Title: "Sampling",
		Caption: "Four sources share a link of 10 Gb/s. The delay is the mean time from message to message of a source.",
		Plots: []Plot{
			{Name: "sampling-delay", Title: "The sampling delay", X: axis, Y: plot.Axis{Label: "delay (ms)"}, Curves: []Curve{waits, theory}},
			{Name: "sampling-deviation", Title: "Oscillation and sampling", X: axis, Y: plot.Axis{Label: "deviation of the queue (packets)"}, Curves: []Curve{swings}},
		},
		Claims: append(bcnChecks("sampling"),
			Claim{Check: scenario.Check{ID: "B-11b", Basis: scenario.Quoted, Source: slide, Claim: "Sampling Delay = ... = Pkt Size/(input rate*Sampling P)", Metric: "how far the delay is from S/(r Pm), with Pm from 0.0025 to 0.1, at the most",
				Low: 0, High: 0.25, Why: "A quarter: with 0.0025 there are 42 messages to count, give or take 6, and samples of a source that this point does not limit tell it of no increase.",
				Reason: "32 %. With Pm from 0.02 on a quarter of the samples find the queue at Qeq and as long as at the sample before: Qoff and Qdelta are zero, and no message is sent, since that would be BCN(0,0)."}, Value: Highest(far...), Unit: Percent},
			Claim{Check: scenario.Check{ID: "B-11c", Basis: scenario.Quoted, Source: slide, Claim: "Sampling probability P... is the key parameter.", Metric: "deviation of the queue with Pm of 0.0025, over that with 0.1",
				Low: 2, High: none, Why: "Twice and more for forty times the delay. The slide has no figure."}, Value: Over(deviation[0], deviation[len(deviation)-1])}),
	}
}

// bcnGains is how long it takes to settle, by gains.
func bcnGains() Figure {
	const slide = "slide Analytical Model Results"
	r := bcnRun("gains")
	const window, hold = 1 * ms, 5 * ms
	const slower = "Not after a step down: it is 2 ms less with a quarter, with a standard deviation of 4 ms. There rates must fall, for which Gd is; a queue that falls has an Fb above 0 while it is still too long, and the larger Gi Ru is, the more of the decrease it takes back."
	f := Figure{
		Name: "gains", Source: slide, Title: "Rate of convergence and gains",
		Caption: "Four sources share a link of 10 Gb/s that has 5 Gb/s from 20 to 100 ms. It has settled after a step with the end of the first window of 1 ms from which on the mean queue stays within half of what it is in the end, for 5 ms. Gi and Ru are a product: their curves are one. At 5 Gb/s Pm and Ru are those of 10, and the queue swings again and again after it has settled.",
		Claims:  bcnChecks("gains"),
	}
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
		differs  [3]string // of each gain
	}{
		{"down", 20 * ms, 100 * ms, [3]string{slower, "", slower}},
		{"up", 100 * ms, 140 * ms, [3]string{}},
	} {
		p := Plot{Name: "gains-" + step.name, Title: "Settling after the step " + step.name, X: plot.Axis{Label: "gain over that of the other figures; settling in model time"}, Y: plot.Axis{Label: "settling time (ms)"}}
		for i, g := range gains {
			c := Curve{Name: g.name, Scale: 1e3}
			for _, x := range []float64{0.25, 0.5, 1} {
				c.Points = append(c.Points, Point{x, Settled(r.With(g.set+g.at(x)), bcnQueue, step.from, window, hold, 0.5, step.to-10*ms, step.to)})
			}
			p.Curves = append(p.Curves, c)
			f.Claims = append(f.Claims, Claim{Check: scenario.Check{ID: "B-10-" + g.name + "-" + step.name, Basis: scenario.Quoted, Source: slide, Claim: "Increasing Gi, Gd and Ru will always increase the rate of convergence",
				Metric: "settling time after the step " + step.name + " with a quarter of " + g.name + ", less that with all of it",
				Low:    positive, High: none, Why: "Longer. The slide has no figure.", Reason: step.differs[i]}, Value: Minus(c.Points[0].Y, c.Points[2].Y), Unit: Milliseconds})
		}
		f.Plots = append(f.Plots, p)
	}
	return f
}

// bcnTwoPoints is a source that two switches tell different things.
func bcnTwoPoints() Figure {
	r := bcnRun("two-points")
	return Figure{
		Name: "two-points", Source: "slide Action Items for Next Time", Title: "Two switches sending to the same source",
		Caption: "One source crosses both links, three each cross one. Means over a sliding window of 1 ms.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (Gb/s)", High: 10}, Curves: []Curve{
			curve("through both", r, "both.rate", gbps), curve("three through the first", r, "one.rate", gbps), curve("three through the second", r, "other.rate", gbps),
		}}},
		Claims: bcnChecks("two-points"),
	}
}

// bcnTwoWay is traffic both ways.
func bcnTwoWay() Figure {
	r := bcnRun("two-way")
	const there = "shared.S-T.queue"
	alone := Run{Scenario: r.Scenario, Seeds: true, Edits: [][2]string{{"  - {name: back, from: \"B[1-4]\", to: \"A[1-4]\"}\n", ""}}}
	deviation := func(r Run) Quantity { return packetsOf(r, there+".deviation", 20*ms, 40*ms) }
	return Figure{
		Name: "two-way", Source: "slide Action Items for Next Time", Title: "Two-way traffic",
		Caption: "Four sources at each end of a link of 10 Gb/s, which both directions fill. Means over a sliding window of 1 ms.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{curve("both ways: there", r, there, packets), curve("both ways: back", r, "shared.T-S.queue", packets), curve("one way", alone, there, packets)},
			References: []plot.Reference{{Name: "Qeq = 16 packets", Low: qeqPackets, High: qeqPackets}}}},
		Claims: append(bcnChecks("two-way"),
			Claim{Check: scenario.Check{ID: "BW-5", Claim: "traffic the other way changes little: messages have a priority above it", Metric: "deviation of the queue with traffic both ways, over that one way",
				Low: 0.5, High: 2, Why: "Half and twice. A message waits for one frame at the most, 1.2 us to each switch."}, Value: Over(deviation(r), deviation(alone))},
			Claim{Check: scenario.Check{ID: "BW-6", Claim: "Larger probability of sampling with two way traffic: it steadies the queue here too", Metric: "deviation of the queue with Pm of 0.1, over that with 0.01, both ways",
				Low: 0, High: 1 - 1e-9, Why: "Smaller, as in the convergence study."}, Value: Over(deviation(r.With(setPm+"0.1")), deviation(r))}),
	}
}
