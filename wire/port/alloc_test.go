//go:build timing

package port

import (
	"testing"

	"fabemu/wire/trace"
)

// "Zero allocations per frame in the steady state": a frame is started, polled,
// received and freed, and the flow control packet for it comes back.
func TestAllocsOfAFrame(t *testing.T) {
	var outs [2]Outbox
	rec := trace.NewRecorder(0, silent{})
	a, b := New(0, paperLink(), &outs[0], &rec), New(0, paperLink(), &outs[1], &rec)
	f := data(0, 1)[0]
	now, arrival := at(0), new(Arrival)
	carry := func(from *Outbox, to *Port) {
		for tr, ok := from.Poll(); ok; tr, ok = from.Poll() {
			*arrival = Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
			now = max(now, tr.Due)
			if to.Receive(now, arrival) {
				to.Free(now, &arrival.Frame)
			}
		}
	}
	round := func() {
		a.Control(now)
		if a.MaySend(now, &f, a.Framing().Length(&f)).Block == Open {
			a.Start(now, &f, a.Framing().Length(&f), Note{})
		}
		carry(&outs[0], b)
		b.Control(now)
		carry(&outs[1], a)
		now = max(now, a.Transmitter().Free())
	}
	for range 10 {
		round()
	}
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("a frame and its credit allocate %v times", n)
	}
}

func TestAllocsOfAHop(t *testing.T) {
	for _, c := range []Config{etherLink(PriorityPauseFrames), channelLink(CBFC{Limit: 60})} {
		over := hop(c)
		for range 100 {
			over()
		}
		if n := testing.AllocsPerRun(1000, over); n != 0 {
			t.Errorf("%v: a hop allocates %v times", c.FlowControl, n)
		}
	}
}
