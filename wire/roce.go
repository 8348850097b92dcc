package wire

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"fabemu/wire/unit"
)

// The sizes of the parts of a RoCEv2 packet in addition to the parts of InfiniBand and IPv4Size, in
// bytes.
const (
	IPv6Size = 40 // RFC 8200
	UDPSize  = 8  // RFC 768
	CNPSize  = 16 // reserved bytes behind the BTH of a CNP (InfiniBand Annex A17.9.3)
)

// RoCEPort is the UDP port that RoCEv2 packets go to (InfiniBand Annex A17.9.2).
const RoCEPort = 4791

// RoCE is the data that a Frame of the family RoCEv2 adds to the fields that it has on InfiniBand
// too: an IPv4 (RFC 791) or IPv6 (RFC 8200) packet with a UDP datagram
// that holds BTH, payload or AETH, and ICRC (InfiniBand Annex A17). Both addresses follow from
// the addresses of the frame; the source port and the flow label, which routers spread flows by,
// from the queue pair (entropy). A frame may have a source port of its own (SetSourcePort).
type RoCE struct {
	IPv6   bool  // the version of IP
	DSCP   uint8 // differentiated services code point, 6 bits (RFC 2474)
	ECT    bool  // the packet may be marked: ECT(0) of RFC 3168. FECN is the mark, CE
	AckReq bool  // Data: an ACK is asked for
	NAK    bool  // Ack: a NAK, PSN sequence error: PSN is the one that should come

	Stamped bool // Data, Ack: it has the header of StampExtension, from which the source gets its round trips

	Telemetry Telemetry // Data, Ack, stamped: it has the telemetry of the switches that the data packet has passed
}

// headerBits are flags in the headers of a packet of RoCEv2 or of TCP.
type headerBits uint8

const (
	bitECT       headerBits = 1 << iota // RoCE.ECT, Segment.ECT
	bitIPv6                             // RoCE.IPv6
	bitAckReq                           // RoCE.AckReq, of Data
	bitBack                             // Segment.Back
	bitImmediate                        // Frame.Immediate
	bitStamped                          // RoCE.Stamped
	bitRounded                          // RoCE.Telemetry
	bitExact                            // RoCE.Telemetry

	bitNAK      = bitAckReq // RoCE.NAK, of an Ack
	bitOwnTag   = bitBack   // Data of a guest: it has a tag of IEEE 802.1Q of its own
	bitSelected = bitBack   // Ack of RoCEv2: it has Selected
)

// when returns the bit if v is true.
func (b headerBits) when(v bool) headerBits {
	if v {
		return b
	}
	return 0
}

// SetRoCE gives a frame of the family RoCEv2 the values of r. One of UET has DSCP, ECT, AckReq and
// NAK, too.
func (f *Frame) SetRoCE(r RoCE) {
	f.DSCP = r.DSCP & 63
	f.Bits = f.Bits&(bitImmediate|bitSelected) | bitECT.when(r.ECT) | bitIPv6.when(r.IPv6) | bitAckReq.when(r.AckReq && f.Kind == Data) | bitNAK.when(r.NAK && f.Kind == Ack) |
		bitStamped.when(r.Stamped && f.Kind != CNP) |
		bitRounded.when(r.Telemetry == Rounded && f.Kind != CNP) | bitExact.when(r.Telemetry == Exact && f.Kind != CNP)
}

// RoCE returns the values that SetRoCE has given.
func (f *Frame) RoCE() RoCE {
	has := func(b headerBits) bool { return f.Bits&b != 0 }
	return RoCE{IPv6: has(bitIPv6), DSCP: f.DSCP, ECT: has(bitECT), AckReq: f.Kind == Data && has(bitAckReq),
		NAK: f.Kind == Ack && has(bitNAK), Stamped: has(bitStamped),
		Telemetry: f.Telemetry()}
}

// SetSelected has an ACK of RoCEv2 name a packet that has come ahead of its turn, by its PSN. The
// ACK acknowledges this packet, too.
func (f *Frame) SetSelected(psn uint32) {
	f.Bits |= bitSelected
	f.Payload = psn & 0xFFFFFF
}

// Selected returns the packet that SetSelected or SetMissing has named, and whether there is one.
func (f *Frame) Selected() (psn uint32, ok bool) {
	return f.Payload, f.Kind == Ack && f.Bits&bitSelected != 0
}

// SetMissing has an ACK of RoCEv2 name a packet of which only the headers have come (Trimmed). It
// is a NAK with the header of SetSelected, and acknowledges no more than the packets up to its PSN.
func (f *Frame) SetMissing(psn uint32) {
	f.SetSelected(psn)
	f.Bits |= bitNAK
}

// Missing reports whether the packet that Selected returns is missing: SetMissing has named it.
func (f *Frame) Missing() bool {
	return f.Bits&(bitSelected|bitNAK) == bitSelected|bitNAK && f.Kind == Ack
}

// LeastSourcePort is the first of the UDP source ports of RoCEv2: the dynamic ones (RFC 6335).
const LeastSourcePort = 0xC000

// SetSourcePort gives a frame of RoCEv2, which has its queue pair, a UDP source port of its own, at
// least LeastSourcePort: another path where there are several. The flow label of IPv6 stays that of
// the queue pair.
func (f *Frame) SetSourcePort(port uint16) {
	if _, usual := entropy(f.QP); port == usual {
		port = 0
	}
	f.Window = port
}

// SourcePort returns the UDP source port of a frame of RoCEv2.
func (f *Frame) SourcePort() uint16 {
	if f.Window != 0 {
		return f.Window
	}
	_, port := entropy(f.QP)
	return port
}

// SetAckReq sets the AckReq bit of a Data frame and leaves the other values of SetRoCE as they are.
func (f *Frame) SetAckReq(asked bool) { f.Bits = f.Bits&^bitAckReq | bitAckReq.when(asked) }

// ECT reports whether a frame may be marked, by FECN: an IP packet, or a guest's frame with one, if
// its ECN field allows it. Other frames have the mark in their own header, and always may.
func (f *Frame) ECT() bool {
	return f.Bits&bitECT != 0 || f.Kind != TCP && f.Family < RoCEv2
}

// ofIP returns the size of the IP header of a RoCEv2 packet.
func (b headerBits) ofIP() int {
	if b&bitIPv6 != 0 {
		return IPv6Size
	}
	return IPv4Size
}

// typeOfIP returns the EtherType of a RoCEv2 packet.
func (b headerBits) typeOfIP() uint16 {
	if b&bitIPv6 != 0 {
		return typeIPv6
	}
	return typeIPv4
}

// ofRoCE returns the size of a RoCEv2 packet, IP header included.
func (f *Frame) ofRoCE() int {
	n := f.Bits.ofIP() + UDPSize + BTHSize + f.ofStamp() + ICRCSize
	switch f.Kind {
	case Data:
		return n + int(f.behindBTH())
	case Ack:
		if f.Bits&bitSelected != 0 {
			n += SelectedSize
		}
		return n + AETHSize
	}
	return n + CNPSize
}

// entropy returns the flow label of a flow's packets, 20 bits, and their UDP source port, which
// is one of the dynamic ports (RFC 6335). They are computed as Linux does for RoCE
// (rdma_calc_flow_label, rdma_flow_label_to_udp_sport), from the queue pairs of both ends, which
// are one number here.
func entropy(qp uint32) (label uint32, port uint16) {
	v := uint64(qp&0xFFFFFF) * uint64(qp&0xFFFFFF)
	v ^= v >> 20
	v ^= v >> 40
	label = uint32(v) & 0xFFFFF
	return label, 0xC000 | uint16(label&0x3FFF^label>>14)
}

// linkLocal is the first half of the IPv6 address of a node, and interfaceID the second but
// for its LID: the link-local address that belongs to its MAC (RFC 4291, 2.5.6 and appendix A).
const (
	linkLocal   = 0xFE80 << 48
	interfaceID = 0x000000FFFE000000
)

// appendRoCE appends a packet of RoCEv2: IP, UDP, BTH, payload or AETH, ICRC.
func appendRoCE(b []byte, f *Frame, body Body) []byte {
	ip := len(b)
	b = appendTransport(appendUDP(b, f, f.ofRoCE()), f, body)
	head := ip + f.Bits.ofIP() + UDPSize + BTHSize
	payload, zeros := b[head:], 0
	if _, ok := f.Immediate(); f.Kind == Data && body.Type == 0 && !ok && !f.Stamped() {
		payload, zeros = nil, len(payload)
	}
	return binary.LittleEndian.AppendUint32(b, sealRoCE(b[ip:head], payload, zeros))
}

// appendUDP appends the IP and UDP headers of a packet of RoCEv2 of this many bytes. There is no
// UDP checksum yet.
func appendUDP(b []byte, f *Frame, size int) []byte {
	label, port := entropy(f.QP)
	if f.Window != 0 {
		port = f.Window
	}
	if f.Bits&bitIPv6 != 0 {
		size -= IPv6Size
		b = binary.BigEndian.AppendUint32(b, 6<<28|f.trafficClass()<<20|label)
		b = binary.BigEndian.AppendUint32(b, uint32(size)<<16|protocolUDP<<8|timeToLive)
		for _, l := range [2]LID{f.Src, f.Dst} {
			b = binary.BigEndian.AppendUint64(b, linkLocal)
			b = binary.BigEndian.AppendUint64(b, interfaceID|uint64(l))
		}
	} else {
		b = appendIPv4(b, f, protocolUDP, size)
		size -= IPv4Size
	}
	return binary.BigEndian.AppendUint64(b, uint64(port)<<48|RoCEPort<<32|uint64(size)<<16)
}

// sealRoCE returns the ICRC of a packet of RoCEv2 from its headers and its payload, in front of
// which so many zeros come: one of the two is empty. Over IPv6 it gives the UDP datagram its
// checksum.
func sealRoCE(headers, payload []byte, zeros int) uint32 {
	bth := len(headers) - BTHSize
	check := icrcHead(headers, bth)
	if zeros > 0 {
		check = ^icrc.padding(check, zeros)
	} else {
		check = behindHead(check, payload, false)
	}
	if headers[0]>>4 == 6 {
		putSumIPv6(headers, bth, payload, check)
	}
	return check
}

// putSumIPv6 gives a UDP datagram over IPv6 its checksum, from its headers, its payload or those
// bytes of it that are not zeros, and its ICRC. The BTH is at an offset.
func putSumIPv6(headers []byte, bth int, payload []byte, check uint32) {
	length, last := uint32(binary.BigEndian.Uint16(headers[4:])), bits.ReverseBytes32(check)
	sum := onesSum(protocolUDP+length+last>>16+last&0xFFFF, headers[8:bth+BTHSize]) // from the addresses on
	if sum = ^onesSum(uint32(sum), payload); sum == 0 {
		sum = 0xFFFF // the same number, and 0 is not a checksum (RFC 8200, 8.1)
	}
	binary.BigEndian.PutUint16(headers[bth-2:], sum)
}

// parseRoCE completes f with a packet of RoCEv2, which starts at b[at], and reads its body; b is
// all but the FCS.
func parseRoCE(f *Frame, body *Body, b []byte, at int) error {
	p := b[at:]
	named, flow := f.Tagged || f.CPID != 0, f.QP
	f.Family, f.Bits = RoCEv2, 0
	v6 := binary.BigEndian.Uint16(b[at-2:]) == typeIPv6
	if v6 {
		f.Bits = bitIPv6
	}
	udp := f.Bits.ofIP()
	bth, end := udp+UDPSize, len(p)-ICRCSize
	var err error
	switch {
	case end < bth+BTHSize:
		return refuse("packet", len(b), ErrTruncated)
	case v6:
		err = parseIPv6(f, p)
	default:
		err = parseIPv4(f, p)
	}
	switch {
	case err != nil:
		return shift(err, at)
	case binary.BigEndian.Uint16(p[udp+2:]) != RoCEPort:
		return refuse("UDP.Destination", at+udp+2, ErrUnsupported)
	case int(binary.BigEndian.Uint16(p[udp+4:])) > len(p)-udp:
		return shift(parseTrimmed(f, p, udp, named), at)
	case int(binary.BigEndian.Uint16(p[udp+4:])) < len(p)-udp:
		return refuse("UDP.Length", at+udp+4, ErrRange)
	}
	padding := allZero(p[bth+BTHSize : end])
	if behindHead(icrcHead(p, bth), p[bth+BTHSize:end], padding) != binary.LittleEndian.Uint32(p[end:]) {
		return refuse("ICRC", at+end, ErrChecksum)
	}
	if err := parseTransport(f, body, p[bth:end], padding); err != nil {
		return shift(err, at+bth)
	}
	label, port := entropy(f.QP)
	source := binary.BigEndian.Uint16(p[udp:])
	if source != port {
		f.Window = source
	}
	switch {
	case named && flow != f.QP&0xFFFF:
		return refuse("BTH.DestQP", at+bth+5, ErrUnsupported) // not the one of the tags
	case f.CPID != 0 && f.Kind != Data:
		return refuse("EtherType", at-2, ErrUnsupported) // only data has a rate-limited tag
	case source < LeastSourcePort:
		return refuse("UDP.Source", at+udp, ErrUnsupported)
	case v6 && binary.BigEndian.Uint32(p)&0xFFFFF != label:
		return refuse("IPv6.FlowLabel", at+1, ErrUnsupported)
	}
	sum, content := uint32(protocolUDP+len(p)-IPv6Size), p[8:] // from the addresses on
	if padding {
		sum, content = sum+uint32(onesSum(0, p[end:])), p[8:bth+BTHSize]
	}
	switch stated := binary.BigEndian.Uint16(p[udp+6:]); {
	case !v6 && stated != 0:
		return refuse("UDP.Checksum", at+udp+6, ErrUnsupported)
	case v6 && (stated == 0 || onesSum(sum, content) != 0xFFFF):
		return refuse("UDP.Checksum", at+udp+6, ErrChecksum)
	}
	return nil
}

// parseIPv4 reads an IPv4 header in front of p, which is all of the packet, into f.
func parseIPv4(f *Frame, p []byte) error {
	switch length := int(binary.BigEndian.Uint16(p[2:])); {
	case p[0] != 0x45:
		return refuse("IPv4.Version", 0, ErrUnsupported)
	case length > len(p):
		return refuse("IPv4.Length", 2, ErrTruncated)
	case length < len(p):
		return refuse("IPv4.Length", 2, ErrTrailing)
	case onesSum(0, p[:IPv4Size]) != 0xFFFF:
		return refuse("IPv4.Checksum", 10, ErrChecksum)
	case binary.BigEndian.Uint16(p[4:]) != 0:
		return refuse("IPv4.Identification", 4, ErrUnsupported)
	case binary.BigEndian.Uint16(p[6:]) != dontFragment:
		return refuse("IPv4.Fragment", 6, ErrUnsupported)
	case p[8] != timeToLive:
		return refuse("IPv4.TTL", 8, ErrUnsupported)
	case binary.BigEndian.Uint32(p[12:]) != localIP|uint32(f.Src):
		return refuse("IPv4.Source", 12, ErrUnsupported)
	case binary.BigEndian.Uint32(p[16:]) != localIP|uint32(f.Dst):
		return refuse("IPv4.Destination", 16, ErrUnsupported)
	case !f.setTrafficClass(p[1]):
		return refuse("IPv4.ECN", 1, ErrUnsupported)
	}
	return nil
}

// parseIPv6 reads an IPv6 header in front of p, which is all of the packet, into f.
func parseIPv6(f *Frame, p []byte) error {
	switch length := IPv6Size + int(binary.BigEndian.Uint16(p[4:])); {
	case p[0]>>4 != 6:
		return refuse("IPv6.Version", 0, ErrUnsupported)
	case length > len(p):
		return refuse("IPv6.Length", 4, ErrTruncated)
	case length < len(p):
		return refuse("IPv6.Length", 4, ErrTrailing)
	case p[6] != protocolUDP:
		return refuse("IPv6.NextHeader", 6, ErrUnsupported)
	case p[7] != timeToLive:
		return refuse("IPv6.HopLimit", 7, ErrUnsupported)
	case !isNode(p[8:], f.Src):
		return refuse("IPv6.Source", 8, ErrUnsupported)
	case !isNode(p[24:], f.Dst):
		return refuse("IPv6.Destination", 24, ErrUnsupported)
	case !f.setTrafficClass(p[0]<<4 | p[1]>>4):
		return refuse("IPv6.ECN", 1, ErrUnsupported)
	}
	return nil
}

// isNode reports whether p begins with the IPv6 address of a node.
func isNode(p []byte, l LID) bool {
	return binary.BigEndian.Uint64(p) == linkLocal && binary.BigEndian.Uint64(p[8:]) == interfaceID|uint64(l)
}

// trafficClass returns the traffic class of IPv6 of a packet, and the byte of IPv4 that is the
// same: DSCP and ECN (RFC 3168, section 5).
func (f *Frame) trafficClass() uint32 {
	class := uint32(f.DSCP&63) << 2
	switch {
	case f.FECN:
		class |= 3
	case f.Bits&bitECT != 0:
		class |= 2
	}
	return class
}

// setTrafficClass reads the value that trafficClass returns. It
// reports whether its ECN field is one that is written.
func (f *Frame) setTrafficClass(class uint8) bool {
	const ect1, ce = 1, 3
	ecn := class & 3
	f.DSCP, f.FECN = class>>2, ecn == ce
	if ecn != 0 {
		f.Bits |= bitECT
	}
	return ecn != ect1
}

// packetFields are the fields of a Data frame, an ACK or a CNP, and markFields those of the mark,
// of TCP too.
var (
	packetFields = slices.Concat(cnTagFields, rlTagFields, []Field{
		{Word: "ipv6", Form: Flag, access: is(func(f *Frame) bool { return f.Family == RoCEv2 && f.Bits&bitIPv6 != 0 })},
		{Word: "dscp", access: ofDSCP, Has: (*Frame).isIP},
		{Word: "sl", access: ofDSCP, Has: func(f *Frame) bool { return f.DSCP != 0 && f.Family == InfiniBand && f.Kind != TCP }},
	}, markFields, []Field{
		{Word: "ack-req", Form: Flag, access: is(func(f *Frame) bool { return f.Kind != Ack && f.Bits&bitAckReq != 0 })},
		{Word: "nak", Form: Flag, access: is(func(f *Frame) bool { return f.Kind == Ack && f.Bits&bitNAK != 0 })},
		{Word: "selected", access: number(func(f *Frame) *uint32 { return &f.Payload }), Has: func(f *Frame) bool { _, ok := f.Selected(); return ok }},
		{Word: "sport", access: number(func(f *Frame) *uint16 { return &f.Window }), Has: func(f *Frame) bool { return f.isIP() && f.Kind != TCP && f.Family != Guest && f.Window != 0 }},
		{Word: "becn", Form: Flag, access: ofBECN},
		{Word: "immediate", access: ofMSN, Has: func(f *Frame) bool { _, ok := f.Immediate(); return ok }},
		{Word: "sent", Form: Instant, access: number(func(f *Frame) *unit.Time { return &f.Stamp().SentAt }), Has: (*Frame).Stamped},
		{Word: "held", Form: Instant, access: number(func(f *Frame) *unit.Duration { return &f.Stamp().Held }),
			Has: func(f *Frame) bool { return f.Stamped() && f.Kind == Ack }},
	}, uetFields)
	markFields = []Field{
		{Word: "ce", Form: Flag, access: is(func(f *Frame) bool { return f.FECN && f.isIP() })},
		{Word: "fecn", Form: Flag, access: is(func(f *Frame) bool { return f.FECN && !f.isIP() })},
		{Word: "ect", Form: Flag, access: is(func(f *Frame) bool { return !f.FECN && f.Bits&bitECT != 0 })},
	}
	ackFields = slices.Concat(packetFields, []Field{
		{Key: "marked", access: ofBECN}, {Key: "psn", access: ofPSN}, {Key: "msn", access: ofMSN}, {Key: "fecn", access: ofFECN},
	}, addressees)
	cnpFields = slices.Concat(packetFields, []Field{{Key: "fecn", access: ofFECN}}, addressees)
)

// isIP reports whether f is a packet of IP.
func (f *Frame) isIP() bool { return f.Family >= RoCEv2 || f.Kind == TCP }
