package wire

import (
	"fmt"
	"strconv"

	"fabemu/wire/unit"
)

// A Field is a field of a frame: its names, its place, and how it is read. Each kind has the table
// of its fields in its own file, in addition to the picture of its bytes. From them come the words
// of "fabemu dump" (AppendWords), the recordings of feedback (package emu/run/feedback), and the
// fields of the add-on for Wireshark (package emu/watch/capture/dissector). Words and recordings
// have the order of the table.
type Field struct {
	Word string // in the output of "fabemu dump"; empty: it is not there
	Key  string // in recordings of feedback; empty: it is not there
	Form Form
	access
	Has  func(f *Frame) bool             // whether dump prints it; nil: always, and a flag if it is true
	text func(b []byte, f *Frame) []byte // appends other words in its place; nil: none

	Title  string   // in Wireshark; empty: it is not there
	Header string   // of which protocol of Wireshark it is, if not of the one of the kind
	Filter string   // behind the name of the protocol in a display filter of Wireshark; empty: Word
	Doc    string   // explains it in Wireshark
	At     int      // where it begins in its header
	Size   int      // how many bytes it has there
	Mask   uint64   // which bits of these bytes it is; 0: all
	Type   string   // of its value, as Wireshark names types, if it is not that of all these bytes
	Names  []string // of its values
	ByHand bool     // it is absent from some headers or moves: the add-on has its own code to show it
}

// Form is how the value of a Field is printed.
type Form uint8

// The forms.
const (
	Decimal    Form = iota
	Signed          // decimal, with a sign in its bytes
	Unsigned        // decimal, 64 bits without a sign
	Hex             // hexadecimal
	HexByte         // hexadecimal, two digits at least
	HexWord         // hexadecimal, four digits at least, and its low byte comes first
	Flag            // 1 or 0
	Instant         // a unit.Time
	Bottleneck      // a rate in units of BottleneckUnit
	Address         // the address of a node
	Octets          // bytes of any meaning
)

// access is how a field is read and set.
type access struct {
	Of  func(f *Frame) int64
	Set func(f *Frame, v int64) bool // reports whether the field can have the value; nil: it is only read
}

// number returns the access to a whole number.
func number[N ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int16 | ~int64](at func(f *Frame) *N) access {
	return access{
		func(f *Frame) int64 { return int64(*at(f)) },
		func(f *Frame, v int64) bool { *at(f) = N(v); return int64(N(v)) == v },
	}
}

// flag returns the access to a field that is true or false.
func flag(at func(f *Frame) *bool) access {
	return access{
		func(f *Frame) int64 { return int64(bit(*at(f), 0)) },
		func(f *Frame, v int64) bool { *at(f) = v == 1; return v == 0 || v == 1 },
	}
}

// is returns the access to what follows from a frame.
func is(true func(f *Frame) bool) access {
	return access{Of: func(f *Frame) int64 { return int64(bit(true(f), 0)) }}
}

// hasFlag returns a function that reports whether a frame has a flag in its Flags.
func hasFlag(flag uint8) func(f *Frame) bool { return func(f *Frame) bool { return f.Flags&flag != 0 } }

// hasBit returns a function that reports whether a frame has one of its header bits.
func hasBit(b headerBits) func(f *Frame) bool { return func(f *Frame) bool { return f.Bits&b != 0 } }

// The fields that several kinds have.
var (
	ofQP       = number(func(f *Frame) *uint32 { return &f.QP })
	ofPSN      = number(func(f *Frame) *uint32 { return &f.PSN })
	ofMSN      = number(func(f *Frame) *uint32 { return &f.MSN })
	ofPayload  = number(func(f *Frame) *uint32 { return &f.Payload })
	ofLane     = number(func(f *Frame) *uint8 { return &f.Lane })
	ofDSCP     = number(func(f *Frame) *uint8 { return &f.DSCP })
	ofFlags    = number(func(f *Frame) *uint8 { return &f.Flags })
	ofCPID     = number(func(f *Frame) *uint64 { return &f.CPID })
	ofFECN     = flag(func(f *Frame) *bool { return &f.FECN })
	ofBECN     = flag(func(f *Frame) *bool { return &f.BECN })
	ofLast     = flag(func(f *Frame) *bool { return &f.Last })
	addressees = []Field{ // of a recording
		{Key: "tagged", access: flag(func(f *Frame) *bool { return &f.Tagged })},
		{Key: "priority", access: ofLane},
		{Key: "src", access: number(func(f *Frame) *LID { return &f.Src })},
		{Key: "dst", access: number(func(f *Frame) *LID { return &f.Dst })},
		{Key: "qp", access: ofQP},
	}
	// The start of data frames, messages and probes (appendFlow).
	versionField = Field{Filter: "version", Title: "Version", Size: 1}
	qpField      = Field{access: ofQP, Filter: "qp", Title: "Queue pair (flow)", At: 1, Size: 3}
	psnField     = Field{access: ofPSN, Key: "psn", Filter: "psn", Title: "Packet sequence number", At: 5, Size: 3}
)

// Fields returns the fields of frames of a kind.
func (k Kind) Fields() []Field { return kinds[k].fields }

// AppendWords appends the content of f for people, in addition to its kind, its addresses, its flow
// and its PSN: " key=value" for each field, and words for flags.
func (f *Frame) AppendWords(b []byte) []byte {
	fields := f.Kind.Fields()
	for i := range fields {
		b = fields[i].appendWord(b, f)
	}
	return b
}

// formats are how values of some forms are printed.
var formats = [...]string{Unsigned: "%d", Hex: "%#x", HexByte: "%#02x", HexWord: "%#04x"}

// appendWord appends a field of f for people.
func (x *Field) appendWord(b []byte, f *Frame) []byte {
	switch {
	case x.Has != nil && !x.Has(f):
		return b
	case x.text != nil:
		return x.text(b, f)
	case x.Word == "":
		return b
	}
	v := x.Of(f)
	if x.Form == Flag {
		if v != 0 {
			b = append(append(b, ' '), x.Word...)
		}
		return b
	}
	b = append(append(append(b, ' '), x.Word...), '=')
	switch x.Form {
	case Decimal, Signed:
		return strconv.AppendInt(b, v, 10)
	case Instant:
		return fmt.Append(b, unit.Time(v))
	case Bottleneck:
		return fmt.Append(b, unit.Rate(v)*BottleneckUnit)
	}
	return fmt.Appendf(b, formats[x.Form], uint64(v))
}
