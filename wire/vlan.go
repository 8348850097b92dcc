package wire

import "encoding/binary"

// VLANTag is the tag control information of IEEE 802.1Q, 9.6: 2 bytes, the high one
// first, that follow the EtherType 8100.
//
//	 0                   1
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
//	+-----+-+-----------------------+
//	| PCP |D|          VID          |
//	+-----+-+-----------------------+
type VLANTag struct {
	Priority     uint8  // PCP, 0 to 7
	DropEligible bool   // D: goes first where something must be dropped
	VID          uint16 // VLAN, 12 bits; 0 is none, the tag carries the priority only
}

// VLANTagSize is the size of a VLANTag, in bytes.
const VLANTagSize = 2

// Append appends the VLANTagSize bytes of t to b. Of a field that is too large only
// the bits that fit are written.
func (t VLANTag) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint16(b, uint16(t.word()))
}

// word returns the bytes of t as a number, the high one first.
func (t VLANTag) word() uint64 {
	return uint64(t.Priority&7)<<13 | bit(t.DropEligible, 12) | uint64(t.VID&0xFFF)
}

// ParseVLANTag reads a VLANTag from the front of b and returns what follows it. It
// refuses too few bytes.
func ParseVLANTag(b []byte) (t VLANTag, rest []byte, err error) {
	if len(b) < VLANTagSize {
		return VLANTag{}, nil, refuse("802.1Q", len(b), ErrTruncated)
	}
	return vlanTag(binary.BigEndian.Uint16(b)), b[VLANTagSize:], nil
}

// vlanTag returns the tag whose bytes are those of w, the high one first.
func vlanTag(w uint16) VLANTag {
	return VLANTag{Priority: uint8(w >> 13), DropEligible: w&(1<<12) != 0, VID: w & 0xFFF}
}
