package wire

import (
	"encoding/binary"
	"fmt"

	"fabemu/wire/unit"
)

// ProbeSize is the size of a probe behind its EtherType, in bytes.
const ProbeSize = 32

// ProbeVersion is the version of a probe. It stands where a data frame has DataVersion.
const ProbeVersion = 4

// The flags of a probe.
const (
	ProbeAnswer  uint8 = 1 << 7 // it has been to the destination, and is on its way back
	ProbeCounted uint8 = 1 << 6 // an answer: the destination has counted the bytes
)

// appendProbe appends the EtherType and the ProbeSize bytes of a probe of E2CM, the high
// byte of each field first. What follows fills the frame up to MinFrame.
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
func appendProbe(b []byte, f *Frame) []byte {
	b = binary.BigEndian.AppendUint16(b, typeData)
	b = binary.BigEndian.AppendUint32(b, ProbeVersion<<24|f.QP&0xFFFFFF)
	b = binary.BigEndian.AppendUint32(b, uint32(f.Flags&probeFlags)<<24|f.PSN&0xFFFFFF)
	b = binary.BigEndian.AppendUint64(b, f.Value)
	b = binary.BigEndian.AppendUint64(b, uint64(f.SentAt))
	return binary.BigEndian.AppendUint64(b, uint64(f.CameAt))
}

// probeFlags are all flags.
const probeFlags = ProbeAnswer | ProbeCounted

// parseProbe completes f with a probe, which starts at b[at]; b is all but the FCS, which is
// MinFrame at least. A time beyond those of the model is refused, and so is what an answer
// alone has.
func parseProbe(f *Frame, b []byte, at int) error {
	first, second := binary.BigEndian.Uint32(b[at:]), binary.BigEndian.Uint32(b[at+4:])
	if f.Tagged && CNTag(f.QP) != CNTag(first) {
		return refuse("CN-TAG.FlowID", at-CNTagSize, ErrUnsupported)
	}
	f.Kind, f.QP, f.PSN, f.Flags = Probe, first&0xFFFFFF, second&0xFFFFFF, uint8(second>>24)
	f.Value = binary.BigEndian.Uint64(b[at+8:])
	f.SentAt = unit.Time(binary.BigEndian.Uint64(b[at+16:]))
	f.CameAt = unit.Time(binary.BigEndian.Uint64(b[at+24:]))
	switch {
	case f.Flags&^probeFlags != 0:
		return refuse("probe.Reserved", at+4, ErrReserved)
	case f.SentAt < 0:
		return refuse("probe.Sent", at+16, ErrRange)
	case f.CameAt < 0:
		return refuse("probe.Came", at+24, ErrRange)
	case f.Flags&ProbeAnswer == 0 && f.Flags != 0:
		return refuse("probe.Counted", at+4, ErrUnsupported)
	case f.Flags&ProbeAnswer == 0 && f.CameAt != 0:
		return refuse("probe.Came", at+24, ErrUnsupported)
	case !allZero(b[at+ProbeSize:]):
		return refuse("padding", at+ProbeSize, ErrPayload)
	}
	return wantSize(b, at+ProbeSize)
}

// appendProbeWords appends what a probe says, for people (Frame.AppendWords).
func appendProbeWords(b []byte, f *Frame) []byte {
	b = fmt.Appendf(b, " bytes=%d sent=%v", f.Value, f.SentAt)
	if f.Flags&ProbeAnswer != 0 {
		b = fmt.Appendf(b, " answer came=%v", f.CameAt)
	}
	if f.Flags&ProbeCounted != 0 {
		b = append(b, " counted"...)
	}
	return b
}
