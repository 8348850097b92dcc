package guest

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/layers"

	"fabemu/wire"
)

// tagged puts tags of 802.1Q into a frame.
func tagged(frame []byte, types ...uint16) []byte {
	b := append([]byte{}, frame[:12]...)
	for i, t := range types {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, t), uint16(i+7))
	}
	return append(b, frame[12:]...)
}

// The DSCP of a packet behind tags of a guest's own VLANs chooses its flow, as it does without
// tags.
func TestTagsOfGuests(t *testing.T) {
	g, fakes, flows := open(t, "tap")
	a, b := g.all[0].mac, g.all[1].mac
	frame := packet(t, [4]byte{10, 0, 0, 2}, 46, 200, layers.Ethernet{SrcMAC: appendMAC(nil, a), DstMAC: appendMAC(nil, b)})
	fakes["a"].sent = [][]byte{tagged(frame, 0x8100), tagged(frame, 0x88A8, 0x8100)}
	var got []int
	for range 3 {
		look(t, g)
		got = append(got, take(g, flows["fast"])...)
	}
	if d := cmp.Diff([]int{204, 208}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A frame to an address that is not the fabric's goes to all guests, until it has been seen behind
// one.
func TestAddressesAreLearned(t *testing.T) {
	g, fakes, flows := open(t, "tap")
	g.bridged = true
	own, other := []byte{2, 9, 9, 9, 9, 1}, []byte{2, 9, 9, 9, 9, 2}
	there := packet(t, [4]byte{10, 9, 0, 2}, 0, 100, layers.Ethernet{SrcMAC: own, DstMAC: other})
	back := packet(t, [4]byte{10, 9, 0, 1}, 0, 100, layers.Ethernet{SrcMAC: other, DstMAC: own})
	count := func() (all [3]int) {
		look(t, g)
		for i, name := range []string{"ab", "ac", "ba"} {
			all[i] = len(take(g, flows[name]))
		}
		return all
	}
	kept := packet(t, [4]byte{10, 9, 0, 2}, 0, 100, layers.Ethernet{SrcMAC: appendMAC(nil, g.all[0].mac), DstMAC: other})
	for i, x := range []struct {
		from  string
		frame []byte
		want  [3]int
	}{
		{"a", there, [3]int{1, 1, 0}}, {"b", back, [3]int{0, 0, 1}}, {"a", there, [3]int{1, 0, 0}},
	} {
		fakes[x.from].sent = [][]byte{x.frame}
		if got := count(); got != x.want {
			t.Errorf("frame %d: %v, want %v", i, got, x.want)
		}
	}
	// A frame to a learned address keeps its addresses, from an address of the fabric, too.
	fakes["a"].sent = [][]byte{kept}
	look(t, g)
	if b, ok := g.Source(flows["ab"]).Take(0, 2000); !ok || b.Type != wholeFrame || !cmp.Equal(b.Bytes, kept) {
		t.Errorf("to a learned address: type %04x, %d bytes", b.Type, len(b.Bytes))
	}
}

// A frame to a hardware address of the scenario goes to its guest alone, from the first one on, and
// keeps its addresses.
func TestAddressesOfTheScenario(t *testing.T) {
	g, fakes, flows := open(t, "tap", "endpoints.b.guest.mac=aa:c1:ab:00:00:02", "endpoints.a.guest.mac=aa:c1:ab:00:00:01")
	frame := packet(t, [4]byte{10, 0, 0, 2}, 0, 100, layers.Ethernet{SrcMAC: []byte{0xaa, 0xc1, 0xab, 0, 0, 1}, DstMAC: []byte{0xaa, 0xc1, 0xab, 0, 0, 2}})
	fakes["a"].sent = [][]byte{frame}
	look(t, g)
	if got := take(g, flows["ac"]); len(got) > 0 {
		t.Errorf("another guest has %d packets of it", len(got))
	}
	if b, ok := g.Source(flows["ab"]).Take(0, 2000); !ok || b.Type != wholeFrame || !cmp.Equal(b.Bytes, frame) {
		t.Errorf("type %04x, %d bytes", b.Type, len(b.Bytes))
	}
}

// A hardware address that the scenario gives, and one in a frame that strict-source drops, is not
// learned: frames to it go where they went before.
func TestAddressesThatAreNotLearned(t *testing.T) {
	b := []byte{0xaa, 0xc1, 0xab, 0, 0, 2}
	other := []byte{0xaa, 0xc1, 0xab, 0, 0, 9}
	for name, from := range map[string][]byte{"given": b, "spoofed": other} {
		g, fakes, flows := open(t, "tap", "endpoints.b.guest.mac=aa:c1:ab:00:00:02")
		g.all[1].scene.Strict = name == "spoofed"
		own := g.all[1].name
		if name == "given" {
			own = "c"
		}
		frame := func(source, to []byte) []byte {
			return packet(t, [4]byte{10, 0, 0, 2}, 0, 100, layers.Ethernet{SrcMAC: source, DstMAC: to})
		}
		fakes[own].sent = [][]byte{frame(from, []byte{255, 255, 255, 255, 255, 255})}
		look(t, g)
		fakes["a"].sent = [][]byte{frame(appendMAC(nil, g.all[0].mac), from)}
		look(t, g)
		toB, toC := len(take(g, flows["ab"])), len(take(g, flows["ac"]))
		if want := map[string]int{"given": 0, "spoofed": 1}[name]; toB != 1 || toC != want {
			t.Errorf("%s: %d frames to b and %d to c, want 1 and %d", name, toB, toC, want)
		}
	}
}

// A header of IP with a wrong checksum or length chooses no flow: a guest of kind tun sends nothing
// by it, and a frame of one of kind tap goes as one without a DSCP.
func TestDamagedHeaders(t *testing.T) {
	for name, damage := range map[string]func(ip []byte){
		"checksum": func(ip []byte) { ip[10] ^= 1 }, "address": func(ip []byte) { ip[19] ^= 1 }, "DSCP": func(ip []byte) { ip[1] ^= 46 << 2 },
		"too long": func(ip []byte) { ip[3]++; intact(ip, 0) },
	} {
		g, fakes, flows := open(t, "tun")
		p := packet(t, [4]byte{10, 0, 0, 2}, 0, 100)
		damage(p)
		fakes["a"].sent = [][]byte{p}
		look(t, g)
		if r, warnings := g.Report(); r[0].Damaged != 1 || r[0].NotIP != 0 || len(fakes["a"].received) != 0 || len(warnings) == 0 {
			t.Errorf("%s: %+v, answered by %x, warnings %q", name, r[0].Counts, fakes["a"].received, warnings)
		}
		for _, flow := range []string{"ab", "ac", "fast"} {
			if got := take(g, flows[flow]); len(got) > 0 {
				t.Errorf("%s: it leaves by %s", name, flow)
			}
		}
		g, fakes, flows = open(t, "tap")
		p = packet(t, [4]byte{10, 0, 0, 2}, 46, 100, layers.Ethernet{SrcMAC: appendMAC(nil, g.all[0].mac), DstMAC: appendMAC(nil, g.all[1].mac)})
		damage(p[14:])
		fakes["a"].sent = [][]byte{p}
		look(t, g)
		if fast, slow := len(take(g, flows["fast"])), len(take(g, flows["ab"])); fast != 0 || slow != 1 || g.all[0].count.Damaged != 1 {
			t.Errorf("%s: %d by DSCP and %d without, %+v", name, fast, slow, g.all[0].count)
		}
	}
}

// intact gives a packet of IPv4 at an offset the right checksum.
func intact(b []byte, at int) []byte {
	ip := b[at : at+20]
	ip[10], ip[11] = 0, 0
	sum := checksum(ip)
	ip[10], ip[11] = byte(sum>>8), byte(sum)
	return b
}

// With strict-source, packets from the address of another are dropped and counted, and are one
// event.
func TestSpoofedPackets(t *testing.T) {
	for kind, frame := range map[string]func(source byte, own bool) []byte{
		"tun": func(source byte, _ bool) []byte {
			p := packet(t, [4]byte{10, 0, 0, 2}, 0, 100)
			p[15] = source
			return intact(p, 0)
		},
		"tap": func(source byte, own bool) []byte {
			mac := []byte{2, 9, 9, 9, 9, 1}
			if own {
				mac = appendMAC(nil, wire.LID(2).MAC())
			}
			p := packet(t, [4]byte{10, 0, 0, 2}, 0, 100, layers.Ethernet{SrcMAC: mac, DstMAC: appendMAC(nil, wire.LID(3).MAC())})
			p[29] = source
			return intact(p, 14)
		},
	} {
		g, fakes, flows := open(t, kind)
		x := g.all[0]
		x.scene.Strict = true
		if own := frame(1, true); kind == "tap" && macAt(own[6:]) != x.mac {
			t.Fatalf("the address of a is %v", x.mac)
		}
		fakes["a"].sent = [][]byte{frame(9, true), frame(8, true), frame(1, true)}
		want := int64(2)
		if kind == "tap" {
			fakes["a"].sent = append(fakes["a"].sent, frame(1, false))
			want = 3
		}
		got := 0
		for range 4 {
			look(t, g)
			got += len(take(g, flows["ab"]))
		}
		if got != 1 || x.count.Spoofed != want || len(g.Events()) != 1 || g.Events()[0].Name != "spoofed" {
			t.Errorf("%s: %d packets pass, %d spoofed, events %v", kind, got, x.count.Spoofed, g.Events())
		}
	}
}

// A packet whose frame was marked has CE if it was ECT, with the right checksum, and is as it was
// if not.
func TestMarkedPackets(t *testing.T) {
	g, fakes, flows := open(t, "tun")
	for ecn, want := range []byte{0, 3, 3, 3} {
		p := packet(t, [4]byte{10, 0, 0, 1}, 46, 100)
		p[1] |= byte(ecn)
		setSum(p)
		g.Sink(flows["ba"]).Put(0, wire.Body{Type: typeIPv4, Bytes: p, Marked: true})
		got := fakes["a"].received[len(fakes["a"].received)-1]
		if sum := binary.BigEndian.Uint16(got[10:]); got[1]&3 != want || got[1]>>2 != 46 || sum != setSum(got) {
			t.Errorf("ECN %d: %d, DSCP %d, checksum %04x", ecn, got[1]&3, got[1]>>2, sum)
		}
	}
}

// setSum writes the checksum of the header of IPv4, and returns it.
func setSum(p []byte) uint16 {
	p[10], p[11] = 0, 0
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(p[i:]))
	}
	sum = sum&0xFFFF + sum>>16
	binary.BigEndian.PutUint16(p[10:], ^uint16(sum))
	return ^uint16(sum)
}

// To read the headers of a packet takes no memory, also where they have tags and options.
func TestReadingHeadersTakesNoMemory(t *testing.T) {
	plain := packet(t, [4]byte{10, 0, 0, 2}, 46, 200)
	frame := tagged(packet(t, [4]byte{10, 0, 0, 2}, 46, 200, layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6)}), 0x88A8, 0x8100)
	var h headers
	for _, c := range []struct {
		packet   []byte
		ethernet bool
	}{{plain, false}, {frame, true}} {
		if n := testing.AllocsPerRun(100, func() {
			if !h.read(c.packet, c.ethernet) || h.code != 46 || h.to != netip.AddrFrom4([4]byte{10, 0, 0, 2}) {
				t.Fatalf("%+v", h)
			}
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
