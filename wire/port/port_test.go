package port

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// psns returns the numbers of frames.
func psns(frames []wire.Frame) []uint32 {
	var n []uint32
	for _, f := range frames {
		n = append(n, f.PSN)
	}
	return n
}

// upTo returns 0, 1, ... n-1.
func upTo(n int) []uint32 {
	var s []uint32
	for i := range n {
		s = append(s, uint32(i))
	}
	return s
}

// An FCP carries our FCTBS and our room: each end begins with one for each lane, and
// then four packets, and no more, cross to a buffer for four.
func TestExchangeOfAFullBuffer(t *testing.T) {
	x := newExchange(t, paperLink())
	x.b.hold = true
	x.queue(x.a, data(0, 6))
	x.run(20 * us)
	if diff := cmp.Diff(upTo(4), psns(x.b.came[DataLane])); diff != "" {
		t.Errorf("came (-want +got):\n%s", diff)
	}
	if got := x.b.port.VirtualLanes().Used(DataLane); got != 4*packetBlocks {
		t.Errorf("%d blocks are in use, want 132", got)
	}
	x.free(x.b, DataLane, 1)
	x.run(20 * us)
	if diff := cmp.Diff(upTo(5), psns(x.b.came[DataLane])); diff != "" {
		t.Errorf("came after one was freed (-want +got):\n%s", diff)
	}
	x.b.hold = false
	x.free(x.b, DataLane, 4)
	x.run(20 * us)
	if diff := cmp.Diff(upTo(6), psns(x.b.came[DataLane])); diff != "" {
		t.Errorf("came in the end (-want +got):\n%s", diff)
	}
	x.atRest()
}

// A link at full rate never waits for credit when its buffer covers the way there
// and back: packets follow one another without a gap.
func TestFullRate(t *testing.T) {
	x := newExchange(t, paperLink())
	var starts []unit.Time
	x.fate = func(from *end, tr *Transmission) int {
		if tr.Frame.Kind == wire.Data {
			starts = append(starts, tr.Start)
		}
		return 1
	}
	x.queue(x.a, data(0, 100))
	x.run(250 * us)
	if len(starts) != 100 {
		t.Fatalf("%d packets started, want 100", len(starts))
	}
	for i := 1; i < len(starts); i++ {
		if gap := starts[i].Sub(starts[i-1]); gap != 2068*ns {
			t.Errorf("packet %d starts %v after the one before, want 2.068us", i, gap)
		}
	}
}

// The typed answer: "line busy, no credit, ... until t".
func TestMaySendSaysWhyNot(t *testing.T) {
	x := newExchange(t, paperLink())
	p, f, ack := x.a.port, &data(0, 1)[0], &acks(0, 1)[0]
	ask := func(when string, f *wire.Frame, want Answer) {
		t.Helper()
		if got := p.MaySend(x.now, f, p.Framing().Length(f)); got != want {
			t.Errorf("%s: %v until %v, want %v until %v", when, got.Block, got.Until, want.Block, want.Until)
		}
	}
	ask("before the peer told its room", f, Answer{NoCredit, unit.Never})
	x.b.hold = true
	x.run(us)
	ask("on an idle link", f, Answer{Open, x.now})
	start := x.now
	p.Start(x.now, f, p.Framing().Length(f), Note{})
	ask("while a packet is on the line", f, Answer{LinkBusy, start.Add(2068 * ns)})
	x.now = start.Add(2068*ns) - 1
	ask("in the last picosecond of the packet", ack, Answer{LinkBusy, start.Add(2068 * ns)})
	x.now++
	ask("when its tail has left", f, Answer{Open, x.now})
	x.queue(x.a, data(1, 3))
	x.run(10 * us)
	ask("with the buffer full", f, Answer{NoCredit, unit.Never})
	ask("with the buffer for data full", ack, Answer{Open, x.now})
}

// "The lanes are independent": ACKs "have room of their own so that they never wait
// behind data for credit", nor data behind ACKs.
func TestLanesAreIndependent(t *testing.T) {
	x := newExchange(t, paperLink())
	x.b.hold = true
	x.queue(x.a, data(0, 10))
	x.run(20 * us) // data is out of credit
	x.queue(x.a, acks(0, 10))
	x.run(5 * us)
	if got := len(x.b.came[AckLane]); got != 10 {
		t.Errorf("%d ACKs came while data had no credit, want 10", got)
	}
	x.queue(x.a, acks(10, AckRoom)) // ACKs are out of credit too
	x.run(5 * us)
	if got := len(x.b.came[AckLane]); got != AckRoom {
		t.Errorf("%d ACKs came, want the %d that there is room for", got, AckRoom)
	}
	x.free(x.b, DataLane, 2)
	x.run(10 * us)
	if got := len(x.b.came[DataLane]); got != 6 {
		t.Errorf("%d data packets came while ACKs had no credit, want 6", got)
	}
}

// "Giving credit back in halves keeps the flow control packets for ACKs to one in
// 32", and it never comes to a standstill: a sender without credit has 64 ACKs at
// the receiver, two batches.
func TestCreditForACKsComesInBatches(t *testing.T) {
	c := paperLink()
	c.Resend = unit.Second // it plays no part here
	x := newExchange(t, c)
	const n = 3200
	x.queue(x.a, acks(0, n))
	x.run(n * 25 * ns)
	if diff := cmp.Diff(upTo(n), psns(x.b.came[AckLane])); diff != "" {
		t.Errorf("ACKs that came (-want +got):\n%s", diff)
	}
	if got, want := x.b.fcps[AckLane], 1+n/ackBatch; got != want {
		t.Errorf("%d flow control packets for %d ACKs, want %d", got, n, want)
	}
}

// "An FCP for each operational VL at least every 65,536 symbol times": nothing
// happens, and there is one for each lane every 262.144 µs, from each end.
func TestResendInterval(t *testing.T) {
	x := newExchange(t, paperLink())
	type sent struct {
		from string
		lane uint8
		at   unit.Time
	}
	var got, want []sent
	x.fate = func(from *end, tr *Transmission) int {
		got = append(got, sent{from.name, tr.Frame.Lane, tr.Start})
		return 1
	}
	x.run(unit.Millisecond)
	for k := range 4 {
		for _, name := range []string{"a", "b"} {
			for lane := range uint8(Lanes) {
				want = append(want, sent{name, lane, at(262144 * ns * unit.Duration(k))})
			}
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sent{})); diff != "" {
		t.Errorf("flow control packets (-want +got):\n%s", diff)
	}
}

// "Cost: at most one resend interval of stalled credit": with each of its flow
// control packets lost but those of the timer, a sender continues when the timer's
// comes.
func TestLostFCPsHealAtTheResendInterval(t *testing.T) {
	x := newExchange(t, paperLink())
	x.run(us)
	x.b.hold = true
	x.queue(x.a, data(0, 5))
	x.run(20 * us)
	lose := true
	var told, started unit.Time
	x.fate = func(from *end, tr *Transmission) int {
		switch {
		case tr.Frame.Kind == wire.Data:
			started = tr.Start
		case from == x.b && lose:
			if tr.Frame.Lane == DataLane {
				told = tr.Start
			}
			return 0
		}
		return 1
	}
	x.free(x.b, DataLane, 4)
	x.run(10 * us)
	if told == 0 || started != 0 {
		t.Fatalf("a flow control packet left at %v and data at %v: the packet was to be lost", told, started)
	}
	lose = false
	x.run(262144 * ns)
	if want := told.Add(262144*ns + ns); started != want {
		t.Errorf("the fifth packet started at %v, want %v: the resend interval and the propagation after the loss", started, want)
	}
	x.b.hold = false
	x.free(x.b, DataLane, 1)
	x.run(us)
	x.atRest()
}

// "Init: Op=1, FCTBS=0, FCCL=free, repeated until the peer's init/normal FCP
// arrives." The first two of b's are lost: b, which knows a's room, sends; a asks
// on, stores what comes, and sends nothing until it hears b.
func TestInitWithOneSideLost(t *testing.T) {
	x := newExchange(t, paperLink())
	lost := 0
	var ops []wire.Op
	x.fate = func(from *end, tr *Transmission) int {
		if tr.Frame.Kind != wire.FlowControl || tr.Frame.Lane != DataLane {
			return 1
		}
		if from == x.a {
			ops = append(ops, tr.Frame.Credit().Op)
		}
		if from == x.b && lost < 2 {
			lost++
			return 0
		}
		return 1
	}
	x.a.hold = true // so that nothing but the timer makes it tell
	x.queue(x.a, data(0, 1))
	x.queue(x.b, data(0, 3))
	x.run(300 * us)
	if len(x.a.came[DataLane]) != 3 || len(x.b.came[DataLane]) != 0 {
		t.Errorf("a has %d packets and b %d, want 3 and none", len(x.a.came[DataLane]), len(x.b.came[DataLane]))
	}
	x.run(300 * us)
	if len(x.b.came[DataLane]) != 1 {
		t.Errorf("b has %d packets after its flow control packet came, want 1", len(x.b.came[DataLane]))
	}
	x.run(300 * us)
	if diff := cmp.Diff([]wire.Op{wire.OpInit, wire.OpInit, wire.OpInit, wire.OpNormal}, ops); diff != "" {
		t.Errorf("a tells (-want +got):\n%s", diff)
	}
	x.free(x.a, DataLane, 3)
	x.run(us)
	x.atRest()
}

// arrive hands a frame to a port as if its link had brought it.
func (e *end) arrive(now unit.Time, f wire.Frame) bool {
	return e.port.Receive(now, &Arrival{Frame: f, Head: now, Tail: now, Length: f.WireSize()})
}

// "Other values: discard": the packet is reported, and changes nothing.
func TestReservedOperandIsDropped(t *testing.T) {
	x := newExchange(t, paperLink())
	x.run(us)
	before := slices.Clone(x.a.port.VirtualLanes().all)
	for op := wire.Op(2); op < 16; op++ {
		if x.a.arrive(x.now, wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: op, FCTBS: 5, FCCL: 500})}) {
			t.Errorf("operand %d is passed on", op)
		}
	}
	if !slices.Equal(x.a.port.VirtualLanes().all, before) {
		t.Error("a packet with a reserved operand changed the credit")
	}
	if got := x.a.count(trace.Drop, trace.BadFlowControl); got != 14 {
		t.Errorf("%d drops are reported, want 14", got)
	}
}

// A frame of a virtual lane that is not in use is dropped, whatever it is.
func TestUnknownLaneIsDropped(t *testing.T) {
	x := newExchange(t, paperLink())
	x.run(us)
	before := slices.Clone(x.a.port.VirtualLanes().all)
	n := 0
	for _, lane := range []uint8{Lanes, 14, 15, 255} {
		for _, f := range []wire.Frame{{Kind: wire.Data, Payload: 64}, {Kind: wire.Ack}, {Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 9})}} {
			f.Lane = lane
			if x.a.arrive(x.now, f) {
				t.Errorf("%v on lane %d is passed on", f.Kind, lane)
			}
			n++
		}
	}
	if !slices.Equal(x.a.port.VirtualLanes().all, before) || x.a.count(trace.Drop, trace.NoSuchLane) != n {
		t.Errorf("%d drops are reported, want %d; credit %+v, want %+v", x.a.count(trace.Drop, trace.NoSuchLane), n, x.a.port.VirtualLanes().all, before)
	}
}

// "Losslessness is asserted, always: ... occupancy within capacity." A frame
// without room is a violation, and dropped; its credit is not lost.
func TestOverrunIsAViolation(t *testing.T) {
	x := newExchange(t, paperLink())
	x.b.hold = true
	x.queue(x.a, data(0, 4))
	x.run(20 * us)
	if x.b.arrive(x.now, data(4, 1)[0]) {
		t.Error("a fifth packet is stored in a buffer for four")
	}
	if x.b.port.VirtualLanes().Used(DataLane) != 4*packetBlocks {
		t.Errorf("%d blocks are in use, want 132", x.b.port.VirtualLanes().Used(DataLane))
	}
	want := []trace.Event{
		{At: x.now, Node: 1, Kind: trace.Violation, Flow: 7, PSN: 4, Bytes: 2074, A: int64(trace.Overrun), B: 132},
		{At: x.now, Node: 1, Kind: trace.Drop, Flow: 7, PSN: 4, A: int64(trace.Overrun)},
	}
	got := append([]trace.Event{}, x.b.events[len(x.b.events)-2:]...)
	for i := range got {
		got[i].Seq = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if x.b.arrive(x.now, wire.Frame{Kind: wire.Data, Payload: 1 << 31}) {
		t.Error("a frame larger than any buffer is stored")
	}
}

// "Sent without credit" is our own bug: a panic, not an event.
func TestStartWithoutCreditPanics(t *testing.T) {
	x := newExchange(t, paperLink())
	x.run(us)
	frames := data(0, 5)
	for i := range 4 {
		x.a.port.Start(x.now, &frames[i], x.a.port.Framing().Length(&frames[i]), Note{})
		x.now = x.a.port.Transmitter().Free()
	}
	mustPanic(t, "the fifth packet", func() { x.a.port.Start(x.now, &frames[4], x.a.port.Framing().Length(&frames[4]), Note{}) })
}

// Start says all that captures and events need: the length that paces the link, the
// credit left, and the note of the node.
func TestStartIsReported(t *testing.T) {
	for _, tc := range []struct {
		framing wire.Framing
		length  unit.Size
	}{{wire.PaperFraming, 2068}, {wire.WireFraming, 2074}} {
		c := paperLink()
		c.Framing, c.CutThrough = tc.framing, false
		x := newExchange(t, c)
		x.run(us)
		f := data(3, 1)[0]
		f.FECN = true
		x.a.port.Start(x.now, &f, x.a.port.Framing().Length(&f), Note{Reason: uint8(trace.FullBuffer), Waiting: 4})
		got, ok := x.a.out.Poll()
		want := Transmission{
			Frame: f, Start: x.now, Duration: unit.Duration(tc.length) * ns, Due: x.now.Add(unit.Duration(tc.length)*ns + ns), Length: tc.length,
			Note: Note{Reason: uint8(trace.FullBuffer), Waiting: 4, Credit: 99},
		}
		if diff := cmp.Diff(&want, got); diff != "" || !ok {
			t.Errorf("transmission (-want +got):\n%s", diff)
		}
		ev := x.a.events[len(x.a.events)-1]
		if ev.Kind != trace.Start || ev.Bytes != uint32(tc.length) || ev.B != 99 || ev.A != trace.FrameWord(&f) || ev.PSN != 3 || ev.Flow != 7 {
			t.Errorf("event %+v", ev)
		}
	}
}

// "Free gives the room of f back to the peer"; Discard does so with a frame that
// is not wanted, and says why.
func TestDiscardFreesTheRoom(t *testing.T) {
	x := newExchange(t, paperLink())
	x.b.hold = true
	x.queue(x.a, data(0, 5))
	x.run(20 * us)
	f := x.b.stored[DataLane][0]
	x.b.stored[DataLane] = x.b.stored[DataLane][1:]
	x.b.port.Discard(x.now, &f, trace.NoRoute)
	if x.b.port.VirtualLanes().Used(DataLane) != 3*packetBlocks || !x.b.port.OwesControl(x.now) {
		t.Errorf("%d blocks in use, owes control %v; want 99, true", x.b.port.VirtualLanes().Used(DataLane), x.b.port.OwesControl(x.now))
	}
	if x.b.count(trace.Drop, trace.NoRoute) != 1 || x.b.count(trace.Release, trace.NoReason) != 1 {
		t.Error("the drop or the release is not reported, once each")
	}
	x.run(10 * us)
	if len(x.b.came[DataLane]) != 5 {
		t.Errorf("%d packets came, want 5", len(x.b.came[DataLane]))
	}
}

// On a busy link an owed flow control packet waits, and goes before the next frame.
func TestControlGoesNext(t *testing.T) {
	x := newExchange(t, paperLink())
	x.run(us)
	x.queue(x.a, data(0, 2))
	x.queue(x.b, data(0, 3)) // b's make a owe
	var kinds []wire.Kind
	x.fate = func(from *end, tr *Transmission) int {
		if from == x.a {
			kinds = append(kinds, tr.Frame.Kind)
		}
		return 1
	}
	x.run(4 * us) // b's first two headers are in after 21 ns and 2.1 µs
	if diff := cmp.Diff([]wire.Kind{wire.Data, wire.FlowControl, wire.Data}, kinds); diff != "" {
		t.Errorf("a sends (-want +got):\n%s", diff)
	}
}

// A scenario may change the rate of a link: it is reported, and acts at the next
// frame.
func TestApplyRateChange(t *testing.T) {
	x := newExchange(t, paperLink())
	x.run(us)
	x.queue(x.a, data(0, 2))
	start := x.now
	var took []unit.Duration
	x.fate = func(from *end, tr *Transmission) int {
		if tr.Frame.Kind == wire.Data {
			took = append(took, tr.Duration)
		}
		return 1
	}
	x.run(us)
	x.a.port.Apply(x.now, RateChange{Rate: gigabyte / 4})
	if got, want := x.a.port.Transmitter().Free(), start.Add(2068*ns); got != want {
		t.Errorf("a frame begun is off the line at %v, want %v", got, want)
	}
	x.run(20 * us)
	if diff := cmp.Diff([]unit.Duration{2068 * ns, 4 * 2068 * ns}, took); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
	n := 0
	for _, ev := range x.a.events {
		if ev.Kind == trace.Control && ev.A == int64(RateChange{}.Kind()) && ev.B == int64(gigabyte/4) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the change is reported %d times, want once", n)
	}
}

// Property, after every step of it: credits are conserved, whatever is sent, held
// and freed, and however many flow control packets are lost, repeated, or come
// again when they are old. Then the fabric is left alone, and everything has
// arrived, in order, and no credit has leaked.
func TestCreditsAreConserved(t *testing.T) {
	for stream := range uint64(24) {
		random := unit.NewRandom(4, stream)
		chance := func(percent uint64) bool { return random.Below(100) < percent }
		c := Config{
			Rate: 8e9, Propagation: ns + random.Span(3*us), CutThrough: chance(50),
			Framing: wire.Framing(random.Below(2)),
			Room:    []int{66, 99, 132, 528, 2048, 3000}[stream%6],
			Resend:  us + random.Span(40*us),
		}
		x := newExchange(t, c)
		x.quiet = true
		storm := true
		x.fate = func(from *end, tr *Transmission) int {
			switch {
			case !storm || tr.Frame.Kind != wire.FlowControl:
				return 1
			case chance(30):
				return 0
			case chance(20):
				old := *tr // it comes a second time, later
				old.Due = old.Due.Add(random.Span(20 * us))
				x.fly(from, old)
				return 1
			default:
				return 1 + int(random.Below(2))
			}
		}
		var sent [2][Lanes]int
		for range 1500 {
			for i, e := range []*end{x.a, x.b} {
				switch random.Below(8) {
				case 0, 1:
					if len(e.wait[DataLane]) < 20 {
						f := data(sent[i][DataLane], 1)
						f[0].Payload = 4 * (1 + uint32(random.Below(1024)))
						x.queue(e, f)
						sent[i][DataLane]++
					}
				case 2:
					x.queue(e, acks(sent[i][AckLane], 5))
					sent[i][AckLane] += 5
				case 3:
					e.hold = !e.hold
				case 4, 5:
					lane := uint8(random.Below(Lanes))
					x.free(e, lane, int(random.Below(uint64(len(e.stored[lane])+1))))
				}
			}
			x.run(random.Span(2 * us))
		}
		storm = false
		for _, e := range []*end{x.a, x.b} {
			e.hold = false
		}
		for range 2000 {
			for _, e := range []*end{x.a, x.b} {
				for lane := range uint8(Lanes) {
					x.free(e, lane, len(e.stored[lane]))
				}
			}
			x.run(2 * us)
		}
		x.atRest()
		for i, e := range []*end{x.a, x.b} {
			for lane := range Lanes {
				if diff := cmp.Diff(upTo(sent[i][lane]), psns(e.peer.came[lane])); diff != "" {
					t.Errorf("stream %d, lane %d from %s (-want +got):\n%s", stream, lane, e.name, diff)
				}
			}
			if e.count(trace.Violation, trace.NoReason)+e.count(trace.Drop, trace.NoReason) != 0 {
				t.Errorf("stream %d: %s reports violations or drops", stream, e.name)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// A repeated flow control packet changes nothing between ports either: with each of
// them doubled, the same starts at the same instants.
func TestRepeatedFCPsChangeNoStart(t *testing.T) {
	run := func(copies int) []Transmission {
		x := newExchange(t, paperLink())
		x.quiet = true
		var log []Transmission
		x.fate = func(from *end, tr *Transmission) int {
			log = append(log, *tr)
			if tr.Frame.Kind == wire.FlowControl {
				return copies
			}
			return 1
		}
		x.queue(x.a, data(0, 50))
		x.queue(x.a, acks(0, 100))
		x.queue(x.b, data(0, 50))
		x.run(unit.Millisecond)
		return log
	}
	if diff := cmp.Diff(run(1), run(2)); diff != "" {
		t.Errorf("once and twice differ (-once +twice):\n%s", diff)
	}
}

// An outbox gives what was put into it, once, in order, however calls interleave.
func TestOutboxKeepsTheOrder(t *testing.T) {
	random := unit.NewRandom(5, 0)
	var o Outbox
	in, out := unit.Size(0), unit.Size(0)
	for range 10_000 {
		if random.Below(2) == 0 {
			*o.place() = Transmission{Length: in}
			in++
		} else if tr, ok := o.Poll(); ok {
			if tr.Length != out {
				t.Fatalf("number %d comes when it is the turn of %d", tr.Length, out)
			}
			out++
		} else if in != out {
			t.Fatalf("nothing comes, and %d were put in and %d taken", in, out)
		}
	}
}

// Every answer has a name.
func TestBlocksHaveNames(t *testing.T) {
	seen := map[string]Block{}
	for b := range Block(Blocks) {
		name := b.String()
		if other, ok := seen[name]; ok || name == "unknown" || name == "" {
			t.Errorf("Block %d is called %q, as is %d", b, name, other)
		}
		seen[name] = b
	}
	if got := Block(Blocks).String(); got != "unknown" {
		t.Errorf("Block %d, one more than there are, is called %q", Blocks, got)
	}
}
