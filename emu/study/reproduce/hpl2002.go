package reproduce

import (
	"fmt"

	"fabemu/emu/report/plot"
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

func hpl2002() *Paper {
	return worded(&Paper{
		Name:   "hpl2002",
		Title:  "Evaluation of Congestion Detection Mechanisms for InfiniBand Switches",
		Source: "HPL-2002-224",
		units: func(metric string) (float64, Unit) {
			if metric == remoteLocal {
				return 1, Plain
			}
			return 1, Percent
		},
		Figures: []Figure{
			{Name: "fig2", Source: "Fig. 2", Title: "No congestion control", describe: fig2},
			{Name: "fig3a", Source: "Fig. 3(a)", Title: "Naive marking", describe: fig3a},
			{Name: "fig3b", Source: "Fig. 3(b)", Title: "Input-triggered marking", describe: fig3b},
			{Name: "fig3c", Source: "Fig. 3(c)", Title: "Input-output-triggered marking, threshold 4", describe: fig3c},
			{Name: "fig3d", Source: "Fig. 3(d)", Title: "Input-output-triggered marking, threshold 8", describe: fig3d},
			{Name: "fig4a", Source: "Fig. 4(a)", Title: "Utilisation of the root link", describe: grid4a},
			{Name: "fig4b", Source: "Fig. 4(b)", Title: "Fairness between remote and local flows", describe: grid4b},
			{Name: "flows", Source: "section IV.C, after Fig. 4", Title: "Fig. 4 with other numbers of flows", describe: flowCounts},
			{Name: "marks", Source: "section IV", Title: "Whose packets are marked", describe: marks},
			{Name: "footnotes", Source: "footnotes 3, 4, 6, 7, 8 and section IV.B", Title: "What the footnotes say", describe: footnotes},
			{Name: "sensitivity", Source: "sections III and IV", Title: "What the readings of the text change", describe: sensitivity},
			{Name: "laws", Source: "footnote 1", Title: "Source laws: LIPD, FIMD, AIMD", describe: laws},
		},
	})
}

// drawn is the run of Fig. 2 or of a part of Fig. 3.
func drawn(name string) Run { return Run{Scenario: "hpl2002/" + name, Seeds: true} }

// during is while the victim is active, without the window in which it begins.
func during(r Run, metric string) Quantity { return Mean(r, metric, 42*ms, 60*ms) }

// curve is the course of a metric of a run.
func curve(name string, r Run, metric string, scale float64) Curve {
	return Curve{Name: name, Scale: scale, Course: &Course{r, metric}}
}

// rates are the rates over time of Fig. 2 and 3(a) to 3(d).
func (f *Figure) rates(references ...plot.Reference) {
	p := Plot{
		X:          plot.Axis{Label: "model time (ms)", High: 100},
		Y:          plot.Axis{Label: "rate (% of link capacity)", High: 105},
		References: references,
	}
	for _, c := range fiveRates {
		p.Curves = append(p.Curves, curve(c.name, drawn(f.Name).Once(), c.metric, 100))
	}
	f.Plots = []Plot{p}
}

// fiveRates are those that the paper draws.
var fiveRates = []struct{ name, metric string }{
	{"root link", root}, {"inter-switch link", trunk}, {"local flows", local}, {"remote flows", remote}, {"victim flow", victim},
}

// sides makes a claim twice: before the victim is active, and after.
func (f *Figure) sides(id string, value func(from, to unit.Time) Quantity) {
	f.claim(id+"/{side}", value(20*ms, 40*ms), "side", "before", "when", "before the victim, 20 to 40 ms")
	f.claim(id+"/{side}", value(65*ms, 100*ms), "side", "after", "when", "after the victim, 65 to 100 ms")
}

// over returns the mean of a metric of a figure as a function of the interval.
func over(figure, metric string) func(from, to unit.Time) Quantity {
	return func(from, to unit.Time) Quantity { return Mean(drawn(figure), metric, from, to) }
}

// ratio is remote/local in a figure while the victim is active.
func ratio(figure string) Quantity { return during(drawn(figure), remoteLocal) }

func fig2(f *Figure) {
	f.rates(
		plot.Reference{Of: "inter-switch link", Name: "paper: 32.5 %", Low: 32.5, High: 32.5, From: 40, To: 60},
		plot.Reference{Of: "victim flow", Name: "paper: 4 %", Low: 4, High: 4, From: 40, To: 60})
	f.sides("IB-1e", over("fig2", trunk))
	limited(f)
	f.claim("IB-22", Mean(drawn("fig2").With("defaults.flow.window=8"), "remote.stalled.no-credit", 20*ms, 40*ms))
}

func fig3a(f *Figure) {
	f.rates(plot.Reference{Of: "local flows", Name: "paper: 90 % of the root link", Low: 90, High: 90})
	for _, group := range []string{"local", "remote"} {
		f.claim("IB-4{g}", Mean(drawn("fig3a"), group+".fairness", 20*ms, 60*ms), "g", group[:1], "group", group)
	}
	var blocked []Quantity
	for _, name := range []string{"fig3a", "fig3b", "fig3c", "fig3d"} {
		blocked = append(blocked, during(drawn(name), "trunk.A-B.stalled.no-credit"))
	}
	f.claim("IB-19", Highest(blocked...))
	f.sides("IB-3c", over("fig3a", localOfRoot))
}

func fig3b(f *Figure) {
	f.rates()
	f.claim("IB-5d", Minus(ratio("fig3b"), ratio("fig3a")))
	f.sides("IB-5e", func(from, to unit.Time) Quantity {
		return Minus(over("fig3b", remoteLocal)(from, to), over("fig3a", remoteLocal)(from, to))
	})
}

func fig3c(f *Figure) {
	f.rates()
	f.claim("IB-6b", Minus(FromOne(ratio("fig3b")), FromOne(ratio("fig3c"))))
	f.sides("IB-6c", over("fig3c", root))
}

func fig3d(f *Figure) {
	f.rates()
	f.claim("IB-7d", Minus(ratio("fig3d"), ratio("fig3b")))
	f.claim("IB-7e", Minus(FromOne(ratio("fig3d")), FromOne(ratio("fig3c"))))
	f.sides("IB-7f", over("fig3d", root))
	var rates []Quantity
	for _, name := range []string{"fig3a", "fig3b", "fig3d"} {
		rates = append(rates, during(drawn(name), root), during(drawn(name), trunk))
	}
	f.claim("IB-23", Lowest(rates...))
}

// The grid of Fig. 4. A threshold of 0 is none.
var (
	buffers    = []int{2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20}
	thresholds = []int{0, 4, 6, 8, 16}
)

// cell is a run of Fig. 4: 500 ms, the victim active all the time. The text does not
// mention the victim, but without it remote/local falls from threshold 4 to 8
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

func utilisationPlot(buffers []int, run func(buffer, threshold int) Run) Plot {
	p := gridPlot(root, "utilisation of the root link (%)", 100, buffers, run)
	p.Y.Low, p.Y.High = 50, 103
	p.References = []plot.Reference{{Name: "paper: > 90 % with threshold 6", Of: thresholdName(6), Low: 90, High: 90}}
	return p
}

func ratioPlot(buffers []int, run func(buffer, threshold int) Run) Plot {
	p := gridPlot(remoteLocal, "rate of remote flows / rate of local flows", 1, buffers, run)
	p.References = level("equal rates", 1)
	return p
}

func grid4a(f *Figure) {
	f.Plots = []Plot{utilisationPlot(buffers, plainCell)}
	f.claim("IB-8a", Highest(column(root, 4, buffers...)...))

	for _, b := range []int{2, 3, 4} {
		f.claim("IB-8b{n}", steady(cell(b, 0), root), "n", b)
	}
	f.claim("IB-8c", Lowest(column(root, 6, buffers[2:]...)...))
	f.claim("IB-8d", steady(cell(2, 6), root))

	var small []Quantity
	for _, t := range []int{0, 6, 8, 16} {
		small = append(small, steady(cell(4, t), root))
	}
	f.claim("IB-24", Lowest(small...))
}

// large are the sizes of buffers that are larger than a threshold; for thresholds of 6 and 8
// the first size is left out, at which some marks are input-triggered still.
func large(threshold int) []int {
	return map[int][]int{4: {5, 6, 8, 10, 12, 14, 16, 20}, 6: {8, 10, 12, 14, 16, 20}, 8: {10, 12, 14, 16, 20}, 16: {20}}[threshold]
}

func grid4b(f *Figure) {
	f.Plots = []Plot{ratioPlot(buffers, plainCell)}

	rising := []int{2, 3, 4, 5, 6, 8, 10}
	f.claim("IB-9a", Highest(column(remoteLocal, 0, rising...)...))
	f.claim("IB-9b", LeastStep(column(remoteLocal, 0, rising...)...))

	for _, t := range []int{4, 6, 8} {
		f.claim("IB-9c{t}", Spread(column(remoteLocal, t, large(t)...)...), "t", t, "from", large(t)[0])
	}
	large := func(t int) Quantity { return steady(cell(12, t), remoteLocal) }
	f.claim("IB-10a", Minus(large(8), large(4)))
	f.claim("IB-10b", Minus(FromOne(large(8)), FromOne(large(16))))
}

// withFlows gives a run n local and n remote flows; remote ones start when all local
// ones have.
func withFlows(n int, r Run) Run {
	r = r.With(fmt.Sprintf("flows.remote.start=%dus + 100us", 100*n))
	r.Edits = [][2]string{{"[1-10]", fmt.Sprintf("[1-%d]", n)}}
	return r
}

// flowCounts has Fig. 4 with other numbers of flows.
func flowCounts(f *Figure) {
	sizes := []int{2, 4, 12}

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
		f.claim("IB-12a/{n}", Minus(use(12, 8), use(12, 4)), "n", n)
		f.claim("IB-12b/{n}", LeastStep(use(2, 0), use(4, 0), use(12, 0)), "n", n)
		f.claim("IB-12c/{n}", Minus(ratio(4, 0), ratio(2, 0)), "n", n)
		f.claim("IB-12d/{n}", Minus(ratio(12, 8), ratio(12, 4)), "n", n)
		f.claim("IB-12e/{n}", Minus(FromOne(ratio(12, 8)), FromOne(ratio(12, 16))), "n", n)
	}
}
