package dump_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/trace"
)

// A leaf and two spines, by which frames of each flow go at random. The link of one spine loses
// some. The flows end before the run does.
const disordered = `
name: disordered
model: {duration: 2ms, seed: 3}
routing: {paths: ecmp, balance: random}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 2MB per port}
  flow: {packet: 1024B, priority: 3, traffic: poisson, load: 0.3, stop: 800us}
switches: {left: {}, right: {}, "spine[1-3]": {}}
endpoints: ["L[1-4]", "R[1-4]"]
links: ["L[1-4] - left", "R[1-4] - right", "left - spine[1-3]", "spine[1-3] - right"]
flows:
  - {name: back, from: L1, to: R1, transport: {kind: rocev2, ack-timeout: 100us}}
  - {name: irn, from: L2, to: R2, transport: {kind: rocev2, order: selective-repeat, loss-distance: 6, ack-timeout: 100us}}
  - {name: direct, from: L3, to: R3, transport: {kind: rocev2, order: direct, loss-distance: 6, ack-timeout: 100us}}
  - {name: plain, from: L4, to: R4}
events:
  - {at: 0us, link: spine2 - right, from: spine2, loss: 0.02, for: 700us}
`

// disorder counts what the nodes report.
type disorder struct{ packets, farthest, again map[uint32]int }

func (d *disorder) Record(e *trace.Event) {
	switch e.Kind {
	case trace.Disorder:
		d.packets[e.Flow]++
		d.farthest[e.Flow] = max(d.farthest[e.Flow], int(e.A))
	case trace.Retransmit:
		d.again[e.Flow] += int(e.B)
	}
}

// disorderOf returns the capture of a scenario, and what its nodes report.
func disorderOf(t *testing.T, text string, both bool) ([]byte, *disorder) {
	t.Helper()
	d := &disorder{map[uint32]int{}, map[uint32]int{}, map[uint32]int{}}
	var b bytes.Buffer
	o := emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: d, Capture: &emu.Capture{To: &b, Both: both}}
	if _, err := emu.Run(context.Background(), runtest.Load(t, text), o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), d
}

// Where packets come in any order nothing is a fault that is none, and the capture has the disorder
// that the destinations report.
func TestDisorderIsProvedRight(t *testing.T) {
	for _, both := range []bool{false, true} {
		b, want := disorderOf(t, disordered, both)
		out, sum := text(t, b)
		if sum.Problems() > 0 || sum.Checked[dump.Deliveries] < 2000 || sum.Gaps[dump.NotFollowed] > 0 || sum.Gaps[dump.Dropped] == 0 {
			t.Errorf("both ends %t: %v %v %v", both, sum.Found, sum.Checked, sum.Gaps)
			for line := range strings.Lines(out) {
				if strings.Contains(line, "WRONG") {
					t.Log(line)
				}
			}
		}
		all := sum.Deliveries()
		if len(all) != 4 {
			t.Fatalf("%d flows are followed, want 4", len(all))
		}
		for i, d := range all {
			if d.Packets < 200 || d.Early < 5 || d.Farthest < 1 {
				t.Errorf("%+v: the flow has no disorder", d)
			}
			if selective := i == 1 || i == 2; selective && (d.Early != want.packets[d.QP] || d.Farthest != want.farthest[d.QP] || d.Lost == 0 || d.Missing > 0) {
				t.Errorf("both ends %t: %+v, and the destination reports %d, the farthest %d ahead", both, d, want.packets[d.QP], want.farthest[d.QP])
			}
			if i == 3 && (d.Retransmitted() > 0 || d.Missing == 0) {
				t.Errorf("%+v: nothing is retransmitted, and some are missing", d)
			}
		}
		if said := summary(t, sum); !strings.Contains(said, "delivery") || !strings.Contains(said, "\ndirect ") {
			t.Errorf("%s", said)
		}
	}
}

// By the hash nothing comes ahead of its turn but behind a loss, and go-back-N drops it.
func TestOneWayHasNoDisorder(t *testing.T) {
	b, _ := disorderOf(t, strings.Replace(disordered, ", balance: random", "", 1), false)
	_, sum := text(t, b)
	if sum.Problems() > 0 || sum.Checked[dump.Sequence] < 100 {
		t.Errorf("%v %v", sum.Found, sum.Checked)
	}
	b, _ = disorderOf(t, strings.NewReplacer(", balance: random", "", "loss: 0.02", "loss: 1e-9").Replace(disordered), false)
	_, sum = text(t, b)
	for _, d := range sum.Deliveries() {
		if d.Early+d.Retransmitted()+d.Again > 0 {
			t.Errorf("%+v: nothing was lost", d)
		}
	}
	if sum.Problems() > 0 || len(sum.Deliveries()) != 3 {
		t.Errorf("%v, %d flows are followed", sum.Found, len(sum.Deliveries()))
	}
}

// change returns a capture with other records: edit returns the frames that stand for one.
func change(t *testing.T, b []byte, edit func(p *dump.Packet) []*wire.Frame) []byte {
	t.Helper()
	in, err := pcapng.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var d dump.Decoder
	var out []byte
	for {
		raw, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if out == nil {
			out, _ = pcapng.AppendSection(nil, pcapng.Section{Application: in.Program, Comment: in.Comments[0], More: in.Comments[1:]})
			out = pcapng.AppendNames(out, in.Names)
			for _, i := range in.Interfaces {
				out = pcapng.AppendInterface(out, i)
			}
		}
		p := d.Decode(in, raw)
		if p.Frame.Kind == 0 {
			out = pcapng.AppendPacket(out, raw)
			continue
		}
		for _, f := range edit(&p) {
			again := *raw
			again.Data = f.Append(nil)
			again.Length = len(again.Data)
			out = pcapng.AppendPacket(out, &again)
		}
	}
	return out
}

// A capture with a fault shows it.
func TestFaultsOfDelivery(t *testing.T) {
	b, _ := disorderOf(t, disordered, false)
	const irn, direct, plain = 3, 4, 5
	keep := func(p *dump.Packet) []*wire.Frame { return []*wire.Frame{&p.Frame} }
	data := func(p *dump.Packet, qp, psn uint32, port string) bool {
		return p.Frame.Kind == wire.Data && p.Frame.QP == qp && p.Frame.PSN == psn && strings.HasPrefix(p.Port, port)
	}
	// The first packet of a flow that was sent twice.
	var twice uint32
	sent := map[uint32]int{}
	change(t, b, func(p *dump.Packet) []*wire.Frame {
		if f := &p.Frame; f.Kind == wire.Data && f.QP == irn && strings.HasPrefix(p.Port, "L2:") {
			if sent[f.PSN]++; sent[f.PSN] == 2 && twice == 0 {
				twice = f.PSN
			}
		}
		return nil
	})
	if twice == 0 {
		t.Fatal("no packet was retransmitted")
	}
	acks, copies := 0, 0
	for _, c := range []struct {
		name  string
		edit  func(p *dump.Packet) []*wire.Frame
		words string
	}{
		{"nothing", keep, ""},
		{"a packet is lost and not retransmitted", func(p *dump.Packet) []*wire.Frame {
			if data(p, irn, twice, "L2:") {
				copies++
			}
			if data(p, irn, twice, "") && copies > 1 {
				return nil
			}
			return keep(p)
		}, fmt.Sprintf("have come, and %d has not", twice)},
		{"a packet arrives twice", func(p *dump.Packet) []*wire.Frame {
			if data(p, direct, 30, "right:2 <- R3") {
				return []*wire.Frame{&p.Frame, &p.Frame}
			}
			return keep(p)
		}, "flow direct: packet 30 arrives 2 times, and was sent 1 times"},
		{"and so does one without ACKs", func(p *dump.Packet) []*wire.Frame {
			if data(p, plain, 30, "right:3 <- R4") {
				return []*wire.Frame{&p.Frame, &p.Frame}
			}
			return keep(p)
		}, "flow plain: packet 30 arrives 2 times, and was sent 1 times"},
		{"an ACK is ahead", func(p *dump.Packet) []*wire.Frame {
			if f := &p.Frame; f.Kind == wire.Ack && f.QP == direct && strings.HasPrefix(p.Port, "R3:") {
				if acks++; acks == 40 {
					ahead := *f
					ahead.PSN += 40
					return []*wire.Frame{&ahead}
				}
			}
			return keep(p)
		}, "flow direct: an ACK says that all packets before"},
		{"an ACK names a packet that has not come", func(p *dump.Packet) []*wire.Frame {
			if psn, names := p.Frame.Selected(); names && p.Frame.QP == irn && strings.HasPrefix(p.Port, "R2:") {
				p.Frame.SetSelected(psn + 40)
			}
			return keep(p)
		}, "flow irn: an ACK names packet"},
		{"a packet stays in the last switch", func(p *dump.Packet) []*wire.Frame {
			if data(p, plain, 30, "right:3 <- R4") {
				return nil
			}
			return keep(p)
		}, "flow plain: packet 30 has come to the last switch by the same link before"},
		{"a packet was never sent", func(p *dump.Packet) []*wire.Frame {
			if data(p, direct, 30, "") {
				return nil
			}
			return keep(p)
		}, "flow direct sends packet 31, and has not sent 30"},
		{"a packet comes from nowhere", func(p *dump.Packet) []*wire.Frame {
			if data(p, direct, 30, "right:2 <- R3") {
				other := p.Frame
				other.PSN = 5000
				return []*wire.Frame{&p.Frame, &other}
			}
			return keep(p)
		}, "flow direct: packet 5000 arrives, and was not sent"},
		{"a packet is retransmitted after its ACK", func(p *dump.Packet) []*wire.Frame {
			if data(p, irn, twice+150, "L2:") {
				other := p.Frame
				other.PSN = twice + 20
				return []*wire.Frame{&other, &p.Frame}
			}
			return keep(p)
		}, fmt.Sprintf("flow irn retransmits packet %d, whose ACK had come", twice+20)},
	} {
		acks, copies = 0, 0
		out, sum := text(t, change(t, b, c.edit))
		found := slices.Collect(func(yield func(string) bool) {
			for line := range strings.Lines(out) {
				if strings.Contains(line, "WRONG") && !yield(line) {
					return
				}
			}
		})
		right := c.words == "" && len(found) == 0 || c.words != "" && len(found) > 0 && strings.Contains(found[0], c.words)
		if !right || sum.Problems() != sum.Found[dump.Deliveries] {
			t.Errorf("%s: %d problems, %v; want %q", c.name, len(found), found[:min(len(found), 4)], c.words)
		}
	}
}

// trimming is an incast whose packets are trimmed at two switches.
const trimming = `
name: trimming
model: {duration: 300us, seed: 1}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: none}
  switch: {kind: output-queued, memory: 1MB per port, output-limit: 20KB, trim: 128B}
  flow: {packet: 1024B, traffic: transfers, size: 64KiB, jitter: 0s, transport: {kind: rocev2, order: selective-repeat}}
switches: {S: {}, T: {}}
endpoints: ["N[1-4]", R]
links: ["N[1-3] - S", S - T, N4 - T, T - R]
flows:
  - {name: in, from: "N[1-4]", to: R}
`

// Where packets are trimmed each retransmission is for a loss, and each NAK for headers that have
// come. A NAK for a packet of which none have come is a fault, and so are headers of a packet that
// was not sent.
func TestTrimmedDeliveries(t *testing.T) {
	for _, both := range []bool{false, true} {
		b, _ := disorderOf(t, trimming, both)
		_, sum := text(t, b)
		if sum.Problems() > 0 {
			t.Fatalf("both ends %t: %v", both, sum.Found)
		}
		lost := 0
		for _, d := range sum.Deliveries() {
			if lost += d.Lost; d.Hasty+d.Needless > 0 {
				t.Errorf("%+v: a retransmission is for no loss", d)
			}
		}
		if lost < 100 {
			t.Errorf("both ends %t: %d losses", both, lost)
		}
		for name, edit := range map[string]func(f *wire.Frame){
			"another NAK": func(f *wire.Frame) {
				if psn, _ := f.Selected(); f.Missing() {
					f.SetMissing(psn ^ 1)
				}
			},
			"other headers": func(f *wire.Frame) {
				if f.Kind == wire.Trimmed {
					f.PSN += 1000
				}
			},
		} {
			changed := change(t, b, func(p *dump.Packet) []*wire.Frame {
				edit(&p.Frame)
				return []*wire.Frame{&p.Frame}
			})
			if _, sum := text(t, changed); sum.Found[dump.Deliveries] == 0 {
				t.Errorf("both ends %t: %s: nothing is found", both, name)
			}
		}
	}
}

// byHand writes a capture of frames at the ports of A - S - C: add adds one, or without a frame a
// comment.
func byHand() (b []byte, add func(b []byte, port int, f wire.Frame, comments ...string) []byte) {
	b, _ = pcapng.AppendSection(nil, pcapng.Section{Application: "fabemu", Comment: "by hand", More: []string{pcapng.ByPacket, "flow 9 over"}})
	b = pcapng.AppendNames(b, []pcapng.Name{{MAC: uint64(wire.LID(1).MAC()), Text: "A"}, {MAC: uint64(wire.LID(3).MAC()), Text: "C"}, {MAC: uint64(wire.LID(4).MAC()), Text: "S"}})
	for _, name := range []string{"A:0 <- S", "S:0 <- A", "S:1 <- C", "C:0 <- S"} {
		b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.Ethernet, Name: name, FCS: wire.FCSSize, Speed: 10e9})
	}
	now := int64(0)
	return b, func(b []byte, port int, f wire.Frame, comments ...string) []byte {
		now += 1000
		p := pcapng.Packet{Interface: port, Direction: pcapng.Outbound, Time: now}
		if f.Kind != 0 {
			p.Data = f.Append(nil)
			p.Length = len(p.Data)
		} else {
			p.Direction, p.Length = pcapng.Inbound, 14
		}
		for _, c := range comments {
			p.Comments = append(p.Comments, []byte(c))
		}
		return pcapng.AppendPacket(b, &p)
	}
}

// delivered is a capture of a flow from A over S to C: a packet is dropped there, named as missing
// and retransmitted.
func delivered() []byte {
	b, put := byHand()
	add := func(port int, f wire.Frame, comments ...string) { b = put(b, port, f, comments...) }
	ack := func(psn, selected uint32, nak bool) wire.Frame {
		f := wire.Frame{Kind: wire.Ack, Family: wire.RoCEv2, Lane: 3, Src: 3, Dst: 1, QP: 9, PSN: psn}
		f.SetRoCE(wire.RoCE{NAK: nak})
		if selected > 0 {
			f.SetSelected(selected)
		}
		return f
	}
	for psn := range uint32(3) {
		add(0, numbered(onRoCE, psn))
		if add(2, numbered(onRoCE, psn)); psn == 1 {
			add(3, wire.Frame{}, "dropped: fcs-error (flow 9, psn 1)")
		}
	}
	add(3, ack(0, 0, false))
	add(3, ack(0, 2, false))
	add(1, ack(0, 2, false))
	add(0, numbered(onRoCE, 1))
	add(2, numbered(onRoCE, 1))
	add(3, ack(2, 0, false))
	return b
}

// A capture that was written by hand is right: one packet was lost, and one came before its turn.
func TestDeliveredByHand(t *testing.T) {
	out, sum := text(t, delivered())
	want := dump.Delivery{QP: 9, Packets: 3, Early: 1, Farthest: 1, Lost: 1}
	if all := sum.Deliveries(); sum.Problems() > 0 || len(all) != 1 || all[0] != want {
		t.Errorf("%v %+v\n%s", sum.Found, all, out)
	}
}

// The report that the destination has dropped the headers of a trimmed packet, or that its link has
// lost them, is not one of a copy of the packet that has come: before them, or with them.
func TestDroppedHeaders(t *testing.T) {
	cut := numbered(onRoCE, 1)
	if !cut.Trim(128, 21) {
		t.Fatal("a packet that cannot be cut")
	}
	ack := wire.Frame{Kind: wire.Ack, Family: wire.RoCEv2, Lane: 3, Src: 3, Dst: 1, QP: 9, PSN: 2}
	for _, why := range []string{"trimmed", "lost-on-link"} {
		b, put := byHand()
		add := func(port int, f wire.Frame, comments ...string) { b = put(b, port, f, comments...) }
		headers := func() {
			add(1, wire.Frame{}, "dropped: trimmed (flow 9, psn 1)")
			add(2, cut)
		}
		add(0, numbered(onRoCE, 0))
		add(2, numbered(onRoCE, 0))
		add(0, numbered(onRoCE, 1))
		if add(0, numbered(onRoCE, 1)); why == "trimmed" {
			headers()
		}
		if add(2, numbered(onRoCE, 1)); why != "trimmed" {
			headers()
		}
		add(0, numbered(onRoCE, 2))
		add(2, numbered(onRoCE, 2))
		add(3, wire.Frame{}, "dropped: "+why+" (flow 9, psn 1)")
		add(3, ack)
		if out, sum := text(t, b); sum.Problems() > 0 {
			t.Errorf("%s: %v\n%s", why, sum.Found, out)
		}
	}
}
