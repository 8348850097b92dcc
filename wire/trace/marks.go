package trace

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// markReasons is the room for reasons of marks and of congestion: a power of two, so that a mask
// keeps an unknown reason within it.
const markReasons = 32

// Reasons is how often data frames were marked as they left by a port, and congestion was detected
// on its behalf, by Reason. It is large, and most ports of a large fabric have none.
type Reasons struct {
	Marks, Triggers [markReasons]int64
	Fresh           uint32 // marks that a Recorder has counted, since they were written down
}

// Marked is a data frame that a switch has marked: the queue pair of its flow, and when.
type Marked struct {
	QP uint32
	At unit.Time
}

// Latest is the latest frames that a switch has marked, of so many flows whose queue pairs follow
// First, in a ring.
type Latest struct {
	First, Flows uint32

	all [16]Marked
	n   int // marks so far
}

// Add adds a frame.
func (l *Latest) Add(m Marked) {
	if m.QP-l.First < l.Flows { // queue pairs below First wrap around to a number that no flow has
		l.all[l.n%len(l.all)] = m
		l.n++
	}
}

// Each yields the frames, the latest first.
func (l *Latest) Each(yield func(Marked) bool) {
	for i := l.n - 1; i >= max(0, l.n-len(l.all)); i-- {
		if !yield(l.all[i%len(l.all)]) {
			return
		}
	}
}

// Mark counts a frame that was marked.
func (w *Reasons) Mark(why Reason) { w.Marks[why&(markReasons-1)]++ }

// Trigger counts a detection of congestion.
func (w *Reasons) Trigger(why Reason) { w.Triggers[why&(markReasons-1)]++ }

// why returns the causes of a port, to count one of them.
func (o *Own) why(port uint16) *Reasons {
	if o.Reasons[port] == nil {
		o.Reasons[port] = new(Reasons)
	}
	return o.Reasons[port]
}

// Mark reports a data frame that was marked as it left by a port, for whose link so much waits.
func (r *Recorder) Mark(now unit.Time, port uint16, f *wire.Frame, why Reason, waiting int64) {
	if r.counting(now) {
		w := r.own.why(port)
		w.Mark(why)
		w.Fresh++
		r.own.Latest.Add(Marked{f.QP, now})
		r.seq++
		return
	}
	r.Emit(Event{At: now, Kind: Mark, Port: port, Flow: f.QP, PSN: f.PSN, A: int64(why), B: waiting})
	r.beyond(now)
}

// Trigger reports that congestion was detected on behalf of a port, for whose link so much waits.
func (r *Recorder) Trigger(now unit.Time, port uint16, why Reason, waiting int64) {
	if r.counting(now) {
		r.own.why(port).Trigger(why)
		r.seq++
		return
	}
	r.Emit(Event{At: now, Kind: Trigger, Port: port, A: int64(why), B: waiting})
	r.beyond(now)
}
