package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu"
	"fabemu/emu/fluid"
	"fabemu/emu/metrics"
	"fabemu/emu/plot"
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

Each rule has a test that names its slide or clause: ~node/rp/qcn_paper_test.go~, ~switchd/cp/qcn_test.go~. Where talk and standard differ, the program has both:

| | the talk | the standard | in a scenario |
|---|---|---|---|
| when a frame is sampled | with a probability from 1 % to 10 %, linear in Fb | each 150 KB to 18.5 KB, by a table of Fb | ~marking: {sampling: linear}~, or ~table~ |
| hyper-active increase | by i x 50 Mb/s at event number i, of byte counter or timer | by 50 Mb/s x (the smaller number of cycles - 5) | ~control: {version: talk}~, or ~standard~ |
| a cycle of the timer | 10 ms | 15 ms | ~control: {timer: 10ms}~; ~none~ is basic QCN |
| cycles and samples vary | they do not | by 15 % up or down | ~jitter~ of both |
| lowest rate | not given | 5 Mb/s | ~control: {min-rate: 5Mb/s}~ |
| rate limiters | "can work with a single rate limiter" | one for each flow | ~control: {shared: true}~ |
| tags | "no header modifications, no tags" | a CN-TAG, where it is asked for | ~control: {cn-tag: true}~ |

The scenarios ~qcn/...~ have the laws of the standard with the talk's 10 ms, unless they say otherwise.

## To run it

The scenarios run seconds of model time at 10 Gb/s, which is for the virtual clock: the 6 s of a hotspot take seconds there. Each has a *short run* too, of half a second or a second, with the same claims and the same ranges:

~~~sh
go run ./cmd/fabemu run qcn/og-hotspot --clock virtual
go run ./cmd/fabemu run qcn/two-points --short --clock virtual
~~~

Over real sockets a short run takes half a minute, at the dilation that the scenario has for it, 25 to 60. Of the eight, on two cores, all claims came out as they do on the virtual clock, in event logs that are equal to the byte; five verdicts were ~faithful~, three ~order-only~.

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

~fabemu reproduce qcn/stability~ is that over the number of sources too, with the equations. They are a model of the loop in which all that comes at random is replaced by its mean: ~go doc ./emu/fluid~ writes them down, with where the approach is from.

## What this is not

* The standard's parameters are taken from its management objects (IEEE8021-CN-MIB), its rules from published implementations of its pseudo-code; neither is from the text of the standard itself.
* The talk's pictures have no numbers beside Qeq and 80 ms. "Stable" is read as a mean of the queue near Qeq and a link that is not idle.
* The switch pauses its sources before it loses a frame: a buffer of 100 packets is where that begins. The talk does not say what its switch does.
* The stability at an RTT of 500 us hangs on chance: see Q-3e.
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
			recoveries(), unitStep(), stability(), points(), completions(), lost(),
		},
	}
}

// qcnChecks takes over the claims that stand in a scenario of QCN: queues in packets.
func qcnChecks(name string) []Claim {
	var claims []Claim
	for _, c := range checks("qcn/" + name) {
		scale, unit := 1.0, Percent
		switch {
		case strings.Contains(c.Metric, ".queue"):
			scale, unit = packets, Plain
		case strings.Contains(c.Metric, ".recovery."), strings.Contains(c.Metric, ".shared."), strings.Contains(c.Metric, ".completion."):
			unit = Milliseconds
		case strings.Contains(c.Metric, " / "), strings.HasSuffix(c.Metric, ".fairness"):
			unit = Plain
		}
		claims = append(claims, Claim{
			ID: c.ID, Basis: c.Basis, Source: c.Source, Says: c.Claim, From: c.From, Measured: c.Metric, Unit: unit,
			Value: scaled(Mean(qcnRun(name), c.Metric, at(c.During[0]), at(c.During[1])), scale),
			Low:   c.Low * scale, High: c.High * scale, Why: c.Why, Differs: c.Reason,
		})
	}
	return claims
}

func qcnRun(name string) Run { return Run{Scenario: "qcn/" + name} }

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
		return Mean(qcnRun(name), "shared.S-B.recovery.95", 4000*ms, 6000*ms)
	}
	return Figure{
		Name: "recovery", Source: "slides Recovery Time, Timer-supported QCN", Title: "Recovery when the link is back",
		Caption: "The end of the hotspot at 4 s. Recovered is the end of the first 10 ms over which the link carries 95 %.",
		Plots:   []Plot{p},
		Claims: []Claim{{
			ID: "QR-1", Source: "slide Timer-supported QCN", Says: "recovery takes several times longer without the timer",
			Measured: "recovery of basic QCN over that with a timer of 10 ms", Value: Over(recovery("basic"), recovery("og-hotspot")),
			Low: 3, High: none, Why: "Several: three or more. The talk has no figure.",
		}},
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

// unitStep is the response to many sources at once, with the equations.
func unitStep() Figure {
	r := qcnRun("unit-step").With("measure.window=2ms", "model.duration=500ms")
	first := plot.Axis{Label: modelTime.Label, High: 60}
	begin := qcnRun("unit-step").With("measure.window=200us", "model.duration=60ms")
	return Figure{
		Name: "unit-step", Source: "slide Unit step response of the network", Title: "Unit step: ten sources at once",
		Caption: "Ten sources without end begin at 0, each at 10 Gb/s. Means over a sliding window of 200 us; the equations are those of package emu/fluid. In them all sources are alike, and swing together until they have settled; in the run each is notified at another time. The equations hold the queue at 100 packets, where sources are paused; what is under way by then takes the run to 400 in its first half millisecond, which is above the picture.",
		Plots: []Plot{
			{Name: "unit-step-queue", Title: "Unit step: queue", X: first, Y: plot.Axis{Label: "queue (packets)", High: 120},
				Curves:     []Curve{curve("run", begin, queue, packets), {Name: "equations", Solved: solved(func(c *fluid.Course) []float64 { return c.Queue }, packets)}},
				References: []plot.Reference{{Name: "talk: Qeq = 22 packets", Low: 22, High: 22}}},
			{Name: "unit-step-rate", Title: "Unit step: mean rate of a source", X: first, Y: plot.Axis{Label: "rate (Gb/s)"},
				Curves: []Curve{curve("run", begin, "sources.rate", 8e-10), {Name: "equations", Solved: solved(func(c *fluid.Course) []float64 { return c.Rate }, 1e-9)}}},
		},
		Claims: append(qcnChecks("unit-step"), Claim{
			ID: "QU-5", Source: "slides TCP--RED: Accuracy of analytical model", Says: "Diff Eqn models are accurate: the queue of the run is that of the equations",
			Measured: "mean queue from 300 to 500 ms, over that of the equations",
			Value: Combine(func(v []float64) float64 {
				c, err := fluid.Standard(10, 50*unit.Microsecond).Solve(500*unit.Millisecond, 5*unit.Microsecond)
				if err != nil {
					return math.NaN()
				}
				return v[0] / c.Mean(c.Queue, 300*unit.Millisecond, 500*unit.Millisecond)
			}, Mean(r, queue, 300*ms, 500*ms)),
			Low: 0.75, High: 1.25, Why: "The talk's pictures show curves that lie upon one another; a quarter is what can be seen there.",
		}),
	}
}

// swing is the standard deviation of the queue of a unit step from 150 to 300 ms, in
// packets.
func swing(r Run) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		for _, s := range x.Metrics.Series() {
			if s.Kind != metrics.LinkQueue || s.Name != "shared.S-B" {
				continue
			}
			n, sum, squares := 0.0, 0.0, 0.0
			for i, t := range s.Times {
				if t >= 150*ms {
					n++
					sum += s.Values[i]
					squares += s.Values[i] * s.Values[i]
				}
			}
			return math.Sqrt(squares/n-sum*sum/n/n) * packets, nil
		}
		return math.NaN(), nil
	})
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
			r := qcnRun("unit-step").With("model.duration=300ms", memory, fmt.Sprintf("defaults.link.propagation=%dus", rtt/2))
			if n == 2 {
				r.Edits = [][2]string{{"A[1-10]", "A[1-2]"}}
			}
			swings[n][rtt] = swing(r)
			points.Points = append(points.Points, Point{float64(rtt), swings[n][rtt]})
		}
		p.Curves = append(p.Curves, points)
	}
	return Figure{
		Name: "stability", Source: "slides Stability (RTT = 50 usecs), (RTT = 500 usecs); Summary of what is to come", Title: "The range of stability",
		Caption: "Standard deviation of the queue from 150 to 300 ms after a unit step, by runs and by the equations of package emu/fluid, of which the runs have in addition the noise of single packets and samples. The equations hold the queue at 100 packets when sources are paused; in the runs it takes in what is under way, up to an RTT of ten links.",
		Plots:   []Plot{p},
		Claims: []Claim{{
			ID: "QX-1", Source: "slide Summary of what is to come", Says: "oscillating queues can underflow: a longer RTT makes the loop oscillate",
			Measured: "deviation of the queue of ten sources at 2000 us, over that at 50 us", Value: Over(swings[10][2000], swings[10][50]),
			Low: 1.5, High: none, Why: "Larger by half or more. The talk has pictures and no figure.",
		}},
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
	mean := func(r Run) Quantity { return Mean(r, "files.completion.mean", 100*ms, 400*ms) }
	longest := func(r Run) Quantity { return Mean(r, "files.completion.max", 100*ms, 400*ms) }
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
			Claim{ID: "QF-3", Source: "slide Flow-level models", Says: "Metrics like average flow completion time reveal the goodness of the schemes: against PAUSE alone",
				Measured: "mean completion with PAUSE alone, over that with QCN", Value: Over(mean(pause), mean(with)),
				Low: 1 + 1e-9, High: none, Why: "Longer; the talk has no figure."},
			Claim{ID: "QF-4", Source: "slide Flow-level models", Says: "... and its variance: against PAUSE alone",
				Measured: "longest completion with PAUSE alone, over that with QCN", Value: Over(longest(pause), longest(with)),
				Low: 1 + 1e-9, High: none, Why: "Longer; the talk has no figure."},
			Claim{ID: "QF-5", Source: "slide Flow-level models", Says: "against no congestion control, where packets are dropped",
				Measured: "transfers that end whole without PAUSE and QCN, over those with QCN",
				Value:    Over(Mean(nothing, "files.transfers", 100*ms, 400*ms), Mean(with, "files.transfers", 100*ms, 400*ms)),
				Low:      0, High: 1 - 1e-9, Why: "Fewer; the talk has no figure."},
		),
	}
}

// lost is what becomes of the loop when notifications are lost.
func lost() Figure {
	var curves []Curve
	for _, c := range [][2]string{{"none is lost", "0"}, {"half are lost", "50"}, {"nine of ten are lost", "90"}} {
		curves = append(curves, curve(c[0], qcnRun("lost-cnm").With("model.duration=500ms", "defaults.switch.marking.lost="+c[1]), queue, packets))
	}
	return Figure{
		Name: "lost-cnm", Source: "slide Switched Ethernet vs Internet", Title: "Notifications that are lost",
		Caption: "The unit step; of the notifications so many are lost at random.",
		Plots:   []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: curves, References: []plot.Reference{{Name: "talk: Qeq = 22 packets", Low: 22, High: 22}}}},
		Claims:  qcnChecks("lost-cnm"),
	}
}
