package wire

import (
	"encoding/binary"
	"slices"

	"fabemu/wire/unit"
)

// ProbeExtension is what a Probe adds. Its times are not negative.
type ProbeExtension struct {
	Bytes  uint64    // of the flow, as the sender of the frame has counted them
	SentAt unit.Time // when the probe left its source
	CameAt unit.Time // of an answer: when the probe came to the destination
}

// ProbeSize is the size of a probe behind its EtherType, in bytes.
const ProbeSize = 32

// ProbeVersion is the version of a probe. It is at the place where a data frame has DataVersion.
const ProbeVersion = 4

// The flags of a probe.
const (
	ProbeAnswer  uint8 = 1 << 7 // it has been to the destination, and is on its return path
	ProbeCounted uint8 = 1 << 6 // an answer: the destination has counted the bytes
)

// appendProbe appends the ProbeSize bytes of a probe of E2CM, the high byte of each field first.
// Zeros follow up to MinFrame.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-----------------------------------------------+
//	|  Version = 4  |                      QP                       |  0
//	+-+-+-----------+-----------------------------------------------+
//	|A|C|     0     |                      PSN                      |  4
//	+-+-+-----------+-----------------------------------------------+
//	|                          Bytes (64)                           |  8
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                 Sent (64), in picoseconds                     | 16
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                 Came (64), in picoseconds                     | 24
//	|                                                               |
//	+---------------------------------------------------------------+
//
// PSN counts the probes of a flow. Bytes is B(Pn), Sent is Tsrc(Pn) and Came, of an answer,
// Tdst(Pn) of the proposal ("Source-based E2CM: Validation of the Orlando Proposal", March
// 2007, Modification addressing Concern #1 and #2). The proposal has no format: this one is
// ours.
func appendProbe(b []byte, f *Frame, _ Body) []byte {
	p := f.Probe()
	b = appendFlow(b, f, ProbeVersion, f.Flags&probeFlags)
	b = binary.BigEndian.AppendUint64(b, p.Bytes)
	b = binary.BigEndian.AppendUint64(b, uint64(p.SentAt))
	return binary.BigEndian.AppendUint64(b, uint64(p.CameAt))
}

const probeFlags = ProbeAnswer | ProbeCounted

// parseProbe completes f with a probe, which starts at b[at]; b is all but the FCS, which is
// MinFrame at least. A time beyond the range of the model is refused, and so are fields that only
// an answer has.
func parseProbe(f *Frame, _ *Body, b []byte, at int) (err error) {
	if f.Flags, err = parseFlow(f, b, at); err != nil {
		return err
	}
	p := f.Probe()
	f.Kind, p.Bytes = Probe, binary.BigEndian.Uint64(b[at+8:])
	p.SentAt = unit.Time(binary.BigEndian.Uint64(b[at+16:]))
	p.CameAt = unit.Time(binary.BigEndian.Uint64(b[at+24:]))
	switch {
	case f.Flags&^probeFlags != 0:
		return refuse("probe.Reserved", at+4, ErrReserved)
	case p.SentAt < 0:
		return refuse("probe.Sent", at+16, ErrRange)
	case p.CameAt < 0:
		return refuse("probe.Came", at+24, ErrRange)
	case f.Flags&ProbeAnswer == 0 && f.Flags != 0:
		return refuse("probe.Counted", at+4, ErrUnsupported)
	case f.Flags&ProbeAnswer == 0 && p.CameAt != 0:
		return refuse("probe.Came", at+24, ErrUnsupported)
	case !allZero(b[at+ProbeSize:]):
		return refuse("padding", at+ProbeSize, ErrPayload)
	}
	return wantSize(b, at+ProbeSize)
}

var probeFields = slices.Concat([]Field{
	versionField, qpField,
	{Key: "flags", access: ofFlags},
	{Word: "bytes", Key: "value", Form: Unsigned, access: number(func(f *Frame) *uint64 { return &f.Probe().Bytes }),
		Title: "Bytes of the flow", At: 8, Size: 8},
	{Word: "sent", Key: "sent-at", Form: Instant, access: number(func(f *Frame) *unit.Time { return &f.Probe().SentAt }),
		Title: "Sent (ps)", Doc: "When the probe left its source", At: 16, Size: 8},
	{Word: "answer", Form: Flag, access: is(hasFlag(ProbeAnswer)), Title: "Answer",
		Doc: "It has reached the destination, and returns", At: 4, Size: 1, Mask: uint64(ProbeAnswer)},
	{Word: "came", Key: "came-at", Form: Instant, access: number(func(f *Frame) *unit.Time { return &f.Probe().CameAt }),
		Has: hasFlag(ProbeAnswer), Title: "Came (ps)", Doc: "When it came to the destination; of an answer", At: 24, Size: 8},
	{Word: "counted", Form: Flag, access: is(hasFlag(ProbeCounted)), Title: "Counted by the destination",
		At: 4, Size: 1, Mask: uint64(ProbeCounted)},
	{Key: "psn", access: ofPSN, Filter: "psn", Title: "Number of the probe", At: 5, Size: 3},
}, addressees)
