package drive

import (
	"cmp"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Waits is what a Part tells of its machines at an instant of the watch.
type Waits struct {
	At      unit.Time
	Carried int64 // frames that were handed over in it, flow control aside
	Expects bool  // something will happen to one of its machines by itself (Expecter)
	// Frames are those that wait, one for each input, output and class, in that order; none if no
	// output has waited for long, for then nothing there can be in a cycle.
	Frames []Held
}

// Held is a frame that waits in a machine.
type Held struct {
	Machine int
	port.Wait
}

// Compare orders waiting frames: those that it takes for equal hold the same memory for the same
// output.
func (a Held) Compare(b Held) int {
	return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.In, b.In), cmp.Compare(a.Out, b.Out), cmp.Compare(a.Class, b.Class))
}

// collect returns what waits in the machines that the watcher asks.
func (w *watcher) collect(now unit.Time) (list []Held) {
	if !w.waited(now) {
		return nil
	}
	w.ask(func(p port.Wait) bool {
		list = append(list, Held{w.machine, p})
		return true
	})
	slices.SortStableFunc(list, Held.Compare)
	return slices.CompactFunc(list, func(a, b Held) bool { return a.Compare(b) == 0 })
}

// Lookout looks for deadlock in a fabric whose machines are in parts, by what these tell. It is the
// watch of a driver with another source.
type Lookout struct{ w *watcher }

// NewLookout returns the lookout of a fabric, whose Watch takes what is found.
func NewLookout(f *Fabric) *Lookout { return &Lookout{newWatcher(f)} }

// Next returns the next instant at which to look, and whether there is one.
func (l *Lookout) Next() (unit.Time, bool) { return l.w.next, l.w.next < l.w.fabric.End }

// Look looks for deadlock at Next, in what the parts have told of that instant, and returns what is
// new, and whether nothing else can happen.
func (l *Lookout) Look(told []Waits) (found []Deadlock, over bool) {
	w, at := l.w, l.w.next
	w.ask = func(yield func(port.Wait) bool) {
		for i := range told {
			for _, x := range told[i].Frames {
				w.machine = x.Machine
				yield(x.Wait)
			}
		}
	}
	found = w.look(at)
	w.next = w.after(at)
	carried, expects := int64(0), false
	for i := range told {
		carried += told[i].Carried
		expects = expects || told[i].Expects
	}
	return found, w.over(at, carried, func() bool { return expects })
}
