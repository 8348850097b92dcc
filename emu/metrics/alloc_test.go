//go:build !race

package metrics

import (
	"testing"

	"fabemu/wire/unit"
)

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
