package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/emu/study/fluid"
	"fabemu/wire/unit"
)

// The talk QCN: Quantized Congestion Notification, Balaji Prabhakar, Stanford: its
// simulations of the OG hotspot, and what it says of unit steps and of completion times.

const (
	shared  = "shared.S-B.utilisation"
	queue   = "shared.S-B.queue"
	packets = 1.0 / 1500 // of a byte, as the talk's queues are counted
)

// aboutQCN is the text before the figures; ~ stands for a backquote.
const aboutQCN = `
QCN was shown in a talk first and became IEEE 802.1Qau later. This is about both.

## The laws

A *congestion point* is a queue of a switch (~switchd/cp/qcn.go~). It samples a frame that joins the queue now and then, and tells the source of that frame how far the queue, of length q, is from where it should be:

    Fb = (Qeq - q) - w (q - the q of the sample before)

If Fb is negative, -Fb goes back as a number from 1 to 63, 63 being for Qeq (2w + 1), in a notification (CNM) with the name of the congestion point, QOffset, QDelta and the head of the sampled frame.

A *reaction point* is in front of a flow (~node/rp/qcn.go~). A notification makes its current rate the target, and takes Fb/128 off the current rate. Then cycles begin, of a byte counter (150 KB) and of a timer, and at the end of each the current rate goes half the way to the target:

| | when | the target |
|---|---|---|
| fast recovery | the first five cycles | stays |
| active increase | the byte counter or the timer is past its five; cycles are half as long now | rises by 5 Mb/s |
| hyper-active increase | both are | rises by multiples of 50 Mb/s |
| extra fast recovery | a notification comes in the first cycle of the byte counter | stays, and only the current rate is lowered |
| target rate reduction | a first cycle ends, and the target is more than ten times the current rate | falls to an eighth |

Of target rate reduction the talk says in which cycle it is enabled, not at which target nor by how much: both are those of the standard.

Each rule has a test that names its slide or clause: ~node/rp/qcn_paper_test.go~, ~switchd/cp/qcn_test.go~. Where talk and standard differ, the program has both:

| | the talk | the standard | in a scenario |
|---|---|---|---|
| when a frame is sampled | "with a probability proportional to Fb": here from 1 % to 10 %, in a line, as its authors published it elsewhere (QP-4) | each 150 KB to 18.5 KB, by a table of Fb | ~marking: {version: talk}~, or ~standard~ |
| hyper-active increase | by i x 50 Mb/s at event number i, of byte counter or timer | by 50 Mb/s x (the smaller number of cycles - 5) | ~control: {version: talk}~, or ~standard~ |
| target rate reduction | in the first cycle of the byte counter | in that of the timer too | the same |
| a cycle of the timer | 10 ms | 15 ms | the same, or ~timer: 10ms~; ~none~ is basic QCN |
| hyper-active increase begins | when "at least 500 pkts have been transmitted since last ding" | up to a cycle earlier: a notification in the first cycle of the byte counter lets that go on | the same |
| cycles and samples vary | not said: they do not | by 15 % up or down | the same, or ~jitter~ of both |
| lowest rate | not given | 5 Mb/s | ~control: {min-rate: 5Mb/s}~ |
| rate limiters | "can work with a single rate limiter" | one for each flow | ~control: {shared: true}~ |
| tags | "no header modifications, no tags" | a CN-TAG, where it is asked for | ~control: {cn-tag: true}~ |

The scenarios ~qcn/...~ have the talk's version, but ~qcn/standard~. What the talk calls the offered rate a source never exceeds (~traffic: paced~): what it could not send in the hotspot does not wait.

## To run it

The scenarios run seconds of model time at 10 Gb/s, which is for the virtual clock: the 6 s of a hotspot take seconds there. Each has a *short run* too, of half a second or a second, with the same claims and the same ranges. It measures over 50 to 150 ms, in which the queue has not always settled, so that with seeds other than its own a claim may fail; what is said of claims below is by the long runs:

~~~sh
go run ./cmd/fabemu run qcn/og-hotspot --clock virtual
go run ./cmd/fabemu run qcn/two-points --short --clock virtual
~~~

Over real sockets a short run takes half a minute, at the dilation that the scenario has for it, 25 to 60. Its event log is that of the virtual clock.

~~~
fabemu run qcn/og-hotspot --short
~~~

That is with ideal timing. With ~--timing actual~ the machines live in measured time; what a rate limiter then lets go, beside what its reaction point asks for, by the kernel's time stamps, is in [timing](timing.md).

What the frames say, and what comes of an RTT:

~~~sh
go run ./cmd/fabemu run qcn/unit-step --clock virtual --set model.duration=1ms --set measure.window=200us --pcap --out notified
go run ./cmd/fabemu dump notified/fabric.pcapng | grep qoffset | head
go run ./cmd/fabemu sweep qcn/unit-step --set model.duration=300ms --set "defaults.switch.memory=700KB per port" --set defaults.link.propagation=25us,100us,250us --metric shared.S-B.queue --metric shared.S-B.utilisation --out rtt
~~~

~fabemu reproduce qcn/stability~ is that over the number of sources too, with the equations. They are those of the rules of the standard, a model of the loop in which all that comes at random is replaced by its mean: ~go doc ./emu/study/fluid~ writes them down, with where the approach is from.

## What this is not

* The standard's parameters are taken from its management objects (IEEE8021-CN-MIB), its rules from published implementations of its pseudo-code; neither is from the text of the standard itself.
* The talk's pictures have no numbers beside Qeq and 80 ms. "Stable" is read as a mean of the queue near Qeq and a link that is not idle.
* The switch pauses its sources before it loses a frame: a buffer of 100 packets is where that begins. The talk does not say what its switch does.
* What a fabric without PAUSE loses is not sent again: there a transfer is whole, or it never ends.
`

func qcn() *Paper {
	return &Paper{
		Name:   "qcn",
		Title:  "Quantized Congestion Notification",
		Source: "QCN (B. Prabhakar, Stanford)",
		About:  strings.ReplaceAll(aboutQCN, "~", "`"),
		Figures: []Figure{
			hotspot("og-hotspot", "slides Simulations: OG Hotspot, Recovery Time", "OG hotspot: timer of 10 ms, RTT of 50 us"),
			hotspot("rtt-500us", "slides Stability (RTT = 500 usecs)", "OG hotspot: RTT of 500 us"),
			hotspot("basic", "slide Basic QCN", "OG hotspot: basic QCN, without a timer"),
			hotspot("standard", "IEEE 802.1Qau, defaults", "OG hotspot: defaults of the standard"),
			recoveries(), rules(), singleLimiter(), unitStep(), stability(), points(), completions(), lost(),
		},
	}
}

// qcnChecks takes over the claims that stand in a scenario of QCN.
func qcnChecks(name string) []Claim { return packetChecks(qcnRun(name)) }

// packetChecks takes over the claims that stand in the scenario of a run of Ethernet: queues
// in packets.
func packetChecks(r Run) []Claim { return ethernetChecks(r, packets) }

// ethernetChecks is packetChecks with queues in other units, of which a byte is so many.
func ethernetChecks(r Run, queues float64) []Claim {
	return claimsOf(r.Scenario, func(c *scenario.Check) Claim {
		scale, unit := 1.0, Percent
		switch {
		case strings.Contains(c.Metric, " / "), strings.HasSuffix(c.Metric, ".synchrony"):
			unit = Plain
		case strings.HasSuffix(c.Metric, ".queue.period"), strings.Contains(c.Metric, ".recovery."), strings.Contains(c.Metric, ".shared."), strings.Contains(c.Metric, ".completion."):
			unit = Milliseconds
		case strings.Contains(c.Metric, ".queue"):
			scale, unit = queues, Plain
		case strings.HasSuffix(c.Metric, ".fairness"), strings.HasSuffix(c.Metric, ".notifications"), strings.HasSuffix(c.Metric, ".drops"):
			unit = Plain
		case strings.HasSuffix(c.Metric, ".rate"):
			scale, unit = 8e-9, Plain // Gb/s
		}
		claim := Claim{Check: *c, Unit: unit, Value: scaled(Mean(r.seeded(), c.Metric, at(c.During[0]), at(c.During[1])), scale)}
		claim.Low, claim.High = c.Low*scale, c.High*scale
		return claim
	})
}

func qcnRun(name string) Run { return Run{Scenario: "qcn/" + name} }

// seeded is the run with several seeds.
func (r Run) seeded() Run {
	r.Seeds = true
	return r
}

// scaled is q times a factor.
func scaled(q Quantity, by float64) Quantity {
	return Combine(func(v []float64) float64 { return v[0] * by }, q)
}

// curve is how a metric of a run went.
func curve(name string, r Run, metric string, scale float64) Curve {
	return Curve{Name: name, Scale: scale, Course: &Course{r, metric}}
}

var modelTime = plot.Axis{Label: "model time (ms)"}

// hotspot is the ten sources whose link has a twentieth of its rate for two seconds.
func hotspot(name, source, title string) Figure {
	r := qcnRun(name)
	const perSource = 8e-9 // Gb/s of bytes per second
	seconds := plot.Axis{Label: modelTime.Label, High: 6000}
	return Figure{
		Name: name, Source: source, Title: title,
		Caption: "Ten sources offer 1.05 Gb/s each to a link of 10 Gb/s, which has 0.5 Gb/s from 2 to 4 s. Means over a sliding window of 10 ms centred on each point; queues in packets of 1500 B. The talk's values are lines. Where feedback has no curve nobody was notified.",
		Plots: []Plot{
			{Name: name + "-queue", Title: title + ": queue", X: seconds, Y: plot.Axis{Label: "queue (packets)"},
				Curves:     []Curve{curve("queue", r, queue, packets)},
				References: []plot.Reference{{Name: "talk: Qeq = 22 packets", Low: 22, High: 22}}},
			{Name: name + "-rates", Title: title + ": rates", X: seconds, Y: plot.Axis{Label: "rate (Gb/s)"},
				Curves: []Curve{curve("shared link", r, "shared.S-B.rate", perSource), curve("source A1", r, "sources.A1.rate", perSource), curve("source A10", r, "sources.A10.rate", perSource)}},
			{Name: name + "-reaction", Title: title + ": the reaction point of A1, from the hotspot on", X: plot.Axis{Label: modelTime.Label, Low: 1900, High: 6000}, Y: plot.Axis{Label: "rate (Gb/s)", High: 2},
				Curves: []Curve{curve("current rate", r, "sources.A1.limit", perSource), curve("target rate", r, "sources.A1.target", perSource)}},
			{Name: name + "-fb", Title: title + ": feedback", X: seconds, Y: plot.Axis{Label: "Fb of notifications (1/63 of its maximum)"},
				Curves: []Curve{curve("mean of all sources", r, "sources.fb", 1)}},
		},
		Claims: qcnChecks(name),
	}
}

// recoveries lays the ends of the hotspots beside one another.
func recoveries() Figure {
	p := Plot{
		X: plot.Axis{Label: "model time (ms)", Low: 3950, High: 4800}, Y: plot.Axis{Label: "link (% of 10 Gb/s)", High: 105},
		References: []plot.Reference{{Name: "talk: recovery time 80 ms", Low: 95, High: 95, From: 4000, To: 4080}},
	}
	for _, c := range [][2]string{{"timer 10 ms, RTT 50 us", "og-hotspot"}, {"RTT 500 us", "rtt-500us"}, {"standard", "standard"}, {"basic, no timer", "basic"}} {
		p.Curves = append(p.Curves, curve(c[0], qcnRun(c[1]), shared, 100))
	}
	recovery := func(name string) Quantity {
		return Mean(qcnRun(name).seeded(), "shared.S-B.recovery.95", 4000*ms, 6000*ms)
	}
	return Figure{
		Name: "recovery", Source: "slides Recovery Time, Timer-supported QCN", Title: "Recovery when the link is back",
		Caption: "The end of the hotspot at 4 s. Recovered is the end of the first 10 ms over which the link carries 95 %.",
		Plots:   []Plot{p},
		Claims: []Claim{{Check: scenario.Check{
			ID: "QR-1", Claim: "recovery takes several times longer without the timer",
			Metric: "recovery of basic QCN over that with a timer of 10 ms",
			Low:    3, High: none, Why: "Several: three or more. The talk has no figure.",
		}, Value: Over(recovery("basic"), recovery("og-hotspot"))}, {Check: scenario.Check{
			ID: "QR-2", Claim: "recovery takes longer with the timer of the standard",
			Metric: "recovery with the defaults of the standard less that with a timer of 10 ms",
			Low:    positive, High: none, Why: "Longer: five cycles of 15 ms are 25 ms more than five of 10 ms; what follows depends on the phase of both.",
		}, Unit: Milliseconds, Value: Minus(recovery("standard"), recovery("og-hotspot"))}},
	}
}

// solved is the equations of the unit step.
func solved(take func(*fluid.Course) []float64, scale float64) func() (x, y []float64, err error) {
	return func() (x, y []float64, err error) {
		c, err := fluid.Standard(10, 50*unit.Microsecond).Solve(500*unit.Millisecond, 5*unit.Microsecond)
		if err != nil {
			return nil, nil, err
		}
		const step = 20 // of the equations' to a point
		for i, v := range take(c) {
			if i%step == 0 {
				x, y = append(x, float64(i)*c.Step.Seconds()*1e3), append(y, v*scale)
			}
		}
		return x, y, nil
	}
}

// byTheStandard is the unit step with the rules that package fluid has the equations of.
func byTheStandard(sets ...string) Run {
	return qcnRun("unit-step").With("defaults.switch.marking.version=standard", "defaults.flow.control.version=standard", "defaults.flow.control.timer=10ms").With(sets...)
}

// unitStep is the response to many sources at once, with the equations.
func unitStep() Figure {
	first := plot.Axis{Label: modelTime.Label, High: 60}
	begin := byTheStandard("measure.window=200us", "model.duration=60ms")
	return Figure{
		Name: "unit-step", Source: "slide Unit step response of the network", Title: "Unit step: ten sources at once",
		Caption: "Ten sources without end begin at 0, each at 10 Gb/s. The pictures, and QU-5, have the rules of the standard with a timer of 10 ms, whose equations are those of package emu/study/fluid; means over a sliding window of 200 us. In them all sources are alike, and swing together until they have settled; in the run each is notified at another time. The equations hold the queue at 100 packets, where sources are paused; what is under way by then takes the run to 400 in its first half millisecond, which is above the picture.",
		Plots: []Plot{
			{Name: "unit-step-queue", Title: "Unit step: queue", X: first, Y: plot.Axis{Label: "queue (packets)", High: 120},
				Curves:     []Curve{curve("run", begin, queue, packets), {Name: "equations", Solved: solved(func(c *fluid.Course) []float64 { return c.Queue }, packets)}},
				References: []plot.Reference{{Name: "talk: Qeq = 22 packets", Low: 22, High: 22}}},
			{Name: "unit-step-rate", Title: "Unit step: mean rate of a source", X: first, Y: plot.Axis{Label: "rate (Gb/s)"},
				Curves: []Curve{curve("run", begin, "sources.rate", 8e-10), {Name: "equations", Solved: solved(func(c *fluid.Course) []float64 { return c.Rate }, 1e-9)}}},
		},
		Claims: append(qcnChecks("unit-step"), Claim{Check: scenario.Check{
			ID: "QU-5", Claim: "the queue of the run is that of the equations",
			Metric: "mean queue from 300 to 500 ms, over that of the equations",
			Low:    0.75, High: 1.25, Why: "A quarter up or down: the equations leave out what is random.",
		}, Value: Combine(func(v []float64) float64 {
			c, err := fluid.Standard(10, 50*unit.Microsecond).Solve(500*unit.Millisecond, 5*unit.Microsecond)
			if err != nil {
				return math.NaN()
			}
			return v[0] / c.Mean(c.Queue, 300*unit.Millisecond, 500*unit.Millisecond)
		}, Mean(byTheStandard("measure.window=2ms", "model.duration=500ms").seeded(), queue, 300*ms, 500*ms))}),
	}
}

// swing is the standard deviation of the queue of a unit step from 150 to 300 ms, in
// packets.
func swing(r Run) Quantity {
	return scaled(Mean(r, "shared.S-B.queue.deviation", 150*ms, 300*ms), packets)
}

// stability is how far the queue of a unit step swings, over RTT and number of sources.
func stability() Figure {
	const memory = "defaults.switch.memory=2600KB per port"
	p := Plot{X: plot.Axis{Label: "RTT (us of model time)"}, Y: plot.Axis{Label: "deviation of the queue (packets)"}, References: []plot.Reference{{Name: "Qeq: it runs empty", Low: 22, High: 22}}}
	swings := map[int]map[int]Quantity{}
	rtts := []int{50, 100, 200, 500, 1000, 2000}
	for _, n := range []int{2, 10, 50} {
		p.Curves = append(p.Curves, Curve{Name: fmt.Sprintf("equations, %d sources", n), Solved: func() (x, y []float64, err error) {
			for _, rtt := range rtts {
				c, err := fluid.Standard(n, unit.Duration(rtt)*unit.Microsecond).Solve(300*unit.Millisecond, 5*unit.Microsecond)
				if err != nil {
					return nil, nil, err
				}
				x, y = append(x, float64(rtt)), append(y, c.Deviation(c.Queue, 150*unit.Millisecond, 300*unit.Millisecond)*packets)
			}
			return x, y, nil
		}})
		if n == 50 {
			continue
		}
		points := Curve{Name: fmt.Sprintf("runs, %d sources", n)}
		swings[n] = map[int]Quantity{}
		for _, rtt := range rtts {
			r := byTheStandard("model.duration=300ms", memory, fmt.Sprintf("defaults.link.propagation=%dus", rtt/2)).seeded()
			if n == 2 {
				r.Edits = [][2]string{{"A[1-10]", "A[1-2]"}}
			}
			swings[n][rtt] = swing(r)
			points.Points = append(points.Points, Point{float64(rtt), swings[n][rtt]})
		}
		p.Curves = append(p.Curves, points)
	}
	return Figure{
		Name: "stability", Source: "slides Stability (RTT = 50 usecs), (RTT = 500 usecs)", Title: "The range of stability",
		Caption: "Rules of the standard, with a timer of 10 ms. Standard deviation of the queue from 150 to 300 ms after a unit step, by runs and by the equations of package emu/study/fluid, of which the runs have in addition the noise of single packets and samples. The equations hold the queue at 100 packets when sources are paused; in the runs it takes in what is under way, up to an RTT of ten links.",
		Plots:   []Plot{p},
		Claims: []Claim{{Check: scenario.Check{
			ID: "QX-1", Claim: "a longer RTT makes the loop oscillate",
			Metric: "deviation of the queue of ten sources at 2000 us, over that at 50 us",
			Low:    1.5, High: none, Why: "Larger by half or more. The talk has pictures and no figure.",
		}, Value: Over(swings[10][2000], swings[10][50])}},
	}
}

// points is a source through two congestion points.
func points() Figure {
	r := qcnRun("two-points")
	return Figure{
		Name: "two-points", Source: "slide Congestion management loop components", Title: "A source through two congestion points",
		Caption: "One source crosses both links, three each cross one. Means over a sliding window of 20 ms.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (Gb/s)", High: 10}, Curves: []Curve{
			curve("through both", r, "both.rate", 8e-9), curve("three through the first", r, "one.rate", 8e-9), curve("three through the second", r, "other.rate", 8e-9),
		}}},
		Claims: qcnChecks("two-points"),
	}
}

// completions compares the times of transfers beside a hotspot.
func completions() Figure {
	with := qcnRun("fct")
	pause := with.With("defaults.flow.control.law=fixed")
	nothing := pause.With("defaults.link.flow-control=none")
	mean := func(r Run) Quantity { return Mean(r.seeded(), "files.completion.mean", 100*ms, 400*ms) }
	whole := func(r Run) Quantity { return Mean(r.seeded(), "files.transfers", 100*ms, 400*ms) }
	return Figure{
		Name: "fct", Source: "slide Flow-level models", Title: "Completion times beside a hotspot",
		Caption: "Transfers of 100 KB cross a trunk together with what overloads the link to another host: with QCN, with PAUSE alone, and with no congestion control and no PAUSE. In the last the hotspot fills what memory the switch has for the trunk, so that the transfers lose packets too; nothing sends those again.",
		Plots: []Plot{{
			Title: "Transfers beside a hotspot: what they carry", X: modelTime, Y: plot.Axis{Label: "all transfers (Gb/s)"},
			Curves: []Curve{
				curve("QCN", with, "files.rate", 8e-9), curve("PAUSE alone", pause, "files.rate", 8e-9), curve("nothing, in pieces", nothing, "files.rate", 8e-9),
			},
			References: []plot.Reference{{Name: "offered", Low: 8, High: 8}},
		}},
		Claims: append(qcnChecks("fct"),
			Claim{Check: scenario.Check{ID: "QF-3", Claim: "the average flow completion time is longer with PAUSE alone than with QCN",
				Metric: "mean completion with PAUSE alone, over that with QCN",
				Low:    1 + 1e-9, High: none, Why: "Longer. The talk names the metric, \"average flow completion time\", and compares nothing by it."}, Value: Over(mean(pause), mean(with))},
			Claim{Check: scenario.Check{ID: "QF-4", Claim: "its variance is larger with PAUSE alone than with QCN",
				Metric: "variance of the completion times with PAUSE alone, over that with QCN",
				Low:    1 + 1e-9, High: none, Why: "Larger. As QF-3: \"and its variance\"."}, Value: Over(variance(pause.seeded()), variance(with.seeded()))},
			Claim{Check: scenario.Check{ID: "QF-5", Claim: "without congestion control and PAUSE fewer transfers end whole",
				Metric: "transfers that end whole without PAUSE and QCN, over those with QCN",
				Low:    0, High: 1 - 1e-9, Why: "Fewer: packets are dropped."}, Value: Over(whole(nothing), whole(with))},
		),
	}
}

// variance is that of the times of the transfers of fct, in square seconds.
func variance(r Run) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		n, sum, squares := 0.0, 0.0, 0.0
		for i, f := range x.Metrics.Fabric().Flows {
			if f.Group != "files" {
				continue
			}
			for _, t := range x.Metrics.Transfers(i) {
				if t.Ended < 100*ms || t.Missing > 0 {
					continue
				}
				v := t.Completion().Seconds()
				n, sum, squares = n+1, sum+v, squares+v*v
			}
		}
		return squares/n - sum/n*sum/n, nil
	})
}

// rules are the rules of the talk that can be seen from outside.
func rules() Figure {
	hotspot := qcnRun("og-hotspot").seeded()
	const limited = "slide Basic QCN"
	// Sources that do not answer, held at a level of the queue by PAUSE.
	held := func(high, low string) Run {
		return qcnRun("unit-step").With("model.duration=100ms", "defaults.flow.control.law=fixed", "defaults.link.propagation=1us", "defaults.link.rate=1.2Gb/s",
			"links.shared.rate=10Gb/s", "defaults.switch.high="+high, "defaults.switch.low="+low).seeded()
	}
	perFb := func(r Run) Quantity { // notifications for each frame and unit of Fb
		in := func(metric string) Quantity { return Mean(r, metric, 20*ms, 100*ms) }
		return Combine(func(v []float64) float64 { return v[0] / v[1] / v[2] }, in("sources.notifications"), in("sources.rate"), in("sources.fb"))
	}
	below := qcnRun("og-hotspot").With("model.duration=100ms")
	below.Edits = [][2]string{{"A[1-10]", "A[1-9]"}}
	shorter := qcnRun("og-hotspot").With("model.duration=1s", "measure.window=4ms")
	shorter.Edits = [][2]string{{"at: 2s", "at: 100ms"}, {"at: 4s", "at: 700ms"}}
	var offered []Quantity
	for i := range 10 {
		offered = append(offered, highest(hotspot, fmt.Sprintf("A%d-S.rate", i+1), 10*ms))
	}
	return Figure{
		Name: "rules", Source: "slides Basic QCN, Timer-supported QCN, Simulations: OG Hotspot", Title: "Rules that can be seen from outside",
		Caption: "By the runs of the OG hotspot and of the unit step. For the probability sources that do not answer are held by PAUSE, so that the queue is nearly constant, at 57 and at 192 KB.",
		Claims: []Claim{{Check: scenario.Check{
			ID: "QP-1", Basis: scenario.Quoted, Source: "slide Simulations: OG Hotspot", Claim: "Max offered rate per source: 1.05G",
			Metric: "highest rate of any source's line over 10 ms, in Gb/s",
			Low:    1, High: 1.0524, Why: "The talk's figure, and two packets of 12 kb in 10 ms: one that is cut by an end of the 10 ms, and one that a source may make up for.",
		}, Value: scaled(Highest(offered...), 8e-9)}, {Check: scenario.Check{
			ID: "QP-2", Basis: scenario.Quoted, Source: limited, Claim: "quantize Fb to 6 bits",
			Metric: "largest Fb of notifications while the unit step fills the queue",
			Low:    63, High: 63, Why: "A queue of 400 packets is far above what 6 bits can say: 63.",
		}, Value: highest(qcnRun("unit-step").With("measure.window=200us", "model.duration=60ms").seeded(), "sources.fb", 10*unit.Time(unit.Microsecond))}, {Check: scenario.Check{
			ID: "QP-3", Basis: scenario.Quoted, Source: limited, Claim: "reflect only negative Fb values back to Reaction Point",
			Metric: "notifications in 100 ms of nine sources, which offer 9.45 Gb/s",
			Low:    0, High: 0, Why: "The queue stays below Qeq, and Fb is positive in each of some 800 samples.",
		}, Value: Mean(below.seeded(), "sources.notifications", 0, 100*ms)}, {Check: scenario.Check{
			ID: "QP-4", Basis: scenario.Quoted, Source: limited, Claim: "with a probability proportional to Fb",
			Metric: "notifications for each frame and unit of Fb: with Fb at 60, over those at 9",
			Low:    0.9, High: 1.1, Why: "Proportional: the same at any Fb. A tenth is four times what some 1500 notifications leave to chance.",
			Reason: "The talk does not say of what the probability is a part. The program has what its authors published elsewhere: a line from 1 % at Fb = 0 to 10 % at 63, which is not through the origin; it makes this 0.63.",
		}, Value: Over(perFb(held("19500B", "18KB")), perFb(held("6KB", "4500B")))}, {Check: scenario.Check{
			ID: "QP-5", Basis: scenario.Quoted, Source: "slide Timer-supported QCN", Claim: "RL goes to HAI only after 500 pkts have been sent",
			Metric: "fewest packets of any source between a notification and hyper-active increase, after the hotspot",
			Low:    500, High: none, Why: "The talk's figure. Packets are counted up to 200 us before the increase.",
		}, Value: untilHyper(shorter.seeded(), 700*ms)}},
	}
}

// highest is the greatest mean of a metric over windows that follow one another. Those
// without a value do not count.
func highest(r Run, metric string, window unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		m, err := metrics.Compile(metric, x.Metrics.Fabric())
		if err != nil {
			return 0, err
		}
		most := math.Inf(-1)
		for t := unit.Time(0); t+window <= x.Metrics.End(); t += window {
			if v := m.Over(x.Metrics, t, t+window); v > most {
				most = v
			}
		}
		return most, nil
	})
}

// untilHyper is how many packets a source has sent since its last notification when
// hyper-active increase begins after an instant, the fewest of all ten. A target that rises
// by 40 Mb/s within 400 us is hyper-active increase: in that time active increase adds at
// most 5 Mb/s for the timer and as much for the byte counter, at up to 1.05 Gb/s.
func untilHyper(r Run, after unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		const step = unit.Time(200 * unit.Microsecond) // a twentieth of the window
		fewest := math.NaN()
		for i := range 10 {
			var of [3]metrics.Metric
			for k, quantity := range []string{"rate", "notifications", "target"} {
				var err error
				if of[k], err = metrics.Compile(fmt.Sprintf("sources.A%d.%s", i+1, quantity), x.Metrics.Fabric()); err != nil {
					return 0, err
				}
			}
			var sent [3]float64 // packets since the last notification: now, and one and two steps ago
			var target [3]float64
			for t := unit.Time(0); t < x.Metrics.End(); t += step {
				over := func(k int) float64 { return of[k].Over(x.Metrics, t, t+step) }
				now := sent[0] + over(0)*step.Seconds()*packets
				if over(1) > 0 {
					now = 0
				}
				sent = [3]float64{now, sent[0], sent[1]}
				target = [3]float64{over(2), target[0], target[1]}
				if t > after && target[0]-target[2] >= 40e6/8 {
					fewest = lower(fewest, sent[2])
					break
				}
			}
		}
		return fewest, nil
	})
}

// lower is the lower of two numbers, of which the first may be none.
func lower(a, b float64) float64 {
	if a < b {
		return a
	}
	return b
}

// singleLimiter is a hotspot with one rate limiter for the flows of a source.
func singleLimiter() Figure {
	r := qcnRun("single-limiter")
	return Figure{
		Name: "single-limiter", Source: "slide Basic QCN: Outcomes/results", Title: "A single rate limiter",
		Caption: "The hotspot, from 300 to 1500 ms, of ten sources with two flows each and one rate limiter for both. A third flow of each source goes elsewhere, with a priority of its own, so that PAUSE for the others does not stop it. Means over a sliding window of 10 ms.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (Gb/s)"}, Curves: []Curve{
			curve("shared link", r, "shared.S-B.rate", 8e-9), curve("ten flows elsewhere", r, "elsewhere.rate", 8e-9),
		}}},
		Claims: qcnChecks("single-limiter"),
	}
}

// lost is what becomes of the loop when notifications are lost.
func lost() Figure {
	var curves []Curve
	for _, c := range [][2]string{{"none is lost", "0"}, {"half are lost", "50"}, {"nine of ten are lost", "90"}} {
		curves = append(curves, curve(c[0], qcnRun("lost-cnm").With("model.duration=500ms", "defaults.switch.marking.lost="+c[1]), queue, packets))
	}
	return Figure{
		Name: "lost-cnm", Source: "beside the talk", Title: "Notifications that are lost",
		Caption: "The unit step; of the notifications so many are lost at random.",
		Plots:   []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: curves, References: []plot.Reference{{Name: "talk: Qeq = 22 packets", Low: 22, High: 22}}}},
		Claims:  qcnChecks("lost-cnm"),
	}
}
