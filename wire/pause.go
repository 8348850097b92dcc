package wire

import "encoding/binary"

// The opcodes of MAC control frames.
const (
	opcodePause         = 0x0001 // IEEE 802.3, annex 31B
	opcodePriorityPause = 0x0101 // IEEE 802.1Qbb, IEEE 802.3, annex 31D
)

// Quantum is the unit of the times in PAUSE and PFC frames, in bits of the line
// that they stop (IEEE 802.3, 31B.2).
const Quantum = 512

// appendControl appends a MAC control frame, but for the zeros behind what it says. Of a PAUSE frame that is,
// the high byte of each field first,
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------------------------------+
//	|        EtherType 8808         |         Opcode = 0001         |
//	+-------------------------------+-------------------------------+
//	|            Quanta             |
//	+-------------------------------+
//
// behind its addresses, and of a PFC frame a PFC behind its opcode.
func appendControl(b []byte, f *Frame) []byte {
	if f.Kind == Pause {
		return binary.BigEndian.AppendUint16(appendAddresses(b, ControlAddress, f.Src, typeControl<<16|opcodePause), f.Quanta)
	}
	p := pfcOf(f)
	return p.Append(appendAddresses(b, ControlAddress, f.Src, typeControl<<16|opcodePriorityPause))
}

// parseControl completes f with a MAC control frame of either kind; b is all but the
// FCS.
func parseControl(f *Frame, b []byte) error {
	const opcode, body = 14, 16
	rest := b[body:]
	switch binary.BigEndian.Uint16(b[opcode:]) {
	case opcodePause:
		f.Kind = Pause
		f.Quanta = binary.BigEndian.Uint16(rest)
		rest = rest[2:]
	case opcodePriorityPause:
		f.Kind = PriorityPause
		p, behind, err := ParsePFC(rest)
		if err != nil {
			return shift(err, body)
		}
		if err := p.into(f); err != nil {
			return shift(err, body)
		}
		rest = behind
	default:
		return refuse("control.Opcode", opcode, ErrUnsupported)
	}
	if !allZero(rest) {
		return refuse("control.Reserved", len(b)-len(rest), ErrReserved)
	}
	return wantSize(b, len(b)-len(rest))
}
