package metrics

import (
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Quantity is something that a figure can be taken of, of links or of flows.
type Quantity struct {
	Name  string   // "queue.max"; of several that are alike: "recovery"
	Ends  []string // behind the name and a dot: "90", "95", "99"
	Unit  Unit
	Links string // the meaning for a direction of a link; empty: links do not have it
	Flows string // the meaning for a flow, or for all flows of a group; empty: they do not have it
	Works bool   // a workload has it, as flows do

	link, flow formula
}

// ends returns the ends of the names of a quantity: "" if it has one name.
func (q *Quantity) ends() []string {
	if q.Ends == nil {
		return []string{""}
	}
	return q.Ends
}

// name returns the name of a quantity with an end.
func (q *Quantity) name(end string) string {
	if end == "" {
		return q.Name
	}
	return q.Name + "." + end
}

// names yields all names of quantities.
func names(yield func(string, *Quantity) bool) {
	for _, q := range table {
		for _, end := range q.ends() {
			if !yield(q.name(end), q) {
				return
			}
		}
	}
}

// figures yields the figures of an object.
func (x *object) figures(yield func(figure) bool) {
	for _, q := range table {
		formula := q.flow
		switch {
		case x.work > 0 && !q.Works:
			continue
		case x.work == 0 && x.flows == nil:
			formula = q.link
		}
		for _, end := range q.ends() {
			if formula != nil && !yield(figure{*x, q, formula, end}) {
				return
			}
		}
	}
}

// Quantities returns all quantities, in the order of documents.
func Quantities() (all []Quantity) {
	for _, q := range table {
		all = append(all, *q)
	}
	return all
}

// table is all quantities.
var table = pointers(slices.Concat(quantities, tcpQuantities))

// pointers returns the address of each quantity.
func pointers(list []Quantity) (all []*Quantity) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// quantities are the quantities of any transport. A frame that is on the line at the beginning or the
// end of an interval counts for its part there: on a link for the bytes that have left, of a flow for the
// bytes that have come, if the frame takes as long as the slowest link on its way does.
var quantities = []Quantity{
	{Name: "utilisation", Unit: utilised, link: linkUtilisation, flow: flowUtilisation,
		Links: "data on the line over its capacity",
		Flows: "rate over the capacity of the slowest link that all of them cross; where they share none, over the sum of each one's slowest"},
	{Name: "rate", Unit: rates, link: linkRate, flow: flowRate, Works: true,
		Links: "data on the line, headers included, ACKs not",
		Flows: "data received whole, headers included"},
	{Name: "marked", Unit: share, Works: true,
		Links: "share of the data frames that were marked as they left by this line",
		link:  quotient(sent(outMarked), sent(outFrames)),
		Flows: "share of the data frames that came marked",
		flow:  quotient(summed(flowMarked), summed(flowFrames))},
	{Name: "fairness", Unit: plain("1/n to 1"), flow: fairness,
		Flows: "Jain's index of their rates"},
	{Name: "occupancy", Unit: blocks, link: mean(received(inOccupancy)),
		Links: "mean number of blocks of 64 bytes in the buffer at the end of the link; on Ethernet mean of the bytes that came by it and have not left"},
	{Name: "paused", Unit: share, link: mean(sent(outPaused)),
		Links: "share of the time in which the far end had stopped some priority by PAUSE"},
	{Name: "pauses", Ends: []string{"", "0", "1", "2", "3", "4", "5", "6", "7"}, Unit: count("frames"), link: pauses,
		Links: "PAUSE and PFC frames that came over the link; with a priority, `pauses.3`, the PFC frames that stop it or let it go. These stop the opposite direction"},
	{Name: "storms", Unit: count("storms"), link: sent(outStorms),
		Links: "PFC storms that a watchdog found at the output of this line"},
	{Name: "drops", Unit: count("frames"),
		Links: "frames that came over the link and were discarded at its end", link: received(inDrops),
		Flows: "frames that were discarded on the way", flow: summed(flowDrops)},
	{Name: "fault-drops", Unit: count("frames"),
		Links: "of the drops, those by a fault, by its consequence, or by a PFC watchdog", link: received(inFaults)},
	{Name: "retry", Ends: retryNames, Unit: count("times"), link: ofRetry,
		Links: "of a link with retry, so far in the run: the counters of link layer retry for the frames of this direction, by SAI's names, whichever end counts them, and by ours: `replayed-frames`, `timeout`, `flush`, `ready`, `lost-on-link`. `rx-ok` and `rx-expected-seq-good` count a frame on the line as come"},
	{Name: "cbfc", Ends: creditNames, Unit: count("times or credits"), link: ofCredits,
		Links: "of a link with `flow-control: cbfc`, so far in the run: the counters of a port for the frames of this direction, by SAI's names, whichever end counts them"},
	{Name: "deadlocks", Unit: count("cycles"), link: sent(outDeadlocks),
		Links: "cycles of waiting that were found to go through the link"},
	{Name: "queue", Unit: sizes,
		Links: "mean of the bytes that wait in the switch for the line; in one with input buffers they wait in all inputs; undefined where frames may change their way in it",
		link:  ofQueue(func(t taken, out int) float64 { return t.grown(out+outQueue) * (1 << queueShift) / t.span() })},
	{Name: "queue.max", Unit: sizes,
		Links: "the most that waited",
		link:  ofQueue(func(t taken, out int) float64 { return t.most(out + outLongest) })},
	{Name: "queue.deviation", Unit: sizes,
		Links: "standard deviation of the waiting bytes: of their means over twentieths of `measure.window`, in large runs over longer parts",
		link:  ofQueue(func(t taken, out int) float64 { return t.deviation(out+outQueue) * (1 << queueShift) })},
	{Name: "queue.period", Unit: seconds,
		Links: "the period of the waiting bytes: the lag with the highest autocorrelation of their means over twentieths of `measure.window`; undefined where they do not oscillate",
		link:  ofQueue(func(t taken, out int) float64 { return t.period(out + outQueue) })},
	{Name: "queue.p99", Unit: sizes,
		Links: "the most that waits in 99 % of the time, of the same means",
		link:  ofQueue(func(t taken, out int) float64 { return t.exceeded(out+outQueue, 0.99) * (1 << queueShift) })},
	{Name: "stalled", Ends: stallCauses, Unit: share,
		Links: "share of the time in which frames that waited were kept back: `no-credit`, `line-busy`, `crossbar-busy`, on Ethernet `paused`, `line-busy`; `down` while the link is; `flow-control` is `no-credit` and `paused` together",
		link:  mean(stalled(sent, outStall)),
		Flows: "share of the time in which the source was kept from sending, as the mean of the flows: `rate-limited`, `window`, `line-busy`, `no-credit`, `paused`, `down`, `flow-control`",
		flow: func(t taken) float64 {
			return mean(stalled(summed, flowStall))(t) / float64(len(t.object.flows))
		}},
	{Name: "recovery", Ends: levels, Unit: seconds, link: reached(linkUtilisation), flow: reached(flowUtilisation),
		Links: "until the utilisation is so many per cent over a `measure.window`, from the begin of the time",
		Flows: "the same"},
	{Name: "shared", Ends: levels, Unit: seconds, flow: reached(fairness),
		Flows: "the same for the fairness"},
	{Name: "transfers", Unit: count("transfers"), Works: true,
		Flows: "how many finite transfers ended whole",
		flow:  func(t taken) float64 { return float64(len(t.completions())) }},
	{Name: "completion", Ends: spread, Unit: seconds, flow: spreadOf(taken.completions), Works: true,
		Flows: "how long those took, from the arrival at the source to the delivery of the last byte: `mean`, `max`, and the time within which so many of a hundred ended, `p999` 99.9 % of them; of a workload also of transfers of at most 100KB (`small`), of more than 10MB (`large`), and between (`medium`), as `completion.p99.small`"},
	{Name: "slowdown", Ends: spread, Unit: plain("1 or more"), flow: spreadOf(taken.slowdowns), Works: true,
		Flows: "of a workload: how many times as long those took as they would alone in the fabric, likewise; a transfer alone has packets back to back at the rate of the lines, and no window"},
	{Name: "rounds", Unit: count("rounds"), Works: true, flow: func(t taken) float64 { return float64(len(t.rounds())) },
		Flows: "of a collective operation: how many rounds all ranks ended"},
	{Name: "round", Ends: []string{"mean", "p50", "p95", "p99", "p999", "max"}, Unit: seconds, flow: spreadOf(taken.rounds), Works: true,
		Flows: "how long those took, from when the first rank began until the last one ended"},
	{Name: "busbw", Unit: rates, flow: taken.busBandwidth, Works: true,
		Flows: "the bus bandwidth of those, as nccl-tests define it: of all-reduce 2(n-1)/n times the size over the mean time, of all-gather, reduce-scatter and all-to-all (n-1)/n times, of broadcast once"},
	{Name: "open", Unit: count("transfers"), Works: true,
		flow: ofWork(func(t taken, first int) float64 {
			return t.c.grown(first+workBegun, 0, t.to) - t.c.grown(first+workEnded, 0, t.to)
		}),
		Flows: "of a workload: how many transfers had arrived at the end of the time and had not ended"},
	{Name: "waiting", Unit: count("transfers"), Works: true,
		flow:  ofWork(func(t taken, first int) float64 { return t.c.grown(first+workWaiting, 0, t.to) }),
		Flows: "of a workload: how many further transfers waited at the end of the time for one of the `open` sources of their endpoints"},
	{Name: "notifications", Unit: count("notifications"), flow: summed(flowNotified),
		Flows: "congestion notifications, and messages of schemes, that the sources took in"},
	{Name: "probes", Unit: count("probes"), flow: summed(flowProbes),
		Flows: "frames that the reaction points of the sources sent of their own: probes"},
	{Name: "answers", Unit: count("answers"), flow: summed(flowAnswers),
		Flows: "answers to the probes of E2CM that the sources took in, which `notifications` has among others"},
	{Name: "fb", Unit: plain("1 to 63"), flow: meanFeedback,
		Flows: "mean of their quantised feedback"},
	{Name: "feedback", Unit: plain("frames per megabyte"),
		Flows: "reports of congestion that the sources took in, for each megabyte (10^6 bytes) that was received: notifications and messages, and on InfiniBand ACKs that carry a mark back",
		flow: func(t taken) float64 {
			return ratio(t.sum(flowNotified)+t.sum(flowMarkedAcks), t.sum(flowBytes)/1e6)
		}},
	{Name: "max-min", Unit: rates, flow: fairRate(maxMinRates),
		Flows: "the rate that max-min fairness gives them, among the flows that are active at some time, none of which wants more than it offers"},
	{Name: "proportional", Unit: rates, flow: fairRate(proportionalRates),
		Flows: "the same for proportional fairness: the greatest sum of the logarithms of the rates"},
	{Name: "limit", Unit: rates, flow: meanRate(flowAllowed, func(x *life) unit.Time { return x.limited }),
		Flows: "the rate of the rate limiters, as the mean of the flows over the time"},
	{Name: "target", Unit: rates, flow: meanRate(flowWanted, func(x *life) unit.Time { return x.targeted }),
		Flows: "the rate that the reaction points aim at (QCN), likewise, from the first change on"},
}

// levels are those at which something counts as recovered or shared, in per cent.
var levels = []string{"90", "95", "99"}

// flowControl stands for the causes that are flow control: there is no room at the other end of the link.
const flowControl = "flow-control"

// stallCauses are the causes that keep frames back.
var stallCauses = func() (all []string) {
	for b := port.LineBusy; b < port.Blocks; b++ {
		all = append(all, b.String())
	}
	return append(all, flowControl)
}()

// causesOf returns the causes that a word stands for.
func causesOf(word string) []port.Block {
	for b := port.LineBusy; b < port.Blocks; b++ {
		if b.String() == word {
			return []port.Block{b}
		}
	}
	return []port.Block{port.NoCredit, port.Paused}
}
