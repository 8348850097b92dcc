package wire

import (
	"encoding/binary"

	"fabemu/wire/unit"
)

// StampExtension is the extension of a stamped Data or Ack frame of RoCEv2 (RoCE.Stamped). Its
// times are not negative.
type StampExtension struct {
	Body   uint64        // Data: the number of its body
	SentAt unit.Time     // when the data packet left its source; of an ACK, the one that asked for it
	Held   unit.Duration // Ack: how long the destination had it, from the end of that packet until the ACK leaves; not in the bytes of Data
}

// Stamp returns the extension of a stamped frame.
func (f *Frame) Stamp() *StampExtension { return as[StampExtension](&f.Extension) }

// Stamped reports whether f is a stamped frame.
func (f *Frame) Stamped() bool { return f.Bits&bitStamped != 0 }

// The sizes of the header of a stamped packet, in bytes: of Data, and of an ACK.
const (
	StampSize    = 12
	AckStampSize = 20
)

// ofStamp returns the size of the header of a stamped packet, with its telemetry; 0 of others.
func (f *Frame) ofStamp() int {
	switch {
	case f.Bits&bitStamped == 0:
		return 0
	case f.Kind == Ack:
		return AckStampSize + f.Telemetry().Size()
	}
	return StampSize + f.Telemetry().Size()
}

// appendStamp appends the header of a stamped packet, which follows its BTH. Its opcode is one of
// those that manufacturers may define (IBTA Volume 1, 9.2.1); this header is ours, the high byte of
// each field first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-----------------------------------------------+
//	|  Length       |                       0                       |  0
//	+---------------+-----------------------------------------------+
//	|                 Sent (64), in picoseconds                     |  4
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                 Held (64), in picoseconds, of an ACK          | 12
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                 telemetry, if there is any (appendEmpty)      |
//	+---------------------------------------------------------------+
//
// Length counts words of 4 bytes, this one included: 3, of an ACK 5, and the words of telemetry.
func appendStamp(b []byte, f *Frame, body Body) []byte {
	p := f.Stamp()
	b = binary.BigEndian.AppendUint32(b, uint32(f.ofStamp())<<22)
	b = binary.BigEndian.AppendUint64(b, uint64(p.SentAt))
	if f.Kind == Ack {
		b = binary.BigEndian.AppendUint64(b, uint64(p.Held))
	}
	if body.Type == telemetryBody {
		return append(b, body.Bytes...)
	}
	return f.Telemetry().appendEmpty(b)
}

// parseStamp completes f, a stamped frame, with its header, which starts at b[at], and body with
// its telemetry. It returns the bytes behind the header.
func parseStamp(f *Frame, body *Body, b []byte, at int) ([]byte, error) {
	if len(b) < at+f.ofStamp() {
		return nil, refuse("stamp", len(b), ErrTruncated)
	}
	p, head := f.Stamp(), at+f.ofStamp()
	p.SentAt = unit.Time(binary.BigEndian.Uint64(b[at+4:]))
	if f.Kind == Ack {
		p.Held = unit.Duration(binary.BigEndian.Uint64(b[at+12:]))
	}
	for form, bits := range telemetryBits {
		if int(b[at])*4 == head-at+Telemetry(form).Size() {
			f.Bits |= bits
		}
	}
	switch size := f.ofStamp(); {
	case int(b[at])*4 != size:
		return nil, refuse("stamp.Length", at, ErrRange)
	case len(b) < at+size:
		return nil, refuse("stamp", len(b), ErrTruncated)
	case !allZero(b[at+1 : at+4]):
		return nil, refuse("stamp.Reserved", at+1, ErrReserved)
	case p.SentAt < 0:
		return nil, refuse("stamp.Sent", at+4, ErrRange)
	case p.Held < 0:
		return nil, refuse("stamp.Held", at+12, ErrRange)
	case size > head-at:
		body.Type, body.Bytes = telemetryBody, b[head:at+size]
		if err := checkTelemetry(body.Bytes, f.Telemetry()); err != nil {
			return nil, shift(err, head)
		}
	}
	return b[at+f.ofStamp():], nil
}
