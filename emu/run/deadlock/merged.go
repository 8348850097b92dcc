package deadlock

import (
	"cmp"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Waits is the report of a part of a fabric on its nodes at an instant of the watch.
type Waits struct {
	At      unit.Time
	Carried int64 // frames that were handed over in it, flow control aside
	Expects bool  // something will happen to one of its nodes by itself (Expecter)
	// Frames are those that wait, one for each input, output and class, in that order; none if no
	// output has waited for long, for then nothing there can be in a cycle.
	Frames []Held
}

// Held is a frame that waits in a node.
type Held struct {
	Node int
	port.Wait
}

// Compare orders waiting frames: those that it takes for equal hold the same memory for the same
// output.
func (a Held) Compare(b Held) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.In, b.In), cmp.Compare(a.Out, b.Out), cmp.Compare(a.Class, b.Class),
		cmp.Compare(a.From, b.From))
}

// Report returns the frames that wait in the nodes at Next, and moves Next on. carried is the number
// of frames that have been handed over, without flow control.
func (w *Detector) Report(carried int64) Waits {
	out := Waits{At: w.next, Carried: carried}
	if w.waited() {
		w.ask(func(p port.Wait) bool {
			out.Frames = append(out.Frames, Held{w.node, p})
			return true
		})
		slices.SortStableFunc(out.Frames, Held.Compare)
		out.Frames = slices.CompactFunc(out.Frames, func(a, b Held) bool { return a.Compare(b) == 0 })
	}
	out.Expects, w.next = w.expects(), w.after(w.now)
	return out
}

// Merged looks for deadlock in a fabric whose nodes are in parts, by the reports of the parts.
type Merged struct{ w *Detector }

// NewMerged returns the lookout of a fabric, as New does; watch takes the deadlocks.
func NewMerged(watch *Watch, wires [][2]port.End, end, changed unit.Time) *Merged {
	return &Merged{New[Waiter](watch, nil, wires, end, changed)}
}

// Next returns the next instant at which to look, and whether there is one.
func (l *Merged) Next() (unit.Time, bool) { return l.w.next, l.w.next < l.w.end }

// Look looks for deadlock at Next, in the reports of the parts at that instant. It returns the new
// deadlocks, and whether nothing else can happen.
func (l *Merged) Look(reports []Waits) (found []Deadlock, over bool) {
	w, carried, expects := l.w, int64(0), false
	w.ask = func(yield func(port.Wait) bool) {
		for i := range reports {
			for _, x := range reports[i].Frames {
				w.node = x.Node
				yield(x.Wait)
			}
		}
	}
	found = w.Look()
	for i := range reports {
		carried += reports[i].Carried
		expects = expects || reports[i].Expects
	}
	return found, w.over(carried, func() bool { return expects })
}
