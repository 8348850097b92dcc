package netstack

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"fabemu/wire/unit"
)

// clock is the time of a stack (tcpip.Clock). Timers are set by the goroutines of the stack,
// which the caller waits for, and run only by the caller.
type clock struct {
	mu     sync.Mutex
	now    time.Duration // since the beginning of the model
	made   uint64
	timers []*timer // that are set, in the order in which they run
}

// epoch is the beginning of the model for a stack, which treats times near zero as unset.
var epoch = time.Unix(1_000_000_000, 0)

// timer is one call at an instant (tcpip.Timer).
type timer struct {
	clock *clock
	do    func()
	at    time.Duration
	order uint64 // timers of one instant run in the order in which they were set
}

// compare orders timers as they run.
func (t *timer) compare(o *timer) int {
	return cmp.Or(cmp.Compare(t.at, o.at), cmp.Compare(t.order, o.order))
}

// Now returns the time of day.
func (c *clock) Now() time.Time { return epoch.Add(c.read()) }

// NowMonotonic returns the time for differences.
func (c *clock) NowMonotonic() tcpip.MonotonicTime {
	return tcpip.MonotonicTime{}.Add(time.Hour + c.read())
}

// read returns the time, and advances the clock by a nanosecond. The segments of a burst must
// differ in their times: RACK orders segments by them (RFC 8985, 6.2), and regards all segments
// of an instant as lost when the first of them is acknowledged.
func (c *clock) read() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	return c.now
}

func (c *clock) passed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, do func()) tcpip.Timer {
	t := &timer{clock: c, do: do}
	t.Reset(d)
	return t
}

// Stop takes a timer out, and reports whether it was set.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.takeOut()
}

// takeOut takes a timer out of those that are set, and reports whether it was there.
func (t *timer) takeOut() bool {
	i, set := slices.BinarySearchFunc(t.clock.timers, t, (*timer).compare)
	if set {
		t.clock.timers = slices.Delete(t.clock.timers, i, i+1)
	}
	return set
}

// Reset sets a timer again. One that is due at once runs at this instant, in its turn.
func (t *timer) Reset(d time.Duration) {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	t.takeOut()
	c.made++
	t.at, t.order = c.now+max(d, 0), c.made
	i, _ := slices.BinarySearchFunc(c.timers, t, (*timer).compare)
	c.timers = slices.Insert(c.timers, i, t)
}

// set puts the clock forward to an instant of the model.
func (c *clock) set(now unit.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, time.Duration(now/unit.Time(unit.Nanosecond)))
}

// due takes out the next timer whose time has come; nil: there is none.
func (c *clock) due() *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].at > c.now {
		return nil
	}
	t := c.timers[0]
	c.timers = slices.Delete(c.timers, 0, 1)
	return t
}

// next returns when the next timer is due.
func (c *clock) next() unit.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return unit.Never
	}
	return unit.Time(c.timers[0].at) * unit.Time(unit.Nanosecond)
}
