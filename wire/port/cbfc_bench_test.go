package port

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
)

// silent takes events and keeps none.
type silent struct{}

// Record does nothing.
func (silent) Record(*trace.Event) {}

// hop returns a function that carries a frame over a link, whose receiver frees it at once, and the
// messages of flow control about it.
func hop(c Config) func() {
	var outs [2]Outbox
	rec := trace.NewRecorder(0, silent{})
	a, b := New(0, c, &outs[0], &rec), New(0, c, &outs[1], &rec)
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: 1, Dst: 2, QP: 2, Payload: 1500}
	now, arrival := at(0), new(Arrival)
	carry := func(from *Outbox, to *Port) {
		for tr, ok := from.Poll(); ok; tr, ok = from.Poll() {
			*arrival = Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
			now = max(now, tr.Due)
			if to.Receive(now, arrival) {
				to.Stored(now, arrival, arrival.Length)
				to.Released(now, &arrival.Frame, 0)
				if c := to.Channels(); c != nil {
					c.GiveBack(now, &arrival.Frame, arrival.Length)
				}
			}
		}
	}
	return func() {
		if a.OwesControl(now) {
			a.Control(now)
		}
		if a.MaySend(now, &f, a.Framing().Length(&f)).Block == Open {
			a.Start(now, &f, a.Framing().Length(&f), Note{})
		}
		carry(&outs[0], b)
		if b.OwesControl(now) {
			b.Control(now)
		}
		carry(&outs[1], a)
		now = max(now, a.Transmitter().Free())
	}
}

// The cost of a hop by itself: of PFC, and of credits with the usual spacing of CF_Updates, one in
// five frames.
func BenchmarkHop(b *testing.B) {
	for _, c := range []Config{etherLink(PriorityPauseFrames), channelLink(CBFC{Limit: 60, CFMin: 6400, CFMax: 262144, CCTimer: 256 * us})} {
		b.Run(c.FlowControl.String(), func(b *testing.B) {
			over := hop(c)
			for b.Loop() {
				over()
			}
		})
	}
}
