package wire

import (
	"encoding/binary"
	"slices"

	"fabemu/wire/unit"
)

// Delimiter says which symbol stood in front of a frame on a real link, where it
// tells data packets from link packets; Ethernet has one for all frames. In a
// datagram the trailer carries it. The zero value is invalid on purpose.
type Delimiter uint8

// The delimiters.
const (
	DataPacket   Delimiter = iota + 1 // LRH ... VCRC: Data and Ack
	LinkPacket                        // FlowControl
	StartOfFrame                      // Ethernet: DA ... FCS
)

// delimiterWords are the words for delimiters.
var delimiterWords = [...]string{
	0: "none", DataPacket: "data packet", LinkPacket: "link packet", StartOfFrame: "ethernet frame",
}

func (d Delimiter) String() string { return unit.Word(d, delimiterWords[:]) }

// Delimiter returns the delimiter of f; that of no frame is 0.
func (f *Frame) Delimiter() Delimiter {
	switch {
	case f.ethernet():
		return StartOfFrame
	case f.Kind == Data, f.Kind == Ack:
		return DataPacket
	case f.Kind == FlowControl:
		return LinkPacket
	default:
		return 0
	}
}

// Append appends the bytes of f to b: WireSize of them, every one written. It
// does not allocate if b has room. Of a field that is too large only the bits
// that fit are written, and of what is not independent nothing twice: a class that
// stops without being one that the frame speaks of, or for 0 quanta, goes on. It
// panics if the payload of a Data frame is above MaxPayload or not a multiple of 4,
// on Ethernet outside MinMSDU to MaxMSDU, which would be an error of the program. A
// frame of no kind has no bytes. Nor has one with a body here: it is for AppendBody.
func (f *Frame) Append(b []byte) []byte { return f.AppendBody(b, Body{}) }

// AppendBody is Append for a frame that may have a body, as Bodies.Of returns it.
func (f *Frame) AppendBody(b []byte, body Body) []byte {
	switch {
	case f.Kind != Data:
	case body.Type == 0 && (f.Value != 0 || len(body.Bytes) > 0):
		panic("wire: a data frame without its body, or with bytes that are no body")
	case body.Type != 0 && (body.Type < LeastBodyType || f.Payload != f.Family.payload(len(body.Bytes))):
		panic("wire: a data frame with the body of another")
	case f.Family == Ethernet && (f.Payload < MinMSDU || f.Payload > MaxMSDU):
		panic("wire: a data frame whose payload is below MinMSDU or above MaxMSDU")
	case f.Family != Ethernet && (f.Payload > MaxPayload || f.Payload%4 != 0):
		panic("wire: a data packet whose payload is above MaxPayload or not a multiple of 4")
	}
	if f.ethernet() {
		return appendEthernet(b, f, body)
	}
	b = slices.Grow(b, int(f.WireSize()))
	switch f.Kind {
	case Data:
		return appendData(b, f, body)
	case Ack:
		return appendAck(b, f)
	case FlowControl:
		return appendFCP(b, f)
	default:
		return b
	}
}

// Parse reads the frame that b holds from its first to its last byte, without
// the trailer. It refuses, with a *ParseError, what Append would not have
// written: what Parse accepts, Append writes again byte for byte. It does not
// allocate unless it refuses, and keeps no reference to b.
func Parse(d Delimiter, b []byte) (f Frame, err error) {
	var body Body
	if err = f.parse(&body, d, b); err == nil && body.Type != 0 {
		err = refuse("body", cap(b)-cap(body.Bytes), ErrPayload)
	}
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}

// ParseBody is Parse for AppendBody: a data frame may have a body, which is a part of b.
// The frame has no number of it: that is for Bodies.Put.
func ParseBody(d Delimiter, b []byte) (f Frame, body Body, err error) {
	if err = f.parse(&body, d, b); err != nil {
		return Frame{}, Body{}, err
	}
	return f, body, nil
}

// parse is ParseBody in place, of a frame and a body that are zero: a frame returned by value is copied
// through the stack. Where it refuses it leaves anything in them.
func (f *Frame) parse(body *Body, d Delimiter, b []byte) error {
	switch d {
	case DataPacket:
		return parsePacket(f, body, b)
	case LinkPacket:
		return parseFCP(f, b)
	case StartOfFrame:
		return parseEthernet(f, body, b)
	default:
		return refuse("Trailer.Delimiter", 0, ErrUnsupported)
	}
}

// appendHeader appends LRH and BTH of a packet of InfiniBand with n bytes between BTH and
// ICRC, of which the last are a pad.
func appendHeader(b []byte, f *Frame, n int, pad uint8) []byte {
	b = LRH{
		VL:     f.Lane,
		LNH:    NextBTH,
		DLID:   f.Dst,
		Length: uint16((HeaderSize + n + ICRCSize) / 4),
		SLID:   f.Src,
	}.Append(b)
	first, last := bthOf(f, pad)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, first|bit(f.FECN, bthFECN)), last)
}

// bthOf returns the BTH of f, whose payload has a pad, as words: eight bytes and four. It has no FECN.
func bthOf(f *Frame, pad uint8) (first uint64, last uint32) {
	const migrated, becn = 1 << bthMigrated, 1 << bthBECN
	first = DefaultPKey<<32 | uint64(f.QP&0xFFFFFF)
	last = f.PSN & 0xFFFFFF
	switch f.Kind {
	case Data:
		first |= uint64(RCSendOnly)<<56 | bit(f.Last, bthSolicited) | migrated | uint64(pad)<<bthPad
		return first, last | uint32(bit(!f.roce() || f.Stopped&roceAckReq != 0, bthAckReq)) // every packet of InfiniBand asks for its ACK
	case Ack:
		return first | uint64(RCAck)<<56 | migrated | bit(f.BECN, bthBECN), last
	}
	return first | uint64(RoCENotification)<<56 | becn, 0
}

// appendCRCs appends ICRC and VCRC to the packet that starts at b[start]. What
// follows its BTH is zeros if padding says so.
func appendCRCs(b []byte, start int, padding bool) []byte {
	b = binary.LittleEndian.AppendUint32(b, icrcOf(b[start:], padding))
	b = append(b, 0, 0)
	packet := b[start:]
	binary.LittleEndian.PutUint16(packet[len(packet)-VCRCSize:], packetVCRC(packet, padding))
	return b
}

// parsePacket reads a packet that begins with an LRH into f and body, which are zero. Its
// length and its VCRC are checked before anything else is believed.
func parsePacket(f *Frame, body *Body, b []byte) error {
	const minimum = HeaderSize + ICRCSize + VCRCSize
	if len(b) < LRHSize {
		return refuse("LRH", len(b), ErrTruncated)
	}
	w := binary.BigEndian.Uint64(b)
	size := int(w>>16&0x7FF)*4 + VCRCSize
	switch {
	case size < minimum:
		return refuse("LRH.Length", 4, ErrRange)
	case len(b) < size:
		return refuse("packet", len(b), ErrTruncated)
	case len(b) > size:
		return refuse("packet", size, ErrTrailing)
	}
	behind := size - VCRCSize - ICRCSize
	padding := allZero(b[HeaderSize:behind])
	if packetVCRC(b, padding) != binary.LittleEndian.Uint16(b[size-VCRCSize:]) {
		return refuse("VCRC", size-VCRCSize, ErrChecksum)
	}
	if w&lrhFixed != uint64(NextBTH)<<48 {
		return examineLRH(b)
	}
	if icrcOf(b[:behind], padding) != binary.LittleEndian.Uint32(b[behind:]) {
		return refuse("ICRC", behind, ErrChecksum)
	}
	f.Lane, f.Src, f.Dst = uint8(w>>60), LID(w), LID(w>>32)
	if err := parseTransport(f, body, b[LRHSize:behind], padding); err != nil {
		return shift(err, LRHSize)
	}
	return nil
}

// lrhFixed are the bits of an LRH that are the same in all packets of this package: the version, the service
// level, which header follows, and the reserved ones.
const lrhFixed = 0xFFF<<48 | 0x1F<<27

// examineLRH returns what is wrong with the LRH in front of b, whose lrhFixed are.
func examineLRH(b []byte) error {
	var h LRH
	switch err := h.parse(b); {
	case err != nil:
		return err
	case h.LVer != 0:
		return refuse("LRH.LVer", 0, ErrUnsupported)
	case h.SL != 0:
		return refuse("LRH.SL", 1, ErrUnsupported)
	default:
		return refuse("LRH.LNH", 1, ErrUnsupported)
	}
}

// parseTransport completes f, of InfiniBand or RoCEv2, and its body with p: what stands from its BTH
// to its ICRC. All behind the BTH is zeros if padding says so.
func parseTransport(f *Frame, body *Body, p []byte, padding bool) error {
	first, last, rest := binary.BigEndian.Uint64(p), binary.BigEndian.Uint32(p[8:]), p[BTHSize:]
	opcode, roce := Opcode(first>>56), f.roce()
	if first&bthFixed != 1<<bthMigrated|DefaultPKey<<32 || last&(0x7F<<24) != 0 || roce || opcode == RoCENotification {
		if err := examineBTH(p, roce, padding); err != nil {
			return err
		}
	}
	f.QP, f.PSN = uint32(first)&0xFFFFFF, last&0xFFFFFF
	if first&(1<<bthFECN) != 0 {
		f.FECN = true
	}
	switch opcode {
	case RCSendOnly:
		return parseData(f, body, first, last, rest, padding)
	case RCAck:
		return parseAck(f, first, last, rest)
	case RoCENotification:
		return parseCNP(f, first, last, rest, padding)
	default:
		return refuse("BTH.Opcode", 0, ErrUnsupported)
	}
}

// bthFixed are the bits in the first eight bytes of a BTH that are the same in all packets of InfiniBand of
// this package whose bodies have no pad.
const bthFixed = 1<<bthMigrated | 3<<bthPad | 0xFFFFF<<32 | 0x3F<<24

// examineBTH returns what is wrong with the BTH in front of p, of a packet of InfiniBand or RoCEv2: reserved
// bits, and what is not as the opcode wants it.
func examineBTH(p []byte, roce, padding bool) error {
	var h BTH
	switch err := h.parse(p); {
	case err != nil:
		return err
	case h.Migrated == (h.Opcode == RoCENotification):
		return refuse("BTH.Migrated", 1, ErrUnsupported)
	case h.Pad != 0 && (padding || h.Opcode != RCSendOnly):
		return refuse("BTH.Pad", 1, ErrUnsupported)
	case h.TVer != 0:
		return refuse("BTH.TVer", 1, ErrUnsupported)
	case h.PKey != DefaultPKey:
		return refuse("BTH.PKey", 2, ErrUnsupported)
	case h.FECN && roce: // RoCEv2 marks by CE
		return refuse("BTH.FECN", 4, ErrUnsupported)
	}
	return nil
}
