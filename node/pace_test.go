package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// paced is a source that offers one packet in 10 µs.
func paced(t *testing.T) node.Flow {
	f := greedy(t, 7, gigabyte)
	f.Transport, f.Pace = acked(100), unit.Rate(2068*8*100_000)
	return f
}

// A source with a pace sends at it, from its start on, and is idle in between.
func TestPace(t *testing.T) {
	b := newBench(t, paced(t)).open()
	b.run(at(35 * us))
	if diff := cmp.Diff([]unit.Time{0, at(10 * us), at(20 * us), at(30 * us)}, b.starts(7)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	for _, e := range b.reported(trace.Stall) {
		if e.A == int64(port.RateLimited) {
			t.Errorf("what is not offered is not limited: %+v", e)
		}
	}
}

// Of what a source could not send it makes up for one packet: in any time there are no
// more packets than its rate allows, and one.
func TestPaceIsNeverExceeded(t *testing.T) {
	f := paced(t)
	f.Transport = acked(1)
	b := newBench(t, f).open()
	for i, ack := range []unit.Duration{73, 76, 77, 94, 96} {
		b.run(at(ack * us))
		b.give(b.ackOf(&b.frames(wire.Data)[i], false))
	}
	b.run(at(110 * us))
	if diff := cmp.Diff([]unit.Time{0, at(73 * us), at(76 * us), at(83 * us), at(94 * us), at(103 * us)}, b.starts(7)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

// The slower of pace and limiter counts.
func TestPaceAndLimiter(t *testing.T) {
	f := paced(t)
	f.Limiter, f.Reaction = greedy(t, 7, gigabyte/10).Limiter, greedy(t, 7, gigabyte/10).Reaction
	b := newBench(t, f).open()
	b.run(at(50 * us))
	if starts := b.starts(7); len(starts) < 3 || starts[1] != at(10*tp) || starts[2] != at(20*tp) {
		t.Errorf("starts %v, want %v apart", starts, 10*tp)
	}
}
