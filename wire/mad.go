package wire

import (
	"encoding/binary"
	"fmt"
)

// The sizes of the parts of a Management packet behind its BTH.
const (
	DETHSize = 8
	MADSize  = 256
)

// madBody is the type of a Body that is a management datagram: no EtherType, and on no wire.
const madBody = 2

// managementKey is the Q_Key of queue pair 1 (IBTA Volume 1, 10.2.4.1). Queue pair 0 has none.
const managementKey = 0x80010000

// appendMAD appends what is behind the BTH of a Management packet, the high byte of each field
// first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------------------------------------------------------+
//	|                             Q_Key                             |  0
//	+---------------+-----------------------------------------------+
//	|       0       |                    SrcQP                      |  4
//	+---------------+-----------------------------------------------+
//	|  the MAD, 256 bytes                                           |  8
func appendMAD(b []byte, f *Frame, body Body) []byte {
	b = binary.BigEndian.AppendUint32(b, f.qKey())
	b = binary.BigEndian.AppendUint32(b, f.MSN&0xFFFFFF)
	if mad := body.MAD(); mad != nil {
		return append(b, mad[:]...)
	}
	return appendZeros(b, MADSize)
}

// qKey returns the Q_Key of a Management packet.
func (f *Frame) qKey() uint32 {
	if f.QP == 0 {
		return 0
	}
	return managementKey
}

// parseMAD completes f with what is behind the BTH of a Management packet, which begins at b[at].
func (f *Frame) parseMAD(body *Body, b []byte, at int) error {
	f.Kind = Management
	switch {
	case f.Lane != ManagementLane:
		return refuse("LRH.VL", -LRHSize, ErrUnsupported)
	case f.DSCP != 0:
		return refuse("LRH.SL", 1-LRHSize, ErrUnsupported)
	case f.FECN:
		return refuse("BTH.FECN", 4, ErrUnsupported)
	case f.QP > 1:
		return refuse("BTH.DestQP", 5, ErrUnsupported)
	case len(b)-at < DETHSize+MADSize:
		return refuse("MAD", len(b), ErrTruncated)
	case len(b)-at > DETHSize+MADSize:
		return refuse("MAD", at+DETHSize+MADSize, ErrTrailing)
	case binary.BigEndian.Uint32(b[at:]) != f.qKey():
		return refuse("DETH.Q_Key", at, ErrUnsupported)
	case b[at+4] != 0:
		return refuse("DETH.Reserved", at+4, ErrReserved)
	}
	f.MSN = binary.BigEndian.Uint32(b[at+4:])
	body.Type, body.Bytes = madBody, b[at+DETHSize:]
	return nil
}

// PutMAD makes a management datagram, which is copied, the body of a Management packet.
func (s *Bodies) PutMAD(f *Frame, mad *[MADSize]byte) {
	b := s.take(f)
	b.Type, b.Bytes = madBody, append(b.Bytes[:0], mad[:]...)
}

// MAD returns a management datagram, which is not copied, or nil if the body is none.
func (b Body) MAD() *[MADSize]byte {
	if b.Type != madBody {
		return nil
	}
	return (*[MADSize]byte)(b.Bytes)
}

// madWords describes a management datagram for people: class, method, attribute and modifier, and
// the hops of a directed route.
func madWords(b *[MADSize]byte) string {
	words := fmt.Sprintf(" class=%#02x method=%#02x status=%#x attribute=%#x modifier=%#x", b[1], b[3],
		binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[16:]), binary.BigEndian.Uint32(b[20:]))
	if b[1] == 0x81 {
		words += fmt.Sprintf(" hop=%d/%d", b[6], b[7])
	}
	return words
}

// madFields are the fields of a Management packet.
var madFields = []Field{{Word: "src-qp", access: ofMSN}}
