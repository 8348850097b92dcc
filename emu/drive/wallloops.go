package drive

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// sharedWall is a run of several loops on the wall clock. Each sends and reads the datagrams of
// its machines. A frame for a machine of another loop is told to that loop in memory before its
// datagram leaves, so that it knows what it has to wait for; and each loop tells the others the
// first instant at which it may do anything. A loop does an event when nothing can come any more
// that belongs before it.
//
// It tells of what an event has sent, and how far it is by then, before the datagrams leave: they
// cost ten times as much as the event, and leave from several processors at a time.
type sharedWall struct {
	fabric  *Fabric
	orders  []*order // by loop
	loops   []*wallLoop
	ahead   [][]unit.Duration // by loop and loop: the shortest time in which what one does reaches the other; unit.Never: it does not
	barrier *barrier
	watcher *watcher // nil: nobody looks for deadlock
	stop    atomic.Bool

	// What all agree on when they have met:
	meets unit.Time // before this instant they meet again
	over  bool
	err   error

	_     [64]byte
	begun atomic.Int64 // so many frames have been told, or are being told, to other loops
	_     [56]byte
	ended atomic.Int64 // so many have been
	_     [56]byte
}

// wallLoop is one loop of several.
type wallLoop struct {
	*wallRun
	run   *sharedWall
	id    int
	queue []leaving // what the last event has sent
	sent  []uint32  // by path: frames that were sent to another loop
	bound unit.Time // nothing comes from others that is due before
	_     [64]byte
	first atomic.Int64 // of this loop's events, and of what was told to it, the first instant
	_     [56]byte
	owes  atomic.Bool // datagrams of which others know have not left yet
	_     [60]byte
	some  atomic.Bool // something is in told
	mu    sync.Mutex
	told  []crossing // by other loops
	taken []crossing // memory for told
	_     [64]byte
}

// leaving is a frame that is to leave as a datagram.
type leaving struct {
	slot int
	seq  uint32
	sent port.Transmission
}

// runLoops is Run of a fabric whose machines several loops share.
func (w *Wall) runLoops(ctx context.Context, f *Fabric, machines []Machine) (*Timing, error) {
	orders, err := split(f, machines, false)
	if err != nil {
		return nil, err
	}
	r := &sharedWall{fabric: f, orders: orders, ahead: f.Loops.between(f), barrier: newBarrier(len(orders)), watcher: newWatcher(f)}
	clock := w.Clock
	if clock == nil {
		clock = monotonic()
	}
	for k, o := range orders {
		l := &wallLoop{wallRun: w.newRun(f, o), run: r, id: k, sent: make([]uint32, len(o.paths))}
		l.wallRun.share, l.wallRun.clock = l, clock
		o.carry = l.carry
		r.loops = append(r.loops, l)
	}
	r.meet(0)
	if w.Epoch != nil {
		w.Epoch()
	}
	epoch := clock()
	defer context.AfterFunc(ctx, r.end)()
	var all sync.WaitGroup
	for _, l := range r.loops {
		l.epoch, l.now = epoch, epoch
		all.Go(func() {
			if err := l.loop(); err != nil {
				r.fail(err)
			}
		})
	}
	all.Wait()
	if r.err != nil {
		r.leave()
	}
	for _, l := range r.loops {
		l.takeIn()
		l.close()
		if l.id > 0 {
			r.loops[0].Timing.Merge(l.Timing)
		}
	}
	t := r.loops[0].Timing
	w.stockOf(t)
	if errors.Is(r.err, errStopped) {
		r.err = ctx.Err()
	}
	return t, r.err
}

// leave ends a run that was stopped: what was reported up to then counts.
func (r *sharedWall) leave() {
	reached := unit.Time(0)
	for _, l := range r.loops {
		reached = max(reached, l.order.now)
	}
	r.fabric.Progress.at(reached)
	if r.fabric.Loops.Meet != nil {
		r.fabric.Loops.Meet.Meet(reached)
	}
}

// end has all loops stop.
func (r *sharedWall) end() {
	for _, l := range r.loops {
		l.stop.Store(true)
	}
	r.stop.Store(true)
}

// fail ends the run with an error. Any other takes the place of errStopped.
func (r *sharedWall) fail(err error) {
	r.loops[0].mu.Lock()
	if r.err == nil || errors.Is(r.err, errStopped) {
		r.err = err
	}
	r.loops[0].mu.Unlock()
	r.end()
}

// loop does event after event.
func (l *wallLoop) loop() error {
	r, end := l.run, l.fabric.End
	for waited := 0; ; {
		if l.stop.Load() {
			return errStopped
		}
		if err := l.depart(); err != nil {
			return err
		}
		slot, t := l.tell()
		at := min(t, r.meets)
		target := l.epoch + Dilate(at, l.wall.Dilation)
		l.look(at, 0)
		if l.now < target {
			if err := l.idle(at, target); err != nil {
				return err
			}
			continue
		}
		if !l.safe(at) {
			if waited++; len(l.unread) > 0 { // it reads meanwhile what has come
				last := len(l.unread) - 1
				slot, l.unread = int(l.unread[last]), l.unread[:last]
				l.routes[slot].unread = false
				if err := l.collect(slot); err != nil {
					return err
				}
			} else if waited > r.barrier.patient {
				runtime.Gosched()
			}
			continue
		}
		waited = 0
		if t >= r.meets {
			if r.assemble(l); r.over {
				return nil
			}
			continue
		}
		if l.id == 0 {
			l.fabric.Progress.at(min(t, end))
		}
		came, err := l.ready(slot, t)
		if came {
			err = l.step(slot, t)
		}
		if err != nil {
			return err
		}
		l.tell() // before the datagrams leave: loops that wait for this one can go on
	}
}

// idle uses a moment before target: it reads, or looks at the clock.
func (l *wallLoop) idle(at unit.Time, target int64) error {
	if len(l.unread) > 0 {
		return l.read(at, target)
	}
	began := l.now
	if target-l.now > sleepRoom && !l.wall.Loop.NeverSleep && l.safe(at+1) { // no other loop can have it do anything before
		err := l.sleep(at, target)
		l.Slept += l.now - began
		return err
	}
	if l.run.barrier.patient == 0 {
		runtime.Gosched()
	} else {
		l.yield(target)
	}
	l.spin(at)
	l.Spun += l.now - began
	return nil
}

// tell takes in what others have told, tells them how far this loop is, and returns what comes
// next here.
func (l *wallLoop) tell() (slot int, t unit.Time) {
	for {
		before := l.first.Load()
		l.takeIn()
		slot, t = l.agenda.First()
		if int64(t) == before || l.first.CompareAndSwap(before, int64(t)) {
			return slot, t
		}
	}
}

// safe reports whether nothing can come from other loops that is due before an event at t, or at
// the same instant. What can come in between is taken in before it says so.
func (l *wallLoop) safe(t unit.Time) bool {
	if t < l.bound {
		return true
	}
	r := l.run
	begun := r.begun.Load()
	if r.ended.Load() != begun {
		return false // something is on its way
	}
	bound := unit.Never
	for _, other := range r.loops {
		if reach := r.ahead[other.id][l.id]; other != l && reach != unit.Duration(unit.Never) {
			bound = min(bound, min(unit.Time(other.first.Load()), r.fabric.End).Add(reach))
		}
	}
	if r.begun.Load() != begun {
		return false
	}
	l.bound = bound
	if l.some.Load() {
		return false // look again, with that
	}
	return t < bound
}

// carry notes what is to leave, and tells the loop of its destination.
func (l *wallLoop) carry(m int, t *port.Transmission) error {
	slot := int(l.leavingBy(m, t.Port))
	to := l.fabric.Loops.Of[l.paths[slot].machine]
	if to == l.id {
		p, _ := l.send(&l.seats[m], t)
		l.queue = append(l.queue, leaving{slot, p.seq + uint32(p.count) - 1, *t})
		return nil
	}
	l.queue = append(l.queue, leaving{slot, l.sent[slot], *t})
	l.sent[slot]++
	l.owes.Store(true)
	due := max(t.Due, l.order.now)
	if back := l.run.ahead[to][l.id]; back != unit.Duration(unit.Never) {
		l.bound = min(l.bound, due.Add(back)) // what comes of it there can come back here
	}
	l.run.loops[to].hear(crossing{slot: int32(slot), due: due})
	return nil
}

// hear takes what another loop tells. It is called by that loop.
func (l *wallLoop) hear(c crossing) {
	l.run.begun.Add(1)
	l.mu.Lock()
	l.told = append(l.told, c)
	l.some.Store(true)
	l.mu.Unlock()
	for {
		first := l.first.Load()
		if first <= int64(c.due) || l.first.CompareAndSwap(first, int64(c.due)) {
			break
		}
	}
	l.run.ended.Add(1)
}

// takeIn puts what other loops have told under way.
func (l *wallLoop) takeIn() {
	if !l.some.Load() {
		return
	}
	l.mu.Lock()
	l.told, l.taken = l.taken[:0], l.told
	l.some.Store(false)
	l.mu.Unlock()
	for _, c := range l.taken {
		p, route := &l.paths[c.slot], &l.routes[c.slot]
		l.push(p).due = c.due
		if p.count == 1 {
			l.agenda.Set(int(c.slot), c.due)
		}
		route.pending++
		if !route.unread {
			route.unread = true
			l.unread = append(l.unread, c.slot)
		}
	}
}

// unsent reports whether another loop has datagrams to send of which it has told.
func (l *wallLoop) unsent() bool {
	for _, other := range l.run.loops {
		if other != l && other.owes.Load() {
			return true
		}
	}
	return false
}

// depart sends what the last event has left to send.
func (l *wallLoop) depart() error {
	for i := range l.queue {
		q := &l.queue[i]
		p, route := &l.paths[q.slot], &l.routes[q.slot]
		l.buf = l.fabric.encode(l.buf[:0], &q.sent, wire.Body{}, p, q.seq)
		if err := l.wallRun.depart(p, route, &q.sent, wire.Body{}); err != nil {
			return err
		}
		if l.fabric.Loops.Of[p.machine] == l.id {
			if err := l.sentTo(q.slot); err != nil {
				return err
			}
		}
	}
	if len(l.queue) > 0 {
		l.queue = l.queue[:0]
		l.owes.Store(false)
	}
	return nil
}

// assemble waits for all loops to come to the instant at which they meet. It does nothing when
// the run is stopped meanwhile.
func (r *sharedWall) assemble(l *wallLoop) {
	if !r.barrier.waitOr(&r.stop) {
		return
	}
	if l.id == 0 {
		r.meet(r.meets)
	}
	r.barrier.waitOr(&r.stop)
	l.bound = 0
}

// meet is what one loop does for all, while the others wait: all events before an instant are
// done, and of those at it or later none.
func (r *sharedWall) meet(at unit.Time) {
	next := unit.Never
	for r.watcher != nil && r.watcher.next < min(at, r.fabric.End) && !r.over && r.err == nil {
		r.over, r.err = r.watcher.seeAll(r.orders)
	}
	for _, l := range r.loops {
		l.takeIn()
		_, t := l.agenda.First()
		l.first.Store(int64(t))
		next = min(next, t)
	}
	r.meets = r.fabric.End
	if meeting := r.fabric.Loops.Meet; meeting != nil {
		meeting.Meet(min(next, max(at, 0)))
		r.meets = min(r.meets, meeting.Edge())
	}
	if r.watcher != nil && r.watcher.next < r.fabric.End {
		r.meets = min(r.meets, r.watcher.next+1)
	}
	r.over = r.over || r.err != nil || at >= r.fabric.End && next >= r.fabric.End
	if r.over {
		r.fabric.Progress.at(r.fabric.End)
	}
}
