package drive

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Part runs some of a fabric's machines on the wall clock, while others run the
// rest: a process of its own for each machine, or for a switch and its endpoints.
//
// A frame from another process is not known before its datagram is here. In Exact order
// nothing is done that may come after one. Otherwise, as a process that waits is asleep, and
// waking it takes tens of microseconds, a frame can come when its machine has done something
// later already: it is overtaken. It is then handed over at once, and counted (the look-ahead,
// the least latency of the model times the dilation, is what protects the order). Among
// machines of one part the order is exact.
type Part struct {
	// Dilation is the wall time that a model time takes.
	Dilation int64
	// Epoch is the instant of model time 0, on the clock of Monotonic. All parts of a
	// run have the same.
	Epoch int64
	// Links holds the two ends of each wire of the fabric; those that are not at a
	// machine of this part are nil.
	Links [][2]link.Link
	// RealTime puts the thread of the loop into the class SCHED_FIFO, where that is
	// allowed.
	RealTime bool
	// Actual tells the machines the measured time, as in Wall.
	Actual bool
	// Longest is the duration of the longest data frame on each wire: T.
	Longest []unit.Duration
	// Idle, if not nil, is called before the part goes to sleep: what it reports can
	// be sent then.
	Idle func(now unit.Time) error
	// From is when this part begins: 0, or the instant at which its machine is restarted.
	// Incarnation is how often that has happened before.
	From        unit.Time
	Incarnation uint16
	// Watch, if not nil, is told what waits in the machines of the part at each instant of the
	// fabric's Watch.
	Watch func(Waits) error
	// Settle, if not nil, is called at the end of the run. It returns when all parts
	// have come to theirs: what has not arrived then is lost.
	Settle func() error

	// Exact, if not nil, keeps the order exact. It goes with ideal times.
	Exact *Exact

	// Clock and Poller are what simulations have in place of Monotonic and link.NewPoller;
	// nil otherwise.
	Clock  func() int64
	Poller func(ends []link.File) Poller
}

// ErrOver is the cause (context.Cause) by which a Part ends before its time although nothing is
// wrong: nothing else can happen in the fabric.
var ErrOver = errors.New("drive: nothing else can happen")

// Poller waits for datagrams, as a link.Poller does.
type Poller interface {
	Wait(ns int64, came func(i int)) error
}

// Traffic is how many datagrams a path has carried, as one of its ends saw it. What a
// process has counted is lost when it is killed for a restart, so each end counts from
// the last restart of either: a frame that started before it does not count.
type Traffic struct {
	Path int   // 2*wire + which end sends
	Sent int64 // by the sender; -1: it is elsewhere
	Came int64 // at the receiver; -1: it is elsewhere
}

// partRun is a run of some machines.
type partRun struct {
	*wallRun
	part   *Part
	told   []unit.Time // by machine: the last time that it was told
	last   []Place     // and the last place of the events that it has done then
	poller Poller
	polled []int32   // the path that comes by each end of the poller
	ends   []end     // by path
	exact  *exactRun // nil: frames can be overtaken
	came   bool      // something, while it slept
	failed error
}

// end is what a part knows of a path of which it has one end.
type end struct {
	seq        uint32    // of the next datagram
	sender     uint16    // incarnation of the process that sends, where that is another
	known      bool      // sender and seq are
	since      unit.Time // of the last restart of a machine at either end: sent and came count from there
	sent, came int64
}

// Run runs the machines for which here is true to the end of f, or until ctx is
// done; it then returns the error of ctx beside what was measured. The machines of
// f that are elsewhere are nil.
func (p *Part) Run(ctx context.Context, f *Fabric) (*Timing, []Traffic, error) {
	w := &Wall{Dilation: p.Dilation, Links: p.Links, Actual: p.Actual, Longest: p.Longest, Clock: p.Clock}
	if w.Clock == nil {
		w.Clock = Monotonic()
	}
	if err := w.check(f); err != nil {
		return nil, nil, err
	}
	// The thread keeps to itself, so that the kernel's least slack holds for its sleep.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	shortenSlack()
	if p.RealTime {
		defer raiseThread()()
	}

	r, err := p.newRun(w, f)
	if err != nil {
		return nil, nil, err
	}
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	err = r.loop()
	over := errors.Is(err, errStopped) && context.Cause(ctx) == ErrOver
	switch {
	case over:
		err = nil
	case errors.Is(err, errStopped):
		err = ctx.Err()
	}
	r.now = r.clock()
	ended := err == nil
	if ended && p.Settle != nil {
		err = p.Settle()
	}
	return r.Timing, r.stock(ended && !over), err
}

// newRun returns the run of the machines that are here, before it has begun.
func (p *Part) newRun(w *Wall, f *Fabric) (*partRun, error) {
	fabric := *f
	fabric.Changes = nil
	var numbers []int
	for i, c := range f.Changes {
		lasts := c.Event.Kind == port.RateChange || c.Event.Kind == port.RoutesChange
		if f.Machines[c.Machine] != nil && (c.At >= p.From || lasts) {
			c.At = max(c.At, p.From) // a machine that is restarted is told again what holds since before
			fabric.Changes, numbers = append(fabric.Changes, c), append(numbers, i)
		}
	}
	if p.Watch == nil {
		fabric.Watch = nil
	}
	o, err := newOrder(&fabric, f.Machines, false)
	if err != nil {
		return nil, err
	}
	o.numbers = numbers
	r := &partRun{
		wallRun: w.newRun(f, o), part: p,
		told: make([]unit.Time, len(f.Machines)), last: make([]Place, len(f.Machines)), ends: make([]end, len(o.paths)),
	}
	r.epoch = p.Epoch
	o.carry = r.carry
	o.overtaken.told, o.overtaken.blind = r.told, make([]blind, len(o.paths))
	for m, machine := range f.Machines {
		if machine != nil && p.From > 0 {
			r.told[m] = p.From
			o.agenda.Set(o.machineSlot(m), max(p.From, machine.Deadline()))
		}
	}
	if w := o.watcher; w != nil {
		for w.next < p.From {
			w.next = w.after(w.next)
		}
		o.agenda.Set(o.watchSlot(), w.next)
	}
	for i := range r.ends {
		r.ends[i].known, r.ends[i].since = p.From == 0, restarted(f, &r.paths[i])
	}
	if p.Exact != nil {
		if err := r.exactly(*p.Exact); err != nil {
			return nil, err
		}
	}
	return r, r.join()
}

// join finds the ends to wait for.
func (r *partRun) join() error {
	var files []link.File
	for i := range r.paths {
		p, send, recv := &r.paths[i], r.routes[i].send, r.routes[i].recv
		if (send != nil) != r.here(r.from(p).Machine) || (recv != nil) != r.here(int(p.machine)) {
			return fmt.Errorf("%s: the ends that are open are not those of the machines that are here", r.name(p))
		}
		if recv == nil || send != nil {
			continue
		}
		file, ok := recv.(link.File)
		if !ok {
			return fmt.Errorf("%s: a link between processes has a file descriptor, this one has none", r.name(p))
		}
		files, r.polled = append(files, file), append(r.polled, int32(i))
	}
	if r.exact != nil {
		files = append(files, r.exact.Promises)
	}
	r.poller = link.NewPoller(files)
	if r.part.Poller != nil {
		r.poller = r.part.Poller(files)
	}
	return nil
}

// restarted returns when a machine at either end of a path is restarted for the last time.
func restarted(f *Fabric, p *path) (at unit.Time) {
	for _, c := range f.Changes {
		if ends := &f.Wires[p.number/2]; c.Event.Kind == port.Restart && (c.Machine == ends[0].Machine || c.Machine == ends[1].Machine) {
			at = max(at, c.At)
		}
	}
	return at
}

// here reports whether this part has a machine.
func (r *partRun) here(m int) bool { return r.seats[m].Machine != nil }

// loop does event after event, and sleeps between them.
func (r *partRun) loop() error {
	end := r.fabric.End
	r.now = r.clock()
	var looked unit.Time = -1
	for {
		if r.stop.Load() {
			return errStopped
		}
		slot, t := r.agenda.First()
		at := min(t, end)
		target := r.epoch + Dilate(at, r.part.Dilation)
		r.look(at, 0)
		if r.now < target || at > looked {
			// At each instant it looks first what has come: that may be earlier.
			looked = at
			if err := r.wait(target, at); err != nil {
				return err
			}
			if r.now < target {
				looked = -1
				continue
			}
			if first, due := r.agenda.First(); first != slot || due != t {
				continue
			}
		}
		if r.exact != nil {
			if t >= end {
				slot = -1
			}
			if !r.may(slot, at) {
				if err := r.hold(slot, at); err != nil {
					return err
				}
				looked = -1
				continue
			}
			if r.exact.events++; r.exact.events > stateEvery || t >= end {
				r.exact.changed = true
				if err := r.state(slot, at, t >= end); err != nil {
					return err
				}
			}
			r.exact.changed = true
			r.Events++
		}
		r.fabric.Progress.at(at)
		if t >= end {
			return nil
		}
		came, err := r.ready(slot, t)
		if came {
			err = r.step(slot, t)
		}
		if err != nil {
			return err
		}
	}
}

// dozeMost is how long a part sleeps at the most, in ns. Where a datagram has woken it, a
// stall is seen only as far as it is longer.
const dozeMost = 10_000_000

// wait sleeps until target or until something comes, and takes it in.
func (r *partRun) wait(target int64, t unit.Time) error {
	if err := r.read(t, target); err != nil {
		return err
	}
	left := target - r.now
	if left > 0 && r.part.Idle != nil {
		if err := r.part.Idle(t); err != nil {
			return err
		}
		r.look(t, 0) // it waits for a conductor that is slow
		left = target - r.now
	}
	if left > 0 && r.exact != nil {
		slot, first := r.agenda.First()
		if first >= r.fabric.End {
			slot = -1
		}
		if err := r.state(slot, t, false); err != nil {
			return err
		}
	}
	r.came = false
	most := max(0, min(left, dozeMost))
	err := r.doze(most)
	came := r.came
	r.look(t, r.now+most)
	if late := r.now - target; left > 0 && !came && late >= 0 {
		// What a loop that only waits would have: how often it wakes too late.
		r.Spun++
		if late > r.floor {
			r.SpunLate++
		}
	}
	return err
}

// doze sleeps for so many ns at the most, or until something comes, and takes it in.
func (r *partRun) doze(ns int64) error {
	err := r.poller.Wait(ns, func(i int) {
		r.came = true
		switch {
		case r.failed != nil:
		case i == len(r.polled):
			r.failed = r.hear()
		default:
			r.failed = r.readPath(int(r.polled[i]))
		}
	})
	return errors.Join(err, r.failed)
}

// readPath reads the datagrams that have come by a path from elsewhere.
func (r *partRun) readPath(slot int) error {
	route, p, e := &r.routes[slot], &r.paths[slot], &r.ends[slot]
	for {
		n, err := r.receive(route, p)
		if n == 0 || err != nil {
			return err
		}
		t, a, body, err := r.fabric.decodeAny(r.in[:n], p)
		if err != nil {
			r.refuse(err)
			continue
		}
		switch newer := int16(t.Incarnation - e.sender); {
		case newer < 0:
			r.Foreign++ // of a process that is no more
			continue
		case newer > 0 || !e.known:
			e.sender, e.seq = t.Incarnation, t.Seq // it began anew, or we have
		}
		e.known = true
		ahead := t.Seq - e.seq
		if ahead >= 1<<31 {
			r.Foreign++ // seen before
			continue
		}
		if r.exact != nil {
			if err := r.heed(slot, t.Due, t.Promise); err != nil {
				return err
			}
		}
		r.Lost += int64(ahead)
		e.seq = t.Seq + 1
		if t.Head >= e.since {
			e.came++
		}
		r.Received++
		f := r.push(p)
		f.due = t.Due
		r.arrive(f, a, body)
		if p.count == 1 {
			r.agenda.Set(slot, t.Due)
		}
	}
}

// carry sends a frame: to a machine of this part as Wall does, to another by its
// datagram alone.
func (r *partRun) carry(m int, tr *port.Transmission) error {
	slot := int(r.leavingBy(m, tr.Port))
	route, e := &r.routes[slot], &r.ends[slot]
	if tr.Start >= e.since {
		e.sent++
	}
	if route.recv != nil {
		return r.transmit(m, tr)
	}
	p := &r.paths[slot]
	body := r.fabric.Bodies.Of(&tr.Frame)
	r.buf = r.fabric.encodeAs(r.buf[:0], tr, body, p, r.part.Incarnation, e.seq, r.promise(slot, tr))
	e.seq++
	return r.depart(p, route, tr, body)
}

// step lets the event of a slot happen. Its machine is told the time of the event,
// or what it was told last, if that is later: the frame is overtaken then.
func (r *partRun) step(slot int, t unit.Time) error {
	if slot == r.watchSlot() {
		return r.watched(t)
	}
	var m int
	switch n := len(r.paths); {
	case slot < n:
		m = int(r.paths[slot].machine)
	case slot == n:
		m = r.fabric.Changes[r.change].Machine
	default:
		m = r.owner(slot)
	}
	now := max(t, r.told[m])
	if r.part.Actual {
		now = max(r.told[m], r.measured(t))
	}
	r.least = 0
	if now == r.told[m] {
		r.least = r.last[m]
		if slot < len(r.paths) && Place(slot) < r.last[m] && t == now {
			r.overtaken.frames++ // at the same instant, but after what comes after it
		}
	}
	last := max(r.placeOf(slot), r.least)
	r.do(slot, t, now)
	due, err := r.drain(m)
	if err != nil {
		return err
	}
	r.told[m], r.last[m] = now, last
	if due <= now && slot > r.changeSlot() {
		return stuck(m, now, due)
	}
	r.agenda.Set(r.machineSlot(m), max(due, t))
	return nil
}

// watched tells what waits in the machines at t.
func (r *partRun) watched(t unit.Time) error {
	w := r.watcher
	r.order.now = t
	told := Waits{At: t, Carried: r.carried, Expects: r.fabric.expects(t), Frames: w.collect(t)}
	w.next = w.after(t)
	r.agenda.Set(r.watchSlot(), w.next)
	return r.part.Watch(told)
}

// stock reads what has come since, and counts. What was due in a run that has ended was
// overtaken by its end.
func (r *partRun) stock(ended bool) []Traffic {
	for _, slot := range r.polled {
		if err := r.readPath(int(slot)); err != nil {
			break // the other end is gone; what it has sent shows in its own count
		}
		p, end := &r.paths[slot], r.fabric.End
		for ended && p.count > 0 && r.at(p, 0).due < end {
			r.told[p.machine] = end
			r.overtaken.note(int(p.machine), int(slot), r.routes[slot].wire, r.pop(p, int(slot)).due, end)
		}
	}
	r.close()
	r.wall.stockOf(r.Timing)
	var traffic []Traffic
	for i := range r.paths {
		t := Traffic{int(r.paths[i].number), -1, -1}
		if r.routes[i].send != nil {
			t.Sent = r.ends[i].sent
		}
		if r.routes[i].recv != nil {
			t.Came = r.ends[i].came
			if r.routes[i].send != nil {
				t.Came = t.Sent - int64(r.routes[i].pending)
			}
		}
		if t.Sent >= 0 || t.Came >= 0 {
			traffic = append(traffic, t)
		}
	}
	return traffic
}
