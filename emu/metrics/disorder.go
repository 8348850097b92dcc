package metrics

import (
	"math"

	"fabemu/emu/fabric"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The counters of disorder: how the packets of a flow with RoCEv2, or of a workload, came out of
// order, of those that came ahead of their turn and were not dropped for it. Flows that accept such
// packets have no slow start and no payload in order, so these counters have the places of those of
// TCP.
const (
	flowEarly = tcpInOrder       // packets
	flowKept  = tcpThresholdHeld // picoseconds in the reorder buffer, all together
	flowWorst = tcpThreshold     // not a counter: the worst of the packets since the last edge
)

// worst is the worst of some packets that came ahead of their turn: the farthest one, and the
// longest time in the reorder buffer. They share a number, so that they need one column.
type worst struct {
	farthest int64
	longest  unit.Duration // less than 18 s; longer ones count as that
}

// longestBits is the place of farthest in the number: a reorder window has 17 bits.
const longestBits = 44

func (w worst) number() int64 {
	return w.farthest<<longestBits | min(int64(w.longest), 1<<longestBits-1)
}

func worstOf(number int64) worst {
	return worst{number >> longestBits, unit.Duration(number & (1<<longestBits - 1))}
}

func (w worst) or(o worst) worst {
	return worst{max(w.farthest, o.farthest), max(w.longest, o.longest)}
}

// worstIn returns the worst of an event.
func worstIn(e *trace.Event) worst { return worst{e.A, unit.Duration(e.B)} }

// disorderOf returns where these counters of a flow or a workload are, and the worst packet since
// the last edge; ok is false if it has none.
func (c *Collector) disorderOf(qp uint32) (early, kept, worse int, of *worst, ok bool) {
	if i := int(qp - firstQP); i < len(c.flows) {
		at := c.ofStreams + i*tcpColumns
		return at + flowEarly, at + flowKept, at + flowWorst, &c.lives[i].worst, c.lives[i].selective
	}
	if k, _ := fabric.Transfer(c.workloads, qp); k >= 0 {
		at := c.ofWorks + k*workColumns
		return at + workEarly, at + workKept, at + workWorst, &c.works[k].worst, true
	}
	return 0, 0, 0, nil, false
}

// disordered counts a packet that came ahead of its turn.
func (c *Collector) disordered(e *trace.Event) {
	early, kept, worse, of, ok := c.disorderOf(e.Flow)
	if !ok {
		return
	}
	if i := int(e.Flow - firstQP); i < len(c.lives) {
		c.lives[i].columns.begun |= 1<<(flowColumns+flowEarly) | 1<<(flowColumns+flowKept) | 1<<(flowColumns+flowWorst)
	}
	c.now[early]++
	c.now[kept] += e.B
	if e.At >= c.lo {
		*of = of.or(worstIn(e))
		return
	}
	for k := c.cur; k > 0 && c.edges[k] > e.At; k-- { // it is late: the edges since then lack it
		c.rows.change(k, early, 1)
		c.rows.change(k, kept, e.B)
		if c.edges[k-1] <= e.At {
			cell := c.rows.cell(k, worse)
			*cell = worstOf(*cell).or(worstIn(e)).number()
		}
	}
}

// disorderColumns returns for each flow of an object that accepts packets out of order, or for its
// workload if that does, where a counter is.
func (t taken) disorderColumns(flow, work int) (all []int) {
	if k := t.object.work - 1; k >= 0 {
		if t.c.works[k].workload.Flow.Transport.Selective() {
			all = append(all, t.c.ofWorks+k*workColumns+work)
		}
		return all
	}
	for _, i := range t.object.flows {
		if t.c.fabric.Flows[i].Transport.Selective() {
			all = append(all, t.c.ofStreams+i*tcpColumns+flow)
		}
	}
	return all
}

// earlyPackets is how many packets came ahead of their turn; not a number where they are not
// accepted.
func earlyPackets(t taken) float64 { return t.disorder(flowEarly, workEarly) }

// disorder is by how much a counter grew.
func (t taken) disorder(flow, work int) float64 {
	all := t.disorderColumns(flow, work)
	if len(all) == 0 {
		return math.NaN()
	}
	var sum unit.Total
	for _, at := range all {
		sum.Add(t.grown(at))
	}
	return sum.Value()
}

// keptTime is the mean time of these packets in the reorder buffer; 0: there were none.
func keptTime(t taken) float64 {
	return t.disorder(flowKept, workKept) / float64(unit.Second) / max(earlyPackets(t), 1)
}

// worstOver returns a figure of the worst packet.
func worstOver(of func(worst) float64) formula {
	return func(t taken) float64 {
		all := t.disorderColumns(flowWorst, workWorst)
		if len(all) == 0 {
			return math.NaN()
		}
		w := worst{}
		for _, at := range all {
			for k := 1; k <= t.c.cur; k++ {
				if t.c.edges[k] > t.from && t.c.edges[k-1] < t.to {
					w = w.or(worstOf(t.c.rows.at(k, at)))
				}
			}
			if t.c.totals != nil && t.to > t.c.edges[t.c.cur] { // and since the last edge
				w = w.or(worstOf(t.c.last(at)))
			}
		}
		return of(w)
	}
}

func farthestOf(w worst) float64 { return float64(w.farthest) }
func longestOf(w worst) float64  { return float64(w.longest) / float64(unit.Second) }

// ofDisorder reads such a figure of a flow or a workload over the run so far.
func ofDisorder(of formula) func(At) float64 {
	return func(x At) float64 {
		if x.Of != Flow && x.Of != Workload {
			return math.NaN()
		}
		return of(x.all())
	}
}

// disorders reports whether an object has these figures.
func (x At) disorders() bool { return !math.IsNaN(ofDisorder(earlyPackets)(x)) }
