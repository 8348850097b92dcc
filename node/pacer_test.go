package node_test

import (
	"testing"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// reaction returns the reaction point of QCN without chance.
func reaction(t testing.TB, cycle unit.Size) *rp.QCN {
	t.Helper()
	q, err := rp.NewQCN(rp.QCNParams{
		MinRate: 5e6, ByteReset: cycle, TimeReset: 10 * unit.Millisecond, Threshold: 5,
		ActiveIncrease: 5e6, HyperIncrease: 50e6, Gd: 7, MinDecrease: 50,
	}, rp.Site{Line: gigabyte, Length: 2068})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// sharing returns an endpoint with greedy flows 2, 3 and 4 that share a limiter; the
// last goes to another destination. cycle is that of the byte counter.
func sharing(t *testing.T, cycle unit.Size) (*bench, *rp.QCN) {
	q := reaction(t, cycle)
	g := &node.Pacer{Reaction: q.Reaction(), Limiter: &strict{RateLimiter: node.NewTokenBucket(gigabyte, 2000), t: t}} // a packet that waits for the link, and the next
	flows := make([]node.Flow, 3)
	for i := range flows {
		f := &flows[i]
		*f = node.Flow{QP: uint32(2 + i), Dst: there, Payload: 1000, Stop: unit.Never, Pacer: g, Limiter: node.NewTokenBucket(gigabyte, 1000)}
		if i == 2 {
			f.Dst = there + 1
		}
	}
	return newAdapter(t, port.NoFlowControl, node.AdapterConfig{}, flows...), q
}

// count returns how many packets of a flow started in an interval.
func (b *bench) count(qp uint32, from, to unit.Time) int {
	n := 0
	for _, s := range b.starts(qp) {
		if s >= from && s < to {
			n++
		}
	}
	return n
}

// The talk, Basic QCN: "Can work with a single rate limiter. Alias all flows which have
// received negative feedback onto the rate limiter. RL becomes meta-flow." Those that
// have received none are not limited.
func TestFlowsThatHaveReceivedFeedbackShareALimiter(t *testing.T) {
	b, q := sharing(t, 1<<30)
	b.step(at(us))
	b.now = at(100 * us)
	cnm := wire.Frame{Kind: wire.Notification, Family: wire.Ethernet, Dst: here, QP: 2, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 63})}
	b.hand(cnm)
	cnm.QP = 3
	b.hand(cnm)
	b.step(at(1100 * us))
	rate := q.Rate() // 0.508^2 of the link, and no cycle has ended
	if want := gigabyte * 65 / 128 * 65 / 128; rate < want-2 || rate > want+2 {
		t.Fatalf("the rate is %v, want %v", rate, want)
	}
	first, second := b.count(2, at(100*us), at(1100*us)), b.count(3, at(100*us), at(1100*us))
	if d := first - second; d < -1 || d > 1 {
		t.Errorf("%d and %d packets: they do not take turns", first, second)
	}
	if got, want := first+second, int(rate.BytesPerSecond()/1e6); got < want-2 || got > want+3 {
		t.Errorf("%d packets within 1 ms, want %d: the rate of both together", got, want)
	}
	if third := b.count(4, at(100*us), at(1100*us)); third < 700 {
		t.Errorf("%d packets of the flow that has received nothing: it has the rest of the line", third)
	}
}

// A notification that names no flow is about the flows to the destination of the
// sampled frame.
func TestANotificationThatNamesNoFlow(t *testing.T) {
	b, _ := sharing(t, 1<<30)
	b.now = at(100 * us)
	b.hand(wire.Frame{Kind: wire.Notification, Family: wire.Ethernet, Dst: here, Extension: wire.ExtensionOf(wire.SampleExtension{Dst: there, Fb: 63})})
	b.step(at(1100 * us))
	limited := b.count(2, at(100*us), at(1100*us)) + b.count(3, at(100*us), at(1100*us))
	if limited < 490 || limited > 512 {
		t.Errorf("%d packets of the two flows to that destination, want 508", limited)
	}
	b.hand(wire.Frame{Kind: wire.Notification, Family: wire.Ethernet, Dst: here, Extension: wire.ExtensionOf(wire.SampleExtension{Dst: there + 9, Fb: 63})})
	if drops := b.reported(trace.Drop); len(drops) != 1 || trace.Reason(drops[0].A) != trace.UnknownFlow {
		t.Errorf("a notification about an unknown flow: %v", drops)
	}
}

// What the reaction point does by itself reaches all that it governs, and when it no
// longer limits each has the line again.
func TestASharedLimiterRecoversForAll(t *testing.T) {
	b, q := sharing(t, 150_000)
	b.now = at(100 * us)
	for qp := uint32(2); qp <= 4; qp++ {
		b.hand(wire.Frame{Kind: wire.Notification, Family: wire.Ethernet, Dst: here, QP: qp, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 10})})
	}
	for ms := unit.Duration(1); q.Active() && ms < 2000; ms++ {
		b.step(at(ms * unit.Millisecond))
	}
	if q.Active() {
		t.Fatal("it limits for seconds")
	}
	end := b.now.Add(unit.Millisecond)
	from := b.now
	b.step(end)
	all := 0
	for qp := uint32(2); qp <= 4; qp++ {
		n := b.count(qp, from, end)
		all += n
		// Flows 2 and 3 share the queue of their destination, which takes turns with that of
		// flow 4.
		want := 250
		if qp == 4 {
			want = 500
		}
		if n < want-5 || n > want+5 {
			t.Errorf("flow %d has %d packets of the line's 1000, want %d", qp, n, want)
		}
	}
	if all < 999 || all > 1001 {
		t.Errorf("%d packets in 1 ms", all)
	}
	rates := map[int64]bool{}
	for _, e := range b.reported(trace.Limit) {
		rates[e.A] = true
		if e.A > e.B {
			t.Errorf("%v: the rate %d is above the target %d", e.At, e.A, e.B)
		}
	}
	if len(rates) < 5 {
		t.Errorf("%d rates were reported", len(rates))
	}
}

// The limiter is that of all flows together: their packets start exactly when those of one
// flow would, whoever has the turn. A flow that stops leaves its turn to the next.
func TestTurnsTakeNoTime(t *testing.T) {
	g := &node.Pacer{Reaction: fixed(t, gigabyte/4), Limiter: &strict{RateLimiter: node.NewInterPacketDelay(gigabyte), t: t}}
	flows := make([]node.Flow, 3)
	for i := range flows {
		flows[i] = node.Flow{QP: uint32(2 + i), Dst: there, Payload: 1000, Stop: unit.Never, Pacer: g, Limiter: node.NewInterPacketDelay(gigabyte)}
	}
	flows[1].Stop = at(25 * us) // while the turn of flow 4 is next
	flows[2].Stop = at(46 * us) // while its own is
	b := newAdapter(t, port.NoFlowControl, node.AdapterConfig{}, flows...)
	b.step(at(62 * us))
	want := []uint32{2, 3, 4, 2, 3, 4, 2, 4, 2, 4, 2, 4, 2, 2, 2, 2}
	n := 0
	for _, tr := range b.sent {
		if tr.Frame.Kind != wire.Data {
			continue
		}
		if n < len(want) && (tr.Frame.QP != want[n] || tr.Start != at(unit.Duration(4*n)*us)) {
			t.Errorf("packet %d is of flow %d and starts at %v, want flow %d at %v", n, tr.Frame.QP, tr.Start, want[n], at(unit.Duration(4*n)*us))
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d packets, want %d", n, len(want))
	}
}
