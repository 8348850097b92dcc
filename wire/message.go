package wire

import (
	"encoding/binary"
	"slices"
)

// MessageExtension is what a Message adds: 64 bits, as its scheme defines them.
type MessageExtension struct{ Value uint64 }

// MessageSize is the size of a message behind its EtherType, in bytes.
const MessageSize = 16

// MessageVersion is the version of a message. It is at the place where a data frame has
// DataVersion.
const MessageVersion = 3

// appendMessage appends the MessageSize bytes of a message, the high byte of each field first.
// Zeros follow up to MinFrame.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-----------------------------------------------+
//	|  Version = 3  |                      QP                       |
//	+---------------+-----------------------------------------------+
//	|       0       |                      PSN                      |
//	+---------------+-----------------------------------------------+
//	|                          Value (64)                           |
//	|                                                               |
//	+---------------------------------------------------------------+
func appendMessage(b []byte, f *Frame, _ Body) []byte {
	return binary.BigEndian.AppendUint64(appendFlow(b, f, MessageVersion, 0), f.Message().Value)
}

// parseMessage completes f with a message, which starts at b[at]; b is all but the FCS,
// which is MinFrame at least.
func parseMessage(f *Frame, _ *Body, b []byte, at int) error {
	flags, err := parseFlow(f, b, at)
	switch {
	case err != nil:
		return err
	case flags != 0:
		return refuse("message.Reserved", at+4, ErrReserved)
	case !allZero(b[at+MessageSize:]):
		return refuse("padding", at+MessageSize, ErrPayload)
	}
	f.Kind = Message
	f.Message().Value = binary.BigEndian.Uint64(b[at+8:])
	return wantSize(b, at+MessageSize)
}

var messageFields = slices.Concat([]Field{
	versionField, qpField,
	{Word: "value", Key: "value", Form: Unsigned, access: number(func(f *Frame) *uint64 { return &f.Message().Value }),
		Title: "Value of the message", At: 8, Size: 8},
	psnField,
}, addressees)
