package wire

import "encoding/binary"

// Op is the operand of a flow control packet.
type Op uint16

// The operands of flow control packets (IBTA Volume 1, 7.9.4); others are
// reserved and a packet that has one is discarded.
const (
	OpNormal Op = 0
	OpInit   Op = 1 // link initialisation: the receiver sets its block counter to zero
)

// CreditExtension is what a FlowControl frame adds.
type CreditExtension struct {
	Op    Op
	FCTBS uint16 // total blocks sent, modulo 4096
	FCCL  uint16 // credit limit in blocks, modulo 4096
}

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
func appendFCP(b []byte, f *Frame, _ Body) []byte {
	c, start := f.Credit(), len(b)
	b = binary.BigEndian.AppendUint16(b, uint16(c.Op)<<12|c.FCTBS&0xFFF)
	b = binary.BigEndian.AppendUint16(b, uint16(f.Lane)<<12|c.FCCL&0xFFF)
	return binary.LittleEndian.AppendUint16(b, VCRC(b[start:]))
}

// parseFCP reads a flow control packet into f.
func parseFCP(f *Frame, b []byte) error {
	switch {
	case len(b) < FCPSize:
		return refuse("FCP", len(b), ErrTruncated)
	case len(b) > FCPSize:
		return refuse("FCP", FCPSize, ErrTrailing)
	}
	sent, limit := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	f.Kind, f.Lane = FlowControl, uint8(limit>>12)
	*f.Credit() = CreditExtension{Op(sent >> 12), sent & 0xFFF, limit & 0xFFF}
	switch {
	case VCRC(b[:4]) != binary.LittleEndian.Uint16(b[4:]):
		return refuse("FCP.LPCRC", 4, ErrChecksum)
	case f.Credit().Op > OpInit:
		return refuse("FCP.Op", 0, ErrUnsupported)
	case f.Lane > maxDataLane:
		return refuse("FCP.VL", 2, ErrRange)
	}
	return nil
}

// fcpFields are the fields of a flow control packet.
var fcpFields = []Field{
	{Word: "init", Form: Flag, access: is(func(f *Frame) bool { return f.Credit().Op == OpInit })},
	{access: number(func(f *Frame) *Op { return &f.Credit().Op }), Filter: "op", Title: "Operand",
		Size: 1, Mask: 0xF0, Type: "uint8", Names: []string{"normal", "init"}},
	{Word: "lane", access: ofLane, Filter: "vl", Title: "VL", At: 2, Size: 1, Mask: 0xF0, Type: "uint8"},
	{Word: "fctbs", access: number(func(f *Frame) *uint16 { return &f.Credit().FCTBS }), Title: "FCTBS (blocks sent)",
		Size: 2, Mask: 0xFFF, Type: "uint16"},
	{Word: "fccl", access: number(func(f *Frame) *uint16 { return &f.Credit().FCCL }), Title: "FCCL (credit limit in blocks)",
		At: 2, Size: 2, Mask: 0xFFF, Type: "uint16"},
	{Form: HexWord, Filter: "lpcrc", Title: "LPCRC", At: 4, Size: 2},
}
