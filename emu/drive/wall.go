package drive

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// Wall runs a fabric on the wall clock, over real links. Each machine has a
// goroutine of its own (see coroutine); one loop does the events in their order,
// each at its wall time or as soon after it as it can.
type Wall struct {
	// Dilation is the wall time that a model time takes: a whole factor, at least 1.
	Dilation int64
	// Links holds the two ends of each wire of the fabric, in the order of its ends.
	Links [][2]link.Link
	// Actual tells the machines the measured time, wall time over the dilation,
	// instead of the ideal one. Their lines and limiters still keep to ideal instants.
	Actual bool
	// Longest is the duration of the longest data frame on each wire: T.
	Longest []unit.Duration
	// Epoch, if not nil, is told when the run begins.
	Epoch func()
	// Loop is how the loop waits. The zero value is the best known; docs/timing.md has
	// the figures.
	Loop Loop
	// Clock is the clock to keep to: nanoseconds since some instant. Nil is the
	// monotonic clock of the system; tests have others, that jump.
	Clock func() int64
}

// wallRun is a run of the wall driver.
type wallRun struct {
	*order
	*Timing
	wall    *Wall
	clock   func() int64
	now     int64 // the last reading of clock
	yielded int64 // when the loop last gave way
	looked  int64 // when it last looked outside
	epoch   int64 // wall time of model time 0
	stop    atomic.Bool
	routes  []route // by path
	unread  []int32 // paths to read when there is time
	floor   int64   // 5 % of the shortest T, in ns: what the floor is measured against
	buf     []byte
	in      []byte

	moment    *Moment   // the one that goes on
	momentEnd unit.Time // and when it ends

	share *wallLoop // nil: no other loop has a share of the machines

	knocked  int64 // since when a visitor waits; 0: none does
	visited  int64 // how long the last visit took
	visiting Visit // what the visitor is handed
}

// route is what a path needs to know of its link.
type route struct {
	send, recv link.Link
	pending    int  // datagrams that were sent and have not been seen
	unread     bool // it is in the list of paths to read
	room       int  // what was sent since it was last read for want of room
	wire       int
	t          int64 // T in ns
	late       int64 // data frames that left later than 5 % of T
}

// Run runs f to its end, or until ctx is done; it then returns the error of ctx
// beside what was measured. A link that fails ends the run.
func (w *Wall) Run(ctx context.Context, f *Fabric) (*Timing, error) {
	if err := w.check(f); err != nil {
		return nil, err
	}
	if w.Loop.LockThread { // before the coroutines are made: they belong to it then
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	machines := make([]Machine, len(f.Machines))
	for i, m := range f.Machines {
		c := newCoroutine(m)
		defer c.stop()
		machines[i] = c
	}
	if f.Loops != nil {
		return w.runLoops(ctx, f, machines)
	}
	o, err := newOrder(f, machines, false)
	if err != nil {
		return nil, err
	}
	r := w.newRun(f, o)
	o.carry = r.transmit
	if w.Actual {
		o.overtaken.told, o.overtaken.blind = make([]unit.Time, len(machines)), make([]blind, len(o.paths))
		o.tell = r.measured
	}
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	err = r.loop()
	if errors.Is(err, errStopped) {
		err = ctx.Err()
	}
	r.close()
	w.stockOf(r.Timing)
	return r.Timing, err
}

// check refuses a fabric that w cannot run.
func (w *Wall) check(f *Fabric) error {
	if w.Dilation < 1 {
		return fmt.Errorf("dilation %d: at least 1 is wanted", w.Dilation)
	}
	if len(w.Links) != len(f.Wires) || len(w.Longest) != len(f.Wires) {
		return fmt.Errorf("%d links for %d wires", len(w.Links), len(f.Wires))
	}
	return nil
}

// newRun returns the run of an order, before it has begun. Ends of links that are elsewhere are nil.
func (w *Wall) newRun(f *Fabric, o *order) *wallRun {
	r := &wallRun{
		order: o, Timing: newTiming(), wall: w, clock: w.Clock, momentEnd: f.End / moments,
		routes: make([]route, len(o.paths)), unread: make([]int32, 0, len(o.paths)),
		buf: make([]byte, 0, MaxDatagram), in: make([]byte, 2*MaxDatagram),
	}
	if r.clock == nil {
		r.clock = monotonic()
	}
	r.moment = &r.Moments[0]
	o.overtaken.packet = w.Longest
	for i := range o.paths {
		p := &o.paths[i]
		k, from := int(p.number/2), p.number%2
		r.routes[i] = route{send: w.Links[k][from], recv: w.Links[k][1-from], wire: k, t: max(1, Dilate(unit.Time(w.Longest[k]), w.Dilation))}
		if t := r.routes[i].t / 20; r.floor == 0 || t < r.floor {
			r.floor = t
		}
	}
	return r
}

// measured returns the model time that the wall clock shows, at an event of t.
func (r *wallRun) measured(t unit.Time) unit.Time {
	return max(t, unit.Time((r.now-r.epoch)/r.wall.Dilation*1000+(r.now-r.epoch)%r.wall.Dilation*1000/r.wall.Dilation))
}

// turn begins the moment that holds t.
func (r *wallRun) turn(t unit.Time) {
	length := max(1, r.fabric.End/moments)
	r.momentEnd = t/length*length + length
	r.Moments = append(r.Moments, Moment{From: t / length * length})
	r.moment = &r.Moments[len(r.Moments)-1]
}

var (
	errStopped = errors.New("drive: stopped")
	errOffered = errors.New("drive: something has come from outside")
)

// ready prepares the event of a slot at t, and waits for the datagram of a frame. It reports false
// where that is lost: then there is no such event.
func (r *wallRun) ready(slot int, t unit.Time) (bool, error) {
	r.elapsed = r.now - r.epoch
	if t >= r.momentEnd {
		r.turn(t)
	}
	if slot >= len(r.paths) || r.at(&r.paths[slot], 0).arrived {
		return true, nil
	}
	came, err := r.await(slot)
	if err == nil && !came {
		r.Lost++
		r.routes[slot].pending--
		r.pop(&r.paths[slot], slot)
	}
	return came, err
}

// loop does event after event.
func (r *wallRun) loop() error {
	end := r.fabric.End
	if r.wall.Epoch != nil {
		r.wall.Epoch()
	}
	r.now = r.clock()
	r.epoch = r.now
	for {
		slot, t := r.agenda.First()
		at := min(t, end)
		err := r.until(at)
		if err == errOffered {
			continue
		} else if err != nil {
			return err
		}
		r.fabric.Progress.at(at)
		if t >= end {
			return nil
		}
		came, err := r.ready(slot, t)
		if came {
			err = r.step(slot, t)
		}
		if err == errDeadlocked {
			r.fabric.Progress.at(end)
			return nil
		} else if err != nil {
			return err
		}
	}
}

// close takes stock: what was sent must have been received.
func (r *wallRun) close() {
	r.Hops = r.hops
	r.Overtaken, r.Overtaken5, r.OvertakenT, r.WorstOvertaken = r.overtaken.frames, r.overtaken.over5, r.overtaken.overT, r.overtaken.worst
	for slot, b := range r.overtaken.blind {
		if int64(b.time) > r.Blind {
			r.Blind, r.BlindWire = int64(b.time), r.routes[slot].wire
		}
	}
	r.Wall = r.now - r.epoch
	r.Reached = min(r.fabric.End, r.order.now)
	if r.Wall >= Dilate(r.fabric.End, r.wall.Dilation) {
		r.Reached = r.fabric.End
	}
	begin := r.clock()
	for slot := range r.routes {
		for r.routes[slot].pending > 0 && r.clock()-begin < lostAfter {
			if r.collect(slot) != nil {
				break
			}
		}
		r.Lost += int64(r.routes[slot].pending)
	}
	var worst int64
	for i := range r.routes {
		if r.routes[i].late > worst {
			worst, r.Worst = r.routes[i].late, r.routes[i].wire
		}
	}
}

// stockOf adds what the links have counted.
func (w *Wall) stockOf(t *Timing) {
	var dropped int64
	for _, ends := range w.Links {
		for _, l := range ends {
			if c, ok := l.(interface{ Lost() (uint32, error) }); ok {
				n, _ := c.Lost() // where the kernel does not say it, what is missing shows what was lost
				dropped += int64(n)
			}
			if c, ok := l.(interface{ Foreign() uint64 }); ok {
				t.Foreign += int64(c.Foreign())
			}
		}
	}
	t.Lost = max(t.Lost, dropped)
}
