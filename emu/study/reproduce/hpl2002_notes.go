package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// footnotes are the footnotes of HPL-2002-224 that can be checked.
func footnotes(f *Figure) {

	// Footnote 3.
	early := func(buffer, full int) Run {
		return cell(buffer, 0, fmt.Sprintf("defaults.switch.marking.full-at=%dpackets", full))
	}
	f.claim("IB-16a", Minus(steady(cell(4, 0), root), steady(early(4, 3), root)))
	f.claim("IB-16b", steady(early(10, 8), root))
	f.claim("IB-16c", Minus(steady(cell(10, 0), "trunk.A-B.stalled.no-credit"), steady(early(10, 8), "trunk.A-B.stalled.no-credit")))

	// Footnote 4.
	var worst []Quantity
	for _, m := range []string{root, trunk, local, remote, victim} {
		worst = append(worst, Spread(steady(cell(4, 4), m), steady(cell(4, 4, "defaults.switch.marking.skip-blocked=true"), m)))
	}
	f.claim("IB-14", Highest(worst...))

	// Footnote 6.
	f.claim("IB-13", counted(drawn("fig3b").With("model.duration=60ms"), 42*ms, func(c *census) float64 { return c.withVictim / c.fills }).in(metrics.Share()))
	f.claim("IB-13b", Over(Triggers(drawn("fig3b"), "B-BV", "full-buffer"), Triggers(drawn("fig3b"), "root.B-BC", "full-buffer")))

	// Footnote 7.
	var fall []Quantity
	for _, b := range []int{8, 6, 5, 4, 3, 2} {
		r := cell(b, 0, "defaults.flow.control.law=fixed", "flows.local.traffic=poisson", "flows.local.rate=60MB/s", "flows.remote.traffic=poisson", "flows.remote.rate=30MB/s")
		fall = append(fall, Combine(func(v []float64) float64 { return v[0] * float64(b) }, counted(r.Once(), 100*ms, func(c *census) float64 { return c.fills })))
	}
	f.claim("IB-25", LeastStep(fall...))

	// Section IV.B: counters and a scan.
	const scan = "defaults.switch.marking.selection=scan"
	var same []Quantity
	for _, name := range []string{"fig3b", "fig3d"} {
		for _, m := range []string{root, trunk, local, remote, victim} {
			r := drawn(name).With("model.duration=60ms")
			same = append(same, Spread(during(r, m), during(r.With(scan), m)))
		}
	}
	out := cell(2, 0, "defaults.switch.crossbar=single-output").Once()
	f.claim("IB-26a", Spread(steady(out, root), steady(out.With(scan), root)))
	f.claim("IB-26b", Highest(same...))

	// Footnote 8.
	var full []Quantity
	for _, t := range thresholds {
		for _, b := range []int{12, 14, 16, 20} {
			full = append(full, Triggers(cell(b, t).Once(), "", "full-buffer"))
		}
	}
	f.claim("IB-11a", Sum(full...))
	f.claim("IB-11b", Triggers(cell(10, 0).Once(), "", "full-buffer"))
}

// sensitivity shows which statements each reading of the text keeps.
func sensitivity(f *Figure) {
	m2 := []string{"defaults.switch.crossbar=single-output", "defaults.switch.marking.idle-exempt=true"}
	const scan = "defaults.switch.marking.selection=scan"
	readings := []reading{
		{name: "as in the figures"},
		{name: "direct scan", sets: []string{scan}},
		{name: "single-output (M2)", sets: m2},
		{name: "M2, direct scan", sets: append(m2[:2:2], scan)},
		{name: "more than threshold (>)", sets: []string{"defaults.switch.marking.exceeds=>"}},
		{name: "cnt1 counts sending", sets: []string{"defaults.switch.marking.counts=waiting-and-sending"}},
		{name: "Rmax/Rmin 512", sets: []string{setRatio + "512"}},
		{name: "Rmax/Rmin 1024", sets: []string{setRatio + "1024"}},
		{name: "no victim in Fig. 4", grid: []string{"model.duration=501ms", "flows.victim.start=500ms", "flows.victim.stop=501ms"}},
		{name: "threshold at switch B alone", sets: []string{"switches.A.marking.scheme=input"}},
	}
	t := &Table{Title: "Which statements each reading of the text keeps", Note: f.Caption}
	for _, r := range readings {
		t.Columns = append(t.Columns, r.name)
	}
	row := func(source, says, measured string, unit Unit, low, high float64, of func(*reading) Quantity) {
		x := Row{Claim: Claim{Check: scenario.Check{Source: source, Claim: says, Metric: measured, Low: low, High: high}, Unit: unit}}
		for i := range readings {
			x.Cells = append(x.Cells, of(&readings[i]))
		}
		t.Rows = append(t.Rows, x)
	}
	rate := func(source, says, figure, metric string, low, high float64) {
		row(source, says, metric, Percent, low, high, func(r *reading) Quantity { return r.rate(figure, metric) })
	}
	less := func(figure, other string) func(*reading) Quantity {
		return func(r *reading) Quantity { return Minus(r.rate(figure, remoteLocal), r.rate(other, remoteLocal)) }
	}
	rate("Fig. 2", "inter-switch link 32.5 %", "fig2", trunk, 0.32, 0.33)
	rate("Fig. 2", "victim 4 %", "fig2", victim, 0.037, 0.043)
	rate("Fig. 3(a)", "local flows have 90 % of the root link", "fig3a", localOfRoot, 0.88, 0.92)
	rate("Fig. 3(a)", "the victim has high throughput", "fig3a", victim, 0.75, 1)
	rate("Fig. 3(b)", "the inter-switch link is highly utilised", "fig3b", trunk, 0.90, 1)
	row("Fig. 3(b)", "fairer than naive marking", "remote/local less that of 3(a)", Plain, positive, none, less("fig3b", "fig3a"))
	rate("Fig. 3(c)", "threshold 4: the root link is underutilised", "fig3c", root, 0, 0.85)
	rate("Fig. 3(d)", "threshold 8: the root link is highly utilised", "fig3d", root, 0.97, 1)
	row("Fig. 3(d), first version", "threshold 8: fairer than input-triggered marking", "remote/local less that of 3(b)", Plain, positive, none, less("fig3d", "fig3b"))
	row("Fig. 3(d), second version", "threshold 8: about equal rates", "remote/local", Plain, 0.8, 1.25, func(r *reading) Quantity { return r.rate("fig3d", remoteLocal) })
	row("Fig. 4(a)", "threshold 4 underutilises", "highest of 4 and 12 packets", Percent, 0, 0.90,
		func(r *reading) Quantity { return Highest(r.cell(root, 4, 4), r.cell(root, 12, 4)) })
	for _, b := range []int{2, 3, 4} {
		row("Fig. 4(a)", fmt.Sprintf("a buffer of %d packets underutilises", b), "no threshold", Percent, 0, 0.90,
			func(r *reading) Quantity { return r.cell(root, b, 0) })
	}
	row("Fig. 4(a)", "threshold 6: more than 90 %", "lowest of 4 and 12 packets", Percent, 0.90, 1,
		func(r *reading) Quantity { return Lowest(r.cell(root, 4, 6), r.cell(root, 12, 6)) })
	row("Fig. 4(a)", "... except at the smallest buffer", "2 packets, threshold 6", Percent, 0, 0.90,
		func(r *reading) Quantity { return r.cell(root, 2, 6) })
	row("Fig. 4(b)", "fairer with larger buffers", "remote/local, no threshold, least step 2, 4, 8 packets", Plain, positive, none, func(r *reading) Quantity {
		return LeastStep(r.cell(remoteLocal, 2, 0), r.cell(remoteLocal, 4, 0), r.cell(remoteLocal, 8, 0))
	})
	row("Fig. 4(b)", "no change above the threshold", "remote/local, threshold 4, 8 and 12 packets, spread", Plain, 0, 0.05,
		func(r *reading) Quantity { return Spread(r.cell(remoteLocal, 8, 4), r.cell(remoteLocal, 12, 4)) })
	row("Fig. 4(b)", "local share falls from threshold 4 to 8", "remote/local, 12 packets, difference", Plain, positive, none,
		func(r *reading) Quantity { return Minus(r.cell(remoteLocal, 12, 8), r.cell(remoteLocal, 12, 4)) })
	row("Fig. 4(b)", "fairer again at 16", "distance from 1, 12 packets, threshold 8 less 16", Plain, positive, none, func(r *reading) Quantity {
		return Minus(FromOne(r.cell(remoteLocal, 12, 8)), FromOne(r.cell(remoteLocal, 12, 16)))
	})
	f.Table = t
}

// reading is a way to read the text.
type reading struct {
	name string
	sets []string
	grid []string // of Fig. 4 alone
}

// rate is a metric of Fig. 2 or of a part of Fig. 3.
func (r *reading) rate(figure, metric string) Quantity {
	return during(drawn(figure).With("model.duration=60ms").With(r.sets...), metric)
}

// cell is a metric of a point of Fig. 4.
func (r *reading) cell(metric string, buffer, threshold int) Quantity {
	return steady(cell(buffer, threshold, r.sets...).With(r.grid...).Once(), metric)
}

// everybody is Jain's index of all flows that share the root link.
func everybody(r Run, from, to unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		var flows []int
		for _, g := range x.Metrics.Fabric().Groups() {
			if g.Name != "victim" {
				flows = append(flows, g.Flows...)
			}
		}
		return x.Metrics.Jain(flows, from, to), nil
	})
}

// The experiment with the laws: as Fig. 3(b) with the victim last, so that nothing
// but the law changes rates before; at 100 ms all local flows stop, and the remote
// ones can have the root link for themselves.
const (
	lastStart = 1900 * unit.Time(unit.Microsecond)
	localStop = 100 * ms
	reclaimed = 0.9 // of the root link
)

func underLaw(law string) Run {
	return Run{Scenario: "hpl2002/fig3b", Seeds: true}.With(setLaw+law, "model.duration=140ms", "flows.victim.start=130ms", "flows.victim.stop=140ms", "flows.local.stop=100ms")
}

// laws sets the source laws side by side.
func laws(f *Figure) {
	f.Table = &Table{Title: "Source laws side by side", Columns: []string{"LIPD", "FIMD", "AIMD"}, Note: "Means and standard deviations over the seeds; nothing is judged here."}

	names := []string{"lipd", "fimd", "aimd"}
	use := Plot{Name: "laws-utilisation", Title: "Source laws: root link", X: plot.Axis{Label: "model time (ms)", High: 128}, Y: plot.Axis{Label: "utilisation of the root link (%)", High: 105}}
	ratio := Plot{Name: "laws-fairness", Title: "Source laws: remote against local flows", X: plot.Axis{Label: "model time (ms)", High: 98}, Y: plot.Axis{Label: "rate of remote flows / rate of local flows", High: 1.2},
		References: level("equal rates", 1)}
	fine := map[string]Run{}
	for _, law := range names {
		fine[law] = underLaw(law).With("measure.window=500us")
		course := underLaw(law)
		course.Seeds = false
		use.Curves = append(use.Curves, Curve{Name: strings.ToUpper(law), Scale: 100, Course: &Course{course, root}})
		ratio.Curves = append(ratio.Curves, Curve{Name: strings.ToUpper(law), Course: &Course{course, remoteLocal}})
	}
	f.Plots = []Plot{use, ratio}
	row := func(says, measured string, unit Unit, of func(r Run) Quantity) {
		x := unjudged(says, measured, unit)
		for _, law := range names {
			x.Cells = append(x.Cells, of(fine[law]))
		}
		f.Table.Rows = append(f.Table.Rows, x)
	}
	utilisation := func(r Run) Quantity { return Mean(r, root, 60*ms, localStop) }
	reclaim := func(r Run) Quantity { return Reached(r, root, reclaimed, localStop) }
	row("utilisation of the root link", "60 to 100 ms", Percent, utilisation)
	row("remote/local", "60 to 100 ms", Plain, func(r Run) Quantity { return Mean(r, remoteLocal, 60*ms, localStop) })
	row("Jain's index of all 20 flows", "60 to 100 ms", Plain, func(r Run) Quantity { return everybody(r, 60*ms, localStop) })
	row("convergence time", "remote/local, as defined above", Milliseconds, func(r Run) Quantity {
		return Settled(r, remoteLocal, lastStart, 10*ms, 10*ms, 0.2, 60*ms, localStop)
	})
	row("time to reclaim the link", "root link, as defined above", Milliseconds, reclaim)

	f.claim("IB-17", Minus(utilisation(fine["lipd"]), utilisation(fine["aimd"])))

	// The time in which a law takes a flow from its share to the share that it can have, if no
	// mark comes: the inverse of its continuous increase.
	const packet, rho = 2.068e-6, 256.0 // s; Rmax/Rmin
	for _, x := range []struct {
		law, does string
		predict   func(from, to float64) float64
	}{
		{"lipd", "LIPD takes one packet time off the inter-packet delay in each 1/Rmin (529 us)", func(from, to float64) float64 { return (1/from - 1/to) * packet * rho }},
		{"fimd", "FIMD doubles the rate in each 1/Rmin", func(from, to float64) float64 { return math.Log2(to/from) * packet * rho }},
		{"aimd", "AIMD adds Rmin in each 1/Rmin", func(from, to float64) float64 { return (to - from) * packet * rho * rho }},
	} {
		before := Mean(fine[x.law], remote, 90*ms, localStop)
		f.claim("IB-18/{law}", Combine(func(v []float64) float64 { return v[0] / x.predict(v[1]/10, reclaimed/10) }, reclaim(fine[x.law]), before),
			"law", x.law, "what it does", x.does)
	}
}
