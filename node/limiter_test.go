package node_test

import (
	"fmt"
	"testing"

	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Packets of 2068 bytes at a quarter of 1 GB/s, whenever the flow is ready for the
// next one: 8.272 µs from start to start, and time that passes unused is not made
// up for.
func ExampleInterPacketDelay() {
	l := node.NewInterPacketDelay(2e9)
	for _, ready := range []unit.Duration{0, 3 * unit.Microsecond, 3 * unit.Microsecond, 30 * unit.Microsecond, 30 * unit.Microsecond} {
		start := l.Next(unit.Time(ready), 2068)
		fmt.Printf("ready at %4v, starts at %v\n", ready, start)
		l.Sent(start, 2068)
	}
	l.SetRate(unit.Time(39*unit.Microsecond), 8e9) // a change counts at once
	fmt.Println("at 1GB/s, from 39us on, the next one may start at", l.Next(unit.Time(39*unit.Microsecond), 2068))
	// Output:
	// ready at   0s, starts at 0s
	// ready at  3us, starts at 8.272us
	// ready at  3us, starts at 16.544us
	// ready at 30us, starts at 30us
	// ready at 30us, starts at 38.272us
	// at 1GB/s, from 39us on, the next one may start at 40.34us
}

// "A packet starts no sooner than the packet before it would take at the flow's rate,
// from start to start."
func TestDelayIsFromStartToStart(t *testing.T) {
	l := node.NewInterPacketDelay(gigabyte / 2)
	if got := l.Next(at(7*us), 2068); got != at(7*us) {
		t.Errorf("the first packet may start at %v, want 7us: nothing delays it", got)
	}
	l.Sent(at(7*us), 2068)
	for _, now := range []unit.Duration{7 * us, 9 * us, 7*us + 2*tp - 1} {
		if got, want := l.Next(at(now), 2068), at(7*us+2*tp); got != want {
			t.Errorf("asked at %v: %v, want %v", now, got, want)
		}
	}
	for _, now := range []unit.Duration{7*us + 2*tp, 100 * us} {
		if got := l.Next(at(now), 2068); got != at(now) {
			t.Errorf("asked at %v: %v, want now", now, got)
		}
	}
}

// It is the packet before that takes its time, whatever the length of the next.
func TestDelayIsThatOfThePacketBefore(t *testing.T) {
	l := node.NewInterPacketDelay(gigabyte)
	l.Sent(0, 1000)
	if got := l.Next(0, 20); got != at(us) {
		t.Errorf("a short packet behind one of 1000 bytes: %v, want 1us", got)
	}
	l.Sent(at(us), 20)
	if got := l.Next(at(us), 4000); got != at(us+20*ns) {
		t.Errorf("a long packet behind one of 20 bytes: %v, want 1.02us", got)
	}
}

// "Time that passes unused is not made up for: there are no bursts." At any time no
// more packets have started since any earlier packet than the rate allows.
func TestUnusedTimeIsNotMadeUp(t *testing.T) {
	random := unit.NewRandom(8, 0)
	l := node.NewInterPacketDelay(gigabyte / 4)
	now, last := unit.Time(0), unit.Time(-1)
	for range 10_000 {
		now = now.Add(random.Span(20 * us))
		start := l.Next(now, 2068)
		if start < now || last >= 0 && start.Sub(last) < 4*tp {
			t.Fatalf("ready at %v, after a start at %v: %v", now, last, start)
		}
		if want := max(now, last.Add(4*tp)); last >= 0 && start != want {
			t.Fatalf("ready at %v, after a start at %v: %v, want %v", now, last, start, want)
		}
		l.Sent(start, 2068)
		now, last = start, start
	}
}

// "A change of the rate counts at once, also for the delay that runs": forwards and
// backwards, before the first packet, and however often.
func TestSetRateActsOnTheRunningDelay(t *testing.T) {
	l := node.NewInterPacketDelay(gigabyte)
	l.SetRate(0, gigabyte/2)
	l.Sent(0, 2068)
	for _, tc := range []struct {
		rate unit.Rate
		want unit.Duration
	}{
		{gigabyte / 2, 2 * tp}, {gigabyte / 4, 4 * tp}, {gigabyte, tp}, {gigabyte / 256, 256 * tp}, {gigabyte / 2, 2 * tp},
	} {
		l.SetRate(at(us), tc.rate)
		if got := l.Next(at(us), 2068); got != at(tc.want) {
			t.Errorf("at %v: the next may start at %v, want %v", tc.rate, got, tc.want)
		}
	}
	l.SetRate(at(3*us), 64*gigabyte)
	if got := l.Next(at(3*us), 2068); got != at(3*us) {
		t.Errorf("a delay that a change ends in the past: %v, want now", got)
	}
	l.SetRate(at(3*us), 0)
	if got := l.Next(at(3*us), 2068); got != unit.Never {
		t.Errorf("at no rate: %v, want never", got)
	}
	l.SetRate(at(4*us), gigabyte)
	if got := l.Next(at(4*us), 2068); got != at(4*us) {
		t.Errorf("after no rate: %v, want now", got)
	}
}

// "Instants never decrease, over all calls of all three methods": whatever rates reaction
// points choose, and however late the endpoint is informed the time. (All limiters of the
// tests are strict.)
func TestLimitersOfALateEndpointAreToldTheTimeInOrder(t *testing.T) {
	for seed := range uint64(20) {
		random := unit.NewRandom(seed, 0)
		flows := []node.Flow{greedy(t, 7, gigabyte), greedy(t, 8, gigabyte/4), greedy(t, 9, gigabyte)}
		for i, name := range []string{"lipd", "aimd", "fimd"} {
			flows[i].Reaction, flows[i].Transport = algorithm(t, name, gigabyte), acked(1+i*7)
		}
		flows[2].Limiter = node.NewTokenBucket(gigabyte, 5000)
		b := newBench(t, flows...).open()
		acked := 0
		for len(b.sent) < 1000 {
			b.now = max(b.now, b.e.Deadline(), b.free).Add(random.Span(3 * tp))
			for sent := len(b.sent); acked < sent; acked++ {
				if f := &b.sent[acked].Frame; f.Kind == wire.Data {
					b.receive(b.ackOf(f, random.Below(3) == 0))
				}
			}
			b.tell(port.DataLane)
			b.advance()
		}
	}
}

// That holds for a limiter which flows share, too.
func TestASharedLimiterOfALateEndpointIsToldTheTimeInOrder(t *testing.T) {
	for seed := range uint64(20) {
		random := unit.NewRandom(seed, 0)
		b, q := sharing(t, 20_000)
		limited := 0
		for range 1000 {
			b.now = max(b.now, b.e.Deadline()).Add(random.Span(3 * us))
			if random.Below(20) == 0 {
				b.hand(wire.Frame{Kind: wire.Notification, Family: wire.Ethernet, Src: there, Dst: here, QP: 2 + uint32(random.Below(3)), Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 1 + uint8(random.Below(63))})})
			}
			b.step(b.now)
			if q.Active() {
				limited++
			}
		}
		if limited < 100 || len(b.sent) < 300 {
			t.Errorf("seed %d: limited %d times, %d frames: the test does not test", seed, limited, len(b.sent))
		}
	}
}

// "Packets of a segment start back to back, and the next segment no sooner than this one would take
// at the flow's rate, from start to start. A segment ends when it is full, or when its time is
// over": packets of 1000 B, three of which are a segment, at half of 1 GB/s.
func TestSegments(t *testing.T) {
	l := node.NewSegments(gigabyte/2, 3500)
	for i, c := range []struct{ ready, start unit.Duration }{
		{0, 0}, {us, us}, {2 * us, 2 * us}, // a segment of 6 µs
		{3 * us, 6 * us}, {7 * us, 7 * us}, // the next
		{30 * us, 30 * us},                     // its time is over: another
		{31 * us, 31 * us}, {31 * us, 31 * us}, // it is full
		{32 * us, 36 * us},
	} {
		start := l.Next(at(c.ready), 1000)
		if start != at(c.start) || l.Next(start, 1000) != start {
			t.Errorf("packet %d: asked at %v it may start at %v, want %v", i, c.ready, start, c.start)
		}
		l.Sent(start, 1000)
	}
	if l.SetRate(at(37*us), gigabyte); l.Next(at(37*us), 3000) != at(37*us) { // 1000 B at 36 µs, now over at 37 µs
		t.Errorf("a change of the rate: %v", l.Next(at(37*us), 3000))
	}
	if l.SetRate(at(37*us), 0); l.Next(at(37*us), 1000) != unit.Never {
		t.Errorf("at no rate: %v", l.Next(at(37*us), 1000))
	}
	l = node.NewSegments(gigabyte, 100) // a longer packet is one
	l.Sent(0, 1000)
	if got := l.Next(0, 1000); got != at(us) {
		t.Errorf("a segment shorter than a packet: %v", got)
	}
}
