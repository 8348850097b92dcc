package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/wire/unit"
)

// The congestion control of InfiniBand: IBTA Volume 1, Annex A10. Its text is not public. What
// is known of it here is what programs do that follow it: Linux's driver of the adapter hfi1
// (drivers/infiniband/hw/hfi1, rc.c and init.c), opensm (osm_subnet.c), and ibccconfig(8).

func cca() *Paper {
	return worded(&Paper{
		Name:   "cca",
		Title:  "InfiniBand's congestion control",
		Source: "IBTA Volume 1, Annex A10",
		About:  read("cca.md"),
		units:  queuesIn(1),
		Figures: []Figure{
			{Name: "hpl2002", Source: "HPL-2002-224, Fig. 2 and 3", Title: "The fabric of HPL-2002-224 under the standard", describe: ccaFabric},
			{Name: "incast", Source: "The table 0:i", Title: "Where the CCTI settles", describe: ccaIncast},
			{Name: "timer", Source: "CCTI_Timer", Title: "Which timers are long enough", describe: ccaTimer},
			{Name: "table", Source: "The congestion control table", Title: "Which tables are long enough", describe: ccaTable},
			{Name: "levels", Source: "Port control", Title: "What has a CCTI", describe: ccaLevels},
			{Name: "victims", Source: "The victim mask", Title: "Receivers that are slow, and the mask of victims", describe: ccaVictims},
			{Name: "starvation", Source: "The credit mask", Title: "A neighbour to which marks mean nothing", describe: ccaStarvation},
		},
	})
}

const (
	ccaSettled = 80 * ms // when cca/incast has settled, with up to 40 sources
	ccaEnd     = 100 * ms
	hfi1       = "drivers/infiniband/hw/hfi1 of Linux"
)

// ccaRoot and the others are metrics of cca/incast.
const (
	ccaRoot      = "root.B-R.utilisation"
	ccaBystander = "bystander.utilisation"
	ccaFairness  = "hot.fairness"
)

// ccaFlows is cca/incast with so many senders.
func ccaFlows(n int) Run {
	r := Run{Scenario: "cca/incast", Seeds: true}
	if n != 16 {
		r.Edits = [][2]string{{"S[1-16]", fmt.Sprintf("S[1-%d]", n)}}
	}
	return r
}

// ccaMean is a metric of cca/incast when it has settled.
func ccaMean(r Run, metric string) Quantity { return Mean(r, metric, ccaSettled, ccaEnd) }

// ccti returns the CCTI of each of the senders from an instant on: what their limits say, with
// the table 0:i.
func ccti(r Run, n int, from unit.Time) (each []Quantity) {
	for i := range n {
		each = append(each, Combine(func(v []float64) float64 { return 1e9/v[0] - 1 }, Mean(r, fmt.Sprintf("hot.S%d.limit", i+1), from, ccaEnd)))
	}
	return each
}

// mean is the mean of all.
func mean(list ...Quantity) Quantity {
	return scaled(Sum(list...), 1/float64(len(list))).in(common(list...))
}

// ccaIncast is claim C-1: where the CCTI settles.
func ccaIncast(f *Figure) {
	r := ccaFlows(16)
	f.Table = &Table{Title: "By the number of sources", Columns: []string{"N - 1", "mean CCTI", "the link", "Jain's index", "bystander", "bystander without control"}, Note: "Means and standard deviations of five seeds. With few sources a step of the CCTI is a large part of the rate: from 1/4 of the line to 1/5."}
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (% of a link)", High: 105}, Curves: []Curve{
		curve("the link that all share", r.Once(), ccaRoot, 100), curve("bystander", r.Once(), ccaBystander, 100), curve("one of 16 sources", r.Once(), "hot.S1.utilisation", 100),
	}, References: level("1/16", 100./16)}}
	f.claim("C-1d", mean(ccti(r, 16, 20*ms)...))
	f.claim("C-1e", Spread(ccti(r, 16, 20*ms)...))

	for _, n := range []int{4, 8, 16, 32} {
		r := ccaFlows(n)
		f.Table.Rows = append(f.Table.Rows, unjudged(fmt.Sprintf("%d sources", n), "shares of 1, but for the CCTI", Plain,
			constant(float64(n-1)), mean(ccti(r, n, ccaSettled)...), ccaMean(r, ccaRoot), ccaMean(r, ccaFairness),
			ccaMean(r, ccaBystander), ccaMean(uncontrolled(r), ccaBystander)))
	}
}

// uncontrolled is a run without congestion control.
func uncontrolled(r Run) Run { return r.With(setScheme+"none", setLaw+"fixed") }

// ccaTimer is which timers are long enough.
func ccaTimer(f *Figure) {
	f.Table = &Table{Title: "The closed form and the run", Columns: []string{"rise", "the link", "bystander", "trunk without credit", "time to settle (ms)", "here (ms)"}, Note: "Means and standard deviations of five seeds."}

	for _, c := range []struct {
		id             string
		n, timer, rate int
	}{
		{"a", 32, 150, 1}, {"b", 40, 150, 1}, {"c", 16, 75, 1}, {"d", 16, 60, 1}, {"e", 16, 150, 3}, {"f", 16, 150, 5}, {"g", 40, 180, 1},
	} {
		r := ccaFlows(c.n)
		if c.timer != 150 {
			r = r.With(fmt.Sprint("defaults.flow.control.ccti-timer=", c.timer))
		}
		if c.rate != 1 {
			r = r.With(fmt.Sprint("defaults.switch.marking.marking-rate=", c.rate))
		}
		rise, settles, took := ccaRise(c.n, c.timer, c.rate), math.NaN(), Reached(r, ccaBystander, 0.9, ms)
		claim := "CT-{below}"
		if rise > 1 {
			claim, settles = "CT-{above}", float64(c.n-1)*float64(c.timer)*1.024e-3/(rise-1)
		}
		what := fmt.Sprintf("%d sources, timer %d, marking rate %d", c.n, c.timer, c.rate)
		f.claim(claim, ccaMean(r, ccaBystander), "above", c.id, "below", c.id, "rise", fmt.Sprintf("%.3g", rise), "what", what)
		if rise > 1 && c.n > 16 {
			f.claim("CT-{above}t", scaled(took, 1e3/settles), "above", c.id, "what", what, "time", fmt.Sprintf("%.0f", settles))
		}
		f.Table.Rows = append(f.Table.Rows, unjudged(what, "shares of 1", Plain, constant(rise), ccaMean(r, ccaRoot), ccaMean(r, ccaBystander),
			ccaMean(r, "trunk.A-B.stalled.no-credit"), constant(settles), scaled(took, 1e3)))
	}
}

// ccaRise is p T C/(N L) in cca/incast, with an increase of 1.
func ccaRise(n, timer, rate int) float64 {
	period := unit.Duration(timer) * 1024 * unit.Nanosecond
	return period.Seconds() * 1e9 / float64(n) / 2068 / float64(rate+1)
}

// ccaTable is which tables are long enough.
func ccaTable(f *Figure) {
	f.Table = &Table{Title: "The lowest rates together, and the run", Columns: []string{"lowest rates, over the link's", "the link", "Jain's index", "bystander"}, Note: "Means and standard deviations of five seeds."}

	for _, c := range []struct {
		claim, id, name string
		shift, entries  int
	}{
		{"CC-{short}", "a", "0:0 to 0:7", 0, 8},
		{"CC-{short}", "b", "0:0 to 0:13", 0, 14},
		{"CC-{long}", "c", "0:0 to 0:19", 0, 20},
		{"CC-{long}", "d", "1:0 to 1:63", 1, 64},
	} {
		r := ccaFlows(16)
		r.Edits = [][2]string{{"control: {law: cca}", fmt.Sprintf("control: {law: cca, cct: %q}", straight(c.shift, c.entries))}}
		sum := constant(16 / (1 + float64(c.entries-1)/float64(int(1)<<c.shift)))
		f.claim(c.claim, ccaMean(r, ccaBystander), "short", c.id, "long", c.id, "table", c.name)
		f.Table.Rows = append(f.Table.Rows, unjudged("table "+c.name, "shares of 1", Plain,
			sum, ccaMean(r, ccaRoot), ccaMean(r, ccaFairness), ccaMean(r, ccaBystander)))
	}
}

// straight is a table of one shift and of multipliers from 0 on.
func straight(shift, entries int) string {
	var all []string
	for i := range entries {
		all = append(all, fmt.Sprintf("%d:%d", shift, i))
	}
	return strings.Join(all, ",")
}

// ccaLevels is what has a CCTI.
func ccaLevels(f *Figure) {
	r := Run{Scenario: "cca/levels", Seeds: true}
	with := func(control string, sl int) Run {
		return r.With("defaults.flow.control.port-control="+control, fmt.Sprint("flows.cool.control.sl=", sl))
	}
	const cool = "cool.utilisation"
	f.claim("CL-2", ccaMean(with("sl", 0), cool))
	f.claim("CL-3", ccaMean(with("sl", 1), cool))
	f.claim("CL-4", ccaMean(with("port", 1), cool))
}

// ccaVictims is what the mask of victims does.
func ccaVictims(f *Figure) {
	r := Run{Scenario: "bench/slow-receiver", Seeds: true}.With(append(infiniBandSets[:], setScheme+"cca", setLaw+"cca")...)
	share := func(mask string) Quantity {
		return Mean(r.With("defaults.switch.marking.victim-mask="+mask), ccaBystander, 50*ms, 100*ms)
	}
	f.claim("CV-1", share("none"))
	f.claim("CV-2", Over(share("hosts"), share("none")))
	f.claim("CV-3", Minus(share("hosts"), share("all")))
}

// ccaStarvation is what switches do about a neighbour to which marks mean nothing.
func ccaStarvation(f *Figure) {
	const share = "unheeding.utilisation"
	r := Run{Scenario: "cca/starvation", Seeds: true}
	with := func(key, value string) Quantity {
		return Mean(r.With("switches.S.marking."+key+"="+value), share, 20*ms, 100*ms)
	}
	f.claim("CS-2", with("credit-starvation-return-delay", "0:4"))
	f.claim("CS-3", with("credit-starvation-return-delay", "1:9"))
	f.claim("CS-4", with("credit-mask", "none"))
}

// ccaFabric is the fabric of HPL-2002-224 under the standard that came of it.
func ccaFabric(f *Figure) {
	standard := func(sets ...string) Run {
		return drawn("fig3b").With(append([]string{setScheme + "cca", setLaw + "cca"}, sets...)...)
	}
	printed, half := standard(), standard(setThreshold+"8")
	deep := standard(setBuffer + "16packets")
	schemes := []struct {
		name string
		run  Run
	}{
		{"none (Fig. 2)", drawn("fig2")}, {"naive (3a)", drawn("fig3a")}, {"input (3b)", drawn("fig3b")}, {"input-output 4 (3c)", drawn("fig3c")}, {"input-output 8 (3d)", drawn("fig3d")},
		{"CCA as printed", printed}, {"CCA threshold 8", half}, {"CCA, 16 packets", deep},
	}
	fairness := func(r Run) Quantity {
		var rates []Quantity
		for i := range 10 {
			rates = append(rates, during(r, fmt.Sprintf("local.B%d.rate", i+1)), during(r, fmt.Sprintf("remote.A%d.rate", i+1)))
		}
		return Combine(jain, rates...)
	}
	metrics := []struct {
		says string
		of   func(Run) Quantity
	}{
		{"root link", func(r Run) Quantity { return during(r, root) }}, {"inter-switch link", func(r Run) Quantity { return during(r, trunk) }},
		{"local flows", func(r Run) Quantity { return during(r, local) }}, {"remote flows", func(r Run) Quantity { return during(r, remote) }}, {"victim flow", func(r Run) Quantity { return during(r, victim) }},
		{"remote/local", func(r Run) Quantity { return during(r, remoteLocal) }}, {"Jain's index of the twenty flows", fairness},
		{"victim flow, over what the remote flows leave", func(r Run) Quantity {
			return Combine(func(v []float64) float64 { return v[0] / (1 - v[1]) }, during(r, victim), during(r, remote)).in(metrics.Share())
		}},
	}
	left := metrics[len(metrics)-1].of
	table := &Table{Title: "The schemes of the paper and the standard", Note: "Means and standard deviations of five seeds, from 42 to 60 ms, while the victim is active; shares of a link, but for the last three. 16 packets: of input buffer, as printed otherwise."}
	for _, s := range schemes {
		table.Columns = append(table.Columns, s.name)
	}
	for _, m := range metrics {
		row := unjudged(m.says, "share", Plain)
		for _, s := range schemes {
			row.Cells = append(row.Cells, m.of(s.run))
		}
		table.Rows = append(table.Rows, row)
	}
	best := func(of func(Run) Quantity) Quantity {
		return Highest(of(drawn("fig3a")), of(drawn("fig3b")), of(drawn("fig3c")), of(drawn("fig3d")))
	}
	f.Table = table
	f.claim("C-1f", during(printed, root))
	f.claim("C-1g", Lowest(during(half, root), during(deep, root)))
	f.claim("CH-1", during(half, remoteLocal))
	f.claim("CH-2", Minus(fairness(half), best(fairness)))
	f.claim("CH-3", left(half))
	f.claim("CH-4", left(printed))

	for _, x := range []struct {
		name, title string
		run         Run
	}{{"hpl2002-printed", "CCA as ibccconfig(8) prints it", printed}, {"hpl2002-threshold-8", "CCA, threshold 8", half}} {
		p := Plot{Name: x.name, Title: "HPL-2002-224, Fig. 3, under " + x.title, X: plot.Axis{Label: "model time (ms)", High: 100}, Y: plot.Axis{Label: "rate (% of link capacity)", High: 105}}
		for _, c := range fiveRates {
			p.Curves = append(p.Curves, curve(c.name, x.run.Once(), c.metric, 100))
		}
		f.Plots = append(f.Plots, p)
	}
}
