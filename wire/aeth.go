package wire

import "encoding/binary"

// AETH is the acknowledgement extended transport header, 4 bytes: the syndrome,
// then the MSN, its high byte first.
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // how many messages the receiver has completed, 24 bits
}

// Syndrome is the meaning of an acknowledgement: 000ccccc is an ACK with a credit
// code, 001ttttt an RNR NAK with a timer code, 011nnnnn a NAK with an error
// code.
type Syndrome uint8

// AckNoCredit is the syndrome of an ACK whose credit field is not used
// (ccccc = 31): the credit here belongs to the link, not to the queue pair.
const AckNoCredit Syndrome = 0x1F

// NakSequenceError is the syndrome of a NAK for a packet that is ahead of the one that should
// come (IBTA Volume 1, 9.7.5.2.8): all from that one on are to be retransmitted.
const NakSequenceError Syndrome = 0x60

// Append appends the AETHSize bytes of h to b. Only 24 bits of the MSN are
// written.
func (h AETH) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(h.Syndrome)<<24|h.MSN&0xFFFFFF)
}

// ParseAETH reads an AETH from the front of b and returns the bytes behind it. It
// refuses too few bytes.
func ParseAETH(b []byte) (h AETH, rest []byte, err error) {
	if len(b) < AETHSize {
		return AETH{}, nil, refuse("AETH", len(b), ErrTruncated)
	}
	w := binary.BigEndian.Uint32(b)
	return AETH{Syndrome: Syndrome(w >> 24), MSN: w & 0xFFFFFF}, b[AETHSize:], nil
}
