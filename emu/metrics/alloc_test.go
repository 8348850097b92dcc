//go:build timing

package metrics

import (
	"math"
	"runtime"
	"testing"

	"fabemu/wire/unit"
)

// kept keeps a course from the stack.
var kept *Course

// The loop hands over the course of a run, and its frames wait for it: the course of a large fabric
// takes no more memory than that of a small one.
func TestAllocsOfACourse(t *testing.T) {
	taken := func(endpoints int) uint64 {
		f, s := paperFabric(endpoints)
		c, err := New(f, s)
		if err != nil {
			t.Fatal(err)
		}
		for i, events := 0, frames(f); i < len(events); i++ {
			c.Record(&events[i])
		}
		c.Advance(10 * ms)
		// The runtime itself allocates now and then: the least of ten is that of the course.
		least := uint64(math.MaxUint64)
		for range 10 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			kept = c.course(c.cur)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		return least
	}
	small, large := taken(2), taken(200)
	if small == 0 {
		t.Error("a course takes no memory: nothing is measured")
	}
	if large > small+small/10 {
		t.Errorf("the course of a large fabric takes %d bytes, that of a small one %d", large, small)
	}
}

func TestAllocsOfRecord(t *testing.T) {
	f, s := paperFabric(10)
	c, err := New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	events := frames(f)
	at, i := unit.Time(0), 0
	// Thousands of bins are closed on the path.
	if n := testing.AllocsPerRun(100_000, func() {
		e := &events[i%len(events)]
		e.At = at
		c.Record(e)
		at += 300 * unit.Time(unit.Nanosecond)
		i++
	}); n != 0 {
		t.Errorf("%v allocations for each event", n)
	}
}
