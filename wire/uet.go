package wire

import (
	"encoding/binary"
	"slices"

	"fabemu/wire/unit"
)

// UETPort is the UDP port that packets of Ultra Ethernet transport go to: the registered one, which
// the headers of Linux and of XDP2 have, too. The reference provider (uet-ref-prov) uses 49150.
const UETPort = 4793

// The sizes of the headers of Ultra Ethernet transport, in bytes (uet_pkt_hdr.h of uet-ref-prov).
const (
	UETRequestSize = 12 // of the packet delivery sublayer (PDS), of a request: RUD_REQ, ROD_REQ
	UETStateSize   = 4  // the state of congestion control behind it: RUD_CC_REQ, ROD_CC_REQ
	UETMessageSize = 32 // of the semantic sublayer (SES), of a request of one packet: UET_HDR_REQ_MEDIUM
	UETAckSize     = 12 // ACK
	UETAckCCSize   = 32 // ACK_CC
	UETNackSize    = 16 // NACK
	UETControlSize = 16 // CTRL
)

// The types of packets (uet_pds_pkt_type_t).
const (
	pdsRUD   = 2
	pdsROD   = 3
	pdsAck   = 7
	pdsAckCC = 8
	pdsNack  = 10
	pdsCtrl  = 11
	pdsRUDCC = 13
	pdsRODCC = 14
)

// The codes of NACKs (uet_pds_nack_code_t) that this program sends: UETExtension.Code.
const (
	NackTrimmed        = 0x01
	NackTrimmedLastHop = 0x02
	NackOutOfWindow    = 0x0B // PSN_OOR_WINDOW: the receive window does not reach so far
	NackOutOfOrder     = 0x0D // ROD_OOO: ahead of its turn, in ordered delivery
)

// The types of control packets (uet_pds_ctrl_type_t) that this program sends: UETExtension.Code.
const (
	UETProbe         = 6 // asks for an ACK
	UETCredit        = 7 // the destination grants credit
	UETCreditRequest = 8 // the source asks for it
)

// The flags of a frame of UET, in UETExtension.Flags.
const (
	UETRetransmitted uint8 = 1 << iota // Data, Control: it was sent before; Ack: the packet that it answers was
	UETOrdered                         // Data: of ordered delivery (ROD)
	UETState                           // Data, Ack: it has the state of congestion control
	UETProbed                          // Ack: it answers a probe
	UETLastHop                         // Trimmed, as an Answerer receives it: trimmed by the last switch; not in the bytes
)

// CreditUnit is the unit of credit, which has 24 bits (uet-htsim, uecpacket.h: UEC_PULL_SHIFT).
const CreditUnit unit.Size = 256

// creditMask selects the bits of an amount of credit.
const creditMask = 1<<24 - 1

// UETExtension is the extension of a frame of the family UET. Each offset is added to the number
// that it belongs to.
type UETExtension struct {
	Bitmap       uint64 // Ack with UETState: bit i is set if packet PSN + BitmapOffset + i has come; Data: 0, as none has a body
	Amount       uint32 // in units of CreditUnit, 24 bits that wrap: Data with UETState: credit target; Control: credit granted or asked for
	Base         uint32 // Control, of a probe: the first packet of the bitmap that its ACK should have
	Offset       int16  // Data: from PSN to the last packet before the first that may be missing at its destination; Ack: to the packet that it answers; of a probe and its ACK: any number
	BitmapOffset int16  // Ack with UETState
	OutOfOrder   uint16 // Ack with UETState: how many packets have come and wait for an earlier one
	Code         uint8  // Ack that is a NAK: NackTrimmed and so on; Control: UETProbe and so on
	Flags        uint8  // UETRetransmitted and so on
}

// UET returns the extension of a frame of the family UET.
func (f *Frame) UET() *UETExtension { return as[UETExtension](&f.Extension) }

// SetCredit sets the amount of credit that a frame of UET grants, asks for or needs in all: n
// bytes, rounded up to CreditUnit. It wraps: CreditSince continues it.
func (f *Frame) SetCredit(n unit.Size) {
	f.UET().Amount = uint32((n+CreditUnit-1)/CreditUnit) & creditMask
}

// CreditSince returns the amount of credit of a frame in bytes, where last is the one of an earlier
// frame: it is at most 2GiB more or less.
func (f *Frame) CreditSince(last unit.Size) unit.Size {
	d := (f.UET().Amount - uint32(last/CreditUnit)) & creditMask
	return last/CreditUnit*CreditUnit + unit.Size(int32(d<<8)>>8)*CreditUnit
}

// flagged reports whether a frame of UET has a flag.
func (f *Frame) flagged(flag uint8) bool { return f.UET().Flags&flag != 0 }

// ofUET returns the size of a packet of UET, IP header included.
func (f *Frame) ofUET() int {
	n := IPv4Size + UDPSize
	switch {
	case f.Kind == Data:
		n += UETRequestSize + UETMessageSize + int(f.Payload)
		if f.flagged(UETState) {
			n += UETStateSize
		}
		return n
	case f.Kind == UETControl:
		return n + UETControlSize
	case f.Bits&bitNAK != 0:
		return n + UETNackSize
	case f.flagged(UETState):
		return n + UETAckCCSize
	}
	return n + UETAckSize
}

// The bits of identifiers of packet delivery contexts (PDC): they have one bit that is always set,
// because 0 is none. That of the source has 15 bits of the queue pair, and that of the destination
// the others.
const (
	pdcBit  = 1 << 15
	pdcLow  = 15
	pdcRest = 1<<9 - 1
)

// contexts returns the identifiers of the contexts of a flow, at its source and its destination.
func contexts(qp uint32) (source, destination uint16) {
	return uint16(pdcBit | qp&(pdcBit-1)), uint16(pdcBit | qp>>pdcLow&pdcRest)
}

// appendUET appends a packet of UET: IP, UDP, PDS and, of Data, SES and payload. There are no UDP
// checksum, no encryption and no responses of the semantic sublayer; contexts are established, so
// no packet has SYN. Each packet is a SEND of its own, as on RoCEv2; the flag "delivery complete"
// ends a transfer, and header data is the tag of a message. The high byte of each field comes
// first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------+-------+-------------+-------------------------------+
//	|  Type   | Next  |    Flags    | Offset (of a NACK: code, 0)   |  0
//	+---------+-------+-------------+-------------------------------+
//	|                              PSN                              |  4
//	+-------------------------------+-------------------------------+
//	|     context of the sender     |    context of the receiver    |  8
//	+-------------------------------+-------------------------------+
//	|    of a NACK 0, of a CTRL its payload; a request has neither  | 12
//	+---------------------------------------------------------------+
//
// Behind a request with state, at 12: a byte of zeros (the context of congestion control), and 24
// bits of credit target. Behind an ACK_CC, at 12: its type of congestion control, 0, and its
// maximum range of PSNs, not given (0), BitmapOffset, and Bitmap; then the state of NSCC, of which
// only the last 16 bits, OutOfOrder, are used.
func appendUET(b []byte, f *Frame, _ Body) []byte {
	b = appendUETHead(b, f)
	if f.Kind == Data {
		b = appendZeros(b, int(f.Payload))
	}
	return b
}

// appendUETHead appends all headers of a packet of UET.
func appendUETHead(b []byte, f *Frame) []byte {
	here, there := contexts(f.QP)
	x := f.UET()
	b = f.appendUDPOf(b, UETPort, f.ofUET())
	kind, next, flags, offset := uint16(pdsAck), uint16(0), uint16(0), uint16(x.Offset)
	if f.flagged(UETRetransmitted) {
		flags |= 0x10
	}
	switch f.Kind {
	case Data:
		kind, next = pdsRUD, 2
		if f.flagged(UETState) {
			kind = pdsRUDCC
		}
		kind += uint16(bit(f.flagged(UETOrdered), 0))
		flags |= uint16(bit(f.Bits&bitAckReq != 0, 3))
	case UETControl:
		kind, next = pdsCtrl, uint16(x.Code&15)
		flags |= uint16(bit(x.Code == UETProbe, 3))
		if x.Code == UETCredit {
			here, there = there, here
		}
	default:
		flags |= uint16(bit(f.BECN, 5) | bit(f.flagged(UETProbed), 3))
		here, there = there, here
		switch {
		case f.Bits&bitNAK != 0:
			kind, offset = pdsNack, uint16(x.Code)<<8
		case f.flagged(UETState):
			kind = pdsAckCC
		}
	}
	b = binary.BigEndian.AppendUint16(b, kind<<11|next<<7|flags)
	b = binary.BigEndian.AppendUint16(b, offset)
	b = binary.BigEndian.AppendUint32(b, f.PSN)
	b = binary.BigEndian.AppendUint32(b, uint32(here)<<16|uint32(there))
	switch {
	case kind == pdsCtrl && x.Code == UETProbe:
		return binary.BigEndian.AppendUint32(b, x.Base)
	case kind == pdsCtrl:
		return binary.BigEndian.AppendUint32(b, x.Amount&creditMask)
	case kind == pdsNack:
		return binary.BigEndian.AppendUint32(b, 0)
	case kind == pdsAckCC:
		b = binary.BigEndian.AppendUint32(b, uint32(uint16(x.BitmapOffset)))
		b = binary.BigEndian.AppendUint64(b, x.Bitmap)
		return binary.BigEndian.AppendUint64(b, uint64(x.OutOfOrder))
	case kind == pdsAck:
		return b
	case f.flagged(UETState):
		b = binary.BigEndian.AppendUint32(b, x.Amount&creditMask)
	}
	return appendSES(b, f)
}

// The flags of the header of the semantic sublayer.
const (
	sesSend     = 5        // the operation
	sesComplete = 1 << 5   // delivery complete
	sesData     = 1 << 2   // there is header data
	sesWhole    = 1<<1 | 1 // end and start of the message
)

// appendSES appends the header of a request of one packet of the semantic sublayer. Job, process,
// resource, initiator and match bits are not given: zeros.
//
//	+---+-----------+---+-+-+-+-+-+-+---+---------------------------+
//	| 0 | Operation | 0 |C|0|0|D|1|1| 0 |          Length           |  0
//	+---+-----------+---+-+-+-+-+-+-+---+---------------------------+
//	|                               0                               |  4
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                       Header data (64)                        | 12
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                               0                               | 20
//	|                                                               |
//	|                                                               |
//	+---------------------------------------------------------------+
func appendSES(b []byte, f *Frame) []byte {
	v, tagged := f.Immediate()
	flags := sesWhole | uint32(bit(f.Last, 5)|bit(tagged, 2))
	b = binary.BigEndian.AppendUint32(b, sesSend<<24|flags<<16|f.Payload&0x3FFF)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(v))
	b = binary.BigEndian.AppendUint64(b, 0)
	return binary.BigEndian.AppendUint32(b, 0)
}

// appendUDPOf appends the IPv4 and UDP headers of a packet of so many bytes, without a UDP
// checksum.
func (f *Frame) appendUDPOf(b []byte, port uint64, size int) []byte {
	b = appendIPv4(b, f, protocolUDP, size)
	return binary.BigEndian.AppendUint64(b, uint64(f.SourcePort())<<48|port<<32|uint64(size-IPv4Size)<<16)
}

// sesLeast is how much of the header of the semantic sublayer a Trimmed packet has at least, and
// sesTag where its header data ends.
const (
	sesLeast = 4
	sesTag   = 20
)

// ofPDS returns the size of the headers of a request up to the semantic sublayer.
func (f *Frame) ofPDS() int {
	if f.flagged(UETState) {
		return UETRequestSize + UETStateSize
	}
	return UETRequestSize
}

// keepsTag reports whether a Trimmed packet of UET has its header data.
func (f *Frame) keepsTag() bool { return int(f.Flags)*4 >= f.ofPDS()+sesTag }

// appendCutUET appends the first size bytes of a data packet of UET that a switch has cut.
func appendCutUET(b []byte, whole *Frame, size int) []byte {
	var room [maxUETHead]byte
	p := appendUETHead(room[:0], whole)
	binary.BigEndian.PutUint16(p[2:], uint16(size))
	clear(p[10:12])
	binary.BigEndian.PutUint16(p[10:], ^onesSum(0, p[:IPv4Size]))
	p = p[:min(len(p), size)]
	return appendZeros(append(b, p...), size-len(p))
}

// parseCutUET completes f with the packet p of UET, of which a switch has left only the beginning.
// As with parseTrimmed, it is compared with what Append would write.
func parseCutUET(f *Frame, p []byte) error {
	const pds = IPv4Size + UDPSize
	h, x := p[pds:], f.UET()
	kind := binary.BigEndian.Uint16(h) >> 11
	switch f.Kind = Trimmed; kind {
	case pdsRUDCC, pdsRODCC:
		x.Flags |= UETState
	case pdsRUD, pdsROD:
	default:
		return refuse("PDS.Type", pds, ErrUnsupported)
	}
	x.Flags |= uint8(bit(kind == pdsROD || kind == pdsRODCC, 1))
	behind := f.ofPDS()
	payload := int(binary.BigEndian.Uint16(p[IPv4Size+4:])) - UDPSize - behind - UETMessageSize
	switch {
	case len(h)%4 != 0 || len(h) > maxKept || payload < 0 || payload > MaxPayload:
		return refuse("UDP.Length", IPv4Size+4, ErrRange)
	case len(h) < f.kept():
		return refuse("headers", len(p), ErrTruncated)
	case f.CPID != 0:
		return refuse("EtherType", -2, ErrUnsupported)
	}
	f.Flags, f.Payload, f.Last = uint8(len(h)/4), uint32(payload), h[behind+1]&sesComplete != 0
	f.Bits |= bitAckReq.when(h[1]&8 != 0) | bitImmediate.when(h[behind+1]&sesData != 0)
	if f.keepsTag() {
		f.MSN = uint32(binary.BigEndian.Uint64(h[behind+sesTag-8:]))
	}
	if f.flagged(UETState) {
		x.Amount = binary.BigEndian.Uint32(h[UETRequestSize:])
	}
	return nil
}

// maxUETHead is the longest head of a packet of UET.
const maxUETHead = IPv4Size + UDPSize + UETRequestSize + UETStateSize + UETMessageSize

// parseUET completes f with a packet of UET, which starts at b[at]; b is all but the FCS. It reads
// the fields that a frame has, and then compares all bytes with those that appendUET writes.
func parseUET(f *Frame, b []byte, at int) error {
	const pds = IPv4Size + UDPSize
	p := b[at:]
	if len(p) < pds+UETAckSize {
		return refuse("UET", len(b), ErrTruncated)
	}
	named, flow := f.Tagged || f.CPID != 0, f.QP
	size, first := int(binary.BigEndian.Uint16(p[2:])), binary.BigEndian.Uint16(p[pds:])
	switch {
	case p[0] != 0x45:
		return refuse("IPv4.Version", at, ErrUnsupported)
	case size < pds+UETAckSize:
		return refuse("IPv4.Length", at+2, ErrRange)
	case size > len(p):
		return refuse("IPv4.Length", at+2, ErrTruncated)
	case onesSum(0, p[:IPv4Size]) != 0xFFFF:
		return refuse("IPv4.Checksum", at+10, ErrChecksum)
	}
	f.Family, f.Bits = UET, 0
	if !f.setTrafficClass(p[1]) {
		return refuse("IPv4.ECN", at+1, ErrUnsupported)
	}
	h, x := p[pds:size], f.UET()
	source, destination := binary.BigEndian.Uint16(h[8:]), binary.BigEndian.Uint16(h[10:])
	f.PSN, x.Offset = binary.BigEndian.Uint32(h[4:]), int16(binary.BigEndian.Uint16(h[2:]))
	if first&0x10 != 0 {
		x.Flags |= UETRetransmitted
	}
	need := UETAckSize
	kind := first >> 11
	cut := int(binary.BigEndian.Uint16(p[IPv4Size+4:])) > size-IPv4Size
	if cut {
		if err := parseCutUET(f, p[:size]); err != nil {
			return shift(err, at)
		}
		kind = 0
	}
	switch kind {
	case 0:
		if !cut {
			return refuse("PDS.Type", at+pds, ErrUnsupported)
		}
	case pdsRUD, pdsROD, pdsRUDCC, pdsRODCC:
		need = UETRequestSize + UETMessageSize
		f.Kind, x.Flags = Data, x.Flags|uint8(bit(kind == pdsROD || kind == pdsRODCC, 1))
		if f.Bits |= bitAckReq.when(first&8 != 0); kind >= pdsRUDCC {
			x.Flags |= UETState
			need += UETStateSize
		}
	case pdsCtrl:
		f.Kind, need, x.Code = UETControl, UETControlSize, uint8(first>>7&15)
	case pdsNack:
		f.Kind, f.Bits, need, x.Code, x.Offset = Ack, f.Bits|bitNAK, UETNackSize, h[2], 0
	case pdsAckCC:
		f.Kind, x.Flags, need = Ack, x.Flags|UETState, UETAckCCSize
	case pdsAck:
		f.Kind = Ack
	default:
		return refuse("PDS.Type", at+pds, ErrUnsupported)
	}
	if len(h) < need {
		return refuse("PDS", at+size, ErrTruncated)
	}
	switch f.Kind {
	case Data:
		if f.flagged(UETState) {
			x.Amount = binary.BigEndian.Uint32(h[UETRequestSize:])
		}
		ses := h[need-UETMessageSize:]
		f.Last, f.Payload = ses[1]&sesComplete != 0, uint32(len(h)-need)
		if f.Payload > MaxPayload {
			return refuse("IPv4.Length", at+2, ErrRange)
		}
		if ses[1]&sesData != 0 {
			f.SetImmediate(uint32(binary.BigEndian.Uint64(ses[12:])))
		}
	case UETControl:
		v := binary.BigEndian.Uint32(h[UETAckSize:])
		switch x.Code {
		case UETProbe:
			x.Base = v
		case UETCredit:
			x.Amount = v
			source, destination = destination, source
		case UETCreditRequest:
			x.Amount = v
		default:
			return refuse("PDS.Control", at+pds, ErrUnsupported)
		}
	case Ack:
		source, destination = destination, source
		f.BECN = first&0x20 != 0
		if first&8 != 0 {
			x.Flags |= UETProbed
		}
		if f.flagged(UETState) {
			x.BitmapOffset = int16(binary.BigEndian.Uint16(h[14:]))
			x.Bitmap, x.OutOfOrder = binary.BigEndian.Uint64(h[16:]), binary.BigEndian.Uint16(h[30:])
		}
	}
	f.QP = uint32(source&(pdcBit-1)) | uint32(destination&pdcRest)<<pdcLow
	port := binary.BigEndian.Uint16(p[IPv4Size:])
	switch {
	case port < LeastSourcePort:
		return refuse("UDP.Source", at+IPv4Size, ErrUnsupported)
	case named && flow != f.QP&0xFFFF:
		return refuse("PDS.Context", at+pds+8, ErrUnsupported) // not the one of the tags
	case f.CPID != 0 && f.Kind != Data:
		return refuse("EtherType", at-2, ErrUnsupported) // only data has a rate-limited tag
	}
	f.SetSourcePort(port)
	if cut {
		var room [IPv4Size + UDPSize + maxKept]byte
		for i, v := range appendTrimmed(room[:0], f, Body{}) {
			if p[i] != v {
				return refuse("UET", at+i, ErrUnsupported)
			}
		}
		return wantSize(b, at+size)
	}
	var again [maxUETHead]byte // all that is not read is as it is written
	head := *f
	head.Payload = 0
	want := appendUET(again[:0], &head, Body{})
	for i := range want {
		switch i {
		case 2, 3, 10, 11, IPv4Size + 4, IPv4Size + 5: // lengths of the whole packet, and the checksum above
			continue
		}
		if length := pds + need - UETMessageSize + 2; f.Kind == Data && (i == length || i == length+1) {
			continue
		}
		if p[i] != want[i] {
			return refuse("UET", at+i, ErrUnsupported)
		}
	}
	switch {
	case int(binary.BigEndian.Uint16(p[IPv4Size+4:])) != size-IPv4Size:
		return refuse("UDP.Length", at+IPv4Size+4, ErrRange)
	case f.Kind == Data && uint32(binary.BigEndian.Uint16(h[need-UETMessageSize+2:])) != f.Payload:
		return refuse("SES.Length", at+pds+need-UETMessageSize+2, ErrRange)
	case f.Kind != Data && len(h) > need:
		return refuse("PDS", at+pds+need, ErrTrailing)
	case !allZero(p[pds+need:]):
		return refuse("payload", at+pds+need, ErrPayload)
	}
	return wantSize(b, at+size)
}

// parseUDP completes f with a packet of RoCEv2 or UET, which starts at b[at], by its UDP port.
func parseUDP(f *Frame, body *Body, b []byte, at int) error {
	if p := b[at:]; p[0] == 0x45 && len(p) >= IPv4Size+UDPSize && binary.BigEndian.Uint16(p[IPv4Size+2:]) == UETPort {
		return parseUET(f, b, at)
	}
	return parseRoCE(f, body, b, at)
}

// The fields of frames of UET, which Data and Ack have in addition to others.
var (
	ofUETCredit = access{Of: func(f *Frame) int64 { return int64(f.UET().Amount) * int64(CreditUnit) }}
	uetFields   = []Field{
		{Word: "ordered", Form: Flag, access: is(func(f *Frame) bool { return f.Family == UET && f.flagged(UETOrdered) })},
		{Word: "retransmitted", Form: Flag, access: is(func(f *Frame) bool { return f.Family == UET && f.flagged(UETRetransmitted) })},
		{Word: "probed", Form: Flag, access: is(func(f *Frame) bool { return f.Family == UET && f.flagged(UETProbed) })},
		{Word: "code", access: number(func(f *Frame) *uint8 { return &f.UET().Code }),
			Has: func(f *Frame) bool {
				return f.Family == UET && (f.Kind == UETControl || f.Kind == Ack && f.Bits&bitNAK != 0)
			}},
		{Word: "answers", access: access{Of: func(f *Frame) int64 { return int64(f.PSN + uint32(f.UET().Offset)) }},
			Has: func(f *Frame) bool {
				return f.Family == UET && f.Kind == Ack && f.Bits&bitNAK == 0 && !f.flagged(UETProbed)
			}},
		{Word: "bitmap-at", access: access{Of: func(f *Frame) int64 { return int64(f.PSN + uint32(f.UET().BitmapOffset)) }}, Has: (*Frame).hasBitmap},
		{Word: "bitmap", Form: Hex, access: number(func(f *Frame) *uint64 { return &f.UET().Bitmap }), Has: (*Frame).hasBitmap},
		{Word: "out-of-order", access: number(func(f *Frame) *uint16 { return &f.UET().OutOfOrder }), Has: (*Frame).hasBitmap},
		{Word: "credit", access: ofUETCredit, Has: func(f *Frame) bool {
			return f.Family == UET && (f.Kind == UETControl && f.UET().Code != UETProbe || f.Kind == Data && f.flagged(UETState))
		}},
	}
	controlFields = slices.Concat([]Field{
		{Key: "code", access: number(func(f *Frame) *uint8 { return &f.UET().Code })},
		{Key: "psn", access: ofPSN},
		{Key: "amount", access: number(func(f *Frame) *uint32 { return &f.UET().Amount })},
	}, packetFields, addressees)
)

// hasBitmap reports whether a frame is an ACK of UET with a bitmap.
func (f *Frame) hasBitmap() bool { return f.Family == UET && f.Kind == Ack && f.flagged(UETState) }
