package process

import (
	"slices"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// merge records the events before the instant that all parts have reached, in the order of the run, and returns that
// instant. At the end of a run that is whole it records all events. Where a run has broken off, later events are
// dropped: other parts lack the same time. Reports for whom ranks wait then count as of that instant.
func (r *conductor) merge(end, whole bool) unit.Time {
	until := unit.Never
	var late int64
	for _, s := range r.participants {
		until = min(until, s.now)
		late += s.late
	}
	r.fabric.Progress.Set(min(until, r.fabric.End), late)
	var ripe []entry
	for _, s := range r.participants {
		n := 0
		for n < len(s.queue) && (end && whole || s.queue[n].At < until) {
			n++
		}
		for i := n; i < len(s.queue) && end && !whole; i++ {
			if e := &s.queue[i]; e.frame == nil && e.Kind == trace.Wait {
				e.At = min(e.At, until)
				ripe = append(ripe, *e)
			}
		}
		ripe = append(ripe, s.queue[:n]...)
		s.queue = append(s.queue[:0], s.queue[n:]...)
	}
	slices.SortStableFunc(ripe, func(a, b entry) int {
		return trace.Key{At: a.At, Place: a.place}.Compare(trace.Key{At: b.At, Place: b.place})
	})
	for i := range ripe {
		if r.over > 0 && ripe[i].At > r.over {
			break // where nothing else can happen, the run has ended
		}
		if f := ripe[i].frame; f != nil {
			r.show(f)
			continue
		}
		r.sink.Record(&ripe[i].Event)
	}
	return until
}
