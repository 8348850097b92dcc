package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// CompareSchemes is the bench on which all schemes of some tables are tried: the tables of the
// program, or tables of another Go program.
func CompareSchemes(tables scenario.Schemes) *Paper { return compareSchemes(&tables, false) }

// compareSchemes is the bench, or its short form.
func compareSchemes(tables *scenario.Schemes, short bool) *Paper {
	p := &Paper{Name: "compare-schemes", Title: "Six situations under every scheme", Source: "The bench of all schemes", About: read("compare-schemes.md")}
	if short {
		p.Name, p.Title = p.Name+"-short", p.Title+", in short"
	}
	tried := trials(tables)
	for _, s := range situations() {
		p.Figures = append(p.Figures, s.figure(tried, short))
	}
	return p
}

// trial is a scheme as it is tried.
type trial struct {
	kind, name string
	sets       []string
	schemes    *scenario.Schemes
}

// The families, and the changes that make a scenario of the bench one of a family.
const (
	infiniBand = "InfiniBand"
	ethernet   = "Ethernet"
)

var (
	infiniBandSets = [...]string{"defaults.flow.window=16"}
	ethernetSets   = [...]string{"defaults.link.flow-control=pause", "defaults.switch.kind=output-queued"}
)

// trials returns all schemes of the tables: schemes of InfiniBand, then schemes of Ethernet.
func trials(tables *scenario.Schemes) (all []trial) {
	for _, p := range tables.Presets() {
		t := trial{infiniBand, p.Name, infiniBandSets[:], tables}
		if p.Family == wire.Ethernet {
			t.kind, t.sets = ethernet, ethernetSets[:]
		}
		for _, s := range p.Sets {
			t.sets = append(t.sets[:len(t.sets):len(t.sets)], s.String())
		}
		all = append(all, t)
	}
	return all
}

// The columns, in their order.
const (
	utilisation = iota
	fairness
	bystander
	queueMean
	queueP99
	time95
	stalled
	drops
	feedback
	columns
)

// schemeColumns are the measurements of every scheme.
func schemeColumns() []Column {
	return []Column{
		{Name: "utilisation", Unit: Percent, Best: Most}, {Name: "Jain's index", Best: Most}, {Name: "bystander's share", Unit: Percent, Best: Whole},
		{Name: "queue", Unit: Kilobytes}, {Name: "queue p99", Unit: Kilobytes}, {Name: "time to 95 %", Unit: Milliseconds, Never: true, Best: Least},
		{Name: "stalled", Unit: Percent}, {Name: "drops"}, {Name: "feedback per MB"},
	}
}

// figureOf is a column in a situation.
type figureOf struct {
	metric string // over the time of the situation; time95 from its instant on, drops over all
	says   string
	absent string // why there is none
}

// situation is a scenario in which all schemes are tried.
type situation struct {
	name, title, caption string
	times                [2]times // the second of the short run
	columns              [columns]figureOf
	overview             int    // the column that stands for it in the overview
	overviewSays         string // its description there; empty: as in the column
	course               string // the metric that is drawn
	label                string
	scale                float64
	computed             func(Run, [2]unit.Time) []MatrixRow // rows of equations, beside the runs
}

// times are when a situation is measured.
type times struct {
	during [2]unit.Time // the interval of means
	since  unit.Time    // from when on the time to 95 % counts
	end    unit.Time
}

// situations returns the six.
func situations() []situation {
	const trunk = "share of the time in which PAUSE or credit holds the trunk back"
	const sources = "share of the time in which PAUSE or credit holds a source back, the mean of all"
	whole := func(link, group string) [columns]figureOf {
		return [columns]figureOf{
			utilisation: {metric: link + ".utilisation", says: "of " + link},
			fairness:    {metric: group + ".fairness", says: "of the rates of " + group},
			queueMean:   {metric: link + ".queue"}, queueP99: {metric: link + ".queue.p99"},
			time95:  {metric: link + ".recovery.95"},
			stalled: {metric: group + ".stalled.flow-control", says: sources},
			drops:   {metric: group + ".drops"}, feedback: {metric: group + ".feedback"},
		}
	}
	incast := situation{
		name: "incast", title: "Incast with a bystander", overview: bystander, caption: "Eight sources overload one receiver, four of them over a trunk that they share with a bystander. Fair is half of the trunk for it. Figures from 100 to 300 ms.",
		times: [2]times{{[2]unit.Time{100 * ms, 300 * ms}, 0, 300 * ms}, {[2]unit.Time{10 * ms, 30 * ms}, 0, 30 * ms}}, columns: whole("hot.T-H", "incast"),
		course: "bystander.utilisation", label: "share of its line that the bystander has (%)", scale: 100,
	}
	incast.columns[bystander] = figureOf{metric: "bystander.rate / bystander.max-min", says: "its rate over its max-min fair share"}
	incast.columns[stalled] = figureOf{metric: "trunk.S-T.stalled.flow-control", says: trunk}
	incast.columns[time95].says = "until the link is 95 % full, from the begin of all"

	cut := situation{
		name: "cut", title: "The bottleneck is cut to a twentieth, and comes back", overview: utilisation, caption: "Eight sources share a link of 10 Gb/s, which has 0.5 Gb/s from 50 to 100 ms. Figures from 10 to 300 ms.",
		times: [2]times{{[2]unit.Time{10 * ms, 300 * ms}, 100 * ms, 300 * ms}, {[2]unit.Time{2 * ms, 60 * ms}, 20 * ms, 60 * ms}}, columns: whole("hot.S-H", "sources"),
		course: "hot.S-H.utilisation", label: "utilisation of the link (% of its rate then)", scale: 100,
	}
	cut.columns[bystander].absent = "all flows are sources of the link"
	cut.columns[utilisation].says = "of hot.S-H, of the rate that it has then"
	cut.columns[time95].says = "until the link is 95 % full again, since it has its rate back"

	lot := situation{
		name: "parking-lot", title: "Parking lot", overview: fairness, caption: "Four flows cross two links of 10 Gb/s, and one more is on each of them. Max-min fairness makes all six equal; proportional fairness, the greatest sum of the logarithms of the rates, gives a third of a link to those that cross one. Figures from 100 to 200 ms.",
		times: [2]times{{[2]unit.Time{100 * ms, 200 * ms}, 0, 200 * ms}, {[2]unit.Time{10 * ms, 20 * ms}, 0, 20 * ms}}, columns: whole("first.S-T", "all"),
		course: "one.utilisation", label: "share of the first link that the flow has which crosses it alone (%)", scale: 100,
		computed: fairShares,
	}
	lot.columns[bystander] = figureOf{metric: "one.rate / one.max-min", says: "here that of the flow which crosses the first link alone, over its max-min fair share"}
	lot.columns[time95].says = "until the first link is 95 % full, from the begin of all"

	unequal := situation{
		name: "unequal", title: "Two flows from unequal starts", overview: fairness, caption: "A flow has had a link of 1 Gb/s to itself. At 10 ms the link has 10 Gb/s, and a second flow begins at its whole rate. Figures from 110 to 210 ms.",
		times: [2]times{{[2]unit.Time{110 * ms, 210 * ms}, 10 * ms, 210 * ms}, {[2]unit.Time{30 * ms, 40 * ms}, 10 * ms, 40 * ms}}, columns: whole("shared.S-H", "pair"),
		course: "pair.fairness", label: "Jain's index (1/2 to 1)", scale: 1,
	}
	unequal.columns[bystander] = figureOf{metric: "early.rate / early.max-min", says: "here that of the flow that was slow, over its max-min fair share"}
	unequal.columns[time95] = figureOf{metric: "pair.shared.95", says: "until Jain's index is 0.95, since the second begins"}

	transfers := situation{
		name: "transfers", title: "A hundred short transfers into a long flow", overview: time95, overviewSays: "95 % take up to (ms)", caption: "A flow has a link of 10 Gb/s to itself. From 20 ms on ten sources send ten transfers of 100 KB each, 4 Gb/s in the mean until they are done. Figures from 20 to 120 ms.",
		times: [2]times{{[2]unit.Time{20 * ms, 120 * ms}, 20 * ms, 120 * ms}, {[2]unit.Time{20 * ms, 40 * ms}, 20 * ms, 40 * ms}}, columns: whole("shared.S-H", "transfers"),
		course: "long.utilisation", label: "share of the link that the long flow has (%)", scale: 100,
	}
	transfers.columns[fairness] = figureOf{absent: "the flows are not alike"}
	transfers.columns[bystander] = figureOf{metric: "long.utilisation", says: "here the share of the link that the long flow has; the transfers need 8 %"}
	transfers.columns[time95] = figureOf{metric: "transfers.completion.p95", says: "what 95 % of the transfers take no longer than; alone one takes 0.08 ms"}

	slow := situation{
		name: "slow-receiver", title: "A slow receiver", overview: bystander, caption: "A receiver takes in 1 Gb/s, and stops its switch by PAUSE or for want of credit. Two of its four sources share a trunk with a bystander, for which nine tenths and more are left. At 100 ms the receiver is as fast as its link. Figures from 50 to 100 ms.",
		times: [2]times{{[2]unit.Time{50 * ms, 100 * ms}, 100 * ms, 200 * ms}, {[2]unit.Time{10 * ms, 20 * ms}, 20 * ms, 40 * ms}}, columns: whole("slow.T-SLOW", "sources"),
		course: "bystander.utilisation", label: "share of its line that the bystander has (%)", scale: 100,
	}
	slow.columns[utilisation].says = "of slow.T-SLOW: the receiver takes in 10 % of it"
	slow.columns[bystander] = incast.columns[bystander]
	slow.columns[stalled] = incast.columns[stalled]
	slow.columns[time95].says = "until the link is 95 % full, since the receiver is fast"
	return []situation{incast, cut, lot, unequal, transfers, slow}
}

// figure is a situation under all schemes.
func (s *situation) figure(tried []trial, short bool) Figure {
	t, in := s.times[0], ""
	if short {
		t, in = s.times[1], fmt.Sprintf(" In short: it ends at %v, and figures are from %v to %v.", unit.Duration(s.times[1].end), unit.Duration(s.times[1].during[0]), unit.Duration(s.times[1].during[1]))
	}
	f := Figure{Name: s.name, Source: "bench/" + s.name, Title: s.title, Caption: s.caption + in, Matrix: &Matrix{Columns: schemeColumns(), Overview: s.overview, OverviewSays: s.overviewSays}}
	for i := range f.Matrix.Columns {
		f.Matrix.Columns[i].Says = s.columns[i].says
	}
	plots := map[string]*Plot{}
	kinds := []string{}
	for _, x := range tried {
		r := Run{Scenario: "bench/" + s.name, Sets: x.sets, Seeds: true, Short: short, Schemes: x.schemes}
		row := MatrixRow{Kind: x.kind, Name: x.name}
		for i := range s.columns {
			c, during := &s.columns[i], t.during
			switch i {
			case time95:
				during = [2]unit.Time{t.since, t.end}
			case drops:
				during = [2]unit.Time{0, t.end}
			}
			if c.absent != "" {
				row.Cells = append(row.Cells, Cell{Absent: c.absent, Value: nothing()})
				continue
			}
			row.Cells = append(row.Cells, measured(r, c.metric, during))
		}
		f.Matrix.Rows = append(f.Matrix.Rows, row)
		p := plots[x.kind]
		if p == nil {
			kinds = append(kinds, x.kind)
			p = &Plot{Name: s.name + "-" + strings.ToLower(x.kind), Title: s.title + ": " + x.kind, X: plot.Axis{Label: "model time (ms)"}, Y: plot.Axis{Label: s.label, High: s.scale}, Panels: true}
			plots[x.kind] = p
		}
		p.Curves = append(p.Curves, Curve{Name: x.name, Scale: s.scale, Course: &Course{r, s.course}})
	}
	for _, k := range kinds {
		f.Plots = append(f.Plots, *plots[k])
	}
	if s.computed != nil && len(tried) > 0 {
		f.Matrix.Rows = append(f.Matrix.Rows, s.computed(Run{Scenario: "bench/" + s.name, Sets: tried[0].sets, Short: short, Schemes: tried[0].schemes}, t.during)...)
	}
	return f
}

// nothing is a quantity of no run.
func nothing() Quantity {
	return Quantity{of: func(func(*leaf) float64) float64 { return 0 }}
}

// fairShares are the rows of max-min and of proportional fairness in the parking lot.
func fairShares(r Run, during [2]unit.Time) []MatrixRow {
	var rows []MatrixRow
	for _, kind := range []string{"max-min", "proportional"} {
		row := MatrixRow{Kind: "computed", Name: kind + " fairness", Cells: slices.Repeat([]Cell{{Absent: "it is computed, not run", Value: nothing()}}, columns)}
		var rates []Quantity
		for _, flow := range []string{"both.A1", "both.A2", "both.A3", "both.A4", "one", "other"} {
			rates = append(rates, Mean(r, flow+"."+kind, during[0], during[1]))
		}
		row.Cells[fairness] = Cell{Value: Combine(jain, rates...)}
		row.Cells[bystander] = Cell{Value: Mean(r, "one."+kind+" / one.max-min", during[0], during[1])}
		rows = append(rows, row)
	}
	return rows
}

// jain is Jain's index of rates.
func jain(rates []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range rates {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(rates)) * squares)
}
