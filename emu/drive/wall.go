package drive

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// The loop calls a datagram lost that it has sent and needs when it has waited for
// it for lostAfter, in ns of wall time, and has looked for it lostLooks times: a
// loop that was away for the time has not waited.
const (
	lostAfter = 50_000_000
	lostLooks = 2000
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
	// Stamped, if not nil, is told for each frame that arrives with a kernel receive
	// time stamp: which path (2*wire + sending end), when it started in model time,
	// and the stamp in ns of the system's real-time clock. Links that cannot stamp
	// say nothing.
	Stamped func(path int, f wire.Frame, start unit.Time, stamp int64)
	// Epoch, if not nil, is told when the run begins.
	Epoch func()
	// Loop is how the loop waits. The zero value is the best known; docs/timing.md has
	// the figures.
	Loop Loop
	// Clock is the clock to keep to: nanoseconds since some instant. Nil is the
	// monotonic clock of the system; tests have others, that jump.
	Clock func() int64
}

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

// stamper is a link that knows when the kernel received a datagram.
type stamper interface {
	RecvStamped(b []byte) (n int, stamp int64, err error)
}

// counter is a link that knows how many datagrams the kernel has dropped.
type counter interface {
	Lost() (uint32, error)
}

// refused returns how many datagrams a link has refused because they did not come
// from its other end.
func refused(l link.Link) int64 {
	if f, ok := l.(interface{ Foreign() uint64 }); ok {
		return int64(f.Foreign())
	}
	return 0
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
	stamps     stamper
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
	if w.Dilation < 1 {
		return nil, fmt.Errorf("dilation %d: at least 1 is wanted", w.Dilation)
	}
	if len(w.Links) != len(f.Wires) || len(w.Longest) != len(f.Wires) {
		return nil, fmt.Errorf("%d links for %d wires", len(w.Links), len(f.Wires))
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
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
			r.stop.Store(true)
		case <-ended:
		}
	}()
	err = r.loop()
	if errors.Is(err, errStopped) {
		err = ctx.Err()
	}
	r.close()
	w.stockOf(r.Timing)
	return r.Timing, err
}

// newRun returns the run of an order, before it has begun.
func (w *Wall) newRun(f *Fabric, o *order) *wallRun {
	r := &wallRun{order: o, Timing: newTiming(), wall: w, clock: w.Clock, routes: make([]route, len(o.paths)), unread: make([]int32, 0, len(o.paths)), buf: make([]byte, 0, MaxDatagram), in: make([]byte, 2*MaxDatagram)}
	if r.clock == nil {
		r.clock = monotonic()
	}
	o.overtaken.packet = w.Longest
	r.momentEnd = f.End / moments
	for i := range o.paths {
		p := &o.paths[i]
		k, from := int(p.number/2), p.number%2
		r.routes[i] = route{send: w.Links[k][from], recv: w.Links[k][1-from], wire: k, t: max(1, dilate(unit.Time(w.Longest[k]), w.Dilation))}
		if w.Stamped != nil {
			r.routes[i].stamps, _ = r.routes[i].recv.(stamper)
		}
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

// loop does event after event.
func (r *wallRun) loop() error {
	end := r.fabric.End
	if r.wall.Epoch != nil {
		r.wall.Epoch()
	}
	r.now = r.clock()
	r.epoch = r.now
	r.moment = &r.Moments[0]
	for {
		slot, t := r.agenda.First()
		if t >= end {
			switch err := r.until(end); err {
			case errOffered:
				continue
			case nil:
				r.fabric.Progress.at(end)
				return nil
			default:
				return err
			}
		}
		switch err := r.until(t); err {
		case errOffered:
			continue
		case nil:
		default:
			return err
		}
		r.fabric.Progress.at(t)
		if t >= r.momentEnd {
			r.turn(t)
		}
		if slot < len(r.paths) && !r.at(&r.paths[slot], 0).arrived {
			came, err := r.await(slot)
			if err != nil {
				return err
			}
			if !came {
				r.Lost++
				r.routes[slot].pending--
				r.pop(slot)
				continue
			}
		}
		r.elapsed = r.now - r.epoch
		if err := r.step(slot, t); err == errDeadlocked {
			r.fabric.Progress.at(end)
			return nil
		} else if err != nil {
			return err
		}
	}
}

// until waits for the wall time of t. It spins: a thread that sleeps is woken tens
// of microseconds late. What it sees of the gaps between two looks at the clock is
// the floor of this computer.
func (r *wallRun) until(t unit.Time) error {
	if r.stop.Load() {
		r.now = r.clock()
		return errStopped
	}
	target := r.epoch + dilate(t, r.wall.Dilation)
	r.look(t, 0)
	if err := r.outside(t); err != nil {
		return err
	}
	if err := r.visit(t, target); err != nil || r.now >= target {
		return err
	}
	if err := r.read(t, target); err != nil {
		return err
	}
	began := r.now
	for target-r.now > sleepRoom && !r.wall.Loop.NeverSleep && !r.stop.Load() {
		sleep := min(target-r.now-sleepShort, sleepMost)
		if r.fabric.Visitor != nil {
			sleep = min(sleep, visitSleep)
		}
		r.sleep(time.Duration(sleep))
		r.look(t, r.now+sleep)
		r.yielded = r.now
		err := r.outside(t)
		if err == nil {
			err = r.visit(t, target)
		}
		if err != nil {
			r.Slept += r.now - began
			return err
		}
	}
	if target-r.now > yieldRoom && r.now-r.yielded > yieldEvery && !r.wall.Loop.NeverYield {
		runtime.Gosched()
		r.yielded = r.now
	}
	r.Slept += r.now - began
	began = r.now
	for r.now < target {
		next := r.clock()
		if gap := next - r.now; gap > r.floor {
			r.SpunLate += gap - r.floor
			if gap > StallLimit {
				r.stalled(t, gap)
			}
		}
		r.now = next
		if r.stop.Load() {
			return errStopped
		}
		if err := r.outside(t); err != nil {
			r.Spun += r.now - began
			return err
		}
		if err := r.visit(t, target); err != nil {
			r.Spun += r.now - began
			return err
		}
	}
	r.Spun += r.now - began
	return nil
}

// sleep sleeps, until something comes from outside.
func (r *wallRun) sleep(d time.Duration) {
	if r.fabric.Outside == nil {
		time.Sleep(d)
		return
	}
	r.fabric.Outside.Wait(d)
}

// lookEvery is how long, in ns, the loop does not look outside after it has: a look costs a
// system call for each device.
const lookEvery = 5_000

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

// transmit sends a frame, not before its time, and notes that there is something
// to read at the other end.
func (r *wallRun) transmit(m int, tr *port.Transmission) error {
	slot := int(r.leavingBy(m, tr.Port))
	p, _ := r.send(m, tr)
	route := &r.routes[slot]
	body := r.fabric.Bodies.Of(&tr.Frame)
	r.buf = r.fabric.encode(r.buf[:0], tr, body, p, p.seq+uint32(p.count)-1)
	if err := r.depart(p, route, tr, body); err != nil {
		return err
	}
	return r.sentTo(slot)
}

// sentTo notes that there is something to read at the end of a path.
func (r *wallRun) sentTo(slot int) error {
	route := &r.routes[slot]
	route.pending++
	if !route.unread {
		route.unread = true
		r.unread = append(r.unread, int32(slot))
	}
	if route.room += len(r.buf) + datagramCost; route.room > roomMost {
		route.room = 0
		return r.collect(slot) // a long link, and no time to read: the socket would overflow
	}
	return nil
}

// What a datagram takes of a socket's receive buffer beside its bytes, about, and how
// much is taken before what has come is read, even if there is no time. A buffer has
// 128 KiB at the least by default, and the kernel takes twice that.
const (
	datagramCost = 1 << 10
	roomMost     = 64 << 10
)

// depart sends the datagram in buf, which holds tr, and notes how late it is. The body
// ends with it.
func (r *wallRun) depart(p *path, route *route, tr *port.Transmission, body wire.Body) error {
	due := r.epoch + dilate(tr.Start, r.wall.Dilation)
	now := r.clock()
	late := now - due
	if late < 0 {
		r.Early++
	}
	if tr.Frame.Kind.Traffic() {
		r.Data++
		r.moment.Data++
		r.moment.Worst = max(r.moment.Worst, late)
		r.Lateness.RecordValue(max(late, 0))
		inT := max(late, 0) * 1000 / route.t
		r.LatenessT.RecordValue(inT)
		r.Latest = max(r.Latest, inT)
		if late > route.t/20 {
			r.Late++
			r.moment.Late++
			route.late++
			if r.fabric.Progress != nil {
				r.fabric.Progress.late.Add(1)
			}
			if late > route.t {
				r.LateT++
			}
		}
	}
	if err := r.put(route); err != nil {
		return fmt.Errorf("%s: %w", r.name(p), err)
	}
	if r.fabric.Tap != nil {
		r.fabric.Tap.Sent(int(p.number), tr, body, r.order.now, now-r.epoch, late)
	}
	r.fabric.Bodies.Free(&tr.Frame)
	r.Sent++
	return nil
}

// read reads what has come on the paths that something was sent on, as long as
// there is time until target: what leaves at an instant does not wait for what
// arrives after it.
func (r *wallRun) read(t unit.Time, target int64) error {
	for len(r.unread) > 0 && r.now < target {
		slot := r.unread[len(r.unread)-1]
		r.unread = r.unread[:len(r.unread)-1]
		r.routes[slot].unread = false
		if err := r.collect(int(slot)); err != nil {
			return err
		}
		r.look(t, 0)
	}
	return nil
}

func (r *wallRun) name(p *path) string {
	return fmt.Sprintf("wire %d, from machine %d to %d", p.number/2, r.from(p).Machine, p.machine)
}

// collect reads the datagrams that wait at the end of a path, while any of those
// sent has not been seen.
func (r *wallRun) collect(slot int) error {
	route, p := &r.routes[slot], &r.paths[slot]
	for route.pending > 0 {
		n, stamp, err := r.receive(route, p)
		if n == 0 || err != nil {
			return err
		}
		seq, a, body, err := r.fabric.decode(r.in[:n], p)
		if err != nil {
			r.refuse(err)
			continue
		}
		i := seq - p.seq
		if i >= uint32(p.count) && r.share != nil {
			r.share.takeIn() // another loop has sent it, and this one has not looked yet
		}
		if i >= uint32(p.count) {
			r.Foreign++ // seen before, or given up
			continue
		}
		flight := r.at(p, int(i))
		if flight.arrived {
			r.Foreign++ // seen before
			continue
		}
		r.arrive(flight, a, body)
		route.pending--
		r.Received++
		if route.stamps != nil {
			r.wall.Stamped(int(p.number), flight.arrival.Frame, a.Head, stamp)
		}
	}
	return nil
}

// strays is how often in a row a link may report what others have done to it, a datagram
// that is too long or an ICMP message, before the loop goes on to something else.
const strays = 16

// put sends the datagram in buf. An ICMP message that has come is reported in place of
// the sending: it is tried again. A datagram that does not leave is missed at its end.
func (r *wallRun) put(route *route) (err error) {
	for range strays {
		err = route.send.Send(r.buf)
		switch {
		case err == nil, errors.Is(err, link.ErrFull):
			return nil
		case !link.IsICMP(err):
			return err
		}
		r.Unreachable++
	}
	return nil
}

// receive reads a datagram into in; n is 0 where none waits.
func (r *wallRun) receive(route *route, p *path) (n int, stamp int64, err error) {
	for range strays {
		if route.stamps != nil {
			n, stamp, err = route.stamps.RecvStamped(r.in)
		} else {
			n, err = route.recv.Recv(r.in)
		}
		switch {
		case err == nil:
			return n, stamp, nil
		case errors.Is(err, link.ErrTooLong):
			r.TooLong++
		case link.IsICMP(err):
			r.Unreachable++
		default:
			return 0, 0, fmt.Errorf("%s: %w", r.name(p), err)
		}
	}
	return 0, 0, nil
}

// refuse counts a datagram that is dropped.
func (r *wallRun) refuse(err error) {
	var bad *wire.ParseError
	if errors.As(err, &bad) {
		r.Refused[bad.Reason]++
	} else {
		r.Foreign++
	}
}

// await waits for the datagram of a path's first frame. It reports false when it
// has not come.
func (r *wallRun) await(slot int) (bool, error) {
	begin := r.clock()
	for looks := 0; looks < lostLooks || r.clock()-begin <= lostAfter; looks++ {
		if r.stop.Load() {
			return false, errStopped
		}
		if r.share != nil && r.share.unsent() {
			begin, looks = r.clock(), 0 // another loop is to send it yet
		}
		if err := r.collect(slot); err != nil {
			return false, err
		}
		if r.at(&r.paths[slot], 0).arrived {
			return true, nil
		}
	}
	return false, nil
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
	if r.Wall >= dilate(r.fabric.End, r.wall.Dilation) {
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
			if c, ok := l.(counter); ok {
				if n, err := c.Lost(); err == nil {
					dropped += int64(n)
				}
			}
			t.Foreign += refused(l)
		}
	}
	t.Lost = max(t.Lost, dropped)
}
