package wire

import (
	"bytes"
	"encoding/binary"
)

// CNMSize is the size of a CNM in front of what it carries of the sampled frame, in
// bytes.
const CNMSize = 24

// MaxOctets is how much of the MSDU of the sampled frame a CNM carries at most.
const MaxOctets = 64

// CNM is a congestion notification message (IEEE 802.1Qau), CNMSize bytes behind the
// EtherType 22E7, the high byte of each field first. The first Octets bytes of the
// sampled frame's MSDU follow, from its EtherType on.
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
type CNM struct {
	Version      uint8  // 0 to 15; 0 is the only one
	Fb           uint8  // quantised feedback, 0 to 63
	CPID         uint64 // which congestion point
	QOffset      int16  // Qeq - q, in units of 64 octets
	QDelta       int16  // q - qold, in units of 64 octets
	Priority     uint8  // of the sampled frame, 0 to 7
	DropEligible bool   // D, of the sampled frame
	Dst          MAC    // of the sampled frame
	Octets       uint16 // how many bytes of its MSDU follow, 0 to MaxOctets
}

// Append appends the CNMSize bytes of m to b. Of a field that is too large only the
// bits that fit are written.
func (m *CNM) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(m.Version)<<12|uint16(m.Fb&0x3F))
	b = binary.BigEndian.AppendUint64(b, m.CPID)
	b = binary.BigEndian.AppendUint32(b, uint32(uint16(m.QOffset))<<16|uint32(uint16(m.QDelta)))
	b = VLANTag{Priority: m.Priority, DropEligible: m.DropEligible}.Append(b)
	return binary.BigEndian.AppendUint16(m.Dst.appendTo(b), m.Octets)
}

// ParseCNM reads a CNM from the front of b and returns what follows it, which begins
// with the Octets bytes of the sampled frame. It refuses too few bytes, reserved
// bits, and Octets above MaxOctets.
func ParseCNM(b []byte) (m CNM, rest []byte, err error) {
	if err := m.parse(b); err != nil {
		return CNM{}, nil, err
	}
	return m, b[CNMSize:], nil
}

// parse is ParseCNM in place, as for the LRH.
func (m *CNM) parse(b []byte) error {
	if len(b) < CNMSize {
		return refuse("CNM", len(b), ErrTruncated)
	}
	first, second, third := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	encapsulated := vlanTag(uint16(second))
	m.Version, m.Fb = uint8(first>>60), uint8(first>>48&0x3F)
	m.CPID = first<<16 | second>>48
	m.QOffset, m.QDelta = int16(second>>32), int16(second>>16)
	m.Priority, m.DropEligible = encapsulated.Priority, encapsulated.DropEligible
	m.Dst, m.Octets = MAC(third>>16), uint16(third)
	switch {
	case first&(0x0FC0<<48) != 0:
		return refuse("CNM.Reserved", 0, ErrReserved)
	case encapsulated.VID != 0:
		return refuse("CNM.Reserved", 14, ErrReserved)
	case m.Octets > MaxOctets:
		return refuse("CNM.Octets", 22, ErrRange)
	case len(b) < CNMSize+int(m.Octets):
		return refuse("CNM.MSDU", CNMSize, ErrTruncated)
	}
	return nil
}

// octets returns how many octets of the sampled frame f, a Notification, carries: of an IP packet
// all headers, if any.
func (f *Frame) octets() int {
	n := int(min(f.Octets, MaxOctets))
	if n > 0 && f.Stopped&(tcpSampled|roceSampled) != 0 {
		n = max(n, f.SampledOctets())
	}
	return n
}

// appendNotification appends what follows the tags of a CNM frame, but for the zeros
// behind the head of the sampled frame.
func appendNotification(b []byte, f *Frame) []byte {
	m := CNM{
		Fb: f.Fb, CPID: f.CPID, QOffset: f.QOffset, QDelta: f.QDelta,
		Priority: f.SampledLane, Dst: f.SampledDst.MAC(), Octets: uint16(f.octets()),
	}
	b = m.Append(binary.BigEndian.AppendUint16(b, typeNotification))
	if m.Octets == 0 {
		return b
	}
	at := len(b)
	b = f.appendHead(b)
	return b[:min(len(b), at+int(m.Octets))]
}

// parseNotification completes f with a CNM, which starts at b[at]; b is all but the
// FCS. The octets of the sampled frame must be those of a Data frame, or all headers of a
// TCP segment or a packet of RoCEv2, and of the flow that the CN-TAG names if there is one.
func parseNotification(f *Frame, b []byte, at int) error {
	var m CNM
	if err := m.parse(b[at:]); err != nil {
		return shift(err, at)
	}
	sampled, known := m.Dst.LID()
	switch {
	case m.Version != 0:
		return refuse("CNM.Version", at, ErrUnsupported)
	case m.DropEligible:
		return refuse("CNM.DEI", at+14, ErrUnsupported)
	case !known:
		return refuse("CNM.DA", at+16, ErrUnsupported)
	}
	f.Kind = Notification
	f.Fb, f.CPID, f.QOffset, f.QDelta = m.Fb, m.CPID, m.QOffset, m.QDelta
	f.SampledLane, f.SampledDst, f.Octets = m.Priority, sampled, uint8(m.Octets)
	at += CNMSize

	rest := b[at:]
	var head, again [maxHead]byte
	copy(head[:], rest[:m.Octets])
	qp := f.readHead(&head)
	if f.Tagged {
		qp = qp&0xFF0000 | f.QP // the tag has the low bits, also where the MSDU is cut in front of them
	}
	f.QP = qp
	want := f.appendHead(again[:0])
	n := min(len(want), int(m.Octets))
	switch {
	case !bytes.Equal(want[:n], head[:n]):
		return refuse("CNM.MSDU", at, ErrUnsupported)
	case n < len(want) && f.Stopped&(tcpSampled|roceSampled) != 0: // of an IP packet it carries all headers
		return refuse("CNM.Octets", at-2, ErrRange)
	case !allZero(rest[n:]):
		return refuse("CNM.MSDU", at+n, ErrPayload)
	}
	return wantSize(b, at+int(m.Octets))
}
