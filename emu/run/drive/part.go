package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Part runs some of a fabric's machines on the wall clock, while others run the
// rest: a process of its own for each machine, or for a switch and its endpoints.
//
// A frame from another process is not known before its datagram is here. In Exact order
// nothing is done that may come after one. Otherwise, as a process that waits is asleep, and
// waking it takes tens of microseconds, a frame can come when its machine has done something
// later already: it is overtaken. It is then handed over at once, and counted (the look-ahead,
// the least latency of the model times the dilation, protects the order). Among
// machines of one part the order is exact.
type Part struct {
	// Dilation is the wall time that a model time takes.
	Dilation int64
	// Epoch is the instant of model time 0, on the clock of pace.Monotonic. It is the same for all parts of a run.
	Epoch int64
	// Links holds the two ends of each wire of the fabric; ends that are not at a machine of this part are nil.
	Links [][2]link.Link
	// Measured, if not nil, shows the wall clock to endpoints.
	Measured *Measured
	// Longest is the duration of the longest data frame on each wire: T.
	Longest []unit.Duration
	// Idle, if not nil, is called before the part goes to sleep, so that its events can be sent then.
	Idle func(now unit.Time) error
	// From is when this part starts: 0, or the instant at which its machine is restarted. Incarnation is how often
	// it has been restarted before.
	From        unit.Time
	Incarnation uint16
	// Watch, if not nil, receives the frames that wait in the machines of the part, at each instant of the fabric's
	// Watch.
	Watch func(deadlock.Waits) error
	// Settle, if not nil, is called at the end of the run. It returns when all parts have reached the end: a frame
	// that has not arrived by then is lost.
	Settle func() error

	// Exact, if not nil, keeps the total order of events. It requires ideal times.
	Exact *Exact
	// Turns, if not nil, decides when the part does something, where its order may be late.
	Turns lookahead.Turn

	// Clock and Poller replace pace.Monotonic and link.NewPoller in simulations; otherwise they are nil.
	Clock  func() int64
	Poller func(ends []link.File) Poller
}

// ErrOver is the cause (context.Cause) by which a Part ends early although nothing is wrong: nothing else can happen
// in the fabric.
var ErrOver = errors.New("drive: nothing else can happen")

// Poller waits for datagrams, as a link.Poller does.
type Poller interface {
	Wait(ns int64, came func(i int)) error
}

// Traffic is how many datagrams a path has carried, as one of its ends counts them. The counts of a process are lost
// when it is killed for a restart, so each end counts from the last restart of either: a frame that started before
// it does not count.
type Traffic struct {
	Path int   // 2*wire + which end sends
	Sent int64 // by the sender; -1: it is in another part
	Came int64 // at the receiver; -1: it is in another part
}

// partRun is a run of some machines.
type partRun struct {
	*sockets
	part   *Part
	poller Poller
	polled []int32      // the path that comes by each end of the poller
	in     []link.Batch // by path, where it comes from elsewhere; nil elsewhere
	ends   []end        // by path
	exact  *exactRun    // nil: frames can be overtaken
	looked unit.Time    // the last instant before which the part has looked for frames
	came   bool         // something, while it slept
	failed error
}

// end is the state of a path of which a part has one end.
type end struct {
	seq        uint32    // of the next datagram
	sender     uint16    // incarnation of the process that sends, where that is another
	known      bool      // sender and seq are
	since      unit.Time // of the last restart of a machine at either end: sent and came count from there
	sent, came int64
	stated     uint32 // on a board: how many datagrams the sender has sent

	// In exact order, of a path from elsewhere:
	promised unit.Time // no frame that has not come is due earlier
	last     unit.Time // the promise of the last trailer
	// and of a path that leads elsewhere:
	free unit.Time // when the link is idle again
	due  unit.Time // the first due time since the last report
}

// Run runs the machines of this part to the end of f, or until ctx is done; it then returns the error of ctx beside
// its measurements. The machines of f that are in other parts are nil.
func (p *Part) Run(ctx context.Context, f *Setup) (*pace.Record, []Traffic, error) {
	w := &Wall{Dilation: p.Dilation, Links: p.Links, Measured: p.Measured, Longest: p.Longest, Clock: p.Clock}
	if err := w.check(f); err != nil {
		return nil, nil, err
	}
	r, err := p.newRun(w, f)
	if err != nil {
		return nil, nil, err
	}
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	err = r.order.loop(r)
	over := errors.Is(err, errStopped) && context.Cause(ctx) == ErrOver
	if over {
		err = nil
	} else if errors.Is(err, errStopped) {
		r.order.interrupt()
		err = ctx.Err()
	}
	r.now = r.clock()
	ended := err == nil
	if ended && p.Settle != nil {
		err = p.Settle()
	}
	traffic := r.stock(ended && !over)
	w.stockOf(r.Record)
	return r.Record, traffic, err
}

// newRun returns the run of the machines that are here, before it has begun.
func (p *Part) newRun(w *Wall, f *Setup) (*partRun, error) {
	fabric := *f
	fabric.Changes = nil
	var numbers []int
	for i, c := range f.Changes {
		lasts := slices.Contains([]port.EventKind{port.RateChange, port.RoutesChange, port.BufferChange, port.WatermarksChange, port.WatchdogChange}, c.Event.Kind)
		if f.Machines[c.Machine] != nil && (c.At >= p.From || lasts) {
			c.At = max(c.At, p.From) // a machine that is restarted receives the earlier changes again
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
	r := &partRun{sockets: w.newSockets(o), part: p, in: make([]link.Batch, len(o.paths)), ends: make([]end, len(o.paths)), looked: -1}
	r.start(p.Epoch, p.Measured)
	r.now = r.clock()
	o.carry, o.report = r.carry, p.Watch
	l := &o.overtaken
	l.Record, l.packet, l.blind = r.Record, w.Longest, make([]pace.Blind, len(o.paths))
	l.now, l.last = make([]unit.Time, len(f.Machines)), make([]trace.Place, len(f.Machines))
	for m, machine := range f.Machines {
		if machine != nil && p.From > 0 {
			l.now[m] = p.From
			o.agenda.Set(o.machineSlot(m), max(p.From, machine.Deadline()))
		}
	}
	if w := o.watcher; w != nil {
		w.Skip(p.From)
		o.agenda.Set(o.watchSlot(), w.Next())
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
		p := &r.paths[i]
		send, recv := r.part.Links[p.number/2][p.number%2], r.part.Links[p.number/2][1-p.number%2]
		if (send != nil) != r.here(r.from(p).Machine) || (recv != nil) != r.here(int(p.machine)) {
			return fmt.Errorf("%s: open ends and machines here do not match", r.name(i))
		}
		if recv == nil || send != nil {
			continue
		}
		file, ok := recv.(link.File)
		if !ok {
			return fmt.Errorf("%s: a link between processes has a file descriptor, this one has none", r.name(i))
		}
		r.in[i] = link.Batched(recv, 2*MaxDatagram)
		files, r.polled = append(files, file), append(r.polled, int32(i))
	}
	if r.exact != nil && r.exact.Promises != nil {
		files = append(files, r.exact.Promises)
	}
	r.poller = link.NewPoller(files, r.part.Turns != nil)
	if r.part.Poller != nil {
		r.poller = r.part.Poller(files)
	}
	return nil
}

// restarted returns when a machine at either end of a path is restarted for the last time.
func restarted(f *Setup, p *path) (at unit.Time) {
	for _, c := range f.Changes {
		if ends := &f.Wires[p.number/2]; c.Event.Kind == port.Restart && (c.Machine == ends[0].Machine || c.Machine == ends[1].Machine) {
			at = max(at, c.At)
		}
	}
	return at
}

// here reports whether this part has a machine.
func (r *partRun) here(m int) bool { return r.seats[m].Machine != nil }

// open sleeps until the next event may happen.
func (r *partRun) open() (until unit.Time, most int, err error) {
	end := r.fabric.End
	for {
		if r.stop.Load() {
			return 0, 0, errStopped
		}
		slot, t := r.agenda.First()
		at := min(t, end)
		target := r.epoch + Dilate(at, r.factor)
		r.look(at, 0)
		if r.queue.count >= trainFull || r.fabric.Tap != nil { // a Tap sees a frame leave before the next event
			if err := r.depart(int64(unit.Never)); err != nil {
				return 0, 0, err
			}
		}
		if r.now < target || at > r.looked && r.exact == nil {
			// At each instant it first reads the frames that have come: they may be earlier. In exact order they
			// may not.
			r.looked = at
			if err := r.wait(target, at); err != nil {
				return 0, 0, err
			}
			if r.now < target || r.looked < at {
				r.looked = -1
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
				if err := r.await(slot, at); err != nil {
					return 0, 0, err
				}
				r.looked = -1
				continue
			}
			if r.exact.events++; r.exact.events > stateEvery || t >= end {
				if err := r.state(slot, at, t >= end); err != nil {
					return 0, 0, err
				}
			}
			r.exact.changed = true
			r.Events++
		}
		r.fabric.Progress.Reach(at)
		if t >= end {
			return 0, 0, cmp.Or(r.depart(int64(unit.Never)), errOver)
		}
		r.elapsed = r.now - r.epoch
		return t + 1, 1, nil
	}
}

// dozeMost is how long a part sleeps at most, in ns. Where a datagram has woken it, a
// stall is seen only as far as it is longer.
const dozeMost = 10_000_000

// wait sleeps until target or until something comes, and takes it in.
func (r *partRun) wait(target int64, t unit.Time) error {
	if err := r.depart(int64(unit.Never)); err != nil {
		return err
	}
	for len(r.unread) > 0 && r.now < target {
		if err := r.readLast(); err != nil {
			return err
		}
		r.look(t, 0)
	}
	left := target - r.now
	if left > 0 && r.part.Idle != nil {
		if err := r.part.Idle(t); err != nil {
			return err
		}
		r.look(t, 0) // it waits for a conductor that is slow
		left = target - r.now
	}
	slot, first := r.agenda.First()
	if first >= r.fabric.End {
		slot = -1
	}
	r.came = false
	most := max(0, min(left, dozeMost))
	var err error
	switch {
	case r.exact != nil:
		err = r.confer(slot, t, false, most)
	case r.part.Turns != nil:
		r.looked, err = r.part.Turns.Await(t, target, r.doze)
	default:
		_, err = r.doze(most)
	}
	came := r.came
	r.look(t, r.now+most)
	if late := r.now - target; left > 0 && !came && late >= 0 {
		// The floor: how often a loop that only waits wakes too late.
		r.Spun++
		if late > r.floor {
			r.SpunLate++
		}
	}
	return err
}

// doze sleeps for at most so many ns, or until something comes, and takes it in. It returns how many frames came.
func (r *partRun) doze(ns int64) (frames int64, err error) {
	before := r.Received
	err = r.poller.Wait(ns, func(i int) {
		r.came = true
		if r.failed == nil && i < len(r.polled) { // otherwise it is a promise, which consult reads
			r.failed = r.readPath(int(r.polled[i]))
		}
	})
	return r.Received - before, errors.Join(err, r.failed)
}

// readPath reads the datagrams that have come by a path from elsewhere.
func (r *partRun) readPath(slot int) error {
	p, e := &r.paths[slot], &r.ends[slot]
	for stray := 0; stray < strays; {
		b, err := r.in[slot].Next()
		switch {
		case err == nil && b == nil:
			return nil
		case errors.Is(err, link.ErrTooLong):
			r.TooLong++
			stray++
			continue
		case link.IsICMP(err):
			r.Unreachable++
			stray++
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", r.name(slot), err)
		}
		t, a, body := &r.trailer, port.Arrival{}, wire.Body{}
		err = r.fabric.decode(b, t, &a, &body)
		if err == nil && t.Port != uint16(p.number) {
			err = errForeign
		}
		if err != nil {
			r.refuse(err)
			continue
		}
		switch newer := int16(t.Incarnation - e.sender); {
		case newer < 0:
			r.Foreign++ // of a process that is no more
			continue
		case newer > 0 || !e.known:
			e.sender, e.seq = t.Incarnation, t.Seq // it restarted, or we have
		}
		e.known = true
		ahead := t.Seq - e.seq
		if ahead >= 1<<31 {
			r.Foreign++ // seen before
			continue
		}
		if r.exact != nil {
			if err := r.check(slot, t.Due, t.Promise); err != nil {
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
		f.arrival = a
		r.enter(int32(slot), p, f, body, t.Due)
		if e.seq == e.stated && r.exact != nil && r.exact.counted {
			return nil
		}
	}
	return nil
}

// carry sends a frame: to a machine of this part as Wall does, to another by its
// datagram alone.
func (r *partRun) carry(from *slotted, t *port.Transmission) error {
	slot := r.leaving[int(from.first)+int(t.Port)]
	e := &r.ends[slot]
	if t.Start >= e.since {
		e.sent++
	}
	if r.here(int(r.paths[slot].machine)) {
		return r.sockets.carry(from, t)
	}
	r.post(slot, t, r.fabric.Bodies.Of(&t.Frame), r.part.Incarnation, e.seq, r.promise(int(slot), t))
	r.fabric.Bodies.Free(&t.Frame)
	e.seq++
	if r.part.Turns != nil {
		r.part.Turns.Sent(int(r.paths[slot].machine), t.Due)
	}
	return nil
}

// stock reads the frames that have come since, and counts. A frame that was due in a run that has ended was
// overtaken by its end.
func (r *partRun) stock(ended bool) []Traffic {
	for _, slot := range r.polled {
		if err := r.readPath(int(slot)); err != nil {
			break // the other end is gone; its frames show in its own count
		}
		p, end, l := &r.paths[slot], r.fabric.End, &r.order.overtaken
		for ended && p.count > 0 && r.flights.all[p.head].due < end {
			l.now[p.machine] = end
			l.count(int(slot), p, r.pop(p, int(slot)).due, end)
		}
	}
	r.reached()
	r.settle()
	var traffic []Traffic
	for i := range r.paths {
		p, way := &r.paths[i], r.routes[i].track
		t := Traffic{int(p.number), -1, -1}
		if way != none {
			t.Sent = r.ends[i].sent
		}
		if r.here(int(p.machine)) {
			t.Came = r.ends[i].came
			if way != none {
				t.Came = t.Sent - r.tracks[way].lost
			}
		}
		if t.Sent >= 0 || t.Came >= 0 {
			traffic = append(traffic, t)
		}
	}
	return traffic
}
