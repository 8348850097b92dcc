package wire

import "encoding/binary"

// PauseExtension is what a PAUSE or PFC frame adds.
type PauseExtension struct {
	Quanta  uint16 // for how long to stop, in units of Quantum; 0 releases it
	Classes uint8  // PriorityPause: the priorities that the frame names (class_enable), a bit each
	Stopped uint8  // PriorityPause: the priorities whose time is Quanta; of Classes these stop, and the others may continue
}

// The opcodes of MAC control frames.
const (
	opcodePause         = 0x0001 // IEEE 802.3, annex 31B
	opcodePriorityPause = 0x0101 // IEEE 802.1Qbb, IEEE 802.3, annex 31D
)

// Quantum is the unit of the times in PAUSE and PFC frames, in bits of the link
// that they stop (IEEE 802.3, 31B.2).
const Quantum = 512

// appendPause appends a PAUSE frame behind its EtherType, but for the zeros at its end, the high
// byte of each field first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------------------------------+
//	|         Opcode = 0001         |            Quanta             |
//	+-------------------------------+-------------------------------+
func appendPause(b []byte, f *Frame, _ Body) []byte {
	return binary.BigEndian.AppendUint32(b, opcodePause<<16|uint32(f.Pause().Quanta))
}

// appendPFC appends a frame of priority-based flow control (IEEE 802.1Qbb; IEEE 802.3, annex 31D)
// behind its EtherType, but for the zeros at its end, the high byte of each field first. Enabled
// has a bit for each priority, 7 first; the times follow from priority 0 on.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+---------------+---------------+
//	|         Opcode = 0101         |       0       |    Enabled    |
//	+-------------------------------+---------------+---------------+
//	|            Time[0]            |              ...              |
//
// A Frame holds one time for all priorities that it stops.
func appendPFC(b []byte, f *Frame, _ Body) []byte {
	p := f.Pause()
	b = binary.BigEndian.AppendUint32(b, opcodePriorityPause<<16|uint32(p.Classes))
	for class := range 8 {
		quanta := uint16(0)
		if p.Stopped>>class&1 == 1 {
			quanta = p.Quanta
		}
		b = binary.BigEndian.AppendUint16(b, quanta)
	}
	return b
}

// parseControl completes f with a MAC control frame; b is all but the
// FCS. Of a PFC frame it refuses two different times other than 0: others may write them, but a
// Frame cannot hold them.
func parseControl(f *Frame, _ *Body, b []byte, _ int) error {
	const opcode, body, times, behind = 14, 16, 18, 34
	end := times
	switch p := f.Pause(); binary.BigEndian.Uint16(b[opcode:]) {
	case opcodePause:
		f.Kind, p.Quanta = Pause, binary.BigEndian.Uint16(b[body:])
	case opcodePriorityPause:
		if b[body] != 0 {
			return refuse("PFC.Reserved", body, ErrReserved)
		}
		f.Kind, p.Classes, end = PriorityPause, b[body+1], behind
		for i := range 8 {
			switch t, class := binary.BigEndian.Uint16(b[times+2*i:]), uint8(1)<<i; {
			case t == 0:
			case p.Stopped != 0 && t != p.Quanta:
				return refuse("PFC.Time", times+2*i, ErrUnsupported)
			default:
				p.Stopped |= class
				p.Quanta = t
			}
		}
	case opcodeExtension:
		return parseCCUpdate(f, b)
	default:
		return refuse("control.Opcode", opcode, ErrUnsupported)
	}
	if !allZero(b[end:]) {
		return refuse("control.Reserved", end, ErrReserved)
	}
	return wantSize(b, end)
}

// pauseFields are the fields of a PAUSE or PFC frame.
var pauseFields = []Field{
	{Word: "classes", Form: HexByte, access: number(func(f *Frame) *uint8 { return &f.Pause().Classes }), Has: (*Frame).isPFC},
	{Word: "stopped", Form: HexByte, access: number(func(f *Frame) *uint8 { return &f.Pause().Stopped }), Has: (*Frame).isPFC},
	{Word: "quanta", access: number(func(f *Frame) *uint16 { return &f.Pause().Quanta })},
}

func (f *Frame) isPFC() bool { return f.Kind == PriorityPause }
