package drive

import (
	"runtime"
	"time"

	"fabemu/wire/unit"
)

// Loop is how the wall driver's loop waits for an instant. It spins: a thread that
// sleeps is woken tens of microseconds late. Where there is time to, it gives way
// to other goroutines of its own accord, because Go's monitor would make it do so
// at a worse moment, every 10 ms; and it sleeps when the next instant is far.
type Loop struct {
	LockThread bool // keep to one thread of the system
	NeverYield bool // do not give way
	NeverSleep bool // spin however far the next instant is
}

const (
	// yieldEvery is how often, in ns, the loop gives way: well below the 10 ms after
	// which Go's monitor forces it to.
	yieldEvery = 2_000_000
	// yieldRoom is how far, in ns, the next instant must be for that.
	yieldRoom = 50_000
	// sleepRoom is how far it must be for the loop to sleep, and sleepShort how long
	// before it the loop wakes up again. A sleep ends up to 1 ms late.
	sleepRoom  = 5_000_000
	sleepShort = 2_500_000
	// sleepMost is the longest sleep at a time: a run that is told to stop wakes up.
	sleepMost = 50_000_000
)

// lookEvery is how long, in ns, the loop does not look outside after it has: a look costs a
// system call for each device.
const lookEvery = 5_000

// until waits for the wall time of t, and lets in meanwhile who comes from outside: the error is
// errOffered where the next event may be another one by that.
func (r *wallRun) until(t unit.Time) error {
	if r.stop.Load() {
		r.now = r.clock()
		return errStopped
	}
	target := r.epoch + Dilate(t, r.wall.Dilation)
	r.look(t, 0)
	if err := r.letIn(t, target); err != nil || r.now >= target {
		return err
	}
	if err := r.read(t, target); err != nil {
		return err
	}
	began := r.now
	err := r.sleep(t, target)
	r.Slept += r.now - began
	if err != nil {
		return err
	}
	r.yield(target)
	began = r.now
	for err == nil && r.now < target {
		r.spin(t)
		if err = r.letIn(t, target); r.stop.Load() {
			err = errStopped
		}
	}
	r.Spun += r.now - began
	return err
}

// sleep sleeps as long as target is far, or until something comes from outside.
func (r *wallRun) sleep(t unit.Time, target int64) error {
	for target-r.now > sleepRoom && !r.wall.Loop.NeverSleep && !r.stop.Load() {
		most := min(target-r.now-sleepShort, sleepMost)
		if r.fabric.Visitor != nil {
			most = min(most, visitSleep)
		}
		if r.fabric.Outside != nil {
			r.fabric.Outside.Wait(time.Duration(most))
		} else {
			// A plain sleep, of sleepMost at the most: nothing but the end of the run could wake it.
			time.Sleep(time.Duration(most))
		}
		r.look(t, r.now+most)
		r.yielded = r.now
		if err := r.letIn(t, target); err != nil {
			return err
		}
	}
	return nil
}

// yield gives way to other goroutines if target is far enough, and the last time is long ago.
func (r *wallRun) yield(target int64) {
	if target-r.now > yieldRoom && r.now-r.yielded > yieldEvery && !r.wall.Loop.NeverYield {
		runtime.Gosched()
		r.yielded = r.now
	}
}

// spin reads the clock while the loop waits. The gaps between two readings are the floor of this
// computer.
func (r *wallRun) spin(t unit.Time) {
	next := r.clock()
	if gap := next - r.now; gap > r.floor {
		r.SpunLate += gap - r.floor
		if gap > StallLimit {
			r.stalled(t, gap)
		}
	}
	r.now = next
}

// letIn looks outside, and lets a visitor in, before an event of t, for which it is time at target.
func (r *wallRun) letIn(t unit.Time, target int64) error {
	if err := r.outside(t); err != nil {
		return err
	}
	return r.visit(t, target)
}

// outside looks for what has come from outside before an event of t, from time to time. The
// error is errOffered where something has.
func (r *wallRun) outside(t unit.Time) error {
	if r.fabric.Outside == nil || r.now-r.looked < lookEvery {
		return nil
	}
	r.looked = r.now
	at := max(r.order.now, min(t, r.measured(0)))
	offered := false
	err := r.fabric.Outside.Look(func(machine int) {
		offered = true
		r.offer(machine, at)
	})
	if err == nil && offered {
		err = errOffered
	}
	return err
}

// look reads the clock. Between two looks, or from wake on where the loop slept until
// then, lies one event or a few datagrams: a gap longer than they can take is a stall.
func (r *wallRun) look(t unit.Time, wake int64) {
	before := max(r.now, wake)
	r.now = r.clock()
	if gap := r.now - before; gap > StallLimit {
		r.stalled(t, gap)
	}
}

// stalled notes a gap in which the loop did not run.
func (r *wallRun) stalled(t unit.Time, gap int64) {
	r.StallCount++
	r.Stalled += gap
	if gap > 20*r.floor { // the shortest T
		r.StalledMost += gap
	}
	r.moment.Stalled += gap
	if len(r.Stalls) < maxStalls {
		r.Stalls = append(r.Stalls, Stall{t, gap})
	}
}
