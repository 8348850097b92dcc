package wire

import (
	"encoding/binary"
	"fmt"
)

// The sizes of the parts of a RoCEv2 packet beside those of InfiniBand and IPv4Size, in bytes.
const (
	IPv6Size = 40 // RFC 8200
	UDPSize  = 8  // RFC 768
	CNPSize  = 16 // reserved bytes behind the BTH of a CNP (InfiniBand Annex A17.9.3)
)

// RoCEPort is the UDP port that RoCEv2 packets go to (InfiniBand Annex A17.9.2).
const RoCEPort = 4791

// RoCE is what a Frame of the family RoCEv2 says to the other end of its flow, beside what its
// fields say on InfiniBand too: an IPv4 (RFC 791) or IPv6 (RFC 8200) packet with a UDP datagram
// that holds BTH, payload or AETH, and ICRC (InfiniBand Annex A17). Both addresses follow from
// those of the frame; the source port and the flow label, which routers spread flows by, from
// the queue pair (entropy).
type RoCE struct {
	IPv6   bool  // the version of IP
	DSCP   uint8 // differentiated services code point, 6 bits (RFC 2474)
	ECT    bool  // the packet may be marked: ECT(0) of RFC 3168. FECN is the mark, CE
	AckReq bool  // Data: an ACK is asked for
	NAK    bool  // Ack: a NAK, PSN sequence error: PSN is the one that should come
}

// What a frame has in Stopped of a RoCEv2 packet, beside tcpECT.
const (
	roceIPv6 uint8 = 1 << (iota + 4)
	roceAckReq
	roceNAK
)

// SetRoCE gives a frame of the family RoCEv2 what r says.
func (f *Frame) SetRoCE(r RoCE) {
	f.Classes = r.DSCP & 63
	f.Stopped = uint8(bit(r.ECT, 1) | bit(r.IPv6, 4) | bit(r.AckReq && f.Kind == Data, 5) | bit(r.NAK && f.Kind == Ack, 6))
}

// RoCE returns what SetRoCE has given.
func (f *Frame) RoCE() RoCE {
	return RoCE{
		IPv6: f.ipv6(), DSCP: f.Classes & 63, ECT: f.Stopped&tcpECT != 0, AckReq: f.Stopped&roceAckReq != 0, NAK: f.Stopped&roceNAK != 0,
	}
}

// SetAckReq is SetRoCE of AckReq alone, of a Data frame: a RoCE that is copied is read before it has been
// written, as far as a processor can tell, and that costs more than the rest.
func (f *Frame) SetAckReq(asked bool) { f.Stopped = f.Stopped&^roceAckReq | uint8(bit(asked, 5)) }

// roce reports whether f is a packet of RoCEv2.
func (f *Frame) roce() bool { return f.Family == RoCEv2 }

func (f *Frame) ipv6() bool { return f.Stopped&roceIPv6 != 0 }

// ipSize returns the size of the IP header of a RoCEv2 packet.
func (f *Frame) ipSize() int {
	if f.ipv6() {
		return IPv6Size
	}
	return IPv4Size
}

// ofRoCE returns the size of a RoCEv2 packet, IP header included.
func (f *Frame) ofRoCE() int {
	n := f.ipSize() + UDPSize + BTHSize + ICRCSize
	switch f.Kind {
	case Data:
		return n + int(f.Payload)
	case Ack:
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

// linkLocal is the first half of the IPv6 address of a machine, and interfaceID the second but
// for its LID: the link-local address that belongs to its MAC (RFC 4291, 2.5.6 and appendix A).
const (
	linkLocal   = 0xFE80 << 48
	interfaceID = 0x000000FFFE000000
)

// appendRoCE ends the frame that starts at b[start], of so many bytes, with a packet of RoCEv2: the EtherType,
// IP, UDP and what stands behind, and the FCS.
func appendRoCE(b []byte, start, size int, f *Frame, body Body) []byte {
	v6, kind := f.ipv6(), uint16(typeIPv4)
	if v6 {
		kind = typeIPv6
	}
	b = binary.BigEndian.AppendUint16(b, kind)
	ip := len(b)
	end := start + size - FCSSize - ICRCSize
	pad := uint8(0)
	if body.Type != 0 {
		pad = uint8(f.Family.BodyRoom(f.Payload) - len(body.Bytes))
	}
	head := ip + roceHeadSize(v6)
	b = b[:head]
	var behind []byte
	if f.Kind == Ack || body.Type != 0 {
		b = appendBehindBTH(b, f, body)
		behind = b[head:]
	} else {
		b = b[:end]
		clear(b[head:])
	}
	var w roceHead
	sums := w.set(f, end+ICRCSize-ip, pad, behind)
	w.put(b[ip:], v6)
	return binary.LittleEndian.AppendUint64(b, sums)
}

// appendBehindBTH appends what is no padding between BTH and ICRC.
func appendBehindBTH(b []byte, f *Frame, body Body) []byte {
	if f.Kind == Data {
		return appendBody(b, f, body)
	}
	a := AETH{Syndrome: AckNoCredit, MSN: f.MSN}
	if f.Stopped&roceNAK != 0 {
		a.Syndrome = NakSequenceError
	}
	return a.Append(b)
}

// parseRoCE completes f with a packet of RoCEv2, which starts at b[at], and reads its body; b is the
// whole frame.
func parseRoCE(f *Frame, body *Body, b []byte, at int, v6 bool) error {
	if f.readRoCE(body, b[at:], v6) {
		return nil
	}
	end := len(b) - FCSSize
	*f, *body = Frame{}, Body{}
	f.parseTags(b[:end]) // again: there is no mistake in them
	if FCS(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return refuse("FCS", end, ErrChecksum)
	}
	return f.examineRoCE(body, b[:end], at, v6)
}

// readRoCE completes f with a packet of RoCEv2, and its body, if it and the FCS behind it are as appendRoCE
// writes them, and reports whether they are: so each bit of them is what it should be. B starts with the
// packet.
func (f *Frame) readRoCE(body *Body, b []byte, v6 bool) bool {
	head, end := roceHeadSize(v6), len(b)-ICRCSize-FCSSize
	if end < head {
		return false
	}
	class := b[1]
	if v6 {
		class = b[0]<<4 | b[1]>>4
	}
	named, flow := f.Tagged || f.CPID != 0, f.QP
	bth, behind := b[head-BTHSize:head], b[head:end]
	padding := allZero(behind)
	f.Family, f.Stopped = RoCEv2, uint8(bit(v6, 4))
	f.QP, f.PSN = binary.BigEndian.Uint32(bth[4:])&0xFFFFFF, binary.BigEndian.Uint32(bth[8:])&0xFFFFFF
	pad := bth[1] >> 4 & 3
	ok := f.setClass(class) && (pad == 0 || !padding) && (!named || f.QP&0xFFFF == flow)
	switch Opcode(bth[0]) {
	case RCSendOnly:
		f.Kind, f.Last, f.Payload = Data, bth[1]&0x80 != 0, uint32(len(behind))
		f.Stopped |= uint8(bit(bth[8]&0x80 != 0, 5))
		ok = ok && len(behind) <= MaxPayload && len(behind)%4 == 0 && (padding || body.parse(behind, int(pad)))
	case RCAck:
		a, rest, err := ParseAETH(behind)
		f.Kind, f.BECN, f.MSN = Ack, bth[4]&0x40 != 0, a.MSN
		f.Stopped |= uint8(bit(a.Syndrome == NakSequenceError, 6))
		ok = ok && f.CPID == 0 && err == nil && len(rest) == 0 && (a.Syndrome == AckNoCredit || a.Syndrome == NakSequenceError)
	case RoCENotification:
		f.Kind = CNP
		ok = ok && f.CPID == 0 && len(behind) == CNPSize && padding
	default:
		ok = false
	}
	if !ok {
		return false
	}
	if padding {
		behind = nil
	}
	var w roceHead
	sums := w.set(f, end+ICRCSize, pad, behind)
	return w.is(b, v6) && binary.LittleEndian.Uint64(b[end:]) == sums
}

// examineRoCE is readRoCE part by part, behind an FCS that is right, and says what is wrong. The packet
// starts at b[at]; b is all but the FCS.
func (f *Frame) examineRoCE(body *Body, b []byte, at int, v6 bool) error {
	p := b[at:]
	named, flow := f.Tagged || f.CPID != 0, f.QP
	f.Family, f.Stopped = RoCEv2, uint8(bit(v6, 4))
	udp := f.ipSize()
	bth, end := udp+UDPSize, len(p)-ICRCSize
	var err error
	switch {
	case end < bth+BTHSize:
		return refuse("packet", len(b), ErrTruncated)
	case v6:
		err = f.parseIPv6(p)
	default:
		err = f.parseIPv4(p)
	}
	switch {
	case err != nil:
		return shift(err, at)
	case binary.BigEndian.Uint16(p[udp+2:]) != RoCEPort:
		return refuse("UDP.Destination", at+udp+2, ErrUnsupported)
	case int(binary.BigEndian.Uint16(p[udp+4:])) != len(p)-udp:
		return refuse("UDP.Length", at+udp+4, ErrRange)
	case RoCEICRC(p[:end]) != binary.LittleEndian.Uint32(p[end:]):
		return refuse("ICRC", at+end, ErrChecksum)
	}
	if err := parseTransport(f, body, p[bth:end], allZero(p[bth+BTHSize:end])); err != nil {
		return shift(err, at+bth)
	}
	switch label, port := entropy(f.QP); {
	case named && flow != f.QP&0xFFFF:
		return refuse("BTH.DestQP", at+bth+5, ErrUnsupported) // not that of the tags
	case f.CPID != 0 && f.Kind != Data:
		return refuse("EtherType", at-2, ErrUnsupported) // only data has a rate-limited tag
	case binary.BigEndian.Uint16(p[udp:]) != port:
		return refuse("UDP.Source", at+udp, ErrUnsupported)
	case v6 && binary.BigEndian.Uint32(p)&0xFFFFF != label:
		return refuse("IPv6.FlowLabel", at+1, ErrUnsupported)
	}
	switch sum := binary.BigEndian.Uint16(p[udp+6:]); {
	case !v6 && sum != 0:
		return refuse("UDP.Checksum", at+udp+6, ErrUnsupported)
	case v6 && (sum == 0 || onesSum(uint32(protocolUDP+len(p)-IPv6Size), p[8:]) != 0xFFFF): // p[8:] begins with the addresses
		return refuse("UDP.Checksum", at+udp+6, ErrChecksum)
	}
	return nil
}

// parseIPv4 reads an IPv4 header in front of p, which is all of the packet, into f.
func (f *Frame) parseIPv4(p []byte) error {
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
	case !f.setClass(p[1]):
		return refuse("IPv4.ECN", 1, ErrUnsupported)
	}
	return nil
}

// parseIPv6 reads an IPv6 header in front of p, which is all of the packet, into f.
func (f *Frame) parseIPv6(p []byte) error {
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
	case !isMachine(p[8:], f.Src):
		return refuse("IPv6.Source", 8, ErrUnsupported)
	case !isMachine(p[24:], f.Dst):
		return refuse("IPv6.Destination", 24, ErrUnsupported)
	case !f.setClass(p[0]<<4 | p[1]>>4):
		return refuse("IPv6.ECN", 1, ErrUnsupported)
	}
	return nil
}

// isMachine reports whether p begins with the IPv6 address of a machine.
func isMachine(p []byte, l LID) bool {
	return binary.BigEndian.Uint64(p) == linkLocal && binary.BigEndian.Uint64(p[8:]) == interfaceID|uint64(l)
}

// setClass reads the traffic class of IPv6, or the byte of IPv4 that is the same. It reports
// whether its ECN field is one that is written.
func (f *Frame) setClass(class uint8) bool {
	const ect1, ce = 1, 3
	ecn := class & 3
	f.Classes, f.FECN = class>>2, ecn == ce
	f.Stopped |= uint8(bit(ecn != 0, 1))
	return ecn != ect1
}

// parseCNP completes f with what is special to a CNP, whose BTH has the words first and last and is followed
// by rest, all of it zero if padding says so.
func parseCNP(f *Frame, first uint64, last uint32, rest []byte, padding bool) error {
	switch {
	case !f.roce():
		return refuse("BTH.Opcode", 0, ErrUnsupported)
	case first&(1<<bthSolicited) != 0:
		return refuse("BTH.Solicited", 1, ErrUnsupported)
	case first&(1<<bthBECN) == 0:
		return refuse("BTH.BECN", 4, ErrUnsupported)
	case last&(1<<bthAckReq) != 0:
		return refuse("BTH.AckReq", 8, ErrUnsupported)
	case f.PSN != 0:
		return refuse("BTH.PSN", 9, ErrUnsupported)
	case len(rest) < CNPSize:
		return refuse("CNP", BTHSize+len(rest), ErrTruncated)
	case len(rest) > CNPSize:
		return refuse("CNP", BTHSize+CNPSize, ErrTrailing)
	case !padding:
		return refuse("CNP.Reserved", BTHSize, ErrReserved)
	}
	f.Kind = CNP
	return nil
}

// appendRoCEWords appends what a packet of RoCEv2 says, for people (Frame.AppendWords).
func appendRoCEWords(b []byte, f *Frame) []byte {
	r := f.RoCE()
	if r.IPv6 {
		b = append(b, " ipv6"...)
	}
	b = fmt.Appendf(b, " dscp=%d", r.DSCP)
	switch {
	case f.FECN:
		b = append(b, " ce"...)
	case r.ECT:
		b = append(b, " ect"...)
	}
	if r.AckReq {
		b = append(b, " ack-req"...)
	}
	if r.NAK {
		b = append(b, " nak"...)
	}
	return b
}
