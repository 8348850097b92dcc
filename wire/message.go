package wire

import "encoding/binary"

// MessageSize is the size of a message behind its EtherType, in bytes.
const MessageSize = 16

// MessageVersion is the version of a message. It stands where a data frame has DataVersion.
const MessageVersion = 3

// appendMessage appends the EtherType and the MessageSize bytes of a message, the high
// byte of each field first. What follows fills the frame up to MinFrame.
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
func appendMessage(b []byte, f *Frame) []byte {
	b = binary.BigEndian.AppendUint16(b, typeData)
	b = binary.BigEndian.AppendUint32(b, MessageVersion<<24|f.QP&0xFFFFFF)
	b = binary.BigEndian.AppendUint32(b, f.PSN&0xFFFFFF)
	return binary.BigEndian.AppendUint64(b, f.Value)
}

// parseMessage completes f with a message, which starts at b[at]; b is all but the FCS,
// which is MinFrame at least.
func parseMessage(f *Frame, b []byte, at int) error {
	first, second := binary.BigEndian.Uint32(b[at:]), binary.BigEndian.Uint32(b[at+4:])
	switch {
	case f.Tagged && CNTag(f.QP) != CNTag(first):
		return refuse("CN-TAG.FlowID", at-CNTagSize, ErrUnsupported)
	case second>>24 != 0:
		return refuse("message.Reserved", at+4, ErrReserved)
	case !allZero(b[at+MessageSize:]):
		return refuse("padding", at+MessageSize, ErrPayload)
	}
	f.Kind = Message
	f.QP = first & 0xFFFFFF
	f.PSN = second
	f.Value = binary.BigEndian.Uint64(b[at+8:])
	return wantSize(b, at+MessageSize)
}
