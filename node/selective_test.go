package node_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// selectively are parameters of an order that retransmits only lost packets.
func selectively(o node.Order, distance int) node.RoCEParams {
	return node.RoCEParams{Order: o, Window: 32, Reorder: 64, LossDistance: distance, Timeout: 200 * us, LowPackets: 3}
}

// once checks that each packet was delivered once, in order unless it is placed at once, and
// returns how many there were.
func once(t *testing.T, name string, o node.Order, sink events) uint32 {
	t.Helper()
	if o == node.SelectiveRepeat {
		return sink.inTurn(t)
	}
	var all []uint32
	for _, e := range sink {
		if e.Kind == trace.Deliver {
			all = append(all, e.PSN)
		}
	}
	slices.Sort(all)
	for i, psn := range all[:max(len(all)-64, 0)] { // those at the end of the run may be missing
		if psn != uint32(i) {
			t.Fatalf("%s: packet %d is missing, or was delivered twice", name, i)
		}
	}
	return uint32(len(all))
}

// "Only lost packets are retransmitted": how many are, for losses, duplicates and disorder, with
// loss found by the distance and by the timeout alone. A packet that is late by the distance or
// more seems lost.
func TestOnlyLostPacketsComeAgain(t *testing.T) {
	data := func(f *wire.Frame, psn ...uint32) bool { return f.Kind == wire.Data && slices.Contains(psn, f.PSN) }
	now, late := []unit.Duration{0}, []unit.Duration{4500 * ns} // in which four packets pass
	for name, c := range map[string]struct {
		paths                  func(n int, f *wire.Frame) []unit.Duration
		distance               int
		again, timeouts, early int
	}{
		"nothing": {func(int, *wire.Frame) []unit.Duration { return now }, 3, 0, 0, 0},
		"a packet": {func(_ int, f *wire.Frame) []unit.Duration {
			if data(f, 20) && !f.RoCE().AckReq { // its retransmission asks for an ACK
				return nil
			}
			return now
		}, 3, 1, 0, -1},
		"a packet, found by the timeout": {func(_ int, f *wire.Frame) []unit.Duration {
			if data(f, 20) && !f.RoCE().AckReq {
				return nil
			}
			return now
		}, 0, 0, 1, -1},
		"ACKs": {func(n int, f *wire.Frame) []unit.Duration {
			if f.Kind == wire.Ack && n > 40 && n < 50 {
				return nil
			}
			return now
		}, 3, 0, 0, 0},
		"late, but not too late": {func(_ int, f *wire.Frame) []unit.Duration {
			if data(f, 20, 40, 60) {
				return late
			}
			return now
		}, 5, 0, 0, 12},
		"too late": {func(_ int, f *wire.Frame) []unit.Duration {
			if data(f, 20, 40, 60) && !f.RoCE().AckReq {
				return late
			}
			return now
		}, 3, 3, 0, 12},
		"too late for no distance": {func(_ int, f *wire.Frame) []unit.Duration {
			if data(f, 20, 40, 60) {
				return late
			}
			return now
		}, 0, 0, 0, 12},
		"all twice": {func(int, *wire.Frame) []unit.Duration { return []unit.Duration{0, 700 * ns} }, 3, 0, 0, 0},
	} {
		for _, o := range []node.Order{node.SelectiveRepeat, node.Direct} {
			p := selectively(o, c.distance)
			p.AckEvery = 4
			source, sink := overPaths(t, ethernetPort(), node.AdapterConfig{}, roceFlow(p), unit.Time(400*us), c.paths)
			if n := once(t, name, o, sink); n < 150 {
				t.Errorf("%s, %v: %d packets were delivered", name, o, n)
			}
			if again, timeouts := source.count(trace.Retransmit), source.count(trace.Timeout); again != c.again || timeouts != c.timeouts {
				t.Errorf("%s, %v: %d packets are retransmitted, and %d timeouts, want %d and %d", name, o, again, timeouts, c.again, c.timeouts)
			}
			if early := sink.count(trace.Disorder); c.early >= 0 && early != c.early || c.early < 0 && early == 0 {
				t.Errorf("%s, %v: %d packets came ahead of their turn, want %d", name, o, early, c.early)
			}
			if v := source.count(trace.Violation) + sink.count(trace.Violation); v > 0 {
				t.Errorf("%s, %v: %d violations", name, o, v)
			}
		}
	}
}

// How far ahead of its turn a packet came, and how long the reorder buffer held it: direct
// placement has no such buffer, and delivers it as it comes.
func TestDisorder(t *testing.T) {
	paths := func(_ int, f *wire.Frame) []unit.Duration {
		if f.Kind == wire.Data && f.PSN == 20 {
			return []unit.Duration{3*1068*ns + ns}
		}
		return []unit.Duration{0}
	}
	type early struct{ psn, ahead, held int64 }
	for o, want := range map[node.Order][]early{
		node.SelectiveRepeat: {{21, 1, int64(2*1068*ns + ns)}, {22, 2, int64(1068*ns + ns)}, {23, 3, int64(ns)}},
		node.Direct:          {{21, 1, 0}, {22, 2, 0}, {23, 3, 0}},
	} {
		_, sink := overPaths(t, ethernetPort(), node.AdapterConfig{}, roceFlow(selectively(o, 0)), unit.Time(60*us), paths)
		var got []early
		var order []uint32
		for _, e := range sink {
			switch e.Kind {
			case trace.Disorder:
				got = append(got, early{int64(e.PSN), e.A, e.B})
			case trace.Deliver:
				order = append(order, e.PSN)
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(early{})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", o, diff)
		}
		delivered := []uint32{19, 20, 21, 22, 23, 24}
		if o == node.Direct {
			delivered = []uint32{19, 21, 22, 23, 20, 24}
		}
		if !slices.Equal(order[19:25], delivered) {
			t.Errorf("%v: %v were delivered, want %v", o, order[19:25], delivered)
		}
	}
}

// "With both messages end in order", once, with all their bytes, whichever of their packets are
// late or lost.
func TestMessagesEndInOrder(t *testing.T) {
	for seed := range uint64(40) {
		for _, o := range []node.Order{node.SelectiveRepeat, node.Direct} {
			r := unit.NewRandom(seed, 3)
			p := selectively(o, 4)
			p.Timeout = 50 * us
			flow := roceFlow(p)
			flow.Traffic = generated(t, traffic.Config{Kind: traffic.Transfers, Sizes: traffic.One(10_100), Count: 8, Rate: gigabyte / 4, Length: 1068, Seed: 3})
			_, sink := overPaths(t, ethernetPort(), node.AdapterConfig{}, flow, unit.Time(4*unit.Millisecond), func(int, *wire.Frame) []unit.Duration {
				d := []unit.Duration{unit.Duration(r.Below(12)) * us}
				return slices.Repeat(d, int(r.Below(8)+6)/7) // one in eight is lost, one in eight comes twice
			})
			var ended []trace.Event
			for _, e := range sink {
				if e.Kind == trace.TransferEnd {
					ended = append(ended, trace.Event{PSN: e.PSN, A: e.A, B: e.B})
				}
			}
			var want []trace.Event
			for i := range uint32(8) {
				want = append(want, trace.Event{PSN: 10*i + 9, B: 10_100})
			}
			if diff := cmp.Diff(want, ended); diff != "" {
				t.Fatalf("seed %d, %v: messages that ended (-want +got):\n%s", seed, o, diff)
			}
			if n := sink.count(trace.Deliver); n != 80 {
				t.Errorf("seed %d, %v: %d packets were delivered, want 80", seed, o, n)
			}
		}
	}
}

// A few packets in flight have a shorter timeout, as in IRN: one that loses its end needs no more
// than that.
func TestFewPacketsHaveTheShortTimeout(t *testing.T) {
	for low, want := range map[unit.Duration]unit.Time{0: unit.Time(320 * us), 100 * us: unit.Time(100 * us)} {
		p := selectively(node.SelectiveRepeat, 1)
		p.Timeout, p.LowTimeout = 320*us, low
		flow := roceFlow(p)
		flow.Traffic = transfers(0, 10_100)
		lost := false
		source, sink := over(t, ethernetPort(), flow, unit.Time(unit.Millisecond), func(_ int, f *wire.Frame) bool {
			first := f.Last && !lost
			lost = lost || f.Last
			return first
		})
		if n := sink.inTurn(t); n != 10 || source.count(trace.Timeout) != 1 {
			t.Errorf("rto-low %v: %d packets were delivered, %d timeouts", low, n, source.count(trace.Timeout))
		}
		for _, e := range source { // since the ACK of the packet before the last, some 13 us after the start
			if e.Kind == trace.Timeout && (e.At < want || e.At > want.Add(20*us)) {
				t.Errorf("rto-low %v: the timeout is at %v, want after %v", low, e.At, want)
			}
		}
	}
}

// A queue pair fails after so many timeouts in a row, as with go-back-N, and then sends nothing
// more.
func TestSelectiveRetryCount(t *testing.T) {
	for count, want := range map[int]int{node.Unlimited: 0, 0: 1, 3: 1} {
		p := selectively(node.SelectiveRepeat, 1)
		p.Timeout, p.RetryCount = 50*us, count
		source, _ := over(t, ethernetPort(), retrying(p), unit.Time(unit.Millisecond), func(n int, _ *wire.Frame) bool { return n > 40 })
		if failed := source.count(trace.Failure); failed != want {
			t.Errorf("retry-count %d: the queue pair fails %d times, want %d", count, failed, want)
		}
		if n := source.count(trace.Timeout); want > 0 && n != count+1 || want == 0 && n < 10 {
			t.Errorf("retry-count %d: %d timeouts", count, n)
		}
		if left := source.count(trace.FlowStop); left != want {
			t.Errorf("retry-count %d: the flow stops %d times", count, left)
		}
	}
}
