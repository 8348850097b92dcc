package metrics

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The counters of a workload.
const (
	workBytes   = iota // data received whole, headers included
	workFrames         // data frames received whole
	workMarked         // of them, those that carried a mark
	workBegun          // transfers that have arrived and have a source
	workEnded          // transfers that have ended
	workWaiting        // transfers that wait for a source, now
	workDrops          // its frames that were discarded on the path
	workAgain          // packets that were retransmitted
	workEarly          // as flowEarly
	workKept           // as flowKept
	workWorst          // as flowWorst
	workColumns
)

// workCounts are the counts of workloads.
type workCounts struct {
	ofWorks   int // where their counters begin, in bins.now
	workloads []*fabric.Workload
	works     []workload // by workload
	ideal     *fabric.Ideal
}

// Done is a transfer of a workload.
type Done struct {
	Src, Dst int32         // nodes
	Bytes    int64         // of payload
	Arrived  unit.Time     // at the source
	Ended    unit.Time     // at the destination; unit.Never: it has not
	Ideal    unit.Duration // how long it takes with the fabric for itself
	Again    uint32        // packets that were retransmitted
	Missing  uint32        // packets that were lost on the path; 0: it is whole
}

// Slowdown returns the time that the flow took over its ideal time, at least 1.
func (d *Done) Slowdown() float64 {
	return max(1, float64(d.Ended.Sub(d.Arrived))/float64(max(d.Ideal, 1)))
}

// RoundOf is a round of a collective operation.
type RoundOf struct {
	Begun, Ended unit.Time // when the first rank began, and when the last one ended
	Last         int32     // the node that ended last
	Ranks        int       // that have ended
}

// workload is the transfers of a workload.
type workload struct {
	workload *fabric.Workload
	open     map[transferKey]*Done // nil in a copy
	opened   []Done                // in a copy: those that are open
	ended    ledger
	came     trace.Arrivals
	wait     map[int32]int64 // by source, its transfers that wait
	rounds   []RoundOf       // of a collective operation
	waits    []RankWait

	from    unit.Time // arrivals before, in the warm-up, do not count
	counted counted

	worst worst // of the packets since the last edge that came ahead of their turn
}

// counted are the transfers of a workload that count, and the payload of those that have ended.
type counted struct{ begun, ended, lost, payload int64 }

// copyWorks copies works for another goroutine. The memory of the copies is used again.
func copyWorks(to, from []workload) []workload {
	if len(to) != len(from) {
		to = make([]workload, len(from))
	}
	for k := range from {
		to[k] = workload{workload: from[k].workload, ended: from[k].ended.copy(to[k].ended), rounds: append(to[k].rounds[:0], from[k].rounds...),
			waits: from[k].waits, opened: from[k].unfinished(to[k].opened[:0]), came: from[k].came, from: from[k].from, counted: from[k].counted, worst: from[k].worst}
	}
	return to
}

// settle writes down at the end of a bin what has come.
func (c *workCounts) settle(b *bins) {
	for k := range c.works {
		came, now := &c.works[k].came, b.now[c.ofWorks+k*workColumns:]
		now[workBytes] += came.Bytes
		now[workFrames] += came.Frames
		now[workMarked] += came.Marked
		*came = trace.Arrivals{}
		now[workWorst], c.works[k].worst = c.works[k].worst.number(), worst{}
	}
}

// transferKey names a transfer in flight: its queue pair, and the number of its last packet.
type transferKey struct{ qp, psn uint32 }

// countTransfer counts an event of a transfer of a workload.
func (c *Collector) countTransfer(e *trace.Event) {
	k, src := fabric.Transfer(c.workloads, e.Flow)
	if k < 0 {
		return
	}
	w, now := &c.works[k], c.now[c.ofWorks+k*workColumns:]
	switch e.Kind {
	case trace.Deliver:
		now[workBytes] += int64(e.Bytes)
		now[workFrames]++
		if _, fecn, _ := trace.FrameOf(e.A); fecn {
			now[workMarked]++
		}
	case trace.TransferStart:
		d := &Done{Src: int32(src), Dst: int32(e.Bytes) - 1, Bytes: e.B, Arrived: unit.Time(e.A), Ended: unit.Never}
		d.Ideal = c.ideal.Time(src, int(d.Dst), e.Flow, &w.workload.Flow, unit.Size(e.B))
		w.open[transferKey{e.Flow, e.PSN}] = d
		now[workBegun]++
		if d.Arrived >= w.from {
			w.counted.begun++
		}
	case trace.TransferEnd:
		key := transferKey{e.Flow, e.PSN}
		if d := w.open[key]; d != nil {
			d.Ended, d.Missing = e.At, uint32(e.A)
			w.ended.add(d)
			now[workEnded]++
			delete(w.open, key)
			w.count(d)
		}
	case trace.Drop:
		if e.B == 0 {
			now[workDrops]++
		}
	case trace.Disorder:
		c.disordered(e)
	case trace.Retransmit, trace.Timeout:
		n, stream := e.B, w.workload.Flow.Transport.Streams()
		switch {
		case stream && trace.Reason(e.A) == trace.WindowProbe:
		case stream:
			n = int64(min(e.Bytes, 1)) // its segments are reported one by one
		case e.Kind == trace.Timeout:
			n = e.A
		}
		now[workAgain] += n
		for key, d := range w.open { // this is rare
			if key.qp == e.Flow && (!stream || int64(key.psn-e.PSN) <= d.Bytes) {
				d.Again += uint32(n)
			}
		}
	case trace.Failure:
		c.failures = append(c.failures, Failure{Flow: -1, Work: k, QP: e.Flow, Src: src, Dst: int(e.Bytes) - 1,
			At: e.At, Reason: e.Reason(), Packets: e.B})
	case trace.Round:
		for len(w.rounds) < int(e.PSN) {
			w.rounds = append(w.rounds, RoundOf{Begun: unit.Never})
		}
		r := &w.rounds[e.PSN-1]
		r.Begun, r.Ranks = min(r.Begun, unit.Time(e.A)), r.Ranks+1
		if unit.Time(e.B) >= r.Ended {
			r.Ended, r.Last = unit.Time(e.B), e.Node
		}
	case trace.Backlog:
		now[workWaiting] += e.A - w.wait[e.Node]
		w.wait[e.Node] = e.A
	case trace.Wait:
		w.waits = append(w.waits, RankWait{Rank: slices.Index(w.workload.Members, src), For: slices.Index(w.workload.Members, int(e.Bytes)-1),
			Reason: trace.Reason(e.B & 0xff), Tag: e.PSN, Line: int(e.B >> 8), Since: unit.Time(e.A)})
	}
}

// count counts a transfer that has ended.
func (w *workload) count(d *Done) {
	if d.Arrived < w.from {
		return
	}
	w.counted.ended++
	w.counted.payload += d.Bytes
	if d.Missing > 0 {
		w.counted.lost++
	}
}

// RankWait is a message that a rank waits for or that no rank has taken, or a fault of the rank's
// program.
type RankWait struct {
	Rank, For int          // the rank, and the one at the other end of the message; -1: there is none
	Reason    trace.Reason // NoMessage, NoReceive, NotSent; RequiresItself, TooManyOpen, BadProgram
	Tag       uint32
	Line      int // of the GOAL file; 0: there is none
	Since     unit.Time
}

// Waits returns which ranks of a workload wait, in the order of the ranks.
func (v *View) Waits(workload int) []RankWait {
	all := slices.Clone(v.c.works[workload].waits)
	slices.SortStableFunc(all, func(a, b RankWait) int { return cmp.Compare(a.Rank, b.Rank) })
	return all
}

// Rounds returns the rounds of the collective operation of a workload that all ranks have ended.
func (c *Collector) Rounds(workload int) (whole []RoundOf) {
	w := &c.works[workload]
	for _, r := range w.rounds {
		if r.Ranks == len(w.workload.Members) {
			whole = append(whole, r)
		}
	}
	return whole
}

// begin makes the counters of workloads, behind so many others, and returns how many there are
// with them.
func (c *workCounts) begin(f *fabric.Fabric, columns int) int {
	c.ofWorks, c.workloads, c.ideal = columns, f.Workloads(), fabric.NewIdeal(f)
	for _, p := range c.workloads {
		w := workload{workload: p, open: map[transferKey]*Done{}, wait: map[int32]int64{}}
		if p.WarmUp > 0 {
			w.from = unit.Time(p.Start + p.WarmUp)
		}
		c.works = append(c.works, w)
	}
	return columns + len(c.workloads)*workColumns
}

// Ended yields the transfers of a workload that have ended, in the order in which they did. Each is
// overwritten by the next one.
func (c *Collector) Ended(workload int) iter.Seq[*Done] { return c.works[workload].ended.all() }

// Counted yields those of them that count: which arrived after the warm-up.
func (c *Collector) Counted(workload int) iter.Seq[*Done] {
	from := c.CountsFrom(workload)
	return func(yield func(*Done) bool) {
		for d := range c.Ended(workload) {
			if d.Arrived >= from && !yield(d) {
				return
			}
		}
	}
}

// CountsFrom returns from when on arrivals of a workload count; 0: all do.
func (c *Collector) CountsFrom(workload int) unit.Time { return c.works[workload].from }

func (c *Collector) EndedTransfers(workload int) int { return c.works[workload].ended.n }

// Work returns the transfers of a workload that have ended, in the order in which they did, and the
// open ones, in the order of their arrival. The ended ones are copies, of 48 bytes each: Ended
// takes no memory.
func (c *Collector) Work(workload int) (ended, open []Done) {
	for d := range c.Ended(workload) {
		ended = append(ended, *d)
	}
	return ended, c.OpenTransfers(workload)
}

// OpenTransfers returns the transfers of a workload that have a source and have not ended, in the
// order of their arrival.
func (c *Collector) OpenTransfers(workload int) []Done {
	open := c.works[workload].unfinished(nil)
	slices.SortFunc(open, func(a, b Done) int {
		return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Bytes, b.Bytes))
	})
	return open
}

// ofWorkColumn is a counter of a workload over intervals, and ofCounted one of its transfers.
func ofWorkColumn(column int) func(At) float64 {
	return func(x At) float64 { return float64(x.c.last(x.c.ofWorks + x.Work*workColumns + column)) }
}

func ofCounted(of func(*counted) int64) func(At) float64 {
	return func(x At) float64 { return float64(of(&x.c.works[x.Work].counted)) }
}

// leastSlowdown passes on the slowdown of transfers with the open ones, as if they had ended with
// the run.
func leastSlowdown(x At, part PartFunc) {
	w := &x.c.works[x.Work]
	if w.workload.Ranked() {
		return
	}
	all := x.all().slowdowns()
	ended := len(all)
	for _, d := range x.c.OpenTransfers(x.Work) {
		if d.Arrived >= w.from {
			d.Ended = x.Until()
			all = append(all, d.Slowdown())
		}
	}
	if len(all) > ended {
		Spread(all, part)
	}
}

// leastRound is the least time of a round, by its bytes on a link.
func leastRound(x At) float64 {
	f, p := x.c.fabric, x.c.works[x.Work].workload
	frame := f.Frame(&p.Flow)
	line := f.Wires[f.Nodes[p.Members[0]].Ports[0].Wire].Link.Rate
	payload := float64(line) * float64(p.Packet) / float64(f.Framing().Length(&frame))
	return p.Operation().LeastTime(unit.Rate(payload)).Seconds()
}

// stragglers passes on how often an endpoint was the last of a round, the most frequent first.
func stragglers(x At, part PartFunc) {
	last := map[string]int{}
	for _, r := range x.c.Rounds(x.Work) {
		last[x.c.fabric.Nodes[r.Last].Name]++
	}
	for _, name := range slices.SortedFunc(maps.Keys(last), func(a, b string) int {
		return cmp.Or(cmp.Compare(last[b], last[a]), cmp.Compare(a, b))
	}) {
		part(name, float64(last[name]))
	}
}

// unfinished appends the open transfers, in any order.
func (w *workload) unfinished(all []Done) []Done {
	for _, d := range w.open {
		all = append(all, *d)
	}
	return append(all, w.opened...)
}
