package dump

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"fabemu/wire"
)

// This file reads the packets of other programs. gopacket decodes them as far as UDP. It has no
// BTH, ICRC and VCRC: package wire reads these.

// Headers are the headers of a packet of InfiniBand or RoCE that another program wrote.
type Headers struct {
	Local bool // it has an LRH
	LRH   wire.LRH
	BTH   wire.BTH
}

// parsers decode packets into layers, which are used again for the next packet.
type parsers struct {
	first map[gopacket.LayerType]*gopacket.DecodingLayerParser // by the first layer of a packet
	all   map[gopacket.LayerType]gopacket.DecodingLayer
	found []gopacket.LayerType // in the last packet
}

// newParsers returns parsers of packets that begin with any of all. They stop at a layer that is
// none of these.
func newParsers(all ...gopacket.DecodingLayer) parsers {
	p := parsers{map[gopacket.LayerType]*gopacket.DecodingLayerParser{}, map[gopacket.LayerType]gopacket.DecodingLayer{}, nil}
	for _, layer := range all {
		t, _ := layer.CanDecode().(gopacket.LayerType)
		p.first[t], p.all[t] = gopacket.NewDecodingLayerParser(t, all...), layer
		p.first[t].IgnoreUnsupported = true
	}
	return p
}

// stranger holds the layers of a packet that another program wrote.
type stranger struct {
	ethernet layers.Ethernet
	tag      layers.Dot1Q
	cooked   layers.LinuxSLL
	ip4      layers.IPv4
	ip6      layers.IPv6
	udp      layers.UDP
	parsers
}

func (d *Decoder) layers() *stranger {
	if d.stranger == nil {
		s := new(stranger)
		s.parsers = newParsers(&s.ethernet, &s.tag, &s.cooked, &s.ip4, &s.ip6, &s.udp)
		d.stranger = s
	}
	return d.stranger
}

// decode decodes a packet and returns its last layer that is known.
func (s *stranger) decode(first gopacket.LayerType, b []byte) (last gopacket.LayerType, err error) {
	p := s.first[first]
	err = p.DecodeLayers(b, &s.found)
	refused, rest := first, b
	if n := len(s.found); n > 0 {
		last = s.found[n-1]
		refused, rest = s.all[last].NextLayerType(), s.all[last].LayerPayload()
	}
	if err == nil {
		return last, nil
	}
	const cooked = 16 // the header of a LinuxSLL, whose end gopacket does not report
	reason := wire.ErrRange
	if p.Truncated || len(rest) < cooked {
		reason = wire.ErrTruncated
	}
	return 0, &wire.ParseError{Field: refused.String(), Offset: cap(b) - cap(rest), Reason: reason}
}

// other reads a packet of another program from its first layer on.
func (d *Decoder) other(out *Packet, first gopacket.LayerType, b []byte) {
	s := d.layers()
	last, err := s.decode(first, b)
	if err != nil {
		out.Err = err
		return
	}
	var kind layers.EthernetType
	switch last {
	case layers.LayerTypeEthernet:
		kind = s.ethernet.EthernetType
	case layers.LayerTypeDot1Q:
		kind = s.tag.Type
	case layers.LayerTypeLinuxSLL:
		kind = s.cooked.EthernetType
	default:
		d.ip(out, last)
		return
	}
	d.behind(out, uint16(kind), s.all[last].LayerPayload())
}

// cooked2 reads a packet behind a header of version 2 of "any" interface (LINKTYPE_LINUX_SLL2),
// which gopacket does not have.
func (d *Decoder) cooked2(out *Packet, b []byte) {
	const header = 20
	if len(b) < header {
		out.Err = short("cooked header", len(b))
		return
	}
	kind := binary.BigEndian.Uint16(b)
	if first := layers.EthernetType(kind).LayerType(); kind == typeIPv4 || kind == typeIPv6 {
		d.other(out, first, b[header:])
		return
	}
	d.behind(out, kind, b[header:])
}

// raw reads a packet of IP.
func (d *Decoder) raw(out *Packet, b []byte) {
	first := layers.LayerTypeIPv4
	if len(b) > 0 && b[0]>>4 == 6 {
		first = layers.LayerTypeIPv6
	}
	d.other(out, first, b)
}

// behind reads the bytes behind an EtherType that is not one of IP.
func (d *Decoder) behind(out *Packet, kind uint16, b []byte) {
	switch kind {
	case typeOnVeth:
		if out.Err = otherTrailer(b); out.Err == nil && !d.datagram(out, b) {
			out.Err = short("Trailer", len(b))
		}
	case typeRoCE:
		if grh, size, err := d.layers().grh(b); err != nil {
			out.Err = err
		} else {
			d.roce(out, grh, wire.IPv6Size, size, 1)
		}
	case typeMAC:
		d.control(out, b)
	default:
		out.Other = fmt.Sprintf("EtherType %04x", kind)
	}
}

// control reads a MAC control frame behind its EtherType (IEEE 802.3, annexes 31B and 31D).
func (d *Decoder) control(out *Packet, b []byte) {
	const pause, priorities = 0x0001, 0x0101
	if len(b) < 2 {
		out.Err = short("MACControl.opcode", len(b))
		return
	}
	opcode, rest := binary.BigEndian.Uint16(b), b[2:]
	switch {
	case opcode != pause && opcode != priorities:
		out.Other = fmt.Sprintf("MAC control of opcode %04x", opcode)
	case opcode == pause && len(rest) >= 2:
		out.Pause = fmt.Sprintf("pause quanta=%d", binary.BigEndian.Uint16(rest))
	case opcode == priorities && len(rest) >= 2+2*8:
		var quanta []byte
		for n := range 8 {
			if rest[1]>>n&1 == 1 {
				quanta = fmt.Appendf(quanta, " quanta%d=%d", n, binary.BigEndian.Uint16(rest[2+2*n:]))
			}
		}
		out.Pause = fmt.Sprintf("pfc classes=%#02x%s", rest[1], quanta)
	default:
		out.Err = short("MACControl.quanta", len(b))
	}
}

// grh reads a GRH, which has the form of a header of IPv6, and returns its packet as far as it is
// there, and the size of all of it.
func (s *stranger) grh(b []byte) (packet []byte, size int, err error) {
	if err := s.ip6.DecodeFromBytes(b, gopacket.NilDecodeFeedback); err != nil {
		return nil, 0, short("GRH", min(len(b), wire.IPv6Size))
	}
	if s.ip6.Version != 6 || s.ip6.NextHeader != nextBTH {
		return nil, 0, &wire.ParseError{Field: "GRH", Reason: wire.ErrUnsupported}
	}
	size = wire.IPv6Size + int(s.ip6.Length)
	return b[:min(len(b), size)], size, nil
}

// nextBTH is the next header of a GRH that a BTH follows.
const nextBTH = 0x1B

// ip reads a packet whose last known layer is IP or UDP.
func (d *Decoder) ip(out *Packet, last gopacket.LayerType) {
	s := d.layers()
	size, protocol, version, header, rest := int(s.ip4.Length), s.ip4.Protocol, s.ip4.Version == 4, s.ip4.Contents, s.ip4.Payload
	fragment := s.ip4.Flags&layers.IPv4MoreFragments != 0 || s.ip4.FragOffset != 0
	if v6, v4 := slices.Index(s.found, layers.LayerTypeIPv6), slices.Index(s.found, layers.LayerTypeIPv4); v6 > v4 { // the inner one
		size, protocol, version, header, rest = wire.IPv6Size+int(s.ip6.Length), s.ip6.NextHeader, s.ip6.Version == 6, s.ip6.Contents, s.ip6.Payload
		fragment = false
	}
	udp := &s.udp
	switch {
	case !version:
		out.Err = &wire.ParseError{Field: "IP.Version", Reason: wire.ErrUnsupported}
	case fragment:
		out.Other = "a fragment of IPv4"
	case last != layers.LayerTypeUDP:
		out.Other = fmt.Sprintf("IP protocol %d", protocol)
	case udp.DstPort == wire.RoCEPort && protocol == layers.IPProtocolUDP: // and no header of IPv6 between them
		d.roce(out, header[:len(header)+len(rest)], len(header)+wire.UDPSize, size, 2)
	default:
		if out.Err = otherTrailer(udp.Payload); out.Err == nil && !d.datagram(out, udp.Payload) {
			out.Other = fmt.Sprintf("UDP from port %d to %d", udp.SrcPort, udp.DstPort)
			if len(header)+len(rest) < size {
				out.Other += ", cut"
			}
		}
	}
}

// roce reads a packet of RoCE of this many bytes, of which b may hold fewer, whose BTH is behind n
// bytes.
func (d *Decoder) roce(out *Packet, b []byte, n, size, version int) {
	if !d.transport(out, b, n, size) {
		return
	}
	out.RoCE, out.Size = version, size
	if end := size - wire.ICRCSize; !out.Cut && wire.RoCEICRC(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		out.wrong("ICRC")
	}
}

// infiniBand reads a packet of InfiniBand of this many bytes, of which b may hold fewer.
func (d *Decoder) infiniBand(out *Packet, b []byte, size int) {
	lrh, _, err := wire.ParseLRH(b)
	n, icrc, length := wire.LRHSize, wire.ICRC, int(lrh.Length)*4+wire.VCRCSize
	switch {
	case err != nil:
	case lrh.LNH < wire.NextBTH:
		err = &wire.ParseError{Field: "LRH.LNH", Offset: 1, Reason: wire.ErrUnsupported}
	case length > size:
		err = &wire.ParseError{Field: "packet", Offset: min(size, len(b)), Reason: wire.ErrTruncated}
	case length < size:
		err = &wire.ParseError{Field: "packet", Offset: min(length, len(b)), Reason: wire.ErrTrailing}
	case lrh.LNH == wire.NextGRH:
		_, _, err = d.layers().grh(b[n:])
		n, icrc = n+wire.IPv6Size, wire.GlobalICRC
	}
	if err != nil {
		out.Err = err
		return
	}
	if !d.transport(out, b, n, size-wire.VCRCSize) {
		return
	}
	out.Headers.Local, out.Headers.LRH, out.Size = true, lrh, size
	if out.Cut = len(b) < size; out.Cut {
		return
	}
	end := size - wire.VCRCSize
	if icrc(b[:end-wire.ICRCSize]) != binary.LittleEndian.Uint32(b[end-wire.ICRCSize:]) {
		out.wrong("ICRC")
	}
	if wire.VCRC(b[:end]) != binary.LittleEndian.Uint16(b[end:]) {
		out.wrong("VCRC")
	}
}

// transport reads the BTH behind n bytes of a packet that ends with an ICRC at byte end. It reports
// whether there is one.
func (d *Decoder) transport(out *Packet, b []byte, n, end int) bool {
	if end < n+wire.BTHSize+wire.ICRCSize || len(b) < n {
		out.Err = short("BTH", len(b))
		return false
	}
	h, _, err := wire.ParseBTH(b[n:])
	if refused, ok := err.(*wire.ParseError); ok {
		refused.Offset += n
		out.Err = refused
		return false
	}
	out.Headers, out.Cut = &Headers{BTH: h}, len(b) < end
	return true
}

// wrong adds a checksum that is wrong.
func (p *Packet) wrong(sum string) {
	if p.BadSum != "" {
		p.BadSum += " and "
	}
	p.BadSum += sum
}
