package wire

import "encoding/binary"

// CNTag is the congestion notification tag of IEEE 802.1Qau, 4 bytes: the EtherType
// 22E9 and a flow identifier, the high byte first. It stands behind the 802.1Q tag.
// The identifier means something to the source alone, which finds it again in the
// notifications that its frames have caused.
type CNTag uint16

// Append appends the CNTagSize bytes of t to b.
func (t CNTag) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, typeCNTag<<16|uint32(t))
}

// ParseCNTag reads a CN-TAG from the front of b and returns what follows it. It
// refuses too few bytes and another EtherType.
func ParseCNTag(b []byte) (t CNTag, rest []byte, err error) {
	if len(b) < CNTagSize {
		return 0, nil, refuse("CN-TAG", len(b), ErrTruncated)
	}
	w := binary.BigEndian.Uint32(b)
	if w>>16 != typeCNTag {
		return 0, nil, refuse("CN-TAG", 0, ErrUnsupported)
	}
	return CNTag(w), b[CNTagSize:], nil
}
