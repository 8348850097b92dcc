package guest

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"fabemu/emu/run/guest/offload"
	"fabemu/emu/scenario"
	"fabemu/wire"
)

// EtherTypes of bodies.
const (
	typeIPv4   = uint16(layers.EthernetTypeIPv4)
	typeIPv6   = uint16(layers.EthernetTypeIPv6)
	wholeFrame = uint16(layers.EthernetTypeTransparentEthernetBridging) // a frame of Ethernet
)

// ethernetSize is the size of a header of Ethernet.
const ethernetSize = 14

// headers are the headers of the packet that a guest has sent last. Their layers are used again for
// the next packet.
type headers struct {
	from, to netip.Addr // of IP; invalid for other packets
	kind     uint16     // EtherType behind the tags, of IP
	code     uint8      // DSCP (RFC 2474)
	damaged  bool       // its header has a wrong checksum or length, and tells nothing

	ethernet layers.Ethernet
	tag      layers.Dot1Q
	ip4      layers.IPv4
	ip6      layers.IPv6
}

// read reads a packet, which begins with a header of Ethernet or with one of IP. It reports whether
// it is one of IP with an intact header.
func (h *headers) read(packet []byte, ethernet bool) (ip bool) {
	none := gopacket.NilDecodeFeedback
	h.damaged = false
	var kind layers.EthernetType
	switch {
	case ethernet:
		if h.ethernet.DecodeFromBytes(packet, none) != nil {
			break
		}
		kind, packet = h.ethernet.EthernetType, h.ethernet.Payload
		for (kind == layers.EthernetTypeDot1Q || kind == layers.EthernetTypeQinQ) && h.tag.DecodeFromBytes(packet, none) == nil {
			kind, packet = h.tag.Type, h.tag.Payload
		}
	case len(packet) > 0 && packet[0]>>4 == 4:
		kind = layers.EthernetTypeIPv4
	case len(packet) > 0 && packet[0]>>4 == 6:
		kind = layers.EthernetTypeIPv6
	}
	switch {
	case kind == layers.EthernetTypeIPv4 && h.ip4.DecodeFromBytes(packet, none) == nil && h.intact(packet, h.ip4.Contents, packet[2:]):
		h.from, h.to = netip.AddrFrom4([4]byte(h.ip4.SrcIP)), netip.AddrFrom4([4]byte(h.ip4.DstIP))
		h.code = h.ip4.TOS >> 2
	case kind == layers.EthernetTypeIPv6 && h.ip6.DecodeFromBytes(packet, none) == nil && h.intact(packet, nil, packet[4:]):
		h.from, h.to = netip.AddrFrom16([16]byte(h.ip6.SrcIP)), netip.AddrFrom16([16]byte(h.ip6.DstIP))
		h.code = h.ip6.TrafficClass >> 2
	default:
		h.kind, h.from, h.to, h.code = 0, netip.Addr{}, netip.Addr{}, 0
		return false
	}
	h.kind = uint16(kind)
	return true
}

// intact reports whether the checksum of a header of IPv4 and the length in length are right. A
// header of IPv6 has no checksum, and its length does not count the header.
func (h *headers) intact(packet, ipv4, length []byte) bool {
	n := int(binary.BigEndian.Uint16(length))
	if ipv4 == nil {
		n += len(h.ip6.Contents)
	}
	h.damaged = n < len(ipv4) || n > len(packet) || ipv4 != nil && !offload.IntactIPv4(ipv4)
	return !h.damaged
}

// macAt reads the address of Ethernet with which b begins.
func macAt(b []byte) wire.MAC {
	return wire.MAC(binary.BigEndian.Uint16(b))<<32 | wire.MAC(binary.BigEndian.Uint32(b[2:]))
}

func appendMAC(b []byte, m wire.MAC) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(m>>32)), uint32(m))
}

// whither prints the destination of a guest's pending packet, for people.
func (g *Guests) whither(x *guest) string {
	if x.scene.Kind == scenario.Tap {
		return macAt(g.headers.ethernet.DstMAC).String()
	}
	return g.headers.to.String()
}

// quoted is how many bytes behind the header of a packet an ICMP message quotes (RFC 792).
const quoted = 8

// unreachable returns the ICMP message that answers a packet of IPv4 without a flow: host
// unreachable (RFC 792), in the name of its destination. It returns nil for a packet that must
// not be answered (RFC 1122, 3.2.2): an ICMP error, a fragment other than the first, a packet to
// many or without a source.
func unreachable(packet []byte) []byte {
	var h headers
	if !h.read(packet, false) || h.kind != typeIPv4 || h.ip4.FragOffset != 0 ||
		!h.from.IsGlobalUnicast() || h.to.IsMulticast() || h.to == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return nil
	}
	if h.ip4.Protocol == layers.IPProtocolICMPv4 {
		var m layers.ICMPv4
		if m.DecodeFromBytes(h.ip4.Payload, gopacket.NilDecodeFeedback) != nil {
			return nil
		}
		switch m.TypeCode.Type() {
		case layers.ICMPv4TypeEchoRequest, layers.ICMPv4TypeTimestampRequest:
		default:
			return nil
		}
	}
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: h.ip4.DstIP, DstIP: h.ip4.SrcIP},
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeHost)},
		gopacket.Payload(packet[:min(len(packet), len(h.ip4.Contents)+quoted)]))
	if err != nil {
		return nil
	}
	return b.Bytes()
}
