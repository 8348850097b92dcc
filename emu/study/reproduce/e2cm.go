package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
)

// Source-based E2CM: Validation of the Orlando Proposal, Cyriel Minkenberg and Mitch Gusat,
// IBM Research, slides of March 22, 2007.

// aboutE2CM is the text before the figures; ~ stands for a backquote.
const aboutE2CM = `
Extended Ethernet Congestion Management is ECM, which is BCN by another name, and probes. A congestion point tells sources of its queue; what a single flow keeps in the fabric, its source finds out by itself. These slides answer two concerns: that the destination had to count bytes, and that both ends had to have one clock.

## The laws

Messages and limiters are those of BCN ([bcn.md](bcn.md)) with the parameters of ECM: ~marking: {scheme: bcn, version: ecm}~. While a flow is limited its source (~node/rp/e2cm.go~) sends a *probe* behind each 75 KB of it, 15 % more or less, and 10 ms apart at the most. A probe says how many bytes B of the flow are in front of it and when it left; the destination sends it back at once, with the time at which it came. From the answers to two probes in a row

    Rx = B(Pn) / (Tdst(Pn) - Tdst(Pn-1))
    q  = Rx (L(Pn) - L0)                L: from the probe to its answer; L0: the least of all
    Fb = (Qeq - q) - W (q - qold)       from -(2 W + 1) Qeq to (2 W + 1) Qeq; with q above 56 KB the least
    Fb > 0:  R = R + Gi Fb Ru
    Fb < 0:  R = R (1 - Gd |Fb|)

with Qeq of 15 KB, on the limiter that messages govern, too. This is *source-based*: both modifications of the slides. *Destination-based* (~accounting: destination~) is what they start from: the destination counts the bytes that come, and L is the way of the probe alone, by one clock.

An answer that is late, comes again or is of an earlier time under a limiter is dropped and counted as ~not-awaited~, a stranger's as ~stranger~. A lost probe costs the source two of its results, since B and Tdst do not meet; where the destination counts it costs one.

## What the slides leave open

| | here | from |
|---|---|---|
| the per-flow law | that of ECM, on q = Rx (L - L0) | the slides name parameters of ECM "(per-flow)", throughput and latency |
| Gd, Gi per flow | 2.5 and 0.025 Gi0 with the Qeq of ECM: half of the rate and 50 Mb/s at the most, as ECM | ours; ~flow-gains: flow~ takes 15 KB as it is printed, where a probe can leave nothing but Rmin |
| Gi0 | (Rlink / Runit) / ((2 W + 1) Qeq) | ours: the text that is left of the slides has a product, which makes each gain 140 625 times as large (in KB) |
| priority of probes | that of their flow; answers have the highest, 7 | "Expedite probes on reverse path", since what overtakes its flow sees no queue: ~expedite: both~, below |
| first rate of a limiter | 5 Gb/s | BCN |
| jitter of the interval | 15 % | ours: QCN's |
| RTT | of a link between a node and the switch | ours: the watermark of an adapter is 1500 KB less RTT times bandwidth |
| watermark of an adapter | 10 KB less than that | ours: frames that are under way |
| a flow that finds no rate limiter | goes on; what told it is dropped, as ~no-limiter~ | ours: the slides have no limit to their number |
| length of a run | 100 ms | ours: counts of drops cannot be compared |

Sixteen nodes offer node 1 8.5 Gb/s, of which it takes 1: sources that do not slow down would have 625 000 frames a second too many. So long the slides' drops would take: 146 595 are 0.23 s.

## To run it

~~~sh
go run ./cmd/fabemu run e2cm/hotspot --short --clock virtual
go run ./cmd/fabemu run e2cm/hotspot-drops --short --clock virtual --set defaults.flow.control.accounting=destination
~~~

Over real sockets a short run, 12 ms of the model, takes 18 s:

~~~
fabemu run e2cm/hotspot --short
~~~
`

func e2cm() *Paper {
	return &Paper{
		Name:   "e2cm",
		Title:  "Extended Ethernet Congestion Management",
		Source: "E2CM (C. Minkenberg and M. Gusat, IBM, March 2007)",
		About:  strings.ReplaceAll(aboutE2CM, "~", "`"),
		Figures: []Figure{
			e2cmHotspot(), e2cmRTT(), e2cmProbes(), e2cmLost(), e2cmLimiters(),
		},
	}
}

const (
	e2cmEnd   = 100 * ms
	e2cmLate  = 80 * ms // when sources have slowed down
	e2cmQueue = "hot.S-N1.queue"
	kilobytes = 1e-3
	overload  = 625_000 // frames that are offered to node 1 in a second, and that it does not take
)

func e2cmRun(name string) Run { return Run{Scenario: "e2cm/" + name, Seeds: true} }

// e2cmChecks takes over the claims of a scenario of E2CM: queues in KB.
func e2cmChecks(name string) []Claim { return ethernetChecks(e2cmRun(name), kilobytes) }

// constant is a number that the source says.
func constant(v float64) Quantity { return Combine(func([]float64) float64 { return v }) }

// lostFrames is how many frames a run of E2CM loses.
func lostFrames(r Run) Quantity { return Mean(r, "all.drops", 0, e2cmEnd) }

// perSecond is a count of a run of E2CM, for each second of it.
func perSecond(q Quantity) Quantity { return scaled(q, 1/e2cmEnd.Seconds()) }

// destinationBased is a run in which destinations count.
func destinationBased(r Run) Run { return r.With("defaults.flow.control.accounting=destination") }

// e2cmHotspot is the hotspot, with and without PAUSE, and who counts.
func e2cmHotspot() Figure {
	const slide = "slide Results single-hop OG scenario (N= 16)"
	on, off := e2cmRun("hotspot"), e2cmRun("hotspot-drops")
	row := func(says string, source [2]float64, here func(Run) Quantity, r Run) Row {
		return Row{Claim{Check: scenario.Check{Claim: says, Metric: "frames", Low: -none, High: none}}, []Quantity{constant(source[0]), constant(source[1]), here(destinationBased(r)), here(r)}}
	}
	overloaded := func(r Run) Quantity { return scaled(lostFrames(r), 1./overload) }
	uncontrolled := row("PAUSE off, in seconds of overload without control", [2]float64{146_595. / overload, 130_268. / overload}, overloaded, off)
	uncontrolled.Claim.Metric = "s"
	f := Figure{
		Name: "hotspot", Source: slide, Title: "The hotspot, with PAUSE and without",
		Caption: "Sixteen nodes send to all others at 85 % load, and node 1 takes a tenth of its link. The count of the slides is that of runs of unknown length; per second of overload ours are: the hotspot lasts all of 100 ms. Seconds of overload are the drops over 625 000 a second. Queues in KB.",
		Claims: append(append(e2cmChecks("hotspot"), e2cmChecks("hotspot-drops")...),
			Claim{Check: scenario.Check{ID: "E-1d", Basis: scenario.Quoted, Source: slide, Claim: "Dst-based ... PAUSE on 0", Metric: "frames dropped, destination-based", Low: 0, High: 0, Why: "The table has 0 for both."}, Value: lostFrames(destinationBased(on))},
			Claim{Check: scenario.Check{ID: "E-2f", Basis: scenario.Quoted, Source: "slide Conclusions", Claim: "Source-based and destination-based E2CM are practically indistinguishable", Metric: "frames dropped source-based, over destination-based", Low: 0.8, High: 1.25, Why: "130,268 of 146,595 of the slides' own table are 0.89, of which they say so: twice as far either way."}, Value: Over(lostFrames(off), lostFrames(destinationBased(off)))},
			Claim{Check: scenario.Check{ID: "E-2e", Basis: scenario.Derived, Source: "slide Conclusions", Claim: "E2CM keeps most frames from being lost", From: "\"Pat's Orlando Proposal Works\".", Metric: "frames dropped, over those without control", Low: 0, High: 0.5, Why: "Half as many at the most. The slides have no run without control."}, Value: Over(lostFrames(off), lostFrames(off.With("defaults.flow.control.law=fixed")))},
		),
		Table: &Table{Title: "Switch frame drops", Columns: []string{"slides, dst-based", "slides, src-based", "here, dst-based", "here, src-based"}, Rows: []Row{
			row("PAUSE on", [2]float64{0, 0}, lostFrames, on),
			row("PAUSE off", [2]float64{146_595, 130_268}, lostFrames, off),
			row("PAUSE off, per second of overload; the slides' is not known", [2]float64{math.NaN(), math.NaN()}, func(r Run) Quantity { return perSecond(lostFrames(r)) }, off),
			uncontrolled,
		}, Note: "Means and standard deviations of five seeds."},
	}
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)"}, References: []plot.Reference{{Name: "Qeq = 75 KB", Low: 75, High: 75}},
		Curves: []Curve{curve("PAUSE on", on, e2cmQueue, kilobytes), curve("PAUSE off", off, e2cmQueue, kilobytes)}}}
	return f
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
func e2cmRTT() Figure {
	const slide = "slide Results single-hop OG scenario - Impact of RTT"
	f := Figure{
		Name: "rtt", Source: slide + ", OQ limit", Title: "The round trip, and a limit to output queues",
		Caption: "As hotspot-drops, source-based, with a round trip of 0 (200 ns), 10, 100, 200 and 500 us between a node and the switch, and with 600 KB for the queue of an output or as much as there is. Drops are those of 100 ms; queues are means over all of that, in KB.",
		Claims:  append(e2cmChecks("rtt"), e2cmChecks("oq-limit")...),
		Table:   &Table{Title: "Switch frame drops by RTT", Columns: []string{"slides", "here", "here, per second of overload", "slides, 600 KB", "here, 600 KB", "slides: ratio", "here: ratio", "here: queue (KB)"}},
	}
	var unlimited, queues []Quantity
	points := [2][]Point{}
	for _, d := range delays {
		free, limited := e2cmRun("hotspot-drops").With(d.sets...), e2cmRun("oq-limit").With(d.sets...)
		ratio := Over(lostFrames(free), lostFrames(limited))
		queue := scaled(Mean(free, e2cmQueue, 0, e2cmEnd), kilobytes)
		unlimited, queues = append(unlimited, lostFrames(free)), append(queues, queue)
		f.Table.Rows = append(f.Table.Rows, Row{Claim{Check: scenario.Check{Claim: fmt.Sprintf("RTT %d us", d.us), Metric: "frames", Low: -none, High: none}}, []Quantity{
			constant(d.unlimited), lostFrames(free), perSecond(lostFrames(free)), constant(d.limited), lostFrames(limited), constant(d.unlimited / d.limited), ratio, queue,
		}})
		f.Claims = append(f.Claims, Claim{Check: scenario.Check{ID: fmt.Sprintf("E-4-%dus", d.us), Basis: scenario.Quoted, Source: "slide Conclusions", Claim: "frame drops* can be significantly (~10x) reduced by using per-OQ drop threshold",
			Metric: fmt.Sprintf("frames dropped, over those with the limit, RTT of %d us", d.us), Low: 5, High: 20,
			Why: fmt.Sprintf("About ten: half and twice of it. The slides' table has %.1f here, and 8.4 to 20.1 in all.", d.unlimited/d.limited)}, Value: ratio})
		for i, q := range []Quantity{lostFrames(free), lostFrames(limited)} {
			points[i] = append(points[i], Point{float64(d.us), q})
		}
	}
	last := len(delays) - 1
	f.Claims = append(f.Claims,
		Claim{Check: scenario.Check{ID: "E-3a", Basis: scenario.Derived, Source: slide, Claim: "the longest round trip costs the most", From: "189,371 frames at 500 us, 1.4 times the 134,879 at 0.", Metric: "frames dropped at 500 us, over those at 0", Low: 1, High: 2, Why: "More, and not twice as many."}, Value: Over(unlimited[last], unlimited[0])},
		Claim{Check: scenario.Check{ID: "E-3b", Basis: scenario.Derived, Source: slide, Claim: "up to 200 us it makes little difference", From: "134,879 to 148,816 frames: 1.10.", Metric: "most frames dropped from 0 to 200 us, over the fewest", Low: 1, High: 1.4, Why: "Less than the 1.4 of 500 us.",
			Reason: "A draw: with one seed 41 000 to 152 000 frames are lost at one RTT, and the most of four means over the fewest is 1.3 by chance alone. In the mean it is more with each RTT but 100 us."}, Value: Over(Highest(unlimited[:last]...), Lowest(unlimited[:last]...))},
		Claim{Check: scenario.Check{ID: "E-5d", Basis: scenario.Quoted, Source: "slide Conclusions", Claim: "mean queue level increases with RTT", Metric: "least step of the mean queue from one RTT to the next (KB)", Low: positive, High: none, Why: "Increases at each step. The slides have pictures without figures.",
			Reason: "The queue of the first 50 ms, up to 4 MB, is most of the mean, and differs by 100 to 200 KB from seed to seed. In the mean it is 1.70 MB at 0 and 1.79 MB at 500 us, with a step down at 100 us. Once the sources have slowed down, it does not depend on the RTT."}, Value: LeastStep(queues...)},
	)
	f.Plots = []Plot{{X: plot.Axis{Label: "RTT (us of model time)"}, Y: plot.Axis{Label: "dropped in 100 ms (frames)"},
		Curves: []Curve{{Name: "as much as there is", Points: points[0]}, {Name: "600 KB to an output", Points: points[1]}}},
		{Name: "rtt-queue", Title: "The queue of the hotspot by round trip", X: modelTime, Y: plot.Axis{Label: "queue (KB)", High: 1000}, References: []plot.Reference{{Name: "Qeq = 75 KB", Low: 75, High: 75}},
			Curves: []Curve{curve("0", e2cmRun("oq-limit"), e2cmQueue, kilobytes), curve("100 us", e2cmRun("oq-limit").With(delays[2].sets...), e2cmQueue, kilobytes), curve("500 us", e2cmRun("oq-limit").With(delays[last].sets...), e2cmQueue, kilobytes)}}}
	return f
}

// e2cmProbes is what the probes are good for, and the choices about them.
func e2cmProbes() Figure {
	swing := func(r Run) Quantity {
		return scaled(Mean(r, e2cmQueue+".deviation", e2cmLate, e2cmEnd), kilobytes)
	}
	r := e2cmRun("hotspot-drops")
	ecm := r.With("defaults.flow.control.law=bcn", "defaults.flow.control.version=ecm")
	both := r.With("defaults.flow.control.expedite=both")
	printed := r.With("defaults.flow.control.flow-gains=flow")
	return Figure{
		Name: "probes", Source: "slides Simulation Setup & Parameters, Modification addressing Concern #2", Title: "What probes add to ECM",
		Caption: "As hotspot-drops, with ECM alone, with probes that overtake their flows, and with the gains at flow scope as they are printed.",
		Claims: []Claim{
			{Check: scenario.Check{ID: "EM-1", Claim: "with probes the queue swings less than with ECM alone", Metric: "deviation of the queue, over that with ECM alone", Low: 0, High: 1, Why: "Less.",
				Reason: "With ECM alone nothing swings in the end: the queue has run empty, and the link carries 4.5 % of the 10 % that node 1 takes. A limited flow is sampled too rarely to hear that it may go on faster; a probe each 10 ms tells it."}, Value: Over(swing(r), swing(ecm))},
			{Check: scenario.Check{ID: "EM-2", Claim: "probes that overtake their flow see no queue", Metric: "deviation of the queue with expedite: both, over that with answers alone", Low: 2, High: none, Why: "Without the queue of the flow each probe tells it to go faster, against ECM: twice and more."}, Value: Over(swing(both), swing(r))},
			{Check: scenario.Check{ID: "EM-3", Claim: "the printed gains lose no more frames", Metric: "frames dropped with flow-gains: flow, over those with ecm", Low: 0.5, High: 1.25, Why: "Larger steps down end the overload no later."}, Value: Over(lostFrames(printed), lostFrames(r))},
		},
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)", High: 1000}, References: []plot.Reference{{Name: "Qeq = 75 KB", Low: 75, High: 75}},
			Curves: []Curve{curve("E2CM", r, e2cmQueue, kilobytes), curve("ECM alone", ecm, e2cmQueue, kilobytes), curve("probes overtake", both, e2cmQueue, kilobytes)}}},
	}
}

// e2cmLost is the loss of probes.
func e2cmLost() Figure {
	return Figure{
		Name: "probes-lost", Source: "slide Modification addressing Concern #1", Title: "Lost probes",
		Caption: "As hotspot, with a fifth of the probes lost. \"Potential demerits: ... Less robust to lost/corrupted probes.\" Queues in KB.",
		Claims:  e2cmChecks("probes-lost"),
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)", High: 1000}, References: []plot.Reference{{Name: "Qeq = 75 KB", Low: 75, High: 75}},
			Curves: []Curve{curve("all come", e2cmRun("hotspot"), e2cmQueue, kilobytes), curve("a fifth is lost", e2cmRun("probes-lost"), e2cmQueue, kilobytes)}}},
	}
}

// e2cmLimiters is an adapter with too few rate limiters.
func e2cmLimiters() Figure {
	few := e2cmRun("limiters")
	enough := few.With("defaults.endpoint.limiters=unlimited")
	late := func(r Run) Quantity { return Mean(r, "all.drops", e2cmLate, e2cmEnd) }
	return Figure{
		Name: "limiters", Source: "slide Simulation Setup & Parameters", Title: "Too few rate limiters",
		Caption: "\"No limit on number of rate limiters\", says the slide. Four nodes take a tenth of their links, and an adapter has two limiters, or as many as it has flows.",
		Claims: append(e2cmChecks("limiters"),
			Claim{Check: scenario.Check{ID: "EL-3", Claim: "with as many limiters as flows nothing is lost in the end", Metric: "frames dropped from 80 to 100 ms", Low: 0, High: 0, Why: "As E-2d."}, Value: late(enough)}),
	}
}
