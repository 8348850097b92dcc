package dump_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/watch/capture/dump"
	"fabemu/wire"
)

// Ultra Ethernet transport over a leaf and three spines: an incast of five with each of its
// controls, which trims; ordered delivery beside it, by one path; and one link that loses some
// frames of each kind.
const ultra = `
name: ultra
model: {duration: 1ms, seed: 3}
routing: {paths: ecmp}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: none}
  switch: {kind: output-queued, memory: 60KB per port, lossless: [], trim: 64B, marking: {scheme: ecn, min: 10KB, max: 30KB}}
  flow: {packet: 1024B, traffic: transfers, size: 256KiB, jitter: 0s, stop: 700us}
switches: {left: {}, right: {}, "spine[1-3]": {}}
endpoints: ["L[1-6]", "R[1-2]"]
links: ["L[1-6] - left", "R[1-2] - right", "left - spine[1-3]", "spine[1-3] - right"]
flows:
  - {name: rccc, from: L1, to: R1, transport: {kind: uet, spray: oblivious}, control: {algorithm: rccc, base-rtt: 10us}}
  - {name: both, from: L2, to: R1, transport: {kind: uet, spray: mixed}, control: {algorithm: nscc-rccc, base-rtt: 10us}}
  - {name: nscc, from: L3, to: R1, transport: {kind: uet, spray: oblivious}, control: {algorithm: nscc, base-rtt: 10us}}
  - {name: plain, from: L4, to: R1, transport: {kind: uet, window: 32}}
  - {name: probes, from: L5, to: R1, transport: {kind: uet, window: 32, probe-after: 40us}}
  - {name: rod, from: L6, to: R2, transport: {kind: uet, delivery: ordered, window: 16}, traffic: poisson, load: 0.5}
events:
  - {at: 0us, link: spine2 - right, from: spine2, loss: 0.01, for: 500us}
  - {at: 0us, link: R2 - right, from: right, loss: 0.01, for: 500us}
  - {at: 0us, link: R1 - right, from: right, loss: 0.005, for: 500us}
`

// Nothing that Ultra Ethernet transport does is a fault that is none, and the capture has the
// disorder that the destinations report.
func TestUltraIsProvedRight(t *testing.T) {
	for _, both := range []bool{false, true} {
		b, want := disorderOf(t, ultra, both)
		out, sum := text(t, b)
		if sum.Problems() > 0 || sum.Checked[dump.Deliveries] < 4000 || sum.Checked[dump.Credit] < 400 || sum.Gaps[dump.NotFollowed] > 0 {
			t.Errorf("both ends %t: %v %v %v\n%s", both, sum.Found, sum.Checked, sum.Gaps, wrongs(out))
		}
		all := sum.Deliveries()
		if len(all) != 6 {
			t.Fatalf("%d flows are followed, want 6", len(all))
		}
		lost := 0
		for i, d := range all {
			if lost += d.Lost; d.Packets < 30 || d.Retransmitted() == 0 {
				t.Errorf("both ends %t: %+v: the flow has no retransmission", both, d)
			}
			if ordered := i == 5; !ordered && (d.Early != want.packets[d.QP] || d.Farthest != want.farthest[d.QP] || d.Early == 0) {
				t.Errorf("both ends %t: %+v, and the destination reports %d, the farthest %d ahead", both, d, want.packets[d.QP], want.farthest[d.QP])
			}
		}
		if lost < 100 {
			t.Errorf("both ends %t: %d losses", both, lost)
		}
	}
}

// What faults do to links is no mistake of what crosses them: ACKs that are lost or late on the
// last link to the source, packets that are damaged before the last switch, links and switches that
// fail.
func TestFaultyLinksAreProvedRight(t *testing.T) {
	const faults = `  - {at: 100us, link: spine1 - right, corruption: 0.05, for: 200us}
  - {at: 150us, link: L1 - left, from: left, loss: 0.3, for: 100us}
  - {at: 150us, link: L2 - left, from: left, corruption: 0.3, for: 100us}
  - {at: 150us, link: "L3 - left", delay: 40us, jitter: 3us, for: 100us}
  - {at: 250us, link: "L1 - left", delay: 40us, for: 100us}
  - {at: 400us, switch: spine3, restart: 20us}
  - {at: 450us, link: L2 - left, state: down}
  - {at: 470us, link: L2 - left, state: up}
`
	for what, fabric := range map[string]string{
		"uet": ultra, "rocev2": strings.Replace(disordered, "priority: 3", "priority: 0", 1),
		"trimmed": strings.NewReplacer("flow-control: pfc", "flow-control: none", "2MB per port", "20KB per port, lossless: [], trim: 128B", "to: R2", "to: R1", "to: R3", "to: R1").Replace(disordered),
	} {
		for _, both := range []bool{false, true} {
			b, _ := disorderOf(t, fabric+faults, both)
			out, sum := text(t, b)
			lost := 0
			for _, d := range sum.Deliveries() {
				lost += d.Lost
			}
			if sum.Problems() > 0 || sum.Checked[dump.Deliveries] < 1500 || lost < 30 {
				t.Errorf("%s, both ends %t: %v %v, %d losses\n%s", what, both, sum.Found, sum.Checked, lost, wrongs(out))
			}
		}
	}
}

// wrongs returns the lines of faults.
func wrongs(out string) (found []string) {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "WRONG") {
			found = append(found, line)
		}
	}
	return found
}

// A capture of Ultra Ethernet transport with a fault shows it.
func TestFaultsOfUltra(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	b, _ := disorderOf(t, ultra, false)
	const rccc, plain, rod = 2, 5, 7
	keep := func(p *dump.Packet) []*wire.Frame { return []*wire.Frame{&p.Frame} }
	of := func(p *dump.Packet, kind wire.Kind, qp uint32, port string) bool {
		return p.Frame.Kind == kind && p.Frame.QP == qp && strings.HasPrefix(p.Port, port)
	}
	nack := func(p *dump.Packet) bool { return p.Frame.Kind == wire.Ack && p.Frame.RoCE().NAK }
	// The first packet of the flow plain that a NACK names.
	trimmed := uint32(1 << 31)
	change(t, b, func(p *dump.Packet) []*wire.Frame {
		if nack(p) && of(p, wire.Ack, plain, "R1:") && trimmed == 1<<31 {
			trimmed = p.Frame.PSN
		}
		return nil
	})
	if trimmed > 150 {
		t.Fatalf("packet %d is the first that is trimmed", trimmed)
	}
	n := 0
	count := func(at int) bool { n++; return n == at }
	for _, c := range []struct {
		name  string
		edit  func(p *dump.Packet) []*wire.Frame
		words string
	}{
		{"nothing", keep, ""},
		{"a bitmap is ahead", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Ack, plain, "R1:") && p.Frame.UET().Bitmap != 0 && count(4) {
				p.Frame.UET().BitmapOffset += 100
			}
			return keep(p)
		}, "flow plain: the bitmap of an ACK names packet"},
		{"an ACK is ahead", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Ack, plain, "R1:") && !nack(p) && count(4) {
				p.Frame.PSN += 100
			}
			return keep(p)
		}, "flow plain: an ACK says that all packets before"},
		{"headers have no answer", func(p *dump.Packet) []*wire.Frame {
			if nack(p) && p.Frame.QP == plain && p.Frame.PSN == trimmed {
				return nil
			}
			return keep(p)
		}, fmt.Sprintf("flow plain: headers of packet %d have come, and no NACK", trimmed)},
		{"a NACK is for another packet", func(p *dump.Packet) []*wire.Frame {
			if nack(p) && of(p, wire.Ack, plain, "R1:") && p.Frame.PSN == trimmed {
				p.Frame.PSN = 1
			}
			return keep(p)
		}, "flow plain: a NACK says that packet 1 was trimmed, whose headers have not come"},
		{"a NACK refuses what was never sent", func(p *dump.Packet) []*wire.Frame {
			if nack(p) && of(p, wire.Ack, plain, "R1:") && count(1) {
				p.Frame.PSN += 1000
			}
			return keep(p)
		}, fmt.Sprintf("flow plain: a NACK names packet %d, which was not sent", trimmed+1000)},
		{"a trimmed packet is not sent again", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, plain, "") && p.Frame.PSN == trimmed && p.Frame.UET().Flags&wire.UETRetransmitted != 0 {
				return nil
			}
			return keep(p)
		}, fmt.Sprintf("and has not sent %d again, for which a NACK had come", trimmed)},
		{"packets of ordered delivery change places", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, rod, "right:") && p.Frame.PSN|1 == 301 {
				p.Frame.PSN ^= 1
			}
			return keep(p)
		}, "flow rod: an ACK says that all packets before"},
		{"what comes in disorder is ordered delivery", func(p *dump.Packet) []*wire.Frame {
			if f := &p.Frame; f.QP == plain && (f.Kind == wire.Data || f.Kind == wire.Trimmed) {
				f.UET().Flags |= wire.UETOrdered
			}
			return keep(p)
		}, "which has not come"},
		{"a retransmission is not flagged", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, plain, "L4:") {
				p.Frame.UET().Flags &^= wire.UETRetransmitted
			}
			return keep(p)
		}, "again, and not as a retransmission"},
		{"and a new packet is", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, plain, "L4:") && p.Frame.PSN == 20 {
				p.Frame.UET().Flags |= wire.UETRetransmitted
			}
			return keep(p)
		}, "flow plain sends packet 20 as a retransmission"},
		{"the clear PSN is ahead", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, plain, "L4:") && p.Frame.PSN == 100 {
				p.Frame.UET().Offset = -1
			}
			return keep(p)
		}, "flow plain: packet 100 says that all packets up to 99 have come"},
		{"a packet is never sent", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, plain, "L4:") && p.Frame.PSN == 20 {
				return nil
			}
			return keep(p)
		}, "flow plain sends packet 21, and has not sent 20"},
		{"a packet arrives twice", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, rod, "right:") && strings.HasSuffix(p.Port, "<- R2") && p.Frame.PSN == 300 {
				return []*wire.Frame{&p.Frame, &p.Frame}
			}
			return keep(p)
		}, "flow rod: packet 300 arrives 2 times"},
		{"a packet is retransmitted after its ACK", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.Data, plain, "L4:") && p.Frame.PSN == 200 && count(1) {
				other := p.Frame
				other.PSN = 2
				other.UET().Flags |= wire.UETRetransmitted
				return []*wire.Frame{&other, &p.Frame}
			}
			return keep(p)
		}, "flow plain retransmits packet 2, whose ACK had come"},
		{"there is no more credit", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.UETControl, rccc, "") {
				if n++; n > 20 {
					return nil
				}
			}
			return keep(p)
		}, "flow rccc has credit for"},
		{"credit becomes less", func(p *dump.Packet) []*wire.Frame {
			if of(p, wire.UETControl, rccc, "R1:") && count(5) {
				p.Frame.UET().Amount -= 65
			}
			return keep(p)
		}, "flow rccc: the sum of credit is"},
	} {
		n = 0
		out, sum := text(t, change(t, b, c.edit))
		found := wrongs(out)
		right := c.words == "" && len(found) == 0 || c.words != "" && len(found) > 0 && strings.Contains(found[0], c.words)
		if !right || sum.Problems() != sum.Found[dump.Deliveries]+sum.Found[dump.Credit] {
			t.Errorf("%s: %d problems, %v; want %q", c.name, len(found), found[:min(len(found), 4)], c.words)
		}
	}
}

// deliveredUltra is a capture of a packet delivery context from A over S to C: its second packet is
// trimmed, and sent again.
func deliveredUltra() []byte {
	b, put := byHand()
	frame := func(kind wire.Kind, psn uint32, r wire.RoCE, x wire.UETExtension) wire.Frame {
		f := wire.Frame{Kind: kind, Family: wire.UET, Lane: 3, Src: 1, Dst: 3, QP: 9, PSN: psn}
		if f.SetRoCE(r); kind == wire.Data {
			f.Payload = 100
		} else {
			f.Src, f.Dst = 3, 1
		}
		*f.UET() = x
		return f
	}
	data := func(psn uint32, flags uint8) wire.Frame {
		return frame(wire.Data, psn, wire.RoCE{ECT: true}, wire.UETExtension{Flags: wire.UETState | flags, Offset: int16(-1 - int(psn))})
	}
	credit := func(amount uint32) wire.Frame {
		return frame(wire.UETControl, 0, wire.RoCE{}, wire.UETExtension{Code: wire.UETCredit, Amount: amount})
	}
	add := func(port int, f wire.Frame, comments ...string) { b = put(b, port, f, comments...) }
	for psn := range uint32(3) {
		add(0, data(psn, 0))
		f := data(psn, 0)
		if psn == 1 && !f.Trim(64, 21) {
			panic("a packet that cannot be cut")
		}
		if psn == 1 {
			add(1, wire.Frame{}, "dropped: trimmed (flow 9, psn 1)")
		}
		add(2, f)
	}
	nack := frame(wire.Ack, 1, wire.RoCE{NAK: true}, wire.UETExtension{Code: wire.NackTrimmedLastHop})
	ack := frame(wire.Ack, 0, wire.RoCE{}, wire.UETExtension{Flags: wire.UETState, Offset: 2, BitmapOffset: 2, Bitmap: 1, OutOfOrder: 1})
	for _, f := range []wire.Frame{nack, ack, credit(4), credit(8)} {
		add(3, f)
		add(1, f)
	}
	add(0, data(1, wire.UETRetransmitted))
	add(2, data(1, wire.UETRetransmitted))
	add(3, frame(wire.Ack, 2, wire.RoCE{}, wire.UETExtension{Offset: -1, Flags: wire.UETRetransmitted}))
	return b
}

// A capture that was written by hand is right: one packet was trimmed, and one came before its
// turn.
func TestUltraByHand(t *testing.T) {
	out, sum := text(t, deliveredUltra())
	want := dump.Delivery{QP: 9, Packets: 3, Early: 1, Farthest: 1, Lost: 1}
	if all := sum.Deliveries(); sum.Problems() > 0 || len(all) != 1 || all[0] != want || sum.Checked[dump.Credit] != 3 {
		t.Errorf("%v %v %+v\n%s", sum.Found, sum.Checked, all, out)
	}
}
