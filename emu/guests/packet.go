package guests

import (
	"encoding/binary"
	"net/netip"

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
	if x.scene.Kind == scenario.Tap {
		return macAt(packet).String()
	}
	_, to, _ := destination(packet)
	return to.String()
}

// quoted is how much of a packet an ICMP message quotes behind its header: the 8 bytes that
// RFC 792 asks for.
const quoted = 8

// ICMP (RFC 792): its protocol number in IPv4, and the types that matter here.
const (
	protocolICMP    = 1
	icmpHeader      = 8
	icmpEcho        = 8
	icmpTimestamp   = 13
	icmpUnreachable = 3
	icmpNoHost      = 1 // the code of icmpUnreachable for a host
)

// unreachable returns the ICMP message that answers a packet of IPv4 that goes nowhere: host
// unreachable (RFC 792), in the name of where it goes. It returns nil for what must not be
// answered (RFC 1122, 3.2.2): an ICMP error, a fragment other than the first, what goes to many
// or comes from nobody.
func unreachable(packet []byte) []byte {
	kind, to, ok := destination(packet)
	if !ok || kind != typeIPv4 {
		return nil
	}
	header, fragment := int(packet[0]&0xF)*4, binary.BigEndian.Uint16(packet[6:])&0x1FFF
	from := netip.AddrFrom4([4]byte(packet[12:16]))
	if header < ipv4Header || len(packet) < header || fragment != 0 || !from.IsGlobalUnicast() || to.IsMulticast() ||
		to == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return nil
	}
	if packet[9] == protocolICMP &&
		(len(packet) == header || packet[header] != icmpEcho && packet[header] != icmpTimestamp) {
		return nil
	}
	quote := packet[:min(len(packet), header+quoted)]
	b := make([]byte, ipv4Header+icmpHeader, ipv4Header+icmpHeader+len(quote))
	b[0], b[8], b[9] = 0x45, 64, protocolICMP
	copy(b[12:], packet[16:20])
	copy(b[16:], packet[12:16])
	b[ipv4Header], b[ipv4Header+1] = icmpUnreachable, icmpNoHost
	b = append(b, quote...)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	binary.BigEndian.PutUint16(b[10:], checksum(b[:ipv4Header]))
	binary.BigEndian.PutUint16(b[ipv4Header+2:], checksum(b[ipv4Header:]))
	return b
}

// checksum returns that of the Internet (RFC 1071) over b.
func checksum(b []byte) uint16 {
	var sum uint32
	for i, v := range b {
		sum += uint32(v) << (8 * (1 - i&1))
	}
	for sum>>16 > 0 {
		sum = sum&0xFFFF + sum>>16
	}
	return ^uint16(sum)
}
