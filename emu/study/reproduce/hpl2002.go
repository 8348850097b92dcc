package reproduce

import (
	"fmt"
	"math"

	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// HPL-2002-224: J. R. Santos, Y. Turner, G. Janakiraman, Evaluation of Congestion
// Detection Mechanisms for InfiniBand Switches, 2002 (Globecom 2002). There are two
// versions of its text, which differ about Fig. 3(d).

// Metrics of the paper's fabric.
const (
	root        = "root.B-BC.utilisation"
	trunk       = "trunk.A-B.utilisation"
	local       = "local.utilisation"
	remote      = "remote.utilisation"
	victim      = "victim.utilisation"
	localOfRoot = "local.rate / root.B-BC.rate"
	remoteLocal = "remote.rate / local.rate"
)

// Paths of --set.
const (
	setBuffer    = "defaults.link.buffer="
	setScheme    = "defaults.switch.marking.scheme="
	setThreshold = "defaults.switch.marking.threshold="
	setLaw       = "defaults.flow.control.law="
	setRatio     = "defaults.flow.control.rmax-over-rmin="
)

// The ends of ranges that have none, and of those in which something is larger than
// something else.
const positive = math.SmallestNonzeroFloat64

var none = math.Inf(1)

func hpl2002() *Paper {
	p := &Paper{
		Name:   "hpl2002",
		Title:  "Evaluation of Congestion Detection Mechanisms for InfiniBand Switches",
		Source: "HPL-2002-224",
	}
	p.Figures = append(p.Figures, ratesFigures()...)
	p.Figures = append(p.Figures, grid4a(), grid4b(), flowCounts(), marks(), footnotes(), sensitivity(), laws())
	return p
}

// drawn is the run of Fig. 2 or of a part of Fig. 3.
func drawn(name string) Run { return Run{Scenario: "hpl2002/" + name, Seeds: true} }

// during is while the victim is active, without the window in which it begins.
func during(r Run, metric string) Quantity { return Mean(r, metric, 42*ms, 60*ms) }

// checksOf takes over the claims that stand in a scenario.
func checksOf(name string) []Claim {
	return claimsOf(name, func(c *scenario.Check) Claim {
		unit := Percent
		if c.Metric == remoteLocal {
			unit = Plain
		}
		return Claim{Check: *c, Unit: unit, Value: Mean(Run{Scenario: name, Seeds: true}, c.Metric, at(c.During[0]), at(c.During[1]))}
	})
}

func at(d unit.Duration) unit.Time { return unit.Time(0).Add(d) }

// ratesFigures are Fig. 2 and 3(a) to 3(d): rates over time.
func ratesFigures() []Figure {
	const caption = "Shares of the link's 1 GB/s, as means over a sliding window of 2 ms centred on each point. The victim flow is active from 40 to 60 ms."
	figure := func(name, source, title string, references ...plot.Reference) Figure {
		r := Run{Scenario: "hpl2002/" + name}
		p := Plot{
			X:          plot.Axis{Label: "model time (ms)", High: 100},
			Y:          plot.Axis{Label: "rate (% of link capacity)", High: 105},
			References: references,
		}
		for _, c := range [][2]string{{"root link", root}, {"inter-switch link", trunk}, {"local flows", local}, {"remote flows", remote}, {"victim flow", victim}} {
			p.Curves = append(p.Curves, Curve{Name: c[0], Scale: 100, Course: &Course{r, c[1]}})
		}
		return Figure{Name: name, Source: source, Title: title, Caption: caption, Plots: []Plot{p}, Claims: checksOf("hpl2002/" + name)}
	}
	// sides are the same before the victim is active, and after.
	sides := func(f *Figure, c Claim, value func(from, to unit.Time) Quantity) {
		for _, side := range []struct {
			id, name string
			from, to unit.Time
		}{{"/before", "before the victim, 20 to 40 ms", 20 * ms, 40 * ms}, {"/after", "after the victim, 65 to 100 ms", 65 * ms, 100 * ms}} {
			x := c
			x.ID, x.Metric, x.Value = c.ID+side.id, c.Metric+", "+side.name, value(side.from, side.to)
			f.Claims = append(f.Claims, x)
		}
	}
	over := func(name, metric string) func(from, to unit.Time) Quantity {
		return func(from, to unit.Time) Quantity { return Mean(drawn(name), metric, from, to) }
	}
	line := func(of, name string, value, from, to float64) plot.Reference {
		return plot.Reference{Of: of, Name: name, Low: value, High: value, From: from, To: to}
	}
	a, b, c, d := during(drawn("fig3a"), remoteLocal), during(drawn("fig3b"), remoteLocal), during(drawn("fig3c"), remoteLocal), during(drawn("fig3d"), remoteLocal)

	fig2 := figure("fig2", "Fig. 2", "No congestion control",
		line("inter-switch link", "paper: 32.5 %", 32.5, 40, 60), line("victim flow", "paper: 4 %", 4, 40, 60))

	sides(&fig2, Claim{Check: scenario.Check{
		ID: "IB-1e", Basis: scenario.Derived, Source: "section III", Claim: "without the victim the inter-switch link carries what the remote flows have of the root link",
		From: `"the victim flow is active only in the time interval [40ms,60ms]": the remote flows have four turns of fourteen, as in IB-1d.`, Metric: trunk,
		Low: 0.28, High: 0.29, Why: "28.57 %; the text has no figure.",
	}, Unit: Percent}, over("fig2", trunk))
	fig2.Claims = append(fig2.Claims, limited()...)
	fig2.Claims = append(fig2.Claims, Claim{Check: scenario.Check{
		ID: "IB-22", Basis: scenario.Quoted, Source: "section I", Claim: "The blocking can spread further upstream and eventually fill buffers all the way back to the traffic sources",
		Metric: "windows of 8 packets: share of the time in which the remote sources lack credit, 20 to 40 ms", Low: 0.5, High: 1,
		Why: "The text has no figure: most of the time. With a window of one packet, as in all of the paper's results, it is never, since a source has a buffer of four to itself.",
	}, Unit: Percent, Value: Mean(drawn("fig2").With("defaults.flow.window=8"), "remote.stalled.no-credit", 20*ms, 40*ms)})

	fig3a := figure("fig3a", "Fig. 3(a)", "Naive marking", line("local flows", "paper: 90 % of the root link", 90, 0, 0))
	for _, group := range []string{"local", "remote"} {
		fig3a.Claims = append(fig3a.Claims, Claim{Check: scenario.Check{
			ID: "IB-4" + group[:1], Basis: scenario.Quoted, Source: "section IV.A",
			Claim:  "the average throughput is approximately the same among flows of the same type, local or remote",
			Metric: group + ".fairness, 20 to 60 ms",
			Low:    0.98, High: 1 + 1e-9, Why: "Jain's index: 0.98 is what flows have that differ from their mean by 14 % (standard deviation).",
		}, Value: Mean(drawn("fig3a"), group+".fairness", 20*ms, 60*ms)})
	}

	var blocked []Quantity
	for _, name := range []string{"fig3a", "fig3b", "fig3c", "fig3d"} {
		blocked = append(blocked, during(drawn(name), "trunk.A-B.stalled.no-credit"))
	}
	fig3a.Claims = append(fig3a.Claims, Claim{Check: scenario.Check{
		ID: "IB-19", Basis: scenario.Quoted, Source: "section IV.A", Claim: "congestion spreading is reduced to very low levels, and the time a link spends in a blocked state is insignificant",
		Metric: "share of the time in which the inter-switch link lacks credit, the highest of Fig. 3(a) to (d)",
		High:   0.05, Why: `The text has no figure; without congestion control it is two thirds of the time. 5 % is "insignificant" beside it.`,
	}, Unit: Percent, Value: Highest(blocked...)})

	sides(&fig3a, Claim{Check: scenario.Check{
		ID: "IB-3c", Basis: scenario.Quoted, Source: "section IV.A, on Fig. 3(a)", Claim: "the local flows utilize 90% of the available root link bandwidth",
		Metric: localOfRoot, Low: 0.88, High: 0.92, Why: "Two points around the paper's figure, as for IB-3a.",
	}, Unit: Percent}, over("fig3a", localOfRoot))

	fig3b := figure("fig3b", "Fig. 3(b)", "Input-triggered marking")
	fig3b.Claims = append(fig3b.Claims, Claim{Check: scenario.Check{
		ID: "IB-5d", Basis: scenario.Quoted, Source: "section IV.B, on Fig. 3(b)", Claim: "fairness between the remote and local flows is improved when compared to the naive scheme",
		Metric: "remote/local here less that of Fig. 3(a)", Low: positive, High: none,
		Why: "Both are below 1, so that more is fairer. The text has no figure.",
	}, Value: Minus(b, a)})

	sides(&fig3b, Claim{Check: scenario.Check{
		ID: "IB-5e", Basis: scenario.Quoted, Source: "section IV.B, on Fig. 3(b)", Claim: "fairness between the remote and local flows is improved when compared to the naive scheme",
		Metric: "remote/local here less that of Fig. 3(a)", Low: positive, High: none, Why: "As for IB-5d.",
	}}, func(from, to unit.Time) Quantity {
		return Minus(over("fig3b", remoteLocal)(from, to), over("fig3a", remoteLocal)(from, to))
	})

	fig3c := figure("fig3c", "Fig. 3(c)", "Input-output-triggered marking, threshold 4")
	fig3c.Claims = append(fig3c.Claims, Claim{Check: scenario.Check{
		ID: "IB-6b", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 3(c)", Claim: "the flow rates for the remote and local flows are closer with the combined approach than with solely input-triggered marking",
		Metric: "distance of remote/local from 1: Fig. 3(b) less 3(c)", Low: positive, High: none,
		Why: "The text has no figure.",
	}, Value: Minus(FromOne(b), FromOne(c))})

	sides(&fig3c, Claim{Check: scenario.Check{
		ID: "IB-6c", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 3(c)", Claim: "resulting in low utilization of the congested link",
		Metric: root, High: 0.85, Why: "As for IB-6.",
	}, Unit: Percent}, over("fig3c", root))

	fig3d := figure("fig3d", "Fig. 3(d)", "Input-output-triggered marking, threshold 8")
	fig3d.Claims = append(fig3d.Claims, Claim{Check: scenario.Check{
		ID: "IB-7d", Basis: scenario.Quoted, Source: "section IV.C of the first version, on Fig. 3(d)", Claim: "Although fairness is degraded with the higher threshold, it is still better than that achieved by the input-triggered marking mechanism",
		Metric: "remote/local here less that of Fig. 3(b)", Low: positive, High: none,
		Why: "Both are below 1, so that more is fairer. The text has no figure.",
	}, Value: Minus(d, b)}, Claim{Check: scenario.Check{
		ID: "IB-7e", Basis: scenario.Quoted, Source: "section IV.C of the first version, on Fig. 3(d)", Claim: "fairness is degraded with the higher threshold",
		Metric: "distance of remote/local from 1: here less Fig. 3(c)", Low: positive, High: none,
		Why: "The text has no figure.",
	}, Value: Minus(FromOne(d), FromOne(c))})
	sides(&fig3d, Claim{Check: scenario.Check{
		ID: "IB-7f", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 3(d)", Claim: "the root link has high utilization",
		Metric: root, Low: 0.97, High: 1, Why: "As for IB-7a.",
	}, Unit: Percent}, over("fig3d", root))
	var rates []Quantity
	for _, name := range []string{"fig3a", "fig3b", "fig3d"} {
		rates = append(rates, during(drawn(name), root), during(drawn(name), trunk))
	}
	fig3d.Claims = append(fig3d.Claims, Claim{Check: scenario.Check{
		ID: "IB-23", Basis: scenario.Quoted, Source: "section V", Claim: "All three schemes were shown to eliminate congestion spreading, a consequence of link level flow control, and at the same time enable high network throughput",
		Metric: "lowest utilisation of root and inter-switch link, Fig. 3(a), (b) and (d)", Low: 0.90, High: 1,
		Why: "High is more than 90 % where the text has a figure (section IV.C). Fig. 3(c) is left out: of its threshold the text says itself that utilisation is low.",
	}, Unit: Percent, Value: Lowest(rates...)})
	return []Figure{fig2, fig3a, fig3b, fig3c, fig3d}
}

// The grid of Fig. 4. A threshold of 0 is none.
var (
	buffers    = []int{2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20}
	thresholds = []int{0, 4, 6, 8, 16}
)

// cell is a run of Fig. 4: 500 ms, the victim active all the time. The text does not
// say so of the victim, but without it remote/local falls from threshold 4 to 8
// where the text has it rise.
func cell(buffer, threshold int, sets ...string) Run {
	r := Run{Scenario: "hpl2002/fig3b", Seeds: true}.With("model.duration=500ms", "measure.window=10ms", "flows.victim.start=0ms", "flows.victim.stop=500ms", fmt.Sprintf("%s%dpackets", setBuffer, buffer))
	if threshold > 0 {
		r = r.With(setScheme+"input-output", fmt.Sprint(setThreshold, threshold))
	}
	return r.With(sets...)
}

// steady is the mean of the last 400 ms of 500.
func steady(r Run, metric string) Quantity { return Mean(r, metric, 100*ms, 500*ms) }

// column is a metric of cells with one threshold.
func column(metric string, threshold int, buffers ...int) []Quantity {
	var list []Quantity
	for _, b := range buffers {
		list = append(list, steady(cell(b, threshold), metric))
	}
	return list
}

func thresholdName(threshold int) string {
	if threshold == 0 {
		return "no threshold"
	}
	return fmt.Sprint("threshold ", threshold)
}

// gridPlot draws a metric against the buffer size, a curve for each threshold.
func gridPlot(metric, label string, scale float64, buffers []int, run func(buffer, threshold int) Run) Plot {
	p := Plot{
		X: plot.Axis{Label: "input buffer (packets), means over model time 100 to 500 ms", Low: 1, High: float64(buffers[len(buffers)-1] + 1)},
		Y: plot.Axis{Label: label},
	}
	for _, b := range buffers {
		p.X.Ticks = append(p.X.Ticks, float64(b))
	}
	for _, t := range thresholds {
		c := Curve{Name: thresholdName(t), Scale: scale}
		for _, b := range buffers {
			c.Points = append(c.Points, Point{float64(b), steady(run(b, t).Once(), metric)})
		}
		p.Curves = append(p.Curves, c)
	}
	return p
}

func plainCell(buffer, threshold int) Run { return cell(buffer, threshold) }

const gridCaption = "Input-triggered marking with and without an output threshold. Each point of the picture is a run of 500 ms of which the first 100 are left out; the victim flow is active all the time. Claims are judged by five such runs."

func utilisationPlot(buffers []int, run func(buffer, threshold int) Run) Plot {
	p := gridPlot(root, "utilisation of the root link (%)", 100, buffers, run)
	p.Y.Low, p.Y.High = 50, 103
	p.References = []plot.Reference{{Name: "paper: > 90 % with threshold 6", Of: thresholdName(6), Low: 90, High: 90}}
	return p
}

func ratioPlot(buffers []int, run func(buffer, threshold int) Run) Plot {
	p := gridPlot(remoteLocal, "rate of remote flows / rate of local flows", 1, buffers, run)
	p.References = []plot.Reference{{Name: "equal rates", Low: 1, High: 1}}
	return p
}

func grid4a() Figure {
	const below = `The text has no figure; "high" is more than 90 % in its next sentence but one.`
	f := Figure{
		Name: "fig4a", Source: "Fig. 4(a)", Title: "Utilisation of the root link", Caption: gridCaption,
		Plots: []Plot{utilisationPlot(buffers, plainCell)},
		Claims: []Claim{{Check: scenario.Check{
			ID: "IB-8a", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(a)", Claim: "the root link is underutilized with a low output threshold (4)",
			Metric: "highest utilisation over all buffer sizes",
			High:   0.90, Why: below,
		}, Unit: Percent, Value: Highest(column(root, 4, buffers...)...)}},
	}
	for _, b := range []int{2, 3, 4} {
		c := Claim{Check: scenario.Check{
			ID: fmt.Sprint("IB-8b", b), Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(a)", Claim: "the root link is underutilized with a low output threshold (4) or small input buffer size (2 to 4)",
			Metric: fmt.Sprintf("utilisation with %d packets, no threshold", b),
			High:   0.90, Why: below,
		}, Unit: Percent, Value: steady(cell(b, 0), root)}
		if b == 4 {
			c.Reason = "With room for 4 packets a marked source is back at its rate before the queue has run dry: 98.7 % here, and 96.5 % with Rmax/Rmin of 1024, at which Fig. 3 has not settled within its 100 ms. Where an input feeds one output at a time (single-output) it is 95.6 %. The paper gives neither, and no figure."
		}
		f.Claims = append(f.Claims, c)
	}
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-8c", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(a)", Claim: "Using a slightly higher output threshold (6) enables high root link utilization (> 90%), except at the smallest buffer sizes",
		Metric: "lowest utilisation with 4 packets or more, threshold 6",
		Low:    0.90, High: 1, Why: "The paper's figure. The smallest sizes are read as 2 and 3.",
	}, Unit: Percent, Value: Lowest(column(root, 6, buffers[2:]...)...)}, Claim{Check: scenario.Check{
		ID: "IB-8d", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(a)", Claim: "(> 90%), except at the smallest buffer sizes",
		Metric: "utilisation with 2 packets, threshold 6",
		High:   0.90, Why: "The paper's figure.",
	}, Unit: Percent, Value: steady(cell(2, 6), root)})
	var small []Quantity
	for _, t := range []int{0, 6, 8, 16} {
		small = append(small, steady(cell(4, t), root))
	}
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-24", Basis: scenario.Quoted, Source: "section V", Claim: "The results show that high link utilization is achieved even with small input buffers",
		Metric: "lowest utilisation with 4 packets: no threshold, and 6, 8, 16", Low: 0.90, High: 1,
		Why: `"Small packet buffers (e.g. 4 packets of 2KB per input port)" (section I); high is more than 90 %, and threshold 4 is said not to have it. This and IB-8b4 cannot both hold of 4 packets.`,
	}, Unit: Percent, Value: Lowest(small...)})
	return f
}

// large are the sizes of buffers that are larger than a threshold; of those of 6 and 8
// the first one is left out, at which some marks are input-triggered still.
func large(threshold int) []int {
	return map[int][]int{4: {5, 6, 8, 10, 12, 14, 16, 20}, 6: {8, 10, 12, 14, 16, 20}, 8: {10, 12, 14, 16, 20}, 16: {20}}[threshold]
}

func grid4b() Figure {
	f := Figure{
		Name: "fig4b", Source: "Fig. 4(b)", Title: "Fairness between remote and local flows", Caption: gridCaption,
		Plots: []Plot{ratioPlot(buffers, plainCell)},
	}
	rising := []int{2, 3, 4, 5, 6, 8, 10}
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-9a", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "At buffer sizes much lower than the output threshold, input-triggered marking events dominate, ... resulting in a reduced ratio of remote/local flow throughput",
		Metric: "highest remote/local up to 10 packets, no threshold",
		High:   1, Why: "Reduced: below equal rates.",
	}, Value: Highest(column(remoteLocal, 0, rising...)...)}, Claim{Check: scenario.Check{
		ID: "IB-9b", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "When input-triggered marking dominates, fairness is improved as the buffer size increases",
		Metric: "least step of remote/local from 2 to 10 packets, no threshold",
		Low:    positive, High: none, Why: "Each step is upwards, towards 1.",
	}, Value: LeastStep(column(remoteLocal, 0, rising...)...)})
	for _, t := range []int{4, 6, 8} {
		f.Claims = append(f.Claims, Claim{Check: scenario.Check{
			ID: fmt.Sprint("IB-9c", t), Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "At buffer sizes larger than the output threshold, marking is always output-triggered. Hence the fairness ratio in Fig. 4(b) does not change with buffer size",
			Metric: fmt.Sprintf("spread of remote/local from %d packets on, threshold %d", large(t)[0], t),
			High:   0.05, Why: "Half of what can be read off a figure of this kind.",
		}, Value: Spread(column(remoteLocal, t, large(t)...)...)})
	}
	large := func(t int) Quantity { return steady(cell(12, t), remoteLocal) }
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-10a", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "Local flows receive a lower share of the throughput as the output threshold increases from 4 to 8, for a fixed and large buffer size",
		Metric: "remote/local with 12 packets: threshold 8 less threshold 4",
		Low:    positive, High: none, Why: "A lower share of the local flows is a higher ratio. The text has no figure. It holds for another reason than the paper's: because the victim is active throughout and the trunk of switch A has the threshold too. Without either the ratio falls (the last two columns of the readings); and what the paper gives as the reason does not come out (IB-20g).",
	}, Value: Minus(large(8), large(4))}, Claim{Check: scenario.Check{
		ID: "IB-10b", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "When the output threshold is increased to even larger values (e.g. 16), ... increasing fairness",
		Metric: "distance of remote/local from 1 with 12 packets: threshold 8 less 16",
		Low:    positive, High: none, Why: "The text has no figure.",
	}, Value: Minus(FromOne(large(8)), FromOne(large(16)))})
	return f
}

// withFlows gives a run n local and n remote flows; remote ones start when all local
// ones have.
func withFlows(n int, r Run) Run {
	r = r.With(fmt.Sprintf("flows.remote.start=%dus + 100us", 100*n))
	r.Edits = [][2]string{{"[1-10]", fmt.Sprintf("[1-%d]", n)}}
	return r
}

// flowCounts has Fig. 4 with other numbers of flows.
func flowCounts() Figure {
	sizes := []int{2, 4, 12}
	f := Figure{
		Name: "flows", Source: "section IV.C, after Fig. 4", Title: "Fig. 4 with other numbers of flows",
		Caption: "As Fig. 4, with 5, 15 and 20 local and as many remote flows. Remote flows start when all local ones have.",
	}
	for _, n := range []int{5, 15, 20} {
		run := func(buffer, threshold int) Run { return withFlows(n, cell(buffer, threshold)).Once() }
		for _, x := range []struct {
			what string
			plot Plot
		}{{"utilisation", utilisationPlot(sizes, run)}, {"fairness", ratioPlot(sizes, run)}} {
			x.plot.Name, x.plot.Title = fmt.Sprintf("flows%d-%s", n, x.what), fmt.Sprintf("%d local and %d remote flows: %s", n, n, x.what)
			if x.what == "utilisation" {
				x.plot.Title = fmt.Sprintf("%d local and %d remote flows: utilisation of the root link", n, n)
			}
			f.Plots = append(f.Plots, x.plot)
		}
		ratio := func(b, t int) Quantity { return steady(run(b, t), remoteLocal) }
		use := func(b, t int) Quantity { return steady(run(b, t), root) }
		const source, from = "section IV.C, after Fig. 4", `"varying the number of remote and local flows from 5 to 20 ... and obtained results similar to the ones shown in Fig. 4": `
		f.Claims = append(f.Claims, Claim{Check: scenario.Check{
			ID: fmt.Sprintf("IB-12a/%d", n), Basis: scenario.Derived, Source: source, Claim: "threshold 4 uses less of the root link than 8", From: from + "IB-8a, as an order.",
			Metric: fmt.Sprintf("%d flows, 12 packets: utilisation, threshold 8 less 4", n), Low: positive, High: none, Why: "The text has no figure: the order alone.",
		}, Unit: Points, Value: Minus(use(12, 8), use(12, 4))}, Claim{Check: scenario.Check{
			ID: fmt.Sprintf("IB-12b/%d", n), Basis: scenario.Derived, Source: source, Claim: "a small buffer uses less of it", From: from + "IB-8b, as an order.",
			Metric: fmt.Sprintf("%d flows, no threshold: utilisation, least step from 2 to 4 to 12 packets", n), Low: positive, High: none, Why: "The text has no figure: the order alone.",
		}, Unit: Points, Value: LeastStep(use(2, 0), use(4, 0), use(12, 0))}, Claim{Check: scenario.Check{
			ID: fmt.Sprintf("IB-12c/%d", n), Basis: scenario.Derived, Source: source, Claim: "fairness is improved as the buffer size increases", From: from + "IB-9b, as an order.",
			Metric: fmt.Sprintf("%d flows, no threshold: remote/local, 4 packets less 2", n), Low: positive, High: none, Why: "The text has no figure: the order alone.",
		}, Value: Minus(ratio(4, 0), ratio(2, 0))}, Claim{Check: scenario.Check{
			ID: fmt.Sprintf("IB-12d/%d", n), Basis: scenario.Derived, Source: source, Claim: "local flows receive a lower share as the threshold increases from 4 to 8", From: from + "IB-10a, as an order.",
			Metric: fmt.Sprintf("%d flows, 12 packets: remote/local, threshold 8 less 4", n), Low: positive, High: none, Why: "The text has no figure: the order alone. As IB-10a it holds because the victim is active and the trunk has the threshold too: without either the ratio falls, at each number of flows.",
		}, Value: Minus(ratio(12, 8), ratio(12, 4))}, Claim{Check: scenario.Check{
			ID: fmt.Sprintf("IB-12e/%d", n), Basis: scenario.Derived, Source: source, Claim: "fairer at threshold 16 than at 8", From: from + "IB-10b, as an order.",
			Metric: fmt.Sprintf("%d flows, 12 packets: distance of remote/local from 1, threshold 8 less 16", n), Low: positive, High: none, Why: "The text has no figure: the order alone.",
		}, Value: Minus(FromOne(ratio(12, 8)), FromOne(ratio(12, 16)))})
	}
	return f
}
