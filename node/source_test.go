package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// HPL-2002-224, footnote 1: "LIPD rate control and a fixed window size of one packet".
// So packet k starts at max(arrival of ACK k-1, start of k-1 + inter-packet delay).
func TestGreedyWithWindowOne(t *testing.T) {
	for _, tc := range []struct {
		rate unit.Rate
		echo unit.Duration // from start to ACK
		want unit.Duration // from start to start
	}{
		{gigabyte, 2200 * ns, 2200 * ns}, // the ACK is later
		{gigabyte, tp, tp},
		{gigabyte / 2, 2200 * ns, 2 * tp}, // the delay is longer
		{gigabyte / 256, 2200 * ns, 256 * tp},
		{gigabyte / 2, 9 * us, 9 * us},
	} {
		b := newBench(t, greedy(t, 7, tc.rate)).echoing(tc.echo).open()
		b.run(at(20 * tc.want))
		var want []unit.Time
		for k := range 21 {
			want = append(want, at(unit.Duration(k)*tc.want))
		}
		if diff := cmp.Diff(want, b.starts(7)); diff != "" {
			t.Errorf("rate %v, ACK after %v: starts (-want +got):\n%s", tc.rate, tc.echo, diff)
		}
	}
}

// A marked ACK makes the delay of LIPD one packet time longer, and that counts for
// the delay that runs: the packet after the mark starts two packet times after the
// marked one.
func TestMarkedACKSlowsTheNextPacket(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Reaction = algorithm(t, "lipd", gigabyte)
	b := newBench(t, f).echoing(2200 * ns).open()
	b.marked = func(psn uint32) bool { return psn == 1 || psn == 2 }
	b.run(at(24 * us))
	delay := []unit.Duration{2200 * ns, 2 * tp, 3 * tp, 3*tp - 3*tp/256} // then unmarked: less a 256th
	start := unit.Time(0)
	want := []unit.Time{start}
	for _, d := range delay {
		start = start.Add(d)
		want = append(want, start)
	}
	got := b.starts(7)
	if len(got) < len(want) {
		t.Fatalf("%d packets started, want %d at least", len(got), len(want))
	}
	for k, w := range want {
		if d := got[k].Sub(w); d < -ns || d > ns { // rates are whole bits per second
			t.Errorf("packet %d starts at %v, want %v", k, got[k], w)
		}
	}
	back := b.reported(trace.Feedback)
	if len(back) < 3 || back[1].B != int64(gigabyte/2) || back[1].PSN != 1 || back[1].Flow != 7 {
		t.Errorf("feedback %+v, want the second one to leave half the rate", back)
	}
	if _, _, becn := trace.FrameOf(back[1].A); !becn {
		t.Error("the second feedback is not reported as marked")
	}
}

// "As many packets as the window allows await their ACK", not one more, and each ACK
// lets one go.
func TestWindow(t *testing.T) {
	for _, window := range []int{1, 2, 3, 10} {
		f := greedy(t, 7, gigabyte)
		f.Transport = acked(window)
		b := newBench(t, f).open()
		b.run(at(100 * us))
		if got := len(b.starts(7)); got != window {
			t.Errorf("window %d: %d packets started without an ACK", window, got)
		}
		for k, s := range b.starts(7) {
			if want := at(unit.Duration(k) * tp); s != want {
				t.Errorf("window %d: packet %d starts at %v, want %v: back to back", window, k, s, want)
			}
		}
		for k := range 3 {
			b.give(b.ackOf(&b.frames(wire.Data)[k], false))
			b.run(b.now.Add(10 * us))
			if got := len(b.starts(7)); got != window+k+1 {
				t.Errorf("window %d: %d packets started after %d ACKs", window, got, k+1)
			}
		}
		for k, f := range b.frames(wire.Data) {
			want := wire.Frame{Kind: wire.Data, Src: here, Dst: there, QP: 7, PSN: uint32(k), Payload: 2048}
			if f != want {
				t.Errorf("packet %d is %+v, want %+v", k, f, want)
			}
		}
	}
}

// The limiter holds inside a window too: two packets of a window are never closer than
// the delay.
func TestWindowDoesNotOverrideTheLimiter(t *testing.T) {
	f := greedy(t, 7, gigabyte/4)
	f.Transport = acked(5)
	b := newBench(t, f).open()
	b.run(at(200 * us))
	for k, s := range b.starts(7) {
		if want := at(unit.Duration(k) * 4 * tp); s != want {
			t.Errorf("packet %d starts at %v, want %v", k, s, want)
		}
	}
}

// A flow sends from Start on, and offers nothing at Stop or later; its last ACK is
// still taken in.
func TestStartAndStop(t *testing.T) {
	for _, rate := range []unit.Rate{0, gigabyte / 2} {
		f := greedy(t, 7, gigabyte)
		f.Start, f.Stop = at(10*us), at(10*us+5*2*tp)
		if rate > 0 {
			f.Traffic = constant(t, f.Start, rate, 2068)
		}
		b := newBench(t, f).echoing(2 * tp).open()
		b.run(at(100 * us))
		var want []unit.Time
		for k := range 5 {
			want = append(want, at(10*us+unit.Duration(k)*2*tp))
		}
		if diff := cmp.Diff(want, b.starts(7)); diff != "" {
			t.Errorf("constant %v: starts (-want +got):\n%s", rate, diff)
		}
		from, to := b.reported(trace.FlowStart), b.reported(trace.FlowStop)
		if len(from) != 1 || len(to) != 1 || from[0].At != f.Start || to[0].At != f.Stop || from[0].Flow != 7 || to[0].Flow != 7 {
			t.Errorf("constant %v: start %+v, stop %+v, want one each, at %v and %v", rate, from, to, f.Start, f.Stop)
		}
		if got := len(b.reported(trace.Feedback)); got != 5 {
			t.Errorf("constant %v: %d ACKs are taken in, want 5", rate, got)
		}
	}
}

// A flow whose end is before its start does nothing, and time continues.
func TestStopBeforeStart(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Start, f.Stop = at(20*us), at(10*us)
	b := newBench(t, f).open()
	b.run(at(100 * us))
	if got := len(b.starts(7)); got != 0 {
		t.Errorf("%d packets started", got)
	}
}

// Constant traffic that could not go waits and goes later: nothing that was offered
// is forgotten, also after Stop; greedy traffic has nothing that waits.
func TestConstantTrafficCatchesUp(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Traffic, f.Stop, f.Transport = constant(t, 0, gigabyte/4, 2068), at(10*4*tp), acked(100)
	b := newBench(t, f)
	b.advance()
	b.run(at(9*4*tp + us)) // no credit so far: ten have been offered
	b.tell(port.DataLane)
	b.run(at(200 * us))
	var want []unit.Time
	for k := range 10 {
		want = append(want, at(9*4*tp+us+unit.Duration(k)*tp))
	}
	if diff := cmp.Diff(want, b.starts(7)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

// Constant traffic is exact on average over any time, also where its interval is no
// whole number of picoseconds: offer k comes k packets after the start, rounded up
// once.
func TestConstantTrafficIsExact(t *testing.T) {
	for _, rate := range []unit.Rate{7e8, 3333333333, 1234567891, 4e9} {
		f := greedy(t, 7, gigabyte)
		f.Start = at(123457)
		f.Traffic = constant(t, f.Start, rate, 2068)
		b := newBench(t, f).echoing(100 * ns).open()
		b.run(at(50 * unit.Millisecond))
		got := b.starts(7)
		if want := float64(rate) * 0.05 / (2068 * 8); float64(len(got)) < want-1 || float64(len(got)) > want+1 {
			t.Errorf("rate %v: %d packets in 50 ms, want %.1f", rate, len(got), want)
		}
		for k, s := range got {
			if want := f.Start.Add(rate.Serialise(unit.Size(k) * 2068)); s != want {
				t.Fatalf("rate %v: packet %d starts at %v, want %v", rate, k, s, want)
			}
		}
	}
}

// Flows take turns: of several greedy ones each has every n-th packet.
func TestFlowsTakeTurns(t *testing.T) {
	var flows []node.Flow
	for qp := range uint32(4) {
		f := greedy(t, 7+qp, gigabyte)
		f.Transport = acked(50)
		flows = append(flows, f)
	}
	b := newBench(t, flows...).open()
	b.run(at(40*tp - 1))
	for k, f := range b.frames(wire.Data) {
		if want := uint32(7 + k%4); f.QP != want {
			t.Errorf("packet %d is of flow %d, want %d", k, f.QP, want)
		}
	}
	if got := len(b.frames(wire.Data)); got != 40 {
		t.Errorf("%d packets in 40 packet times", got)
	}
}

// stalls adds up how long each cause has kept a flow, from the events alone.
func stalls(b *bench, qp uint32) (spent map[port.Block]unit.Duration) {
	b.t.Helper()
	spent = map[port.Block]unit.Duration{}
	since, block := unit.Time(0), port.Idle
	for _, e := range b.reported(trace.Stall) {
		if e.Flow != qp {
			continue
		}
		if port.Block(e.B) != block {
			b.t.Errorf("%v: a stall event says that %v held before, and it was %v", e.At, port.Block(e.B), block)
		}
		spent[block] += e.At.Sub(since)
		since, block = e.At, port.Block(e.A)
	}
	spent[block] += b.now.Sub(since)
	return spent
}

// "Stall time by cause comes free": at each instant one cause holds, so that the times
// add up to all there is, and each is what the script made it.
func TestStallTimesAddUp(t *testing.T) {
	f := greedy(t, 7, gigabyte/2)
	f.Start, f.Stop = at(5*us), at(5*us+10*2*tp)
	b := newBench(t, f).echoing(3 * us)
	b.advance()
	b.run(at(25 * us))
	for lane := range uint8(port.Lanes) {
		b.tell(lane) // the peer is late: no credit until now
	}
	b.run(at(100 * us))
	// Packets start at 25 µs and every 2 tp from then on, the sixth at 45.68 µs; the
	// end is at 46.36 µs. Each waits 3 µs for its ACK, then for the limiter.
	got := stalls(b, 7)
	want := map[port.Block]unit.Duration{
		port.Idle:        5*us + 100*us - 46360*ns, // before it starts, and after its end
		port.NoCredit:    20 * us,
		port.Window:      5*3*us + 680*ns,
		port.RateLimited: 5 * (2*tp - 3*us),
	}
	sum := unit.Duration(0)
	for block, d := range got {
		sum += d
		if d != want[block] {
			t.Errorf("%v for %v, want %v", block, d, want[block])
		}
	}
	if sum != 100*us {
		t.Errorf("all causes hold for %v together, want 100us: %v", sum, got)
	}
}

// Of several flows with a packet the first one waits for what keeps it, and those
// behind it for the link, which it will have first; their times add up too.
func TestStallTimesOfSeveralFlows(t *testing.T) {
	flows := []node.Flow{greedy(t, 7, gigabyte), greedy(t, 8, gigabyte), greedy(t, 9, gigabyte/8)}
	b := newBench(t, flows...).echoing(2200 * ns).open()
	b.run(at(500 * us))
	for _, f := range flows {
		got, sum := stalls(b, f.QP), unit.Duration(0)
		for _, d := range got {
			sum += d
		}
		if sum != 500*us {
			t.Errorf("flow %d: all causes hold for %v together, want 500us: %v", f.QP, sum, got)
		}
		if got[port.LinkBusy] == 0 || got[port.Window] == 0 {
			t.Errorf("flow %d: %v, want some time for the line and the window", f.QP, got)
		}
		if f.QP == 9 && got[port.RateLimited] == 0 {
			t.Errorf("flow 9: %v, want some time for its limiter", got)
		}
	}
}

// Without credit the first flow waits for that, and those behind it for the link.
func TestOnlyTheFirstFlowWaitsForCredit(t *testing.T) {
	b := newBench(t, greedy(t, 7, gigabyte), greedy(t, 8, gigabyte), greedy(t, 9, gigabyte))
	b.advance()
	b.run(at(50 * us))
	for qp, want := range map[uint32]port.Block{7: port.NoCredit, 8: port.LinkBusy, 9: port.LinkBusy} {
		if got := stalls(b, qp); got[want] != 50*us {
			t.Errorf("flow %d: %v, want %v all the time", qp, got, want)
		}
	}
}
