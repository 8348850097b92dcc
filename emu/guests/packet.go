package guests

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"fabemu/emu/scenario"
	"fabemu/wire"
)

// EtherTypes of bodies.
const (
	typeIPv4   = 0x0800
	typeIPv6   = 0x86DD
	wholeFrame = 0x6558 // a frame of Ethernet
)

// The sizes of headers: of Ethernet, IPv4 without options, IPv6.
const (
	etherHeader = 14
	ipv4Header  = 20
	ipv6Header  = 40
)

// destination returns the EtherType of a packet of IP and where it goes; false for what is
// no such packet.
func destination(packet []byte) (kind uint16, to netip.Addr, ok bool) {
	switch {
	case len(packet) >= ipv4Header && packet[0]>>4 == 4:
		return typeIPv4, netip.AddrFrom4([4]byte(packet[16:20])), true
	case len(packet) >= ipv6Header && packet[0]>>4 == 6:
		return typeIPv6, netip.AddrFrom16([16]byte(packet[24:40])), true
	}
	return 0, netip.Addr{}, false
}

// dscpOf returns the DSCP of a packet (RFC 2474); 0 for what has none.
func dscpOf(kind uint16, packet []byte) uint8 {
	switch {
	case kind == typeIPv4 && len(packet) >= ipv4Header:
		return packet[1] >> 2
	case kind == typeIPv6 && len(packet) >= ipv6Header:
		return uint8(binary.BigEndian.Uint16(packet) >> 6 & 0x3F)
	}
	return 0
}

// macAt reads the address of Ethernet with which b begins.
func macAt(b []byte) wire.MAC {
	return wire.MAC(binary.BigEndian.Uint16(b))<<32 | wire.MAC(binary.BigEndian.Uint32(b[2:]))
}

func appendMAC(b []byte, m wire.MAC) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(m>>32)), uint32(m))
}

// whither says where a packet of a guest goes, for people.
func whither(x *guest, packet []byte) string {
	first := gopacket.LayerType(layers.LayerTypeEthernet)
	if x.scene.Kind == scenario.Tun {
		first = layers.LayerTypeIPv4
		if packet[0]>>4 == 6 {
			first = layers.LayerTypeIPv6
		}
	}
	p := gopacket.NewPacket(packet, first, gopacket.Default)
	text := "somewhere"
	if l := p.LinkLayer(); l != nil {
		text = l.LinkFlow().Dst().String()
	}
	if n := p.NetworkLayer(); n != nil {
		text = n.NetworkFlow().Dst().String()
	}
	if t := p.TransportLayer(); t != nil {
		text += fmt.Sprintf(" (%v, port %v)", t.LayerType(), t.TransportFlow().Dst())
	}
	return text
}

// quoted is how much of a packet an ICMP message quotes behind its header: the 8 bytes that
// RFC 792 asks for.
const quoted = 8

// unreachable returns the ICMP message that answers a packet of IPv4 that goes nowhere: host
// unreachable (RFC 792), in the name of where it goes. It returns nil for what must not be answered (RFC 1122, 3.2.2): an ICMP error, a
// fragment other than the first, what goes to many or comes from nobody.
func unreachable(packet []byte) []byte {
	p := gopacket.NewPacket(packet, layers.LayerTypeIPv4, gopacket.NoCopy)
	ip, ok := p.NetworkLayer().(*layers.IPv4)
	if !ok || ip.FragOffset != 0 || ip.DstIP.IsMulticast() || ip.DstIP.Equal(net.IPv4bcast) || !ip.SrcIP.IsGlobalUnicast() {
		return nil
	}
	if icmp, ok := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4); ok {
		switch icmp.TypeCode.Type() {
		case layers.ICMPv4TypeEchoRequest, layers.ICMPv4TypeTimestampRequest:
		default:
			return nil
		}
	}
	quote := packet[:min(len(packet), int(ip.IHL)*4+quoted)]
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: ip.DstIP, DstIP: ip.SrcIP},
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeHost)},
		gopacket.Payload(quote))
	if err != nil {
		return nil
	}
	return b.Bytes()
}
