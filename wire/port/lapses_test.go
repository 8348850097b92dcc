package port

import (
	"slices"
	"testing"

	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// lapse gives a port that sends a fault.
func lapse(p *Port, c fault.Config) {
	c.Share, c.Within = 1, 1
	p.Apply(0, FaultStart{Fault: &c, Out: true, Last: unit.Duration(unit.Never)})
}

// numbers returns the numbers of the data frames that were started.
func numbers(seen []Transmission) (all []uint32) {
	for _, tr := range sent(seen, wire.Data) {
		all = append(all, tr.Frame.PSN)
	}
	return all
}

// A frame of 1500 bytes takes 1.2 us. The third is kept for 3 us from its turn: three others go
// first. A copy follows its frame at once, or after the frames of its time.
func TestLapsesOfAPort(t *testing.T) {
	for _, tc := range []struct {
		c    fault.Config
		want []uint32
	}{
		{fault.Config{Fate: fault.Overtaken, Nth: 3, Delay: 3 * us}, []uint32{0, 1, 3, 4, 5, 2, 6, 7}},
		{fault.Config{Fate: fault.Overtaken, Nth: 2, Every: 3, Delay: us}, []uint32{0, 2, 1, 3, 5, 4, 6, 8}},
		{fault.Config{Fate: fault.Repeated, Nth: 2}, []uint32{0, 1, 1, 2, 3, 4, 5, 6}},
		{fault.Config{Fate: fault.Repeated, Nth: 2, Delay: 2 * us}, []uint32{0, 1, 2, 3, 1, 4, 5, 6}},
		{fault.Config{Fate: fault.Repeated, Nth: 2, Frames: wire.Ack}, []uint32{0, 1, 2, 3, 4, 5, 6, 7}},
	} {
		p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 1e6})
		lapse(p.ports[0], tc.c)
		p.run(unit.Time(20 * us))
		if got := numbers(p.seen[0])[:8]; !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v, want %v", tc.c, got, tc.want)
		}
		all := sent(p.seen[0], wire.Data)
		for i := range all[1:] {
			if all[i+1].Start < all[i].Start.Add(all[i].Duration) {
				t.Errorf("%+v: the link carries two frames at %v", tc.c, all[i+1].Start)
			}
		}
	}
}

// A kept frame obeys PAUSE like any other: none leaves while the port is stopped, and it is the
// first when that is over.
func TestKeptFramesObeyPause(t *testing.T) {
	p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 1e6})
	lapse(p.ports[0], fault.Config{Fate: fault.Overtaken, Nth: 3, Delay: 5 * us})
	p.run(unit.Time(4 * us))
	p.ports[1].Pausing().Stop(0)
	p.run(unit.Time(20 * us))
	before := numbers(p.seen[0])
	p.run(unit.Time(40 * us))
	if got := numbers(p.seen[0]); slices.Contains(got, 2) || len(got) != len(before) {
		t.Fatalf("%v and then %v left a port that is stopped", before, got[len(before):])
	}
	p.ports[1].Pausing().Resume(0)
	p.run(unit.Time(50 * us))
	if got := numbers(p.seen[0]); !slices.Contains(got[len(before):][:3], 2) {
		t.Errorf("%v leave behind the stop", got[len(before):])
	}
}

// A kept frame takes credit when it leaves, so that both ends always count the same: exchange
// checks the credits after each step. No credit is lost.
func TestKeptFramesTakeCredit(t *testing.T) {
	for _, fate := range []fault.Fate{fault.Repeated, fault.Overtaken} {
		x := newExchange(t, paperLink())
		x.quiet, x.b.hold = true, true
		lapse(x.a.port, fault.Config{Fate: fate, Every: 2, Delay: 3 * us, Jitter: us})
		x.queue(x.a, data(0, 40))
		want := 4 // the room of the buffer
		for len(x.b.stored[DataLane]) > 0 || x.now == 0 {
			x.run(20 * us)
			if n := len(x.b.stored[DataLane]); n > want {
				t.Fatalf("%d packets in a buffer of %d", n, want)
			}
			x.free(x.b, DataLane, len(x.b.stored[DataLane]))
			x.run(20 * us)
		}
		x.run(600 * us)
		x.atRest()
		times := map[uint32]int{}
		for _, f := range x.b.came[DataLane] {
			times[f.PSN]++
		}
		for psn := range uint32(40) {
			if want := 1 + int(psn%2)*int(fault.Overtaken-fate); times[psn] != want {
				t.Errorf("%v: packet %d has come %d times, want %d", fate, psn, times[psn], want)
			}
		}
		if late := !slices.IsSortedFunc(x.b.came[DataLane], func(a, b wire.Frame) int { return int(a.PSN) - int(b.PSN) }); !late {
			t.Errorf("%v: all packets have come in order", fate)
		}
	}
}

// Frames that a port keeps are lost with its link.
func TestKeptFramesAreLostWithTheLink(t *testing.T) {
	p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 1e6})
	lapse(p.ports[0], fault.Config{Fate: fault.Overtaken, Delay: 100 * us, Nth: 2, Every: 2})
	p.run(unit.Time(10 * us))
	p.ports[0].Apply(p.now, LinkDown{})
	lost, left := p.count(trace.Drop, trace.LinkWasDown), len(numbers(p.seen[0]))
	if lost == 0 || lost+left != int(p.psn) {
		t.Errorf("%d of %d frames are lost, and %d have left", lost, p.psn, left)
	}
}
