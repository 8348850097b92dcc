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
func footnotes() Figure {
	f := Figure{
		Name: "footnotes", Source: "footnotes 3, 4, 6, 7, 8 and section IV.B", Title: "What the footnotes say",
		Caption: "Each footnote that says something about results, and the counters of section IV.B against a scan, by runs of Fig. 3 and Fig. 4 with one thing changed.",
	}

	// Footnote 3.
	early := func(buffer, full int) Run {
		return cell(buffer, 0, fmt.Sprintf("defaults.switch.marking.full-at=%dpackets", full))
	}
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-16a", Basis: scenario.Quoted, Source: "footnote 3", Claim: "With the current use of small buffers in SAN switches, a lower buffer size threshold is likely to only reduce link utilization by causing the buffer to empty more frequently",
		Metric: "buffer of 4 packets: utilisation of the root link, full at 4 less full at 3", Low: positive, High: none,
		Why: "Reduced: the difference is positive. The text has no figure.",
	}, Unit: Points, Value: Minus(steady(cell(4, 0), root), steady(early(4, 3), root))}, Claim{Check: scenario.Check{
		ID: "IB-16b", Basis: scenario.Quoted, Source: "footnote 3", Claim: "If switch buffers become larger, using a buffer size threshold below the maximum capacity might be beneficial by preventing congestion spreading before its occurrence while preserving high utilization",
		Metric: "buffer of 10 packets, full at 8: utilisation of the root link", Low: 0.90, High: 1,
		Why: "High is more than 90 % elsewhere in the text.",
	}, Unit: Percent, Value: steady(early(10, 8), root)}, Claim{Check: scenario.Check{
		ID: "IB-16c", Basis: scenario.Quoted, Source: "footnote 3", Claim: "preventing congestion spreading before its occurrence",
		Metric: "buffer of 10 packets: share of the time in which the inter-switch link lacks credit, full at 10 less full at 8", Low: positive, High: none,
		Why: "Prevented: the share is smaller. The text has no figure.",
	}, Unit: Points, Value: Minus(steady(cell(10, 0), "trunk.A-B.stalled.no-credit"), steady(early(10, 8), "trunk.A-B.stalled.no-credit"))})

	// Footnote 4.
	var worst []Quantity
	for _, m := range []string{root, trunk, local, remote, victim} {
		worst = append(worst, Combine(abs, Minus(steady(cell(4, 4), m), steady(cell(4, 4, "defaults.switch.marking.skip-blocked=true"), m))))
	}
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-14", Basis: scenario.Quoted, Source: "footnote 4", Claim: "we simulated various scenarios using a marking policy that does not mark packets that are transmitted on a link that was recently blocked and confirmed that the results were identical to those obtained with the mechanism presented in this paper",
		Metric: "Fig. 4, 4 packets, threshold 4: greatest difference of any of the five rates",
		High:   0.02, Why: "Identical as far as a figure shows it: two points of the link. The rates themselves differ by up to half a point between seeds. In Fig. 3 the policy never acts, and nothing could differ.",
	}, Unit: Points, Value: Highest(worst...)})

	// Footnote 6.
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-13", Basis: scenario.Quoted, Source: "footnote 6", Claim: "the probability of having a victim packet in a full buffer is very small, since most of the time the victim can cut through",
		Metric: "Fig. 3(b), 42 to 60 ms: of the times at which the inter-switch link's buffer at switch B becomes full, the share in which a packet of the victim has a slot of it", High: 0.05,
		Why:    `The text has no figure. The victim carries seven tenths of what crosses that buffer; 5 % is "very small" beside it.`,
		Reason: "A packet that cuts through has its slot until its tail has left, one packet time, and the victim sends one after another: it has a slot most of the time, and the last slot is taken by a remote packet while one of the victim passes. What does hold is why it matters: none of them waits in the full buffer, and none is marked.",
	}, Unit: Percent, Value: counted(drawn("fig3b").With("model.duration=60ms"), 42*ms, func(c *census) float64 { return c.withVictim / c.fills })}, Claim{Check: scenario.Check{
		ID: "IB-13b", Basis: scenario.Derived, Source: "footnote 6", Claim: "a packet of the victim that is in a full buffer does not wait there",
		From:   `"the victim can cut through and start being transmitted to its output port just after its header is received".`,
		Metric: "Fig. 3(b): marking events of a full buffer at switch B for the victim's link over those for the root link", High: 0.05, Why: "As for IB-13.",
	}, Unit: Percent, Value: Over(Triggers(drawn("fig3b"), "B-BV", "full-buffer"), Triggers(drawn("fig3b"), "root.B-BC", "full-buffer"))})

	// Footnote 7.
	var fall []Quantity
	for _, b := range []int{8, 6, 5, 4, 3, 2} {
		r := cell(b, 0, "defaults.flow.control.law=fixed", "flows.local.traffic=poisson", "flows.local.rate=60MB/s", "flows.remote.traffic=poisson", "flows.remote.rate=30MB/s")
		fall = append(fall, Combine(func(v []float64) float64 { return v[0] * float64(b) }, counted(r.Once(), 100*ms, func(c *census) float64 { return c.fills })))
	}
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-25", Basis: scenario.Quoted, Source: "footnote 7", Claim: "the blocking probability of queueing systems with finite queue capacity, which is known to decrease faster than linearly with the queue capacity",
		Metric: "sources that heed no marks, Poisson, at 60 and 30 % of the root link: how often the inter-switch link's buffer becomes full in 400 ms, times its size, least fall from 2 to 3, 4, 5, 6, 8 packets", Low: positive, High: none,
		Why: `"If the arrival process and mean rate of remote packets did not change with buffer size" (section IV.C): faster than linearly is that the product with the size falls.`,
	}, Value: LeastStep(fall...)})

	// Section IV.B: counters and a scan.
	const scan = "defaults.switch.marking.selection=scan"
	var same []Quantity
	for _, name := range []string{"fig3b", "fig3d"} {
		for _, m := range []string{root, trunk, local, remote, victim} {
			r := drawn(name).With("model.duration=60ms")
			same = append(same, Combine(abs, Minus(during(r, m), during(r.With(scan), m))))
		}
	}
	out := cell(2, 0, "defaults.switch.crossbar=single-output").Once()
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-26a", Basis: scenario.Quoted, Source: "section IV.B", Claim: "this counter implementation may mark a different set of packets than a direct packet scanning approach, since packets can be transmitted out of order",
		Metric: "two packets, no threshold, each input feeds one output at a time: utilisation of the root link, difference", Low: positive, High: none,
		Why: "Different sets have different effects. With this crossbar packets overtake those whose input is busy.",
	}, Unit: Points, Value: Combine(abs, Minus(steady(out, root), steady(out.With(scan), root)))}, Claim{Check: scenario.Check{
		ID: "IB-26b", Basis: scenario.Derived, Source: "section IV.B", Claim: "where no packet overtakes another one for the same output, counters and a scan are the same",
		From:   `"since packets can be transmitted out of order": here none is, since an input may feed several outputs at once.`,
		Metric: "Fig. 3(b) and (d), 42 to 60 ms: greatest difference of any of the five rates", High: 0, Why: "The same packets are marked.",
	}, Unit: Points, Value: Highest(same...)})

	// Footnote 8.
	var full []Quantity
	for _, t := range thresholds {
		for _, b := range []int{12, 14, 16, 20} {
			full = append(full, Triggers(cell(b, t).Once(), "", "full-buffer"))
		}
	}
	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-11a", Basis: scenario.Quoted, Source: "footnote 8", Claim: "For buffer sizes 12 and greater, all marking is output-triggered regardless of output threshold, because the input buffer never becomes full",
		Metric: "times at which any buffer was full, buffers of 12 to 20 packets, all thresholds", High: 0,
		Why: "Never: 10 remote flows and a victim with a window of one packet each are 11 packets.",
	}, Value: Sum(full...)}, Claim{Check: scenario.Check{
		ID: "IB-11b", Basis: scenario.Derived, Source: "footnote 8", Claim: "a buffer for fewer packets than there are flows does become full",
		From:   `"because the input buffer never becomes full, since there are only 10 remote flows and one victim flow": the bound is 11 packets.`,
		Metric: "times at which a buffer was full, buffer of 10 packets, no threshold", Low: 1, High: none,
		Why: "With room for 10 of 11 packets it must happen.",
	}, Value: Triggers(cell(10, 0).Once(), "", "full-buffer")})
	return f
}

func abs(v []float64) float64 { return max(v[0], -v[0]) }

// sensitivity shows which statements each reading of the text keeps.
func sensitivity() Figure {
	choices := []struct {
		name string
		sets []string
		grid []string // of Fig. 4 alone
	}{
		{name: "as in the figures"},
		{name: "direct scan", sets: []string{"defaults.switch.marking.selection=scan"}},
		{name: "single-output (M2)", sets: []string{"defaults.switch.crossbar=single-output", "defaults.switch.marking.idle-exempt=true"}},
		{name: "M2, direct scan", sets: []string{"defaults.switch.crossbar=single-output", "defaults.switch.marking.idle-exempt=true", "defaults.switch.marking.selection=scan"}},
		{name: "more than threshold (>)", sets: []string{"defaults.switch.marking.exceeds=>"}},
		{name: "cnt1 counts sending", sets: []string{"defaults.switch.marking.counts=waiting-and-sending"}},
		{name: "Rmax/Rmin 512", sets: []string{setRatio + "512"}},
		{name: "Rmax/Rmin 1024", sets: []string{setRatio + "1024"}},
		{name: "no victim in Fig. 4", grid: []string{"model.duration=501ms", "flows.victim.start=500ms", "flows.victim.stop=501ms"}},
		{name: "threshold at switch B alone", sets: []string{"switches.A.marking.scheme=input"}},
	}
	t := &Table{
		Title: "Which statements each reading of the text keeps",
		Note:  "The text compares its counters to a direct scan of the buffers, and leaves open how an input feeds the crossbar, whether a threshold is exceeded by being reached, what cnt1 counts, the lowest rate of a source, whether the victim is active in Fig. 4, and which switches have the output threshold. Each column changes one of these against the first. Fig. 2 and 3: 42 to 60 ms, mean of the seeds; Fig. 4: 100 to 500 ms.",
	}
	for _, c := range choices {
		t.Columns = append(t.Columns, c.name)
	}
	row := func(c Claim, of func(rates func(figure, metric string) Quantity, grid func(metric string, buffer, threshold int) Quantity) Quantity) {
		r := Row{Claim: c}
		for _, choice := range choices {
			rates := func(figure, metric string) Quantity {
				return during(drawn(figure).With("model.duration=60ms").With(choice.sets...), metric)
			}
			grid := func(metric string, buffer, threshold int) Quantity {
				return steady(cell(buffer, threshold, choice.sets...).With(choice.grid...).Once(), metric)
			}
			r.Cells = append(r.Cells, of(rates, grid))
		}
		t.Rows = append(t.Rows, r)
	}
	type rates = func(figure, metric string) Quantity
	type grid = func(metric string, buffer, threshold int) Quantity
	rate := func(source, says, figure, metric string, low, high float64) {
		row(Claim{Check: scenario.Check{Source: source, Claim: says, Metric: metric, Low: low, High: high}, Unit: Percent}, func(r rates, _ grid) Quantity { return r(figure, metric) })
	}
	rate("Fig. 2", "inter-switch link 32.5 %", "fig2", trunk, 0.32, 0.33)
	rate("Fig. 2", "victim 4 %", "fig2", victim, 0.037, 0.043)
	rate("Fig. 3(a)", "local flows have 90 % of the root link", "fig3a", localOfRoot, 0.88, 0.92)
	rate("Fig. 3(a)", "the victim has high throughput", "fig3a", victim, 0.75, 1)
	rate("Fig. 3(b)", "the inter-switch link is highly utilised", "fig3b", trunk, 0.90, 1)
	row(Claim{Check: scenario.Check{Source: "Fig. 3(b)", Claim: "fairer than naive marking", Metric: "remote/local less that of 3(a)", Low: positive, High: none}},
		func(r rates, _ grid) Quantity { return Minus(r("fig3b", remoteLocal), r("fig3a", remoteLocal)) })
	rate("Fig. 3(c)", "threshold 4: the root link is underutilised", "fig3c", root, 0, 0.85)
	rate("Fig. 3(d)", "threshold 8: the root link is highly utilised", "fig3d", root, 0.97, 1)
	row(Claim{Check: scenario.Check{Source: "Fig. 3(d), first version", Claim: "threshold 8: fairer than input-triggered marking", Metric: "remote/local less that of 3(b)", Low: positive, High: none}},
		func(r rates, _ grid) Quantity { return Minus(r("fig3d", remoteLocal), r("fig3b", remoteLocal)) })
	row(Claim{Check: scenario.Check{Source: "Fig. 3(d), second version", Claim: "threshold 8: about equal rates", Metric: "remote/local", Low: 0.8, High: 1.25}},
		func(r rates, _ grid) Quantity { return r("fig3d", remoteLocal) })
	row(Claim{Check: scenario.Check{Source: "Fig. 4(a)", Claim: "threshold 4 underutilises", Metric: "highest of 4 and 12 packets", High: 0.90}, Unit: Percent},
		func(_ rates, g grid) Quantity { return Highest(g(root, 4, 4), g(root, 12, 4)) })
	for _, b := range []int{2, 3, 4} {
		row(Claim{Check: scenario.Check{Source: "Fig. 4(a)", Claim: fmt.Sprintf("a buffer of %d packets underutilises", b), Metric: "no threshold", High: 0.90}, Unit: Percent},
			func(_ rates, g grid) Quantity { return g(root, b, 0) })
	}
	row(Claim{Check: scenario.Check{Source: "Fig. 4(a)", Claim: "threshold 6: more than 90 %", Metric: "lowest of 4 and 12 packets", Low: 0.90, High: 1}, Unit: Percent},
		func(_ rates, g grid) Quantity { return Lowest(g(root, 4, 6), g(root, 12, 6)) })
	row(Claim{Check: scenario.Check{Source: "Fig. 4(a)", Claim: "... except at the smallest buffer", Metric: "2 packets, threshold 6", High: 0.90}, Unit: Percent},
		func(_ rates, g grid) Quantity { return g(root, 2, 6) })
	row(Claim{Check: scenario.Check{Source: "Fig. 4(b)", Claim: "fairer with larger buffers", Metric: "remote/local, no threshold, least step 2, 4, 8 packets", Low: positive, High: none}},
		func(_ rates, g grid) Quantity {
			return LeastStep(g(remoteLocal, 2, 0), g(remoteLocal, 4, 0), g(remoteLocal, 8, 0))
		})
	row(Claim{Check: scenario.Check{Source: "Fig. 4(b)", Claim: "no change above the threshold", Metric: "remote/local, threshold 4, 8 and 12 packets, spread", High: 0.05}},
		func(_ rates, g grid) Quantity { return Spread(g(remoteLocal, 8, 4), g(remoteLocal, 12, 4)) })
	row(Claim{Check: scenario.Check{Source: "Fig. 4(b)", Claim: "local share falls from threshold 4 to 8", Metric: "remote/local, 12 packets, difference", Low: positive, High: none}},
		func(_ rates, g grid) Quantity { return Minus(g(remoteLocal, 12, 8), g(remoteLocal, 12, 4)) })
	row(Claim{Check: scenario.Check{Source: "Fig. 4(b)", Claim: "fairer again at 16", Metric: "distance from 1, 12 packets, threshold 8 less 16", Low: positive, High: none}},
		func(_ rates, g grid) Quantity {
			return Minus(FromOne(g(remoteLocal, 12, 8)), FromOne(g(remoteLocal, 12, 16)))
		})
	return Figure{Name: "sensitivity", Source: "sections III and IV", Title: "What the readings of the text change", Caption: t.Note, Table: t}
}

// everybody is Jain's index of all flows that share the root link.
func everybody(r Run, from, to unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		var flows []int
		for _, g := range metrics.Groups(x.Metrics.Fabric()) {
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
func laws() Figure {
	f := Figure{
		Name: "laws", Source: "footnote 1", Title: "Source laws: LIPD, FIMD, AIMD",
		Caption: "Input-triggered marking as in Fig. 3(b), a curve for each law with Rmax/Rmin of 256. At 100 ms all local flows stop, and the remote flows take the root link. " +
			"Converged: the time from the last start to the end of the first window of 10 ms from which on, for 10 ms, remote/local stays within a fifth of its mean of 60 to 100 ms. " +
			"Reclaimed: the time from the stop of the local flows to the middle of the first window of 0.5 ms in which the root link carries 90 % again.",
		Table: &Table{Title: "Source laws side by side", Columns: []string{"LIPD", "FIMD", "AIMD"}, Note: "Means and standard deviations over the seeds; nothing is judged here."},
	}
	names := []string{"lipd", "fimd", "aimd"}
	use := Plot{Name: "laws-utilisation", Title: "Source laws: root link", X: plot.Axis{Label: "model time (ms)", High: 128}, Y: plot.Axis{Label: "utilisation of the root link (%)", High: 105}}
	ratio := Plot{Name: "laws-fairness", Title: "Source laws: remote against local flows", X: plot.Axis{Label: "model time (ms)", High: 98}, Y: plot.Axis{Label: "rate of remote flows / rate of local flows", High: 1.2},
		References: []plot.Reference{{Name: "equal rates", Low: 1, High: 1}}}
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
		x := Row{Claim: Claim{Check: scenario.Check{Claim: says, Metric: measured, Low: -none, High: none}, Unit: unit}}
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

	f.Claims = append(f.Claims, Claim{Check: scenario.Check{
		ID: "IB-17", Basis: scenario.Quoted, Source: "footnote 1", Claim: "the well-known AIMD [10] function or a more efficient variation for this environment that we term LIPD",
		Metric: "utilisation of the root link, 60 to 100 ms: LIPD less AIMD",
		Low:    positive, High: none, Why: "More efficient is read as: more of the link is used. The text has no figure.",
	}, Unit: Points, Value: Minus(utilisation(fine["lipd"]), utilisation(fine["aimd"]))})
	// What each law needs to take a flow from the share that it has to the one that it
	// can have, if no mark comes: the inverse of its continuous increase.
	const packet, rho = 2.068e-6, 256.0 // s; Rmax/Rmin
	for _, x := range []struct {
		law, text string
		predict   func(from, to float64) float64
	}{
		{"lipd", "LIPD takes one packet time off the inter-packet delay in each 1/Rmin (529 us)", func(from, to float64) float64 { return (1/from - 1/to) * packet * rho }},
		{"fimd", "FIMD doubles the rate in each 1/Rmin", func(from, to float64) float64 { return math.Log2(to/from) * packet * rho }},
		{"aimd", "AIMD adds Rmin in each 1/Rmin", func(from, to float64) float64 { return (to - from) * packet * rho * rho }},
	} {
		before := Mean(fine[x.law], remote, 90*ms, localStop)
		f.Claims = append(f.Claims, Claim{Check: scenario.Check{
			ID: "IB-18/" + x.law, Basis: scenario.Derived, Source: "US 7,920,476", Claim: x.text, From: "The laws of recovery in the claims of the patent, of the paper's authors: one decrease is made good in the time of one packet at the lowest rate.",
			Metric: "time to reclaim the link over what the law gives for a tenth of it",
			Low:    0.8, High: 1.25, Why: "The law is of one flow in continuous time; here ten flows of unequal rates share, and a window of 0.5 ms sees them. A quarter up or down.",
		}, Value: Combine(func(v []float64) float64 { return v[0] / x.predict(v[1]/10, reclaimed/10) }, reclaim(fine[x.law]), before)})
	}
	return f
}
