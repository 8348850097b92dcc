package metrics

import (
	"slices"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Failure is a queue pair that has failed: it retransmitted as often as its retry-count permits,
// without progress.
type Failure struct {
	Flow     int // index in Fabric.Flows; -1: it is of a workload
	Work     int // of a workload its index in Fabric.Workloads; otherwise -1
	QP       uint32
	Src, Dst int // nodes
	At       unit.Time
	Reason   trace.Reason // TimerExpired or SequenceError
	Packets  int64        // that were sent and not acknowledged
}

// Failures returns the queue pairs that have failed, in the order of time. The caller must not
// change them.
func (v *View) Failures() []Failure { return v.c.failures }

// failures is how many queue pairs of an object have failed in a time.
func failures(t taken) float64 {
	n := 0
	for i := range t.c.failures {
		x := &t.c.failures[i]
		ours := slices.Contains(t.object.flows, x.Flow)
		if t.object.work > 0 {
			ours = x.Work == t.object.work-1
		}
		if ours && x.At >= t.from && x.At < t.to {
			n++
		}
	}
	return float64(n)
}

// allFailures is how many of them there are so far.
func allFailures(at At) float64 {
	n := 0
	for i := range at.c.failures {
		if x := &at.c.failures[i]; at.Of == Flow && x.Flow == at.Flow || at.Of == Workload && x.Work == at.Work {
			n++
		}
	}
	return float64(n)
}
