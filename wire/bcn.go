package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// BCNSize is the size of a BCN message in front of the bytes of the sampled frame, in
// bytes, and BCNSampled is how many of these it carries at least: of a packet of RoCEv2 over IPv6
// 14 more, up to its BTH.
const (
	BCNSize    = 20
	BCNSampled = 64
)

// BCNVersion is the version of a BCN message. It is at the place where a data frame, which has the
// same EtherType, has DataVersion.
const BCNVersion = 2

// The flags of a BCN message.
const (
	BCNSevere uint8 = 1 << 7 // the queue was longer than Qsc
	BCNMild   uint8 = 1 << 6 // it was longer than Qeq
	BCNMax    uint8 = 1 << 5 // it was longer than the point's maximum
)

const bcnFlags = BCNSevere | BCNMild | BCNMax

// BottleneckUnit is the unit of a BCN message's bottleneck rate, in bits per second.
const BottleneckUnit = 10_000_000

// sampledSize returns how much a BCN message carries of the sampled frame: more than BCNSampled
// where its headers are longer, as over IPv6.
func (f *Frame) sampledSize() int {
	of := f.sampled()
	return max(BCNSampled, EthernetHeaderSize-2+of.SampledOctets())
}

// bcnPoint returns the CPID of a congestion point at a port of the node that sends f: the port, 16
// bits, and the MAC of the node.
func (f *Frame) bcnPoint() uint64 { return f.CPID>>48<<48 | uint64(f.Src.MAC()) }

// appendBCN appends a message of Backward Congestion Notification, but for the zeros behind the
// head of the sampled frame, the high byte of each field first. The first BCNSampled bytes of the
// sampled frame follow, from its destination on, of its tags only the one of 802.1Q.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-+-+-+---------+-------------------------------+
//	|  Version = 2  |S|I|M|    0    |           CPID (64)           |  0
//	+---------------+-+-+-+---------+                               |
//	|                                                               |  4
//	|                               +-------------------------------+
//	|                               |             Qoff              |  8
//	+-------------------------------+-------------------------------+
//	|            Qdelta             |           Timestamp           | 12
//	+-------------------------------+-------------------------------+
//	|         Timestamp = 0         |          Bottleneck           | 16
//	+-------------------------------+-------------------------------+
//
// The EtherType of BCN messages is not known: 88B5 is for local experiments, and the version
// separates them from data frames. The fields up to the time stamp are from US patent
// 8,792,352, their widths ours. No algorithm reads the time stamp; it is 0. Bottleneck is Jain's
// enhancement ("Need to add bottleneck rate to the BCN message", slides of July 2006).
func appendBCN(b []byte, f *Frame, _ Body) []byte {
	s, of := f.Sampled(), f.sampled()
	b = append(b, BCNVersion, f.Flags&bcnFlags)
	b = binary.BigEndian.AppendUint64(b, f.bcnPoint())
	b = binary.BigEndian.AppendUint32(b, uint32(uint16(s.QOffset))<<16|uint32(uint16(s.QDelta)))
	b = binary.BigEndian.AppendUint32(b, 0)
	return appendSampled(binary.BigEndian.AppendUint16(b, s.Bottleneck), &of)
}

// appendSampled appends the start of a frame that a BCN message is about.
func appendSampled(b []byte, of *Frame) []byte {
	return appendHead(appendVLAN(appendMAC(appendMAC(b, of.Dst.MAC()), of.Src.MAC()), of.Lane), of)
}

// parseBCN completes f with a BCN message, which starts at b[at]; b is all but the FCS. The
// congestion point must be of the node that has sent the message; the sampled frame must be
// a data frame, a data packet of RoCEv2 or a TCP segment, from where the message goes, and of the
// flow that the CN-TAG names if there is one.
func parseBCN(f *Frame, _ *Body, b []byte, at int) error {
	p, s := b[at:], f.Sampled()
	if len(p) < BCNSize+BCNSampled {
		return refuse("BCN", len(b), ErrTruncated)
	}
	rest := p[BCNSize:]
	dst, known := macAt(rest, 0)
	f.Kind, f.Flags, f.CPID = BCN, p[1], binary.BigEndian.Uint64(p[2:])
	switch {
	case f.Flags&^bcnFlags != 0:
		return refuse("BCN.Reserved", at+1, ErrReserved)
	case !allZero(p[14:18]):
		return refuse("BCN.Timestamp", at+14, ErrReserved)
	case f.CPID != f.bcnPoint():
		return refuse("BCN.CPID", at+2, ErrUnsupported)
	case !known:
		return refuse("BCN.DA", at+BCNSize, ErrUnsupported)
	}
	*s = SampleExtension{
		QOffset: int16(binary.BigEndian.Uint16(p[10:])), QDelta: int16(binary.BigEndian.Uint16(p[12:])),
		Bottleneck: binary.BigEndian.Uint16(p[18:]), Dst: dst, Lane: rest[14] >> 5,
	}
	at += BCNSize
	var head [maxHead]byte
	copy(head[:], rest[EthernetHeaderSize-2:])
	of := readHead(&head)
	if f.Tagged && CNTag(f.QP) != CNTag(of.QP) {
		return refuse("CN-TAG.FlowID", EthernetHeaderSize, ErrUnsupported)
	}
	f.Sample(&of)
	of = f.sampled()
	var again [EthernetHeaderSize - 2 + maxHead]byte
	want := appendSampled(again[:0], &of)
	switch {
	case !bytes.HasPrefix(rest, want):
		return refuse("BCN.Frame", at, ErrUnsupported)
	case !allZero(rest[len(want):]):
		return refuse("BCN.Frame", at+len(want), ErrPayload)
	}
	return wantSize(b, at+max(len(want), BCNSampled))
}

var bcnFields = slices.Concat([]Field{
	versionField,
	{Key: "flags", access: ofFlags},
	{Word: "qoff", Key: "qoffset", Form: Signed, access: ofQOffset, Title: "Qoff (64 octets)", At: 10, Size: 2},
	{Word: "qdelta", Key: "qdelta", Form: Signed, access: ofQDelta, Title: "Qdelta (64 octets)", At: 12, Size: 2},
	{Word: "severe", Form: Flag, access: is(hasFlag(BCNSevere)), Title: "Severe congestion", At: 1, Size: 1, Mask: uint64(BCNSevere)},
	{Word: "mild", Form: Flag, access: is(hasFlag(BCNMild)), Title: "Mild congestion", At: 1, Size: 1, Mask: uint64(BCNMild)},
	{Word: "max", Form: Flag, access: is(hasFlag(BCNMax)), Title: "Above the maximum", At: 1, Size: 1, Mask: uint64(BCNMax)},
	{Filter: "timestamp", Title: "Time stamp", At: 14, Size: 4},
	{Word: "bottleneck", Key: "bottleneck", Form: Bottleneck, access: number(func(f *Frame) *uint16 { return &f.Sampled().Bottleneck }),
		Has:   func(f *Frame) bool { return f.Sampled().Bottleneck > 0 },
		Title: "Rate of the bottleneck (10 Mb/s)", At: 18, Size: 2},
	{Word: "cpid", Key: "cpid", Form: Hex, access: ofCPID, Title: "Congestion point", At: 2, Size: 8},
	{Key: "psn", access: ofPSN}, {Key: "fecn", access: ofFECN}, {Key: "last", access: ofLast}, {Key: "payload", access: ofPayload},
	{Key: "sampled-priority", access: ofSampledLane},
	{Key: "sampled-dst", Form: Address, access: ofSampledDst, Filter: "dst", Title: "Destination of the sampled frame",
		At: BCNSize, Size: 6, ByHand: true},
	{Form: Octets, Filter: "frame", Title: "Sampled frame", ByHand: true},
	{Filter: "qp", Title: "Queue pair (flow)", Type: "uint24", ByHand: true},
	{Filter: "psn", Title: "Packet sequence number", Type: "uint24", ByHand: true},
}, addressees)
