package process

import (
	"slices"

	"fabemu/emu/run/pace"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// merge records the events before the instant that all parts have reached, in the order of the run,
// and returns that instant. At the end of a complete run it records all events. If a run was cut
// short, later events are dropped because other parts lack that time. Reports for which ranks wait
// then count as of that instant.
func (r *conductor) merge(end, whole bool) unit.Time {
	until := unit.Never
	var counts pace.Counts
	for _, s := range r.participants {
		until = min(until, s.now)
		counts.Add(s.counts)
	}
	r.fabric.Progress.Set(min(until, r.fabric.End), counts)
	if until == r.until && !end {
		return until
	}
	ends := make([]int, len(r.participants)) // of the queues, the entries that are recorded now
	for k, s := range r.participants {
		for ends[k] < len(s.queue) && (end && whole || s.queue[ends[k]].At < until) {
			ends[k]++
		}
	}
	var ranks []entry
	for k, s := range r.participants {
		for i := ends[k]; i < len(s.queue) && end && !whole; i++ {
			if e := s.queue[i]; e.frame == nil && e.Kind == trace.Wait {
				e.At = until
				ranks = append(ranks, e)
			}
		}
	}
	r.record(ends)
	slices.SortStableFunc(ranks, func(a, b entry) int { return a.key().Compare(b.key()) })
	for i := range ranks {
		r.tell(&ranks[i])
	}
	return until
}

// tell hands an entry on. If nothing else can happen, the run has ended before later entries.
func (r *conductor) tell(e *entry) {
	switch {
	case r.over > 0 && e.At > r.over:
	case e.frame != nil:
		r.show(e.frame)
	default:
		r.sink.Record(&e.Event)
	}
}

// record records the first entries of the queues in the order of the run; each queue is in order.
func (r *conductor) record(ends []int) {
	var m trace.Merge
	next := make([]int, len(ends))
	for k, s := range r.participants {
		if ends[k] > 0 {
			m.Add(k, s.queue[0].key())
		}
	}
	for k, ok := m.First(); ok; k, ok = m.First() {
		queue := r.participants[k].queue
		r.tell(&queue[next[k]])
		if next[k]++; next[k] < ends[k] {
			m.Next(queue[next[k]].key())
		} else {
			m.End()
		}
	}
	for k, s := range r.participants {
		s.queue = slices.Delete(s.queue, 0, ends[k])
	}
}
