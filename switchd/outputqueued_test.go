package switchd_test

import (
	"strings"
	"testing"

	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A frame leaves once it is whole and the delay has passed.
func TestStoreAndForward(t *testing.T) {
	p := newPlant(t, outputQueued(2))
	p.offer(0, ether(1, 1, 0), 1)
	p.run(10 * 1000 * ns)
	// Two lines, two flights, and the delay between.
	want := 2*t1500 + 2*100*ns + 40*ns
	if got := p.stations[1].came; len(got) != 1 || got[0].at != want {
		t.Errorf("it came %+v, want at %v", got, want)
	}
	p.whole()
}

// With cut-through it leaves once its header is in and the delay has passed.
func TestCutThroughOfAnOutputQueue(t *testing.T) {
	c := outputQueued(2)
	c.CutThrough = true
	p := newPlant(t, c)
	p.offer(0, ether(1, 1, 0), 1)
	p.run(10 * 1000 * ns)
	want := t1500 + 2*100*ns + 40*ns
	if got := p.stations[1].came; len(got) != 1 || got[0].at != want {
		t.Errorf("it came %+v, want at %v", got, want)
	}
}

// A frame that cuts through to a faster line waits, so that the link does not run
// dry before its tail is in.
func TestCutThroughToAFasterLine(t *testing.T) {
	c := outputQueued(2)
	c.CutThrough = true
	c.Ports[0].Rate = tenGig / 10
	p := newPlant(t, c)
	p.offer(0, ether(1, 1, 0), 1)
	p.run(100 * 1000 * ns)
	want := 10*t1500 + 2*100*ns // the tail comes, and has left at that instant
	if got := p.stations[1].came; len(got) != 1 || got[0].at != want {
		t.Errorf("it came %+v, want at %v", got, want)
	}
}

// The same where the link becomes faster while the frame waits for it.
func TestCutThroughToALineThatBecomesFaster(t *testing.T) {
	c := outputQueued(3)
	c.CutThrough = true
	c.Ports[0].Rate, c.Ports[1].Rate = tenGig/10, tenGig/10
	p := newPlant(t, c)
	p.offer(2, ether(1, 1, 0), 1) // ahead of it: it keeps the line for ten times t1500
	p.run(5 * t1500)
	begun := p.now
	p.offer(0, ether(2, 1, 0), 1)
	p.run(6 * t1500)
	faster := port.RateChange{Rate: tenGig}
	p.sw.Apply(p.now, 1, faster)
	p.stations[1].port.Apply(p.now, faster)
	p.run(100 * t1500)
	want := begun + 10*t1500 + 2*100*ns // the tail comes, and has left at that instant
	if got := p.stations[1].came; len(got) != 2 || got[1].at != want {
		t.Errorf("they came %+v, the second is wanted at %v", got, want)
	}
}

// A frame whose tail is still coming in lets one of a lower priority go ahead. That it may leave
// while the other one is on the link does not matter: it leaves behind it.
func TestCutThroughBehindALowerPriority(t *testing.T) {
	c := outputQueued(4)
	c.CutThrough = true
	c.Ports[0].Rate, c.Ports[1].Rate = tenGig/10, tenGig/10
	p := newPlant(t, c)
	p.run(7 * t1500 / 2)
	p.offer(2, ether(1, 1, 0), 1) // it keeps the line until 13.6 times t1500
	p.run(5 * t1500)
	p.offer(0, ether(2, 1, 5), 1) // it may leave from 14.1 times t1500 on, once the link is faster
	p.offer(3, ether(3, 1, 0), 1)
	p.run(6 * t1500)
	faster := port.RateChange{Rate: tenGig}
	p.sw.Apply(p.now, 1, faster)
	p.stations[1].port.Apply(p.now, faster)
	p.run(100 * t1500)
	got := p.stations[1].came
	if len(got) != 3 || got[1].frame.QP != 3 || got[2].frame.QP != 2 || got[2].at != got[1].at+t1500 {
		t.Errorf("they came %+v, want the third flow and then, %v later, the second", got, t1500)
	}
}

// Of what waits, the highest priority goes first; a frame that has begun is not
// interrupted. Within a priority the order is that of arrival.
func TestStrictPriority(t *testing.T) {
	c := outputQueued(4)
	c.Memory, c.High, c.Low = 4*200000, 0, 0
	p := newPlant(t, c)
	p.offer(0, ether(1, 3, 1), 20)
	p.offer(1, ether(2, 3, 5), 20)
	p.offer(2, ether(3, 3, 5), 20)
	p.run(100 * t1500)
	var first []uint32
	for _, a := range p.stations[3].came[:40] {
		first = append(first, a.frame.QP)
	}
	low := 0
	for i, qp := range first {
		if qp == 1 {
			low++
			if i > 1 {
				t.Errorf("frame %d is of the low priority", i)
			}
		}
	}
	if n := p.inOrder(3); n[1] != 20 || n[2] != 20 || n[3] != 20 || low > 1 {
		t.Errorf("%v came, %d of the low priority among the first", n, low)
	}
	p.whole()
}

// Senders that all want one output get equal shares of it, at its full rate, and
// nothing is lost: each input is told PAUSE when it has taken its part.
func TestIncastIsLosslessAndFair(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		c := outputQueued(9)
		c.Pooled = pooled
		p := newPlant(t, c)
		for i := range 8 {
			p.offer(i, ether(uint32(i+1), 8, 0), 1000)
		}
		p.run(2000 * t1500)
		n := p.inOrder(8)
		total := 0
		for flow, k := range n {
			total += k
			if k < 225 || k > 275 {
				t.Errorf("pooled %v: flow %d has %d of 2000 frames, want an eighth", pooled, flow, k)
			}
		}
		if total < 1990 {
			t.Errorf("pooled %v: %d frames in 2000 packet times", pooled, total)
		}
		p.whole()
		if p.count(trace.Start) == 0 {
			t.Error("nothing started")
		}
	}
}

// An input is stopped at the high watermark, and releases it at the low one: its
// occupancy goes up and down between them.
func TestWatermarks(t *testing.T) {
	p := newPlant(t, outputQueued(3))
	p.offer(0, ether(1, 2, 0), 500)
	p.offer(1, ether(2, 2, 0), 500)
	p.run(900 * t1500)
	highest, lets := int64(0), 0
	for _, e := range p.events {
		if kind, _, _ := trace.FrameOf(e.A); e.Kind == trace.Arrive && kind == wire.Data && e.Port == 0 {
			highest = max(highest, e.B)
		}
	}
	told := p.stations[0].told
	for i, quanta := range told {
		if quanta == 0 {
			lets++
		}
		if i > 0 && (quanta == 0) == (told[i-1] == 0) {
			t.Errorf("it was told %d quanta, and then %d: it stops and lets go by turns", told[i-1], quanta)
		}
	}
	if highest < 20000 || highest > 20000+4*mtu {
		t.Errorf("the input had %d bytes at most, want about the high watermark of 20000", highest)
	}
	if lets < 10 {
		t.Errorf("%d PAUSE frames, %d of them let go", len(told), lets)
	}
	p.whole()
}

// PFC stops one priority and leaves the others alone: what is stopped behind a
// slow station is stopped in its priority.
func TestPFCStopsOnePriority(t *testing.T) {
	for _, kind := range []port.FlowControl{port.PauseFrames, port.PriorityPauseFrames} {
		c := outputQueued(4)
		for i := range c.Ports {
			c.Ports[i].FlowControl = kind
		}
		c.Memory, c.Lossless = 4*100000, 0xFF
		p := newPlant(t, c)
		p.stations[2].port.Pausing().Stop(3) // a receiver that takes nothing of priority 3; PAUSE knows no priorities
		p.offer(0, ether(1, 2, 3), 1000)
		p.offer(0, ether(2, 3, 2), 1000)
		p.run(900 * t1500)
		blocked, victim := p.inOrder(2)[1], p.inOrder(3)[2]
		if blocked > 0 && kind == port.PriorityPauseFrames {
			t.Errorf("%v: %d frames came to the station that had stopped them", kind, blocked)
		}
		if kind == port.PauseFrames && victim > 100 {
			t.Errorf("PAUSE: the victim has %d frames: it should be stuck behind the other flow", victim)
		}
		if kind == port.PriorityPauseFrames && victim < 800 {
			t.Errorf("PFC: the victim has %d frames, want nearly all 900", victim)
		}
		p.whole()
	}
}

// With headroom for every priority above its watermark PFC loses nothing, whatever
// the priorities are that come together, and whether the memory is divided or pooled.
func TestPFCIsLosslessInEveryPriority(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		c := outputQueued(5)
		for i := range c.Ports {
			c.Ports[i].FlowControl = port.PriorityPauseFrames
		}
		// A priority takes up to its watermark, and what is in flight when it stops: a
		// frame at each end of the link, and the flight there and back.
		c.Pooled, c.Lossless, c.Memory, c.High, c.Low = pooled, 0xFF, 5*8*12000, 8000, 4000
		p := newPlant(t, c)
		for i := range 4 {
			for class := range port.Priorities {
				p.offer(i, ether(uint32(i*port.Priorities+class), 4, uint8(class)), 50)
			}
		}
		p.run(2000 * t1500)
		total := 0
		for _, n := range p.inOrder(4) {
			total += n
		}
		if want := 4 * port.Priorities * 50; total != want {
			t.Errorf("pooled %v: %d frames came, want %d", pooled, total, want)
		}
		stopped := 0
		for _, s := range p.stations[:4] {
			stopped += s.stopped
		}
		if stopped == 0 {
			t.Errorf("pooled %v: no sender was stopped", pooled)
		}
		p.whole()
	}
}

// Without flow control what there is no room for is dropped, where it comes, and
// counted; all else arrives.
func TestDropsWithoutFlowControl(t *testing.T) {
	c := outputQueued(5)
	for i := range c.Ports {
		c.Ports[i].FlowControl = port.NoFlowControl
	}
	p := newPlant(t, c)
	for i := range 4 {
		p.offer(i, ether(uint32(i+1), 4, 0), 300)
	}
	p.run(1500 * t1500)
	came := len(p.stations[4].came)
	dropped := p.count(trace.Drop, trace.BufferFull)
	if dropped == 0 || came+dropped != 1200 || p.count(trace.Drop) != dropped {
		t.Errorf("%d came, %d were dropped, of 1200", came, dropped)
	}
	p.inOrder(4)
	if len(p.broken) > 0 {
		t.Errorf("a drop without flow control is not a violation: %+v", p.broken[0])
	}
}

// The rate of a link changes while its sender is stopped: it is told again at once, for
// how long.
func TestPauseIsSaidAgainAtAnotherRate(t *testing.T) {
	c := outputQueued(3)
	p := newPlant(t, c)
	for i := range 2 {
		p.offer(i, ether(uint32(i+1), 2, 0), 200)
	}
	p.run(60 * t1500) // both are stopped
	at := p.now
	before := p.count(trace.Start)
	p.sw.Apply(at, 0, port.RateChange{Rate: tenGig})
	p.sw.Advance(at)
	said := 0
	for _, e := range p.events {
		if kind, _, _ := trace.FrameOf(e.A); e.Kind == trace.Start && e.At == at && e.Port == 0 && kind == wire.Pause {
			said++
		}
	}
	if said != 1 {
		t.Errorf("PAUSE was said %d times at %v, want once; %d frames were sent", said, at, p.count(trace.Start)-before)
	}
}

// With flow control, a memory without headroom above the watermark is overrun, and
// that is a violation.
func TestOverrunIsAViolation(t *testing.T) {
	c := outputQueued(5)
	c.High, c.Low = 29000, 20000
	p := newPlant(t, c)
	for i := range 4 {
		p.offer(i, ether(uint32(i+1), 4, 0), 500)
	}
	p.run(500 * t1500)
	if p.count(trace.Violation, trace.Overrun) == 0 {
		t.Error("a memory without headroom was not overrun")
	}
}

// The queue of an output has its own limit, for frames without flow control: with
// PFC those of other priorities are never dropped, however long the queue.
func TestOutputLimit(t *testing.T) {
	for _, kind := range []port.FlowControl{port.NoFlowControl, port.PriorityPauseFrames} {
		c := outputQueued(3)
		c.OutputLimit, c.Lossless = 10*mtu, 1<<3
		for i := range c.Ports {
			c.Ports[i].FlowControl = kind
		}
		p := newPlant(t, c)
		p.offer(0, ether(1, 2, 0), 100)
		p.offer(1, ether(2, 2, 3), 100)
		p.run(500 * t1500)
		longest := int64(0)
		for _, e := range p.events {
			if e.Kind == trace.Queue && e.Port == 2 {
				longest = max(longest, e.A)
			}
		}
		sure := 0
		for _, a := range p.stations[2].came {
			if a.frame.Lane == 3 {
				sure++
			}
		}
		dropped := p.count(trace.Drop, trace.BufferFull)
		if dropped == 0 || len(p.stations[2].came)+dropped != 200 || p.count(trace.Violation) > 0 {
			t.Errorf("%v: %d came, %d were dropped; %d violations", kind, len(p.stations[2].came), dropped, p.count(trace.Violation))
		}
		if kind == port.NoFlowControl && longest != 10*mtu {
			t.Errorf("the queue had %d bytes, want %d", longest, 10*mtu)
		}
		if kind == port.PriorityPauseFrames && (sure != 100 || longest <= 10*mtu) {
			t.Errorf("of the lossless priority %d frames came; the queue had %d bytes", sure, longest)
		}
	}
}

// teller is a congestion point that tells of each tenth frame.
type teller struct {
	n     map[uint32]int
	bytes []unit.Size
}

func (c *teller) Enqueue(_ unit.Time, f *wire.Frame, q cp.Queue) (wire.Frame, bool) {
	c.bytes = append(c.bytes, q.Bytes)
	c.n[f.QP]++
	return wire.Frame{Kind: wire.Notification, Lane: 6, Src: 0xAA, Dst: f.Src, QP: f.QP, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 9, Octets: 14})}, c.n[f.QP]%10 == 0
}

func (*teller) Dequeue(unit.Time, *wire.Frame, cp.Queue) {}

func (*teller) Reset() {}

// A notification goes to the source of the frame, past what waits there.
func TestNotificationsGoToTheSource(t *testing.T) {
	c := outputQueued(3)
	point := &teller{n: make(map[uint32]int)}
	c.Points = func(int, *trace.Recorder) (cp.Made, error) { return cp.Made{Notifier: point}, nil }
	p := newPlant(t, c)
	p.offer(0, ether(1, 2, 0), 100)
	p.offer(2, ether(2, 0, 0), 100) // the way back is busy
	p.run(300 * t1500)
	told := 0
	for _, a := range p.stations[0].came {
		if a.frame.Kind == wire.Notification {
			told++
			if a.frame.QP != 1 || a.frame.Sampled().Fb != 9 {
				t.Errorf("it was told %+v", a.frame)
			}
		}
	}
	if told != 10 || p.count(trace.Notify) != 20 {
		t.Errorf("%d notifications came to the first source, %d were sent; want 10, 20", told, p.count(trace.Notify))
	}
	for i, b := range point.bytes {
		if b < mtu {
			t.Fatalf("frame %d joined a queue of %v: it counts itself", i, b)
		}
	}
	p.whole()
}

// sieve is a congestion point that drops each third frame, and marks each of the next.
type sieve struct {
	n     int
	found []cp.Queue
	left  []cp.Queue
}

func (c *sieve) Admit(_ unit.Time, f *wire.Frame, q cp.Queue) cp.Verdict {
	c.found = append(c.found, q)
	c.n++
	switch c.n % 3 {
	case 0:
		return cp.Drop
	case 1:
		f.FECN = true
		return cp.Marked
	}
	return cp.Pass
}

func (c *sieve) Dequeue(_ unit.Time, _ *wire.Frame, q cp.Queue) { c.left = append(c.left, q) }

func (*sieve) Reset() {}

// What a congestion point drops is reported as its own, and its memory is free: with PAUSE
// the sender continues. What it marks is reported as it leaves. The point sees the queue
// without the frame.
func TestFramesThatAreKeptFromAQueue(t *testing.T) {
	c := outputQueued(3)
	point := &sieve{}
	c.Points = func(int, *trace.Recorder) (cp.Made, error) { return cp.Made{Dropper: point}, nil }
	p := newPlant(t, c)
	p.offer(0, ether(1, 2, 0), 300)
	p.offer(1, ether(2, 2, 5), 300)
	p.run(900 * t1500)
	p.conserved(&c)
	came, marked := p.inOrder(2), 0
	for _, a := range p.stations[2].came {
		if a.frame.FECN {
			marked++
		}
	}
	if came[1]+came[2] != 400 || p.count(trace.Drop) != 200 || p.count(trace.Drop, trace.EarlyDrop) != 200 {
		t.Errorf("%v came, %d were dropped, %d of them early; want 400, 200, 200", came, p.count(trace.Drop), p.count(trace.Drop, trace.EarlyDrop))
	}
	if marked != 200 || p.count(trace.Mark, trace.EarlyMark) != 200 || p.count(trace.Mark) != 200 {
		t.Errorf("%d came marked, %d marks were reported; want 200", marked, p.count(trace.Mark, trace.EarlyMark))
	}
	if len(p.stations[0].told) == 0 {
		t.Error("the first sender was never stopped")
	}
	longest := 0
	for i, q := range append(point.found, point.left...) {
		if longest = max(longest, q.Frames); q.Bytes != unit.Size(q.Frames)*mtu || q.Length != mtu || !q.Lossless || q.Leaving != (i >= len(point.found)) {
			t.Fatalf("look %d is at %+v", i, q)
		}
	}
	if point.found[0].Frames != 0 || longest < 5 {
		t.Errorf("the first queue had %d frames, the longest %d", point.found[0].Frames, longest)
	}
}

// What the queue event says is what waits.
func TestQueueEventsAddUp(t *testing.T) {
	p := newPlant(t, outputQueued(3))
	p.offer(0, ether(1, 2, 0), 50)
	p.offer(1, ether(2, 2, 7), 50)
	p.run(300 * t1500)
	last := make(map[uint8]int64)
	for _, e := range p.events {
		if e.Kind != trace.Queue || e.Port != 2 {
			continue
		}
		last[e.Lane] = e.B
		if sum := last[0] + last[7]; e.A != sum {
			t.Fatalf("%d bytes wait in all, %d in the two priorities", e.A, sum)
		}
	}
	if last[0] != 0 || last[7] != 0 {
		t.Errorf("in the end %v bytes wait", last)
	}
}

func TestOutputQueuedMistakes(t *testing.T) {
	for want, change := range map[string]func(*switchd.OutputQueuedConfig){
		"for 3 ports":            func(c *switchd.OutputQueuedConfig) { c.Memory = 2 },
		"must rise":              func(c *switchd.OutputQueuedConfig) { c.Low = c.High + 1 },
		"promises that no frame": func(c *switchd.OutputQueuedConfig) { c.OutputLimit = mtu },
		"the memory must":        func(c *switchd.OutputQueuedConfig) { c.High = c.Memory + 1 },
		"it is above 0":          func(c *switchd.OutputQueuedConfig) { c.Dynamic.Shared = 1 },
		"with a high watermark":  func(c *switchd.OutputQueuedConfig) { c.Pooled, c.Dynamic.Alpha = true, 1 },
		"is a part of it": func(c *switchd.OutputQueuedConfig) {
			c.Pooled, c.High, c.Dynamic = true, 0, switchd.Dynamic{Alpha: 1, Shared: c.Memory + 1}
		},
		"cannot be negative": func(c *switchd.OutputQueuedConfig) { c.OutputLimit = -1 },
		"flow control credit": func(c *switchd.OutputQueuedConfig) {
			for i := range c.Ports {
				c.Ports[i].FlowControl = port.Credits
			}
		},
		"port 1 has flow control pfc": func(c *switchd.OutputQueuedConfig) { c.Ports[1].FlowControl = port.PriorityPauseFrames },
		"a size is from":              func(c *switchd.OutputQueuedConfig) { *c = trimming(3); c.Trim.Size = 40 },
		"there are 8 prio":            func(c *switchd.OutputQueuedConfig) { *c = trimming(3); c.Trim.Priority = 8 },
		"limit is above 0":            func(c *switchd.OutputQueuedConfig) { *c = trimming(3); c.Trim.Limit = 0 },
		"2 of 3 ports":                func(c *switchd.OutputQueuedConfig) { *c = trimming(3); c.LastHop = c.LastHop[:2] },
		"keeps from being dr": func(c *switchd.OutputQueuedConfig) {
			c.Trim, c.LastHop, c.Lossless = trimming(3).Trim, make([]bool, 3), 1<<6
			for i := range c.Ports {
				c.Ports[i].FlowControl = port.PriorityPauseFrames
			}
		},
		"there are 3 ports": func(c *switchd.OutputQueuedConfig) { c.Routes[0].To[1] = 3 },
	} {
		c := outputQueued(3)
		change(&c)
		if _, err := switchd.NewOutputQueued(c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Random traffic, random flow control, random memory: what was offered has come or was
// dropped, each flow in order, and in the end the memory is empty.
func FuzzOutputQueued(f *testing.F) {
	f.Add(uint64(1), uint8(0), false, false)
	f.Add(uint64(2), uint8(1), true, false)
	f.Add(uint64(3), uint8(2), false, true)
	f.Add(uint64(4), uint8(2), true, true)
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8, pooled, cut bool) {
		r := unit.NewRandom(seed, 1)
		n := 2 + int(r.Below(5))
		c := outputQueued(n)
		c.Pooled, c.CutThrough, c.Lossless = pooled, cut, uint8(r.Uint64())
		c.Memory = unit.Size(n) * unit.Size(20000+r.Below(40000))
		c.High = c.Memory / unit.Size(n) / 3
		c.Low = c.High / 2
		for i := range c.Ports {
			c.Ports[i].FlowControl = port.PauseFrames + port.FlowControl(kind%3)
			c.Ports[i].Rate = tenGig / unit.Rate(1+r.Below(4))
		}
		p := newPlant(t, c)
		offered := 0
		for i := range 3 * n {
			from, to := int(r.Below(uint64(n))), int(r.Below(uint64(n)))
			k := int(r.Below(60))
			p.offer(from, ether(uint32(i+1), to, uint8(r.Below(8))), k)
			offered += k
		}
		p.run(unit.Time(offered+100) * 8 * t1500)
		came := 0
		for i := range n {
			for _, k := range p.inOrder(i) {
				came += k
			}
		}
		p.conserved(&c)
		dropped := p.count(trace.Drop)
		if came+dropped != offered {
			t.Errorf("%d offered, %d came, %d dropped", offered, came, dropped)
		}
		left := make(map[uint16]int64)
		for _, e := range p.events {
			if e.Kind == trace.Queue {
				left[e.Port] = e.A
			}
		}
		for at, bytes := range left {
			if bytes != 0 {
				t.Errorf("in the end %d bytes wait for port %d", bytes, at)
			}
		}
		for _, e := range p.broken {
			// With PAUSE two thirds of a part are headroom; PFC has not as much for each
			// priority.
			if trace.Reason(e.A) != trace.Overrun || c.Ports[0].FlowControl == port.PauseFrames {
				t.Errorf("at %v, port %d: %v", e.At, e.Port, trace.Reason(e.A))
			}
		}
	})
}
