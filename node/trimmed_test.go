package node_test

import (
	"slices"
	"testing"

	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// cutting trims some packets on their way the first time, and returns the path of all.
func cutting(t *testing.T, psn ...uint32) func(int, *wire.Frame) []unit.Duration {
	seen := map[uint32]bool{}
	return func(_ int, f *wire.Frame) []unit.Duration {
		if f.Kind == wire.Data && slices.Contains(psn, f.PSN) && !seen[f.PSN] {
			seen[f.PSN] = true
			if !f.Trim(128, 21) {
				t.Fatalf("not cut: %+v", *f)
			}
		}
		return []unit.Duration{0}
	}
}

// "A NAK says at once which packet is missing of which a switch has left only the headers": its
// retransmission waits neither for the timeout nor for packets that overtake it, also where it is
// the last one or all in flight are cut. The destination delivers no part of it.
func TestTrimmedPacketsComeAgainAtOnce(t *testing.T) {
	for name, psn := range map[string][]uint32{
		"the first": {0}, "one": {20}, "two in a row": {20, 21}, "apart": {20, 25, 30},
		"a whole window": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
	} {
		for _, o := range []node.Order{node.SelectiveRepeat, node.Direct} {
			p := selectively(o, 0) // no distance: nothing else finds them but the timeout
			p.AckEvery = 4
			source, sink := overPaths(t, ethernetPort(), node.AdapterConfig{}, roceFlow(p), unit.Time(400*us), cutting(t, psn...))
			if n := once(t, name, o, sink); n < 150 {
				t.Errorf("%s, %v: %d packets were delivered", name, o, n)
			}
			again := 0
			for _, e := range source {
				if e.Kind == trace.Retransmit {
					if again++; trace.Reason(e.A) != trace.Trimmed || !slices.Contains(psn, e.PSN) {
						t.Errorf("%s, %v: %+v", name, o, e)
					}
				}
			}
			if timeouts := source.count(trace.Timeout); again != len(psn) || timeouts > 0 {
				t.Errorf("%s, %v: %d packets come again, want %d; %d timeouts", name, o, again, len(psn), timeouts)
			}
			if v := source.count(trace.Violation) + sink.count(trace.Violation) + sink.count(trace.Drop); v > 0 {
				t.Errorf("%s, %v: %d violations and drops", name, o, v)
			}
		}
	}
}

// A packet of which headers come late, behind its retransmission, is missing no more: the answer is
// an ACK that asks for nothing.
func TestTrimmedPacketsThatHaveCome(t *testing.T) {
	for _, o := range []node.Order{node.SelectiveRepeat, node.Direct} {
		cut := cutting(t, 20, 40)
		nak := 0
		source, sink := overPaths(t, ethernetPort(), node.AdapterConfig{}, roceFlow(selectively(o, 3)), unit.Time(400*us), func(n int, f *wire.Frame) []unit.Duration {
			if f.Missing() {
				nak++
			}
			if cut(n, f); f.Kind == wire.Trimmed {
				return []unit.Duration{100 * us}
			}
			return []unit.Duration{0}
		})
		once(t, "late", o, sink)
		if again := source.count(trace.Retransmit); again != 2 || nak != 0 {
			t.Errorf("%v: %d come again and %d NAKs, want 2 and none", o, again, nak)
		}
	}
}

// A destination that goes back drops trimmed packets as damaged ones: their ICRC is gone. So do all
// others that know nothing of them.
func TestTrimmedPacketsAreDamaged(t *testing.T) {
	p := selectively(node.GoBackN, 0)
	source, sink := overPaths(t, ethernetPort(), node.AdapterConfig{}, roceFlow(p), unit.Time(400*us), cutting(t, 20))
	drops := 0
	for _, e := range sink {
		if e.Kind == trace.Drop && e.PSN == 20 {
			if drops++; trace.Reason(e.A) != trace.Trimmed || e.B != int64(wire.Trimmed) {
				t.Errorf("%+v", e)
			}
		}
	}
	if drops != 1 || source.count(trace.Retransmit) != 1 {
		t.Errorf("%d dropped, %d retransmissions", drops, source.count(trace.Retransmit))
	}
	for _, e := range source {
		if e.Kind == trace.Retransmit && trace.Reason(e.A) != trace.SequenceError {
			t.Errorf("%+v", e)
		}
	}
}
