package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// CNMSize is the size of a CNM in front of the octets of the sampled frame, in bytes.
const CNMSize = 24

// MaxOctets is how much of the MSDU of the sampled frame a CNM carries at most.
const MaxOctets = 64

// octets returns how many octets of the sampled frame f, a Notification, carries: of an IP packet
// all headers, if any.
func (f *Frame) octets() int {
	s := f.Sampled()
	n := int(min(s.Octets, MaxOctets))
	if n > 0 && s.kind != 0 {
		of := f.sampled()
		n = max(n, of.SampledOctets())
	}
	return n
}

// appendCNM appends a congestion notification message (IEEE 802.1Qau), but for the zeros behind the
// head of the sampled frame, the high byte of each field first. Version and D are 0. The first
// Octets bytes of the sampled frame's MSDU follow, from its EtherType on.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------+-----------+-----------+-------------------------------+
//	|Version|     0     |    Fb     |           CPID (64)           |  0
//	+-------+-----------+-----------+                               |
//	|                                                               |  4
//	|                               +-------------------------------+
//	|                               |            QOffset            |  8
//	+-------------------------------+-----+-+-----------------------+
//	|            QDelta             | PCP |D|           0           | 12
//	+-------------------------------+-----+-+-----------------------+
//	|               destination of the sampled frame                | 16
//	|                               +-------------------------------+
//	|                               |            Octets             | 20
//	+-------------------------------+-------------------------------+
func appendCNM(b []byte, f *Frame, _ Body) []byte {
	s, octets := f.Sampled(), f.octets()
	b = binary.BigEndian.AppendUint16(b, uint16(s.Fb&0x3F))
	b = binary.BigEndian.AppendUint64(b, f.CPID)
	b = binary.BigEndian.AppendUint32(b, uint32(uint16(s.QOffset))<<16|uint32(uint16(s.QDelta)))
	b = binary.BigEndian.AppendUint16(b, uint16(s.Lane&7)<<13)
	b = binary.BigEndian.AppendUint16(appendMAC(b, s.Dst.MAC()), uint16(octets))
	if octets == 0 {
		return b
	}
	of, at := f.sampled(), len(b)
	b = appendHead(b, &of)
	return b[:min(len(b), at+octets)]
}

// parseCNM completes f with a CNM, which starts at b[at]; b is all but the
// FCS. The octets of the sampled frame must belong to a Data frame, or all headers of a
// TCP segment or a packet of RoCEv2, and of the flow that the CN-TAG names if there is one.
func parseCNM(f *Frame, _ *Body, b []byte, at int) error {
	p, s := b[at:], f.Sampled()
	first, tag, octets := binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[14:]), int(binary.BigEndian.Uint16(p[22:]))
	dst, known := macAt(p, 16)
	switch {
	case first&0x0FC0 != 0:
		return refuse("CNM.Reserved", at, ErrReserved)
	case tag&vlanID != 0:
		return refuse("CNM.Reserved", at+14, ErrReserved)
	case octets > MaxOctets:
		return refuse("CNM.Octets", at+22, ErrRange)
	case len(p) < CNMSize+octets:
		return refuse("CNM.MSDU", at+CNMSize, ErrTruncated)
	case first>>12 != 0:
		return refuse("CNM.Version", at, ErrUnsupported)
	case tag&vlanDropEligible != 0:
		return refuse("CNM.DEI", at+14, ErrUnsupported)
	case !known:
		return refuse("CNM.DA", at+16, ErrUnsupported)
	}
	f.Kind, f.CPID = Notification, binary.BigEndian.Uint64(p[2:])
	*s = SampleExtension{
		QOffset: int16(binary.BigEndian.Uint16(p[10:])), QDelta: int16(binary.BigEndian.Uint16(p[12:])),
		Dst: dst, Lane: uint8(tag >> 13), Fb: uint8(first & 0x3F), Octets: uint8(octets),
	}
	at += CNMSize
	p = p[CNMSize:]

	var head, again [maxHead]byte
	copy(head[:], p[:octets])
	of := readHead(&head)
	if f.Tagged {
		of.QP = of.QP&0xFF0000 | f.QP // the tag has the low bits, also where the MSDU is cut in front of them
	}
	f.Sample(&of)
	of = f.sampled()
	want := appendHead(again[:0], &of)
	n := min(len(want), octets)
	switch {
	case !bytes.Equal(want[:n], head[:n]):
		return refuse("CNM.MSDU", at, ErrUnsupported)
	case n < len(want) && s.kind != 0: // of an IP packet it carries all headers
		return refuse("CNM.Octets", at-2, ErrRange)
	case !allZero(p[n:]):
		return refuse("CNM.MSDU", at+n, ErrPayload)
	}
	return wantSize(b, at+octets)
}

var cnmFields = slices.Concat([]Field{
	{Filter: "version", Title: "Version", Size: 2, Mask: 0xF000},
	{Word: "fb", Key: "fb", access: number(func(f *Frame) *uint8 { return &f.Sampled().Fb }), Title: "Quantised feedback",
		Size: 2, Mask: 0x3F},
	{Word: "qoffset", Key: "qoffset", Form: Signed, access: ofQOffset, Title: "QOffset (64 octets)", At: 10, Size: 2},
	{Word: "qdelta", Key: "qdelta", Form: Signed, access: ofQDelta, Title: "QDelta (64 octets)", At: 12, Size: 2},
	{Word: "cpid", Key: "cpid", Form: Hex, access: ofCPID, Title: "Congestion point", At: 2, Size: 8},
	{Key: "psn", access: ofPSN}, {Key: "fecn", access: ofFECN}, {Key: "last", access: ofLast}, {Key: "payload", access: ofPayload},
	{Key: "octets", access: number(func(f *Frame) *uint8 { return &f.Sampled().Octets }), Filter: "octets",
		Title: "Octets of the sampled frame", At: 22, Size: 2},
	{Key: "sampled-priority", access: ofSampledLane, Filter: "priority", Title: "Priority of the sampled frame",
		At: 14, Size: 2, Mask: 0xE000},
	{Key: "sampled-dst", Form: Address, access: ofSampledDst, Filter: "dst", Title: "Destination of the sampled frame", At: 16, Size: 6},
	{Form: Octets, Filter: "msdu", Title: "Sampled frame", ByHand: true},
	{Filter: "qp", Title: "Queue pair (flow)", Doc: "Of the sampled frame", Type: "uint24", ByHand: true},
	{Filter: "psn", Title: "Packet sequence number", Doc: "Of the sampled frame", Type: "uint24", ByHand: true},
}, addressees)
