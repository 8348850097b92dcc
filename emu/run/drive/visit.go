package drive

import (
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/pace"
	"fabemu/wire/unit"
)

// A Visitor inspects a run between two events. The loop of a driver calls it, on the wall clock
// when it has time to wait: a visit must not block, and takes microseconds.
type Visitor interface {
	// Wanted reports whether the loop should call Visit. The loop asks continually.
	Wanted() bool
	// Visit inspects the run. The nodes, the events and the Visit belong to the loop.
	Visit(*Visit)
}

// Visit is the state of a run between two events.
type Visit struct {
	Now    unit.Time     // everything before it has happened; on the virtual clock nothing else has
	Wall   int64         // ns since the start of the run; 0 on the virtual clock
	Timing *pace.Record  // the counts of the driver so far; nil: it does not measure itself
	Silent []pace.Silent // parts in other processes that do not answer

	Watch *deadlock.Watch // detects deadlock; may be nil

	order *order // nil: changes cannot be made
}

// Deadlocks returns the deadlocks that were found so far. They do not change any more.
func (v *Visit) Deadlocks() []deadlock.Deadlock {
	if v.Watch == nil {
		return nil
	}
	return v.Watch.Found[:len(v.Watch.Found):len(v.Watch.Found)]
}

// Next returns the first instant at which the fabric can still be changed. ok is false if it cannot
// be changed any more.
func (v *Visit) Next() (at unit.Time, ok bool) {
	if v.order == nil {
		return 0, false
	}
	return max(v.Now, v.order.now+1), true
}

// Change adds changes of the fabric, in the order of their instants and none before Next. At an
// instant that already has changes, the earlier ones are made first. If watch is not nil, deadlock
// is looked for at its intervals from now on.
func (v *Visit) Change(changes []Change, watch *deadlock.Watch) {
	o := v.order
	for _, c := range changes {
		o.insert(c)
	}
	if o.watcher != nil {
		o.watcher.Change(watch, o.fabric.LastChange())
	}
}

const (
	// visitRoom is how long, in ns, the loop must have until the next event for a visit, at the
	// least, and visitPatience for how long it looks for such a time; then it does without.
	visitRoom     = 20_000
	visitPatience = 100_000_000
	// visitSleep is the longest sleep of a loop that is visited.
	visitSleep = 10_000_000
)

// visit admits a visitor that wants to look, if there is time before target. The error is
// errOffered where the fabric is to change by it.
func (r *wallRun) visit(t unit.Time, target int64) error {
	v := r.fabric.Visitor
	if v == nil || !v.Wanted() {
		return nil
	}
	if r.knocked == 0 {
		r.knocked = r.now
	}
	if target-r.now < max(visitRoom, 2*r.visited) && r.now-r.knocked < visitPatience {
		return nil
	}
	r.knocked = 0
	before, began := len(r.fabric.Changes)-r.change, r.now
	r.reached(max(r.order.now, min(t, r.at(r.now))))
	r.visiting = Visit{Now: r.Record.Reached, Wall: r.Record.Wall, Timing: r.Record, order: r.order, Watch: r.fabric.Watch}
	v.Visit(&r.visiting)
	r.look(0)
	r.visited = r.now - began
	if len(r.fabric.Changes)-r.change != before {
		return errOffered
	}
	return nil
}
