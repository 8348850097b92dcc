package drive

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"fabemu/emu/base/errs"
	"fabemu/emu/run/deadlock"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Domains divides the nodes of a fabric among domains that keep the total order. A domain has an
// agenda for its own nodes, and does its events of a whole window before another domain has its
// turn: in a large fabric a processor finds most of what it needs in its cache. Several threads can
// share the domains. Frames are handed over as values.
type Domains struct {
	Of      []int          // by node: its domain
	Events  []*trace.Batch // by domain: takes the events of its nodes; nil: they are not recorded
	Threads int            // how many run the domains, at most; 0: one
	Meet    Meeting        // may be nil
}

// Meeting is work between windows, while no domain does anything.
type Meeting interface {
	// Edge returns the instant of the next call of Meet: all events before it happen first, and
	// none at or after it.
	Edge() unit.Time
	// Full reports whether a domain, whose thread calls it, has so much for Meet that it should be
	// called soon.
	Full(domain int) bool
	// Meet does the work. All events before next have happened, and none at or after it.
	Meet(next unit.Time)
}

// domainRun is a run on the virtual clock, of one domain or of several. In each window the domains
// do the events before a horizon: the first of all events, and the shortest time from one domain to
// another after it. Frames from domain to domain meanwhile are due at the horizon or later; the
// receiver takes them in at the beginning of the next window.
//
// Threads take domains that have not had the window yet, and whoever ends the last domain begins
// the next window. So no thread has to wait for one to which the system gives no processor, unless
// that has a domain in its hands.
type domainRun struct {
	fabric  *Setup
	plan    *Domains
	ctx     context.Context
	most    int // events of a domain in a window
	domains []*domain
	ahead   unit.Duration      // the shortest time from a transmission to its due time in another domain
	watcher *deadlock.Detector // nil: deadlock is not looked for
	local   []int32            // by node: its number in its domain
	threads int
	turns   atomic.Pointer[[][]*domain] // by thread: the domains in the order in which it takes them

	// Of whoever begins a window:
	horizon unit.Time
	edge    unit.Time // before which all domains meet again
	look    unit.Time // when to look for deadlock, after all else of that instant; unit.Never: not at all
	next    unit.Time // the first event of all
	over    bool
	err     error

	_      [64]byte
	window atomic.Int64 // the number of the window; over
	_      [56]byte
	done   atomic.Int32 // how many domains have done it
	asleep atomic.Int32 // how many threads sleep until the window changes
	mutex  sync.Mutex   // held between their look at the window and their sleep
	awake  sync.Cond    // its lock is mutex
}

// over is the number of the window after the last one.
const over = -1

type domain struct {
	*order
	all   *domainRun
	id    int
	in    []*crossing // from other domains
	out   []*crossing // to other domains
	exits []exit      // the paths that lead out of it
	odd   int64       // 1 in windows of odd number
	least unit.Time   // the first due time of the frames that were sent in this window
	left  unit.Time   // the first event that is left after it, or due time of these frames
	meets bool        // it wants all domains to meet
	err   error
	load  int64 // hops when the threads last shared the domains
	_     [64]byte
	had   atomic.Int64 // the last window that a thread has taken it for
	_     [56]byte
}

// crossing is the frames from one domain to another that were sent in windows of even and of odd
// number. Of a flight, next is the slot of its path there, and after the instant at which it is
// due.
type crossing [2][]flight

// exit is a path that leads out of a domain.
type exit struct {
	to   *crossing
	slot int32 // of the path where it ends
}

const (
	// meetEvery is the largest number of windows between two meetings: then threads share the
	// domains again by their load.
	meetEvery = 1 << 10
	// stepsBetween is the number of events of a single domain after which its window ends, so that
	// it can be seen and stopped.
	stepsBetween = 1 << 12
)

// Run runs f to its end, or until ctx is done. It returns how many frames were handed over, counted
// at each hop.
func (v Virtual) Run(ctx context.Context, f *Setup) (hops int64, err error) {
	r := &domainRun{fabric: f, plan: f.Domains, ctx: ctx, most: math.MaxInt}
	if r.plan == nil {
		r.plan, r.most = &Domains{Of: make([]int, len(f.Nodes)), Events: make([]*trace.Batch, 1)}, stepsBetween
	}
	if err := r.split(); err != nil {
		return 0, err
	}
	r.ahead, r.threads = r.plan.ahead(f), max(r.plan.Threads, 1)
	for _, d := range r.domains {
		if d.end(); !v.SkipCodec && f.Domains == nil {
			d.buf = make([]byte, 0, MaxDatagram)
		}
		if d.buf != nil || f.Tap != nil {
			d.carry = d.handOver
		} else if f.Visitor == nil {
			d.plan()
		}
	}
	r.watcher = deadlock.New(f.Watch, f.Nodes, f.Wires, f.End, f.LastChange())
	r.awake.L = &r.mutex
	r.share()
	r.turn(0)
	var others sync.WaitGroup
	for k := range r.threads - 1 {
		others.Go(func() { r.work(k + 1) })
	}
	r.work(0)
	others.Wait()
	for _, d := range r.domains {
		hops += d.hops
	}
	if r.err != nil && r.ctx.Err() == nil { // between two meetings
		f.Progress.Reach(r.now())
	}
	return hops, r.err
}

func (r *domainRun) split() error {
	f, of := r.fabric, r.plan.Of
	base, err := number(f)
	if err != nil {
		return err
	}
	for k, events := range r.plan.Events {
		own := *f
		own.Nodes, own.Changes = nil, nil
		d := &domain{order: &order{fabric: &own, keys: events, keyed: events != nil || f.Key != nil}, all: r, id: k, least: unit.Never}
		if len(r.plan.Events) > 1 {
			d.carry = d.cross
		}
		r.domains = append(r.domains, d)
	}
	r.local = make([]int32, len(f.Nodes))
	for m, n := range base.nodes {
		d, next := r.domains[of[m]], len(base.leaving)
		if m+1 < len(base.nodes) {
			next = int(base.nodes[m+1].first)
		}
		ports := base.leaving[n.first:next]
		n.place, n.first = int32(len(d.nodes)), int32(len(d.leaving))
		r.local[m] = n.place
		d.nodes, d.fabric.Nodes = append(d.nodes, n), append(d.fabric.Nodes, n.Node)
		d.leaving = append(d.leaving, ports...) // as the paths of the fabric, at first
	}
	for _, c := range base.fabric.Changes {
		d := r.domains[of[c.Node]]
		c.Node = int(r.local[c.Node])
		d.fabric.Changes = append(d.fabric.Changes, c)
	}
	slots := make([]int32, len(base.paths)) // in the domain that a path leads to
	for i, p := range base.paths {
		d := r.domains[of[p.node]]
		p.node, slots[i] = r.local[p.node], int32(len(d.paths))
		d.paths = append(d.paths, p)
	}
	for _, d := range r.domains {
		d.leave(base, slots)
		if err := d.lay(true); err != nil {
			return err
		}
		d.begin()
	}
	return nil
}

// leave makes the exits of a domain: until now leaving has the places of paths in the fabric, and
// slots has the slot of each in the domain that it leads to.
func (d *domain) leave(base *order, slots []int32) {
	neighbours := map[int]*crossing{}
	for i, at := range d.leaving {
		if at == none {
			continue
		}
		p := base.paths[at]
		to := d.all.plan.Of[p.node]
		if d.leaving[i] = slots[at]; to == d.id {
			continue
		}
		if neighbours[to] == nil {
			c := new(crossing)
			neighbours[to], d.out = c, append(d.out, c)
			d.all.domains[to].in = append(d.all.domains[to].in, c)
		}
		d.leaving[i] = none - 1 - int32(len(d.exits))
		d.exits = append(d.exits, exit{neighbours[to], slots[at]})
	}
}

// ahead returns the shortest time from the start of a transmission from one domain to another
// until it is due there; without a wire between two domains, the length of the run.
func (l *Domains) ahead(f *Setup) unit.Duration {
	least := unit.Duration(f.End)
	for w, ends := range f.Wires {
		if l.Of[ends[0].Node] != l.Of[ends[1].Node] {
			least = min(least, f.Least[2*w], f.Least[2*w+1])
		}
	}
	return least
}

// work has a thread take domains until the run is over.
func (r *domainRun) work(thread int) {
	for w := r.window.Load(); w != over; w = r.wait(w) {
		for _, d := range (*r.turns.Load())[thread] {
			// Whoever takes it has it for window w and no other: no domain has that twice, and the
			// next window begins when all have had it.
			if d.had.Load() != w-1 || !d.had.CompareAndSwap(w-1, w) {
				continue
			}
			d.do(w)
			if int(r.done.Add(1)) == len(r.domains) {
				r.done.Store(0)
				r.turn(w)
			}
		}
	}
}

// patience is how often a thread that has nothing to do looks for a window before it sleeps: some
// 100 µs, which is about as long as the system takes to wake another thread.
const patience = 100_000

// wait returns the number of the window after w, once that has begun.
func (r *domainRun) wait(w int64) int64 {
	for range patience {
		if next := r.window.Load(); next != w {
			return next
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.asleep.Add(1) // before it looks again: turn looks for sleepers after the window has changed
	for r.window.Load() == w {
		r.awake.Wait()
	}
	r.asleep.Add(-1)
	return r.window.Load()
}

// do does the events of a domain in a window. A panic is an error.
func (d *domain) do(window int64) {
	defer errs.Into(&d.err)
	d.odd, d.least = window&1, unit.Never
	for _, c := range d.out { // they were taken in during the window before
		c[d.odd] = c[d.odd][:0]
	}
	for _, from := range d.in {
		list := from[1-d.odd]
		for i := range list {
			c := &list[i]
			d.push(c.next, &d.paths[c.next], c.after).arrival = c.arrival
		}
	}
	d.err = d.order.run(d.all.horizon, d.all.most)
	d.end()
	meeting := d.all.plan.Meet
	d.meets = d.err != nil || meeting != nil && meeting.Full(d.id)
}

// end finds the first event that is left after a window.
func (d *domain) end() {
	_, t := d.next()
	d.left = min(t, d.least)
}

// cross carries a frame to a node of this domain, or hands it to another domain.
func (d *domain) cross(slot int32, t *port.Transmission) error {
	if slot >= 0 {
		d.pass(t, slot, &d.paths[slot])
		return nil
	}
	x := &d.exits[none-1-slot]
	out := &x.to[d.odd]
	*out = append(*out, flight{after: t.Due, next: x.slot})
	(*out)[len(*out)-1].take(t)
	d.least = min(d.least, t.Due)
	return nil
}

// turn ends a window, which all domains have done, and begins the next.
func (r *domainRun) turn(window int64) {
	if r.open(window); r.over || r.err != nil {
		window = over - 1
	}
	r.window.Store(window + 1)
	if r.asleep.Load() > 0 {
		r.mutex.Lock()
		r.awake.Broadcast()
		r.mutex.Unlock()
	}
}

// open finds the horizon of the window after this one. All domains meet if there is a reason to.
func (r *domainRun) open(window int64) {
	defer errs.Into(&r.err)
	v := r.fabric.Visitor
	wanted := v != nil && v.Wanted()
	if wanted {
		r.finish()
	}
	r.next = r.first()
	now := min(r.next, r.fabric.End)
	if r.fabric.Progress.Reach(now); wanted {
		v.Visit(&Visit{Now: now, Watch: r.fabric.Watch})
	}
	meets := window&(window-1) == 0 || window%meetEvery == 0 || r.ctx.Err() != nil // the first ones show the loads
	if meets && r.threads > 1 {
		r.share()
	}
	for _, d := range r.domains {
		meets = meets || d.meets
	}
	if meets || r.next > r.look || r.next >= min(r.edge, r.fabric.End) {
		r.meet()
	}
	r.horizon = min(r.next.Add(r.ahead), r.edge, r.fabric.End)
	if r.look < r.fabric.End {
		r.horizon = min(r.horizon, r.look+1)
	}
}

// finish lets the rest of the present instant happen, which only a window of a single domain may
// leave.
func (r *domainRun) finish() {
	for _, d := range r.domains {
		if d.err == nil && d.left == d.now {
			d.err = d.order.run(d.now+1, math.MaxInt)
			d.end()
			d.meets = d.meets || d.err != nil
		}
	}
}

// share gives each thread domains of its own, by the hops that each has had since the last time,
// the largest first. Those it does in each window, so that they are in the cache of its processor;
// then it helps others, with those that they take last.
func (r *domainRun) share() {
	byLoad := slices.Clone(r.domains)
	slices.SortStableFunc(byLoad, func(a, b *domain) int { return cmp.Compare(b.hops-b.load, a.hops-a.load) })
	turns := make([][]*domain, r.threads)
	for k := range turns {
		var others []*domain
		for i, d := range byLoad {
			if d.load = d.hops; i%r.threads == k {
				turns[k] = append(turns[k], d)
			} else {
				others = append(others, d)
			}
		}
		slices.Reverse(others)
		turns[k] = append(turns[k], others...)
	}
	r.turns.Store(&turns)
}

// meet looks for deadlock, and finds out where the domains continue.
func (r *domainRun) meet() {
	for _, d := range r.domains {
		if d.err != nil && r.err == nil {
			r.err, r.over = d.err, true
		}
	}
	for r.watcher != nil && r.watcher.Next() < min(r.next, r.fabric.End) && r.err == nil && !r.over {
		r.lookAll()
	}
	if r.look = unit.Never; r.watcher != nil {
		r.look = r.watcher.Next()
	}
	r.over = r.over || r.next >= r.fabric.End
	if !r.over && r.err == nil && r.ctx.Err() != nil {
		r.err = r.ctx.Err()
		now := r.now()
		for _, d := range r.domains {
			d.interrupt(now)
		}
	}
	r.edge = unit.Never
	if meeting := r.plan.Meet; meeting != nil {
		meeting.Meet(min(r.next, r.fabric.End))
		r.edge = meeting.Edge()
	}
	if r.over && r.err == nil {
		r.fabric.Progress.Reach(r.fabric.End)
	}
}

// lookAll looks for deadlock at the next instant of the watch, before which all domains have done
// everything.
func (r *domainRun) lookAll() {
	carried := int64(0)
	for _, d := range r.domains {
		d.now = r.watcher.Next()
		carried += d.carried
	}
	r.over, r.err = see(r.watcher, carried, func(m int) (*order, int) { return r.domains[r.plan.Of[m]].order, int(r.local[m]) })
	for _, d := range r.domains {
		d.end()
	}
	r.next = r.first()
}

// now returns the time of the last event.
func (r *domainRun) now() unit.Time {
	return slices.MaxFunc(r.domains, func(a, b *domain) int { return cmp.Compare(a.now, b.now) }).now
}

// first returns the first event of all domains.
func (r *domainRun) first() unit.Time {
	return slices.MinFunc(r.domains, func(a, b *domain) int { return cmp.Compare(a.left, b.left) }).left
}
