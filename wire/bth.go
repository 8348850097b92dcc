package wire

import "encoding/binary"

// BTH is the base transport header, 12 bytes, the high byte of each field first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-+-+---+-------+-------------------------------+
//	|    OpCode     |S|M|Pad| TVer  |             P_Key             |
//	+-+-+-----------+-+-+---+-------+-------------------------------+
//	|F|B|     0     |                    DestQP                     |
//	+-+-+-----------+-----------------------------------------------+
//	|A|      0      |                      PSN                      |
//	+-+-------------+-----------------------------------------------+
type BTH struct {
	Opcode    Opcode
	Solicited bool   // S: the receiver shall raise an event
	Migrated  bool   // M: state of path migration; true where none is used
	Pad       uint8  // how many pad bytes follow the payload, 0 to 3
	TVer      uint8  // version of the transport, 0 to 15; 0 is the only one
	PKey      uint16 // partition key
	FECN      bool   // F: met congestion on the path here
	BECN      bool   // B: the packet in the other direction met congestion
	DestQP    uint32 // destination queue pair, 24 bits
	AckReq    bool   // A: an acknowledgement is asked for
	PSN       uint32 // packet sequence number, 24 bits
}

// Opcode is the service and the operation of a packet: three bits for
// the one, five for the other.
type Opcode uint8

// The opcodes of the packets that this package writes.
const (
	RCSendOnly      Opcode = 0x04 // reliable connection: the whole of a message
	RCSendImmediate Opcode = 0x05 // reliable connection: the whole of a message, behind immediate data
	RCAck           Opcode = 0x11 // reliable connection: acknowledgement

	UDSendOnly       Opcode = 0x64 // unreliable datagram: the whole of a message
	RoCENotification Opcode = 0x81 // RoCEv2: a congestion notification packet

	// The opcodes of stamped packets (StampExtension) of RoCEv2: manufacturers may define them.
	StampedSendOnly             = stampedOpcodes | RCSendOnly
	StampedSendImmediate        = stampedOpcodes | RCSendImmediate
	StampedAck                  = stampedOpcodes | RCAck
	stampedOpcodes       Opcode = 0xC0

	// SelectedAck is the opcode of an ACK of RoCEv2 that names a packet (Frame.Selected), as
	// manufacturers may define them, too.
	SelectedAck = 0xE0 | RCAck
)

// DefaultPKey is the partition that every port is a full member of.
const DefaultPKey = 0xFFFF

// Append appends the BTHSize bytes of h to b. Of a field that is too large only
// the bits that fit are written.
func (h BTH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(h.Opcode)<<56|bit(h.Solicited, bthSolicited)|bit(h.Migrated, bthMigrated)|
		uint64(h.Pad&3)<<bthPad|uint64(h.TVer&0xF)<<48|uint64(h.PKey)<<32|
		bit(h.FECN, bthFECN)|bit(h.BECN, bthBECN)|uint64(h.DestQP&0xFFFFFF))
	return binary.BigEndian.AppendUint32(b, uint32(bit(h.AckReq, bthAckReq))|h.PSN&0xFFFFFF)
}

// Where the flags and the pad of a BTH are in its first eight bytes as a word, and the last of them
// in the four behind.
const (
	bthSolicited = 55
	bthMigrated  = 54
	bthPad       = 52
	bthFECN      = 31
	bthBECN      = 30
	bthAckReq    = 31
)

// ParseBTH reads a BTH from the front of b and returns the bytes behind it. It
// refuses too few bytes and reserved bits.
func ParseBTH(b []byte) (h BTH, rest []byte, err error) {
	if len(b) < BTHSize {
		return BTH{}, nil, refuse("BTH", len(b), ErrTruncated)
	}
	if err := h.parse(b); err != nil {
		return BTH{}, nil, err
	}
	return h, b[BTHSize:], nil
}

// parse reads a BTH into h, with the checks of ParseBTH but without the copy that returning it by
// value would cost. b has at least BTHSize bytes.
func (h *BTH) parse(b []byte) error {
	w, last := binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])
	switch {
	case w&(0x3F<<24) != 0:
		return refuse("BTH.Reserved", 4, ErrReserved)
	case last&(0x7F<<24) != 0:
		return refuse("BTH.Reserved", 8, ErrReserved)
	}
	h.Opcode = Opcode(w >> 56)
	h.Solicited = w&(1<<bthSolicited) != 0
	h.Migrated = w&(1<<bthMigrated) != 0
	h.Pad = uint8(w>>bthPad) & 3
	h.TVer = uint8(w>>48) & 0xF
	h.PKey = uint16(w >> 32)
	h.FECN = w&(1<<bthFECN) != 0
	h.BECN = w&(1<<bthBECN) != 0
	h.DestQP = uint32(w) & 0xFFFFFF
	h.AckReq = last&(1<<bthAckReq) != 0
	h.PSN = last & 0xFFFFFF
	return nil
}

// bit returns a word with bit n set if v is true.
func bit(v bool, n uint) uint64 {
	if v {
		return 1 << n
	}
	return 0
}
