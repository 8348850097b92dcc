package drive

import "fabemu/wire/unit"

// Dilate returns the wall time of a model time, in nanoseconds, rounded down. D * t fits into 64
// bits for any run that ends within 290 years of wall time.
func Dilate(t unit.Time, dilation int64) int64 {
	return int64(t)/1000*dilation + int64(t)%1000*dilation/1000
}

// Measured shows limiters the run clock: the model time that it has reached, which is 0 before the
// run begins. While the machine does not run the loop, the clock is held, so readings do not jump.
// It belongs to the loop of the run.
type Measured struct {
	run  *sockets
	last unit.Time // the latest reading
}

// Now reads the run clock. Readings never decrease.
func (m *Measured) Now() unit.Time {
	if m.run == nil {
		return 0
	}
	now := m.run.clock()
	m.run.keep(now, m.run.wallOf(m.run.order.now))
	m.last = max(m.last, m.run.at(now)) // which is 0 at first
	return m.last
}

// runClock is the clock of a run: wall time = epoch + factor * model time. Where the loop is later
// than the bound, because the machine did not run it or because the dilation leaves too little
// time, the clock is held: the epoch moves forward by the lateness. The run then continues with the
// gaps of the model, and no frame leaves early.
type runClock struct {
	clock  func() int64 // the wall clock, in ns
	factor int64        // the dilation
	began  int64        // wall time at which the run started
	held   int64        // how long the clock has been held
	shared Hold         // the same of all parts of a run; nil: there are none

	// bound is the lateness from which on the clock is held; 0: it never is. It grows from tight to
	// loose while the loop falls behind step by step.
	bound, tight, loose int64
	calm                int64 // when the bound shrinks, unless the loop falls behind before
	gap                 int64 // the longest time between two readings since the loop was last in time
}

// Hold is how long the run clock of several parts has been held, in ns of wall time. It only grows.
type Hold interface {
	// Held returns how long that is.
	Held() int64
	// Raise raises it from one value to another. It reports false if another part has raised it
	// since it was from.
	Raise(from, to int64) bool
}

// at returns the model time of a reading of the wall clock; it is negative before the run.
func (c *runClock) at(now int64) unit.Time {
	wall := now - c.began - c.held
	return unit.Time(wall/c.factor*1000 + wall%c.factor*1000/c.factor)
}

// wallOf returns the wall time of a model time.
func (c *runClock) wallOf(t unit.Time) int64 { return c.began + c.held + Dilate(t, c.factor) }

const (
	// boundLeast is the smallest bound in ns: the call for one train is no reason to hold the
	// clock.
	boundLeast = 5_000
	// Where T is shorter than shortT, which is about what two trains cost, a loop that is behind
	// trades the gaps for the pace: the bound grows to looseShort, because long trains are what
	// sustains so low a dilation. Where each link has its own trains, it takes longer until they
	// are long: the bound grows to looseApart.
	shortT     = 16_000
	looseShort = 200_000
	looseApart = 1_000_000
	// calmBounds is for how many bounds a loop must not fall behind until the bound shrinks.
	calmBounds = 200
	// Processes wake one another some 0.1 ms late. Where T is shorter than shortShared, the gaps
	// cannot be the model's, and the bound is boundShared: processes that lag behind are woken by
	// each other, which is faster than by timers.
	shortShared = 1_000_000
	boundShared = 50_000_000
)

// bounds returns the smallest and the largest lateness from which on the clock is held, where the
// shortest T is t: T, in general. A hold puts a gap of each link off, and a shorter lateness only
// the gaps of the few frames that are due meanwhile. If limiters read the clock, the bound is also
// by how much they are late.
func bounds(t int64, limiters, processes, apart bool) (tight, loose int64) {
	switch tight = max(boundLeast, t); {
	case limiters:
		tight = max(boundLeast, t/4)
	case processes && t < shortShared:
		tight = boundShared
	case t < shortT && apart:
		return tight, looseApart
	case t < shortT:
		return tight, looseShort
	}
	return tight, tight
}

// keep holds the clock if what was due at an instant is later than the bound. It reports whether it
// has.
func (s *sockets) keep(now, due int64) (held bool) {
	s.gap = max(s.gap, now-s.now)
	late := now - due
	switch {
	case late <= 0:
		if s.gap = 0; s.bound > s.tight && now > s.calm {
			s.bound = max(s.tight, s.bound/2)
			s.calm = now + calmBounds*s.bound
		}
	case s.bound > 0 && late > s.bound:
		if s.gap < late/2 { // step by step: no stall
			s.bound = min(2*s.bound, s.loose)
			s.calm = now + calmBounds*s.bound
		}
		s.gap = 0
		s.hold(late)
		return true
	}
	return false
}

// hold holds the clock for so many ns.
func (s *sockets) hold(ns int64) {
	if s.shared != nil && !s.shared.Raise(s.held, s.held+ns) {
		return // follow takes that in
	}
	s.move(ns)
	s.Hold(s.order.now, ns, 20*s.floor) // the shortest T
}

// follow holds the clock as far as other parts have. A frame that waits leaves before that, by the
// clock of its event.
func (s *sockets) follow() {
	if s.shared != nil && s.queue.count == 0 {
		s.held = max(s.held, s.shared.Held())
	}
}

// move moves what waits for its instant by so many ns.
func (s *sockets) move(ns int64) {
	s.held += ns
	s.delay(&s.queue, ns)
	for _, i := range s.dirty {
		s.delay(&s.tracks[i].leaving, ns)
	}
}

// delay moves the instants of parcels.
func (s *sockets) delay(l *list, ns int64) {
	i := l.first
	for range l.count {
		p := &s.parcels[i]
		p.at += ns
		i = p.next
	}
}
