package wire

import "encoding/binary"

// PFC is what a priority-based flow control frame says (IEEE 802.1Qbb; IEEE 802.3,
// annex 31D): 18 bytes behind the opcode, the high byte of each field first. The
// second byte has a bit for each priority, 7 first; the times follow from that of
// priority 0 on.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+-------------------------------+
//	|       0       |    Enabled    |            Time[0]            |
//	+---------------+---------------+-------------------------------+
//	|            Time[1]            |              ...              |
//
// A Frame holds one time for all priorities that it stops. A PFC holds what others
// may write as well.
type PFC struct {
	Enabled uint8     // the priorities that the frame speaks of, a bit each
	Times   [8]uint16 // for how long each of them stops, in units of Quantum; 0 lets go
}

// PFCSize is the size of a PFC, in bytes.
const PFCSize = 18

// Append appends the PFCSize bytes of p to b.
func (p *PFC) Append(b []byte) []byte {
	b = append(b, 0, p.Enabled)
	for _, t := range p.Times {
		b = binary.BigEndian.AppendUint16(b, t)
	}
	return b
}

// ParsePFC reads a PFC from the front of b and returns what follows it. It refuses
// too few bytes and reserved bits.
func ParsePFC(b []byte) (p PFC, rest []byte, err error) {
	switch {
	case len(b) < PFCSize:
		return PFC{}, nil, refuse("PFC", len(b), ErrTruncated)
	case b[0] != 0:
		return PFC{}, nil, refuse("PFC.Reserved", 0, ErrReserved)
	}
	p.Enabled = b[1]
	for i := range p.Times {
		p.Times[i] = binary.BigEndian.Uint16(b[2+2*i:])
	}
	return p, b[PFCSize:], nil
}

// into says it with the fields of a Frame. It refuses two different times other than
// 0, and a time of a priority that p does not speak of: others may write them, but a
// Frame cannot hold them.
func (p *PFC) into(f *Frame) error {
	f.Classes = p.Enabled
	for i, t := range p.Times {
		switch class := uint8(1) << i; {
		case t == 0:
		case p.Enabled&class == 0, f.Stopped != 0 && t != f.Quanta:
			return refuse("PFC.Time", 2+2*i, ErrUnsupported)
		default:
			f.Stopped |= class
			f.Quanta = t
		}
	}
	return nil
}

// pfcOf returns what f, a PFC frame, says.
func pfcOf(f *Frame) PFC {
	p := PFC{Enabled: f.Classes}
	for i := range p.Times {
		if f.Classes&f.Stopped&(1<<i) != 0 {
			p.Times[i] = f.Quanta
		}
	}
	return p
}
