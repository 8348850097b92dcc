package offload

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// shape is a kind of packet: of IPv4 or IPv6, with a header of Ethernet and a tag or without.
type shape struct {
	v6, ethernet, tag bool
}

var shapes = []shape{{}, {v6: true}, {ethernet: true}, {ethernet: true, v6: true}, {ethernet: true, tag: true}}

// packet returns a packet of TCP with right checksums.
func (s shape) packet(t testing.TB, change func(*layers.IPv4, *layers.TCP), payload []byte) []byte {
	t.Helper()
	ip4 := &layers.IPv4{Version: 4, TTL: 64, Id: 100, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolTCP, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}}
	ip6 := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: bytes.Repeat([]byte{1}, 16), DstIP: bytes.Repeat([]byte{2}, 16)}
	tcp := &layers.TCP{SrcPort: 1234, DstPort: 5201, Seq: 1 << 31, Ack: 7, ACK: true, Window: 500,
		Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindTimestamps, OptionData: []byte{0, 0, 0, 1, 0, 0, 0, 2}}}}
	if change != nil {
		change(ip4, tcp)
	}
	var all []gopacket.SerializableLayer
	kind := layers.EthernetTypeIPv4
	if s.v6 {
		kind = layers.EthernetTypeIPv6
	}
	if s.ethernet {
		e := &layers.Ethernet{SrcMAC: []byte{0x42, 0, 0, 0, 0, 1}, DstMAC: []byte{0x62, 0, 0, 0, 0, 2}, EthernetType: kind}
		all = append(all, e)
		if s.tag {
			e.EthernetType = layers.EthernetTypeDot1Q
			all = append(all, &layers.Dot1Q{VLANIdentifier: 7, Type: kind})
		}
	}
	if s.v6 {
		_ = tcp.SetNetworkLayerForChecksum(ip6)
		all = append(all, ip6)
	} else {
		_ = tcp.SetNetworkLayerForChecksum(ip4)
		all = append(all, ip4)
	}
	all = append(all, tcp, gopacket.Payload(payload))
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(b.Bytes())
}

// large returns a large segment as a kernel hands it over: without the length and the checksums of
// its pieces.
func (s shape) large(t testing.TB, change func(*layers.IPv4, *layers.TCP), payload []byte, size int) []byte {
	p := s.packet(t, change, payload)
	c := Cutter{Ethernet: s.ethernet}
	l := offsetsAt(p, c.Ethernet, s.v6)
	header.TCP(p[l.tcp:]).SetChecksum(l.pseudo(p))
	v := make([]byte, HeaderSize, HeaderSize+len(p))
	v[atFlags], v[atKind] = needsChecksum, segmentTCPv4
	if s.v6 {
		v[atKind] = segmentTCPv6
	}
	order.PutUint16(v[atSize:], uint16(size))
	order.PutUint16(v[atBegin:], uint16(l.tcp))
	order.PutUint16(v[atPlace:], tcpChecksum)
	return append(v, p...)
}

// offsetsAt returns the offsets of a packet of TCP.
func offsetsAt(p []byte, ethernet, v6 bool) offsets {
	l := offsets{ip: ipOf(p, ethernet), v6: v6}
	l.tcp = l.ip + header.IPv4MinimumSize
	if v6 {
		l.tcp = l.ip + header.IPv6MinimumSize
	}
	l.data = l.tcp + int(header.TCP(p[l.tcp:]).DataOffset())
	return l
}

// cutAll returns all packets of a segment.
func cutAll(t testing.TB, ethernet bool, b []byte) (all [][]byte) {
	t.Helper()
	c := Cutter{Ethernet: ethernet}
	if err := c.Cut(slices.Clone(b)); err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 2000); ; {
		n := c.Next(buf)
		if n == 0 {
			return all
		}
		all = append(all, slices.Clone(buf[:n]))
	}
}

func random(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// The packets of a large segment are those that a kernel without segmentation would send: byte for
// byte.
func TestCut(t *testing.T) {
	const size = 1448
	for _, s := range shapes {
		payload := random(3*size + 100)
		set := func(id uint16, seq uint32, push, fin, cwr bool) func(*layers.IPv4, *layers.TCP) {
			return func(ip *layers.IPv4, tcp *layers.TCP) {
				ip.Id += id
				tcp.Seq += seq
				tcp.PSH, tcp.FIN, tcp.CWR, tcp.ECE = push, fin, cwr, true
			}
		}
		got := cutAll(t, s.ethernet, s.large(t, set(0, 0, true, true, true), payload, size))
		want := [][]byte{
			s.packet(t, set(0, 0, false, false, true), payload[:size]),
			s.packet(t, set(1, size, false, false, false), payload[size:2*size]),
			s.packet(t, set(2, 2*size, false, false, false), payload[2*size:3*size]),
			s.packet(t, set(3, 3*size, true, true, false), payload[3*size:]),
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%+v:\n%x\nwant\n%x", s, got, want)
		}
	}
}

// A packet whose checksum the kernel has left out gets it; any other stays as it is.
func TestChecksumIsCompleted(t *testing.T) {
	for _, s := range shapes {
		want := s.packet(t, nil, random(77))
		if got := cutAll(t, s.ethernet, append(make([]byte, HeaderSize), want...)); !slices.EqualFunc(got, [][]byte{want}, bytes.Equal) {
			t.Errorf("%+v: a whole packet became %x", s, got)
		}
		b := s.large(t, nil, random(77), 0)
		b[atKind] = segmentNone
		if got := cutAll(t, s.ethernet, b); !slices.EqualFunc(got, [][]byte{want}, bytes.Equal) {
			t.Errorf("%+v: %x, want %x", s, got, want)
		}
	}
}

// A sum of zero is FFFF in UDP, where zero would be none.
func TestChecksumOfUDPIsNotZero(t *testing.T) {
	b := make([]byte, HeaderSize+8, HeaderSize+10)
	b[atFlags] = needsChecksum
	order.PutUint16(b[atPlace:], udpChecksum)
	b = append(b, 0xFF, 0xFF) // the sum of all is FFFF, its complement 0
	if got := cutAll(t, false, b); got[0][udpChecksum] != 0xFF || got[0][udpChecksum+1] != 0xFF {
		t.Errorf("%x", got[0])
	}
}

func TestCutRefusesHeadersThatCannotBe(t *testing.T) {
	good := shapes[0].large(t, nil, random(3000), 1448)
	for name, change := range map[string]func(b []byte) []byte{
		"no room":       func(b []byte) []byte { return b[:HeaderSize] },
		"checksum":      func(b []byte) []byte { b[atKind] = 0; order.PutUint16(b[atBegin:], 60000); return b },
		"kind":          func(b []byte) []byte { b[atKind] = 5; return b },
		"0 bytes":       func(b []byte) []byte { order.PutUint16(b[atSize:], 0); return b },
		"header of TCP": func(b []byte) []byte { order.PutUint16(b[atBegin:], 19); return b },
		"its payload":   func(b []byte) []byte { b[HeaderSize+32] = 0x10; return b },
	} {
		var c Cutter
		if err := c.Cut(change(slices.Clone(good))); err == nil {
			t.Errorf("%s: no error", name)
		}
		if n := c.Next(make([]byte, 2000)); n != 0 {
			t.Errorf("%s: a packet of %d bytes", name, n)
		}
	}
}

// joined is the output of a Joiner.
type joined struct {
	t       testing.TB
	j       Joiner
	written [][]byte
	packets []int
}

func newJoined(t testing.TB, ethernet bool) *joined {
	g := &joined{t: t}
	g.j = Joiner{Ethernet: ethernet, Hold: 10, last: -1000, Write: func(b []byte, packets int) {
		g.written, g.packets = append(g.written, slices.Clone(b)), append(g.packets, packets)
	}}
	return g
}

// Packets that were cut from a large segment are joined to it again, and another Cutter makes the
// same packets of them.
func TestJoinIsTheReverseOfCut(t *testing.T) {
	const size = 1448
	for _, s := range shapes {
		packets := cutAll(t, s.ethernet, s.large(t, nil, random(5*size+10), size))
		g := newJoined(t, s.ethernet)
		g.j.last = 0
		for i, p := range packets {
			g.j.Add(p, int64(i))
		}
		if !slices.Equal(g.packets, []int{6}) {
			t.Fatalf("%+v: packets written together: %v", s, g.packets)
		}
		b := g.written[0]
		sum := header.TCP(b[HeaderSize+int(order.Uint16(b[atBegin:])):]).Checksum()
		if l := offsetsAt(b[HeaderSize:], s.ethernet, s.v6); sum != l.pseudo(b[HeaderSize:]) {
			t.Errorf("%+v: checksum %04x", s, sum)
		}
		if got := cutAll(t, s.ethernet, b); !slices.EqualFunc(got, packets, bytes.Equal) {
			t.Errorf("%+v: other packets than those that were joined", s)
		}
	}
}

// A packet waits only where another came shortly before, and no longer than Hold.
func TestJoinWaitsForNoPacketThatComesAlone(t *testing.T) {
	s := shapes[0]
	at := func(seq uint32) []byte {
		return s.packet(t, func(_ *layers.IPv4, tcp *layers.TCP) { tcp.Seq = seq }, random(100))
	}
	g := newJoined(t, false)
	g.j.Add(at(0), 0) // alone
	g.j.Add(at(100), 20)
	if !slices.Equal(g.packets, []int{1, 1}) {
		t.Fatalf("packets that come alone: %v", g.packets)
	}
	g.j.Add(at(200), 25)
	g.j.Add(at(300), 28)
	if since, any := g.j.Oldest(); !any || since != 25 || len(g.packets) != 2 {
		t.Errorf("kept since %d, %t; written %v", since, any, g.packets)
	}
	g.j.Flush(24)
	if len(g.packets) != 2 {
		t.Errorf("written too early: %v", g.packets)
	}
	if g.j.Flush(25); !slices.Equal(g.packets, []int{1, 1, 2}) {
		t.Errorf("after a flush: %v", g.packets)
	}
	if _, any := g.j.Oldest(); any {
		t.Error("something is kept")
	}
}

// What is no more of the same is not joined, and no packet of a connection overtakes another.
func TestJoinKeepsTheOrderOfAConnection(t *testing.T) {
	type change = func(*layers.IPv4, *layers.TCP)
	for name, c := range map[string]struct {
		change  change
		size    int
		packets []int // that are written together, after a flush
	}{
		"same":            {nil, 100, []int{2}},
		"shorter":         {nil, 50, []int{2}},
		"longer":          {nil, 101, []int{1, 1}},
		"pushed":          {func(_ *layers.IPv4, p *layers.TCP) { p.PSH = true }, 100, []int{2}},
		"a gap":           {func(_ *layers.IPv4, p *layers.TCP) { p.Seq++ }, 100, []int{1, 1}},
		"sent again":      {func(_ *layers.IPv4, p *layers.TCP) { p.Seq -= 100 }, 100, []int{1, 1}},
		"window":          {func(_ *layers.IPv4, p *layers.TCP) { p.Window++ }, 100, []int{1, 1}},
		"acknowledgement": {func(_ *layers.IPv4, p *layers.TCP) { p.Ack++ }, 100, []int{1, 1}},
		"time stamp":      {func(_ *layers.IPv4, p *layers.TCP) { p.Options[0].OptionData = []byte{0, 0, 0, 2, 0, 0, 0, 2} }, 100, []int{1, 1}},
		"fin":             {func(_ *layers.IPv4, p *layers.TCP) { p.FIN = true }, 100, []int{1, 1}},
		"no data":         {nil, 0, []int{1, 1}},
		"congestion":      {func(ip *layers.IPv4, _ *layers.TCP) { ip.TOS = 3 }, 100, []int{1, 1}},
		"hops":            {func(ip *layers.IPv4, _ *layers.TCP) { ip.TTL-- }, 100, []int{1, 1}},
		"fragments":       {func(ip *layers.IPv4, _ *layers.TCP) { ip.Flags = 0 }, 100, []int{1, 1}},
	} {
		g := newJoined(t, false)
		g.j.last = 0
		s := shapes[0]
		first := s.packet(t, nil, random(100))
		second := s.packet(t, func(ip *layers.IPv4, tcp *layers.TCP) {
			ip.Id++
			tcp.Seq += 100
			if c.change != nil {
				c.change(ip, tcp)
			}
		}, random(c.size))
		g.j.Add(first, 1)
		g.j.Add(second, 2)
		g.j.Flush(100)
		if !slices.Equal(g.packets, c.packets) {
			t.Errorf("%s: packets that were written together: %v, want %v", name, g.packets, c.packets)
			continue
		}
		var got [][]byte
		for _, b := range g.written {
			got = append(got, cutAll(t, false, b)...)
		}
		if !slices.EqualFunc(got, [][]byte{first, second}, bytes.Equal) {
			t.Errorf("%s: other packets", name)
		}
	}
}

// A packet with a wrong checksum is not joined: the kernel would take the large segment for right.
func TestJoinLeavesWrongChecksums(t *testing.T) {
	for _, at := range []int{10, 36, 60} { // of IP, of TCP, a byte of the payload
		g := newJoined(t, false)
		g.j.last = 0
		p := shapes[0].packet(t, nil, random(100))
		p[at] ^= 1
		g.j.Add(p, 1)
		if !slices.Equal(g.packets, []int{1}) || !bytes.Equal(g.written[0][HeaderSize:], p) {
			t.Errorf("byte %d: %v", at, g.packets)
		}
	}
}

// More connections than there is room for: the oldest goes first.
func TestJoinOfManyConnections(t *testing.T) {
	g := newJoined(t, false)
	g.j.last = 0
	for i := range 3 * mostSegments {
		g.j.Add(shapes[0].packet(t, func(_ *layers.IPv4, tcp *layers.TCP) { tcp.SrcPort = layers.TCPPort(i + 1) }, random(100)), 1)
	}
	g.j.Flush(1)
	var ports []int
	for _, b := range g.written {
		ports = append(ports, int(header.TCP(b[HeaderSize+20:]).SourcePort()))
	}
	if len(ports) != 3*mostSegments {
		t.Errorf("%d written", len(ports))
	}
	slices.Sort(ports)
	if ports = slices.Compact(ports); len(ports) != 3*mostSegments {
		t.Errorf("ports %v", ports)
	}
}

// FuzzCut: no bytes from a device make it panic, and the result is as long as what went in, headers
// aside.
func FuzzCut(f *testing.F) {
	for _, s := range shapes {
		f.Add(s.large(f, nil, random(3000), 1448), s.ethernet)
	}
	f.Fuzz(func(t *testing.T, b []byte, ethernet bool) {
		if len(b) > MaxSize {
			return
		}
		c := Cutter{Ethernet: ethernet}
		if c.Cut(b) != nil {
			return
		}
		buf := make([]byte, MaxSize)
		for packets := 0; c.Next(buf) > 0; packets++ {
			if packets > len(b) {
				t.Fatalf("more than %d packets", packets)
			}
		}
	})
}

// FuzzJoin: any two packets stay as they were, whether they are joined or not.
func FuzzJoin(f *testing.F) {
	for _, s := range shapes {
		all := cutAll(f, s.ethernet, s.large(f, nil, random(2*1448), 1448))
		f.Add(all[0], all[1], s.ethernet)
	}
	f.Fuzz(func(t *testing.T, a, b []byte, ethernet bool) {
		if len(a) == 0 || len(b) == 0 || len(a) > 2000 || len(b) > 2000 {
			return
		}
		g := newJoined(t, ethernet)
		g.j.last = 0
		g.j.Add(a, 1)
		g.j.Add(b, 2)
		g.j.Flush(2)
		total := 0
		for i, n := range g.packets {
			if total += n; n == 1 {
				p := g.written[i][HeaderSize:]
				if !bytes.Equal(p, a) && !bytes.Equal(p, b) {
					t.Errorf("%x is neither", p)
				}
				continue
			}
			got := cutAll(t, ethernet, g.written[i])
			if len(got) != 2 || checksum.Checksum(got[0], 0) != checksum.Checksum(a, 0) {
				t.Errorf("%x and %x became %x", a, b, got)
			}
		}
		if total != 2 {
			t.Errorf("%d packets", total)
		}
	})
}

// TestSums: sums are those of gVisor's checksums, for all lengths and at the ends of the range.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		b := make([]byte, n)
		for _, fill := range []func() byte{func() byte { return 0xFF }, func() byte { return 0 }, func() byte { return byte(r.Uint32()) }} {
			for i := range b {
				b[i] = fill()
			}
			for _, before := range []uint16{0, 1, 0xFFFF, uint16(r.Uint32())} {
				if got, want := sumOf(b, before), checksum.Checksum(b, before); got != want {
					t.Errorf("%d bytes after %#x: %#x, want %#x", n, before, got, want)
				}
			}
		}
	}
}
