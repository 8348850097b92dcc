package port

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

const packetBlocks = 33 // a SEND-only of 2048 bytes is 2074 bytes on the wire

// joined returns the two ends of a lane, one a sender of data and one with a buffer
// of room blocks, that have told each other their limits.
func joined(room int) (sender, receiver *Credit) {
	s, r := NewCredit(room, 1), NewCredit(room, 1)
	tell(&s, &r)
	tell(&r, &s)
	return &s, &r
}

// tell carries a flow control packet from one to the other.
func tell(from, to *Credit) {
	f := from.Packet(DataLane)
	to.Receive(&f)
}

// The algorithm of the counters (IBTA Volume 1, 7.9.4), on four packets of 33 blocks, 132
// in all:
//
//	init: FCCL = 132.
//	Send 4 packets: FCTBS = 132.
//	The fifth: (132 - 165) mod 4096 = 4063 > 2048: blocked.
//	The receiver frees one packet: ABR = 132, free = 33: FCCL = 165.
//	(165 - 165) = 0 <= 2048: allowed.
func TestWorkedExample(t *testing.T) {
	s, r := NewCredit(132, 1), NewCredit(132, 1)
	if s.MaySend(1) || s.Left() != 0 {
		t.Error("a sender that knows no limit may send")
	}
	init := r.Packet(DataLane)
	if init.Credit().Op != wire.OpInit || init.Credit().FCTBS != 0 || init.Credit().FCCL != 132 {
		t.Errorf("the receiver begins with %+v, want init, FCTBS 0, FCCL 132", init)
	}
	s.Receive(&init)
	for i := range 4 {
		if !s.MaySend(packetBlocks) {
			t.Fatalf("packet %d: may not send", i)
		}
		s.Sent(packetBlocks)
		if !r.Received(packetBlocks) {
			t.Fatalf("packet %d: no room", i)
		}
	}
	if s.consumed != 132 {
		t.Errorf("FCTBS = %d, want 132", s.consumed)
	}
	if got := (s.limit - s.consumed - packetBlocks) % modulus; got != 4063 {
		t.Errorf("(132-165) mod 4096 = %d, want 4063", got)
	}
	if s.MaySend(packetBlocks) || s.MaySend(1) {
		t.Error("the fifth packet may be sent")
	}
	r.Freed(packetBlocks)
	f := r.Packet(DataLane)
	if r.received != 132 || f.Credit().FCCL != 165 {
		t.Errorf("ABR = %d, FCCL = %d, want 132, 165", r.received, f.Credit().FCCL)
	}
	s.Receive(&f)
	if !s.MaySend(packetBlocks) {
		t.Error("the fifth packet may not be sent after one was freed")
	}
	if s.MaySend(packetBlocks + 1) {
		t.Error("one block more than there is room for may be sent")
	}
}

// "Lost FCP: nothing to repair; the next FCP carries absolute FCCL."
func TestLostFCPHealsAtTheNext(t *testing.T) {
	s, r := joined(132)
	for range 4 {
		s.Sent(packetBlocks)
		r.Received(packetBlocks)
	}
	r.Freed(packetBlocks)
	r.Packet(DataLane) // lost
	if s.Left() != 0 {
		t.Fatalf("%d blocks left, want 0", s.Left())
	}
	r.Freed(packetBlocks)
	tell(r, s)
	if s.Left() != 2*packetBlocks {
		t.Errorf("%d blocks left after the next one, want those of both packets: %d", s.Left(), 2*packetBlocks)
	}
}

// "Lost data packet: receiver's ABR is short by its blocks: credits leak until the
// next FCP sets ABR := FCTBS."
func TestLostDataHealsAtTheNext(t *testing.T) {
	s, r := joined(132)
	s.Sent(packetBlocks) // lost
	tell(r, s)
	if s.Left() != 99 {
		t.Errorf("%d blocks left, want 99: the peer does not know yet", s.Left())
	}
	tell(s, r) // FCTBS 33
	tell(r, s)
	if s.Left() != 132 {
		t.Errorf("%d blocks left after the resynchronisation, want 132", s.Left())
	}
}

// Absolute counters: a packet that comes twice says the same twice.
func TestRepeatedFCPChangesNothing(t *testing.T) {
	s, r := joined(132)
	s.Sent(packetBlocks)
	r.Received(packetBlocks)
	r.Freed(packetBlocks)
	f, g := r.Packet(DataLane), s.Packet(DataLane)
	s.Receive(&f)
	r.Receive(&g)
	before, after := *s, *r
	for range 3 {
		s.Receive(&f)
		r.Receive(&g)
	}
	if *s != before || *r != after {
		t.Errorf("repeated: %+v became %+v, %+v became %+v", before, *s, after, *r)
	}
}

// "An old FCCL can look like less credit (harmless) but an old FCTBS sets ABR
// backwards: FCCL too small until the next FCP." Never more than there is.
func TestOldFCPIsHarmless(t *testing.T) {
	s, r := joined(132)
	old, oldOfSender := r.Packet(DataLane), s.Packet(DataLane) // delayed
	for range 20 {
		s.Sent(packetBlocks)
		r.Received(packetBlocks)
		r.Freed(packetBlocks)
		tell(r, s)
	}
	s.Receive(&old) // limit 132, and 660 were sent
	if s.MaySend(1) || s.Left() != 0 {
		t.Errorf("after an old FCCL: may send %v, %d blocks left; want no credit at all", s.MaySend(1), s.Left())
	}
	r.Receive(&oldOfSender) // FCTBS 0
	tell(r, s)
	if s.MaySend(1) || s.Left() != 0 {
		t.Errorf("after an old FCTBS: %d blocks left, want none", s.Left())
	}
	tell(s, r)
	tell(r, s)
	if s.Left() != 132 {
		t.Errorf("after the next FCPs: %d blocks left, want 132", s.Left())
	}
}

// The counters are 12 bits wide and go round: 100 000 packets of all sizes are 400
// rounds and more.
func TestCountersWrap(t *testing.T) {
	random := unit.NewRandom(3, 0)
	for _, room := range []int{66, 132, 2047, 2048} {
		s, r := joined(room)
		stored, wraps := []int{}, 0
		for range 100_000 {
			n := 1 + int(random.Below(66))
			if s.MaySend(n) {
				before := s.consumed
				s.Sent(n)
				if s.consumed < before {
					wraps++
				}
				if !r.Received(n) {
					t.Fatalf("room %d: overrun by %d blocks at %d of %d", room, n, r.Used(), r.Room())
				}
				stored = append(stored, n)
			} else {
				if n <= room-r.Used() {
					t.Fatalf("room %d: %d blocks are free, all told, and %d may not be sent", room, room-r.Used(), n)
				}
				r.Freed(stored[0])
				stored = stored[1:]
				tell(r, s)
			}
			if s.Left()+r.Used() != room {
				t.Fatalf("room %d: %d blocks left and %d stored", room, s.Left(), r.Used())
			}
		}
		if wraps < 100 {
			t.Errorf("room %d: only %d rounds", room, wraps)
		}
	}
}

// Op: "0 = normal, 1 = init (link initialisation); other values: discard."
func TestReservedOperandIsDiscarded(t *testing.T) {
	s, _ := joined(132)
	before := *s
	for op := wire.Op(2); op < 16; op++ {
		f := wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: op, FCTBS: 77, FCCL: 1077})}
		if s.Receive(&f) {
			t.Errorf("operand %d is taken in", op)
		}
		if *s != before {
			t.Fatalf("operand %d: %+v became %+v", op, before, *s)
		}
	}
}

// FCCL = (ABR + min(free blocks, 2048)) mod 4096: half the range of the counters is
// all that can be offered, however large the buffer.
func TestAdvertisedRoomIsCapped(t *testing.T) {
	for _, tc := range []struct{ room, want int }{{0, 0}, {1, 1}, {2047, 2047}, {2048, 2048}, {2049, 2048}, {1 << 20, 2048}} {
		s, r := joined(tc.room)
		if s.Left() != tc.want {
			t.Errorf("room for %d blocks: %d are offered, want %d", tc.room, s.Left(), tc.want)
		}
		if tc.want > 0 {
			s.Sent(tc.want)
			r.Received(tc.want)
		}
		if s.MaySend(1) {
			t.Errorf("room for %d blocks: more may be sent than was offered", tc.room)
		}
		tell(r, s)
		if want := min(tc.room-tc.want, 2048); s.Left() != want {
			t.Errorf("room for %d blocks, %d stored: %d are offered, want %d", tc.room, tc.want, s.Left(), want)
		}
	}
}

// What comes without room is not stored, and its blocks count as received: the
// promise is broken, the counters are not.
func TestOverrunKeepsTheCounters(t *testing.T) {
	s, r := joined(66)
	r.Received(60)
	if r.Received(packetBlocks) {
		t.Error("93 blocks are stored in 66")
	}
	if r.Used() != 60 {
		t.Errorf("%d blocks are stored, want 60", r.Used())
	}
	s.consumed = 93 // what the sender has sent, by mistake
	tell(r, s)
	if s.Left() != 6 {
		t.Errorf("%d blocks left, want those 6 that are free", s.Left())
	}
}

// Credit is asked for before it is used, and nothing is freed twice: mistakes of
// ours panic.
func TestMistakesPanic(t *testing.T) {
	s, r := joined(40)
	s.Sent(packetBlocks)
	mustPanic(t, "sent without credit", func() { s.Sent(8) })
	r.Received(packetBlocks)
	mustPanic(t, "freed more than was stored", func() { r.Freed(packetBlocks + 1) })
	fresh := NewCredit(40, 1)
	mustPanic(t, "sent before the peer told its limit", func() { fresh.Sent(1) })
}

// "whose peer is told once batch blocks have been freed, at least": nothing is owed
// before.
func TestBatch(t *testing.T) {
	for _, batch := range []int{-1, 0, 1, 2, 32, 64} {
		r := NewCredit(64, batch)
		for i := range 64 {
			r.Received(1)
			owes := r.Freed(1)
			if want := (i+1)%max(batch, 1) == 0; owes != want {
				t.Fatalf("batches of %d: after %d blocks owed is %v, want %v", batch, i+1, owes, want)
			}
			if owes {
				r.Packet(AckLane)
			}
		}
	}
}
