package wire

import (
	"encoding/binary"
	"fmt"
)

// The sizes of the parts of an Ethernet frame, in bytes.
const (
	EthernetHeaderSize = 18 // both addresses, the 802.1Q tag, the EtherType
	CNTagSize          = 4  // stands between the two last where there is one
	FCSSize            = 4
)

// MinFrame is the size of the shortest Ethernet frame, its FCS included (IEEE
// 802.3, 4A.4.2): a shorter one is filled up with zeros.
const MinFrame = 64

// LineOverhead is what a frame takes on an Ethernet line beside its own bytes:
// preamble and start delimiter, 8, and the gap between frames, 12 (IEEE 802.3,
// 4A.4.2).
const LineOverhead = 20

// The range of the payload of a Data frame on Ethernet: it begins with a header
// of MinMSDU bytes, and ends where jumbo frames do.
const (
	MinMSDU = 12
	MaxMSDU = 9000
)

// MaxFrameSize is the size of the longest frame of either family in a datagram,
// without the trailer.
const MaxFrameSize = EthernetHeaderSize + CNTagSize + RLTagSize + MaxMSDU + FCSSize

// MAC is an address of Ethernet, its 48 bits in the order of transmission from
// the highest.
type MAC uint64

// ControlAddress is where MAC control frames go: the station at the other end of
// the link, whatever its address is, and nobody behind it (IEEE 802.3, 31B.1).
const ControlAddress MAC = 0x0180C2000001

// localMAC is the part of a MAC that is the same for all machines of a fabric: an
// individual address, administered locally. The LID is the rest.
const localMAC MAC = 0x020000000000

// MAC returns the address on Ethernet of the machine with address l:
// 02:00:00:00 and l, the high byte first.
func (l LID) MAC() MAC { return localMAC | MAC(l) }

// LID returns the machine whose address m is, and false if it is nobody's.
func (m MAC) LID() (LID, bool) { return LID(m), m&^0xFFFF == localMAC }

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", byte(m>>40), byte(m>>32), byte(m>>24), byte(m>>16), byte(m>>8), byte(m))
}

// appendTo appends the six bytes of m.
func (m MAC) appendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(m>>32)), uint32(m))
}

// macAt reads the address that starts at b[at].
func macAt(b []byte, at int) MAC {
	return MAC(binary.BigEndian.Uint16(b[at:]))<<32 | MAC(binary.BigEndian.Uint32(b[at+2:]))
}

// machineAt reads the address of a machine of the fabric that starts at b[at].
func machineAt(b []byte, at int, field string) (LID, error) {
	l, ok := macAt(b, at).LID()
	if !ok {
		return 0, refuse(field, at, ErrUnsupported)
	}
	return l, nil
}

// DataVersion is the version of the header with which the payload of a Data frame
// on Ethernet begins.
const DataVersion = 1

// The flags in that header.
const (
	dataMark = 1 << 31
	dataLast = 1 << 30
)

// appendDataHeader appends the first MinMSDU bytes of the payload of a Data frame,
// the high byte of each field first. F is the mark, L ends
// a transfer. Payload counts itself and the body behind it, without what fills the frame up
// to MinFrame; Type is that of the body, 0 with padding:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-----------------------------------------------+
//	|  Version = 1  |                      QP                       |
//	+-+-+-----------+-----------------------------------------------+
//	|F|L|     0     |                      PSN                      |
//	+-+-+-----------+---------------+-------------------------------+
//	|            Payload            |             Type              |
//	+-------------------------------+-------------------------------+
func appendDataHeader(b []byte, f *Frame, body uint16) []byte {
	b = binary.BigEndian.AppendUint32(b, DataVersion<<24|f.QP&0xFFFFFF)
	b = binary.BigEndian.AppendUint32(b, uint32(bit(f.FECN, 31)|bit(f.Last, 30))|f.PSN&0xFFFFFF)
	return binary.BigEndian.AppendUint32(b, f.Payload<<16|uint32(body))
}

// parseEthernetData completes f with what is special to a Data frame, whose payload
// starts at b[at], and reads its body. All behind its header is zeros if padding says so.
func parseEthernetData(f *Frame, body *Body, b []byte, at int, padding bool) error {
	first, second, third := binary.BigEndian.Uint32(b[at:]), binary.BigEndian.Uint32(b[at+4:]), binary.BigEndian.Uint32(b[at+8:])
	n, kind := int(third>>16), uint16(third)
	end := at + n
	switch {
	case first>>24 != DataVersion:
		return refuse("data.Version", at, ErrUnsupported)
	case f.CPID != 0 && uint16(f.QP) != uint16(first):
		return refuse("RLT.Flow", at-4, ErrUnsupported)
	case f.Tagged && CNTag(f.QP) != CNTag(first):
		return refuse("CN-TAG.FlowID", at-CNTagSize, ErrUnsupported)
	case second&(0x3F<<24) != 0:
		return refuse("data.Reserved", at+4, ErrReserved)
	case kind != 0 && kind < LeastBodyType:
		return refuse("data.Type", at+10, ErrRange)
	case n < MinMSDU || n > MaxMSDU:
		return refuse("data.Payload", at+8, ErrRange)
	case kind == 0 && !padding, kind != 0 && end <= len(b) && !allZero(b[end:]):
		return refuse("payload", at+MinMSDU, ErrPayload)
	}
	f.Kind = Data
	f.Family = Ethernet
	f.QP = first & 0xFFFFFF
	f.FECN, f.Last = second&dataMark != 0, second&dataLast != 0
	f.PSN = second & 0xFFFFFF
	f.Payload = uint32(n)
	if err := wantSize(b, end); err != nil || kind == 0 {
		return err
	}
	body.Type, body.Bytes = kind, b[at+MinMSDU:end]
	return nil
}

// wantSize refuses a frame, all but its FCS, if it is longer or shorter than n bytes and what fills it up
// to MinFrame.
func wantSize(b []byte, n int) error {
	if n = max(n, MinFrame-FCSSize); n != len(b) {
		return otherSize(b, n)
	}
	return nil
}

// otherSize is wantSize for a frame that is not as long as it says.
func otherSize(b []byte, n int) error {
	if len(b) < n {
		return refuse("frame", len(b), ErrTruncated)
	}
	return refuse("frame", n, ErrTrailing)
}
