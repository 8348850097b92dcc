package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
	Whole bool   // it is of transfers or rounds that end: Metric.OverRun takes the whole run
	None  string // why it is undefined, where it is; empty: nothing was there to measure

	link, flow formula
}

// ends returns the ends of the names of a quantity: "" if it has one name.
func (q *Quantity) ends() []string {
	if q.Ends == nil {
		return []string{""}
	}
	return q.Ends
}

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
var table = slices.Concat(quantities, tcpQuantities)

// quantities are the quantities of any transport. A frame that is on the link at the beginning or
// the end of an interval counts for its part there: on a link for the bytes that have left, of a
// flow for the bytes that have come, if the frame takes as long as the slowest link on its path
// does.
var quantities = []*Quantity{
	{Name: "utilisation", Unit: utilised, link: linkUtilisation, flow: flowUtilisation,
		Links: "data on the link over its capacity",
		Flows: "rate over the capacity of the slowest link that all share; without one, over the sum of each flow's slowest"},
	{Name: "rate", Unit: rates, link: linkRate, flow: flowRate, Works: true,
		Links: "data on the link with headers, without ACKs",
		Flows: "data received, with headers"},
	{Name: "marked", None: "no data frame came", Unit: share, Works: true,
		Links: "share of data frames marked when leaving by this link",
		link:  quotient(sent(outMarked), sent(outFrames)),
		Flows: "share of data frames received marked",
		flow:  quotient(summed(flowMarked), summed(flowFrames))},
	{Name: "fairness", None: "nothing was delivered", Unit: plain("1/n to 1"), flow: fairness,
		Flows: "Jain's index of their rates"},
	{Name: "occupancy", Unit: blocks, link: mean(received(inOccupancy)),
		Links: "mean fill of the buffer at the link's end: blocks of 64 bytes; Ethernet: bytes that arrived by it and have not left"},
	{Name: "paused", Unit: share, link: mean(sent(outPaused)),
		Links: "share of time in which the far end had paused some priority"},
	{Name: "pauses", Ends: []string{"", "0", "1", "2", "3", "4", "5", "6", "7"}, Unit: count("frames"), link: pauses,
		Links: "PAUSE and PFC frames received over the link, which stop the opposite direction; `pauses.3`: PFC for priority 3"},
	{Name: "storms", Unit: count("storms"), link: sent(outStorms),
		Links: "PFC storms that a watchdog found at this link's output"},
	{Name: "drops", Unit: count("frames"),
		Links: "frames discarded at the link's end", link: received(inDrops),
		Flows: "frames discarded on the path", flow: summed(flowDrops)},
	{Name: "fault-drops", Unit: count("frames"),
		Links: "drops caused by a fault, its consequences or a PFC watchdog", link: received(inFaults)},
	{Name: "retry", Ends: retryNames, Unit: count("times"), link: ofRetry,
		Links: "counters of link layer retry for this direction since the start, by SAI's names, and `replayed-frames`, `timeout`, `flush`, `ready`, `lost-on-link`. `rx-ok` and `rx-expected-seq-good` include frames still on the link"},
	{Name: "cbfc", Ends: creditNames, Unit: count("times or credits"), link: ofCredits,
		Links: "the same for `flow-control: cbfc`"},
	{Name: "deadlocks", Unit: count("cycles"), link: sent(outDeadlocks),
		Links: "deadlock cycles found that include the link"},
	{Name: "queue", None: "frames may be rerouted", Unit: sizes,
		Links: "mean bytes waiting in the switch for the link, at all inputs if it is input-buffered; undefined where rerouting may move frames",
		link:  ofQueue(func(t taken, out int) float64 { return t.grown(out+outQueue) * (1 << queueShift) / t.span() })},
	{Name: "queue.max", None: "frames may be rerouted", Unit: sizes,
		Links: "maximum of these bytes",
		link:  ofQueue(func(t taken, out int) float64 { return t.most(out + outLongest) })},
	{Name: "queue.deviation", None: "frames may be rerouted", Unit: sizes,
		Links: "standard deviation of their samples",
		link:  ofQueue(func(t taken, out int) float64 { return t.deviation(out+outQueue) * (1 << queueShift) })},
	{Name: "queue.period", None: "the queue does not oscillate", Unit: seconds,
		Links: "their period: the lag of highest autocorrelation of the samples; undefined without oscillation",
		link:  ofQueue(func(t taken, out int) float64 { return t.period(out + outQueue) })},
	{Name: "queue.p99", None: "frames may be rerouted", Unit: sizes,
		Links: "99th percentile of the samples",
		link:  ofQueue(func(t taken, out int) float64 { return t.exceeded(out+outQueue, 0.99) * (1 << queueShift) })},
	{Name: "stalled", Ends: stallCauses, Unit: share,
		Links: "share of time in which waiting frames were stopped: `no-credit`, `line-busy`, `crossbar-busy`; Ethernet: `paused`, `line-busy`; `down`; `flow-control` is `no-credit` plus `paused`",
		link:  mean(stalled(sent, outStall)),
		Flows: "share of time in which the source was stopped, mean of the flows: `rate-limited`, `window`, `line-busy`, `no-credit`, `paused`, `down`, `flow-control`",
		flow: func(t taken) float64 {
			return mean(stalled(summed, flowStall))(t) / float64(len(t.object.flows))
		}},
	{Name: "recovery", None: "that level was not reached", Ends: levels, Unit: seconds, link: reached(linkUtilisation), flow: reached(flowUtilisation),
		Links: "time from the start of the interval until utilisation reaches that percentage over a `measure.window`",
		Flows: "the same"},
	{Name: "shared", None: "that level was not reached", Ends: levels, Unit: seconds, flow: reached(fairness),
		Flows: "the same for fairness"},
	{Name: "transfers", Unit: count("flows"), Works: true, Whole: true,
		Flows: "completed messages",
		flow:  func(t taken) float64 { return float64(len(t.completions())) }},
	{Name: "completion", None: "no flow, of that size, finished in that time", Ends: spread, Unit: seconds, flow: spreadOf(taken.completions), Works: true, Whole: true,
		Flows: "flow completion time (FCT), from arrival at the source to delivery of the last byte: `mean`, `max`, percentiles such as `p99` (`p999`: 99.9 %); of a workload also by size, such as `completion.p99.small`: `small` up to 100KB, `large` above 10MB, `medium` between"},
	{Name: "slowdown", None: "no flow of a workload, of that size, finished in that time", Ends: spread, Unit: plain("1 or more"), flow: spreadOf(taken.slowdowns), Works: true, Whole: true,
		Flows: "workloads: the same for FCT over the ideal FCT, in an empty fabric without a window"},
	{Name: "rounds", Unit: count("rounds"), Works: true, Whole: true, flow: func(t taken) float64 { return float64(len(t.rounds())) },
		Flows: "collectives: rounds that all ranks completed"},
	{Name: "round", None: "no round ended in that time", Ends: []string{"mean", "p50", "p95", "p99", "p999", "max"}, Unit: seconds, flow: spreadOf(taken.rounds), Works: true, Whole: true,
		Flows: "collectives: duration of these, from the first rank's start to the last rank's end"},
	{Name: "busbw", None: "no round ended in that time", Unit: rates, flow: taken.busBandwidth, Works: true, Whole: true,
		Flows: "collectives: bus bandwidth as in nccl-tests, the size over the mean duration times 2(n-1)/n (all-reduce), (n-1)/n (all-gather, reduce-scatter, all-to-all) or 1 (broadcast)"},
	{Name: "open", None: "only workloads have it", Unit: count("flows"), Works: true,
		flow: ofWork(func(t taken, first int) float64 {
			return t.c.grown(first+workBegun, 0, t.to) - t.c.grown(first+workEnded, 0, t.to)
		}),
		Flows: "workloads: unfinished flows at the end of the interval"},
	{Name: "waiting", None: "only workloads have it", Unit: count("flows"), Works: true,
		flow:  ofWork(func(t taken, first int) float64 { return t.c.grown(first+workWaiting, 0, t.to) }),
		Flows: "workloads: flows that then waited for an `open` slot"},
	{Name: "notifications", Unit: count("notifications"), flow: summed(flowNotified),
		Flows: "congestion notifications and scheme messages that the sources received"},
	{Name: "probes", Unit: count("probes"), flow: summed(flowProbes),
		Flows: "probes that the sources sent"},
	{Name: "answers", Unit: count("answers"), flow: summed(flowAnswers),
		Flows: "answers to E2CM probes, which `notifications` includes"},
	{Name: "fb", None: "no notification came", Unit: plain("1 to 63"), flow: meanFeedback,
		Flows: "mean quantised feedback of the notifications"},
	{Name: "feedback", None: "no data came", Unit: plain("frames per megabyte"),
		Flows: "notifications, messages and, on InfiniBand, marked ACKs per received megabyte (10^6 bytes)",
		flow: func(t taken) float64 {
			return ratio(t.sum(flowNotified)+t.sum(flowMarkedAcks), t.sum(flowBytes)/1e6)
		}},
	{Name: "max-min", None: "no flow was active", Unit: rates, flow: fairRate(maxMinRates),
		Flows: "max-min fair rate among the flows active in the interval, each limited to its offered rate"},
	{Name: "proportional", None: "no flow was active", Unit: rates, flow: fairRate(proportionalRates),
		Flows: "the same for proportional fairness (greatest sum of log rates)"},
	{Name: "limit", None: "no limit was set", Unit: rates, flow: meanRate(flowAllowed, func(x *life) unit.Time { return x.limited }),
		Flows: "rate of the rate limiters, mean of the flows over time"},
	{Name: "target", None: "no target was set", Unit: rates, flow: meanRate(flowWanted, func(x *life) unit.Time { return x.targeted }),
		Flows: "the same for the target rate of reaction points (QCN, DCQCN), from the first change"},
}

// levels are those at which something counts as recovered or shared, in per cent.
var levels = []string{"90", "95", "99"}

// flowControl stands for the causes that are flow control: there is no room at the other end of the
// link.
const flowControl = "flow-control"

// stallCauses are the causes that keep frames back.
var stallCauses = func() (all []string) {
	for b := port.LinkBusy; b < port.Blocks; b++ {
		all = append(all, b.String())
	}
	return append(all, flowControl)
}()

// causesOf returns the causes that a word stands for.
func causesOf(word string) []port.Block {
	for b := port.LinkBusy; b < port.Blocks; b++ {
		if b.String() == word {
			return []port.Block{b}
		}
	}
	return []port.Block{port.NoCredit, port.Paused}
}

// Unit is the unit of the figures of a quantity.
type Unit struct {
	Word   string  // as documents have it: "bytes per second"
	Symbol string  // of values as they are, in addition to numbers: "B/s"; may be empty
	Scales []Scale // in which a figure is printed, the largest first; none: as it is
	Whole  bool    // it is printed with all digits
	Time   int     // the power of time in it: 1 of seconds, -1 of rates
}

// Scale is a unit and its value.
type Scale struct {
	Base float64
	Word string
}

// Fit returns the largest of the scales that makes a figure one or more, and the last one
// if none does.
func (u Unit) Fit(v float64) Scale {
	for _, s := range u.Scales {
		if math.Abs(v) >= s.Base {
			return s
		}
	}
	if n := len(u.Scales); n > 0 {
		return u.Scales[n-1]
	}
	return Scale{1, u.Symbol}
}

// The units. Shares are printed in per cent.
var (
	percent  = []Scale{{0.01, "%"}}
	share    = Unit{Word: "0 to 1", Scales: percent}
	utilised = Unit{Word: "0 to 1", Symbol: "of the capacity", Scales: percent}
	rates    = Unit{Word: "bytes per second", Symbol: "B/s", Scales: []Scale{{1e12 / 8, "Tb/s"}, {1e9 / 8, "Gb/s"}, {1e6 / 8, "Mb/s"}, {1e3 / 8, "kb/s"}, {1. / 8, "b/s"}}, Time: -1}
	sizes    = Unit{Word: "bytes", Symbol: "bytes", Scales: []Scale{{1e6, "MB"}, {1e3, "KB"}, {1, "B"}}}
	seconds  = Unit{Word: "seconds", Symbol: "s", Scales: []Scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}, Time: 1}
	blocks   = Unit{Word: "blocks; bytes", Symbol: "blocks"}
)

func Share() Unit { return share }

// Sizes returns the unit of bytes.
func Sizes() Unit { return sizes }

func Rates() Unit { return rates }

// Seconds returns the unit of times.
func Seconds() Unit { return seconds }

// plain is the unit of figures that are printed as they are.
func plain(word string) Unit { return Unit{Word: word} }

// count is the unit of numbers of something.
func count(word string) Unit { return Unit{Word: word, Whole: true} }

// TimeOf returns the power of time in an expression: 1 of a figure in seconds, -1
// of a rate, 0 of a figure that does not change with the scale of time.
func TimeOf(expression string) int {
	a, b, _ := strings.Cut(expression, " / ")
	return UnitOf(a, false).Time - UnitOf(b, false).Time
}

// UnitOf returns the unit of an expression, or of a kind of series (Series.Kind), of a run
// whose buffers are counted in bytes or not. A quotient has none, nor has a text that names no
// quantity.
func UnitOf(expression string, inBytes bool) Unit {
	if strings.Contains(expression, " / ") {
		return Unit{}
	}
	_, q := nameIn(expression)
	switch {
	case q == nil:
		return Unit{}
	case inBytes && q.Unit.Symbol == blocks.Symbol:
		return sizes
	}
	return q.Unit
}

// nameIn returns the name at the end of an expression, and its quantity; nil: there is none.
func nameIn(expression string) (best string, of *Quantity) {
	for name, q := range names {
		if len(name) > len(best) && strings.HasSuffix(expression, "."+name) {
			best, of = name, q
		}
	}
	return best, of
}

// wordOf are the words for quantities and parts of their names, where the name is none.
var wordOf = map[string]string{
	"completion": "flow completion time", "busbw": "bus bandwidth", "fb": "quantised feedback", "limit": "rate limit",
	"target": "target rate", "round": "duration of a round", "rounds": "rounds", "marked": "share of marked frames",
	"stalled": "share of time stopped", "max-min": "max-min fair rate", "proportional": "proportionally fair rate",
	"transfers": "finished flows", "open": "open flows", "waiting": "waiting flows",
	"mean": "mean %s", "max": "maximum %s", "p50": "median %s", "p95": "95th percentile of the %s", "p99": "99th percentile of the %s",
	"p999": "99.9th percentile of the %s", "small": "%s of small flows", "medium": "%s of medium flows", "large": "%s of large flows",
}

// Words puts an expression into the words of an axis: "99th percentile of the slowdown of load".
func Words(expression string) string {
	if a, b, ok := strings.Cut(expression, " / "); ok {
		return Words(a) + " / " + Words(b)
	}
	name, q := nameIn(expression)
	if q == nil {
		return expression
	}
	parts := strings.Split(name, ".")
	text := cmp.Or(wordOf[parts[0]], parts[0])
	for _, part := range slices.Backward(parts[1:]) {
		if form := wordOf[part]; strings.Contains(form, "%s") {
			text = fmt.Sprintf(form, text)
		} else {
			text += " (" + part + ")"
		}
	}
	return text + " of " + strings.TrimSuffix(expression, "."+name)
}
