package guest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/host/netns"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// rdma is a fabric of two guests with adapters, which have their own hardware addresses.
const rdma = `
name: rdma
model: {duration: 1s}
wall: {dilation: 1}
defaults: {link: {rate: 10Gb/s, flow-control: pfc}, flow: {control: {algorithm: dcqcn}}}
switches: {S: {kind: output-queued, marking: {scheme: ecn}}}
endpoints:
  - {name: a, guest: {kind: tap, adapter: roce, mac: 'aa:c1:ab:00:00:01'}}
  - {name: b, guest: {kind: tap, adapter: roce, mac: 'aa:c1:ab:00:00:02'}}
links: ["a - S", "b - S"]
flows: [{name: ab, from: a, to: b}, {name: ba, from: b, to: a}]
`

// verb returns a frame of VLAN 5 with a packet of RoCEv2 between guests 1 and 2.
func verb(from byte, opcode wire.Opcode, qp, psn uint32) []byte {
	to := 3 - from
	b := append([]byte{0xAA, 0xC1, 0xAB, 0, 0, to, 0xAA, 0xC1, 0xAB, 0, 0, from}, 0x81, 0, 0xA0, 5, 8, 0)
	b = append(b, 0x45, 2, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to, 0xC1, 0x23, 0x12, 0xB7, 0, 40, 0, 0)
	b = append(wire.BTH{Opcode: opcode, DestQP: qp, PSN: psn}.Append(b), make([]byte, 16)...)
	return reseal(append(b, 0, 0, 0, 0))
}

// reseal gives a frame of verb a right checksum of IPv4 and a right ICRC.
func reseal(b []byte) []byte {
	ip := b[18:]
	ip[10], ip[11] = 0, 0
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	end := len(ip) - wire.ICRCSize
	binary.LittleEndian.PutUint32(ip[end:], wire.RoCEICRC(ip[:end]))
	return b
}

// between lays such guests out, with devices that are none.
func between(t *testing.T, text string) (*fabric.Fabric, *Guests, map[string]*fake) {
	t.Helper()
	s, err := resolve.Load("rdma.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	g, fakes := layOut(f), map[string]*fake{}
	for _, x := range g.all {
		fakes[x.name] = &fake{}
		x.device = fakes[x.name]
		for _, q := range x.flows {
			if q.lane != nil {
				q.lane.line = 10_000_000_000 * unit.BitPerSecond
			}
		}
	}
	return f, g, fakes
}

// The kernel tells only once that there are packets in a device that was empty. All of them are
// read all the same, however they were read before, and however seldom their flow has room.
func TestOneWakeUpIsEnough(t *testing.T) {
	for name, text := range map[string]string{"adapter": rdma, "none": strings.NewReplacer(", adapter: roce", "", "dcqcn", "fixed").Replace(rdma)} {
		for seed := range uint64(20) {
			f, g, fakes := between(t, text)
			poll, err := netns.NewPoll(nil) // it tells nothing
			if err != nil {
				t.Fatal(err)
			}
			defer poll.Close()
			g.poll = poll
			random, source, came, now := rand.New(rand.NewPCG(seed, 0)), g.Source(&f.Flows[0]), 0, unit.Time(0)
			for range 5 {
				n := 1 + random.IntN(3*mostAtOnce)
				for i := range n {
					fakes["a"].sent = append(fakes["a"].sent, verb(1, wire.RCSendOnly, 0x11+uint32(i%3), uint32(i)))
				}
				look(t, g)
				if len(fakes["a"].sent) != n {
					t.Fatalf("%s: packets are read of which nothing is known", name)
				}
				g.real[0].ready = true
				for left, tries := n, 0; left > 0; tries++ {
					if tries > 10*n {
						t.Fatalf("%s, seed %d: %d packets are left, %d of them in the device", name, seed, left, len(fakes["a"].sent))
					}
					look(t, g)
					for range random.IntN(8) {
						if at := source.Ready(now); at != unit.Never {
							now = max(now, at)
							if _, ok := source.Take(now, 2000); ok {
								left--
								came++
							}
						}
					}
				}
				look(t, g)
			}
			if sent := g.all[0].count.Sent; sent != int64(came) {
				t.Errorf("%s: of %d packets %d came", name, sent, came)
			}
		}
	}
}

// A CNP goes back in a frame of the same VLAN to the queue pair that ACKs have shown, and ends in
// the adapter there.
func TestCNPsBetweenFramesWithTags(t *testing.T) {
	f, g, fakes := between(t, rdma)
	now := unit.Time(0)
	carry := func(from string, flow int, marked bool, frame []byte) (out wire.Body) { // takes all that can leave
		fakes[from].sent = append(fakes[from].sent, frame)
		look(t, g)
		for lane := g.Source(&f.Flows[flow]); lane.Ready(now) != unit.Never; {
			now = max(now, lane.Ready(now))
			b, ok := lane.Take(now, 2000)
			if !ok {
				t.Fatal("nothing leaves when it is ready")
			}
			out = wire.Body{Type: b.Type, Bytes: bytes.Clone(b.Bytes)}
			g.Sink(&f.Flows[flow]).Put(now, wire.Body{Type: b.Type, Bytes: bytes.Clone(b.Bytes), Marked: marked})
		}
		return out
	}
	carry("a", 0, true, verb(1, wire.RCSendOnly, 0x11, 7)) // the sender is not known yet
	carry("b", 1, false, verb(2, wire.RCAck, 0x12, 7))
	if r, _ := g.Report(); r[1].RoCE.ECNMarked != 1 || r[1].RoCE.CNPSent != 0 {
		t.Errorf("before the ACK: %+v", r[1].RoCE)
	}
	carry("a", 0, true, verb(1, wire.RCSendOnly, 0x11, 8))
	if ecn := fakes["b"].received[1][19] & 3; ecn != 3 {
		t.Errorf("a marked packet came with %d", ecn)
	}
	cnp := carry("b", 1, false, verb(2, wire.RCAck, 0x12, 8)) // the CNP left before it
	r, _ := g.Report()
	if r[1].RoCE.CNPSent != 1 || r[0].RoCE.CNPHandled != 1 || r[0].RoCE.CNPIgnored != 0 {
		t.Errorf("%+v %+v", r[0].RoCE, r[1].RoCE)
	}
	if p, ok := cnp.RoCE(); !ok || p.Opcode != wire.RCAck {
		t.Errorf("the ACK is %+v", p)
	}
	for _, b := range fakes["a"].received {
		body := wire.Body{Type: wholeFrame, Bytes: b}
		if p, ok := body.RoCE(); ok && p.Opcode == wire.RoCENotification {
			t.Errorf("a CNP came to the host: %+v", p)
		}
	}
	// A guest's own CNP is taken as one of the network; one to a queue pair that sends nothing is
	// counted.
	carry("b", 1, false, verb(2, wire.RoCENotification, 0x12, 0))
	carry("b", 1, false, verb(2, wire.RoCENotification, 0x99, 0))
	if r, _ := g.Report(); r[0].RoCE.CNPHandled != 2 || r[0].RoCE.CNPIgnored != 1 {
		t.Errorf("CNPs of a guest: %+v", r[0].RoCE)
	}
	// One that overtakes the first ACK waits for it; the other is given up. A guest can be spared
	// the ECN field.
	g.all[1].scene.ClearECN = true
	carry("a", 0, false, verb(1, wire.RCSendOnly, 0x21, 7))
	if all := fakes["b"].received; len(all) != 3 || all[2][19]&3 != 0 {
		t.Errorf("with clear-ecn a packet came with ECT: %x", all)
	}
	carry("b", 1, false, verb(2, wire.RoCENotification, 0x22, 0))
	if r, _ := g.Report(); r[0].RoCE.CNPHandled != 2 || r[0].RoCE.CNPIgnored != 2 {
		t.Errorf("before the ACK that names the queue pair: %+v", r[0].RoCE)
	}
	carry("b", 1, false, verb(2, wire.RCAck, 0x22, 7))
	carry("b", 1, false, verb(2, wire.RoCENotification, 0x22, 0))
	now += 2 * unit.Time(unit.Second)
	carry("b", 1, false, verb(2, wire.RoCENotification, 0x12, 0))
	if a := g.Adapters(nil); a[0].CNPHandled != 5 || a[0].CNPIgnored != 1 || len(a) != 2 {
		t.Errorf("after it: %+v", a)
	}
	for range 2 * mostPairs {
		carry("b", 1, false, verb(2, wire.RoCENotification, 0x98, 0))
	}
	if a, r := g.Adapters(nil), g.all[0].nic.peers[g.all[1].node]; a[0].CNPIgnored != 1+mostPairs || len(r.early) != mostPairs {
		t.Errorf("%d CNPs wait: %+v", len(r.early), a)
	}
	// The adapter's own one is in a frame back, with the tag.
	peer := g.all[1].nic.peers[g.all[0].node]
	p := peer.in.to[pairKey{[16]byte{10: 0xFF, 0xFF, 10, 0, 0, 1}, 0x11}]
	if p == nil {
		t.Fatal("the queue pair is not known")
	}
	p.point.Receive(now+unit.Time(unit.Second), wire.Frame{Kind: wire.Data, FECN: true})
	peer.notify(now+unit.Time(unit.Second), p)
	b, ok := g.Source(&f.Flows[1]).Take(now+unit.Time(unit.Second), 2000)
	if want := verb(2, 0, 0, 0)[:18]; !ok || !bytes.Equal(b.Bytes[:18], want) || binary.BigEndian.Uint32(b.Bytes[46+4:])&0xFFFFFF != 0x12 || b.Bytes[19] != 48<<2 {
		t.Errorf("%v\n%x, want\n%x", ok, b.Bytes, want)
	}
	// CNPs that cannot leave, because the link is stopped, are bounded.
	for i := range 2 * mostPairs {
		at := now + unit.Time(i+2)*unit.Time(unit.Second)
		p.point.Receive(at, wire.Frame{Kind: wire.Data, FECN: true})
		peer.notify(at, p)
	}
	if r, _ := g.Report(); len(peer.cnps.cnp.waiting) != mostPairs || r[1].RoCE.Discards != mostPairs {
		t.Errorf("%d CNPs wait, and %d are discarded; want %d and %d", len(peer.cnps.cnp.waiting), r[1].RoCE.Discards, mostPairs, mostPairs)
	}
}

// What comes damaged changes nothing but its counter: no rate, no queue pair, and it gets no
// answer. The guest has it all the same, but for a CNP.
func TestDamagedPacketsTellNothing(t *testing.T) {
	damages := map[string]func(b []byte){
		"the ICRC":               func(b []byte) { b[len(b)-1] ^= 1 },
		"the PSN":                func(b []byte) { b[18+28+11] ^= 1 },
		"the queue pair":         func(b []byte) { b[18+28+7] ^= 0x80 },
		"the checksum of IPv4":   func(b []byte) { b[18+10] ^= 1 },
		"the source address":     func(b []byte) { b[18+15] ^= 4 },
		"the length of UDP":      func(b []byte) { b[18+25] -= 4 },
		"the checksum of UDP":    func(b []byte) { b[18+26] = 1 },
		"the length, resealed":   func(b []byte) { b[18+25] -= 4; reseal(b) },
		"the checksum, resealed": func(b []byte) { b[18+27] = 9; reseal(b) },
	}
	for name, damage := range damages {
		for _, opcode := range []wire.Opcode{wire.RoCENotification, wire.RCAck, wire.RCSendOnly} {
			f, g, fakes := between(t, rdma)
			now := unit.Time(0)
			carry := func(from string, flow int, marked bool, frame []byte) {
				fakes[from].sent = append(fakes[from].sent, frame)
				look(t, g)
				for lane := g.Source(&f.Flows[flow]); lane.Ready(now) != unit.Never; {
					now = max(now, lane.Ready(now))
					b, _ := lane.Take(now, 2000)
					g.Sink(&f.Flows[flow]).Put(now, wire.Body{Type: b.Type, Bytes: bytes.Clone(b.Bytes), Marked: marked})
				}
			}
			bad := func(from byte, qp, psn uint32) []byte {
				b := verb(from, opcode, qp, psn)
				damage(b)
				return b
			}
			nic := g.all[0].nic.peers[g.all[1].node]
			carry("a", 0, false, verb(1, wire.RCSendOnly, 0x11, 7))
			if opcode == wire.RCAck { // it would name the queue pair for which a CNP waits
				carry("b", 1, false, verb(2, wire.RoCENotification, 0x12, 0))
				carry("b", 1, false, bad(2, 0x12, 7))
			} else {
				carry("b", 1, false, verb(2, wire.RCAck, 0x12, 7))
				carry("b", 1, true, bad(2, 0x12, 8))
			}
			p := nic.out.to[pairKey{[16]byte{10: 0xFF, 0xFF, 10, 0, 0, 2}, 0x11}]
			want := RoCECounts{Damaged: 1, Pairs: 1}
			if a := g.Adapters(nil)[0].RoCECounts; !reflect.DeepEqual(a, want) {
				t.Errorf("%s of %v: %+v, want %+v", name, opcode, a, want)
			}
			if p == nil || p.rate != p.controller.Rate() || p.rate != p.lane.line || p.known == (opcode == wire.RCAck) || len(nic.in.all) > 0 {
				t.Errorf("%s of %v has changed %+v", name, opcode, p)
			}
			came := map[wire.Opcode]int{wire.RoCENotification: 1, wire.RCAck: 1, wire.RCSendOnly: 2}[opcode] // with the ACK before it
			if n := len(fakes["a"].received); n != came {
				t.Errorf("%s of %v: %d packets came to the host, want %d", name, opcode, n, came)
			}
		}
	}
}
