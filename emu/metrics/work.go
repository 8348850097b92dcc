package metrics

import (
	"cmp"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The counters of a workload.
const (
	workBytes  = iota // data received whole, headers included
	workFrames        // data frames received whole
	workMarked        // of them, those that carried a mark
	workColumns
)

// Done is a transfer of a workload.
type Done struct {
	Src, Dst int32         // machines
	Bytes    int64         // of payload
	Arrived  unit.Time     // at the source
	Ended    unit.Time     // at the destination; unit.Never: it has not
	Alone    unit.Duration // how long it takes with the fabric for itself
	Again    uint32        // packets that were sent again
	Missing  uint32        // packets that were lost on the way; 0: it is whole
}

// Slowdown returns how many times as long the transfer took as alone, at least 1.
func (d *Done) Slowdown() float64 {
	return max(1, float64(d.Ended.Sub(d.Arrived))/float64(max(d.Alone, 1)))
}

// work is the transfers of a workload.
type work struct {
	pool  *fabric.Pool
	open  map[uint32]*Done // by queue pair
	ended []Done           // in the order in which they did
}

// countTransfer counts an event of a transfer of a workload.
func (c *Collector) countTransfer(e *trace.Event) {
	p, src := fabric.Transfer(c.pools, e.Flow)
	if p == nil {
		return
	}
	k := 0
	for c.pools[k] != p {
		k++
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
		d.Alone = c.alone.Time(src, int(d.Dst), e.Flow, &p.Flow, unit.Size(e.B))
		w.open[e.Flow] = d
	case trace.TransferEnd:
		if d := w.open[e.Flow]; d != nil {
			d.Ended, d.Missing = e.At, uint32(e.A)
			w.ended = append(w.ended, *d)
			delete(w.open, e.Flow)
		}
	case trace.Retransmit, trace.Timeout:
		if d := w.open[e.Flow]; d != nil {
			n := e.B
			if e.Kind == trace.Timeout {
				n = e.A
			}
			d.Again += uint32(n)
		}
	}
}

// beginWorks makes the counters of workloads, behind so many others, and returns how many there are with them.
func (c *Collector) beginWorks(columns int) int {
	c.ofWorks, c.pools, c.alone = columns, c.fabric.Pools(), fabric.NewAlone(c.fabric)
	for _, p := range c.pools {
		c.works = append(c.works, work{pool: p, open: map[uint32]*Done{}})
	}
	return columns + len(c.pools)*workColumns
}

// Work returns the transfers of a workload that have ended, in the order in which they did, and those that have not, in the order of
// their arrival. The caller must not change them.
func (c *Collector) Work(workload int) (ended, open []Done) {
	w := &c.works[workload]
	for _, d := range w.open {
		open = append(open, *d)
	}
	slices.SortFunc(open, func(a, b Done) int {
		return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Bytes, b.Bytes))
	})
	return w.ended, open
}
