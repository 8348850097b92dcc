package wire

import "encoding/binary"

// GRHSize is the size of a GRH, in bytes.
const GRHSize = 40

// GRH is the global route header, which has the form of an IPv6 header: behind the
// LRH of a packet that leaves its subnet, and in front of each packet of RoCE before
// version 2. 40 bytes, the high byte of each field first.
type GRH struct {
	Version      uint8    // 6
	TrafficClass uint8    // TClass
	FlowLabel    uint32   // 20 bits
	PayLen       uint16   // bytes behind the GRH to the last of the ICRC
	NextHeader   uint8    // 0x1B: a BTH
	HopLimit     uint8    // HopLmt
	SGID, DGID   [16]byte // from where, and to where
}

// NextTransport is the NextHeader of a GRH that a BTH follows.
const NextTransport = 0x1B

// Append appends the GRHSize bytes of h to b. Of a field that is too large only the
// bits that fit are written.
func (h *GRH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.Version&0xF)<<28|uint32(h.TrafficClass)<<20|h.FlowLabel&0xFFFFF)
	b = binary.BigEndian.AppendUint16(b, h.PayLen)
	b = append(b, h.NextHeader, h.HopLimit)
	return append(append(b, h.SGID[:]...), h.DGID[:]...)
}

// ParseGRH reads a GRH from the front of b and returns the bytes behind it. It refuses
// too few bytes, and another version than 6.
func ParseGRH(b []byte) (h GRH, rest []byte, err error) {
	if len(b) < GRHSize {
		return GRH{}, nil, refuse("GRH", len(b), ErrTruncated)
	}
	w := binary.BigEndian.Uint32(b)
	if w>>28 != 6 {
		return GRH{}, nil, refuse("GRH.IPVer", 0, ErrUnsupported)
	}
	h = GRH{
		Version: 6, TrafficClass: uint8(w >> 20), FlowLabel: w & 0xFFFFF,
		PayLen: binary.BigEndian.Uint16(b[4:]), NextHeader: b[6], HopLimit: b[7],
		SGID: [16]byte(b[8:]), DGID: [16]byte(b[24:]),
	}
	return h, b[GRHSize:], nil
}
