//go:build timing

package trace_test

import (
	"testing"

	"fabemu/wire/trace"
)

// last keeps one event, over the one before.
type last struct{ e trace.Event }

// Record keeps an event.
func (l *last) Record(e *trace.Event) { l.e = *e }

// "Zero allocations per frame in the steady state": to report is not to allocate.
func TestAllocsOfAnEvent(t *testing.T) {
	var l last
	rec := trace.NewRecorder(1, &l)
	if n := testing.AllocsPerRun(1000, func() { rec.Emit(trace.Event{At: 5, Kind: trace.Start, PSN: 1}) }); n != 0 {
		t.Errorf("an event allocates %v times", n)
	}
}
