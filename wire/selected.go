package wire

import "encoding/binary"

// SelectedSize is the size of the header of an ACK that names a packet, in bytes.
const SelectedSize = 4

// appendSelected appends the header of an ACK that names a packet (Frame.Selected), which follows
// its BTH. It says what the NACK of IRN does (Mittal et al., SIGCOMM 2018, 3.1): which packet came,
// beside the one up to which all have come, which is the PSN of the BTH. The layout is ours:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-----------------------------------------------+
//	|  Stamped 0, 1 |                PSN (24)                       |  0
//	+---------------+-----------------------------------------------+
//	|  the header of a stamped packet, if Stamped is 1 (appendStamp)|  4
//	+---------------------------------------------------------------+
func appendSelected(b []byte, f *Frame) []byte {
	return binary.BigEndian.AppendUint32(b, f.Payload&0xFFFFFF|uint32(bit(f.Stamped(), 24)))
}

// parseSelected completes f with the header of an ACK that names a packet, which starts at b[at].
// It returns the opcode that such a packet has without this header, and where the header ends.
func parseSelected(f *Frame, b []byte, at int) (Opcode, int, error) {
	end := at + SelectedSize
	if len(b) < end {
		return RCAck, end, refuse("selected", len(b), ErrTruncated)
	}
	v := binary.BigEndian.Uint32(b[at:])
	f.Kind = Ack
	f.SetSelected(v)
	switch v >> 24 {
	case 0:
		return RCAck, end, nil
	case 1:
		return StampedAck, end, nil
	}
	return RCAck, end, refuse("selected.Stamped", at, ErrRange)
}

// ownOpcode returns the opcode of a packet that has one of ours: it is stamped, or names a packet.
func (f *Frame) ownOpcode(usual Opcode) Opcode {
	if f.Kind == Ack && f.Bits&bitSelected != 0 {
		return SelectedAck
	}
	return usual | stampedOpcodes
}
