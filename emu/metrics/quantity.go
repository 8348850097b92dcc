package metrics

import (
	"math"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Quantity is something that a figure can be taken of, of links or of flows.
type Quantity struct {
	Name  string   // "queue.max"; of several that are alike: "recovery"
	Ends  []string // of those, what follows the name and a dot: "90", "95", "99"
	Unit  Unit
	Links string // what it means of a direction of a link; empty: links do not have it
	Flows string // what it means of a flow, or of all of a group; empty: they do not have it

	link, flow formula
}

// formula takes a figure of an object over a time. It is not a number where the figure is
// undefined.
type formula func(c *Collector, g *figure, from, to unit.Time) float64

// names returns how a quantity is written: in one way, or with each of its ends.
func (q Quantity) names() []string {
	if q.Ends == nil {
		return []string{q.Name}
	}
	names := make([]string, len(q.Ends))
	for i, end := range q.Ends {
		names[i] = q.Name + "." + end
	}
	return names
}

// on returns the formula of a quantity for an object, nil when the object does not have it.
func (q Quantity) on(x *object) formula {
	if x.flows == nil {
		return q.link
	}
	return q.flow
}

// Quantities returns all quantities, in the order in which they are told.
func Quantities() []Quantity { return slices.Clone(table) }

// table is all quantities.
var table = slices.Concat(quantities, tcpQuantities)

// quantities are those of any transport. A frame that is on the line at the beginning or the end of an
// interval counts for its part there: on a link for the bytes that have left, of a flow for
// those that had come, where it takes as long as the slowest link on its way does.
var quantities = []Quantity{
	{Name: "utilisation", Unit: utilised, link: linkUtilisation, flow: flowUtilisation,
		Links: "data on the line over what it can carry",
		Flows: "rate over the capacity of the slowest link that all of them cross; where they share none, over the sum of each one's slowest"},
	{Name: "rate", Unit: rates, link: linkRate, flow: flowRate,
		Links: "data on the line, headers included, ACKs not",
		Flows: "data received whole, headers included"},
	{Name: "marked", Unit: share,
		Links: "share of the data frames that were marked as they left by this line",
		link: func(c *Collector, g *figure, from, to unit.Time) float64 {
			out := c.out(g.object.hop)
			return ratio(c.grown(out+outMarked, from, to), c.grown(out+outFrames, from, to))
		},
		Flows: "share of the data frames that came marked",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return ratio(c.sum(g, flowMarked, from, to), c.sum(g, flowFrames, from, to))
		}},
	{Name: "fairness", Unit: plain("1/n to 1"), flow: fairness,
		Flows: "Jain's index of their rates"},
	{Name: "occupancy", Unit: blocks,
		Links: "mean number of blocks of 64 bytes in the buffer at the end of the link; on Ethernet mean of what came by it and has not left",
		link: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return c.grown(c.in(g.object.hop)+inOccupancy, from, to) / float64(to-from)
		}},
	{Name: "paused", Unit: share,
		Links: "share of the time in which the far end had said PAUSE, for some priority",
		link: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return c.grown(c.out(g.object.hop)+outPaused, from, to) / float64(to-from)
		}},
	{Name: "drops", Unit: count("frames"),
		Links: "frames that came over the link and were discarded at its end",
		link: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return c.grown(c.in(g.object.hop)+inDrops, from, to)
		},
		Flows: "frames that were discarded on the way", flow: flowSum(flowDrops)},
	{Name: "deadlocks", Unit: count("cycles"),
		Links: "cycles of waiting that were found to go through the link",
		link: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return c.grown(c.out(g.object.hop)+outDeadlocks, from, to)
		}},
	{Name: "queue", Unit: sizes,
		Links: "mean of what waits in the switch for the line; in one with input buffers that of all inputs, undefined where frames may change their way in it",
		link: ofQueue(func(c *Collector, out int, from, to unit.Time) float64 {
			return c.grown(out+outQueue, from, to) * (1 << queueShift) / float64(to-from)
		})},
	{Name: "queue.max", Unit: sizes,
		Links: "the most that waited",
		link: ofQueue(func(c *Collector, out int, from, to unit.Time) float64 {
			return c.most(out+outLongest, from, to)
		})},
	{Name: "queue.deviation", Unit: sizes,
		Links: "standard deviation of what waits: of its means over twentieths of `measure.window`, in large runs over longer parts",
		link: ofQueue(func(c *Collector, out int, from, to unit.Time) float64 {
			return c.deviation(out+outQueue, from, to) * (1 << queueShift)
		})},
	{Name: "queue.period", Unit: seconds,
		Links: "after how long what waits repeats itself: the lag with the highest autocorrelation of its means over twentieths of `measure.window`; undefined where it does not oscillate",
		link: ofQueue(func(c *Collector, out int, from, to unit.Time) float64 {
			return c.period(out+outQueue, from, to)
		})},
	{Name: "queue.p99", Unit: sizes,
		Links: "the most that waits in 99 % of the time, of the same means",
		link: ofQueue(func(c *Collector, out int, from, to unit.Time) float64 {
			return c.exceeded(out+outQueue, 0.99, from, to) * (1 << queueShift)
		})},
	{Name: "stalled", Ends: stallCauses, Unit: share,
		Links: "share of the time in which frames that waited were kept back: `no-credit`, `line-busy`, `crossbar-busy`, on Ethernet `paused`, `line-busy`; `down` while the link is; `flow-control` is `no-credit` and `paused` together",
		link: func(c *Collector, g *figure, from, to unit.Time) float64 {
			time := 0.0
			for _, b := range causesOf(g.end) {
				time += c.grown(c.out(g.object.hop)+outStall+int(b), from, to)
			}
			return time / float64(to-from)
		},
		Flows: "share of the time in which the source was kept from sending, as the mean of the flows: `rate-limited`, `window`, `line-busy`, `no-credit`, `paused`, `down`, `flow-control`",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			time := 0.0
			for _, b := range causesOf(g.end) {
				time += c.sum(g, flowStall+int(b), from, to)
			}
			return time / float64(to-from) / float64(len(g.object.flows))
		}},
	{Name: "recovery", Ends: levels, Unit: seconds, link: reached(linkUtilisation), flow: reached(flowUtilisation),
		Links: "until the utilisation is so many per cent over a `measure.window`, from the begin of the time",
		Flows: "the same"},
	{Name: "shared", Ends: levels, Unit: seconds, flow: reached(fairness),
		Flows: "the same for the fairness"},
	{Name: "transfers", Unit: count("transfers"),
		Flows: "how many finite transfers ended whole",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			n, _, _ := c.completions(g.object.flows, from, to)
			return float64(n)
		}},
	{Name: "completion.mean", Unit: seconds,
		Flows: "how long those took, from the arrival at the source to the delivery of the last byte",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			n, total, _ := c.completions(g.object.flows, from, to)
			return ratio(total, float64(n))
		}},
	{Name: "completion.p95", Unit: seconds, flow: completionOf(0.95), Flows: "what 95 % of them did not take longer than"},
	{Name: "completion.p99", Unit: seconds, flow: completionOf(0.99), Flows: "what 99 % of them did not take longer than"},
	{Name: "completion.max", Unit: seconds,
		Flows: "how long the longest of them took",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			if n, _, longest := c.completions(g.object.flows, from, to); n > 0 {
				return longest
			}
			return math.NaN()
		}},
	{Name: "notifications", Unit: count("notifications"), flow: flowSum(flowNotified),
		Flows: "congestion notifications, and messages of schemes, that the sources took in"},
	{Name: "probes", Unit: count("probes"), flow: flowSum(flowProbes),
		Flows: "frames that the reaction points of the sources sent of their own: probes"},
	{Name: "answers", Unit: count("answers"), flow: flowSum(flowAnswers),
		Flows: "answers to the probes of E2CM that the sources took in, which `notifications` has among others"},
	{Name: "fb", Unit: plain("1 to 63"), flow: meanFeedback,
		Flows: "mean of their quantised feedback"},
	{Name: "feedback", Unit: plain("frames per megabyte"),
		Flows: "what the sources took in that tells of congestion, to each megabyte (10^6 bytes) that was received: notifications and messages, and on InfiniBand ACKs that carry a mark back",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return ratio(c.sum(g, flowNotified, from, to)+c.sum(g, flowMarkedAcks, from, to), c.sum(g, flowBytes, from, to)/1e6)
		}},
	{Name: "max-min", Unit: rates, flow: fairRate(maxMinRates),
		Flows: "the rate that max-min fairness gives them, among the flows that are active at some time, none of which wants more than it offers"},
	{Name: "proportional", Unit: rates, flow: fairRate(proportionalRates),
		Flows: "the same for proportional fairness: the greatest sum of the logarithms of the rates"},
	{Name: "limit", Unit: rates,
		Flows: "what the rate limiters let through, as the mean of the flows over the time",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return c.held(flowAllowed, func(x *life) unit.Time { return x.limited }, g.object.flows, from, to)
		}},
	{Name: "target", Unit: rates,
		Flows: "the rate that the reaction points aim at (QCN), likewise, from the first change on",
		flow: func(c *Collector, g *figure, from, to unit.Time) float64 {
			return c.held(flowWanted, func(x *life) unit.Time { return x.targeted }, g.object.flows, from, to)
		}},
}

// levels are those at which something counts as recovered or shared, in per cent.
var levels = []string{"90", "95", "99"}

// flowControl stands for the causes by which the link says that it has no room.
const flowControl = "flow-control"

// stallCauses are what keeps frames back.
var stallCauses = func() (all []string) {
	for b := port.LineBusy; b < port.Blocks; b++ {
		all = append(all, b.String())
	}
	return append(all, flowControl)
}()

// causesOf returns what the word for a cause stands for.
func causesOf(word string) []port.Block {
	for b := port.LineBusy; b < port.Blocks; b++ {
		if b.String() == word {
			return []port.Block{b}
		}
	}
	return []port.Block{port.NoCredit, port.Paused}
}

func linkRate(c *Collector, g *figure, from, to unit.Time) float64 {
	return c.grown(c.out(g.object.hop)+outBytes, from, to) / to.Sub(from).Seconds()
}

func flowRate(c *Collector, g *figure, from, to unit.Time) float64 {
	return c.sum(g, flowBytes, from, to) / to.Sub(from).Seconds()
}

func linkUtilisation(c *Collector, g *figure, from, to unit.Time) float64 {
	room := c.capacity(g.object.hop.Wire, from, to) * to.Sub(from).Seconds()
	return used(c.grown(c.out(g.object.hop)+outBytes, from, to), room, 1)
}

func flowUtilisation(c *Collector, g *figure, from, to unit.Time) float64 {
	return used(c.sum(g, flowBytes, from, to), c.share(&g.object, from, to)*to.Sub(from).Seconds(), len(g.object.flows))
}

func fairness(c *Collector, g *figure, from, to unit.Time) float64 {
	return c.Jain(g.object.flows, from, to)
}

func meanFeedback(c *Collector, g *figure, from, to unit.Time) float64 {
	return ratio(c.sum(g, flowFb, from, to), c.sum(g, flowNotified, from, to))
}

// flowSum is the sum of what a counter of some flows grew by.
func flowSum(column int) formula {
	return func(c *Collector, g *figure, from, to unit.Time) float64 { return c.sum(g, column, from, to) }
}

// sum returns by how much a counter of the flows of an object grew.
func (c *Collector) sum(g *figure, column int, from, to unit.Time) float64 {
	v := 0.0
	for _, i := range g.object.flows {
		v += c.grown(c.ofFlows+i*flowColumns+column, from, to)
	}
	return v
}

// ofQueue is a figure of the queue of a port whose counters begin at out.
func ofQueue(of func(c *Collector, out int, from, to unit.Time) float64) formula {
	return func(c *Collector, g *figure, from, to unit.Time) float64 {
		if c.lost && !InBytes(c.fabric, g.object.hop.Wire) {
			return math.NaN()
		}
		return of(c, c.out(g.object.hop), from, to)
	}
}

// completionOf is what a share of the transfers did not take longer than.
func completionOf(level float64) formula {
	return func(c *Collector, g *figure, from, to unit.Time) float64 {
		return c.completion(g.object.flows, level, from, to)
	}
}

// out returns where the counters of the port begin that sends into h; in returns those of
// the port at its end.
func (c *Collector) out(h fabric.Hop) int {
	end := c.fabric.Wires[h.Wire].Ends[h.From]
	return (int(c.first[end.Machine]) + int(end.Port)) * portColumns
}

func (c *Collector) in(h fabric.Hop) int { return c.out(fabric.Hop{Wire: h.Wire, From: 1 - h.From}) }
