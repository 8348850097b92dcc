package trace_test

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// counter counts for one port, in one bin.
type counter struct{ port []trace.Counts }

func (counter) Record(*trace.Event)        {}
func (c counter) Own(int32) *trace.Own     { return &trace.Own{Ports: c.port} }
func (counter) Bin() (from, to unit.Time)  { return 0, 1000 }
func (counter) Advance(unit.Time)          {}
func (counter) Settle(func(end unit.Time)) {}

// A frame that passes is counted as one that arrives and is released at the same instant, where
// buffers are of the port and where they are of its lanes. Where events are wanted, nothing is.
func TestPassed(t *testing.T) {
	for _, lanes := range []uint8{255, 0} {
		count := func(passes bool) trace.Counts {
			c := counter{make([]trace.Counts, 1)}
			if c.port[0].Lanes = lanes; lanes == 0 {
				c.port[0].ByLane = &[]int64{0, 0}
			}
			events := trace.NewBatch(trace.MaxBatch, c)
			events.Count(c, trace.Flows{})
			r := trace.NewRecorder(0, events)
			held := wire.Frame{Kind: wire.Data}
			r.Arrive(10, 0, &held, 700, 700)
			for at, n := range map[unit.Time]unit.Size{20: 300, 30: 500} {
				f := wire.Frame{Kind: wire.Data, Lane: 1}
				before := int64(0)
				if lanes == 255 {
					before = 700
				}
				if !passes {
					r.Arrive(at, 0, &f, uint32(n), before+int64(n))
					r.Release(at, 0, &f, before)
				} else if !r.Passed(at, 0, n) {
					t.Error("it wants events")
				}
			}
			got := c.port[0]
			got.ByLane = nil
			if r.Passed(1000, 0, 9000) || c.port[0].Most != got.Most {
				t.Error("a frame behind the bin is counted")
			}
			return got
		}
		if got, want := count(true), count(false); got != want || want.Most != 1200 {
			t.Errorf("%d lanes: %+v, want %+v", lanes, got, want)
		}
	}
	if r := trace.NewRecorder(0, trace.NewBatch(trace.MaxBatch)); r.Passed(0, 0, 1500) {
		t.Error("a recorder without a counter counts")
	}
}
