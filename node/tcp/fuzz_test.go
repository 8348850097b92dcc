package tcp

import (
	"encoding/binary"
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// FuzzConnection hands both ends what they say to each other and anything else, at any time.
// Neither panics nor continues forever at one instant; the Sender keeps within the window; the
// Receiver counts no byte twice; and once nothing strange comes any more, all bytes arrive,
// unless a reset did.
func FuzzConnection(f *testing.F) {
	f.Add(uint8(0), uint16(100), []byte{0, 1, 2, 3})
	f.Add(uint8(7), uint16(1000), []byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789"))
	f.Add(uint8(32), uint16(9000), []byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789"))
	f.Add(uint8(255), uint16(65535), []byte{8, 16, 24, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 9, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, how uint8, window uint16, steps []byte) {
		p := defaults(func(p *Params) {
			p.Recovery, p.ECN = Recovery(how%3), how&4 != 0
			p.ReceiveWindow = unit.Size(window) + 64
			if how&8 != 0 {
				p.Read = 8_000_000
			}
			if how&16 != 0 {
				p.DelayedACK = 0
			}
		})
		c := newPair(p, uint64(how))
		if how&32 != 0 {
			c.agree()
		}
		c.writes = []uint64{5000, 1, 20000}
		for _, n := range c.writes {
			c.s.Write(n, true)
		}
		c.s.Close()
		var there, back []wire.Segment // on the way
		pump := func() {
			c.s.Advance(c.now)
			for k := 0; ; k++ {
				g, _, ok := c.s.Next(c.now)
				if !ok {
					break
				}
				if k > 1000 {
					t.Fatal("the sender goes on for ever")
				}
				c.s.Sent(c.now, &g)
				there = append(there, g)
			}
			c.r.Advance(c.now)
			for k := 0; ; k++ {
				g, ok := c.r.Next(c.now)
				if !ok {
					break
				}
				if k > 10 {
					t.Fatal("the receiver goes on for ever")
				}
				back = append(back, g)
			}
		}
		give := func(g *wire.Segment) {
			if g.Back {
				c.s.Receive(c.now, g)
				return
			}
			c.inOrder += c.r.Receive(c.now, g).InOrder
			for _, size, ok := c.r.Ended(); ok; _, size, ok = c.r.Ended() {
				c.ended = append(c.ended, size)
			}
		}
		forged := false
		for len(steps) > 0 {
			what := steps[0]
			steps = steps[1:]
			switch {
			case what&3 == 0 && len(there) > 0:
				give(&there[0])
				there = there[1:]
			case what&3 == 1 && len(back) > 0:
				give(&back[0])
				back = back[1:]
			case what&3 == 2:
				c.now = c.now.Add(unit.Duration(what>>2) * 20 * ms)
			case what&7 == 3 && len(there) > 1: // out of order, or lost
				there[0] = there[len(there)-1]
				there = there[:len(there)-1]
			case what&7 == 7 && len(steps) >= 14:
				g := wire.Segment{
					Back: what&8 != 0, Flags: steps[0], Window: binary.BigEndian.Uint16(steps[1:]), Length: uint32(steps[3]) * uint32(steps[4]) % 9000,
					Seq: uint32(int32(int16(binary.BigEndian.Uint16(steps[5:])))), Ack: uint32(int32(int16(binary.BigEndian.Uint16(steps[7:])))),
					MSS: uint16(steps[9]), Scales: steps[10]&1 == 1, Scale: steps[10] >> 4 & 15, SACKPermitted: steps[10]&2 != 0, CE: steps[10]&4 != 0,
				}
				from, to := c.s.sequence(c.s.una), c.s.rcv
				if g.Back {
					g.Seq, g.Ack = g.Seq+to, g.Ack+from
					left := from + uint32(int32(int8(steps[11])))*uint32(steps[12])
					g.SACK[0] = wire.SACKBlock{Left: left, Right: left + uint32(steps[13])*64}
				} else {
					g.Seq, g.Ack = g.Seq+from, g.Ack+theirISS+1
				}
				steps = steps[14:]
				forged = true
				give(&g)
			}
			pump()
		}
		if c.inOrder > 25001 && !forged {
			t.Fatalf("%d bytes of 25001 came", c.inOrder)
		}
		if forged { // it may have reset the connection, told a window that is none, or acknowledged what is lost
			return
		}
		pump()
		for k := 0; k < 3000 && (len(there)+len(back) > 0 || min(c.s.Deadline(), c.r.Deadline()) < unit.Never); k++ {
			for len(there) > 0 || len(back) > 0 {
				if len(there) > 0 {
					give(&there[0])
					there = there[1:]
				}
				if len(back) > 0 {
					give(&back[0])
					back = back[1:]
				}
				pump()
			}
			if next := min(c.s.Deadline(), c.r.Deadline()); next < unit.Never {
				c.now = max(c.now, next)
			}
			pump()
		}
		c.journal.all = nil
		c.again = 0
		if err := c.whole(); err != nil {
			t.Fatal(err)
		}
		for _, e := range c.all {
			if e.Kind == trace.Violation {
				t.Fatal("a violation")
			}
		}
	})
}
