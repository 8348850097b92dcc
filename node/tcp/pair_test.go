package tcp

import (
	"fmt"
	"slices"
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// pair is both ends of a connection, and a way between them that loses, marks, duplicates and
// reorders.
type pair struct {
	journal
	s       *Sender
	r       *Receiver
	random  *unit.Random
	now     unit.Time
	way     []flight
	lose    uint64 // per cent
	double  uint64
	jitter  unit.Duration
	marks   uint64
	writes  []uint64 // sizes of transfers
	ended   []uint64 // those that came whole
	inOrder uint64
	sent    int // segments with data
	again   int // of them, those with nothing new
	drop    int // the segment with data that is lost, from 1; 0: as lose says
}

type flight struct {
	at    unit.Time
	order int
	g     wire.Segment
}

func newPair(p Params, seed uint64) *pair {
	c := &pair{random: unit.NewRandom(seed, 1)}
	rec := trace.NewRecorder(0, &c.journal)
	c.s = NewSender(p, mss+wire.TCPOverhead, ourISS, trace.Event{Flow: 9}, &rec)
	c.r = NewReceiver(p, mss+wire.TCPOverhead, theirISS, trace.Event{Flow: 9}, &rec)
	return c
}

// agree has the connection open without a handshake.
func (c *pair) agree() *pair {
	c.s.Agree(0)
	c.r.Agree()
	return c
}

// throw puts a segment on the path.
func (c *pair) throw(g wire.Segment) {
	if g.Length > 0 && c.sent == c.drop {
		return
	}
	for range 1 + boolInt(c.random.Below(100) < c.double) {
		if c.random.Below(100) < c.lose {
			continue
		}
		if g.ECT && c.random.Below(100) < c.marks {
			g.CE = true
		}
		c.way = append(c.way, flight{c.now.Add(10*ms + c.random.Span(c.jitter)), len(c.way), g})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// run lets both ends work until everything is over, or an end of time. It returns what is wrong.
func (c *pair) run(end unit.Time) error {
	for _, n := range c.writes {
		c.s.Write(n, true)
	}
	c.s.Close()
	for c.now < end {
		c.s.Advance(c.now)
		for g, fresh, ok := c.s.Next(c.now); ok; g, fresh, ok = c.s.Next(c.now) {
			if g.Length > 0 {
				if c.sent++; !fresh {
					c.again++
				}
				if edge := uint64(c.r.edge); c.r.state != closed && g.Length > 1 && uint64(g.Seq-ourISS)+uint64(g.Length) > edge {
					return fmt.Errorf("at %v the sender goes beyond the window", c.now)
				}
			}
			c.throw(g)
			c.s.Sent(c.now, &g)
		}
		c.r.Advance(c.now)
		for g, ok := c.r.Next(c.now); ok; g, ok = c.r.Next(c.now) {
			c.throw(g)
		}
		next := min(c.s.Deadline(), c.r.Deadline())
		first := -1
		for i := range c.way {
			if c.way[i].at < next {
				next, first = c.way[i].at, i
			}
		}
		if next == unit.Never {
			return c.whole()
		}
		c.now = max(c.now, next)
		if first >= 0 {
			g := c.way[first].g
			c.way = slices.Delete(c.way, first, first+1)
			if g.Back {
				c.s.Receive(c.now, &g)
				continue
			}
			t := c.r.Receive(c.now, &g)
			c.inOrder += t.InOrder
			for _, size, ok := c.r.Ended(); ok; _, size, ok = c.r.Ended() {
				c.ended = append(c.ended, size)
			}
		}
	}
	return fmt.Errorf("it does not come to an end: una %d of %d, the receiver has %d; %d on the way", c.s.una, c.s.written, c.r.nxt, len(c.way))
}

// whole returns what is missing.
func (c *pair) whole() error {
	total := uint64(0)
	for _, n := range c.writes {
		total += n
	}
	switch {
	case c.inOrder != total:
		return fmt.Errorf("%d of %d bytes came", c.inOrder, total)
	case !slices.Equal(c.ended, c.writes):
		return fmt.Errorf("transfers of %v came as %v", c.writes, c.ended)
	case c.s.una != total+2 || !c.s.Over() || !c.r.Over():
		return fmt.Errorf("FIN: una %d, the sender is over: %v, the receiver: %v", c.s.una, c.s.Over(), c.r.Over())
	}
	told := 0
	for _, e := range c.all {
		if e.Kind == trace.Retransmit && e.Bytes > 0 {
			told++
		}
	}
	if told != c.again {
		return fmt.Errorf("%d segments were sent again, and %d are reported", c.again, told)
	}
	return nil
}

// "A run against a peer that reorders, duplicates and drops ends with every byte delivered
// once, in order": any parameters, any way.
func TestEveryByteOnce(t *testing.T) {
	seeds := uint64(4000)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		if err := anyPair(seed).run(unit.Time(100_000 * unit.Second)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := anyPair(seed).agree().run(unit.Time(100_000 * unit.Second)); err != nil {
			t.Fatalf("seed %d, without a handshake: %v", seed, err)
		}
	}
}

// anyPair returns a connection of any kind.
func anyPair(seed uint64) *pair {
	r := unit.NewRandom(seed, 2)
	p := defaults(func(p *Params) {
		p.Recovery, p.ECN = Recovery(r.Below(3)), r.Below(2) == 1
		if p.ECN && seed%2 == 0 {
			p.Congestion, p.Gain = DCTCP, 1./16
		}
		p.InitialWindow = int(r.Below(12))
		p.ReceiveWindow = []unit.Size{1, 100, 3000, 20000, 65535, 65536, 1 << 20}[r.Below(7)]
		p.Read = []unit.Rate{0, 0, 80_000, 8_000_000}[r.Below(4)]
		p.DelayedACK = []unit.Duration{0, 40 * ms, 500 * ms}[r.Below(3)]
		p.MinRTO = []unit.Duration{10 * ms, 200 * ms, 1000 * ms}[r.Below(3)]
	})
	c := newPair(p, seed)
	c.lose, c.double, c.marks = []uint64{0, 1, 5, 30}[r.Below(4)], []uint64{0, 2, 20}[r.Below(3)], []uint64{0, 10, 100}[r.Below(3)]
	c.jitter = []unit.Duration{0, ms, 30 * ms}[r.Below(3)]
	for range 1 + r.Below(4) {
		n := 1 + r.Below(60_000)
		if p.ReceiveWindow <= 100 || p.Read == 80_000 {
			n = 1 + r.Below(300)
		}
		c.writes = append(c.writes, n)
	}
	return c
}

// Without loss nothing is retransmitted, and with one loss nothing but that: exactly what is lost
// by SACK, and by NewReno if it is not at the end.
func TestNothingIsSentAgainInVain(t *testing.T) {
	for seed := range uint64(30) {
		for _, r := range []Recovery{SACK, NewReno, Reno} {
			c := newPair(defaults(recovery(r)), seed)
			c.writes = []uint64{500_000}
			if err := c.run(unit.Time(100 * unit.Second)); err != nil {
				t.Fatal(err)
			}
			if c.again != 0 {
				t.Errorf("%v: %d segments are sent again, and none was lost", r.Words()[r], c.again)
			}
		}
	}
	for _, r := range []Recovery{SACK, NewReno} {
		for lost := 10; lost < 200; lost += 7 {
			c := newPair(defaults(recovery(r)), 1)
			c.writes = []uint64{500_000}
			c.drop = lost
			if err := c.run(unit.Time(100 * unit.Second)); err != nil {
				t.Fatal(err)
			}
			if c.again != 1 || len(c.of(trace.Timeout)) != 0 {
				t.Errorf("%s: segment %d was lost: %d are sent again, with %d timeouts", r.Words()[r], lost, c.again, len(c.of(trace.Timeout)))
			}
		}
	}
}
