package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"fabemu/emu/run/pace"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Wall runs a fabric on the wall clock, over real links. Each node has its own goroutine (see
// coroutine), but while the loop is late; one loop does the events in their order. The frames leave
// at their instants. The events themselves happen up to the shortest T earlier, so that a frame
// that leaves waits for no node.
type Wall struct {
	// Dilation is the wall time that a model time takes: a whole factor, at least 1.
	Dilation int64
	// Links holds the two ends of each wire of the fabric, in the order of the wire's ends.
	Links [][2]link.Link
	// Trunk, if not nil, carries the frames of all wires instead of Links: its two ends are where
	// frames enter and where they come out.
	Trunk *[2]link.Batch
	// Measured, if not nil, shows the wall clock to endpoints. The loop then does not run ahead.
	Measured *Measured
	// Longest is the duration of the longest data frame on each wire: T.
	Longest []unit.Duration
	// Epoch, if not nil, is called when the run starts.
	Epoch func()
	// Fixed never holds the run clock, for programs that read their own clocks.
	Fixed bool
	// Clock is the clock to follow: nanoseconds since some instant. Nil is the monotonic clock of
	// the system; tests use other clocks, which jump; without Outside the loop then never sleeps.
	Clock func() int64

	system bool // Clock is the clock of the system
}

// wallRun is a run of the wall driver, and its gate.
type wallRun struct {
	*sockets
	sleeps        bool  // while the next instant is distant
	ahead         int64 // wall time by which an event may come before its instant
	gather        int64 // wall time by which a frame may leave late to leave in a train
	fresh         bool  // the clock was read just now
	yielded       int64 // when the loop last gave way
	looked, found int64 // when it last looked outside; when something had come from there

	knocked  int64 // since when a visitor waits; 0: none does
	visited  int64 // how long the last visit took
	visiting Visit // lent to the visitor
	share    *pace.Share
}

// The loop reads the clock between two events, and does this much, in ns, without looking at it:
const (
	eventCost  = 1_000 // an event and its frames, about
	gatherMost = 2_500 // how long a train waits at most for frames that are due soon: about half a call
	// trainFull is how many frames a late loop gathers before it sends. The later it is, the more
	// it gathers, up to the most.
	trainFull = 16
)

// Run runs f to its end, or until ctx is done; it then returns the error of ctx in addition to the
// record so far. A link that fails ends the run.
func (w *Wall) Run(ctx context.Context, f *Setup) (*pace.Record, error) {
	run := *w
	if err := run.check(f); err != nil {
		return nil, err
	}
	o, err := newOrder(f, true)
	if err != nil {
		return nil, err
	}
	r := &wallRun{sockets: run.newSockets(o), sleeps: w.Clock == nil || f.Outside != nil}
	for m := range o.nodes {
		defer o.start(&o.nodes[m], &r.behind)()
	}
	o.carry = r.carry
	if f.Tap == nil && f.Outside == nil && w.Measured == nil {
		r.ahead = 20 * r.floor // the shortest T
	}
	r.gather = min(3*r.floor/4, gatherMost)
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	if w.Epoch != nil {
		w.Epoch()
	}
	r.now = r.clock()
	r.start(r.now, !w.Fixed, nil, w.Measured)
	r.share = pace.NewShare(r.now, pace.WaitedForCPU)
	whole := false
	defer func() { // after a panic, too
		if !whole {
			f.Progress.Reach(o.now) // what has happened since the last report counts
		}
	}()
	switch err = o.loop(r); err {
	case errOver:
		whole = true
		if err = r.finish(); err == errStopped {
			err = ctx.Err()
		}
	case errStopped:
		err = cmp.Or(o.cut(min(r.at(r.now), f.End)), ctx.Err())
	}
	r.ended()
	r.settle()
	run.stockOf(r.Record)
	return r.Record, err
}

// check refuses a fabric that w cannot run, and sets the clock.
func (w *Wall) check(f *Setup) error {
	if w.Dilation < 1 {
		return fmt.Errorf("dilation %d: it must be at least 1", w.Dilation)
	}
	if len(w.Longest) != len(f.Wires) || w.Trunk == nil && len(w.Links) != len(f.Wires) {
		return fmt.Errorf("%d links for %d wires", len(w.Links), len(f.Wires))
	}
	if w.Clock == nil {
		w.Clock, w.system = pace.Monotonic(), true
	}
	return nil
}

var errOffered = errors.New("drive: something arrived from outside")

// open sends the frames whose instant has come, and returns when the next event may happen.
func (r *wallRun) open() (until unit.Time, most int, err error) {
	end := r.fabric.End
	for {
		slot, t := r.next()
		at := min(t, end)
		if !r.fresh {
			r.look(0)
		}
		r.fresh = false
		due := min(r.first(), r.wallOf(at))
		r.leave(r.now - due)
		if r.keep(r.now, due) && r.first() <= r.now {
			if err := r.depart(r.now); err != nil { // a frame that the hold was for waits for no train
				return 0, 0, err
			}
			continue
		}
		target := r.wallOf(at)
		if r.stop.Load() {
			return 0, 0, errStopped
		}
		next := r.leaves(t < end && target <= r.now)
		if next <= r.now {
			if err := r.depart(r.now); err != nil {
				return 0, 0, err
			}
			continue
		}
		if err := r.letIn(at, target); err == errOffered {
			continue
		} else if err != nil {
			return 0, 0, err
		}
		switch {
		case r.now < target-r.ahead || t >= end && next < int64(unit.Never) || next-r.now < eventCost && next > r.now && target > r.now+2*eventCost:
			err = r.wait(min(next, target-r.ahead))
		case t >= end && r.now < target:
			err = r.wait(target)
		case r.fabric.Tap != nil && slot < len(r.paths) && r.routes[slot].waiting == r.paths[slot].count:
			err = r.depart(r.now) // a Tap sees a frame leave before it comes
		default:
			r.fabric.Progress.Reach(at)
			if t >= end {
				return 0, 0, errOver
			}
			r.elapsed = r.now - r.began
			if most = 1; r.fabric.Tap == nil {
				most = int(min(trainFull, max(1, (next-r.now)/eventCost)))
			}
			return min(end, max(t, r.at(r.now+r.ahead))+1), most, nil
		}
		if err != nil && err != errOffered {
			return 0, 0, err
		}
	}
}

// leave sleeps if the loop has had more than its share of a processor, unless its clock cannot be
// held.
func (r *wallRun) leave(late int64) {
	if r.bound == 0 || !r.sleeps {
		return
	}
	if nap := r.share.Nap(r.now, late); nap > 0 {
		time.Sleep(time.Duration(nap))
		r.look(0)
	}
}

// finish lets the frames leave whose instants are still to come, where a deadlock has ended the
// run.
func (r *wallRun) finish() error {
	for {
		r.look(0)
		r.keep(r.now, r.first())
		target := r.wallOf(min(r.order.now, r.fabric.End))
		if r.now >= target && r.queue.count == 0 {
			return nil
		}
		if r.stop.Load() {
			return errStopped
		}
		if err := r.depart(r.now); err != nil {
			return err
		}
		if err := r.wait(min(r.first(), max(target, r.now))); err != nil {
			return err
		}
	}
}

// leaves returns when the next train leaves. One that is in time waits for the frames that are due
// soon, and leaves with the last of them. One that is late while events are late too waits until it
// is long: a long train costs about as much as a short one. The later it is, the longer it gets.
func (r *wallRun) leaves(behind bool) int64 {
	if r.queue.count == 0 {
		return int64(unit.Never)
	}
	p := &r.parcels[r.queue.first]
	first := p.at
	late := behind && r.now-first > r.floor
	r.behind = late
	most := int64(r.most)
	full := min(max(trainFull, (r.now-first)*most/(4*trainMost*eventCost)), most)
	switch {
	case late && r.queue.count >= int(full), behind && r.queue.count >= r.most:
		return first
	case late:
		return r.now + full/4*eventCost
	case behind:
		return first + r.gather
	}
	last := first
	for left := r.queue.count; left > 0 && p.at <= first+r.gather; left-- {
		last, p = p.at, &r.parcels[p.next]
	}
	return last
}

const (
	// yieldEvery is how often, in ns, the loop yields to other goroutines: well
	// below the 10 ms after which Go's monitor forces it to, at a worse moment.
	yieldEvery = 2_000_000
	// yieldRoom is how far, in ns, the next instant must be for that.
	yieldRoom = 50_000
	// sleepRoom is how far it must be for the loop to sleep, and sleepShort how long
	// before it the loop wakes up again. A sleep ends up to 1 ms late.
	sleepRoom  = 5_000_000
	sleepShort = 2_500_000
	// sleepMost is the longest sleep at a time: a run that is to stop wakes up.
	sleepMost = 50_000_000
	// spinMost is how long, in ns, the loop spins before it looks whether there is something to
	// read.
	spinMost = 20_000
	// readRoom is how far, in ns, the next instant must be for the loop to read.
	readRoom = 5_000
	// lookEvery is how long, in ns, the loop does not look outside after it has: a look costs a
	// system call. A loop that is late looks less often, up to lookSeldom.
	lookEvery  = 5_000
	lookSeldom = 40_000
	// awake is how long, in ns, the loop does not sleep after something has come from outside.
	awake = 20_000_000
)

// wait waits until target, or for a part of that time: it reads, sleeps, gives way, or looks at the
// clock.
func (r *wallRun) wait(target int64) error {
	left := target - r.now
	if left > readRoom && len(r.unread) > 0 {
		return r.readLast()
	}
	began := r.now
	if left > sleepRoom && r.sleeps && (r.fabric.Outside == nil || r.now-r.found > awake) {
		most := min(left-sleepShort, sleepMost)
		if r.fabric.Visitor != nil {
			most = min(most, visitSleep)
		}
		if r.fabric.Outside != nil {
			r.fabric.Outside.Wait(time.Duration(most))
		} else {
			time.Sleep(time.Duration(most))
		}
		r.look(r.now + most)
		r.yielded, r.fresh = r.now, true
		r.Slept += r.now - began
		return nil
	}
	if left > yieldRoom && r.now-r.yielded > yieldEvery {
		runtime.Gosched()
		r.yielded = r.now
	}
	// The gaps between two readings of a loop that only waits are the floor of this machine.
	for alone, visitor := r.fabric.Outside == nil, r.fabric.Visitor; ; {
		next := r.clock()
		if gap := next - r.now; gap > r.floor {
			r.SpunLate += gap - r.floor
			r.gap = max(r.gap, gap)
		}
		if r.now = next; next >= target || !alone || next-began > spinMost || r.stop.Load() || visitor != nil && visitor.Wanted() {
			break
		}
	}
	r.fresh = true
	r.Spun += r.now - began
	return nil
}

// letIn looks outside, and lets a visitor in, before an event of t, for which it is time at target.
// The error is errOffered where the next event may be another one by that.
func (r *wallRun) letIn(t unit.Time, target int64) error {
	if r.fabric.Outside != nil && r.now-r.looked >= min(max(lookEvery, (r.now-target)/8), lookSeldom) {
		r.looked = r.now
		at := max(r.order.now, min(t, r.at(r.now)))
		err := r.fabric.Outside.Look(func(node int, p port.ID, c port.Change) unit.Time {
			r.found = r.now
			when := at
			if _, packet := c.(port.SendMAD); packet { // in a repetition it has its place among the events of the instant
				when = max(at, r.order.now+1)
			}
			r.insert(Change{At: when, Node: node, Port: p, Makes: c})
			return when
		})
		if err != nil || r.found == r.now {
			return cmp.Or(err, errOffered)
		}
		if min(target, r.first())-r.now > yieldRoom {
			r.fabric.Outside.Wait(0)
			r.look(0)
		}
	}
	return r.visit(t, target)
}

// stockOf adds the counts of the links.
func (w *Wall) stockOf(t *pace.Record) {
	var dropped int64
	count := func(l any) {
		if c, ok := l.(interface{ Lost() (uint32, error) }); ok {
			n, _ := c.Lost() // where the kernel does not count them, the datagrams that came back show the losses
			dropped += int64(n)
		}
		if c, ok := l.(interface{ Foreign() uint64 }); ok {
			t.Foreign += int64(c.Foreign())
		}
	}
	for _, ends := range w.Links {
		count(ends[0])
		count(ends[1])
	}
	if w.Trunk != nil {
		count(w.Trunk[0])
		count(w.Trunk[1])
	}
	t.Lost = max(t.Lost, dropped)
}
