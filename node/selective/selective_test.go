package selective_test

import (
	"slices"
	"testing"

	"fabemu/node/selective"
	"fabemu/wire/unit"
)

const us = unit.Microsecond

// ack is an ACK: all packets before one, and another one, if it is not negative.
type ack struct{ all, selected int }

// sending sends so many packets, 100 bytes each, one in a microsecond.
func sending(l selective.Loss, n int) *selective.Scoreboard {
	b := &selective.Scoreboard{Loss: l}
	for i := range n {
		b.Send(unit.Time(i)*unit.Time(us), 100, uint16(i))
	}
	return b
}

func (a ack) give(b *selective.Scoreboard) unit.Size {
	return b.Ack(uint64(a.all), uint64(max(a.selected, 0)), a.selected >= 0)
}

// losses returns the packets that are found lost now.
func losses(b *selective.Scoreboard) (all []uint64) {
	for n, ok := b.Lose(); ok; n, ok = b.Lose() {
		all = append(all, n)
	}
	return all
}

// "Others that were sent later have arrived": by a number, by a time, by either, by none.
func TestLosses(t *testing.T) {
	for name, c := range map[string]struct {
		loss selective.Loss
		acks []ack
		want []uint64 // after the last ACK; before, none is lost
	}{
		"nothing is ahead":               {selective.Loss{Distance: 1}, []ack{{1, -1}, {2, -1}, {10, -1}}, nil},
		"one is overtaken, IRN":          {selective.Loss{Distance: 1}, []ack{{1, -1}, {1, 2}}, []uint64{1}},
		"two are overtaken by one":       {selective.Loss{Distance: 1}, []ack{{1, -1}, {1, 3}}, []uint64{1, 2}},
		"not far enough":                 {selective.Loss{Distance: 3}, []ack{{1, 2}, {1, 3}}, nil},
		"just far enough":                {selective.Loss{Distance: 3}, []ack{{1, 3}, {1, 4}}, []uint64{1}},
		"far enough at once":             {selective.Loss{Distance: 3}, []ack{{0, 9}}, []uint64{0, 1, 2, 3, 4, 5, 6}},
		"not long enough":                {selective.Loss{Time: 3*us + 1}, []ack{{1, 4}}, nil},
		"just long enough":               {selective.Loss{Time: 3 * us}, []ack{{1, 3}, {1, 4}}, []uint64{1}},
		"what comes first":               {selective.Loss{Distance: 5, Time: 3 * us}, []ack{{1, 4}}, []uint64{1}},
		"only a timer finds it":          {selective.Loss{}, []ack{{1, 9}}, nil},
		"the ACK comes again":            {selective.Loss{Distance: 2}, []ack{{1, 2}, {1, 2}, {1, 2}}, nil},
		"an older ACK":                   {selective.Loss{Distance: 1}, []ack{{5, -1}, {3, -1}, {3, 1}}, nil},
		"of what was never sent":         {selective.Loss{Distance: 1}, []ack{{11, -1}, {0, 10}, {0, 500}}, nil},
		"the gap is closed by the other": {selective.Loss{Distance: 2}, []ack{{0, 1}, {2, -1}, {10, -1}}, nil},
	} {
		b := sending(c.loss, 10)
		for i, a := range c.acks {
			a.give(b)
			if got := losses(b); i < len(c.acks)-1 && got != nil || i == len(c.acks)-1 && !slices.Equal(got, c.want) {
				t.Errorf("%s: ACK %d: %v are lost, want %v after the last", name, i, got, c.want)
			}
		}
	}
}

// A retransmission that is lost is found as its first transmission was; the ACK of a packet that
// was retransmitted shows nothing about others, because either transmission may have arrived.
func TestRetransmissions(t *testing.T) {
	b := sending(selective.Loss{Distance: 2}, 6) // 0 and 1 are lost
	ack{0, 3}.give(b)
	if got := losses(b); !slices.Equal(got, []uint64{0, 1}) {
		t.Fatalf("%v are lost", got)
	}
	now := unit.Time(10 * us)
	for want := range uint64(2) {
		if n, ok := b.Lost(); !ok || n != want {
			t.Fatalf("packet %d waits, %v; want %d", n, ok, want)
		}
		b.Resend(now, 77)
	}
	if _, ok := b.Lost(); ok || b.Path(0) != 77 || b.Path(5) != 5 {
		t.Errorf("one waits (%v), paths %d and %d", ok, b.Path(0), b.Path(5))
	}
	if (ack{0, 1}).give(b); losses(b) != nil {
		t.Error("the ACK of a packet that was retransmitted shows a loss")
	}
	for range 2 {
		b.Send(now, 100, 0)
	}
	ack{0, 7}.give(b) // its order is 9; that of packet 0 is 6, of packet 5 5, of packet 4 4
	if got := losses(b); !slices.Equal(got, []uint64{2, 4, 5, 0}) {
		t.Errorf("%v are lost, want those that were sent two before packet 7", got)
	}
	if (ack{3, -1}).give(b); b.First() != 3 || b.InFlight() != 5 {
		t.Errorf("the first is %d of %d", b.First(), b.InFlight())
	}
	if n, ok := b.Lost(); !ok || n != 4 {
		t.Errorf("packet %d waits, want 4: 0 and 2 have arrived after all", n)
	}
}

// "Finds the packet underway that was sent first lost, whatever has arrived", and lengths are those
// of what is underway.
func TestExpiry(t *testing.T) {
	b := sending(selective.Loss{}, 5)
	if news := (ack{1, 3}).give(b); news != 200 || b.Underway() != 300 {
		t.Errorf("%d bytes have arrived, %d are underway", news, b.Underway())
	}
	var all []uint64
	for n, ok := b.Expire(); ok; n, ok = b.Expire() {
		all = append(all, n)
	}
	if !slices.Equal(all, []uint64{1, 2, 4}) || b.Underway() != 0 {
		t.Errorf("%v are lost, %d bytes underway", all, b.Underway())
	}
	if news := (ack{3, -1}).give(b); news != 200 { // 1 and 2 were only late
		t.Errorf("%d bytes have arrived", news)
	}
	if n, ok := b.Lost(); !ok || n != 4 {
		t.Errorf("packet %d waits, %v", n, ok)
	}
}

// Packets that came early are taken out when it is their turn, across the end of the sequence.
func TestArrivals(t *testing.T) {
	const end = 1 << 24
	for _, first := range []uint32{0, 5, end - 1, end - 7, end - 100} {
		var a selective.Arrivals
		psn := func(i uint32) uint32 { return (first + i) % end }
		for _, i := range []uint32{3, 1, 200, 7, 2} {
			if a.Has(first, psn(i)) {
				t.Errorf("packet %d is there", i)
			}
			a.Keep(first, psn(i), selective.Packet{Payload: i})
			if !a.Has(first, psn(i)) || a.Has(first, psn(0)) {
				t.Errorf("packet %d is not there, or packet 0 is", i)
			}
		}
		if _, ok := a.Take(first); ok {
			t.Error("packet 0 has come")
		}
		for i := uint32(1); i < 4; i++ {
			if p, ok := a.Take(psn(i)); !ok || p.Payload != i || p.Ahead != i {
				t.Errorf("packet %d: %+v, %v", i, p, ok)
			}
		}
		if _, ok := a.Take(psn(4)); ok || a.Kept() != 2 || a.Has(psn(4), psn(3)) || !a.Has(psn(4), psn(7)) {
			t.Errorf("packet 4 has come, or %d wait", a.Kept())
		}
	}
}

// A reference: whatever is lost, doubled and late, each packet is delivered exactly once, and in
// order; the source learns of each, and both ends then have nothing in flight. A path is a list of
// what is on it; each step takes something from anywhere in it.
func TestEachPacketOnce(t *testing.T) {
	for seed := range uint64(300) {
		r := unit.NewRandom(seed, 7)
		below := func(n int) int { return int(r.Below(uint64(n))) }
		loss := selective.Loss{Distance: below(6), Time: unit.Duration(below(3)) * 5 * us}
		window, packets := 1+below(40), 1+below(300)
		late, lost, twice := 1+below(20), below(4), below(4)
		var (
			b           selective.Scoreboard
			a           selective.Arrivals
			there       []uint64
			back        []ack
			next, quiet int // the packet to be delivered, and steps without news
			delivered   = make([]int, packets)
		)
		b.Loss = loss
		put := func(on []uint64, n uint64) []uint64 {
			if below(10) >= lost {
				if on = append(on, n); below(10) < twice {
					on = append(on, n)
				}
			}
			return on
		}
		now := unit.Time(0)
		for step := 0; b.First() < uint64(packets); step++ {
			if step > 200_000 {
				t.Fatalf("seed %d: it does not end: %d of %d", seed, b.First(), packets)
			}
			now += unit.Time(us)
			n, again := b.Lost()
			switch quiet++; {
			case again:
				b.Resend(now, 0)
				there = put(there, n)
			case b.Next() < uint64(packets) && b.InFlight() < window:
				there = put(there, b.Next())
				b.Send(now, 100, 0)
			case quiet > 100: // the timer
				quiet = 0
				for _, ok := b.Expire(); ok; _, ok = b.Expire() {
				}
			}
			if len(there) > 0 && (below(2) == 0 || len(there) > late) {
				i := below(min(len(there), late))
				psn := int(there[i])
				there = slices.Delete(there, i, i+1)
				answer := ack{selected: -1}
				switch {
				case psn == next:
					for ok := true; ok; _, ok = a.Take(uint32(next)) {
						delivered[next]++
						next++
					}
				case psn > next && !a.Has(uint32(next), uint32(psn)):
					a.Keep(uint32(next), uint32(psn), selective.Packet{})
					answer.selected = psn
				}
				if answer.all = next; below(10) >= lost {
					back = append(back, answer)
				}
			}
			if len(back) > 0 && below(2) == 0 {
				i := below(min(len(back), late))
				if back[i].give(&b) > 0 {
					quiet = 0
				}
				back = slices.Delete(back, i, i+1)
				for _, ok := b.Lose(); ok; _, ok = b.Lose() {
				}
			}
		}
		for n, times := range delivered {
			if times != 1 {
				t.Fatalf("seed %d: packet %d of %d was delivered %d times", seed, n, packets, times)
			}
		}
		if b.InFlight() != 0 || b.Underway() != 0 || a.Kept() != 0 {
			t.Errorf("seed %d: at the end %d are in flight, %d bytes, %d are kept", seed, b.InFlight(), b.Underway(), a.Kept())
		}
	}
}
