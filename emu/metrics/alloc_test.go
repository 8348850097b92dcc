//go:build !race

package metrics

import (
	"runtime"
	"testing"

	"fabemu/wire/unit"
)

// The course of a run is handed over by the loop, whose frames wait for it: a large fabric has it take
// no more memory than a small one.
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.course(c.cur)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := taken(2), taken(200)
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
	// Thousands of bins are closed on the way.
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
