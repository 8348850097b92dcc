package trace

import (
	"encoding/binary"
	"errors"

	"fabemu/wire/unit"
)

// EventSize is how many bytes an Event has when it is written down.
const EventSize = 48

// ErrTruncated is the error of ParseEvent for less than EventSize bytes.
var ErrTruncated = errors.New("trace: an event is cut off")

// Append appends the EventSize bytes of e to b, the high byte of each field first,
// in the order of its fields.
func (e *Event) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(e.At))
	b = binary.BigEndian.AppendUint32(b, e.Seq)
	b = binary.BigEndian.AppendUint32(b, uint32(e.Node))
	b = binary.BigEndian.AppendUint16(b, e.Port)
	b = append(b, byte(e.Kind), e.Lane)
	b = binary.BigEndian.AppendUint32(b, e.Flow)
	b = binary.BigEndian.AppendUint32(b, e.PSN)
	b = binary.BigEndian.AppendUint32(b, e.Bytes)
	b = binary.BigEndian.AppendUint64(b, uint64(e.A))
	return binary.BigEndian.AppendUint64(b, uint64(e.B))
}

// ParseEvent reads an event that Append has written from the front of b. It does not judge
// it: whether there is such a node, port or kind is the reader's matter.
func ParseEvent(b []byte) (e Event, err error) {
	if len(b) < EventSize {
		return e, ErrTruncated
	}
	return Event{
		At:    unit.Time(binary.BigEndian.Uint64(b)),
		Seq:   binary.BigEndian.Uint32(b[8:]),
		Node:  int32(binary.BigEndian.Uint32(b[12:])),
		Port:  binary.BigEndian.Uint16(b[16:]),
		Kind:  Kind(b[18]),
		Lane:  b[19],
		Flow:  binary.BigEndian.Uint32(b[20:]),
		PSN:   binary.BigEndian.Uint32(b[24:]),
		Bytes: binary.BigEndian.Uint32(b[28:]),
		A:     int64(binary.BigEndian.Uint64(b[32:])),
		B:     int64(binary.BigEndian.Uint64(b[40:])),
	}, nil
}
