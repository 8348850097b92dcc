package dump

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fabemu/wire"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

func TestBodyWords(t *testing.T) {
	const v6 = "6000000000041140" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002"
	for _, c := range []struct {
		kind uint16
		hex  string
		want string
	}{
		{0x0800, "4500001d00010000401166cd0a0000010a0000021388177000090000", " body=28 ipv4 10.0.0.1->10.0.0.2 udp 5000->6000"},
		{0x0800, "4600001c00010000400666cd0a0000010a0000020101010100501f90", " body=28 ipv4 10.0.0.1->10.0.0.2 tcp 80->8080"},
		{0x0800, "4500001400012001400666cd0a0000010a00000200501f90", " body=24 ipv4 10.0.0.1->10.0.0.2 fragment"},
		{0x0800, "4500001400010000400166cd0a0000010a000002", " body=20 ipv4 10.0.0.1->10.0.0.2 icmp"},
		{0x0800, "4500001c00010000400166cd0a0000010a0000020800abcd00070009", " body=28 ipv4 10.0.0.1->10.0.0.2 icmp echo-request id=7 seq=9"},
		{0x0800, "4500001c00010000400166cd0a0000010a0000020301abcd00000000", " body=28 ipv4 10.0.0.1->10.0.0.2 icmp type-3 code-1"},
		{0x0800, "4500002800010000400666cd0a0000010a000002" + "14512710000003e8000007d0501200ff00000000", " body=40 ipv4 10.0.0.1->10.0.0.2 tcp 5201->10000 flags=SA seq=1000 ack=2000 win=255 len=0"},
		{0x0800, "4500001400010000401166cd0a0000010a00000213", " body=21 ipv4 10.0.0.1->10.0.0.2 udp"},
		{0x0800, "4500001400010000402f66cd0a0000010a000002", " body=20 ipv4 10.0.0.1->10.0.0.2 protocol-47"},
		{0x0800, "4f00001400010000401166cd0a0000010a000002", " body=20 ethertype-0800"},
		{0x0800, "45", " body=1 ethertype-0800"},
		{0x86DD, v6 + "00350036", " body=44 ipv6 2001:db8::1->2001:db8::2 udp 53->54"},
		{0x86DD, v6[:78], " body=39 ethertype-86dd"},
		{0x6558, "0102", " body=2 ethertype-6558"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := bodyWords(wire.Body{Type: c.kind, Bytes: b}); got != c.want {
			t.Errorf("%s: %q, want %q", c.hex, got, c.want)
		}
	}
}

// What is printed of a packet is what gopacket's layers read in it, of packets of all kinds, and
// of those that are cut off or spoilt as far as the layers read them.
func TestBodyWordsAreThoseOfGopacket(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 4000 {
		kind, packet := anyPacket(t, random)
		switch random.IntN(3) {
		case 0:
			packet = packet[:random.IntN(len(packet)+1)]
		case 1:
			packet[random.IntN(len(packet))] ^= 1 << random.IntN(8)
		}
		got := bodyWords(wire.Body{Type: kind, Bytes: packet})
		for _, want := range layerWords(kind, packet) {
			if !strings.Contains(got+" ", want) {
				t.Fatalf("%x: %q, and gopacket reads %q", packet, got, want)
			}
			word, _, _ := strings.Cut(strings.ReplaceAll(want, "=", " "), " ")
			seen[word]++
		}
	}
	for _, word := range []string{"ipv4", "ipv6", "tcp", "seq", "udp", "id"} {
		if seen[word] < 300 {
			t.Errorf("%s was read %d times of 4000", word, seen[word])
		}
	}
}

// anyPacket returns a packet of IP and its EtherType.
func anyPacket(t *testing.T, random *rand.Rand) (kind uint16, packet []byte) {
	t.Helper()
	bytes := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	kind = 0x0800
	v4 := &layers.IPv4{Version: 4, TTL: 64, SrcIP: bytes(4), DstIP: bytes(4)}
	v6 := &layers.IPv6{Version: 6, HopLimit: 64, SrcIP: bytes(16), DstIP: bytes(16)}
	var ip gopacket.NetworkLayer = v4
	all := []gopacket.SerializableLayer{v4}
	if random.IntN(3) == 0 {
		kind, ip, all = 0x86DD, v6, []gopacket.SerializableLayer{v6}
	}
	port := func() uint16 { return uint16(random.Uint32()) }
	switch random.IntN(3) {
	case 0:
		v4.Protocol, v6.NextHeader = layers.IPProtocolTCP, layers.IPProtocolTCP
		tcp := &layers.TCP{SrcPort: layers.TCPPort(port()), DstPort: layers.TCPPort(port()), Seq: random.Uint32(), Ack: random.Uint32(), Window: port(), SYN: random.IntN(2) == 0, ACK: random.IntN(2) == 0, PSH: random.IntN(2) == 0, ECE: random.IntN(2) == 0}
		if random.IntN(2) == 0 {
			tcp.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: bytes(2)}}
		}
		_ = tcp.SetNetworkLayerForChecksum(ip)
		all = append(all, tcp)
	case 1:
		v4.Protocol, v6.NextHeader = layers.IPProtocolUDP, layers.IPProtocolUDP
		udp := &layers.UDP{SrcPort: layers.UDPPort(port()), DstPort: layers.UDPPort(port())}
		_ = udp.SetNetworkLayerForChecksum(ip)
		all = append(all, udp)
	default:
		v4.Protocol, v6.NextHeader = layers.IPProtocolICMPv4, layers.IPProtocolICMPv4
		all = append(all, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8*uint8(random.IntN(2)), 0), Id: port(), Seq: port()})
	}
	all = append(all, gopacket.Payload(bytes(random.IntN(40))))
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return kind, b.Bytes()
}

// layerWords is what gopacket's layers read in a packet, as the dump says it.
func layerWords(kind uint16, packet []byte) (words []string) {
	if len(packet) > 0 && packet[0]>>4 != map[uint16]byte{0x0800: 4, 0x86DD: 6}[kind] {
		return nil // gopacket does not look at the version
	}
	p := gopacket.NewPacket(packet, layers.EthernetType(kind), gopacket.NoCopy)
	all := p.Layers()
	if p.ErrorLayer() != nil && len(all) > 1 {
		all = all[:len(all)-2] // the error, and what it has not read to its end
	}
	for _, layer := range all {
		switch l := layer.(type) {
		case *layers.IPv4:
			words = append(words, fmt.Sprintf("ipv4 %v->%v ", l.SrcIP, l.DstIP))
		case *layers.IPv6:
			words = append(words, fmt.Sprintf("ipv6 %v->%v ", l.SrcIP, l.DstIP))
		case *layers.TCP:
			words = append(words, fmt.Sprintf("tcp %d->%d flags=", l.SrcPort, l.DstPort), fmt.Sprintf("seq=%d ack=%d win=%d len=%d ", l.Seq, l.Ack, l.Window, len(l.Payload)))
		case *layers.UDP:
			words = append(words, fmt.Sprintf("udp %d->%d ", l.SrcPort, l.DstPort))
		case *layers.ICMPv4:
			if t := l.TypeCode.Type(); t == layers.ICMPv4TypeEchoRequest || t == layers.ICMPv4TypeEchoReply {
				words = append(words, fmt.Sprintf("id=%d seq=%d ", l.Id, l.Seq))
			} else {
				words = append(words, fmt.Sprintf("type-%d code-%d ", t, l.TypeCode.Code()))
			}
		}
	}
	return words
}
