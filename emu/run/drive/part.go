package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Part runs some of a fabric's nodes on the wall clock, while others run the
// rest: a process for each node, or for a switch and its endpoints.
//
// A frame from another process is not known before its datagram is here. So a part does no event
// before it has the promise that no frame from elsewhere comes first: the order is that of the
// virtual clock, at any dilation. Other parts make promises through Participant, and the trailer of
// each datagram contains one: the earliest due time of the next frame on its path.
type Part struct {
	// Dilation is the wall time that a model time takes.
	Dilation int64
	// Epoch is the instant of model time 0, on the clock of pace.Monotonic. It is the same for all
	// parts of a run.
	Epoch int64
	// Hold is how long all parts have held the run clock; nil: it is never held.
	Hold Hold
	// Links holds the two ends of each wire of the fabric; ends that are not at a node of this part
	// are nil.
	Links [][2]link.Link
	// Measured, if not nil, shows the wall clock to endpoints.
	Measured *Measured
	// Longest is the duration of the longest data frame on each wire: T.
	Longest []unit.Duration
	// Idle, if not nil, is called before the part goes to sleep, so that its events can be sent
	// then.
	Idle func(now unit.Time) error
	// Watch, if not nil, receives the frames that wait in the nodes of the part, at each instant of
	// the fabric's Watch.
	Watch func(deadlock.Waits) error
	// Settle, if not nil, is called at the end of the run. It returns when all parts have reached
	// the end: a frame that has not arrived by then is lost.
	Settle func() error

	// Participant is where the part reports its progress and reads the promises of the others.
	Participant lookahead.Participant
	// Bell wakes parts; nil: Promises can be read instead.
	Bell lookahead.Waker
	// Promises is where the promises of the coordinator arrive; nil: other parts use the bell.
	Promises link.File

	// Clock and Poller replace pace.Monotonic and link.NewPoller in simulations; otherwise they are
	// nil.
	Clock  func() int64
	Poller func(ends []link.File) Poller
}

// ErrOver is the cause (context.Cause) by which a Part ends early although nothing is wrong:
// nothing else can happen in the fabric.
var ErrOver = errors.New("drive: nothing else can happen")

// Poller waits for datagrams, as a link.Poller does.
type Poller interface {
	Wait(ns int64, came func(i int)) error
}

// Traffic is how many datagrams a path has carried, as one of its ends counts them.
type Traffic struct {
	Path int   // 2*wire + which end sends
	Sent int64 // by the sender; -1: it is in another part
	Came int64 // at the receiver; -1: it is in another part
}

// partRun is a run of some nodes.
type partRun struct {
	*sockets
	part   *Part
	poller Poller
	polled []int32      // the path that comes by each end of the poller
	in     []link.Batch // by path, where it comes from elsewhere; nil elsewhere
	ends   []end        // by path
	came   bool         // something, while it slept
	failed error

	boundary *lookahead.Boundary
	slotOf   []int       // by number of a path
	claims   []unit.Time // by place in Boundary.Out
	changed  bool        // something has, since the last report
	events   int         // since then
	asked    bool        // the last report asked for a promise
	absent   bool        // a frame that is reported as sent has not come yet
	counted  bool        // only frames that are reported as sent are read
}

// end is the state of a path of which a part has one end.
type end struct {
	seq        uint32 // of the next datagram
	sent, came int64
	reported   uint32 // on a board: how many datagrams the sender has sent

	// Of a path from elsewhere:
	promised unit.Time // no frame that has not come is due earlier
	last     unit.Time // the promise of the last trailer
	// and of a path that leads elsewhere:
	free unit.Time // when the link is idle again
	due  unit.Time // the first due time since the last report
}

// Run runs the nodes of this part to the end of f, or until ctx is done; it then returns the error
// of ctx in addition to its measurements. The nodes of f that are in other parts are nil.
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
	if err == errOver || errors.Is(err, errStopped) && context.Cause(ctx) == ErrOver {
		err = nil
	} else if errors.Is(err, errStopped) {
		r.cut()
		err = ctx.Err()
	}
	r.now = r.clock()
	if err == nil && p.Settle != nil {
		err = p.Settle()
	}
	traffic := r.stock()
	w.stockOf(r.Record)
	return r.Record, traffic, err
}

// newRun returns the run of the nodes that are here, before it has begun.
func (p *Part) newRun(w *Wall, f *Setup) (*partRun, error) {
	fabric := *f
	if p.Watch == nil {
		fabric.Watch = nil
	}
	o, err := newOrder(&fabric, false)
	if err != nil {
		return nil, err
	}
	r := &partRun{sockets: w.newSockets(o), part: p, in: make([]link.Batch, len(o.paths)), ends: make([]end, len(o.paths))}
	r.start(p.Epoch, p.Hold != nil, p.Hold, p.Measured)
	r.now = r.clock()
	o.carry, o.report = r.carry, p.Watch
	r.boundary, r.changed = p.Participant.Boundary(), true
	r.slotOf, r.claims = make([]int, len(r.paths)), make([]unit.Time, len(r.boundary.Out))
	for slot := range r.paths {
		r.slotOf[r.paths[slot].number] = slot
		r.ends[slot].due = unit.Never
	}
	return r, r.join()
}

// join finds the ends to wait for.
func (r *partRun) join() error {
	var files []link.File
	for i := range r.paths {
		p := &r.paths[i]
		send, recv := r.part.Links[p.number/2][p.number%2], r.part.Links[p.number/2][1-p.number%2]
		if (send != nil) != r.here(r.from(p).Node) || (recv != nil) != r.here(int(p.node)) {
			return fmt.Errorf("%s: open ends and nodes here do not match", r.name(i))
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
	if r.part.Promises != nil {
		files = append(files, r.part.Promises)
	}
	r.poller = link.NewPoller(files)
	if r.part.Poller != nil {
		r.poller = r.part.Poller(files)
	}
	return nil
}

// here reports whether this part has a node.
func (r *partRun) here(m int) bool { return r.nodes[m].Node != nil }

// open sleeps until the next event may happen.
func (r *partRun) open() (until unit.Time, most int, err error) {
	end := r.fabric.End
	for {
		if r.stop.Load() {
			return 0, 0, errStopped
		}
		slot, t := r.agenda.First()
		at := min(t, end)
		r.look(0)
		r.follow()
		states := r.events >= stateEvery || t >= end
		if states || r.queue.count >= trainFull || r.fabric.Tap != nil { // a Tap sees a frame leave before the next event
			if err := r.depart(int64(unit.Never)); err != nil {
				return 0, 0, err
			}
		}
		if t >= end {
			slot = -1
		}
		target := r.wallOf(at)
		if r.now < target {
			if err := r.wait(slot, target, at); err != nil {
				return 0, 0, err
			}
			continue
		}
		if !r.may(slot, at) && !r.leads(slot, at) {
			if err := r.await(slot, at); err != nil {
				return 0, 0, err
			}
			continue
		}
		r.keep(r.now, target)
		if r.events++; states {
			if err := r.state(slot, at, t >= end); err != nil {
				return 0, 0, err
			}
		}
		r.changed = true
		r.Events++
		r.fabric.Progress.Reach(at)
		if t >= end {
			return 0, 0, cmp.Or(r.depart(int64(unit.Never)), errOver)
		}
		r.elapsed = r.now - r.began
		return t + 1, 1, nil
	}
}

// cut ends the part early: nothing more happens in it before the instant that its clock has come
// to, its next event, and what the others have promised. Events of that instant, of which other
// parts may lack some, are dropped with all later ones where the reports are merged.
func (r *partRun) cut() {
	o := r.order
	r.look(0)
	_, err := r.consult() // others may have promised more than was needed
	slot, next := o.next()
	if err == nil {
		r.leads(slot, next)
	}
	t := min(r.fabric.End, r.at(r.now), next)
	for _, n := range r.boundary.In {
		if from := r.slotOf[n]; r.paths[from].count == 0 {
			t = min(t, r.ends[from].promised)
		}
	}
	o.now = max(o.now, t)
	o.fabric.Progress.Reach(o.now)
	o.interrupt(o.now)
}

// dozeMost is how long a part sleeps at most, in ns. Where a datagram has woken it, a
// stall is seen only as far as it is longer.
const dozeMost = 10_000_000

// wait sleeps until target, for an event of a slot at t, or until something comes, and takes it in.
func (r *partRun) wait(slot int, target int64, t unit.Time) error {
	if err := r.depart(int64(unit.Never)); err != nil {
		return err
	}
	for len(r.unread) > 0 && r.now < target {
		if err := r.readLast(); err != nil {
			return err
		}
		r.look(0)
	}
	left := target - r.now
	if left > 0 && r.part.Idle != nil {
		if err := r.part.Idle(t); err != nil {
			return err
		}
		r.look(0) // it waits for a conductor that is slow
		left = target - r.now
	}
	r.came = false
	most := max(0, min(left, dozeMost))
	err := r.confer(slot, t, false, most)
	came := r.came
	r.look(r.now + most)
	if late := r.now - target; left > 0 && !came && late >= 0 {
		// The floor: how often a loop that only waits wakes too late.
		r.Spun++
		if late > r.floor {
			r.SpunLate++
		}
	}
	return err
}

// doze sleeps for at most so many ns, or until something comes, and takes it in.
func (r *partRun) doze(ns int64) error {
	err := r.poller.Wait(ns, func(i int) {
		r.came = true
		if r.failed == nil && i < len(r.polled) { // otherwise it is a promise, which consult reads
			r.failed = r.readPath(int(r.polled[i]))
		}
	})
	return errors.Join(err, r.failed)
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
		if err == nil && (t.Port != uint16(p.number) || a.Frame.Kind == 0) {
			err = errForeign
		}
		if err != nil {
			r.refuse(err)
			continue
		}
		ahead := t.Seq - e.seq
		if ahead >= 1<<31 {
			r.Foreign++ // seen before
			continue
		}
		if err := r.check(slot, t.Due, t.Promise); err != nil {
			return err
		}
		r.Lost += int64(ahead)
		e.seq = t.Seq + 1
		e.came++
		r.Received++
		f := r.push(int32(slot), p, t.Due)
		f.arrival = a
		r.enter(f, body)
		if e.seq == e.reported && r.counted {
			return nil
		}
	}
	return nil
}

// carry sends a frame: to a node of this part as Wall does, to another by its
// datagram only.
func (r *partRun) carry(slot int32, t *port.Transmission) error {
	e := &r.ends[slot]
	e.sent++
	if r.here(int(r.paths[slot].node)) {
		return r.sockets.carry(slot, t)
	}
	r.post(slot, t, r.fabric.Bodies.Of(&t.Frame), e.seq, r.promise(int(slot), t))
	r.fabric.Bodies.Free(&t.Frame)
	e.seq++
	return nil
}

// stock reads the frames that have come since, and counts.
func (r *partRun) stock() []Traffic {
	for _, slot := range r.polled {
		if err := r.readPath(int(slot)); err != nil {
			break // the other end is gone; its frames show in its own count
		}
	}
	r.ended()
	r.settle()
	var traffic []Traffic
	for i := range r.paths {
		p, tr := &r.paths[i], r.routes[i].track
		t := Traffic{int(p.number), -1, -1}
		if tr != none {
			t.Sent = r.ends[i].sent
		}
		if r.here(int(p.node)) {
			t.Came = r.ends[i].came
			if tr != none {
				t.Came = t.Sent - r.tracks[tr].lost
			}
		}
		if t.Sent >= 0 || t.Came >= 0 {
			traffic = append(traffic, t)
		}
	}
	return traffic
}
