package wire

import (
	"encoding/binary"
	"fmt"
)

// OrderedSetExtension is the extension of a control ordered set of Ultra Ethernet: all that it
// carries in addition to its type, which is the kind of the frame.
type OrderedSetExtension struct {
	First  uint32 // 20 bits: LLR: a sequence number; CF_Update: a ChannelWord
	Second uint32 // 24 bits: LLR_INIT, LLR_INIT_ECHO: data, 16 bits; CF_Update: a ChannelWord
}

// OrderedSetSize is the size of a control ordered set on the link, in bytes: one block of 64B/66B.
const OrderedSetSize = 8

// The bytes of a control ordered set that never change (Ultra Ethernet, tables 5-28 and 5-30).
const (
	orderedSetCode  = 0x5C // the control character of its first lane
	orderedSetOCode = 0x6  // the low half of its fifth lane
)

// orderedSets are the kinds of control ordered sets, from CFUpdate on: their types on the link
// (Ultra Ethernet, table 5-29), and the bits of Second that they use.
var orderedSets = [...]struct {
	code   uint8
	second uint32 // a mask
}{
	0:                      {0x10, 1<<20 - 1}, // CFUpdate
	LLRAck - CFUpdate:      {0x01, 0},
	LLRNack - CFUpdate:     {0x02, 0},
	LLRInit - CFUpdate:     {0x03, 1<<16 - 1},
	LLRInitEcho - CFUpdate: {0x04, 1<<16 - 1},
}

// OrderedSet reports whether k is a control ordered set of Ultra Ethernet: eight bytes, which go
// between frames or within one.
func (k Kind) OrderedSet() bool { return k >= CFUpdate && int(k-CFUpdate) < len(orderedSets) }

// CountMask are the bits of a counter of credits freed that a CF_Update carries.
const CountMask = 1<<15 - 1

// ChannelWord returns the half of a CF_Update that concerns one virtual channel, 0 to 31: its
// number, and the low 15 bits of its counter of credits freed.
func ChannelWord(channel uint8, freed uint32) uint32 { return uint32(channel&31)<<15 | freed&CountMask }

// ChannelOf takes a ChannelWord apart.
func ChannelOf(word uint32) (channel uint8, freed uint32) {
	return uint8(word >> 15 & 31), word & CountMask
}

// appendOrderedSet appends a control ordered set of Ultra Ethernet behind its EtherType. A real one
// is a block of 64B/66B, below all that a capture can show. Here its eight lanes, as the table of
// xMII has them, follow the EtherType for local experiments in a frame from node to node, and zeros
// follow them. Its length on the link is OrderedSetSize all the same.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+-------------------------------+
//	|   Code = 5C   |     Type      |          First (20)           |
//	+-------+-------+---------------+-------------------------------+
//	|       | O = 6 |                  Second (24)                  |
//	+-------+-------+-----------------------------------------------+
//
// First and Second have the high byte first. Of LLR, First is the sequence number; of LLR_INIT and
// its echo, the data are in Second with the low byte first, and a zero behind. Of CF_Update, each
// half is a ChannelWord, and the last four bits are zero. The layout is quoted from tables 5-7,
// 5-8, 5-20, 5-21 and 5-28 to 5-30 of the specification 1.0.1 by public descriptions of the
// formats. They give the counts of CF_Update 15 bits; that these are the low ones is ours. So is
// the frame around.
func appendOrderedSet(b []byte, f *Frame, _ Body) []byte {
	p, row := f.OrderedSet(), orderedSets[f.Kind-CFUpdate]
	second := p.Second & row.second
	if f.Kind == CFUpdate {
		second <<= 4
	} else {
		second = second&0xFF<<16 | second&0xFF00
	}
	b = binary.BigEndian.AppendUint16(b, orderedSetCode<<8|uint16(row.code))
	b = binary.BigEndian.AppendUint16(b, uint16(p.First>>4))
	return binary.BigEndian.AppendUint32(b, (p.First&0xF<<4|orderedSetOCode)<<24|second)
}

// parseOrderedSet completes f with a control ordered set, which starts at b[at]; b is all but the
// FCS, which is MinFrame at least.
func parseOrderedSet(f *Frame, _ *Body, b []byte, at int) error {
	if b[at] != orderedSetCode {
		return refuse("CtlOS.Code", at, ErrUnsupported)
	}
	for i := range orderedSets {
		if orderedSets[i].code == b[at+1] {
			f.Kind = CFUpdate + Kind(i)
		}
	}
	if f.Kind == 0 {
		return refuse("CtlOS.Type", at+1, ErrUnsupported)
	}
	p, second := f.OrderedSet(), binary.BigEndian.Uint32(b[at+4:])&0xFFFFFF
	p.First = binary.BigEndian.Uint32(b[at+1:]) >> 4 & (1<<20 - 1)
	if f.Kind == CFUpdate {
		p.Second = second >> 4
		second &= 0xF
	} else {
		p.Second = (second>>16 | second&0xFF00) & orderedSets[f.Kind-CFUpdate].second
		second &^= p.Second&0xFF<<16 | p.Second&0xFF00
	}
	switch {
	case b[at+4]&0xF != orderedSetOCode:
		return refuse("CtlOS.OCode", at+4, ErrUnsupported)
	case second != 0:
		return refuse("CtlOS.Reserved", at+5, ErrReserved)
	case !allZero(b[at+OrderedSetSize:]):
		return refuse("padding", at+OrderedSetSize, ErrPayload)
	}
	return wantSize(b, at+OrderedSetSize)
}

// setFields are the fields of control ordered sets.
var setFields = []Field{
	{Form: Hex, Filter: "type", Title: "Type", At: 1, Size: 1},
	{Has: (*Frame).isCFUpdate, text: func(b []byte, f *Frame) []byte {
		for _, word := range [...]uint32{f.OrderedSet().First, f.OrderedSet().Second} {
			channel, freed := ChannelOf(word)
			b = fmt.Appendf(b, " vc=%d cf=%d", channel, freed)
		}
		return b
	}},
	{Filter: "vc", Title: "Virtual channel", Type: "uint8", ByHand: true},
	{Filter: "cf", Title: "Credits freed, modulo 32768", Type: "uint16", ByHand: true},
	{Word: "seq", access: number(func(f *Frame) *uint32 { return &f.OrderedSet().First }), Title: "Sequence number",
		Has: func(f *Frame) bool { return !f.isCFUpdate() }, At: 2, Size: 3, Mask: 0xFFFFF0, Type: "uint32", ByHand: true},
	{Word: "data", Form: HexWord, access: number(func(f *Frame) *uint32 { return &f.OrderedSet().Second }),
		Has: func(f *Frame) bool { return f.Kind >= LLRInit }, Title: "Data of LLR_INIT", At: 5, Size: 2, ByHand: true},
}

func (f *Frame) isCFUpdate() bool { return f.Kind == CFUpdate }
