package wire

import "encoding/binary"

// Preamble is the preamble of a frame. 0 is the usual one; otherwise the frame has a sequence of
// link layer retry (package wire/retry).
type Preamble uint32

// MaxSequence is the highest sequence that a preamble can hold: 20 bits.
const MaxSequence = 1<<20 - 1

// sequenced is the bit of a Preamble with a sequence.
const sequenced = MaxSequence + 1

// PreambleSize is how many bytes the preamble of a frame has on the link, its start delimiter
// included. Lengths on the link count it for every frame.
const PreambleSize = 8

// preambled is the bit of a Delimiter in a trailer that has a preamble in front of it.
const preambled = 0x80

// Sequenced returns the preamble of a frame with a sequence, of which the low 20 bits count.
func Sequenced(sequence uint32) Preamble { return sequenced | Preamble(sequence&MaxSequence) }

// Sequence returns the sequence in a preamble, and whether it has one.
func (p Preamble) Sequence() (sequence uint32, ok bool) { return uint32(p) & MaxSequence, p != 0 }

// Append appends the PreambleSize bytes of a preamble with a sequence:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-------+---------------------------------------+
//	|   Start = FB  |   7   |             Sequence (20)             |
//	+---------------+-------+-----------------------+---------------+
//	|                    555555                     |    SFD = D5   |
//	+-----------------------------------------------+---------------+
//
// The layout is the preamble of an LLR frame in public descriptions of Ultra Ethernet 1.0; the
// specification itself was not at hand. On a real line it is in front of the frame. In our
// datagrams it is behind the frame, in front of the trailer, so that a dissector finds the frame
// where it looks.
func (p Preamble) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(b, 0xFB7<<52|uint64(p&MaxSequence)<<32|0x555555D5)
}

// parsePreamble reads a preamble with a sequence, which begins at b[at] and has PreambleSize bytes.
func parsePreamble(b []byte) (Preamble, error) {
	v := binary.BigEndian.Uint64(b)
	switch {
	case v>>52 != 0xFB7:
		return 0, refuse("Preamble.Start", -PreambleSize, ErrUnsupported)
	case uint32(v) != 0x555555D5:
		return 0, refuse("Preamble.SFD", 4-PreambleSize, ErrUnsupported)
	}
	return Sequenced(uint32(v >> 32)), nil
}
