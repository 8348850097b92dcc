package port

import (
	"math"
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// channelLink is a link with credits of 256 bytes, whose priority p has channel 12 + p: channels in
// both halves.
func channelLink(c CBFC) Config {
	l := etherLink(ChannelCredits)
	c.Credit, c.Lossless = 256, allClasses
	if c.CFMin == 0 {
		c.CFMin = 800
	}
	if c.CFMax == 0 {
		c.CFMax = 16384
	}
	if c.CCTimer == 0 {
		c.CCTimer = 20 * us
	}
	for class := range c.Channels {
		c.Channels[class] = 12 + uint8(class)
	}
	l.CBFC = c
	return l
}

// drained runs a pair whose receiver frees each frame as it comes, but for some priorities, until
// an instant. It loses the frames that a function chooses, of either end.
func drained(p *pair, until unit.Time, keep uint8, lose func(from int, f *wire.Frame) bool) {
	p.t.Helper()
	for p.now < until {
		next := p.act()
		for lane := range p.stored {
			if n := len(p.stored[lane]); n > 0 && keep>>lane&1 == 0 {
				p.free(uint8(lane), n)
				next = p.now
			}
		}
		if next > p.now {
			for i := range p.flying {
				if len(p.flying[i]) > 0 {
					next = min(next, p.flying[i][0].Due)
				}
			}
			if next > until {
				p.now = until
				return
			}
			if next <= p.now {
				p.t.Fatalf("%v: time does not go on", p.now)
			}
			p.now = next
		} else if p.act() <= p.now {
			p.t.Fatalf("%v: time does not advance", p.now)
		}
		for i := range p.flying {
			for len(p.flying[i]) > 0 && p.flying[i][0].Due <= p.now {
				tr := p.flying[i][0]
				p.flying[i] = p.flying[i][1:]
				if lose != nil && lose(i, &tr.Frame) {
					continue
				}
				a := Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
				if p.ports[1-i].Receive(p.now, &a) && i == 0 {
					p.store(&a)
				}
			}
		}
	}
}

// faultless fails if a frame came for which there was no room, or a message was refused.
func faultless(t *testing.T, p *pair) {
	t.Helper()
	for _, e := range p.events {
		if e.Kind == trace.Violation || e.Kind == trace.Drop {
			t.Fatalf("%v: %v, %v", e.At, e.Kind, trace.Reason(e.A))
		}
	}
}

// B-1: the rate is min(1, credit / (RTT C)), where the round has the way there and back, the frame,
// the CF_Update and the time that this waits.
func TestRateOfAChannel(t *testing.T) {
	for _, frames := range []int{1, 7, 20, 40, 60, 83, 90, 200} {
		c := channelLink(CBFC{Limit: frames * 6})
		c.Propagation = 50 * us
		p := newPair(t, c, BufferConfig{Room: math.MaxInt64})
		const end = 20000 * us
		drained(p, unit.Time(end), 0, nil)
		faultless(t, p)
		took := p.ports[0].transmitter.Serialise(1500)
		round := 2*c.Propagation + took + p.ports[0].transmitter.Serialise(wire.OrderedSetSize)
		want := min(1, float64(frames)*float64(took)/float64(round))
		got := float64(len(sent(p.seen[0], wire.Data))) * float64(took) / float64(end)
		if math.Abs(got-want) > 0.01 {
			t.Errorf("%d frames of credit: %.4f of the line, want %.4f", frames, got, want)
		}
	}
}

// B-2: the credits of frames that the link loses are back within one timer of CC_Updates, and a
// round.
func TestCreditsOfLostFramesComeBack(t *testing.T) {
	c := channelLink(CBFC{Limit: 60, CCTimer: 100 * us})
	p := newPair(t, c, BufferConfig{Room: math.MaxInt64})
	lost := 0
	drained(p, unit.Time(400*us), 0, func(from int, f *wire.Frame) bool {
		if from == 0 && f.Kind == wire.Data && p.now > unit.Time(120*us) && lost < 10 { // all that it may send
			lost++
			return true
		}
		return false
	})
	faultless(t, p)
	if lost != 10 {
		t.Fatalf("%d frames were lost", lost)
	}
	var gone, back unit.Time
	for _, tr := range sent(p.seen[0], wire.Data) {
		if tr.Start > unit.Time(110*us) && tr.Start.Sub(gone) > 20*us && gone > 0 {
			back = tr.Start
			break
		}
		gone = tr.Start
	}
	if wait := back.Sub(gone); back == 0 || wait > c.CBFC.CCTimer+5*us {
		t.Errorf("the channel stood still from %v to %v", gone, back)
	}
	if left := p.ports[0].Channels().all[0].Left(); left == 0 && p.ports[1].Channels().stored == 0 {
		t.Error("no credit in the end")
	}
}

// B-3: a lost CF_Update costs at most the greatest spacing.
func TestLostCFUpdateIsRepaired(t *testing.T) {
	c := channelLink(CBFC{Limit: 30, CCTimer: 250 * 1000 * us})
	p := newPair(t, c, BufferConfig{Room: math.MaxInt64})
	from, lost := unit.Time(50*us), 0
	drained(p, unit.Time(400*us), 0, func(end int, f *wire.Frame) bool {
		if f.Kind == wire.CFUpdate && end == 1 && p.now > from && lost < 3 {
			lost++
			return true
		}
		return false
	})
	faultless(t, p)
	most := p.ports[0].transmitter.Serialise(c.CBFC.CFMax)
	var last unit.Time
	for _, tr := range sent(p.seen[0], wire.Data) {
		if gap := tr.Start.Sub(last); last > 0 && gap > 3*most+5*us {
			t.Errorf("nothing was sent for %v, with %d lost and a spacing of at most %v", gap, lost, most)
		}
		last = tr.Start
	}
	if lost != 3 || last < unit.Time(390*us) {
		t.Errorf("%d CF_Updates were lost, and the last frame left at %v", lost, last)
	}
}

// B-4 and B-5: under any loss of frames and messages no frame finds no room, and no credit leaks in
// the end, over ten wraps of the counters.
func TestChannelsLoseNothingForever(t *testing.T) {
	for seed := range uint64(4) {
		r := unit.NewRandom(seed, 7)
		link := CBFC{Limit: 20 + int(r.Below(60)), CFMax: 16384 << r.Below(3)}
		if seed%2 == 1 {
			link = CBFC{PortLimit: 100, Pool: Sharing(seed / 2), Reserved: 2, CFMax: 16384}
			if link.Pool == NoPool {
				link.Pool = DynamicPool
			}
		}
		c := channelLink(link)
		c.CBFC.Credit = 4 // a frame has hundreds of credits: the counters wrap soon
		c.CBFC.Limit *= 128
		c.CBFC.PortLimit *= 64
		c.CBFC.Reserved *= 64
		p := newPair(t, c, BufferConfig{Room: math.MaxInt64})
		p.size, p.classes = 9000, []uint8{0, 3, 4, 7}
		share := 50 + r.Below(200)
		end := unit.Time(0)
		wraps := func() int {
			n := 0
			for i := range p.seen[0] {
				if p.seen[0][i].Frame.Kind == wire.Data && p.seen[0][i].Frame.Lane == 0 {
					n++
				}
			}
			return n * c.CBFC.Credits(9000) / wire.CreditModulus
		}
		for wraps() < 10 {
			end = end.Add(5000 * us)
			before := len(p.seen[0])
			drained(p, end, 0, func(_ int, f *wire.Frame) bool { return r.Below(share) == 0 })
			if len(p.seen[0]) == before {
				t.Fatalf("seed %d: nothing is sent after %v", seed, end)
			}
		}
		faultless(t, p)
		p.classes = nil
		drained(p, end.Add(200*us), 0, nil)
		faultless(t, p)
		for i := range p.ports[0].Channels().all {
			if s := &p.ports[0].Channels().all[i]; s.Left() != c.CBFC.Room() {
				t.Errorf("seed %d: channel %d has %d of %d credits in the end", seed, s.vc, s.Left(), c.CBFC.Room())
			}
		}
		if s := p.ports[0].Channels(); s.inUse != 0 || s.shared != 0 {
			t.Errorf("seed %d: %d credits in use, %d of them shared", seed, s.inUse, s.shared)
		}
	}
}

// B-6: a channel whose frames are not taken does not stop another; with one pool for all it does,
// unless credits are reserved.
func TestAStarvedChannelStopsNoOther(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    CBFC
		goes bool
	}{
		{"limits of channels", CBFC{Limit: 60}, true},
		{"one pool", CBFC{PortLimit: 60, Pool: StaticPool}, false},
		{"a pool with reserves", CBFC{PortLimit: 120, Pool: StaticPool, Reserved: 12}, true},
		{"a pool with a threshold", CBFC{PortLimit: 60, Pool: StaticPool, Shared: 30}, true},
		{"a dynamic pool", CBFC{PortLimit: 120, Pool: DynamicPool}, true},
		{"reserves only", CBFC{PortLimit: 120, Pool: NoPool, Reserved: 12}, true},
	} {
		p := newPair(t, channelLink(tc.c), BufferConfig{Room: math.MaxInt64})
		p.classes = []uint8{1, 2}
		drained(p, unit.Time(500*us), 1<<1, nil)
		faultless(t, p)
		late := 0
		for _, tr := range sent(p.seen[0], wire.Data) {
			if tr.Start > unit.Time(300*us) && tr.Frame.Lane == 2 {
				late++
			}
		}
		if (late > 50) != tc.goes {
			t.Errorf("%s: %d frames of the other channel; goes on: %v", tc.name, late, tc.goes)
		}
	}
}

// Counters that run backwards are counted and have no effect.
func TestImpossibleCountersAreRefused(t *testing.T) {
	c := channelLink(CBFC{Limit: 60})
	p := newPair(t, c, BufferConfig{Room: math.MaxInt64})
	drained(p, unit.Time(100*us), allClasses, nil)
	before := p.ports[0].Channels().all
	kept := append([]channel(nil), before...)
	cc := func(vc uint8, v uint32) wire.Frame {
		part := wire.CCOf(vc >= 16)
		part.Set(vc, v)
		return wire.Frame{Kind: wire.CCUpdate, Extension: wire.ExtensionOf(part)}
	}
	cf := func(one, other uint32) wire.Frame {
		return wire.Frame{Kind: wire.CFUpdate, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: one, Second: other})}
	}
	for i, f := range []wire.Frame{
		cf(wire.ChannelWord(12, 1<<15-1), wire.ChannelWord(13, 0)), // one back
		cf(wire.ChannelWord(12, 0), wire.ChannelWord(13, 61)),      // more than was ever sent
		cf(wire.ChannelWord(3, 0), wire.ChannelWord(12, 0)),        // a channel that there is not
		cc(12, wire.CreditModulus-1), cc(12, 70000), cc(17, 61),
		{Kind: wire.Pause}, {Kind: wire.LLRAck},
	} {
		f, err := wire.Parse(wire.StartOfFrame, f.Append(nil)) // as a peer sends it
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		a := Arrival{Frame: f, Head: p.now, Tail: p.now, Length: 64}
		if p.ports[0].Receive(p.now, &a) {
			t.Errorf("message %d is handed to the machine", i)
		}
		if got := p.count(trace.Drop, trace.BadFlowControl); got != i+1 {
			t.Errorf("after message %d: %d were counted", i, got)
		}
	}
	for i := range kept {
		if got := p.ports[0].Channels().all[i]; got != kept[i] {
			t.Errorf("channel %d: %+v, was %+v", i, got, kept[i])
		}
	}
}

// Whatever messages come, as bytes of a peer that may send anything, a port counts no more credits
// than there are and no fewer than none, and does not panic.
func FuzzChannels(f *testing.F) {
	f.Add([]byte("\x00\x06\x00\x3c\x06\x00\x3c\x02\x03\x00\x00\x00\x00\x00\x02\x03\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x03\x03\x00\x00\x00\x00\x00\x01\x00\x00\x0c\x00\x00\x00\x01\x03\x00\x0c\x00\x00\x12\x04\x03\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newPair(t, channelLink(CBFC{Limit: 60, PortLimit: 100, Reserved: 6, Pool: DynamicPool}), BufferConfig{Room: math.MaxInt64})
		pt, now, stored := p.ports[0], unit.Time(0), []wire.Frame(nil)
		s := pt.Channels()
		for ; len(b) >= 7; b = b[7:] {
			now = now.Add(2 * us)
			one := uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
			other := uint32(b[4])<<16 | uint32(b[5])<<8 | uint32(b[6])
			sent := p.frame(b[1]%Priorities, 1500)
			switch b[0] % 5 {
			case 0:
				sent = wire.Frame{Kind: wire.CFUpdate, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: one, Second: other})}
			case 1:
				part := wire.CCOf(b[1]&1 == 1)
				part.Set(b[2]%wire.Channels, other)
				part.Set(b[3]%wire.Channels, s.all[0].received+other%100)
				sent = wire.Frame{Kind: wire.CCUpdate, Extension: wire.ExtensionOf(part)}
			case 2:
				if pt.MaySend(now, &sent, pt.Framing().Length(&sent)).Block == Open {
					pt.Start(now, &sent, pt.Framing().Length(&sent), Note{})
				}
				continue
			case 4:
				if len(stored) > 0 {
					pt.Released(now, &stored[0], 0)
					s.GiveBack(now, &stored[0], pt.Framing().Length(&stored[0]))
					stored = stored[1:]
				}
				pt.Control(now)
				continue
			}
			got, err := wire.Parse(wire.StartOfFrame, sent.Append(nil))
			if err != nil {
				t.Fatal(err)
			}
			if a := (Arrival{Frame: got, Head: now, Tail: now, Length: pt.Framing().Length(&got)}); pt.Receive(now, &a) {
				stored = append(stored, got)
			}
			for i := range s.all {
				if c := &s.all[i]; c.up && s.inUseOf(c) > s.Room() || c.used < 0 || c.used > c.room || c.received > c.last() || c.consumed > c.last() {
					t.Fatalf("%v of %+v", s.inUseOf(c), *c)
				}
			}
			if s.inUse < 0 || s.shared < 0 || s.stored < 0 || s.stored > s.PortLimit {
				t.Fatalf("%d in use, %d shared, %d stored", s.inUse, s.shared, s.stored)
			}
		}
	})
}

// A sender that overdraws its credit is found.
func TestOverdrawnChannelIsFound(t *testing.T) {
	p := newPair(t, channelLink(CBFC{Limit: 6}), BufferConfig{Room: math.MaxInt64})
	for i := range 2 {
		a := Arrival{Frame: p.frame(0, 1500), Head: p.now, Tail: p.now, Length: 1500}
		if got := p.ports[1].Receive(p.now, &a); got != (i == 0) {
			t.Errorf("frame %d is stored: %v", i, got)
		}
	}
	if p.count(trace.Violation, trace.Overrun) != 1 {
		t.Error("no violation")
	}
}

// After the link was down the credits of all that is still in the buffer are in use.
func TestChannelsAfterTheLinkWasDown(t *testing.T) {
	p := newPair(t, channelLink(CBFC{Limit: 60}), BufferConfig{Room: math.MaxInt64})
	drained(p, unit.Time(50*us), allClasses, nil)
	if n := len(p.stored[0]); n != 10 {
		t.Fatalf("%d frames are stored", n)
	}
	for _, c := range []Change{LinkDown{}, LinkUp{}} {
		for _, pt := range p.ports {
			pt.Apply(p.now, c)
		}
	}
	drained(p, unit.Time(80*us), allClasses, nil)
	faultless(t, p)
	if n := len(p.stored[0]); n != 10 {
		t.Errorf("%d frames are stored, and the credits of all were in use", n)
	}
	p.free(0, 4)
	drained(p, unit.Time(120*us), allClasses, nil)
	faultless(t, p)
	if n := len(p.stored[0]); n != 10 {
		t.Errorf("%d frames are stored after 4 were taken", n)
	}
}
