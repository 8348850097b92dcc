package reproduce

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/emu/study/fluid"
	"fabemu/node/rp"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// DCQCN: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, and
// Y. Zhu, M. Ghobadi, V. Misra, J. Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN
// and TIMELY", CoNEXT 2016, with what was measured with the simulators of both.

// aboutDCQCN is the text before the figures; ~ stands for a backquote.
const aboutDCQCN = `
DCQCN is the congestion control of RoCEv2: a switch marks packets by the length of a queue, the destination answers marks by notifications (CNPs), and the source lowers its rate by how many came lately. Published implementations differ in nearly each rule; here each rule is a parameter, and each implementation a preset.

## The laws

A *congestion point* (~switchd/cp~) marks a packet of a queue of length q with a probability p: 0 up to Kmin, 1 above Kmax, and a line from 0 to Pmax between.

A *notification point* (~node/rp/cnp.go~), at the destination of a flow, answers a marked packet by a CNP, unless it has sent one within 50 us.

A *reaction point* (~node/rp/dcqcn.go~), in front of a flow, has a rate RC, a target rate RT and alpha:

    with a CNP:            RT = RC;  RC = RC (1 - alpha/2);  alpha = (1-g) alpha + g
    each K without:        alpha = (1-g) alpha
    each B bytes, each T:  RC = (RT + RC)/2;  before, RT = RT + R_AI in additive increase, RT + i R_HAI in hyper increase

The presets, by the keys that they differ in:

| key | paper | ns3-rdma | hpcc | connectx |
|---|---|---|---|---|
%s
*paper* is the SIGCOMM paper, *ns3-rdma* the simulator of its authors (~qbb-net-device.cc~) with its sample configuration, *hpcc* the simulator of HPCC (~rdma-hw.cc~), which follows adapters, with its ~run.py~, *connectx* those rules with the defaults that NVIDIA documents for ConnectX-4 and later. ~preset: hpcc, threshold: 5~ is one of them with another threshold. What each rule means is in [scenarios.md](scenarios.md); ~node/rp/dcqcn_paper_test.go~ plays each preset against its source.

Not in the sources, and chosen: the paper gives no hyper increase and no lowest rate, and has those of ns3-rdma. The default of the byte counter of ConnectX has no unit in what is public; there is none, as in hpcc. In hpcc the ACK of a marked packet carries the notification; here that packet has a CNP of its own.

## Where it comes to rest

With N flows that are alike at a link of C packets a second, the share of marked packets at which rates fall as much as they rise is, for a small share,

    p* = cbrt( R_AI N^2 / (K C^2) (1/B + N/(T C))^2 ),   q* = Kmin + p*/Pmax (Kmax - Kmin)

Above Pmax there is no such queue: each packet above Kmax is marked. With the parameters of the paper at 40 Gb/s that is so from 12 flows on. ~fabemu check~ says so of a scenario, with its own numbers. The equations without the restriction to a small share are in ~emu/study/fluid~ (~go doc ./emu/study/fluid DCQCN~): in them a flow that is cut before its timer is at the threshold is raised less, so that they rest below the closed form.

## To run it

~~~sh
go run ./cmd/fabemu run dcqcn/fixed-point --short --clock virtual
go run ./cmd/fabemu run dcqcn/cnp-delay --clock virtual
~~~

The presets side by side, in a table of your own:

~~~
fabemu sweep dcqcn/fixed-point --set defaults.flow.control.preset=paper,ns3-rdma,hpcc,connectx --metric hot.S-B.queue --metric hot.S-B.utilisation --out presets
~~~

or all that came out, with the keys in which they differ: run one each with ~--out~, then ~fabemu compare paper ns3-rdma hpcc connectx~.

## What is left out

* That stability is not monotonic in the number of flows (CoNEXT 2016), and the victim flow of the SIGCOMM paper's Fig. 4: the texts were not at hand, and the figures are not guessed.
* The topology of issue 14 of the simulator of HPCC is not in the text: here fifty senders are at one switch.
`

// presetTable has the parameters of DCQCN that are not the same in all presets.
func presetTable() string {
	of := param.Of(rp.DCQCNParams{})
	all := map[string]rp.DCQCNParams{}
	presets := of.Find("preset").Words
	for _, name := range presets {
		all[name] = dcqcnParams(name)
	}
	var b strings.Builder
	for i := range of.Params {
		p := &of.Params[i]
		cells, differ := "", false
		for _, name := range presets {
			text := p.Text(all[name])
			differ = differ || text != p.Text(all[presets[0]])
			cells += " " + text + " |"
		}
		if differ && p.Key != "preset" {
			fmt.Fprintf(&b, "| ~%s~ |%s\n", p.Key, cells)
		}
	}
	return b.String()
}

// dcqcnParams returns the parameters of a preset.
func dcqcnParams(preset string) rp.DCQCNParams {
	return param.Of(rp.DCQCNParams{}).Build(func(p *param.Param) any {
		if p.Key == "preset" {
			return preset
		}
		return nil
	}, nil).(rp.DCQCNParams)
}

func dcqcn() *Paper {
	return &Paper{
		Name:   "dcqcn",
		Title:  "Data Center Quantized Congestion Notification",
		Source: "DCQCN (Zhu et al., SIGCOMM 2015; Zhu, Ghobadi, Misra and Padhye, CoNEXT 2016)",
		About:  strings.ReplaceAll(fmt.Sprintf(aboutDCQCN, presetTable()), "~", "`"),
		Figures: []Figure{
			dcqcnRest(), dcqcnShares(), dcqcnPresets(), dcqcnDelay(), dcqcnPFC(), dcqcnBystander(),
		},
	}
}

const hotQueue = "hot.S-B.queue"

func dcqcnRun(name string) Run { return Run{Scenario: "dcqcn/" + name} }

// dcqcnChecks takes over the claims of a scenario of DCQCN: queues in KB.
func dcqcnChecks(name string) []Claim { return ethernetChecks(dcqcnRun(name), kilobytes) }

// restOf is the loop of dcqcn/fixed-point with so many flows.
func restOf(flows int) fluid.DCQCN {
	return fluid.DCQCN{Flows: flows, Capacity: 40e9, Packet: 1000, Law: dcqcnParams("paper"), Min: 5 * unit.KB, Max: 200 * unit.KB, MaxP: 0.01}
}

// computed is a number that the equations say of so many flows.
func computed(flows int, of func(c fluid.DCQCN) (float64, error)) Quantity {
	return Combine(func([]float64) float64 {
		v, err := of(restOf(flows))
		if err != nil {
			return math.NaN()
		}
		return v
	})
}

// closedQueue and restQueue are where the queue comes to rest, by the closed form and by the
// equations.
func closedQueue(flows int) Quantity {
	return computed(flows, func(c fluid.DCQCN) (float64, error) { p, err := c.Closed(); return c.Queue(p), err })
}

func restQueue(flows int) Quantity {
	return computed(flows, func(c fluid.DCQCN) (float64, error) { p, err := c.Rest(); return c.Queue(p), err })
}

// restRun is dcqcn/fixed-point with so many flows.
func restRun(n int) Run {
	r := dcqcnRun("fixed-point").seeded()
	if n != 8 {
		r.Edits = [][2]string{{"A[1-8]", fmt.Sprintf("A[1-%d]", n)}}
	}
	return r
}

// settled is the mean of a metric of dcqcn/fixed-point, when it has come to rest.
func settledMean(n int, metric string) Quantity { return Mean(restRun(n), metric, 30*ms, 100*ms) }

// dcqcnRest is the fixed point over the number of flows, and its cliff.
func dcqcnRest() Figure {
	const text = "CoNEXT 2016, the fixed point"
	flows := []int{2, 4, 6, 8, 10, 12, 14, 16}
	runs, closed, rest := Curve{Name: "runs", Scale: kilobytes}, Curve{Name: "closed form", Scale: kilobytes}, Curve{Name: "equations", Scale: kilobytes}
	table := &Table{Title: "The fixed point", Note: "Means and standard deviations of five seeds, from 30 to 100 ms. Kmax is 200 KB, Pmax 1 %."}
	rows := []Row{
		{Claim: Claim{Check: scenario.Check{Claim: "marked packets, closed form"}, Unit: Percent}}, {Claim: Claim{Check: scenario.Check{Claim: "marked packets, run"}, Unit: Percent}},
		{Claim: Claim{Check: scenario.Check{Claim: "queue, closed form"}, Unit: Kilobytes}}, {Claim: Claim{Check: scenario.Check{Claim: "queue, equations"}, Unit: Kilobytes}},
		{Claim: Claim{Check: scenario.Check{Claim: "queue, run"}, Unit: Kilobytes}}, {Claim: Claim{Check: scenario.Check{Claim: "its deviation"}, Unit: Kilobytes}},
	}
	for _, n := range flows {
		table.Columns = append(table.Columns, fmt.Sprintf("%d flows", n))
		share := computed(n, func(c fluid.DCQCN) (float64, error) { return c.Closed() })
		queue := settledMean(n, hotQueue)
		for i, q := range []Quantity{share, settledMean(n, "sources.marked"), closedQueue(n), restQueue(n), queue, settledMean(n, hotQueue+".deviation")} {
			rows[i].Cells = append(rows[i].Cells, q)
		}
		for c, q := range map[*Curve]Quantity{&runs: queue, &closed: closedQueue(n), &rest: restQueue(n)} {
			c.Points = append(c.Points, Point{float64(n), q})
		}
	}
	for i := range rows {
		rows[i].Claim.Low, rows[i].Claim.High = -none, none
	}
	table.Rows = rows
	over := func(id string, n int) Claim {
		p, _ := restOf(n).Closed()
		c := restOf(n)
		return Claim{Check: scenario.Check{
			ID: id, Basis: scenario.Derived, Source: text, Claim: fmt.Sprintf("%d flows rest at a queue of %.1f KB", n, c.Queue(p)*kilobytes), From: "The closed form above.",
			Metric: "mean queue of the run, over that of the closed form",
			Low:    0.8, High: 1.2, Why: "A fifth up or down: the closed form is the first term for a small share.",
		}, Value: Over(settledMean(n, hotQueue), closedQueue(n))}
	}
	marked := func(n int) Quantity { return settledMean(n, "sources.marked") }
	return Figure{
		Name: "fixed-point", Source: text, Title: "Where the queue comes to rest, and the cliff",
		Caption: "Flows that are alike at a link of 40 Gb/s, with the parameters of the paper. Marks are set as packets leave.",
		Plots: []Plot{{X: plot.Axis{Label: "flows"}, Y: plot.Axis{Label: "queue (KB)", High: 260}, Curves: []Curve{runs, closed, rest},
			References: []plot.Reference{{Name: "Kmax = 200 KB", Low: 200, High: 200}}}},
		Claims: append([]Claim{over("DQ-1a", 2), over("DQ-1b", 4)}, append(dcqcnChecks("fixed-point"), []Claim{
			{Check: scenario.Check{ID: "DQ-2a", Basis: scenario.Derived, Source: text, Claim: "ten flows rest below the cliff", From: "The closed form: q* of 158 KB, of Kmax 200 KB.",
				Metric: "mean queue of ten flows", Low: 0, High: 200e3, Why: "Below Kmax."}, Unit: Kilobytes, Value: settledMean(10, hotQueue)},
			{Check: scenario.Check{ID: "DQ-2b", Basis: scenario.Derived, Source: text, Claim: "the queue of fourteen flows is at the cliff or above it", From: "The closed form: p* of 1.23 %, of Pmax 1 %.",
				Metric: "mean queue of fourteen flows", Low: 200e3, High: none, Why: "At Kmax or above.",
				Reason: "Above Kmax each packet is marked, so that the queue is held just below: its mean stays some KB short of the cliff that it stands at (DQ-2c)."}, Unit: Kilobytes, Value: settledMean(14, hotQueue)},
			{Check: scenario.Check{ID: "DQ-2c", Claim: "fourteen flows need more marks than the line has", Metric: "share of packets marked of fourteen flows", Low: 0.01, High: none, Why: "Above Pmax: the line below Kmax has no more."}, Unit: Percent, Value: marked(14)},
			{Check: scenario.Check{ID: "DQ-2d", Claim: "ten flows need fewer", Metric: "share of packets marked of ten flows", Low: 0, High: 0.01, Why: "Below Pmax.",
				Reason: "The queue of ten flows swings, and touches Kmax at times, where each packet is marked; in the mean it stays 53 KB below."}, Unit: Percent, Value: marked(10)},
			{Check: scenario.Check{ID: "DQ-2e", Claim: "at the cliff the queue no longer grows with the flows", Metric: "queue of sixteen flows less that of fourteen, over that of six less that of four", Low: 0, High: 0.5, Why: "Half as much at the most, and still more."}, Value: Over(Minus(settledMean(16, hotQueue), settledMean(14, hotQueue)), Minus(settledMean(6, hotQueue), settledMean(4, hotQueue)))},
		}...)...),
		Table: table,
	}
}

// dcqcnShares is how fair flows are that begin one after the other.
func dcqcnShares() Figure {
	p := Plot{X: modelTime, Y: plot.Axis{Label: "Jain's index of the flows (1/N to 1)"}}
	var all []Quantity
	for _, n := range []int{2, 4, 6, 8, 10} {
		r := dcqcnRun("unequal")
		if n != 10 {
			r.Edits = [][2]string{{"A[1-10]", fmt.Sprintf("A[1-%d]", n)}, {"A[2-10]", fmt.Sprintf("A[2-%d]", n)}}
		}
		all = append(all, Mean(r.seeded(), "sources.fairness", 75*ms, 150*ms))
		p.Curves = append(p.Curves, curve(fmt.Sprintf("%d flows", n), r, "sources.fairness", 1))
	}
	return Figure{
		Name: "fairness", Source: "CoNEXT 2016, abstract", Title: "Shares of flows from unequal starts",
		Caption: "The first flow begins at 0 and has the link to itself; the others begin 2 ms apart, each at the rate of its line. Jain's index of those that are active, over a sliding window of 1 ms; in the claims from 75 to 150 ms.",
		Plots:   []Plot{p},
		Claims: append(dcqcnChecks("unequal"), Claim{Check: scenario.Check{
			ID: "DQ-3", Basis: scenario.Derived, Source: "abstract", Claim: "flows from unequal starts have equal shares, whatever their number", From: "\"DCQCN ... converges to a unique fixed point\".",
			Metric: "lowest Jain's index of 2, 4, 6, 8 and 10 flows", Low: 0.98, High: 1, Why: "As DQ-3c.",
		}, Value: Lowest(all...)}),
	}
}

// dcqcnPresets lays the presets beside one another.
func dcqcnPresets() Figure {
	p := Plot{X: modelTime, Y: plot.Axis{Label: "queue (KB)"}}
	table := &Table{Title: "Eight flows at 40 Gb/s under each preset", Note: "Means and standard deviations of five seeds, from 30 to 100 ms. The marks are those of the paper for all: hpcc and connectx are meant for others."}
	rows := []struct {
		says, metric string
		unit         Unit
	}{
		{"link", "hot.S-B.utilisation", Percent}, {"queue", hotQueue, Kilobytes}, {"its deviation", hotQueue + ".deviation", Kilobytes}, {"its 99 %", hotQueue + ".p99", Kilobytes},
		{"marked packets", "sources.marked", Percent}, {"Jain's index", "sources.fairness", Plain}, {"CNPs per MB", "sources.feedback", Plain},
	}
	for _, x := range rows {
		table.Rows = append(table.Rows, Row{Claim: Claim{Check: scenario.Check{Claim: x.says, Low: -none, High: none}, Unit: x.unit}})
	}
	for _, preset := range param.Of(rp.DCQCNParams{}).Find("preset").Words {
		r := dcqcnRun("fixed-point").With("defaults.flow.control.preset=" + preset)
		p.Curves = append(p.Curves, curve(preset, r, hotQueue, kilobytes))
		table.Columns = append(table.Columns, preset)
		for i, x := range rows {
			table.Rows[i].Cells = append(table.Rows[i].Cells, Mean(r.seeded(), x.metric, 30*ms, 100*ms))
		}
	}
	return Figure{
		Name: "presets", Source: "all sources", Title: "The presets on one fabric",
		Caption: "Everything is the same but the preset. Means over a sliding window of 1 ms.",
		Plots:   []Plot{p}, Table: table,
	}
}

// dcqcnDelay is what a delay in making CNPs does.
func dcqcnDelay() Figure {
	const text = "ns-3-alibabacloud, issue 12"
	r := dcqcnRun("cnp-delay")
	without := r.With("defaults.flow.control.cnp-delay=none")
	return Figure{
		Name: "cnp-delay", Source: text, Title: "A delay in making CNPs",
		Caption: "One flow from 100 to 25 Gb/s, with the thresholds of the issue. Means over a sliding window of 50 us.",
		Plots: []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)"}, Curves: []Curve{curve("55 us", r, "port.S-server.queue", kilobytes), curve("none", without, "port.S-server.queue", kilobytes)},
			References: []plot.Reference{{Name: "PFC begins", Low: 500, High: 500}}}},
		Claims: append(dcqcnChecks("cnp-delay"),
			Claim{Check: scenario.Check{ID: "DQ-6b", Basis: scenario.Quoted, Source: "issue 12", Claim: "Using identical parameters in NS3 simulation, PFC pause frames were not observed",
				Metric: "share of the time in which PFC stops the sender, without the delay", Low: 0, High: 0, Why: "None."}, Unit: Percent, Value: Mean(without.seeded(), "write.stalled.flow-control", 0, 3*ms)}),
	}
}

// dcqcnPFC is whether PFC stops fifty senders.
func dcqcnPFC() Figure {
	r := dcqcnRun("incast-pfc")
	windowed := r.With("defaults.flow.transport.window=12")
	return Figure{
		Name: "incast-pfc", Source: "HPCC, issue 14", Title: "Fifty flows at once, with a window and without",
		Caption: "Fifty senders at 100 Gb/s, and one receiver. The window is of 12 packets: what 100 Gb/s bring in the round trip of 1 us.",
		Plots:   []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)"}, Curves: []Curve{curve("DCQCN", r, hotQueue, kilobytes), curve("DCQCN and a window", windowed, hotQueue, kilobytes)}}},
		Claims: append(dcqcnChecks("incast-pfc"),
			Claim{Check: scenario.Check{ID: "DQ-5b", Basis: scenario.Quoted, Source: "issue 14", Claim: "I have tried the (DCQCN + enable win), the PFC is not triggered",
				Metric: "share of the time in which PFC stops a sender, with a window", Low: 0, High: 0, Why: "None."}, Unit: Percent, Value: Mean(windowed.seeded(), "sources.stalled.flow-control", 0, 3*ms)}),
	}
}

// dcqcnBystander is a burst that throttles a flow which goes elsewhere.
func dcqcnBystander() Figure {
	r := dcqcnRun("bystander")
	const gigabits = 8e-9
	return Figure{
		Name: "bystander", Source: "sc20anonymous/DCQCN-validation", Title: "A burst throttles a bystander",
		Caption: "Fifteen senders send messages to R2 from 43 to 44 ms. F1 goes to R1 and shares the trunk with F2, which goes to R2. Means over a sliding window of 500 us.",
		Plots: []Plot{{X: plot.Axis{Label: modelTime.Label, Low: 40, High: 80}, Y: plot.Axis{Label: "rate (Gb/s)"}, Curves: []Curve{
			curve("F1", r, "F1.rate", gigabits), curve("limit of F1", r, "F1.limit", gigabits), curve("F2", r, "F2.rate", gigabits),
		}}},
		Claims: dcqcnChecks("bystander"),
	}
}
