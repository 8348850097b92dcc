package reproduce

import (
	"fmt"
	"strings"
	"sync"

	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/emu/study/fluid"
	"fabemu/node/rp"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// DCQCN: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, and
// Y. Zhu, M. Ghobadi, V. Misra, J. Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN
// and TIMELY", CoNEXT 2016, with what was measured with the simulators of both.

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
			fmt.Fprintf(&b, "| `%s` |%s\n", p.Key, cells)
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
	return worded(&Paper{
		Name:   "dcqcn",
		Title:  "Data Center Quantized Congestion Notification",
		Source: "DCQCN (Zhu et al., SIGCOMM 2015; Zhu, Ghobadi, Misra and Padhye, CoNEXT 2016)",
		About:  strings.Replace(read("dcqcn.md"), "{presets}", presetTable(), 1),
		units:  queuesIn(kilobytes),
		Figures: []Figure{
			{Name: "fixed-point", Source: "CoNEXT 2016, the fixed point", Title: "Where the queue comes to rest, and the cliff", describe: dcqcnRest},
			{Name: "stability", Source: "CoNEXT 2016, abstract", Title: "The queue's deviation over the number of flows", describe: dcqcnStability},
			{Name: "fairness", Source: "CoNEXT 2016", Title: "Shares of flows from unequal starts", describe: dcqcnShares},
			{Name: "presets", Source: "all sources", Title: "The presets on one fabric", describe: dcqcnPresets},
			{Name: "cnp-delay", Source: "ns-3-alibabacloud, issue 12", Title: "A delay in making CNPs", describe: dcqcnDelay},
			{Name: "incast-pfc", Source: "HPCC, issue 14", Title: "Fifty flows at once, with a window and without", describe: dcqcnPFC},
			{Name: "bystander", Source: "sc20anonymous/DCQCN-validation", Title: "A burst throttles a bystander", describe: dcqcnBystander},
		},
	})
}

const hotQueue = "hot.S-B.queue"

func dcqcnRun(name string) Run { return Run{Scenario: "dcqcn/" + name} }

// restOf is the loop of dcqcn/fixed-point with so many flows.
func restOf(flows int) fluid.DCQCN {
	return fluid.DCQCN{Flows: flows, Capacity: 40e9, Packet: 1000, Law: dcqcnParams("paper"), Min: 5 * unit.KB, Max: 200 * unit.KB, MaxP: 0.01}
}

// restShare and aloneShare are the shares of marked packets at rest, by the equations, and of one
// flow by itself with marks at random.
func restShare(flows int) Quantity {
	return constant(must(restOf(flows).Rest())).in(metrics.Share())
}

func aloneShare(flows int) Quantity {
	alone := sync.OnceValue(func() float64 { return must(restOf(flows).Alone(2_000_000)) }) // seconds, where it is wanted
	return Combine(func([]float64) float64 { return alone() }).in(metrics.Share())
}

// closedQueue and restQueue are where the queue comes to rest, by the closed form and by the
// equations.
func closedQueue(flows int) Quantity {
	c := restOf(flows)
	return constant(c.Queue(must(c.Closed()))).in(metrics.Sizes())
}

func restQueue(flows int) Quantity {
	c := restOf(flows)
	return constant(c.Queue(must(c.Rest()))).in(metrics.Sizes())
}

// restRun is dcqcn/fixed-point with so many flows.
func restRun(n int) Run {
	r := dcqcnRun("fixed-point").seeded()
	if n != 8 {
		r.Edits = [][2]string{{"A[1-8]", fmt.Sprintf("A[1-%d]", n)}}
	}
	return r
}

// resting is the mean of a metric of dcqcn/fixed-point, when it has come to rest.
func resting(r Run, metric string) Quantity { return Mean(r, metric, 30*ms, 100*ms) }

// settledMean is that of so many flows.
func settledMean(n int, metric string) Quantity { return resting(restRun(n), metric) }

// goesOn is a run whose line of marks goes on above Kmax as it is below, to four times Pmax.
func goesOn(r Run) Run {
	return r.With("defaults.switch.marking.max=785KB", "defaults.switch.marking.max-p=0.04", "defaults.switch.memory=4MB per port")
}

// dcqcnRest is the fixed point over the number of flows, and its cliff.
func dcqcnRest(f *Figure) {
	flows := []int{2, 4, 6, 8, 10, 12, 14, 16}
	runs, closed, rest := Curve{Name: "runs", Scale: kilobytes}, Curve{Name: "closed form", Scale: kilobytes}, Curve{Name: "equations", Scale: kilobytes}
	table := &Table{Title: "The fixed point", Note: "Means and standard deviations of five seeds, from 30 to 100 ms. Kmax is 200 KB, Pmax 1 %."}
	rows := []Row{
		unjudged("marked packets, closed form", "", Percent), unjudged("marked packets, equations", "", Percent),
		unjudged("marked packets, one flow by itself, marks at random", "", Percent),
		unjudged("marked packets, run", "", Percent), unjudged("marked packets, run whose line goes on", "", Percent),
		unjudged("queue, closed form", "", Kilobytes), unjudged("queue, equations", "", Kilobytes),
		unjudged("queue, run", "", Kilobytes), unjudged("its deviation", "", Kilobytes), unjudged("queue, run whose line goes on", "", Kilobytes),
	}
	far := map[bool][]Quantity{} // whether the line goes on
	for _, n := range flows {
		table.Columns = append(table.Columns, fmt.Sprintf("%d flows", n))
		share := constant(must(restOf(n).Closed())).in(metrics.Share())
		queue, marked, alone := settledMean(n, hotQueue), settledMean(n, "sources.marked"), aloneShare(n)
		long := goesOn(restRun(n))
		for i, q := range []Quantity{share, restShare(n), alone, marked, resting(long, "sources.marked"),
			closedQueue(n), restQueue(n), queue, settledMean(n, hotQueue+".deviation"), resting(long, hotQueue)} {
			rows[i].Cells = append(rows[i].Cells, q)
		}
		for c, q := range map[*Curve]Quantity{&runs: queue, &closed: closedQueue(n), &rest: restQueue(n)} {
			c.Points = append(c.Points, Point{float64(n), q})
		}
		if n > 4 {
			marked = resting(long, "sources.marked")
		}
		far[n > 4] = append(far[n > 4], FromOne(Over(marked, alone)))
	}
	table.Rows = rows
	marked := func(n int) Quantity { return settledMean(n, "sources.marked") }
	f.Plots = []Plot{{X: plot.Axis{Label: "flows"}, Y: plot.Axis{Label: "queue (KB)", High: 260}, Curves: []Curve{runs, closed, rest},
		References: level("Kmax = 200 KB", 200)}}
	f.Table = table
	for i, n := range []int{2, 4} {
		c := restOf(n)
		f.claim("DQ-1{part}", Over(settledMean(n, hotQueue), closedQueue(n)),
			"part", "ab"[i:i+1], "flows", n, "queue", fmt.Sprintf("%.1f", c.Queue(must(c.Closed()))*kilobytes))
	}
	f.oldChecks("dcqcn/fixed-point")
	f.claim("DQ-2a", settledMean(10, hotQueue))
	f.claim("DQ-2b", settledMean(14, hotQueue))
	f.claim("DQ-2c", marked(14))
	f.claim("DQ-2d", marked(10))
	f.claim("DQ-2f", resting(goesOn(restRun(14)), hotQueue))
	for i, n := range []int{2, 4, 6, 8, 10, 14} {
		with := []any{"part", "abcdef"[i : i+1], "flows", n}
		c := restOf(n)
		rest := must(c.Rest())
		if queue := Over(settledMean(n, hotQueue), restQueue(n)); n == 14 {
			f.claim("DQ-8f", queue)
		} else {
			f.claim("DQ-8{part}", queue, append(with, "queue", fmt.Sprintf("%.1f", c.Queue(rest)*kilobytes))...)
		}
		f.claim("DQ-9{part}", Over(marked(n), restShare(n)), append(with, "share", fmt.Sprintf("%.3f", 100*rest))...)
	}
	f.claim("DQ-10a", Highest(far[false]...))
	f.claim("DQ-10b", Highest(far[true]...))
	f.claim("DQ-2e", Over(Minus(settledMean(16, hotQueue), settledMean(14, hotQueue)), Minus(settledMean(6, hotQueue), settledMean(4, hotQueue))))
}

// dcqcnStability is how far the queue swings, over the number of flows.
func dcqcnStability(f *Figure) {
	flows := []int{2, 4, 6, 8, 10, 12, 14, 16}
	swing := func(r Run) Quantity { return resting(r, hotQueue+".deviation") }
	late := func(n int) Run { return restRun(n).With("defaults.flow.control.cnp-delay=85us") }
	soon, delayed := Curve{Name: "CNPs at once", Scale: kilobytes}, Curve{Name: "CNPs after 85 us", Scale: kilobytes}
	var between []Quantity
	for _, n := range flows {
		soon.Points = append(soon.Points, Point{float64(n), swing(restRun(n))})
		delayed.Points = append(delayed.Points, Point{float64(n), swing(late(n))})
		if n > 2 && n < 16 {
			between = append(between, swing(restRun(n)))
		}
	}
	f.Plots = []Plot{{X: plot.Axis{Label: "flows"}, Y: plot.Axis{Label: "deviation of the queue (KB)"}, Curves: []Curve{soon, delayed}}}
	f.claim("DQ-4a", Minus(Highest(between...), Highest(swing(restRun(2)), swing(restRun(16)))))
	f.claim("DQ-4b", Minus(swing(late(10)), Highest(swing(late(2)), swing(late(64)))))
	row := func(says string, of func(n int) Quantity) Row {
		return unjudged(says, "", Kilobytes, of(2), of(10), of(64))
	}
	f.Table = &Table{Title: "CNPs after 85 us", Columns: []string{"2 flows", "10 flows", "64 flows"}, Rows: []Row{
		row("deviation of the queue", func(n int) Quantity { return swing(late(n)) }),
		row("mean of the queue", func(n int) Quantity { return resting(late(n), hotQueue) }),
		row("deviation, run whose line goes on", func(n int) Quantity { return swing(farther(late(n))) }),
	}, Note: "Means and standard deviations of five seeds, from 30 to 100 ms."}
}

// farther is a run whose line of marks goes on to forty times Pmax.
func farther(r Run) Run {
	return r.With("defaults.switch.marking.max=7805KB", "defaults.switch.marking.max-p=0.4", "defaults.switch.memory=20MB per port")
}

// dcqcnShares is how fair flows are that begin one after the other.
func dcqcnShares(f *Figure) {
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
	f.Plots = []Plot{p}
	f.claim("DQ-3", Lowest(all...))
}

// dcqcnPresets lays the presets beside one another.
func dcqcnPresets(f *Figure) {
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
		table.Rows = append(table.Rows, unjudged(x.says, "", x.unit))
	}
	for _, preset := range param.Of(rp.DCQCNParams{}).Find("preset").Words {
		r := dcqcnRun("fixed-point").With("defaults.flow.control.preset=" + preset)
		p.Curves = append(p.Curves, curve(preset, r, hotQueue, kilobytes))
		table.Columns = append(table.Columns, preset)
		for i, x := range rows {
			table.Rows[i].Cells = append(table.Rows[i].Cells, Mean(r.seeded(), x.metric, 30*ms, 100*ms))
		}
	}
	f.Plots = []Plot{p}
	f.Table = table
}

// dcqcnDelay is what a delay in making CNPs does.
func dcqcnDelay(f *Figure) {
	r := dcqcnRun("cnp-delay")
	without := r.With("defaults.flow.control.cnp-delay=none")
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)"}, Curves: []Curve{curve("55 us", r, "port.S-server.queue", kilobytes), curve("none", without, "port.S-server.queue", kilobytes)},
		References: level("PFC begins", 500)}}
	f.claim("DQ-6b", Mean(without.seeded(), "write.stalled.flow-control", 0, 3*ms))
}

// dcqcnPFC is whether PFC stops fifty senders.
func dcqcnPFC(f *Figure) {
	r := dcqcnRun("incast-pfc")
	windowed := r.With("defaults.flow.transport.window=12")
	f.Plots = []Plot{{X: modelTime, Y: plot.Axis{Label: "queue (KB)"}, Curves: []Curve{curve("DCQCN", r, hotQueue, kilobytes), curve("DCQCN and a window", windowed, hotQueue, kilobytes)}}}
	f.claim("DQ-5b", Mean(windowed.seeded(), "sources.stalled.flow-control", 0, 3*ms))
}

// dcqcnBystander is a burst that throttles a flow which goes elsewhere.
func dcqcnBystander(f *Figure) {
	r := dcqcnRun("bystander")
	f.Plots = []Plot{{X: plot.Axis{Label: modelTime.Label, Low: 40, High: 80}, Y: plot.Axis{Label: "rate (Gb/s)"}, Curves: []Curve{
		curve("F1", r, "F1.rate", gbps), curve("limit of F1", r, "F1.limit", gbps), curve("F2", r, "F2.rate", gbps),
	}}}
}
