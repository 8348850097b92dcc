package metrics

import (
	"math"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// disorder is how the packets of a flow, or of a workload, came out of order: with RoCEv2 those
// that came ahead of their turn, and were not dropped for it.
type disorder struct {
	packets  int64
	furthest int64         // packets from the oldest missing one on
	held     unit.Duration // in the reorder buffer, all together
	longest  unit.Duration
}

func (d *disorder) add(e *trace.Event) {
	d.packets++
	d.furthest = max(d.furthest, e.A)
	d.held += unit.Duration(e.B)
	d.longest = max(d.longest, unit.Duration(e.B))
}

// ofDisorder is a figure of flows or workloads that accept packets out of order; not a number of
// others.
func ofDisorder(of func(*disorder) float64) func(At) float64 {
	return func(x At) float64 {
		switch {
		case x.Of == Workload && x.c.works[x.Work].workload.Flow.Transport.Selective():
			return of(&x.c.works[x.Work].disorder)
		case x.Of == Flow && x.c.fabric.Flows[x.Flow].Transport.Selective():
			return of(&x.c.lives[x.Flow].disorder)
		}
		return math.NaN()
	}
}

// disorders reports whether an object has these figures.
func (x At) disorders() bool { return !math.IsNaN(ofDisorder((*disorder).count)(x)) }

func (d *disorder) count() float64    { return float64(d.packets) }
func (d *disorder) distance() float64 { return float64(d.furthest) }
func (d *disorder) longestTime() float64 {
	return float64(d.longest) / float64(unit.Second)
}

// meanTime is the mean over the packets that came ahead of their turn; 0: there were none.
func (d *disorder) meanTime() float64 {
	return float64(d.held) / float64(unit.Second) / float64(max(d.packets, 1))
}
