package wire

import "encoding/binary"

// maxDataLane is the highest lane that has flow control: VL15 carries management
// and has none.
const maxDataLane = 14

// appendFCP appends a flow control packet, the high byte of each field first
// but for the LPCRC, whose low byte is first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------+-----------------------+-------+-----------------------+
//	|  Op   |         FCTBS         |  VL   |         FCCL          |
//	+-------+-----------------------+-------+-----------------------+
//	|             LPCRC             |
//	+-------------------------------+
func appendFCP(b []byte, f *Frame) []byte {
	w := uint32(uint16(f.Op)<<12|f.FCTBS&0xFFF)<<16 | uint32(uint16(f.Lane)<<12|f.FCCL&0xFFF)
	return binary.LittleEndian.AppendUint16(binary.BigEndian.AppendUint32(b, w), lpcrc(w))
}

// parseFCP reads a flow control packet into f.
func parseFCP(f *Frame, b []byte) error {
	switch {
	case len(b) < FCPSize:
		return refuse("FCP", len(b), ErrTruncated)
	case len(b) > FCPSize:
		return refuse("FCP", FCPSize, ErrTrailing)
	}
	w := binary.BigEndian.Uint32(b)
	f.Kind = FlowControl
	f.Op, f.FCTBS = Op(w>>28), uint16(w>>16)&0xFFF
	f.Lane, f.FCCL = uint8(w>>12)&0xF, uint16(w)&0xFFF
	switch {
	case lpcrc(w) != binary.LittleEndian.Uint16(b[4:]):
		return refuse("FCP.LPCRC", 4, ErrChecksum)
	case f.Op > OpInit:
		return refuse("FCP.Op", 0, ErrUnsupported)
	case f.Lane > maxDataLane:
		return refuse("FCP.VL", 2, ErrRange)
	}
	return nil
}
