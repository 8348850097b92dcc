package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// The congestion control of InfiniBand: IBTA Volume 1, Annex A10. Its text is not public. What
// is known of it here is what programs do that follow it: Linux's driver of the adapter hfi1
// (drivers/infiniband/hw/hfi1, rc.c and init.c), opensm (osm_subnet.c), and ibccconfig(8).

// aboutCCA is the text before the figures; ~ stands for a backquote.
const aboutCCA = `
Annex A10 of the InfiniBand specification is the standard that came after the papers of Santos, Turner and Janakiraman ([hpl2002.md](hpl2002.md)): switches mark, destinations echo the mark, sources have a delay behind each packet. It is in adapters and switches, and opensm configures it. Its text is not public. The rules here are those of programs that follow it: Linux's driver of the adapter hfi1 (~rc.c~, process_becn; ~init.c~, cca_timer_fn and set_link_ipg), opensm (~osm_subnet.c~) and the set that ~ibccconfig(8)~ prints for operators. Each rule has a test that names its source: ~switchd/cp/cca_test.go~, ~node/rp/cca_test.go~.

## The laws

A *switch* (~marking: {scheme: cca}~) marks a frame that begins to leave an output with FECN if more waits behind it for that output than the threshold, unless the output is a victim of congestion elsewhere, which is one that has no credit; ports in the victim mask mark all the same. Small packets are not marked, and of the others one of marking-rate + 1. A *destination* echoes FECN as BECN in the ACK of the packet. A *source* (~control: {law: cca}~) has an index into a table, the CCTI:

    BECN            CCTI := min(CCTI + increase, limit), and the timer runs
    timer expires   CCTI := max(CCTI - 1, min), and it runs on while CCTI > min
    delay           (packet time >> shift) * multiplier, of entry CCTI, behind each packet

so that its rate is that of its line over 1 + multiplier/2^shift. With the table 0:0, 0:1, 0:2 and so on a BECN makes the delay longer by the time of a packet, which is what a mark does in LIPD, the law of HPL-2002-224. What differs is the way back: there it is ACKs without a mark, here a clock.

## In closed form

N greedy flows share a link of the rate C; L is the length of a packet, T the time of the timer, p = 1/(marking-rate + 1).

* *How slow a flow must be able to get*: to C/N, so with lines of the rate C the table must have an entry with 1 + multiplier/2^shift >= N. With 0:i the CCTI settles round N - 1.
* *How long the timer must be*: at C/N a flow sends T C/(N L) packets while the CCTI falls by 1, of which p are marked at the most. Unless p (T C/(N L)) increase > 1 the CCTI never gets to N - 1.

~fabemu check~ warns of sets for which this does not hold, with these figures. With the printed set and 2068 B at 1 GB/s it holds for up to 37 flows.

## What is open, and what is here

| | here | from |
|---|---|---|
| what a threshold is | (16 - threshold)/16 of an input buffer, exceeded by what waits for the output in all inputs, without the frame that leaves | ours: opensm has "0x1 - loose, ..., 0xF - aggressive", the fraction is the vendor's |
| root or victim | an output is a victim when the frame has had to wait for credit | ours: of "has credit left" |
| gaps between marks | at random, with the mean of the marking rate; ~marking-gaps: fixed~ | ours: "mean number of packets between markings" |
| a BECN while the timer runs | does not start it anew; ~timer-start: becn~ | hfi1 |
| what has a CCTI | a queue pair; ~port-control: sl~ a service level; ~port~ as hfi1 has it: the highest of all service levels slows the whole port | opensm, hfi1 |
| victim mask | ports that lead to endpoints | ours; ibccconfig(8) prints all ports |
| credit starvation | for inputs of ~credit-mask~, when their frames leave a congested output: credit comes back one packet time and the return delay behind the one before | ours: opensm has the mask, the threshold, and the delay as an entry of a table, and says nothing more |
| packet time | that of the packet itself; hfi1 has that of the MTU | ours: all packets here are of one size |

Left out: claims of papers that nobody here has read: Gran et al., IPDPS 2010, and their sequel on a fat tree; Gusat et al., HOTI 2005. Nor is there a CNP of InfiniBand, by which a destination answers packets that it does not acknowledge: flows of InfiniBand are reliable connections here, each packet has its ACK, and the BECN goes with that. Datagrams and unreliable connections, which would need it, are no transport of this program.

## To run it

~~~sh
go run ./cmd/fabemu run cca/incast --short --clock virtual
go run ./cmd/fabemu run cca/levels --short --clock virtual --set defaults.flow.control.port-control=sl || true
~~~

The second one fails its check: with a CCTI for each service level a flow to an idle link is slowed down with the other. Over real sockets the short run of the first takes 40 s:

~~~
fabemu run cca/incast --short
~~~
`

func cca() *Paper {
	return &Paper{
		Name:    "cca",
		Title:   "InfiniBand's congestion control",
		Source:  "IBTA Volume 1, Annex A10",
		About:   strings.ReplaceAll(aboutCCA, "~", "`"),
		Figures: []Figure{ccaFabric(), ccaIncast(), ccaTimer(), ccaTable(), ccaLevels(), ccaVictims(), ccaStarvation()},
	}
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

// ccaChecks takes over the claims of a scenario.
func ccaChecks(name string) []Claim {
	return ethernetChecks(Run{Scenario: "cca/" + name, Seeds: true}, 1)
}

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
func mean(list ...Quantity) Quantity { return scaled(Sum(list...), 1/float64(len(list))) }

// ccaIncast is claim C-1: where the CCTI settles.
func ccaIncast() Figure {
	const delay = `"src = (max_pkt_time >> shift) * mult", and "increase CCTI (for this SL)" with each BECN: with the table 0:i a source has 1/(1 + i) of its line, and N that fill one link have N/(1 + i) of it.`
	r := ccaFlows(16)
	f := Figure{
		Name: "incast", Source: "The table 0:i", Title: "Where the CCTI settles",
		Caption: "Sources that share one link, with the printed set, and a bystander that shares their way over a trunk which is no bottleneck. Claims are from 20 to 100 ms, the table from 80 to 100 ms. The CCTI is that which the rate of the limiter says, a mean over time.",
		Claims: append(ccaChecks("incast"),
			Claim{Check: scenario.Check{ID: "C-1d", Basis: scenario.Derived, Source: hfi1 + ", set_link_ipg and process_becn", Claim: "the CCTI settles near N - 1", From: delay, Metric: "16 sources: mean CCTI", Low: 13.5, High: 16.5, Why: "15, and a tenth either way: the CCTI is a whole number that rises with single BECNs."}, Value: mean(ccti(r, 16, 20*ms)...)},
			Claim{Check: scenario.Check{ID: "C-1e", Basis: scenario.Derived, Source: hfi1 + ", set_link_ipg and process_becn", Claim: "each settles there", From: delay, Metric: "16 sources: highest mean CCTI less the lowest", Low: 0, High: 3, Why: "A fifth of 15, as the mean may be a tenth off either way."}, Value: Spread(ccti(r, 16, 20*ms)...)},
		),
		Table: &Table{Title: "By the number of sources", Columns: []string{"N - 1", "mean CCTI", "the link", "Jain's index", "bystander", "bystander without control"}, Note: "Means and standard deviations of five seeds. With few sources a step of the CCTI is a large part of the rate: from 1/4 of the line to 1/5."},
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "rate (% of a link)", High: 105}, Curves: []Curve{
			curve("the link that all share", r.Once(), ccaRoot, 100), curve("bystander", r.Once(), ccaBystander, 100), curve("one of 16 sources", r.Once(), "hot.S1.utilisation", 100),
		}, References: []plot.Reference{{Name: "1/16", Low: 100. / 16, High: 100. / 16}}}},
	}
	for _, n := range []int{4, 8, 16, 32} {
		r := ccaFlows(n)
		f.Table.Rows = append(f.Table.Rows, Row{Claim{Check: scenario.Check{Claim: fmt.Sprintf("%d sources", n), Metric: "shares of 1, but for the CCTI", Low: -none, High: none}}, []Quantity{
			constant(float64(n - 1)), mean(ccti(r, n, ccaSettled)...), ccaMean(r, ccaRoot), ccaMean(r, ccaFairness), ccaMean(r, ccaBystander), ccaMean(uncontrolled(r), ccaBystander),
		}})
	}
	return f
}

// uncontrolled is a run without congestion control.
func uncontrolled(r Run) Run { return r.With(setScheme+"none", setLaw+"fixed") }

// ccaTimer is which timers are long enough.
func ccaTimer() Figure {
	const rise = `"ccti_timer is in units of 1.024 usec", at whose end the driver does "decrement ccti for SL": at its fair share a source sends T C/(N L) packets in this time, of which 1/(marking-rate + 1) are marked.`
	f := Figure{
		Name: "timer", Source: "CCTI_Timer", Title: "Which timers are long enough",
		Caption: "cca/incast with other timers, marking rates and numbers of sources. The rise is p T C/(N L): by how much BECNs raise the CCTI while the timer lowers it by 1, if all packets that may be are marked, at the fair share. Where it is below 1 flow control has to stop the sources, and spreads. Where it is above 1 it has to do so until the CCTI is at N - 1, which takes (N - 1) T/(rise - 1): all sources begin at once. It is over when the bystander has 90 % of its line for the first time, in a window of 2 ms. Figures from 80 to 100 ms.",
		Table:   &Table{Title: "The closed form and the run", Columns: []string{"rise", "the link", "bystander", "trunk without credit", "time to settle (ms)", "here (ms)"}, Note: "Means and standard deviations of five seeds."},
	}
	for _, c := range []struct {
		id                  string
		n, timer, rate      int
		low, high           float64
		sooner, settlesLike string
	}{
		{"a", 32, 150, 1, 0.9, 1, "above", "the sources slow down, and the bystander has its line"},
		{"b", 40, 150, 1, 0, 0.2, "below", "flow control has to stop the sources, and the bystander with them"},
		{"c", 16, 75, 1, 0.9, 1, "above", "the sources slow down, and the bystander has its line"},
		{"d", 16, 60, 1, 0, 0.2, "below", "flow control has to stop the sources, and the bystander with them"},
		{"e", 16, 150, 3, 0.9, 1, "above", "the sources slow down, and the bystander has its line"},
		{"f", 16, 150, 5, 0, 0.2, "below", "flow control has to stop the sources, and the bystander with them"},
		{"g", 40, 180, 1, 0.9, 1, "above", "the sources slow down, and the bystander has its line"},
	} {
		r := ccaFlows(c.n)
		if c.timer != 150 {
			r = r.With(fmt.Sprint("defaults.flow.control.ccti-timer=", c.timer))
		}
		if c.rate != 1 {
			r = r.With(fmt.Sprint("defaults.switch.marking.marking-rate=", c.rate))
		}
		v, settles, took := ccaRise(c.n, c.timer, c.rate), math.NaN(), Reached(r, ccaBystander, 0.9, ms)
		if v > 1 {
			settles = float64(c.n-1) * float64(c.timer) * 1.024e-3 / (v - 1)
		}
		what := fmt.Sprintf("%d sources, timer %d, marking rate %d", c.n, c.timer, c.rate)
		f.Claims = append(f.Claims, Claim{Check: scenario.Check{ID: "CT-" + c.id, Basis: scenario.Derived, Source: hfi1 + ", cca_timer_fn", Claim: fmt.Sprintf("with a rise of %.3g, %s 1, %s", v, c.sooner, c.settlesLike), From: rise,
			Metric: what + ": " + ccaBystander, Low: c.low, High: c.high, Why: "Which of the two it is: 9/10 of the line and more, or twice the 8 % of flow control alone and less."}, Unit: Percent, Value: ccaMean(r, ccaBystander)})
		f.Table.Rows = append(f.Table.Rows, Row{Claim{Check: scenario.Check{Claim: what, Metric: "shares of 1", Low: -none, High: none}}, []Quantity{constant(v), ccaMean(r, ccaRoot), ccaMean(r, ccaBystander), ccaMean(r, "trunk.A-B.stalled.no-credit"), constant(settles), scaled(took, 1e3)}})
		if v > 1 && c.n > 16 {
			f.Claims = append(f.Claims, Claim{Check: scenario.Check{ID: "CT-" + c.id + "t", Basis: scenario.Derived, Source: hfi1 + ", cca_timer_fn", Claim: fmt.Sprintf("and that takes %.0f ms", settles), From: rise + " The CCTI rises by rise - 1 in a timer, and has to get to N - 1.",
				Metric: what + ": until the bystander has 90 % of its line, over that", Low: 0.8, High: 1.2, Why: "A fifth either way: the window is 2 ms, and the buffers have to run empty."}, Value: scaled(took, 1e3/settles)})
		}
	}
	return f
}

// ccaRise is p T C/(N L) in cca/incast, with an increase of 1.
func ccaRise(n, timer, rate int) float64 {
	period := unit.Duration(timer) * 1024 * unit.Nanosecond
	return period.Seconds() * 1e9 / float64(n) / 2068 / float64(rate+1)
}

// ccaTable is which tables are long enough.
func ccaTable() Figure {
	const from = `"if (max_ccti > ccti_limit) max_ccti = ccti_limit", and "src = (max_pkt_time >> shift) * mult": sixteen sources at the limit i have 16/(1 + i) of the link.`
	f := Figure{
		Name: "table", Source: "The congestion control table", Title: "Which tables are long enough",
		Caption: "cca/incast, sixteen sources, with other tables. Where the lowest rates together are more than the link, flow control has to stop the sources, and spreads. The last table has half the steps, 1:0, 1:1 up to 1:63.",
		Table:   &Table{Title: "The lowest rates together, and the run", Columns: []string{"lowest rates, over the link's", "the link", "Jain's index", "bystander"}, Note: "Means and standard deviations of five seeds."},
	}
	for _, c := range []struct {
		id, name  string
		shift     int
		entries   int
		low, high float64
	}{
		{"a", "0:0 to 0:7", 0, 8, 0, 0.2},
		{"b", "0:0 to 0:13", 0, 14, 0, 0.2},
		{"c", "0:0 to 0:19", 0, 20, 0.9, 1},
		{"d", "1:0 to 1:63", 1, 64, 0.9, 1},
	} {
		r := ccaFlows(16)
		r.Edits = [][2]string{{"control: {law: cca}", fmt.Sprintf("control: {law: cca, cct: %q}", straight(c.shift, c.entries))}}
		sum := constant(16 / (1 + float64(c.entries-1)/float64(int(1)<<c.shift)))
		says := "a table that ends above the fair share does not keep congestion from spreading"
		if c.low > 0 {
			says = "a table that goes below the fair share does"
		}
		f.Claims = append(f.Claims, Claim{Check: scenario.Check{ID: "CC-" + c.id, Basis: scenario.Derived, Source: hfi1 + ", set_link_ipg", Claim: says, From: from,
			Metric: "table " + c.name + ": " + ccaBystander, Low: c.low, High: c.high, Why: "Which of the two it is: 9/10 of the line and more, or twice the 8 % of flow control alone and less."}, Unit: Percent, Value: ccaMean(r, ccaBystander)})
		f.Table.Rows = append(f.Table.Rows, Row{Claim{Check: scenario.Check{Claim: "table " + c.name, Metric: "shares of 1", Low: -none, High: none}}, []Quantity{sum, ccaMean(r, ccaRoot), ccaMean(r, ccaFairness), ccaMean(r, ccaBystander)}})
	}
	return f
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
func ccaLevels() Figure {
	r := Run{Scenario: "cca/levels", Seeds: true}
	with := func(control string, sl int) Run {
		return r.With("defaults.flow.control.port-control="+control, fmt.Sprint("flows.cool.control.sl=", sl))
	}
	const cool = "cool.utilisation"
	claim := func(id, source, says, from, measured string, run Run, low, high float64, why string) Claim {
		return Claim{Check: scenario.Check{ID: id, Basis: scenario.Derived, Source: source, Claim: says, From: from, Metric: measured + ": " + cool, Low: low, High: high, Why: why}, Unit: Percent, Value: ccaMean(run, cool)}
	}
	const opensm, ipg = "opensm/osm_subnet.c", hfi1 + ", set_link_ipg"
	const shared = "Both take turns under one limiter, so that the flow to the idle link has what the other has, an eighth: 12.5 %."
	return Figure{
		Name: "levels", Source: "Port control", Title: "What has a CCTI",
		Caption: "A host sends to a link that eight share, and to an idle one. Its second flow has what the first leaves of its line, 87.5 %, unless both are slowed down together. Figures from 80 to 100 ms, but for the claim of the scenario.",
		Claims: append(ccaChecks("levels"),
			claim("CL-2", opensm, "with a CCTI for each service level, flows of one are slowed down together", `"bit 0 = 1, SL/port based congestion control".`, "port-control sl, one service level", with("sl", 0), 0.1, 0.15, shared),
			claim("CL-3", opensm, "and those of another are not", `"bit 0 = 1, SL/port based congestion control".`, "port-control sl, two service levels", with("sl", 1), 0.85, 0.90, "As with one for each queue pair."),
			claim("CL-4", ipg, "the driver of hfi1 slows them all down", `"Select the largest ccti value over all SLs to determine the intra-packet gap for the link".`, "port-control port, two service levels", with("port", 1), 0.1, 0.15, shared),
		),
	}
}

// ccaVictims is what the mask of victims does.
func ccaVictims() Figure {
	const from = `"Victim Mask - 256 bit mask representing switch ports, mark packets with FECN whether they are the source or victim of congestion".`
	r := Run{Scenario: "bench/slow-receiver", Seeds: true}.With(append(infiniBandSets[:], setScheme+"cca", setLaw+"cca")...)
	share := func(mask string) Quantity {
		return Mean(r.With("defaults.switch.marking.victim-mask="+mask), ccaBystander, 50*ms, 100*ms)
	}
	return Figure{
		Name: "victims", Source: "The victim mask", Title: "Receivers that are slow, and the mask of victims",
		Caption: "bench/slow-receiver: a receiver takes a tenth of what its link carries, so that its port at the switch has no credit and is no root. Nobody else could mark: an adapter does not. A bystander shares a trunk with half of the sources. Figures from 50 to 100 ms.",
		Claims: []Claim{
			{Check: scenario.Check{ID: "CV-1", Basis: scenario.Derived, Source: "opensm/osm_subnet.c", Claim: "without the mask nobody marks for a slow receiver", From: from, Metric: "victim-mask none: " + ccaBystander, High: 0.05, Why: "As without congestion control, where it is 1.7 %."}, Unit: Percent, Value: share("none")},
			{Check: scenario.Check{ID: "CV-2", Basis: scenario.Derived, Source: "opensm/osm_subnet.c", Claim: "ports of the mask do", From: from, Metric: "victim-mask hosts, over none", Low: 5, High: none, Why: "Several times as much. The source has no figure."}, Value: Over(share("hosts"), share("none"))},
			{Check: scenario.Check{ID: "CV-3", Claim: "a mask of all ports slows down the bystander too", Metric: "victim-mask hosts less all", Low: positive, High: none, Why: "More: at the trunk, which has no credit at times, its packets are marked as well."}, Unit: Points, Value: Minus(share("hosts"), share("all"))},
		},
	}
}

// ccaStarvation is what switches do about a neighbour to which marks mean nothing.
func ccaStarvation() Figure {
	const (
		share = "unheeding.utilisation"
		from  = `"Credit Starvation return delay", of the form shift:multiplier: credit comes back every 1 + multiplier/2^shift packet times while the output is congested.`
	)
	r := Run{Scenario: "cca/starvation", Seeds: true}
	with := func(key, value string) Quantity {
		return Mean(r.With("switches.S.marking."+key+"="+value), share, 20*ms, 100*ms)
	}
	claim := func(id, delay string, part float64) Claim {
		return Claim{Check: scenario.Check{ID: id, Basis: scenario.Derived, Source: "opensm/osm_subnet.c", Claim: "the source that does not heed marks has its line's rate over 1 + multiplier/2^shift", From: from,
			Metric: "return delay " + delay + ": " + share, Low: 0.9 * part, High: 1.1 * part, Why: "A tenth of that either way: while nothing waits its credit comes at once."}, Unit: Percent, Value: with("credit-starvation-return-delay", delay)}
	}
	return Figure{
		Name: "starvation", Source: "The credit mask", Title: "A neighbour to which marks mean nothing",
		Caption: "Eight sources heed marks, a ninth does not and takes what they leave. Where its port is in the credit mask, the switch gives its credit back late while the link that all share is congested. Figures from 20 to 100 ms.",
		Claims: append(ccaChecks("starvation"), claim("CS-2", "0:4", 1.0/5), claim("CS-3", "1:9", 2.0/11),
			Claim{Check: scenario.Check{ID: "CS-4", Claim: "without the mask it has more than all others together", Metric: "credit-mask none: " + share, Low: 0.5, High: 1, Why: "More than half."}, Unit: Percent, Value: with("credit-mask", "none")}),
	}
}

// ccaFabric is the fabric of HPL-2002-224 under the standard that came of it.
func ccaFabric() Figure {
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
			return Combine(func(v []float64) float64 { return v[0] / (1 - v[1]) }, during(r, victim), during(r, remote))
		}},
	}
	left := metrics[len(metrics)-1].of
	table := &Table{Title: "The schemes of the paper and the standard", Note: "Means and standard deviations of five seeds, from 42 to 60 ms, while the victim is active; shares of a link, but for the last three. 16 packets: of input buffer, as printed otherwise."}
	for _, s := range schemes {
		table.Columns = append(table.Columns, s.name)
	}
	for _, m := range metrics {
		row := Row{Claim: Claim{Check: scenario.Check{Claim: m.says, Metric: "share", Low: -none, High: none}}}
		for _, s := range schemes {
			row.Cells = append(row.Cells, m.of(s.run))
		}
		table.Rows = append(table.Rows, row)
	}
	best := func(of func(Run) Quantity) Quantity {
		return Highest(of(drawn("fig3a")), of(drawn("fig3b")), of(drawn("fig3c")), of(drawn("fig3d")))
	}
	f := Figure{
		Name: "hpl2002", Source: "HPL-2002-224, Fig. 2 and 3", Title: "The fabric of HPL-2002-224 under the standard",
		Caption: "Two switches, ten local and ten remote flows that share the root link, and a victim flow from 40 to 60 ms. Everything is as in hpl2002.md but the scheme: buffers of 4 packets, windows of one. As printed is the set of ibccconfig(8); threshold 8 is half a buffer, two packets, in place of a quarter of a packet. Rates are means over a sliding window of 2 ms.",
		Table:   table,
		Claims: []Claim{
			{Check: scenario.Check{ID: "C-1f", Basis: scenario.Derived, Source: hfi1 + ", set_link_ipg", Claim: "with the printed set the root link is full", From: `"src = (max_pkt_time >> shift) * mult": as C-1a, with twenty flows.`, Metric: "CCA as printed: " + root, Low: 0.97, High: 1, Why: "As for C-1a.",
				Reason: "Threshold 15 is a sixteenth of a buffer, and that has room for 4 packets here: any two packets that meet are marked, and the queue runs dry. It is a set for deeper buffers: with 16 packets in place of 4 the link is full, and so it is with threshold 8 (C-1g)."}, Unit: Percent, Value: during(printed, root)},
			{Check: scenario.Check{ID: "C-1g", Basis: scenario.Derived, Source: hfi1 + ", set_link_ipg", Claim: "and so it is where the threshold is some packets", From: `"src = (max_pkt_time >> shift) * mult": as C-1a, with twenty flows.`, Metric: "CCA threshold 8, and 16 packets: lowest " + root, Low: 0.97, High: 1, Why: "As for C-1a."}, Unit: Percent, Value: Lowest(during(half, root), during(deep, root))},
			{Check: scenario.Check{ID: "CH-1", Claim: "remote and local flows have the same rate, as with none of the paper's schemes that keep the link full", Metric: "CCA threshold 8: remote/local", Low: 0.9, High: 1.2, Why: "A tenth from 1 either way, and as much again for the remote ones, which wait longer and are marked the less for it. Of the paper's schemes 3(c) alone gets there, with a root link that is not full."}, Value: during(half, remoteLocal)},
			{Check: scenario.Check{ID: "CH-2", Claim: "the twenty flows share the root link more evenly than with any scheme of the paper", Metric: "Jain's index: CCA threshold 8, less the best of Fig. 3", Low: positive, High: none, Why: "More."}, Value: Minus(fairness(half), best(fairness))},
			{Check: scenario.Check{ID: "CH-3", Claim: "the victim has what the remote flows leave of the inter-switch link", Metric: "CCA threshold 8: victim, over 1 - remote", Low: 0.85, High: 1, Why: "As with the schemes of the paper that keep the root link full, with which it is 92 to 94 %."}, Unit: Percent, Value: left(half)},
			{Check: scenario.Check{ID: "CH-4", Claim: "as printed, the victim has less than half of that", Metric: "CCA as printed: victim, over 1 - remote", High: 0.5, Why: "Less than half. Its packets meet remote ones at the inter-switch link, which is no bottleneck, and are marked."}, Unit: Percent, Value: left(printed)},
		},
	}
	for _, x := range []struct {
		name, title string
		run         Run
	}{{"hpl2002-printed", "CCA as ibccconfig(8) prints it", printed}, {"hpl2002-threshold-8", "CCA, threshold 8", half}} {
		p := Plot{Name: x.name, Title: "HPL-2002-224, Fig. 3, under " + x.title, X: plot.Axis{Label: "model time (ms)", High: 100}, Y: plot.Axis{Label: "rate (% of link capacity)", High: 105}}
		for _, c := range [][2]string{{"root link", root}, {"inter-switch link", trunk}, {"local flows", local}, {"remote flows", remote}, {"victim flow", victim}} {
			p.Curves = append(p.Curves, curve(c[0], x.run.Once(), c[1], 100))
		}
		f.Plots = append(f.Plots, p)
	}
	return f
}
