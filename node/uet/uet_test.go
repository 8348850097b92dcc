package uet_test

import (
	"testing"

	"fabemu/node/uet"
	"fabemu/wire"
	"fabemu/wire/unit"
)

const length unit.Size = 4150

func params(change func(p *uet.Params)) *uet.Params {
	p := &uet.Params{Range: 512, AckBytes: 16384, Timeout: 100 * unit.Microsecond, Backoff: 1, RetryCount: uet.Unlimited}
	if change != nil {
		change(p)
	}
	return p
}

// Which packets have an answer, and what it says.
func TestReceiver(t *testing.T) {
	type step struct {
		psn               uint32
		marked, asks, cut bool
		verdict           uet.Verdict
		sends             bool
		code              uint8
		cumulative        uint32
		base              uint32 // of the bitmap; with an ACK
		bits              uint64
		late              uint16
	}
	for _, c := range []struct {
		name   string
		change func(p *uet.Params)
		steps  []step
	}{
		{"the first one, then each 16384 bytes", nil, []step{
			{psn: 0, sends: true, cumulative: 0, base: 2},
			{psn: 1}, {psn: 2}, {psn: 3},
			{psn: 4, sends: true, cumulative: 4, base: 6},
			{psn: 5},
		}},
		{"a mark and a request are answered at once, from that packet on", nil, []step{
			{psn: 0, sends: true, cumulative: 0, base: 2},
			{psn: 1, marked: true, sends: true, cumulative: 1, base: 1, bits: 1},
			{psn: 2, asks: true, sends: true, cumulative: 2, base: 2, bits: 1},
		}},
		{"out of order", nil, []step{
			{psn: 2, sends: true, verdict: uet.Ahead, cumulative: 0xFFFFFFFF, base: 1, bits: 2, late: 1},
			{psn: 0}, {psn: 1, marked: true, sends: true, cumulative: 2, base: 1, bits: 3},
		}},
		{"what was asked for is answered again when nothing is missing", nil, []step{
			{psn: 0, sends: true, cumulative: 0, base: 2},
			{psn: 2, asks: true, verdict: uet.Ahead, sends: true, cumulative: 0, base: 2, bits: 1, late: 1},
			{psn: 1, sends: true, cumulative: 2, base: 4},
		}},
		{"duplicates", nil, []step{
			{psn: 0, sends: true, cumulative: 0, base: 2},
			{psn: 0, verdict: uet.Duplicate, sends: true, cumulative: 0, base: 2},
			{psn: 5, verdict: uet.Ahead},
			{psn: 5, verdict: uet.Duplicate, sends: true, cumulative: 0, base: 2, bits: 8, late: 1},
		}},
		{"beyond the range", func(p *uet.Params) { p.Range = 4 }, []step{
			{psn: 4, verdict: uet.Refused, sends: true, code: wire.NackOutOfWindow},
			{psn: 3, verdict: uet.Ahead, sends: true, cumulative: 0xFFFFFFFF, base: 1, bits: 4, late: 1},
		}},
		{"trimmed", nil, []step{
			{psn: 1, cut: true, sends: true, code: wire.NackTrimmed},
			{psn: 0, sends: true, cumulative: 0, base: 2},
			{psn: 0, cut: true, sends: true, cumulative: 0, base: 2},
		}},
		{"ordered", func(p *uet.Params) { p.Delivery = uet.Ordered }, []step{
			{psn: 0, sends: true, cumulative: 0},
			{psn: 2, verdict: uet.Refused, sends: true, code: wire.NackOutOfOrder},
			{psn: 3, verdict: uet.Refused},
			{psn: 1},
			{psn: 3, verdict: uet.Refused, sends: true, code: wire.NackOutOfOrder},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := params(c.change)
			r := uet.NewReceiver(p)
			for i, s := range c.steps {
				packet := uet.Packet{PSN: s.psn, Length: length, Marked: s.marked, Asks: s.asks}
				v, a := s.verdict, uet.Answer{}
				if s.cut {
					a = r.Trimmed(packet, false)
				} else {
					v, _, a = r.Receive(packet)
				}
				if v != s.verdict || a.Sends != s.sends || a.Code != s.code {
					t.Fatalf("step %d: verdict %d, answer %+v, want %+v", i, v, a, s)
				}
				if !a.Sends {
					continue
				}
				f := p.Control(wire.Ack, a.Code != 0)
				r.Fill(&f, &a)
				x := f.UET()
				switch {
				case a.Code != 0:
					if f.PSN != s.psn {
						t.Errorf("step %d: a NACK of %d, want %d", i, f.PSN, s.psn)
					}
				case f.PSN != s.cumulative || f.PSN+uint32(int32(x.Offset)) != s.psn || f.BECN != s.marked:
					t.Errorf("step %d: %+v, want %+v", i, f, s)
				case p.Delivery == uet.Ordered:
				case f.PSN+uint32(int32(x.BitmapOffset)) != s.base || x.Bitmap != s.bits || x.OutOfOrder != s.late:
					t.Errorf("step %d: bitmap %#x at %d, %d late, want %#x at %d, %d", i, x.Bitmap, f.PSN+uint32(int32(x.BitmapOffset)), x.OutOfOrder, s.bits, s.base, s.late)
				}
			}
		})
	}
}

// The bitmap of an ACK says of each packet whether it has come, wherever it begins and PSNs wrap.
func TestBitmaps(t *testing.T) {
	random := unit.NewRandom(3, 1)
	for range 200 {
		p := params(nil)
		r := uet.NewReceiver(p)
		r.Next = 0xFFFFFFFF - uint32(random.Below(300))
		came := map[uint32]bool{}
		for range 600 {
			psn := r.Next + uint32(random.Below(400)) - 20
			if int32(psn-r.Next) < 0 {
				came[psn] = true
			}
			_, _, a := r.Receive(uet.Packet{PSN: psn, Length: length, Marked: random.Below(2) == 0, Asks: random.Below(3) == 0})
			came[psn] = true
			if !a.Sends {
				continue
			}
			f := p.Control(wire.Ack, false)
			r.Fill(&f, &a)
			x := f.UET()
			for i := range uint32(64) {
				n := f.PSN + uint32(int32(x.BitmapOffset)) + i
				if got, want := x.Bitmap>>i&1 == 1, came[n] || int32(n-r.Next) < 0; got != want {
					t.Fatalf("PSN %d, where %d is next: %v, want %v", n, r.Next, got, want)
				}
			}
		}
	}
}

// flight is a frame on a path.
type flight struct {
	at unit.Time
	f  wire.Frame
	of int // sender
}

// world is contexts over a fabric that loses, trims, repeats and overtakes.
type world struct {
	random                 *unit.Random
	now                    unit.Time
	air                    []flight
	loss, cut, twice, swap float64
	fails                  bool
	sent, retransmitted    int
}

func (w *world) chance(p float64) bool { return float64(w.random.Below(1<<30))/(1<<30) < p }

// put sends a frame, unless it is lost.
func (w *world) put(f wire.Frame, of int) {
	delay := 5 * unit.Microsecond
	if w.chance(w.swap) {
		delay += unit.Duration(w.random.Below(uint64(20 * unit.Microsecond)))
	}
	switch {
	case w.chance(w.loss):
		return
	case f.Kind == wire.Data && w.chance(w.cut):
		f.Kind = wire.Trimmed
	}
	w.air = append(w.air, flight{w.now.Add(delay), f, of})
	if w.chance(w.twice) {
		w.air = append(w.air, flight{w.now.Add(delay + unit.Duration(w.random.Below(uint64(10*unit.Microsecond)))), f, of})
	}
}

// run sends packets over a context until all are acknowledged, and reports how often each was
// accepted.
func (w *world) run(t *testing.T, p *uet.Params, packets int) []int {
	s, r := uet.NewSender(p), uet.NewReceiver(p)
	accepted := make([]int, packets)
	for steps := 0; int(s.First()) < packets; steps++ {
		if steps > 400*packets+100000 {
			t.Fatalf("%d of %d packets are acknowledged after %v", s.First(), packets, w.now)
		}
		if number, ok := s.Lost(); ok || int(s.Next()) < packets && s.InFlight() < p.Outstanding() {
			f := wire.Frame{Kind: wire.Data, Family: wire.UET, FECN: w.chance(0.05)}
			if ok {
				s.Resend(w.now, 0)
				f.UET().Flags |= wire.UETRetransmitted
				w.retransmitted++
			} else {
				number = s.Next()
				s.Send(w.now, length, 0)
			}
			f.PSN = uint32(number)
			f.SetAckReq(int(number) == packets-1 || s.InFlight() >= p.Outstanding())
			w.sent++
			w.put(f, 0)
			w.now = w.now.Add(300 * unit.Nanosecond)
		} else if len(w.air) == 0 {
			w.now = s.Deadline()
			if w.now == unit.Never {
				t.Fatal("nothing happens any more")
			}
		} else {
			w.now = w.now.Add(300 * unit.Nanosecond)
		}
		for i := 0; i < len(w.air); i++ {
			x := w.air[i]
			if x.at > w.now {
				continue
			}
			w.air = append(w.air[:i], w.air[i+1:]...)
			i = -1
			w.arrive(t, p, &s, &r, &x.f, accepted)
		}
		for {
			_, n, fails, ok := s.Expired(w.now)
			if w.fails = fails; fails {
				return accepted
			}
			if !ok {
				break
			}
			if n != length {
				t.Fatalf("%d bytes have expired", n)
			}
		}
		probe := p.Control(wire.UETControl, false)
		if s.Probes(w.now, &probe) {
			w.put(probe, 0)
		}
	}
	return accepted
}

func (w *world) arrive(t *testing.T, p *uet.Params, s *uet.Sender, r *uet.Receiver, f *wire.Frame, accepted []int) {
	var a uet.Answer
	packet := uet.Packet{PSN: f.PSN, Length: length, Marked: f.FECN, Asks: f.RoCE().AckReq, Again: f.UET().Flags&wire.UETRetransmitted != 0}
	switch f.Kind {
	case wire.Data:
		var v uet.Verdict
		if v, _, a = r.Receive(packet); v == uet.InTurn || v == uet.Ahead {
			accepted[f.PSN]++
		}
	case wire.Trimmed:
		a = r.Trimmed(packet, false)
	case wire.UETControl:
		a = r.Probed(f)
	case wire.Ack:
		if f.RoCE().NAK {
			_, _, _, lost := s.Nack(w.now, f)
			for ok := lost && f.UET().Code == wire.NackOutOfOrder; ok; _, ok = s.Expire() {
			}
			return
		}
		before := s.Underway() + s.Waiting()
		news, trip := s.Ack(w.now, f)
		if got := before - s.Underway() - s.Waiting(); news != got {
			t.Fatalf("%d bytes are news, and %d are no longer in flight", news, got)
		}
		if trip < 0 || trip != 0 && trip < 10*unit.Microsecond {
			t.Fatalf("a round trip of %v", trip)
		}
		for _, ok := s.Overdue(f); ok; _, ok = s.Overdue(f) {
		}
	}
	if a.Sends {
		answer := p.Control(wire.Ack, a.Code != 0)
		r.Fill(&answer, &a)
		b := answer.Append(nil)
		got, err := wire.Parse(answer.Delimiter(), b)
		if err != nil || got != answer {
			t.Fatalf("%+v comes back as %+v: %v", answer, got, err)
		}
		w.put(answer, 0)
	}
}

// Whatever a fabric does to packets and answers, each packet is accepted once.
func TestEachPacketOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		world  world
		change func(p *uet.Params)
	}{
		{"nothing happens", world{}, nil},
		{"loss", world{loss: 0.05}, nil},
		{"trimming", world{cut: 0.2}, nil},
		{"disorder", world{swap: 0.5}, nil},
		{"repetition", world{twice: 0.2}, nil},
		{"all of it", world{loss: 0.05, cut: 0.1, swap: 0.3, twice: 0.1}, nil},
		{"a small range", world{loss: 0.05, cut: 0.1, swap: 0.3, twice: 0.1}, func(p *uet.Params) { p.Range = 7 }},
		{"a range of one", world{loss: 0.05, cut: 0.1, swap: 0.3, twice: 0.1}, func(p *uet.Params) { p.Range = 1 }},
		{"probes", world{loss: 0.1, swap: 0.1}, func(p *uet.Params) { p.Probe = 20 * unit.Microsecond }},
		{"backoff", world{loss: 0.2}, func(p *uet.Params) { p.Backoff = 2 }},
		{"ordered", world{loss: 0.02, cut: 0.05, twice: 0.1}, func(p *uet.Params) { p.Delivery, p.Range = uet.Ordered, 32 }},
		{"ordered, disorder", world{loss: 0.02, swap: 0.05}, func(p *uet.Params) { p.Delivery, p.Range = uet.Ordered, 32 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(5) {
				w := c.world
				w.random = unit.NewRandom(seed, 1)
				accepted := w.run(t, params(c.change), 1500)
				for psn, n := range accepted {
					if n != 1 {
						t.Fatalf("seed %d: packet %d was accepted %d times", seed, psn, n)
					}
				}
				if harmless := w.loss+w.cut+w.swap == 0; harmless && w.retransmitted > 0 {
					t.Errorf("%d packets were sent again, and none was lost", w.retransmitted)
				}
			}
		})
	}
}

// A trimmed packet leaves again within a round trip, and without trimming after the timeout.
func TestTrimmedAtOnce(t *testing.T) {
	at := map[bool]unit.Time{}
	for _, cut := range []bool{false, true} {
		p := params(nil)
		s, r := uet.NewSender(p), uet.NewReceiver(p)
		for range 3 {
			s.Send(0, length, 0)
		}
		now := unit.Time(10 * unit.Microsecond)
		_, _, a := r.Receive(uet.Packet{PSN: 0, Length: length})
		f := p.Control(wire.Ack, false)
		r.Fill(&f, &a)
		s.Ack(now, &f)
		if cut {
			a = r.Trimmed(uet.Packet{PSN: 1, Length: length}, true)
			f = p.Control(wire.Ack, true)
			r.Fill(&f, &a)
			number, n, trip, ok := s.Nack(now, &f)
			if number != 1 || n != length || trip != 10*unit.Microsecond || !ok || f.UET().Code != wire.NackTrimmedLastHop {
				t.Errorf("NACK: packet %d of %d bytes after %v, %v", number, n, trip, ok)
			}
			if _, _, _, again := s.Nack(now, &f); again {
				t.Error("a NACK counts twice")
			}
		}
		if _, ok := s.Lost(); ok != cut {
			t.Errorf("trimmed: %v, lost: %v", cut, ok)
		}
		at[cut] = now
		if !cut {
			at[cut] = s.Deadline()
		}
	}
	if at[false] != unit.Time(100*unit.Microsecond) || at[true] >= at[false] {
		t.Errorf("sent again at %v trimmed, and at %v lost", at[true], at[false])
	}
}

// An answer measures a round trip if it is known which transmission it answers: the only one, or
// the only retransmission.
func TestTripOfRetransmission(t *testing.T) {
	const us = unit.Microsecond
	for _, c := range []struct {
		name  string
		sent  int  // times, each 1us after the other
		again bool // the answer is one to a retransmission
		want  unit.Duration
	}{
		{"the only transmission", 1, false, 20 * us},
		{"the retransmission", 2, true, 19 * us},
		{"the first transmission of two", 2, false, 0},
		{"one of two retransmissions", 3, true, 0},
		{"a retransmission that was none", 1, true, 0},
	} {
		for _, trimmed := range []bool{false, true} {
			p := params(nil)
			s, r := uet.NewSender(p), uet.NewReceiver(p)
			s.Send(0, length, 0)
			for i := 1; i < c.sent; i++ {
				s.Expire()
				s.Resend(unit.Time(i)*unit.Time(us), 0)
			}
			f, at, x := p.Control(wire.Ack, trimmed), unit.Time(20*us), uet.Packet{PSN: 0, Length: length, Again: c.again}
			if trimmed {
				a := r.Trimmed(x, false)
				r.Fill(&f, &a)
				if _, _, trip, ok := s.Nack(at, &f); trip != c.want || ok != (c.again == (c.sent > 1)) {
					t.Errorf("%s: trimmed after %v, %v", c.name, trip, ok)
				}
				continue
			}
			_, _, a := r.Receive(x)
			r.Fill(&f, &a)
			if news, trip := s.Ack(at, &f); news != length || trip != c.want {
				t.Errorf("%s: %d bytes are news after %v, want %v", c.name, news, trip, c.want)
			}
		}
	}
}

// The ACK of a marked packet names no packet before it, but it counts them: they are in flight no
// longer, and are news once.
func TestCountedPackets(t *testing.T) {
	p := params(nil)
	s, r := uet.NewSender(p), uet.NewReceiver(p)
	ack := func(psn uint32, marked bool) unit.Size {
		_, _, a := r.Receive(uet.Packet{PSN: psn, Length: length, Marked: marked})
		if !a.Sends {
			return 0
		}
		f := p.Control(wire.Ack, false)
		r.Fill(&f, &a)
		news, _ := s.Ack(unit.Time(20*unit.Microsecond), &f)
		return news
	}
	for range 6 {
		s.Send(0, length, 0)
	}
	for i, c := range []struct {
		psn      uint32
		marked   bool
		news     unit.Size // of the ACK, in packets
		underway unit.Size
	}{
		{0, true, 1, 5},
		{2, false, 0, 5}, // no ACK follows
		{3, false, 0, 5},
		{4, true, 3, 2},
		{5, true, 1, 1},
		{1, true, 1, 0}, // now all are named
	} {
		if news := ack(c.psn, c.marked); news != c.news*length || s.Underway() != c.underway*length {
			t.Errorf("%d: %d bytes are news and %d in flight, want %d and %d", i, news, s.Underway(), c.news*length, c.underway*length)
		}
	}
}

// A context fails after its retransmissions, and not while packets arrive.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name  string
		loss  float64
		fails bool
	}{{"a third is lost", 0.3, false}, {"nothing arrives", 1, true}} {
		w := world{random: unit.NewRandom(1, 1), loss: c.loss}
		w.run(t, params(func(p *uet.Params) { p.RetryCount, p.Range = 4, 64 }), 200)
		if w.fails != c.fails {
			t.Errorf("%s: failed %v", c.name, w.fails)
		}
		if c.fails && (w.now.Sub(0) < 5*100*unit.Microsecond || w.now.Sub(0) > 5*130*unit.Microsecond) { // 64 packets take 20us each time
			t.Errorf("it has failed at %v, after 5 timeouts of 100us", w.now)
		}
	}
}

// With a probe a lost end of a transfer is found before the timeout.
func TestProbeFindsTheEnd(t *testing.T) {
	var ends [2]unit.Time
	for i, probe := range []unit.Duration{0, 20 * unit.Microsecond} {
		p := params(func(p *uet.Params) { p.Probe, p.Timeout = probe, unit.Millisecond })
		s, r := uet.NewSender(p), uet.NewReceiver(p)
		for range 4 {
			s.Send(0, length, 0)
		}
		_, _, a := r.Receive(uet.Packet{PSN: 0, Length: length}) // all others are lost
		f := p.Control(wire.Ack, false)
		r.Fill(&f, &a)
		s.Ack(unit.Time(10*unit.Microsecond), &f)
		now := s.Deadline()
		f = p.Control(wire.UETControl, false)
		if got := s.Probes(now, &f); got != (probe > 0) {
			t.Fatalf("a probe: %v", got)
		}
		if ends[i] = now; probe == 0 {
			continue
		}
		answer := p.Control(wire.Ack, false)
		a = r.Probed(&f)
		r.Fill(&answer, &a)
		s.Ack(now.Add(10*unit.Microsecond), &answer)
		lost := 0
		for _, ok := s.Overdue(&answer); ok; _, ok = s.Overdue(&answer) {
			lost++
		}
		if lost != 3 {
			t.Errorf("%d packets are lost, want 3", lost)
		}
	}
	if ends[1] >= ends[0] {
		t.Errorf("found at %v with a probe, %v without", ends[1], ends[0])
	}
}

// Ten thousand contexts at work allocate nothing per packet.
func TestContextsAllocateNothing(t *testing.T) {
	const contexts = 10000
	p := params(nil)
	senders, receivers := make([]uet.Sender, contexts), make([]uet.Receiver, contexts)
	for i := range senders {
		senders[i], receivers[i] = uet.NewSender(p), uet.NewReceiver(p)
	}
	now := unit.Time(0)
	turn := func(i int) {
		s, r := &senders[i], &receivers[i]
		first := uint32(s.Next())
		for range 8 {
			s.Send(now, length, 0)
		}
		for _, k := range [8]uint32{1, 0, 3, 2, 7, 6, 5, 4} { // out of order
			now = now.Add(unit.Microsecond)
			if _, _, a := r.Receive(uet.Packet{PSN: first + k, Length: length, Asks: k == 4}); a.Sends {
				f := p.Control(wire.Ack, false)
				r.Fill(&f, &a)
				s.Ack(now, &f)
			}
		}
		if s.InFlight() != 0 {
			t.Fatalf("context %d has %d packets in flight", i, s.InFlight())
		}
	}
	for range 2 {
		for i := range senders {
			turn(i)
		}
	}
	i := 0
	if n := testing.AllocsPerRun(contexts/2, func() { turn(i % contexts); i++ }); n != 0 {
		t.Errorf("%v allocations for 8 packets", n)
	}
}

// A bitmap acknowledges packets behind a missing one, and a NACK of an earlier transmission means
// nothing.
func TestSelectiveAndStale(t *testing.T) {
	p := params(nil)
	s, r := uet.NewSender(p), uet.NewReceiver(p)
	for range 4 {
		s.Send(0, length, 0)
	}
	var f wire.Frame
	for _, psn := range []uint32{0, 2, 3} { // 1 is missing
		_, _, a := r.Receive(uet.Packet{PSN: psn, Length: length, Asks: true})
		f = p.Control(wire.Ack, false)
		r.Fill(&f, &a)
		s.Ack(unit.Time(10*unit.Microsecond), &f)
	}
	if s.First() != 1 || s.Underway() != length {
		t.Errorf("%d is the first that is missing, and %d bytes are in flight, want 1 and %d", s.First(), s.Underway(), length)
	}
	a := r.Trimmed(uet.Packet{PSN: 1}, false)
	f = p.Control(wire.Ack, true)
	r.Fill(&f, &a)
	s.Expire()
	s.Resend(unit.Time(20*unit.Microsecond), 0)
	if _, _, _, ok := s.Nack(unit.Time(21*unit.Microsecond), &f); ok {
		t.Error("a NACK of the first transmission gives up the second one")
	}
}
