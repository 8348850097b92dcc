package reproduce

import (
	"fmt"
	"math"

	"fabemu/emu/report/plot"
)

// Source-based E2CM: Validation of the Orlando Proposal, Cyriel Minkenberg and Mitch Gusat,
// IBM Research, slides of March 22, 2007.

func e2cm() *Paper {
	return worded(&Paper{
		Name:   "e2cm",
		Title:  "Extended Ethernet Congestion Management",
		Source: "E2CM (C. Minkenberg and M. Gusat, IBM, March 2007)",
		About:  read("e2cm.md"),
		units:  queuesIn(kilobytes),
		Figures: []Figure{
			{Name: "hotspot", Source: "slide Results single-hop OG scenario (N= 16)", Title: "The hotspot, with PAUSE and without", describe: e2cmHotspot},
			{Name: "rtt", Source: "slide Results single-hop OG scenario - Impact of RTT, OQ limit", Title: "The round trip, and a limit to output queues", describe: e2cmRTT},
			{Name: "probes", Source: "slides Simulation Setup & Parameters, Modification addressing Concern #2", Title: "What probes add to ECM", describe: e2cmProbes},
			{Name: "probes-lost", Source: "slide Modification addressing Concern #1", Title: "Lost probes", describe: e2cmLost},
			{Name: "limiters", Source: "slide Simulation Setup & Parameters", Title: "Too few rate limiters", describe: e2cmLimiters},
		},
	})
}

const (
	e2cmEnd   = 100 * ms
	e2cmLate  = 80 * ms // when sources have slowed down
	e2cmQueue = "hot.S-N1.queue"
	kilobytes = 1e-3
	overload  = 625_000 // frames that are offered to node 1 in a second, and that it does not take
)

func e2cmRun(name string) Run { return Run{Scenario: "e2cm/" + name, Seeds: true} }

// constant is a number that the source says.
func constant(v float64) Quantity { return Combine(func([]float64) float64 { return v }) }

// lostFrames is how many frames a run of E2CM loses.
func lostFrames(r Run) Quantity { return Mean(r, "all.drops", 0, e2cmEnd) }

// perSecond is a count of a run of E2CM, for each second of it.
func perSecond(q Quantity) Quantity { return scaled(q, 1/e2cmEnd.Seconds()) }

// destinationBased is a run in which destinations count.
func destinationBased(r Run) Run { return r.With("defaults.flow.control.accounting=destination") }

// e2cmHotspot is the hotspot, with and without PAUSE, and who counts.
func e2cmHotspot(f *Figure) {
	on, off := e2cmRun("hotspot"), e2cmRun("hotspot-drops")
	row := func(says string, source [2]float64, here func(Run) Quantity, r Run) Row {
		return unjudged(says, "frames", Plain, constant(source[0]), constant(source[1]), here(destinationBased(r)), here(r))
	}
	overloaded := func(r Run) Quantity { return scaled(lostFrames(r), 1./overload) }
	uncontrolled := row("PAUSE off, in seconds of overload without control", [2]float64{146_595. / overload, 130_268. / overload}, overloaded, off)
	uncontrolled.Claim.Metric = "s"
	f.Table = &Table{Title: "Switch frame drops", Columns: []string{"slides, dst-based", "slides, src-based", "here, dst-based", "here, src-based"}, Rows: []Row{
		row("PAUSE on", [2]float64{0, 0}, lostFrames, on),
		row("PAUSE off", [2]float64{146_595, 130_268}, lostFrames, off),
		row("PAUSE off, per second of overload; the slides' is not known", [2]float64{math.NaN(), math.NaN()}, func(r Run) Quantity { return perSecond(lostFrames(r)) }, off),
		uncontrolled,
	}, Note: "Means and standard deviations of five seeds."}
	f.claim("E-1d", lostFrames(destinationBased(on)))
	f.printed("E-2-{who}", lostFrames(destinationBased(off)), 146_595, "who", "destination", "table", "146,595")
	f.printed("E-2-{who}", lostFrames(off), 130_268, "who", "source", "table", "130,268")
	f.claim("E-2f", Over(lostFrames(off), lostFrames(destinationBased(off))))
	f.claim("E-2e", Over(lostFrames(off), lostFrames(off.With("defaults.flow.control.law=fixed"))))

	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)"}, References: level("Qeq = 75 KB", 75),
		Curves: []Curve{curve("PAUSE on", on, e2cmQueue, kilobytes), curve("PAUSE off", off, e2cmQueue, kilobytes)}}}
}

// delays are the round trips of the slides, their drops without and with the limit, and what
// makes a run have them.
var delays = []struct {
	us                 int
	unlimited, limited float64
	sets               []string
}{
	{0, 134_879, 16_083, nil},
	{10, 148_816, 14_230, distant("5us", "1480KB", "1470KB")},
	{100, 135_874, 11_116, distant("50us", "1365KB", "1355KB")},
	{200, 144_239, 7_171, distant("100us", "1240KB", "1230KB")},
	{500, 189_371, 11_300, distant("250us", "865KB", "855KB")},
}

// distant is a propagation of links, and the watermarks of adapters that go with it.
func distant(propagation, high, low string) []string {
	return []string{"defaults.link.propagation=" + propagation, "defaults.endpoint.high=" + high, "defaults.endpoint.low=" + low}
}

// e2cmRTT is the delay of links, with and without a limit to the queue of an output.
func e2cmRTT(f *Figure) {
	f.Table = &Table{Title: "Switch frame drops by RTT", Columns: []string{"slides", "here", "here, per second of overload", "slides, 600 KB", "here, 600 KB", "slides: ratio", "here: ratio", "here: queue (KB)"}}
	var unlimited, limits, queues []Quantity
	points := [2][]Point{}
	for _, d := range delays {
		free, limited := e2cmRun("hotspot-drops").With(d.sets...), e2cmRun("oq-limit").With(d.sets...)
		ratio := Over(lostFrames(free), lostFrames(limited))
		queue := scaled(Mean(free, e2cmQueue, 0, e2cmEnd), kilobytes)
		unlimited, limits, queues = append(unlimited, lostFrames(free)), append(limits, lostFrames(limited)), append(queues, queue)
		f.Table.Rows = append(f.Table.Rows, unjudged(fmt.Sprintf("RTT %d us", d.us), "frames", Plain,
			constant(d.unlimited), lostFrames(free), perSecond(lostFrames(free)), constant(d.limited), lostFrames(limited),
			constant(d.unlimited/d.limited), ratio, queue))
		f.printed("E-3-{rtt}us", lostFrames(free), d.unlimited, "rtt", d.us, "table", d.unlimited)
		f.printed("E-4-{rtt}us", ratio, d.unlimited/d.limited, "rtt", d.us, "ratio", fmt.Sprintf("%.1f", d.unlimited/d.limited))
		f.printed("E-6-{rtt}us", lostFrames(limited), d.limited, "rtt", d.us, "table", d.limited)
		for i, q := range []Quantity{lostFrames(free), lostFrames(limited)} {
			points[i] = append(points[i], Point{float64(d.us), q})
		}
	}
	last := len(delays) - 1
	f.printed("E-3a", Over(unlimited[last], unlimited[0]), delays[last].unlimited/delays[0].unlimited)
	for i := 1; i <= last; i++ {
		table := delays[i].limited / delays[0].limited
		f.printed("E-7-{rtt}us", Over(limits[i], limits[0]), table, "rtt", delays[i].us, "table", fmt.Sprintf("%.2f", table))
	}
	f.claim("E-4e", Over(Sum(unlimited...), Sum(limits...)))
	f.claim("E-5d", LeastStep(queues...))

	f.Plots = []Plot{{X: plot.Axis{Label: "RTT (us of model time)"}, Y: plot.Axis{Label: "dropped in 100 ms (frames)"},
		Curves: []Curve{{Name: "as much as there is", Points: points[0]}, {Name: "600 KB to an output", Points: points[1]}}},
		{Name: "rtt-queue", Title: "The queue of the hotspot by round trip", X: modelTime, Y: plot.Axis{Label: "queue (KB)", High: 1000}, References: level("Qeq = 75 KB", 75),
			Curves: []Curve{curve("0", e2cmRun("oq-limit"), e2cmQueue, kilobytes), curve("100 us", e2cmRun("oq-limit").With(delays[2].sets...), e2cmQueue, kilobytes), curve("500 us", e2cmRun("oq-limit").With(delays[last].sets...), e2cmQueue, kilobytes)}}}
}

// e2cmProbes is what the probes are good for, and the choices about them.
func e2cmProbes(f *Figure) {
	swing := func(r Run) Quantity {
		return scaled(Mean(r, e2cmQueue+".deviation", e2cmLate, e2cmEnd), kilobytes)
	}
	r := e2cmRun("hotspot-drops")
	ecm := r.With("defaults.flow.control.law=bcn", "defaults.flow.control.version=ecm")
	both := r.With("defaults.flow.control.expedite=both")
	printed := r.With("defaults.flow.control.flow-gains=flow")
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)", High: 1000}, References: level("Qeq = 75 KB", 75),
		Curves: []Curve{curve("E2CM", r, e2cmQueue, kilobytes), curve("ECM alone", ecm, e2cmQueue, kilobytes), curve("probes overtake", both, e2cmQueue, kilobytes)}}}
	f.claim("EM-1", Over(swing(r), swing(ecm)))
	f.claim("EM-2", Over(swing(both), swing(r)))
	f.claim("EM-3", Over(lostFrames(printed), lostFrames(r)))
}

// e2cmLost is the loss of probes.
func e2cmLost(f *Figure) {
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)", High: 1000}, References: level("Qeq = 75 KB", 75),
		Curves: []Curve{curve("all come", e2cmRun("hotspot"), e2cmQueue, kilobytes), curve("a fifth is lost", e2cmRun("probes-lost"), e2cmQueue, kilobytes)}}}
	r := e2cmRun("hotspot-drops")
	suffers := func(r Run) Quantity { return Over(lostFrames(r.With(loseProbes)), lostFrames(r)) }
	f.claim("EP-5", Over(suffers(r), suffers(destinationBased(r))))
}

// loseProbes loses a fifth of the probes.
const loseProbes = "defaults.flow.control.lost-probes=20"

// e2cmLimiters is an adapter with too few rate limiters.
func e2cmLimiters(f *Figure) {
	few := e2cmRun("limiters")
	enough := few.With("defaults.endpoint.limiters=unlimited")
	late := func(r Run) Quantity { return Mean(r, "all.drops", e2cmLate, e2cmEnd) }
	f.claim("EL-3", late(enough))
}
