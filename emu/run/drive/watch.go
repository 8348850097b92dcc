package drive

import (
	"math"

	"fabemu/emu/run/deadlock"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// watch lets the watcher look at t, or reports the waiting frames of the nodes.
func (o *order) watch(t unit.Time) error {
	w := o.watcher
	o.now = t
	if o.report != nil {
		waits := w.Report(o.carried)
		o.agenda.Set(o.watchSlot(), w.Next())
		return o.report(waits)
	}
	over, err := see(w, o.carried, func(m int) (*order, int) { return o, m })
	o.agenda.Set(o.watchSlot(), w.Next())
	if over {
		o.fabric.Progress.Reach(o.fabric.End)
		return errOver
	}
	return err
}

// Interrupter is a node that reports its state if the run ends early.
type Interrupter interface{ Interrupt(now unit.Time) }

// cut ends the order early, between two instants: everything before the end has happened, and
// nothing at or after it. So the events of the present instant are completed. The end is where the
// clock is, or the next event.
func (o *order) cut(clock unit.Time) error {
	if err := o.run(o.now+1, math.MaxInt); err != nil && err != errOver {
		return err
	}
	_, next := o.next()
	o.now = min(max(o.now+1, clock), next)
	o.interrupt(o.now)
	return nil
}

// interrupt has the nodes of the order report their states at now, behind all else of that instant.
func (o *order) interrupt(now unit.Time) {
	for m, node := range o.fabric.Nodes {
		if x, ok := node.(Interrupter); ok {
			o.key(now, placeOfWatch, o.nodes[m].number)
			x.Interrupt(now)
		}
	}
}

// see lets a watcher look, and applies each deadlock that it finds to the nodes, by the order of
// each and its number there. carried counts the frames handed over that are not flow control. It
// reports whether nothing else can happen.
func see(w *deadlock.Detector, carried int64, of func(m int) (*order, int)) (over bool, err error) {
	t := w.Next()
	for n, p := range deadlock.Outputs(w.Look()) {
		o, m := of(p.From.Node)
		o.key(t, placeOfWatch, int32(n))
		o.nodes[m].Apply(t, p.From.Port, port.Deadlock{Class: p.Class, Since: p.Since})
		due, err := o.drain(m)
		if err != nil {
			return false, err
		}
		o.note(m, due, t)
	}
	return w.Over(carried), nil
}
