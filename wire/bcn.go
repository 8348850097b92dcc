package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"fabemu/wire/unit"
)

// RLTagSize is the size of a rate-limited tag, in bytes, its EtherType included.
const RLTagSize = 14

// RLTag is the rate-limited tag of BCN, RLTagSize bytes behind the 802.1Q tag of a data
// frame whose flow has a rate limiter, the high byte of each field first. CPID is the
// congestion point that has put the limiter there; it is not 0.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------+-----------------------+
//	|        EtherType 8904         |Version|           0           |  0
//	+-------------------------------+-------+-----------------------+
//	|                           CPID (64)                           |  4
//	|                                                               |
//	+-------------------------------+-------------------------------+
//	|             Flow              |                                 12
//	+-------------------------------+
//
// EtherType 8904 is that of the IEEE's list for BCN. That a version, the CPID and a hash of
// the flow follow is known from US patent 8,792,352; their order and widths are ours.
type RLTag struct {
	CPID uint64
	Flow uint16 // a hash of the flow: here the low 16 bits of its QP
}

// Append appends the RLTagSize bytes of t to b.
func (t RLTag) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, typeRLTag<<16)
	b = binary.BigEndian.AppendUint64(b, t.CPID)
	return binary.BigEndian.AppendUint16(b, t.Flow)
}

// ParseRLTag reads a rate-limited tag from the front of b and returns what follows it. It
// refuses too few bytes, another EtherType or version, reserved bits, and no CPID.
func ParseRLTag(b []byte) (t RLTag, rest []byte, err error) {
	if len(b) < RLTagSize {
		return RLTag{}, nil, refuse("RLT", len(b), ErrTruncated)
	}
	first := binary.BigEndian.Uint32(b)
	t = RLTag{CPID: binary.BigEndian.Uint64(b[4:]), Flow: binary.BigEndian.Uint16(b[12:])}
	switch {
	case first>>16 != typeRLTag:
		err = refuse("RLT", 0, ErrUnsupported)
	case first&0xF000 != 0:
		err = refuse("RLT.Version", 2, ErrUnsupported)
	case first&0x0FFF != 0:
		err = refuse("RLT.Reserved", 2, ErrReserved)
	case t.CPID == 0:
		err = refuse("RLT.CPID", 4, ErrRange)
	}
	if err != nil {
		return RLTag{}, nil, err
	}
	return t, b[RLTagSize:], nil
}

// BCNSize is the size of a BCN message in front of what it carries of the sampled frame, in
// bytes, and BCNSampled is how much it carries at the least: of a packet of RoCEv2 over IPv6 14
// more, up to its BTH.
const (
	BCNSize    = 20
	BCNSampled = 64
)

// BCNVersion is the version of a BCN message. It stands where a data frame, which has the
// same EtherType, has DataVersion.
const BCNVersion = 2

// The flags of a BCN message.
const (
	BCNSevere uint8 = 1 << 7 // the queue was longer than Qsc
	BCNMild   uint8 = 1 << 6 // it was longer than Qeq
	BCNMax    uint8 = 1 << 5 // it was longer than the point's maximum
)

// BottleneckUnit is the unit of a BCN message's bottleneck rate, in bits per second.
const BottleneckUnit = 10_000_000

// BCNMessage is a message of Backward Congestion Notification, BCNSize bytes behind the
// EtherType 88B5, the high byte of each field first. The first BCNSampled bytes of the
// sampled frame follow, from its destination on, without its tags but that of 802.1Q.
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
// tells them from data frames. The fields up to the time stamp are those of US patent
// 8,792,352, their widths ours. No law reads the time stamp; it is 0. Bottleneck is Jain's
// enhancement ("Need to add bottleneck rate to the BCN message", slides of July 2006).
type BCNMessage struct {
	Flags      uint8  // BCNSevere (S), BCNMild (I), BCNMax (M)
	CPID       uint64 // which congestion point: its port, 16 bits, and the MAC of its switch
	QOff       int16  // Qeq - q, in units of 64 octets
	QDelta     int16  // arrivals less departures since the last sample, in units of 64 octets
	Bottleneck uint16 // rate of the congested line in units of BottleneckUnit; 0: not told
}

// bcnFlags are all flags.
const bcnFlags = BCNSevere | BCNMild | BCNMax

// Append appends the BCNSize bytes of m to b. Flags that are none are left out.
func (m *BCNMessage) Append(b []byte) []byte {
	b = append(b, BCNVersion, m.Flags&bcnFlags)
	b = binary.BigEndian.AppendUint64(b, m.CPID)
	b = binary.BigEndian.AppendUint32(b, uint32(uint16(m.QOff))<<16|uint32(uint16(m.QDelta)))
	b = binary.BigEndian.AppendUint32(b, 0)
	return binary.BigEndian.AppendUint16(b, m.Bottleneck)
}

// ParseBCN reads a BCN message from the front of b and returns what follows it, which begins
// with BCNSampled bytes of the sampled frame. It refuses too few bytes, another version,
// reserved bits, and a time stamp.
func ParseBCN(b []byte) (m BCNMessage, rest []byte, err error) {
	if len(b) < BCNSize+BCNSampled {
		return BCNMessage{}, nil, refuse("BCN", len(b), ErrTruncated)
	}
	m = BCNMessage{
		Flags: b[1], CPID: binary.BigEndian.Uint64(b[2:]),
		QOff: int16(binary.BigEndian.Uint16(b[10:])), QDelta: int16(binary.BigEndian.Uint16(b[12:])),
		Bottleneck: binary.BigEndian.Uint16(b[18:]),
	}
	switch {
	case b[0] != BCNVersion:
		err = refuse("BCN.Version", 0, ErrUnsupported)
	case m.Flags&^bcnFlags != 0:
		err = refuse("BCN.Reserved", 1, ErrReserved)
	case !allZero(b[14:18]):
		err = refuse("BCN.Timestamp", 14, ErrReserved)
	}
	if err != nil {
		return BCNMessage{}, nil, err
	}
	return m, b[BCNSize:], nil
}

// sampledSize returns how much a BCN message carries of the sampled frame: more than BCNSampled
// where its headers are longer, which are those of RoCEv2 over IPv6.
func (f *Frame) sampledSize() int { return max(BCNSampled, EthernetHeaderSize-2+f.SampledOctets()) }

// appendSampled appends the begin of the frame that f, a BCN message, is about, but for the zeros
// behind its headers.
func appendSampled(b []byte, f *Frame) []byte {
	b = f.Dst.MAC().appendTo(f.SampledDst.MAC().appendTo(b))
	b = VLANTag{Priority: f.SampledLane}.Append(binary.BigEndian.AppendUint16(b, typeVLAN))
	return f.appendHead(b)
}

// cpidOf returns the CPID of a congestion point at a port of the machine that sends f.
func cpidOf(f *Frame) uint64 { return f.CPID>>48<<48 | uint64(f.Src.MAC()) }

// appendBCN appends what follows the tags of a BCN message's frame, but for the zeros behind
// the head of the sampled frame. The MAC in the CPID is that of the sender.
func appendBCN(b []byte, f *Frame) []byte {
	m := BCNMessage{Flags: f.Flags, CPID: cpidOf(f), QOff: f.QOffset, QDelta: f.QDelta, Bottleneck: f.Bottleneck}
	return appendSampled(m.Append(binary.BigEndian.AppendUint16(b, typeData)), f)
}

// parseBCN completes f with a BCN message, which starts at b[at]; b is all but the FCS. The
// congestion point must be of the machine that has sent the message; the sampled frame must be
// a data frame, a data packet of RoCEv2 or a TCP segment, from where the message goes, and of the flow that the
// CN-TAG names if there is one.
func parseBCN(f *Frame, b []byte, at int) error {
	m, rest, err := ParseBCN(b[at:])
	if err != nil {
		return shift(err, at)
	}
	f.Kind = BCN
	f.Flags, f.CPID, f.QOffset, f.QDelta, f.Bottleneck = m.Flags, m.CPID, m.QOff, m.QDelta, m.Bottleneck
	if f.CPID != cpidOf(f) {
		return refuse("BCN.CPID", at+2, ErrUnsupported)
	}
	at += BCNSize
	if f.SampledDst, err = machineAt(b, at, "BCN.DA"); err != nil {
		return err
	}
	f.SampledLane = rest[14] >> 5
	var head [maxHead]byte
	copy(head[:], rest[EthernetHeaderSize-2:])
	qp := f.readHead(&head)
	if f.Tagged && CNTag(f.QP) != CNTag(qp) {
		return refuse("CN-TAG.FlowID", EthernetHeaderSize, ErrUnsupported)
	}
	f.QP = qp
	var again [EthernetHeaderSize - 2 + maxHead]byte
	want := appendSampled(again[:0], f)
	switch {
	case !bytes.HasPrefix(rest, want):
		return refuse("BCN.Frame", at, ErrUnsupported)
	case !allZero(rest[len(want):]):
		return refuse("BCN.Frame", at+len(want), ErrPayload)
	}
	return wantSize(b, at+max(len(want), BCNSampled))
}

// appendBCNWords appends what a message says, for people (Frame.AppendWords).
func appendBCNWords(b []byte, f *Frame) []byte {
	b = fmt.Appendf(b, " qoff=%d qdelta=%d", f.QOffset, f.QDelta)
	for _, flag := range [...]struct {
		bit  uint8
		name string
	}{{BCNSevere, "severe"}, {BCNMild, "mild"}, {BCNMax, "max"}} {
		if f.Flags&flag.bit != 0 {
			b = append(append(b, ' '), flag.name...)
		}
	}
	if f.Bottleneck > 0 {
		b = fmt.Appendf(b, " bottleneck=%v", unit.Rate(f.Bottleneck)*BottleneckUnit)
	}
	return fmt.Appendf(b, " cpid=%#x", f.CPID)
}
