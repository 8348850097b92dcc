package wire

import "encoding/binary"

// LRH is the local route header, the first 8 bytes of every data packet, the
// high byte of each field first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------+-------+-------+---+---+-------------------------------+
//	|  VL   | LVer  |  SL   | 0 |LNH|             DLID              |
//	+-------+-------+-------+---+---+-------------------------------+
//	|    0    |       Length        |             SLID              |
//	+---------+---------------------+-------------------------------+
type LRH struct {
	VL     uint8  // virtual lane, 0 to 15
	LVer   uint8  // version of the link, 0 to 15; 0 is the only one
	SL     uint8  // service level, 0 to 15
	LNH    LNH    // which header follows, 0 to 3
	DLID   LID    // where the packet goes
	Length uint16 // from the first byte of the LRH to the last of the ICRC, in words of 4 bytes, 11 bits
	SLID   LID    // where the packet comes from
}

// LNH names the header behind an LRH.
type LNH uint8

// The headers that can follow an LRH.
const (
	NextEtherType LNH = 0 // raw packet with an EtherType
	NextIPv6      LNH = 1 // raw IPv6 packet
	NextBTH       LNH = 2 // local routing
	NextGRH       LNH = 3 // global routing
)

// Append appends the LRHSize bytes of h to b. Of a field that is too large only
// the bits that fit are written.
func (h LRH) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(h.VL)<<60|uint64(h.LVer&0xF)<<56|uint64(h.SL&0xF)<<52|uint64(h.LNH&3)<<48|
		uint64(h.DLID)<<32|uint64(h.Length&0x7FF)<<16|uint64(h.SLID))
}

// ParseLRH reads an LRH from the front of b and returns the bytes behind it. It
// refuses too few bytes and reserved bits.
func ParseLRH(b []byte) (h LRH, rest []byte, err error) {
	if len(b) < LRHSize {
		return LRH{}, nil, refuse("LRH", len(b), ErrTruncated)
	}
	if err := h.parse(b); err != nil {
		return LRH{}, nil, err
	}
	return h, b[LRHSize:], nil
}

// parse reads an LRH into h, with the checks of ParseLRH. It does not return the header by value,
// because the copy through the stack costs more than reading it. b has at least LRHSize bytes.
func (h *LRH) parse(b []byte) error {
	w := binary.BigEndian.Uint64(b)
	switch {
	case w&(0x3<<50) != 0:
		return refuse("LRH.Reserved", 1, ErrReserved)
	case w&(0x1F<<27) != 0:
		return refuse("LRH.Reserved", 4, ErrReserved)
	}
	h.VL = uint8(w >> 60)
	h.LVer = uint8(w>>56) & 0xF
	h.SL = uint8(w>>52) & 0xF
	h.LNH = LNH(w>>48) & 3
	h.DLID = LID(w >> 32)
	h.Length = uint16(w >> 16)
	h.SLID = LID(w)
	return nil
}
