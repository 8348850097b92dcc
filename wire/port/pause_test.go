package port

import (
	"fmt"
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const tenGigabit = 10_000_000_000 * unit.BitPerSecond

// A pair is two Ethernet ports, joined: tx sends data of the priorities in order
// whenever it may, rx stores what comes in a buffer for each class, stops and releases it
// by their watermarks, and sends its own frames whenever it may.
type pair struct {
	t       *testing.T
	now     unit.Time
	config  Config
	ports   [2]*Port
	outs    [2]Outbox
	rec     [2]trace.Recorder
	events  []trace.Event
	flying  [2][]Transmission
	seen    [2][]Transmission // all that was started
	size    uint32            // of the data
	classes []uint8           // of the data of tx, in turn; none: it sends nothing
	back    uint32            // of the data of rx; 0: none
	quiet   unit.Time         // rx sends nothing before
	stored  [Priorities][]wire.Frame
	buffer  [Priorities]Buffer
	psn     uint32
}

func (p *pair) Record(e *trace.Event) { p.events = append(p.events, *e) }

func newPair(t *testing.T, c Config, b BufferConfig) *pair {
	p := &pair{t: t, config: c, size: 1500, classes: []uint8{0}}
	for i := range p.ports {
		p.rec[i] = trace.NewRecorder(i, p)
		c.Station = wire.LID(i + 1)
		p.ports[i] = New(0, c, &p.outs[i], &p.rec[i])
	}
	for i := range p.buffer {
		p.buffer[i] = NewBuffer(b)
	}
	return p
}

func etherLink(kind FlowControl) Config {
	return Config{Rate: tenGigabit, Propagation: 500 * ns, FlowControl: kind}
}

func (p *pair) frame(lane uint8, size uint32) wire.Frame {
	return wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: lane, Src: 1, Dst: 2, QP: 2, PSN: p.psn, Payload: size}
}

// act lets both ends send what they may, and returns when they have to be asked again.
func (p *pair) act() unit.Time {
	next := unit.Never
	for i, pt := range p.ports {
		next = min(next, pt.Control(p.now))
		var frames []wire.Frame
		if i == 0 {
			for _, c := range p.classes {
				frames = append(frames, p.frame(c, p.size))
			}
		} else if p.back > 0 && p.now >= p.quiet {
			frames = append(frames, p.frame(0, p.back))
		}
		for k := range frames {
			if a := pt.MaySend(p.now, &frames[k], pt.Framing().Length(&frames[k])); a.Block == Open {
				pt.Start(p.now, &frames[k], pt.Framing().Length(&frames[k]), Note{})
				p.psn++
				p.classes = append(p.classes[min(1, len(p.classes)):], p.classes[:min(1, len(p.classes))]...)
			} else {
				next = min(next, a.Until)
			}
		}
		if free := pt.Transmitter().Free(); free > p.now {
			next = min(next, free)
		}
		next = min(next, pt.Resend())
		for tr, ok := p.outs[i].Poll(); ok; tr, ok = p.outs[i].Poll() {
			p.flying[i] = append(p.flying[i], *tr)
			p.seen[i] = append(p.seen[i], *tr)
		}
	}
	if p.back > 0 && p.now < p.quiet {
		next = min(next, p.quiet)
	}
	return next
}

// run lets time continue until t.
func (p *pair) run(t unit.Time) {
	p.t.Helper()
	for {
		next := p.act()
		for i := range p.flying {
			if len(p.flying[i]) > 0 {
				next = min(next, p.flying[i][0].Due)
			}
		}
		if next <= p.now {
			p.t.Fatalf("%v: time does not go on", p.now)
		}
		if next > t {
			p.now = t
			return
		}
		p.now = next
		for i := range p.flying {
			for len(p.flying[i]) > 0 && p.flying[i][0].Due <= p.now {
				tr := p.flying[i][0]
				p.flying[i] = p.flying[i][1:]
				a := Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
				if p.ports[1-i].Receive(p.now, &a) && i == 0 {
					p.store(&a)
				}
			}
		}
	}
}

func (p *pair) store(a *Arrival) {
	lane := a.Frame.Lane
	b := &p.buffer[lane]
	if !b.Store(a.Length) {
		p.ports[1].Refused(p.now, a, b.Used(), p.config.FlowControl != NoFlowControl)
		return
	}
	p.ports[1].Stored(p.now, a, b.Used())
	p.stored[lane] = append(p.stored[lane], a.Frame)
	if x := p.ports[1].Pausing(); x != nil && b.Stopped() {
		x.Stop(lane)
	}
}

func (p *pair) free(lane uint8, n int) {
	b := &p.buffer[lane]
	for range n {
		f := p.stored[lane][0]
		p.stored[lane] = p.stored[lane][1:]
		b.Free(wire.PaperFraming.Length(&f))
		p.ports[1].Released(p.now, &f, b.Used())
		if c := p.ports[1].Channels(); c != nil {
			c.GiveBack(p.now, &f, p.ports[1].Framing().Length(&f))
		}
	}
	if x := p.ports[1].Pausing(); x != nil && !b.Stopped() {
		x.Resume(lane)
	}
}

func (p *pair) count(k trace.Kind, r trace.Reason) int {
	n := 0
	for _, e := range p.events {
		if e.Kind == k && e.A == int64(r) {
			n++
		}
	}
	return n
}

// sent returns what was started of a kind.
func sent(seen []Transmission, k wire.Kind) (out []Transmission) {
	for _, tr := range seen {
		if tr.Frame.Kind == k {
			out = append(out, tr)
		}
	}
	return out
}

// A PAUSE is said when the watermark is reached, again before it runs out, and taken
// back at the low watermark: the peer is stopped in between, however long.
func TestPauseHoldsUntilItIsTakenBack(t *testing.T) {
	for _, quanta := range []uint16{0, LeastQuanta(wire.PaperFraming), 200, 1000} {
		t.Run(fmt.Sprint(quanta), func(t *testing.T) {
			c := etherLink(PauseFrames)
			c.Quanta = quanta
			p := newPair(t, c, BufferConfig{Room: 100_000, High: 30_000, Low: 15_000})
			p.back = 9000 // the refresh must wait for these
			p.run(at(100 * us))
			held := len(p.stored[0])
			p.run(at(20_000 * us))
			if got := len(p.stored[0]); got != held {
				t.Errorf("%d frames came while paused", got-held)
			}
			pauses := sent(p.seen[1], wire.Pause)
			last := pauses[len(pauses)-1]
			asked := uint16(MaxQuanta)
			if quanta != 0 {
				asked = quanta
			}
			if last.Frame.Pause().Quanta != asked || last.Frame.Src != 2 || last.Length != 64 {
				t.Errorf("the PAUSE frame is %+v of %v", last.Frame, last.Length)
			}
			// 512 bit times at 10 Gb/s are 51.2 ns.
			lasts := unit.Duration(asked) * 51200
			often := int((20_000 * us) / lasts)
			if n := len(pauses); n < often || lasts > 40*us && n > 2*often+2 {
				t.Errorf("%d PAUSE frames in 20 ms; each lasts %v", n, lasts)
			}
			p.free(0, held)
			p.run(at(20_100 * us))
			pauses = sent(p.seen[1], wire.Pause)
			resumed := false
			for _, tr := range pauses {
				resumed = resumed || tr.Frame.Pause().Quanta == 0
			}
			if !resumed || len(p.stored[0]) < 20 {
				t.Errorf("after the buffer was emptied: quanta 0 said: %v; %d frames came", resumed, len(p.stored[0]))
			}
			if n := p.count(trace.Violation, trace.SentPaused) + p.count(trace.Violation, trace.Overrun); n > 0 {
				t.Errorf("%d violations", n)
			}
		})
	}
}

// The rate of both ends changes while the peer is stopped: the quanta that it was
// told are others now, and it is stopped all the same.
func TestPauseHoldsWhenTheRateChanges(t *testing.T) {
	for _, rate := range []unit.Rate{tenGigabit / 10, tenGigabit * 4} {
		p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 100_000, High: 30_000, Low: 15_000})
		p.back = 1500
		p.run(at(100 * us))
		for _, pt := range p.ports {
			pt.Apply(p.now, RateChange{Rate: rate})
		}
		held := len(p.stored[0])
		p.run(at(60_000 * us))
		if got := len(p.stored[0]); got != held {
			t.Errorf("at %v %d frames came while paused", rate, got-held)
		}
		if n := len(sent(p.seen[1], wire.Pause)); n < 3 {
			t.Errorf("at %v PAUSE was said %d times", rate, n)
		}
	}
}

// However few quanta there are, the receiver's own frames have their turn between the
// PAUSE frames, and the sender is stopped.
func TestPauseFramesLeaveTimeForOthers(t *testing.T) {
	for _, framing := range []wire.Framing{wire.PaperFraming, wire.WireFraming} {
		c := etherLink(PauseFrames)
		c.Quanta, c.Framing = LeastQuanta(framing), framing
		p := newPair(t, c, BufferConfig{Room: 1 << 30})
		p.back = 9000
		p.ports[1].Pausing().Stop(0)
		p.run(at(1000 * us))
		// A frame takes 7.2 µs and a little, and a PAUSE frame follows each.
		if n := len(sent(p.seen[1], wire.Data)); n < 130 {
			t.Errorf("%d frames in 1 ms, between %d PAUSE frames", n, len(sent(p.seen[1], wire.Pause)))
		}
		if n := len(p.stored[0]); n > 1 {
			t.Errorf("%d frames came while paused", n)
		}
	}
}

// When the rate falls as many quanta are left as there were; when it rises the peer stands
// still for as long as it would have, also for a PAUSE that was in flight then.
func TestStopWhenTheRateChanges(t *testing.T) {
	const quanta = 100 // 5.12 µs
	pause := wire.Frame{Kind: wire.Pause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: quanta})}
	for _, c := range []struct {
		rate          unit.Rate
		change, until unit.Duration // the PAUSE leaves at 0 and comes at 1 µs
	}{
		{tenGigabit / 10, 2 * us, 2*us + 10*(5120*ns-us)},
		{tenGigabit * 4, 2 * us, us + 5120*ns},
		{tenGigabit * 4, us / 2, us + 5120*ns},
		{tenGigabit / 10, us / 2, us + 51200*ns},
	} {
		p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 1 << 30})
		pt := p.ports[0]
		change := func() { pt.Apply(at(c.change), RateChange{Rate: c.rate}) }
		if c.change < us {
			change()
		}
		pt.Receive(at(us), &Arrival{Frame: pause, Length: 64})
		if c.change > us {
			change()
		}
		if got := pt.Pausing().Until(at(max(us, c.change)), 0); got != at(c.until) {
			t.Errorf("at %v to %v: paused until %v, want %v", c.change, c.rate, got, c.until)
		}
	}
}

// A PAUSE that is not said again ends by itself, quanta times 512 bit times after it
// came, to the picosecond; and it acts at a frame boundary.
func TestPauseRunsOut(t *testing.T) {
	p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 1 << 30})
	p.run(at(10*us + 1)) // a frame is on the link
	a := Arrival{Frame: wire.Frame{Kind: wire.Pause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 100})}, Head: p.now, Length: 64}
	if p.ports[0].Receive(p.now, &a) {
		t.Fatal("a PAUSE frame was passed on")
	}
	came := p.now
	p.run(at(30 * us))
	var before, after unit.Time
	for _, tr := range p.seen[0] {
		if tr.Start < came {
			before = tr.Start
		} else if after == 0 {
			after = tr.Start
		}
	}
	if before.Add(1200*ns) <= came {
		t.Fatalf("no frame was on the line at %v", came)
	}
	if want := came.Add(5120 * ns); after != want {
		t.Errorf("the next frame started at %v, want %v", after, want)
	}
}

// PFC stops a class, and the other continues; PAUSE stops both.
func TestPFCStopsOneClass(t *testing.T) {
	for _, kind := range []FlowControl{PauseFrames, PriorityPauseFrames} {
		p := newPair(t, etherLink(kind), BufferConfig{Room: 1 << 30})
		p.classes = []uint8{3, 5}
		p.ports[1].Pausing().Stop(3)
		p.run(at(100 * us))
		got3, got5 := len(p.stored[3]), len(p.stored[5])
		if kind == PauseFrames {
			if got3+got5 > 2 {
				t.Errorf("PAUSE: %d and %d frames came", got3, got5)
			}
			continue
		}
		if got3 > 1 || got5 < 70 {
			t.Errorf("PFC of class 3: %d of class 3 and %d of class 5 came", got3, got5)
		}
		if f := sent(p.seen[1], wire.PriorityPause)[0].Frame; f.Pause().Classes != 1<<3 || f.Pause().Stopped != 1<<3 || f.Pause().Quanta != MaxQuanta {
			t.Errorf("the PFC frame is %+v", f)
		}
		p.ports[1].Pausing().Resume(3)
		p.run(at(110 * us))
		pfc := sent(p.seen[1], wire.PriorityPause)
		if f := pfc[len(pfc)-1].Frame; f.Pause().Classes != 1<<3 || f.Pause().Stopped != 0 || f.Pause().Quanta != 0 {
			t.Errorf("the PFC frame that takes it back is %+v", f)
		}
		if len(p.stored[3]) < got3+2 {
			t.Error("class 3 did not go on")
		}
	}
}

// What the node wanted and wants no more before the link is idle is not said.
func TestPauseTakenBackBeforeItIsSaid(t *testing.T) {
	p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 1 << 30})
	p.ports[1].Pausing().Stop(0)
	p.ports[1].Pausing().Resume(0)
	p.run(at(10 * us))
	if n := len(p.seen[1]); n != 0 {
		t.Errorf("%d frames were sent", n)
	}
}

// "The computed headroom suffices and 1 frame less overruns."
func TestHeadroom(t *testing.T) {
	for _, c := range []struct {
		frame, back uint32
		flight      unit.Duration
		high        unit.Size
	}{
		{1500, 0, 500 * ns, 30_000},
		{1500, 9000, 500 * ns, 30_000},
		{1500, 1500, 50 * us, 30_001},
		{9000, 9000, 5 * us, 27_000},
		{64, 1500, ns, 10_000},
		{1500, 1500, ns, 1},
	} {
		h := Headroom{Rate: tenGigabit, There: c.flight, Back: c.flight, Frame: unit.Size(c.frame), Reverse: unit.Size(c.back), Pause: 64}
		need := h.Uniform(c.high)
		if any := h.Bytes(); any < need {
			t.Errorf("%+v: %d bytes are enough for any sizes, but %d are needed for one", c, any, need)
		}
		// The frame of the receiver begins so that it is the worst: just before the
		// watermark is reached.
		reached := at(unit.Duration((c.high+h.Frame-1)/h.Frame)*h.Rate.Serialise(h.Frame) + c.flight)
		for less, want := range map[unit.Size]bool{0: false, 1: true, h.Frame: true} {
			link := etherLink(PauseFrames)
			link.Propagation = c.flight
			p := newPair(t, link, BufferConfig{Room: c.high + need - less, High: c.high})
			p.size, p.back, p.quiet = c.frame, c.back, reached-1
			p.run(at(2000 * us))
			if got := p.count(trace.Violation, trace.Overrun) > 0; got != want {
				t.Errorf("%+v: headroom of %d less %d: overrun %v, want %v", c, need, less, got, want)
			}
			if n := p.count(trace.Violation, trace.SentPaused); n > 0 {
				t.Errorf("%d frames were sent while paused", n)
			}
		}
	}
}

// The word that stops one class may have to wait for the one that has just begun to
// stop another.
func TestHeadroomBehindAnotherPFCFrame(t *testing.T) {
	link := etherLink(PriorityPauseFrames)
	link.Propagation = 569400 // ps: in the time of the PFC frame's way two frames begin, or only one
	h := Headroom{Rate: tenGigabit, There: link.Propagation, Back: link.Propagation, Frame: 1500, Pause: 64}
	const high = 30_001 // 21 frames reach it
	for _, room := range []unit.Size{high + h.Bytes(), high + h.Uniform(high)} {
		p := newPair(t, link, BufferConfig{Room: room, High: high})
		p.classes = []uint8{3}
		p.run(at(21*1200*ns+link.Propagation) - 1)
		p.ports[1].Pausing().Stop(5)
		p.run(at(2000 * us))
		if n := p.count(trace.Violation, trace.Overrun); n > 0 {
			t.Errorf("%d frames had no room in %d bytes", n, room)
		}
		if pfc := sent(p.seen[1], wire.PriorityPause); len(pfc) < 2 || pfc[0].Frame.Pause().Stopped != 1<<5 || pfc[1].Frame.Pause().Stopped != 1<<5|1<<3 {
			t.Errorf("the PFC frames are %+v", pfc)
		}
	}
}

// While a slow frame of the receiver is on the link the link becomes fast.
func TestHeadroomWhenTheRateRises(t *testing.T) {
	h := Headroom{Rate: 10 * tenGigabit, Slowest: tenGigabit, There: 500 * ns, Back: 500 * ns, Frame: 1500, Reverse: 9000, Pause: 64}
	const high = 30_001
	for room, want := range map[unit.Size]bool{high + h.Bytes(): false, high + (Headroom{Rate: h.Rate, There: h.There, Back: h.Back, Frame: 1500, Reverse: 9000, Pause: 64}).Bytes(): true} {
		p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: room, High: high})
		p.back, p.quiet = 9000, at(20*1200*ns+500*ns) // it is on the link when the watermark is reached
		p.run(p.quiet + 1)
		for _, pt := range p.ports {
			pt.Apply(p.now, RateChange{Rate: h.Rate})
		}
		p.run(at(2000 * us))
		if got := p.count(trace.Violation, trace.Overrun) > 0; got != want {
			t.Errorf("room for %d bytes: overrun %v, want %v", room, got, want)
		}
	}
}

// Without flow control a full buffer drops: no violation, but a drop with its place.
func TestNoFlowControlDrops(t *testing.T) {
	p := newPair(t, etherLink(NoFlowControl), BufferConfig{Room: 15_000, High: 1500})
	p.run(at(100 * us))
	if n := p.count(trace.Drop, trace.BufferFull); n < 60 {
		t.Errorf("%d frames were dropped", n)
	}
	for _, e := range p.events {
		if e.Kind == trace.Violation {
			t.Fatalf("a violation: %+v", e)
		}
	}
	if n := len(p.seen[1]); n != 0 {
		t.Errorf("%d frames went back", n)
	}
}

// In a pause storm the peer is stopped for as long as it lasts, and no longer.
func TestPauseStorm(t *testing.T) {
	for _, kind := range []FlowControl{PauseFrames, PriorityPauseFrames} {
		p := newPair(t, etherLink(kind), BufferConfig{Room: 1 << 30})
		p.run(at(100 * us))
		p.ports[1].Apply(p.now, StormStart{})
		p.run(at(102 * us))
		n := len(p.stored[0])
		p.run(at(30_000 * us))
		if got := len(p.stored[0]); got != n {
			t.Errorf("%v: %d frames passed in the storm", kind, got-n)
		}
		p.ports[1].Apply(p.now, StormStop{})
		p.run(at(30_100 * us))
		if got := len(p.stored[0]) - n; got < 75 {
			t.Errorf("%v: %d frames after the storm", kind, got)
		}
	}
}

// A storm of frames that a port with PFC has to ignore stops nothing, and PFC works alongside it.
func TestInvalidStorm(t *testing.T) {
	for _, kind := range []wire.Kind{wire.Pause, wire.PriorityPause} {
		p := newPair(t, etherLink(PriorityPauseFrames), BufferConfig{Room: 1 << 30})
		p.ports[1].Apply(p.now, StormStart{Invalid: kind})
		p.run(at(30_000 * us))
		n := len(p.stored[0])
		if n < 20_000 || p.ports[1].Pausing().Until(p.now, 0) != 0 || p.ports[1].ControlIdle() {
			t.Errorf("%v: %d frames passed", kind, n)
		}
		p.ports[1].Pausing().Stop(0)
		p.run(at(30_010 * us))
		n = len(p.stored[0])
		if p.run(at(30_200 * us)); len(p.stored[0]) != n {
			t.Errorf("%v: %d frames passed a stop", kind, len(p.stored[0])-n)
		}
		p.ports[1].Pausing().Resume(0)
		p.run(at(30_300 * us))
		if len(p.stored[0]) == n || p.ports[1].ControlIdle() {
			t.Errorf("%v: nothing passed after the stop", kind)
		}
		p.ports[1].Apply(p.now, StormStop{Invalid: kind})
		if !p.ports[1].ControlIdle() {
			t.Errorf("%v: the storm does not end", kind)
		}
	}
}

// A storm of XON stops nothing, ends a stop that came before it, and does not end one of the port
// itself, which works alongside it.
func TestXONStorm(t *testing.T) {
	for _, kind := range []FlowControl{PauseFrames, PriorityPauseFrames} {
		p := newPair(t, etherLink(kind), BufferConfig{Room: 1 << 30})
		p.ports[1].Apply(p.now, StormStart{})
		p.run(at(1000 * us))
		n := len(p.stored[0])
		p.ports[1].Apply(p.now, StormStop{})
		p.ports[1].Apply(p.now, StormStart{XON: true})
		p.run(at(30_000 * us))
		var last *wire.Frame
		frames := 0
		for i := range p.seen[1] {
			if f := &p.seen[1][i].Frame; f.Kind.Control() {
				last = f
				frames++
			}
		}
		if want := (wire.PauseExtension{Classes: allClasses}); kind == PriorityPauseFrames && *last.Pause() != want || kind == PauseFrames && *last.Pause() != (wire.PauseExtension{}) {
			t.Errorf("%v: the storm has %+v", kind, *last)
		}
		if got := len(p.stored[0]) - n; frames < 8 || got < 23_000 {
			t.Errorf("%v: %d frames passed, %d frames of the storm", kind, got, frames)
		}
		p.ports[1].Pausing().Stop(0)
		p.run(at(30_010 * us))
		n = len(p.stored[0])
		if p.run(at(60_000 * us)); len(p.stored[0]) != n {
			t.Errorf("%v: %d frames passed a stop", kind, len(p.stored[0])-n)
		}
		p.ports[1].Pausing().Resume(0)
		p.ports[1].Apply(p.now, StormStop{XON: true})
		p.run(at(60_300 * us))
		if len(p.stored[0]) == n || !p.ports[1].ControlIdle() {
			t.Errorf("%v: %d frames passed after the stop; the storm has ended: %v", kind, len(p.stored[0])-n, p.ports[1].ControlIdle())
		}
	}
}

// "A new incarnation, flow control initialised anew": what is in flight is lost, the
// pause is forgotten by who was paused, and said again by who still wants it.
func TestLinkDownAndUp(t *testing.T) {
	p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 1 << 30})
	p.run(at(100*us + 600*ns))
	apply := func(c Change) {
		for _, pt := range p.ports {
			pt.Apply(p.now, c)
		}
	}
	apply(LinkDown{})
	came, started := len(p.stored[0]), len(p.seen[0])
	p.run(at(200 * us))
	if got := p.count(trace.Drop, trace.LinkWasDown); got != started-came || got == 0 {
		t.Errorf("%d frames were lost, %d were under way", got, started-came)
	}
	if len(p.seen[0]) != started || len(p.stored[0]) != came {
		t.Error("something was sent, or came, while the link was down")
	}
	f := p.frame(0, 1500)
	if a := p.ports[0].MaySend(p.now, &f, p.ports[0].Framing().Length(&f)); a != (Answer{Down, unit.Never}) {
		t.Errorf("may I send: %v", a)
	}
	p.ports[1].Pausing().Stop(0)
	apply(LinkUp{})
	p.run(at(300 * us))
	if got := len(p.stored[0]) - came; got != 1 {
		t.Errorf("%d frames came after the link was up, want the one before the PAUSE", got)
	}
	p.ports[1].Pausing().Resume(0)
	p.run(at(400 * us))
	if got := len(p.stored[0]) - came; got < 80 {
		t.Errorf("%d frames came", got)
	}
}

// The memory is full up to its headroom when the link goes down. When it is up its
// sender has forgotten the PAUSE: what comes until it is told again may be lost, by the
// link, and no promise is broken. What comes later must have room.
func TestLinkUpWithoutRoom(t *testing.T) {
	h := Headroom{Rate: tenGigabit, There: 500 * ns, Back: 500 * ns, Frame: 1500, Pause: 64}
	p := newPair(t, etherLink(PauseFrames), BufferConfig{Room: 30_000 + h.Uniform(30_000), High: 30_000, Low: 15_000})
	p.run(at(100 * us))
	held := len(p.stored[0])
	for _, c := range []Change{LinkDown{}, LinkUp{}} {
		for _, pt := range p.ports {
			pt.Apply(p.now, c)
		}
		p.run(p.now.Add(100 * us))
	}
	if more, lost := len(p.stored[0])-held, p.count(trace.Drop, trace.LinkWasDown); lost == 0 || more+lost > 2 {
		t.Errorf("%d frames have come, %d were lost; want one lost at least, and two in all: there and back the word takes 1.1 us", more, lost)
	}
	for _, e := range p.events {
		if e.Kind == trace.Violation {
			t.Errorf("a violation: %+v", e)
		}
	}
	// Once it is told, a frame without room is a mistake of whoever sent it.
	a := Arrival{Frame: p.frame(0, 1500), Head: p.now, Tail: p.now.Add(1200 * ns), Length: 1500}
	p.ports[1].Refused(p.now, &a, 0, true)
	if p.count(trace.Violation, trace.Overrun) != 1 {
		t.Error("a frame that was sent after that has been excused")
	}
}

// The same with credit: the counters begin again, and the buffer keeps what it has.
func TestLinkDownAndUpWithCredit(t *testing.T) {
	c := paperLink()
	c.CutThrough = false
	x := newExchange(t, c)
	x.b.hold, x.quiet = true, true
	x.queue(x.a, data(0, 3))
	x.run(5 * us) // two are there, the third is in flight
	for _, e := range []*end{x.a, x.b} {
		e.port.Apply(x.now, LinkDown{})
	}
	x.queue(x.a, data(3, 9))
	x.run(20 * us)
	if got := x.b.count(trace.Drop, trace.LinkWasDown); got != 1 {
		t.Errorf("%d frames were lost, want 1", got)
	}
	if a := x.a.port.MaySend(x.now, &x.a.wait[DataLane][0], x.a.port.Framing().Length(&x.a.wait[DataLane][0])); a.Block != Down {
		t.Errorf("may I send: %v", a)
	}
	for _, e := range []*end{x.a, x.b} {
		e.port.Apply(x.now, LinkUp{})
	}
	x.run(20 * us)
	if got := len(x.b.came[DataLane]); got != 4 {
		t.Errorf("%d frames came into a buffer for 4", got)
	}
	x.b.hold = false
	x.free(x.b, DataLane, 4)
	x.run(40 * us)
	if got := len(x.b.came[DataLane]); got != 11 {
		t.Errorf("%d frames came in the end, want 11", got)
	}
	x.atRest()
}

func TestBuffer(t *testing.T) {
	b := NewBuffer(BufferConfig{Room: 100, High: 60, Low: 20})
	for _, s := range []struct {
		store, free unit.Size
		refused     bool
		used        unit.Size
		stopped     bool
	}{
		{store: 59, used: 59},
		{store: 1, used: 60, stopped: true},
		{store: 41, refused: true, used: 60, stopped: true},
		{store: 40, used: 100, stopped: true},
		{free: 79, used: 21, stopped: true},
		{free: 1, used: 20},
		{store: 39, used: 59},
	} {
		if s.free > 0 {
			b.Free(s.free)
		} else if got := b.Store(s.store); got == s.refused {
			t.Errorf("store %d of %d: %v", s.store, b.Used(), got)
		}
		if b.Used() != s.used || b.Stopped() != s.stopped {
			t.Errorf("%+v: used %d, stopped %v", s, b.Used(), b.Stopped())
		}
	}
	never := NewBuffer(BufferConfig{Room: 100})
	if never.Store(100); never.Stopped() {
		t.Error("a buffer without a high watermark stops its sender")
	}
}

// Uniform returns exactly how much room above a high watermark is needed, if all frames have the
// size Frame and a frame is stored once all of it has arrived (store and forward).
func (h Headroom) Uniform(high unit.Size) unit.Size {
	reached := (high + h.Frame - 1) / h.Frame * h.Frame // occupancy is a multiple of Frame
	each := h.Rate.Serialise(h.Frame)
	begun := (h.window() + each - 1) / each
	return reached - high + unit.Size(begun)*h.Frame
}

// "Nearly each frame puts off the instant of Resend, which is noticed only when the timer has
// ended": the timer holds, and is never late.
func TestTimerHoldsUntilItEnds(t *testing.T) {
	var out Outbox
	rec := trace.NewRecorder(0, silent{})
	c := etherLink(PauseFrames)
	c.Quanta = LeastQuanta(c.Framing)
	p := New(0, c, &out, &rec)
	now := at(0)
	if p.Armed() || !p.ControlIdle() {
		t.Fatalf("a new port: armed %v, idle %v", p.Armed(), p.ControlIdle())
	}
	p.Pausing().Stop(0)
	p.Control(now)
	set := p.Timer(unit.Never)
	if set != p.Resend() || set == unit.Never || !p.Armed() {
		t.Fatalf("the timer is set to %v, armed %v; a PAUSE is due again at %v", set, p.Armed(), p.Resend())
	}
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: 9000}
	for now = p.Transmitter().Free(); now < set; now = p.Transmitter().Free() {
		p.Start(now, &f, p.Framing().Length(&f), Note{})
	}
	if !p.Armed() || p.Resend() <= set {
		t.Errorf("frames until %v: armed %v, and a PAUSE is due at %v, not after %v", now, p.Armed(), p.Resend(), set)
	}
	p.TimerEnded()
	if again := p.Timer(unit.Never); again != p.Resend() || !p.Armed() {
		t.Errorf("the timer is set to %v, armed %v; a PAUSE is due again at %v", again, p.Armed(), p.Resend())
	}
	p.Apply(now, Restart{})
	if p.Armed() {
		t.Error("armed after a restart, which forgets all instants")
	}
}
