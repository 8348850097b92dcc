package drive

import (
	"context"
	"math"
	"sync"

	"fabemu/emu/base/errs"
	"fabemu/emu/run/deadlock"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// virtualRun is a run of several loops on the virtual clock. Again and again all of them do
// the events before a horizon: the first of all their events, and the shortest time from a
// loop to another one after it. Frames from loop to loop meanwhile are due at the horizon
// or later; the receiver takes them in when all have come that far.
type virtualRun struct {
	fabric  *Setup
	ctx     context.Context
	loops   []*virtualLoop
	ahead   unit.Duration // the shortest time from a transmission to its due time in another loop
	reached [2][]reached  // in the windows of even and odd number, by loop
	barrier *barrier
	watcher *deadlock.Detector // nil: deadlock is not looked for

	// Agreed on when all loops have met:
	edge unit.Time // before which they meet again
	look unit.Time // when to look for deadlock, after all else of that instant; unit.Never: not at all
	next unit.Time // the first event of all
	over bool
	err  error
}

// reached is how far a loop has come in a window, for the others to see.
type reached struct {
	next  unit.Time // its next event, or of the frames that it has sent to others
	meets bool      // it wants to meet
	_     [48]byte
}

// virtualLoop is one loop of several.
type virtualLoop struct {
	*order
	run     *virtualRun
	id      int
	windows int
	codec   *codec          // nil: frames are handed over as values
	out     [2][][]crossing // in the windows of even and odd number, by loop: the frames for it
	odd     int             // 1 in the windows of odd number
	least   unit.Time       // the first due time of the frames that were sent in this window
	sent    []uint32        // by path: frames that were sent to another loop
	err     error
	_       [64]byte
}

// meetEvery is the number of windows after which the loops meet at the latest. They learn there that
// they are to stop, and report how far they are.
const meetEvery = 1 << 10

// runLoops does what Run does, for a fabric whose nodes are divided among several loops.
func (v Virtual) runLoops(ctx context.Context, f *Setup) (hops int64, err error) {
	orders, err := split(f)
	if err != nil {
		return 0, err
	}
	n := len(orders)
	watcher := deadlock.New(f.Watch, f.Nodes, f.Wires, f.End, f.LastChange())
	r := &virtualRun{fabric: f, ctx: ctx, ahead: f.Loops.ahead(f), barrier: newBarrier(n), watcher: watcher}
	for i := range r.reached {
		r.reached[i] = make([]reached, n)
	}
	for k, o := range orders {
		l := &virtualLoop{order: o, run: r, id: k, least: unit.Never}
		for i := range l.out {
			l.out[i] = make([][]crossing, n)
		}
		if !v.SkipCodec {
			l.codec = &codec{order: o, buf: make([]byte, 0, MaxDatagram)}
			l.sent = make([]uint32, len(o.paths))
		}
		o.carry = l.carry
		r.loops = append(r.loops, l)
	}
	r.meet()
	var others sync.WaitGroup
	for _, l := range r.loops[1:] {
		others.Go(l.runAll)
	}
	r.loops[0].runAll()
	others.Wait()
	for _, l := range r.loops {
		hops += l.hops
	}
	return hops, r.err
}

// open ends a window and begins the next: the loops take in one another's frames, and meet
// if there is a reason to.
func (l *virtualLoop) open() (until unit.Time, most int, err error) {
	r, next := l.run, l.run.next
	if l.windows > 0 {
		var meets bool
		if next, meets = l.exchange(); meets || next > r.look || next >= min(r.edge, r.fabric.End) {
			r.barrier.wait()
			if l.id == 0 {
				r.meet()
			}
			r.barrier.wait()
			next = r.next
		}
	}
	if l.windows++; r.over {
		return 0, 0, errOver
	}
	horizon := min(next.Add(r.ahead), r.edge, r.fabric.End)
	if r.look < r.fabric.End {
		horizon = min(horizon, r.look+1)
	}
	return horizon, math.MaxInt, nil
}

// exchange takes in the frames between loops of a window, and returns the first event of
// all, and whether one of them wants to meet.
func (l *virtualLoop) exchange() (next unit.Time, meets bool) {
	r := l.run
	_, mine := l.order.next()
	full := l.err != nil || l.windows%meetEvery == 0 || r.fabric.Loops.Meet != nil && r.fabric.Loops.Meet.Full(l.id)
	r.reached[l.odd][l.id] = reached{next: min(mine, l.least), meets: full}
	r.barrier.wait()
	next = unit.Never
	for i := range r.reached[l.odd] {
		next = min(next, r.reached[l.odd][i].next)
		meets = meets || r.reached[l.odd][i].meets
	}
	l.takeIn()
	l.odd, l.least = 1-l.odd, unit.Never
	for to := range l.out[l.odd] { // its frames were taken in before the barrier
		l.out[l.odd][to] = l.out[l.odd][to][:0]
	}
	return next, meets
}

// runAll does window after window until all loops end. One that fails takes part until they do, since the
// others wait for it.
func (l *virtualLoop) runAll() {
	for err := l.some(); err != nil; err = l.some() {
		l.err = err
	}
}

// some does windows until the end or an error. A panic is an error.
func (l *virtualLoop) some() (err error) {
	defer errs.Into(&err)
	return l.order.loop(l)
}

// takeIn takes in the frames that all loops have sent to this one.
func (l *virtualLoop) takeIn() {
	defer errs.Into(&l.err)
	for _, from := range l.run.loops {
		list := from.out[l.odd][l.id]
		for i := range list {
			c := &list[i]
			p := &l.paths[c.slot]
			f := l.push(p)
			f.arrival = c.arrival
			l.expect(c.slot, p, f, c.due)
		}
	}
}

// carry hands a frame over: to a node of this loop, or to another loop.
func (l *virtualLoop) carry(from *slotted, t *port.Transmission) error {
	slot := l.leaving[int(from.first)+int(t.Port)]
	to := l.fabric.Loops.Of[l.paths[slot].node]
	switch {
	case to == l.id && l.codec == nil:
		l.handOver(from, t)
		return nil
	case to == l.id:
		return l.codec.carry(from, t)
	}
	out := &l.out[l.odd][to]
	*out = append(*out, crossing{slot: slot, due: t.Due})
	c := &(*out)[len(*out)-1]
	l.least = min(l.least, t.Due)
	if l.codec == nil {
		c.arrival = port.Arrival{Frame: t.Frame, Head: t.Start, Tail: t.Start.Add(t.Duration), Length: t.Length,
			Preamble: t.Preamble}
		return nil
	}
	seq := l.sent[slot]
	l.sent[slot]++
	l.codec.buf = l.fabric.encode(l.codec.buf[:0], t, wire.Body{}, &l.paths[slot], seq, t.Due)
	_, err := l.survive(slot, l.codec.buf, seq, &c.arrival)
	return err
}

// meet is done by one loop for all, while the others wait: it looks for deadlock, and finds
// out where they continue.
func (r *virtualRun) meet() {
	for _, l := range r.loops {
		if l.err != nil && r.err == nil {
			r.err, r.over = l.err, true
		}
	}
	r.first()
	for r.watcher != nil && r.watcher.Next() < min(r.next, r.fabric.End) && r.err == nil && !r.over {
		r.over, r.err = r.lookAll()
		r.first()
	}
	if r.look = unit.Never; r.watcher != nil {
		r.look = r.watcher.Next()
	}
	r.over = r.over || r.next >= r.fabric.End
	if !r.over && r.err == nil && r.ctx.Err() != nil {
		r.err = r.ctx.Err()
		interrupt(r.fabric, max(r.next-1, 0), func(m int) *order { return r.loops[r.fabric.Loops.Of[m]].order })
	}
	r.edge = unit.Never
	if meeting := r.fabric.Loops.Meet; meeting != nil {
		meeting.Meet(min(r.next, r.fabric.End))
		r.edge = meeting.Edge()
	}
	if r.over && r.err == nil {
		r.fabric.Progress.Reach(r.fabric.End)
		return
	}
	r.fabric.Progress.Reach(min(r.next, r.fabric.End))
	r.over = r.err != nil
}

// lookAll looks for deadlock at the next instant of the watch, before which all loops have done everything.
func (r *virtualRun) lookAll() (over bool, err error) {
	carried := int64(0)
	for _, l := range r.loops {
		l.now = r.watcher.Next()
		carried += l.carried
	}
	return see(r.watcher, carried, func(m int) *order { return r.loops[r.fabric.Loops.Of[m]].order })
}

// first finds the first event of all loops.
func (r *virtualRun) first() {
	r.next = unit.Never
	for _, l := range r.loops {
		_, t := l.order.next()
		r.next = min(r.next, t)
	}
}
