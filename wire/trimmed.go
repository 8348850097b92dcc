package wire

import (
	"encoding/binary"
	"slices"

	"fabemu/wire/unit"
)

// Trim cuts f as a switch does that has no room for all of it: its packet of IP gets at most size
// bytes, at least TrimLeast, and a DSCP that says what happened. It returns false, and f stays
// whole, if f cannot be cut or would not become shorter: only data packets of RoCEv2 and UET whose
// payload is padding can be. Their headers stay, but for those of UET's semantic sublayer.
func (f *Frame) Trim(size unit.Size, dscp uint8) bool {
	if f.Kind != Data || f.Family != RoCEv2 && f.Family != UET || f.HasBody() || f.Telemetry() != NoTelemetry {
		return false
	}
	words := min(int(size)-f.Bits.ofIP()-UDPSize, maxKept) / 4
	if words*4 < f.kept() || f.Bits.ofIP()+UDPSize+words*4 >= f.form().more(lent(f)) {
		return false
	}
	f.Kind, f.Flags, f.DSCP, f.CPID = Trimmed, uint8(words), dscp&63, 0
	if f.Family == UET && !f.keepsTag() {
		f.MSN = 0
	}
	return true
}

// TrimLeast and TrimMost are the range of the size of Trim. Packets of IPv6 with a stamp need more
// than the least.
const (
	TrimLeast unit.Size = 64
	TrimMost  unit.Size = 1024
)

// maxKept is how much remains at most behind the header of UDP.
const maxKept = 255 * 4

// kept returns how much must remain of a data packet behind the header of UDP: its headers, and so
// much that no frame has to be filled up.
func (f *Frame) kept() int {
	if f.Family == UET {
		return f.ofPDS() + sesLeast
	}
	n := BTHSize + f.ofStamp()
	if f.Bits&bitImmediate != 0 {
		n += ImmediateSize
	}
	return max(n, BTHSize+ICRCSize)
}

// Headers returns the least size that Trim can cut a data packet of RoCEv2 to.
func (f *Frame) Headers() unit.Size { return unit.Size(f.Bits.ofIP() + UDPSize + f.kept()) }

// TrimCodes are the DSCPs of packets that were trimmed: by a switch that another one follows, and
// by the last one on the path, where only the destination itself receives too much. If both are the
// same, nobody can distinguish them.
type TrimCodes struct{ Fabric, LastHop uint8 }

// AtLastHop reports whether f, a Trimmed packet, was cut by the last switch.
func (c TrimCodes) AtLastHop(f *Frame) bool { return f.DSCP == c.LastHop && c.LastHop != c.Fabric }

// ofTrimmed returns the size of a Trimmed packet, IP header included.
func (f *Frame) ofTrimmed() int { return f.Bits.ofIP() + UDPSize + int(f.Flags)*4 }

// appendTrimmed appends a packet that a switch has cut: the first bytes of the data packet that it
// was, with another length, another DSCP and, of IPv4, another checksum in the header of IP. As SAI
// has it, these are all that the switch writes anew (SAI-Proposal-Packet-Trimming,
// SAI_BUFFER_PROFILE_PACKET_ADMISSION_FAIL_ACTION_DROP_AND_TRIM). So the length in the header of
// UDP, and the checksum of UDP over IPv6, still are those of the whole packet, and the ICRC is
// gone: a receiver that does not know of trimming takes the packet for damaged.
func appendTrimmed(b []byte, f *Frame, _ Body) []byte {
	var room [longestHeaders]byte
	whole := *f
	whole.Kind, whole.Flags = Data, 0
	if f.Family == UET {
		return appendCutUET(b, &whole, f.ofTrimmed())
	}
	n, size := whole.ofRoCE(), f.ofTrimmed()
	p := whole.bth().Append(appendUDP(room[:0], &whole, n))
	bth := len(p) - BTHSize
	if f.Stamped() {
		p = appendStamp(p, &whole, Body{})
	}
	p = appendImmediate(p, &whole)
	if f.Bits&bitIPv6 != 0 {
		check := icrc.padding(icrc.update(icrcHead(p, bth), p[bth+BTHSize:]), n-ICRCSize-len(p))
		putSumIPv6(p, bth, p[bth+BTHSize:], ^check)
		binary.BigEndian.PutUint16(p[4:], uint16(size-IPv6Size))
	} else {
		binary.BigEndian.PutUint16(p[2:], uint16(size))
		clear(p[10:12])
		binary.BigEndian.PutUint16(p[10:], ^onesSum(0, p[:IPv4Size]))
	}
	return appendZeros(append(b, p...), size-len(p))
}

// longestHeaders is the size of all headers of a packet that can be cut.
const longestHeaders = IPv6Size + UDPSize + BTHSize + StampSize + ImmediateSize

// parseTrimmed completes f with a packet p that was cut, whose header of UDP is at an offset. named
// is whether tags name the flow. Nothing in the packet protects what is left of it, so it is
// compared with what Append would write.
func parseTrimmed(f *Frame, p []byte, udp int, named bool) error {
	bth, flow := udp+UDPSize, f.QP
	var h BTH
	if err := h.parse(p[bth:]); err != nil {
		return shift(err, bth)
	}
	switch h.Opcode {
	case StampedSendOnly, StampedSendImmediate:
		f.Bits |= bitStamped
	case RCSendOnly, RCSendImmediate:
	default:
		return refuse("BTH.Opcode", bth, ErrUnsupported)
	}
	if h.Opcode&^stampedOpcodes == RCSendImmediate {
		f.Bits |= bitImmediate
	}
	f.Bits |= bitAckReq.when(h.AckReq)
	f.Kind, f.QP, f.PSN, f.Last = Trimmed, h.DestQP, h.PSN, h.Solicited
	kept, at := len(p)-bth, bth+BTHSize
	whole := int(binary.BigEndian.Uint16(p[udp+4:])) + udp
	payload := whole - at - f.ofStamp() - ICRCSize
	if f.Bits&bitImmediate != 0 {
		payload -= ImmediateSize
	}
	source := binary.BigEndian.Uint16(p[udp:])
	switch {
	case named && flow != f.QP&0xFFFF:
		return refuse("BTH.DestQP", bth+5, ErrUnsupported)
	case f.CPID != 0:
		return refuse("EtherType", -2, ErrUnsupported)
	case source < LeastSourcePort:
		return refuse("UDP.Source", udp, ErrUnsupported)
	case kept%4 != 0 || kept > maxKept || payload < 0 || payload > MaxPayload || payload%4 != 0:
		return refuse("UDP.Length", udp+4, ErrRange)
	case kept < f.kept():
		return refuse("headers", len(p), ErrTruncated)
	}
	f.Flags, f.Payload = uint8(kept/4), uint32(payload)
	f.SetSourcePort(source)
	if f.Stamped() {
		if f.Stamp().SentAt = unit.Time(binary.BigEndian.Uint64(p[at+4:])); f.Stamp().SentAt < 0 {
			return refuse("stamp.Sent", at+4, ErrRange)
		}
		at += StampSize
	}
	if f.Bits&bitImmediate != 0 {
		f.MSN = binary.BigEndian.Uint32(p[at:])
	}
	var room [IPv6Size + UDPSize + maxKept]byte
	q := appendTrimmed(room[:0], f, Body{})
	for i := range q {
		if p[i] != q[i] {
			return refuse("packet", i, ErrUnsupported)
		}
	}
	return nil
}

// trimmedFields are the fields of a Trimmed packet.
var trimmedFields = slices.Concat(packetFields, []Field{
	{Word: "payload", access: ofPayload},
	{Word: "kept", access: access{Of: func(f *Frame) int64 { return int64(f.ofTrimmed()) }}},
})
