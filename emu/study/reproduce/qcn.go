package reproduce

import (
	"fmt"
	"math"
	"sync"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
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

func qcn() *Paper {
	return worded(&Paper{
		Name:   "qcn",
		Title:  "Quantized Congestion Notification",
		Source: "QCN (B. Prabhakar, Stanford)",
		About:  read("qcn.md"),
		units:  queuesIn(packets),
		Figures: []Figure{
			{Name: "og-hotspot", Source: "slides Simulations: OG Hotspot, Recovery Time", Title: "OG hotspot: timer of 10 ms, RTT of 50 us", describe: hotspot},
			{Name: "rtt-500us", Source: "slides Stability (RTT = 500 usecs)", Title: "OG hotspot: RTT of 500 us", describe: hotspot},
			{Name: "basic", Source: "slide Basic QCN", Title: "OG hotspot: basic QCN, without a timer", describe: hotspot},
			{Name: "standard", Source: "IEEE 802.1Qau, defaults", Title: "OG hotspot: defaults of the standard", describe: hotspot},
			{Name: "recovery", Source: "slides Recovery Time, Timer-supported QCN", Title: "Recovery when the link is back", describe: recoveries},
			{Name: "rules", Source: "slides Basic QCN, Timer-supported QCN, Simulations: OG Hotspot", Title: "Rules that can be seen from outside", describe: rules},
			{Name: "single-limiter", Source: "slide Basic QCN: Outcomes/results", Title: "A single rate limiter", describe: singleLimiter},
			{Name: "unit-step", Source: "slide Unit step response of the network", Title: "Unit step: ten sources at once", describe: unitStep},
			{Name: "stability", Source: "slides Stability (RTT = 50 usecs), (RTT = 500 usecs)", Title: "The range of stability", describe: stability},
			{Name: "two-points", Source: "slide Congestion management loop components", Title: "A source through two congestion points", describe: points},
			{Name: "fct", Source: "slide Flow-level models", Title: "Completion times beside a hotspot", describe: completions},
			{Name: "conclusion", Source: "slide Conclusion", Title: "TCP, bursts and several paths", describe: qcnConclusion},
			{Name: "lost-cnm", Source: "beside the talk", Title: "Notifications that are lost", describe: lost},
		},
	})
}

func qcnRun(name string) Run { return Run{Scenario: "qcn/" + name} }

// seeded is the run with several seeds.
func (r Run) seeded() Run {
	r.Seeds = true
	return r
}

// scaled is q times a factor: no longer in the unit of q.
func scaled(q Quantity, by float64) Quantity {
	if by == 1 {
		return q
	}
	return Combine(func(v []float64) float64 { return v[0] * by }, q)
}

// curve is how a metric of a run went.
func curve(name string, r Run, metric string, scale float64) Curve {
	return Curve{Name: name, Scale: scale, Course: &Course{r, metric}}
}

var modelTime = plot.Axis{Label: "model time (ms)"}

// hotspot is the ten sources whose link has a twentieth of its rate for two seconds.
func hotspot(f *Figure) {
	r, name, title := qcnRun(f.Name), f.Name, f.Title
	seconds := plot.Axis{Label: modelTime.Label, High: 6000}
	f.Plots = []Plot{
		{Name: name + "-queue", Title: title + ": queue", X: seconds, Y: plot.Axis{Label: "queue (packets)"},
			Curves:     []Curve{curve("queue", r, queue, packets)},
			References: level("talk: Qeq = 22 packets", 22)},
		{Name: name + "-rates", Title: title + ": rates", X: seconds, Y: plot.Axis{Label: "rate (Gb/s)"},
			Curves: []Curve{curve("shared link", r, "shared.S-B.rate", gbps), curve("source A1", r, "sources.A1.rate", gbps), curve("source A10", r, "sources.A10.rate", gbps)}},
		{Name: name + "-reaction", Title: title + ": the reaction point of A1, from the hotspot on", X: plot.Axis{Label: modelTime.Label, Low: 1900, High: 6000}, Y: plot.Axis{Label: "rate (Gb/s)", High: 2},
			Curves: []Curve{curve("current rate", r, "sources.A1.limit", gbps), curve("target rate", r, "sources.A1.target", gbps)}},
		{Name: name + "-fb", Title: title + ": feedback", X: seconds, Y: plot.Axis{Label: "Fb of notifications (1/63 of its maximum)"},
			Curves: []Curve{curve("mean of all sources", r, "sources.fb", 1)}},
	}
}

// recoveries lays the ends of the hotspots beside one another.
func recoveries(f *Figure) {
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
	f.Plots = []Plot{p}
	f.claim("QR-1", Over(recovery("basic"), recovery("og-hotspot")))
	f.claim("QR-2", Minus(recovery("standard"), recovery("og-hotspot")))
	shorter := qcnRun("og-hotspot").With("defaults.flow.control.byte-reset=75KB")
	f.claim("QR-3", Over(Mean(shorter.seeded(), "shared.S-B.recovery.95", 4000*ms, 6000*ms), recovery("og-hotspot")))
}

// byTheStandard is the unit step with the rules that package fluid has the equations of.
func byTheStandard(sets ...string) Run {
	return qcnRun("unit-step").With("defaults.switch.marking.version=standard", "defaults.flow.control.version=standard", "defaults.flow.control.timer=10ms").With(sets...)
}

// unitStep is the response to many sources at once, with the equations.
func unitStep(f *Figure) {
	first := plot.Axis{Label: modelTime.Label, High: 60}
	begin := byTheStandard("measure.window=200us", "model.duration=60ms")
	solve := sync.OnceValue(func() *fluid.Course {
		return must(fluid.Standard(10, 50*unit.Microsecond).Solve(500*unit.Millisecond, 5*unit.Microsecond))
	})
	equations := func(take func(*fluid.Course) []float64, scale float64) Curve {
		return Curve{Name: "equations", Solved: func() (x, y []float64) {
			const step = 20 // of the equations' to a point
			for i, v := range take(solve()) {
				if i%step == 0 {
					x, y = append(x, float64(i)*solve().Step.Seconds()*1e3), append(y, v*scale)
				}
			}
			return x, y
		}}
	}
	f.Plots = []Plot{
		{Name: "unit-step-queue", Title: "Unit step: queue", X: first, Y: plot.Axis{Label: "queue (packets)", High: 120},
			Curves:     []Curve{curve("run", begin, queue, packets), equations(func(c *fluid.Course) []float64 { return c.Queue }, packets)},
			References: level("talk: Qeq = 22 packets", 22)},
		{Name: "unit-step-rate", Title: "Unit step: mean rate of a source", X: first, Y: plot.Axis{Label: "rate (Gb/s)"},
			Curves: []Curve{curve("run", begin, "sources.rate", 8e-10), equations(func(c *fluid.Course) []float64 { return c.Rate }, 1e-9)}},
	}
	f.claim("QU-5", Combine(func(v []float64) float64 {
		return v[0] / solve().Mean(solve().Queue, 300*unit.Millisecond, 500*unit.Millisecond)
	}, Mean(byTheStandard("measure.window=2ms", "model.duration=500ms").seeded(), queue, 300*ms, 500*ms)))
}

// swing is the standard deviation of the queue of a unit step from 150 to 300 ms, in
// packets.
func swing(r Run) Quantity {
	return scaled(Mean(r, "shared.S-B.queue.deviation", 150*ms, 300*ms), packets)
}

// stability is how far the queue of a unit step swings, over RTT and number of sources.
func stability(f *Figure) {
	const memory = "defaults.switch.memory=2600KB per port"
	p := Plot{X: plot.Axis{Label: "RTT (us of model time)"}, Y: plot.Axis{Label: "deviation of the queue (packets)"}, References: level("Qeq: it runs empty", 22)}
	swings := map[int]map[int]Quantity{}
	rtts := []int{50, 100, 200, 500, 1000, 2000}
	for _, n := range []int{2, 10, 50} {
		p.Curves = append(p.Curves, computed(fmt.Sprintf("equations, %d sources", n), rtts, func(rtt int) float64 {
			c := must(fluid.Standard(n, unit.Duration(rtt)*unit.Microsecond).Solve(300*unit.Millisecond, 5*unit.Microsecond))
			return c.Deviation(c.Queue, 150*unit.Millisecond, 300*unit.Millisecond) * packets
		}))
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
	f.Plots = []Plot{p}
	f.claim("QX-1", Over(swings[10][2000], swings[10][50]))
}

// points is a source through two congestion points.
func points(f *Figure) {
	r := qcnRun("two-points")
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (Gb/s)", High: 10}, Curves: []Curve{
		curve("through both", r, "both.rate", gbps), curve("three through the first", r, "one.rate", gbps), curve("three through the second", r, "other.rate", gbps),
	}}}
}

// completions compares the times of transfers beside a hotspot.
func completions(f *Figure) {
	with := qcnRun("fct")
	pause := with.With("defaults.flow.control.law=fixed")
	nothing := pause.With("defaults.link.flow-control=none")
	mean := func(r Run) Quantity { return Mean(r.seeded(), "files.completion.mean", 100*ms, 400*ms) }
	whole := func(r Run) Quantity { return Mean(r.seeded(), "files.transfers", 100*ms, 400*ms) }
	f.Plots = []Plot{{
		Title: "Transfers beside a hotspot: what they carry", X: modelTime, Y: plot.Axis{Label: "all transfers (Gb/s)"},
		Curves: []Curve{
			curve("QCN", with, "files.rate", gbps), curve("PAUSE alone", pause, "files.rate", gbps), curve("nothing, in pieces", nothing, "files.rate", gbps),
		},
		References: level("offered", 8),
	}}
	f.claim("QF-3", Over(mean(pause), mean(with)))
	f.claim("QF-4", Over(variance(pause.seeded()), variance(with.seeded())))
	f.claim("QF-5", Over(whole(nothing), whole(with)))
}

// qcnConclusion is of what the talk says that it was tested, and of which it shows nothing.
func qcnConclusion(f *Figure) {
	uncontrolled := func(r Run) Run {
		return r.With("defaults.switch.marking.scheme=none", "defaults.flow.control.law=fixed")
	}
	stalled := func(r Run) Quantity { return Mean(r, "sources.stalled.flow-control", 100*ms, 1000*ms) }
	var held []Quantity
	for _, burst := range []string{"250KB", "2500KB", "25MB"} {
		r := qcnRun("unit-step").seeded().With("model.duration=1s", "flows.sources.traffic=bursts", "flows.sources.rate=0.8Gb/s", "flows.sources.burst="+burst)
		held = append(held, Over(stalled(r), stalled(uncontrolled(r))))
	}
	paths := Run{Scenario: "ethernet/leaf-spine", Seeds: true}.With("model.duration=100ms", "defaults.flow.load=0.4",
		"defaults.switch.marking.scheme=qcn", "defaults.switch.marking.qeq=33KB", "defaults.switch.marking.octets=14",
		"defaults.flow.control.law=qcn", "defaults.flow.limiter=token-bucket", "defaults.flow.depth=3KB")
	both := func(metric string) []Quantity {
		return []Quantity{Mean(paths, "left-spine1."+metric, 50*ms, 100*ms), Mean(paths, "left-spine2."+metric, 50*ms, 100*ms)}
	}
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: []Curve{
		curve("first spine", paths, "left-spine1.queue", packets), curve("second spine", paths, "left-spine2.queue", packets),
		curve("first spine without QCN", uncontrolled(paths), "left-spine1.queue", packets),
	}, References: level("talk: Qeq = 22 packets", 22)}}
	f.claim("QG-1", Highest(held...))
	f.claim("QG-2", scaled(Highest(both("queue")...), packets))
	f.claim("QG-3", scaled(Lowest(both("queue")...), packets))
	f.claim("QG-4", Lowest(both("utilisation")...))
	f.claim("QG-5", Mean(paths, "there.stalled.flow-control", 50*ms, 100*ms))
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
func rules(f *Figure) {
	hotspot := qcnRun("og-hotspot").seeded()
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
	f.claim("QP-1", scaled(Highest(offered...), gbps))
	f.claim("QP-2", highest(qcnRun("unit-step").With("measure.window=200us", "model.duration=60ms").seeded(), "sources.fb", 10*unit.Time(unit.Microsecond)))
	f.claim("QP-3", Mean(below.seeded(), "sources.notifications", 0, 100*ms))
	f.claim("QP-4", Over(perFb(held("19500B", "18KB")), perFb(held("6KB", "4500B"))))
	f.claim("QP-5", untilHyper(shorter.seeded(), 700*ms))
}

// highest is the greatest mean of a metric over windows that follow one another. Those
// without a value do not count.
func highest(r Run, metric string, window unit.Time) Quantity {
	return follow(r, metric, func(x *emu.Result, over func(from, to unit.Time) float64) float64 {
		most := math.Inf(-1)
		for t := unit.Time(0); t+window <= x.Metrics.End(); t += window {
			if v := over(t, t+window); v > most {
				most = v
			}
		}
		return most
	})
}

// untilHyper is how many packets a source has sent since its last notification when
// hyper-active increase begins after an instant, the fewest of all ten. A target that rises
// by 40 Mb/s within 400 us is hyper-active increase: in that time active increase adds at
// most 5 Mb/s for the timer and as much for the byte counter, at up to 1.05 Gb/s.
func untilHyper(r Run, after unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		const step = unit.Time(200 * unit.Microsecond) // a twentieth of the window
		fewest := math.Inf(1)
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
					fewest = min(fewest, sent[2])
					break
				}
			}
		}
		if math.IsInf(fewest, 1) {
			return math.NaN(), nil
		}
		return fewest, nil
	})
}

// singleLimiter is a hotspot with one rate limiter for the flows of a source.
func singleLimiter(f *Figure) {
	r := qcnRun("single-limiter")
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (Gb/s)"}, Curves: []Curve{
		curve("shared link", r, "shared.S-B.rate", gbps), curve("ten flows elsewhere", r, "elsewhere.rate", gbps),
	}}}
}

// lost is what becomes of the loop when notifications are lost.
func lost(f *Figure) {
	var curves []Curve
	for _, c := range [][2]string{{"none is lost", "0"}, {"half are lost", "50"}, {"nine of ten are lost", "90"}} {
		curves = append(curves, curve(c[0], qcnRun("lost-cnm").With("model.duration=500ms", "defaults.switch.marking.lost="+c[1]), queue, packets))
	}
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (packets)"}, Curves: curves, References: level("talk: Qeq = 22 packets", 22)}}
}
