package guest

import (
	"encoding/binary"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"fabemu/emu/scenario"
	"fabemu/wire"
)

// EtherTypes of bodies.
const (
	typeIPv4   = uint16(header.IPv4ProtocolNumber)
	typeIPv6   = uint16(header.IPv6ProtocolNumber)
	wholeFrame = 0x6558 // a frame of Ethernet
)

// destination returns the EtherType of a packet of IP and its destination; false for other bytes.
func destination(packet []byte) (kind uint16, to netip.Addr, ok bool) {
	switch {
	case len(packet) >= header.IPv4MinimumSize && packet[0]>>4 == 4:
		return typeIPv4, netip.AddrFrom4([4]byte(packet[16:20])), true
	case len(packet) >= header.IPv6MinimumSize && packet[0]>>4 == 6:
		return typeIPv6, netip.AddrFrom16([16]byte(packet[24:40])), true
	}
	return 0, netip.Addr{}, false
}

// dscpOf returns the DSCP of a packet (RFC 2474); 0 if it has none.
func dscpOf(kind uint16, packet []byte) uint8 {
	switch {
	case kind == typeIPv4 && len(packet) >= header.IPv4MinimumSize:
		return packet[1] >> 2
	case kind == typeIPv6 && len(packet) >= header.IPv6MinimumSize:
		return uint8(binary.BigEndian.Uint16(packet) >> 6 & 0x3F)
	}
	return 0
}

// Types of a tag in front of a packet (IEEE 802.1Q).
const (
	typeCustomerTag = 0x8100
	typeServiceTag  = 0x88A8
	tagSize         = 4
)

// inside returns the packet behind the header of a frame of Ethernet and its tags, and its type.
func inside(frame []byte) (kind uint16, packet []byte) {
	kind, packet = binary.BigEndian.Uint16(frame[12:]), frame[header.EthernetMinimumSize:]
	for (kind == typeCustomerTag || kind == typeServiceTag) && len(packet) >= tagSize {
		kind, packet = binary.BigEndian.Uint16(packet[2:]), packet[tagSize:]
	}
	return kind, packet
}

// sourceOf returns the source of a packet of a type; false: it has none.
func sourceOf(kind uint16, packet []byte) (netip.Addr, bool) {
	switch {
	case kind == typeIPv4 && len(packet) >= header.IPv4MinimumSize:
		return netip.AddrFrom4([4]byte(packet[12:16])), true
	case kind == typeIPv6 && len(packet) >= header.IPv6MinimumSize:
		return netip.AddrFrom16([16]byte(packet[8:24])), true
	}
	return netip.Addr{}, false
}

// macAt reads the address of Ethernet with which b begins.
func macAt(b []byte) wire.MAC {
	return wire.MAC(binary.BigEndian.Uint16(b))<<32 | wire.MAC(binary.BigEndian.Uint32(b[2:]))
}

func appendMAC(b []byte, m wire.MAC) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(m>>32)), uint32(m))
}

// whither prints the destination of a guest's packet, for people.
func whither(x *guest, packet []byte) string {
	if x.scene.Kind == scenario.Tap {
		return macAt(packet).String()
	}
	_, to, _ := destination(packet)
	return to.String()
}

// quoted is how many bytes behind the header of a packet an ICMP message quotes (RFC 792).
const quoted = 8

// unreachable returns the ICMP message that answers a packet of IPv4 without a flow: host
// unreachable (RFC 792), in the name of its destination. It returns nil for a packet that must
// not be answered (RFC 1122, 3.2.2): an ICMP error, a fragment other than the first, a packet to
// many or without a source.
func unreachable(packet []byte) []byte {
	kind, to, ok := destination(packet)
	if !ok || kind != typeIPv4 {
		return nil
	}
	ip := header.IPv4(packet)
	length, from := int(ip.HeaderLength()), netip.AddrFrom4([4]byte(ip.SourceAddressSlice()))
	if length < header.IPv4MinimumSize || len(packet) < length || ip.FragmentOffset() != 0 ||
		!from.IsGlobalUnicast() || to.IsMulticast() || to == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return nil
	}
	if ip.TransportProtocol() == header.ICMPv4ProtocolNumber {
		if len(packet) == length {
			return nil
		}
		switch header.ICMPv4(packet[length:]).Type() {
		case header.ICMPv4Echo, header.ICMPv4Timestamp:
		default:
			return nil
		}
	}
	quote := packet[:min(len(packet), length+quoted)]
	b := make([]byte, header.IPv4MinimumSize+header.ICMPv4MinimumSize, header.IPv4MinimumSize+header.ICMPv4MinimumSize+len(quote))
	b = append(b, quote...)
	answer, message := header.IPv4(b), header.ICMPv4(b[header.IPv4MinimumSize:])
	answer.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), TTL: 64, Protocol: uint8(header.ICMPv4ProtocolNumber),
		SrcAddr: ip.DestinationAddress(), DstAddr: ip.SourceAddress(),
	})
	answer.SetChecksum(^answer.CalculateChecksum())
	message.SetType(header.ICMPv4DstUnreachable)
	message.SetCode(header.ICMPv4HostUnreachable)
	message.SetChecksum(header.ICMPv4Checksum(message, 0))
	return b
}
