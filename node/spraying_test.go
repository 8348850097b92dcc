package node_test

import (
	"testing"

	"fabemu/node"
	"fabemu/node/spray"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Each packet has a source port that the policy has chosen, a retransmission another one, and an
// ACK that of its packet, also if the packet came early, or again.
func TestSprayedPorts(t *testing.T) {
	for _, o := range []node.Order{node.GoBackN, node.SelectiveRepeat, node.Direct} {
		p := selectively(o, 4)
		p.Spray, p.Entropies, p.Seed, p.Echo, p.RetryCount = spray.Oblivious, 16, 3, true, node.Unlimited
		sent, acked := map[uint16]int{}, 0
		ports := map[uint32][]uint16{} // by packet, those of its transmissions
		source, sink := over(t, ethernetPort(), roceFlow(p), unit.Time(200*us), func(n int, f *wire.Frame) bool {
			if f.Kind == wire.Data {
				sent[f.SourcePort()]++
				ports[f.PSN] = append(ports[f.PSN], f.SourcePort())
				return n%50 == 20
			}
			of := f.PSN
			if psn, ok := f.Selected(); ok {
				of = psn
			}
			if f.RoCE().NAK {
				return false
			}
			acked++
			known := false
			for back := range uint32(min(of, 40)) { // an ACK may be for a packet that came again
				for _, port := range ports[of-back] {
					known = known || port == f.SourcePort()
				}
			}
			if !known && of > 0 {
				t.Fatalf("%v: the ACK of packet %d has source port %#x, and the packet %#x", o, of, f.SourcePort(), ports[of])
			}
			return false
		})
		if len(sent) != 16 || acked < 20 {
			t.Errorf("%v: %d source ports, and %d ACKs", o, len(sent), acked)
		}
		for port, n := range sent {
			if all := source.count(trace.Start); n < all/16-40 || port < wire.LeastSourcePort {
				t.Errorf("%v: port %#x has %d of %d packets", o, port, n, all)
			}
		}
		once(t, "spray", o, sink)
	}
}

// What marks ACKs return has an effect: a path whose packets are marked is taken less often.
func TestSprayedFlowsLearn(t *testing.T) {
	for _, policy := range []spray.Policy{spray.Oblivious, spray.Bitmap, spray.REPS, spray.Mixed} {
		p := selectively(node.Direct, 0)
		p.Spray, p.Entropies, p.Seed, p.Echo, p.ECN = policy, 8, 3, true, true
		sent := map[uint16]int{}
		over(t, ethernetPort(), roceFlow(p), unit.Time(2*unit.Millisecond), func(_ int, f *wire.Frame) bool {
			if f.Kind == wire.Data {
				sent[f.SourcePort()%8]++
				f.FECN = f.SourcePort()%8 == 5
			}
			return false
		})
		all, bad := 0, sent[5]
		for _, n := range sent {
			all += n
		}
		if learns := bad < all/12; learns != policy.Learns() {
			t.Errorf("%v: a path whose packets are all marked has %d of %d packets", policy, bad, all)
		}
	}
}
