package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// dataTo returns a packet of the peer.
func dataTo(qp, psn uint32, marked bool) wire.Frame {
	return wire.Frame{Kind: wire.Data, Lane: port.DataLane, Src: there, Dst: here, QP: qp, PSN: psn, Payload: 2048, FECN: marked}
}

// "When a destination endpoint receives a packet, it piggybacks the ECN value onto a
// short ACK packet that is returned to the received packet's source endpoint"
// (HPL-2002-224, I): one ACK for each packet, BECN as FECN was on that packet.
func TestSinkEchoesTheMark(t *testing.T) {
	b := newBench(t).open()
	marks := []bool{false, true, true, false, true, false, false}
	var want []wire.Frame
	for psn, m := range marks {
		b.now = b.now.Add(tp)
		b.give(dataTo(100, uint32(psn), m))
		want = append(want, wire.Frame{Kind: wire.Ack, Lane: port.AckLane, Src: here, Dst: there, QP: 100, PSN: uint32(psn), MSN: uint32(psn + 1), BECN: m})
	}
	if diff := cmp.Diff(want, b.frames(wire.Ack)); diff != "" {
		t.Errorf("ACKs (-want +got):\n%s", diff)
	}
	got := b.reported(trace.Deliver)
	if len(got) != len(marks) {
		t.Fatalf("%d deliveries are reported, want %d", len(got), len(marks))
	}
	for psn, e := range got {
		_, fecn, _ := trace.FrameOf(e.A)
		if e.PSN != uint32(psn) || e.Flow != 100 || e.Bytes != 2068 || fecn != marks[psn] || e.Node != 5 {
			t.Errorf("delivery %d is reported as %+v", psn, e)
		}
	}
	if v := b.reported(trace.Violation); len(v) != 0 {
		t.Errorf("violations: %+v", v)
	}
}

// Two flows that end here have their own numbers.
func TestSinksAreApart(t *testing.T) {
	b := newBench(t).open()
	for psn := range uint32(3) {
		b.now = b.now.Add(2 * tp)
		b.give(dataTo(100, psn, false))
		b.give(dataTo(101, psn, true))
	}
	if v := b.reported(trace.Violation); len(v) != 0 {
		t.Errorf("violations: %+v", v)
	}
	for i, f := range b.frames(wire.Ack) {
		if f.QP != uint32(100+i%2) || f.PSN != uint32(i/2) || f.BECN != (i%2 == 1) {
			t.Errorf("ACK %d is %+v", i, f)
		}
	}
}

// "Links are lossless and keep their order, so a packet out of order is a violation;
// it is counted and acknowledged all the same", and the next one is expected after it.
func TestOutOfOrderIsAViolation(t *testing.T) {
	b := newBench(t).open()
	for _, psn := range []uint32{0, 2, 3, 3, 1<<24 - 1, 0} {
		b.now = b.now.Add(tp)
		b.give(dataTo(100, psn, false))
	}
	type violation struct {
		psn      uint32
		expected int64
	}
	var got []violation
	for _, e := range b.reported(trace.Violation) {
		if e.A != int64(trace.OutOfOrder) || e.Flow != 100 {
			t.Errorf("violation %+v", e)
		}
		got = append(got, violation{e.PSN, e.B})
	}
	// The numbers have 24 bits: 0 is what comes after the last of them.
	want := []violation{{2, 1}, {3, 4}, {1<<24 - 1, 4}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(violation{})); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	if got := len(b.frames(wire.Ack)); got != 6 {
		t.Errorf("%d ACKs, want 6", got)
	}
}

// Frames for another endpoint, or for a queue pair that does not exist, are dropped, and
// their room is free again: after any number of such frames the buffer is empty.
func TestUnwantedFramesAreDropped(t *testing.T) {
	flow := greedy(t, 7, gigabyte)
	flow.Start = unit.Never
	ack := wire.Frame{Kind: wire.Ack, Lane: port.AckLane, Src: there, Dst: here, QP: 7}
	edit := func(f wire.Frame, dst wire.LID, qp uint32) wire.Frame {
		f.Dst, f.QP = dst, qp
		return f
	}
	for _, tc := range []struct {
		name string
		f    wire.Frame
		want trace.Reason
	}{
		{"data for another endpoint", edit(dataTo(100, 0, false), 9, 100), trace.NotForUs},
		{"data for no queue pair", edit(dataTo(100, 0, false), 0, 100), trace.NotForUs},
		{"data for the last LID", edit(dataTo(100, 0, false), 0xffff, 100), trace.NotForUs},
		{"an ACK for another endpoint", edit(ack, 9, 7), trace.NotForUs},
		{"data of an unknown queue pair", edit(dataTo(100, 0, false), here, 99), trace.UnknownFlow},
		{"data of one above all", edit(dataTo(100, 0, false), here, 1<<24-1), trace.UnknownFlow},
		{"data of a queue pair that only sends", edit(dataTo(100, 0, false), here, 7), trace.UnknownFlow},
		{"an ACK of an unknown queue pair", edit(ack, here, 8), trace.UnknownFlow},
		{"an ACK of queue pair 0", edit(ack, here, 0), trace.UnknownFlow},
		{"an ACK of a queue pair that only receives", edit(ack, here, 100), trace.UnknownFlow},
	} {
		b := newBench(t, flow).open()
		const n = 1000 // of which four, or 64 ACKs, would fill the buffer
		for range n {
			b.now = b.now.Add(tp)
			b.give(tc.f)
		}
		drops := b.reported(trace.Drop)
		if len(drops) != n || len(b.reported(trace.Release)) != n || len(b.reported(trace.Violation)) != 0 {
			t.Errorf("%s: %d drops, %d releases, %d violations; want %d, %d, none", tc.name,
				len(drops), len(b.reported(trace.Release)), len(b.reported(trace.Violation)), n, n)
			continue
		}
		if drops[0].A != int64(tc.want) {
			t.Errorf("%s: dropped as %v, want %v", tc.name, trace.Reason(drops[0].A), tc.want)
		}
		if got := b.credit[tc.f.Lane].Left(); got < 4*33-33 && tc.f.Lane == port.DataLane {
			t.Errorf("%s: the peer has credit for %d blocks left", tc.name, got)
		}
		if len(b.frames(wire.Ack)) != 0 || len(b.reported(trace.Deliver)) != 0 {
			t.Errorf("%s: acknowledged, or delivered", tc.name)
		}
	}
}

// "Control frames, then ACKs, then data": what waits while a packet is on the link
// goes in that order when its tail has left.
func TestACKsGoBeforeData(t *testing.T) {
	flow := greedy(t, 7, gigabyte)
	flow.Transport = acked(10)
	b := newBench(t, flow).open() // the first packet starts
	b.run(at(us))
	b.give(dataTo(100, 0, false))
	b.give(dataTo(100, 1, true))
	b.run(at(10 * us))
	type start struct {
		kind wire.Kind
		at   unit.Time
	}
	var got []start
	for _, tr := range b.sent {
		if tr.Start > 0 {
			got = append(got, start{tr.Frame.Kind, tr.Start})
		}
	}
	want := []start{
		{wire.FlowControl, at(tp)}, {wire.Ack, at(tp)}, {wire.Ack, at(tp + 20*ns)},
		{wire.Data, at(tp + 40*ns)}, {wire.Data, at(2*tp + 40*ns)}, {wire.Data, at(3*tp + 40*ns)}, {wire.Data, at(4*tp + 40*ns)},
	}
	if diff := cmp.Diff(want, got[:min(len(got), len(want))], cmp.AllowUnexported(start{})); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

// ACKs have their own lane: they go while data has no credit, and data goes
// while ACKs have none.
func TestACKsAndDataDoNotWaitForEachOthersCredit(t *testing.T) {
	b := newBench(t, greedy(t, 7, gigabyte))
	b.advance()
	b.tell(port.AckLane)
	b.give(dataTo(100, 0, false))
	if len(b.frames(wire.Ack)) != 1 || len(b.frames(wire.Data)) != 0 {
		t.Errorf("without credit for data: %d ACKs, %d data packets, want 1 and none", len(b.frames(wire.Ack)), len(b.frames(wire.Data)))
	}
	b = newBench(t, greedy(t, 7, gigabyte))
	b.advance()
	b.give(dataTo(100, 0, false))
	b.tell(port.DataLane)
	if len(b.frames(wire.Ack)) != 0 || len(b.frames(wire.Data)) != 1 {
		t.Errorf("without credit for ACKs: %d ACKs, %d data packets, want none and 1", len(b.frames(wire.Ack)), len(b.frames(wire.Data)))
	}
	b.now = at(tp)
	b.tell(port.AckLane)
	if len(b.frames(wire.Ack)) != 1 {
		t.Error("the ACK did not go when its credit came")
	}
}

// An endpoint that has nothing to do waits for the resend interval alone: one flow
// control packet for each lane, every 262.144 µs.
func TestIdleEndpoint(t *testing.T) {
	b := newBench(t).open()
	b.run(at(unit.Millisecond))
	var got []unit.Time
	for _, tr := range b.sent {
		if tr.Frame.Kind != wire.FlowControl {
			t.Errorf("%v was sent", tr.Frame.Kind)
		}
		got = append(got, tr.Start)
	}
	var want []unit.Time
	for k := range unit.Duration(4) {
		want = append(want, at(k*262144*ns), at(k*262144*ns))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flow control packets (-want +got):\n%s", diff)
	}
}

// "A rate change acts at the next frame start", on the link of an endpoint as well.
func TestApplyRateChange(t *testing.T) {
	flow := greedy(t, 7, gigabyte)
	flow.Transport = acked(10)
	b := newBench(t, flow).open()
	b.run(at(us))
	b.e.Apply(b.now, 0, port.RateChange{Rate: gigabyte / 2})
	if d := b.e.Deadline(); d != b.now {
		t.Errorf("after Apply the deadline is %v, want now", d)
	}
	b.advance()
	b.run(at(20 * us))
	want := []unit.Time{0, at(tp), at(3 * tp), at(5 * tp), at(7 * tp), at(9 * tp)}
	if diff := cmp.Diff(want, b.starts(7)[:len(want)]); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	if len(b.reported(trace.Control)) != 1 {
		t.Errorf("the change is reported %d times", len(b.reported(trace.Control)))
	}
}

// An ACK is that of the oldest packet which awaits one: any other is a violation, since
// links are lossless and keep their order.
func TestACKOutOfOrderIsAViolation(t *testing.T) {
	flow := greedy(t, 7, gigabyte)
	flow.Transport = acked(3)
	b := newBench(t, flow).open()
	b.run(at(10 * us)) // 0, 1 and 2 are sent
	ack := func(psn uint32) {
		b.now = b.now.Add(10 * us)
		b.give(b.ackOf(&wire.Frame{QP: 7, PSN: psn}, false))
		b.run(b.now.Add(us))
	}
	ack(0) // 3 goes
	ack(2) // 1 is lost
	ack(2)
	type violation struct {
		psn      uint32
		expected int64
	}
	var got []violation
	for _, e := range b.reported(trace.Violation) {
		if e.A != int64(trace.OutOfOrder) || e.Flow != 7 {
			t.Errorf("violation %+v", e)
		}
		got = append(got, violation{e.PSN, e.B})
	}
	if diff := cmp.Diff([]violation{{2, 1}}, got, cmp.AllowUnexported(violation{})); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// An ACK of nothing is a violation as well, and opens no window.
func TestACKOfNothing(t *testing.T) {
	flow := greedy(t, 7, gigabyte)
	flow.Start = at(10 * us)
	b := newBench(t, flow).open()
	for range 5 {
		b.now = b.now.Add(us)
		b.give(b.ackOf(&wire.Frame{QP: 7}, false))
	}
	if got := len(b.reported(trace.Violation)); got != 5 {
		t.Errorf("%d violations are reported, want 5", got)
	}
	if got := len(b.starts(7)); got != 0 {
		t.Errorf("%d packets before the start of the flow", got)
	}
	b.run(at(50 * us))
	if got := len(b.starts(7)); got != 1 {
		t.Errorf("%d packets in a window of one", got)
	}
}

// New refuses a flow that could never send, and names it.
func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(f *node.Flow)
	}{
		{"no window", func(f *node.Flow) { f.Transport = acked(0) }},
		{"no transport", func(f *node.Flow) { f.Transport = nil }},
		{"a negative timeout", func(f *node.Flow) { f.Transport = node.Acknowledged{Window: 1, Timeout: -1} }},
		{"no limiter", func(f *node.Flow) { f.Limiter = nil }},
	} {
		f := greedy(t, 77, gigabyte)
		tc.make(&f)
		_, err := node.New(node.Config{LID: here, Port: paperPort(), Flows: []node.Flow{greedy(t, 7, gigabyte), f}}, nil)
		if err == nil || !strings.Contains(err.Error(), "queue pair 77") {
			t.Errorf("%s: %v, want an error that names queue pair 77", tc.name, err)
		}
	}
}

// The limiter follows the reaction point from the start on, whatever rate it was made
// with.
func TestLimiterFollowsTheReactionPoint(t *testing.T) {
	f := greedy(t, 7, gigabyte/4)
	f.Limiter, f.Transport = node.NewInterPacketDelay(gigabyte), acked(5)
	b := newBench(t, f).open()
	b.run(at(30 * us))
	for k, s := range b.starts(7) {
		if want := at(unit.Duration(k) * 4 * tp); s != want {
			t.Errorf("packet %d starts at %v, want %v", k, s, want)
		}
	}
}

// "Zero: no reaction point; the limiter keeps the rate that it was made with and SetRate
// is never called."
func TestLimiterKeepsItsOwnRate(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Limiter, f.Reaction, f.Transport = node.NewInterPacketDelay(gigabyte/4), rp.Reaction{}, acked(5)
	b := newBench(t, f).open()
	b.run(at(30 * us))
	got := b.starts(7)
	if len(got) != 4 {
		t.Errorf("%d packets started in 30 us, want 4", len(got))
	}
	for k, s := range got {
		if want := at(unit.Duration(k) * 4 * tp); s != want {
			t.Errorf("packet %d starts at %v, want %v", k, s, want)
		}
	}
}

// probe is a reaction point with deadlines: what it is informed, and when, is kept.
type probe struct {
	sent, advanced []unit.Time
	next           unit.Time
	rate           unit.Rate
}

func (p *probe) Sent(now unit.Time, _ unit.Size)    { p.sent = append(p.sent, now) }
func (p *probe) Feedback(_ unit.Time, f wire.Frame) {}
func (p *probe) Rate() unit.Rate                    { return p.rate }
func (p *probe) Deadline() unit.Time                { return p.next }
func (p *probe) Advance(now unit.Time) {
	p.advanced = append(p.advanced, now)
	p.next = now.Add(10 * us)
	p.rate /= 2
}

// A reaction point that has deadlines is advanced at each of them, and its rate counts
// at once; it is informed of each start.
func TestReactionPointIsAdvanced(t *testing.T) {
	p := &probe{next: at(5 * us), rate: gigabyte}
	f := greedy(t, 7, gigabyte)
	f.Reaction, f.Transport = of(p), acked(100)
	b := newBench(t, f).open()
	b.run(at(30 * us))
	if diff := cmp.Diff([]unit.Time{at(5 * us), at(15 * us), at(25 * us)}, p.advanced); diff != "" {
		t.Errorf("advanced at (-want +got):\n%s", diff)
	}
	// At 1 GB/s until 5 µs, at half until 15, at a quarter until 25, then an eighth; each
	// change counts for the delay that runs.
	want := []unit.Time{0, at(tp), at(2 * tp), at(4 * tp), at(6 * tp), at(10 * tp)}
	if diff := cmp.Diff(want, p.sent); diff != "" {
		t.Errorf("informed of starts at (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.sent, b.starts(7)); diff != "" {
		t.Errorf("informed of other starts than those that were (-informed +started):\n%s", diff)
	}
}
