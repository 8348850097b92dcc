package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The sizes of the parts of an Ethernet frame, in bytes.
const (
	EthernetHeaderSize = 18 // both addresses, the 802.1Q tag, the EtherType
	CNTagSize          = 4  // between the last two, if there is one
	RLTagSize          = 14 // the same, after the CN-TAG
	FCSSize            = 4
)

// MinFrame is the size of the shortest Ethernet frame, its FCS included (IEEE
// 802.3, 4A.4.2): a shorter one is filled up with zeros.
const MinFrame = 64

// LinkOverhead is how much a frame takes on an Ethernet line in addition to its own bytes:
// preamble and start delimiter, 8, and the gap between frames, 12 (IEEE 802.3,
// 4A.4.2).
const LinkOverhead = 20

// The range of the payload of a Data frame on Ethernet: it begins with a header
// of MinMSDU bytes, and ends where jumbo frames do.
const (
	MinMSDU = 12
	MaxMSDU = 9000
)

// MaxFrameSize is the size of the longest frame of any family in a datagram,
// without the trailer: of a guest's, with a tag of its own.
const MaxFrameSize = EthernetHeaderSize + tagSize + CNTagSize + RLTagSize + MaxMSDU + FCSSize

// The EtherTypes of the frames that this package writes.
const (
	typeVLAN         = 0x8100 // a customer VLAN tag follows (IEEE 802.1Q)
	typeControl      = 0x8808 // MAC control: PAUSE, PFC, CC_Update (IEEE 802.3, clause 31)
	typeCNTag        = 0x22E9 // a CN-TAG follows (IEEE 802.1Qau)
	typeNotification = 0x22E7 // a CNM (IEEE 802.1Qau)
	typeRLTag        = 0x8904 // a rate-limited tag follows (BCN)
	typeIPv4         = 0x0800 // an IPv4 packet: of TCP, or of RoCEv2
	typeIPv6         = 0x86DD // an IPv6 packet: of RoCEv2
	typeData         = 0x88B5 // for local experiments (IEEE 802, 9.2.4): data, BCN messages, messages, probes, control ordered sets
)

// EtherType reports whether t is the EtherType of frames that this package reads, behind
// their addresses and their 802.1Q tag.
func EtherType(t uint16) bool {
	return t == typeCNTag || t == typeRLTag || announced(t, false, 0)|announced(t, true, 0) != 0
}

// etherType returns the EtherType in front of the content of f.
func (f *Frame) etherType() uint16 {
	if f.Family == RoCEv2 {
		return f.Bits.typeOfIP()
	}
	return f.form().etherType
}

// MAC is an address of Ethernet, its 48 bits in the order of transmission from
// the highest.
type MAC uint64

// ControlAddress is where MAC control frames and control ordered sets go: the station at the other
// end of the link, whatever its address is, and no node behind it (IEEE 802.3, 31B.1).
const ControlAddress MAC = 0x0180C2000001

// localMAC is the part of a MAC that is the same for all nodes of a fabric: an
// individual address, administered locally. The LID is the rest.
const localMAC MAC = 0x020000000000

// MAC returns the address on Ethernet of the node with address l:
// 02:00:00:00 and l, the high byte first.
func (l LID) MAC() MAC { return localMAC | MAC(l) }

// LID returns the node whose address m is, and false if there is none.
func (m MAC) LID() (LID, bool) { return LID(m), m&^0xFFFF == localMAC }

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", byte(m>>40), byte(m>>32), byte(m>>24), byte(m>>16), byte(m>>8), byte(m))
}

// appendMAC appends the six bytes of the address of a node.
func appendMAC(b []byte, m MAC) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(m>>32)), uint32(m))
}

// macAt reads the address of a node that starts at b[at], and reports false if there is no such
// node.
func macAt(b []byte, at int) (LID, bool) {
	return (MAC(binary.BigEndian.Uint16(b[at:]))<<32 | MAC(binary.BigEndian.Uint32(b[at+2:]))).LID()
}

// appendVLAN appends a tag of IEEE 802.1Q with a priority and no VLAN: its EtherType, and two
// bytes, the high one first (IEEE 802.1Q, 9.6).
//
//	 0                   1
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
//	+-----+-+-----------------------+
//	| PCP |D|          VID          |
//	+-----+-+-----------------------+
func appendVLAN(b []byte, priority uint8) []byte {
	return binary.BigEndian.AppendUint32(b, typeVLAN<<16|uint32(priority&7)<<13)
}

// The fields of such a tag in addition to the priority.
const (
	vlanDropEligible = 1 << 12
	vlanID           = 1<<12 - 1
)

// CNTag is the flow identifier in the congestion notification tag of IEEE 802.1Qau: 4 bytes behind
// the 802.1Q tag, the EtherType 22E9 and the identifier, the high byte first. The identifier means
// something only to the source, which finds it again in the notifications that its frames have
// caused.
type CNTag uint16

// limited reports whether f has a rate-limited tag.
func (f *Frame) limited() bool {
	return f.CPID != 0 && (f.Kind == Data || f.Kind == TCP && f.Payload > 0)
}

// appendAddresses appends the addresses of f, its tags and the EtherType of its content. The
// rate-limited tag of BCN is RLTagSize bytes behind the 802.1Q tag of a data frame whose flow has a
// rate limiter, the high byte of each field first. Its CPID is the congestion point that has put
// the limiter there, and not 0; Flow is a hash of the flow, here the low 16 bits of its QP.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------+-----------------------+
//	|        EtherType 8904         |Version|           0           |  0
//	+-------------------------------+-------+-----------------------+
//	|                           CPID (64)                           |  4
//	|                                                               |
//	+-------------------------------+-------------------------------+
//	|             Flow              |                                 12
//	+-------------------------------+
//
// EtherType 8904 is the one for BCN in the IEEE's list. That a version, the CPID and a hash of
// the flow follow is known from US patent 8,792,352; their order and widths are ours.
func appendAddresses(b []byte, f *Frame) []byte {
	if f.Kind.Control() {
		b = appendMAC(appendMAC(b, ControlAddress), f.Src.MAC())
		return binary.BigEndian.AppendUint16(b, f.etherType())
	}
	b = appendVLAN(appendMAC(appendMAC(b, f.Dst.MAC()), f.Src.MAC()), f.Lane)
	return binary.BigEndian.AppendUint16(appendTags(b, f), f.etherType())
}

// appendTags appends the tags of congestion schemes.
func appendTags(b []byte, f *Frame) []byte {
	if f.Tagged {
		b = binary.BigEndian.AppendUint32(b, typeCNTag<<16|uint32(CNTag(f.QP)))
	}
	if f.limited() {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, typeRLTag<<16), f.CPID)
		b = binary.BigEndian.AppendUint16(b, uint16(f.QP))
	}
	return b
}

// behindAddresses is the offset of the first EtherType of an Ethernet frame.
const behindAddresses = 12

// parseAddresses reads the addresses and tags of an Ethernet frame into f, and returns the
// EtherType behind them and where it ends; b is all but the FCS.
func parseAddresses(f *Frame, b []byte) (kind uint16, at int, err error) {
	src, fromNode := macAt(b, 6)
	dst, toNode := macAt(b, 0)
	kind, f.Src = binary.BigEndian.Uint16(b[behindAddresses:]), src
	toLink := binary.BigEndian.Uint64(b)>>16 == uint64(ControlAddress)
	switch tag := binary.BigEndian.Uint16(b[behindAddresses+2:]); {
	case !fromNode:
		return 0, 0, refuse("SA", 6, ErrUnsupported)
	case (kind == typeControl || kind == typeData) && toLink:
		return kind, behindAddresses + 2, nil
	case kind != typeControl && kind != typeVLAN:
		return 0, 0, refuse("EtherType", behindAddresses, ErrUnsupported)
	case !toNode || kind == typeControl:
		return 0, 0, refuse("DA", 0, ErrUnsupported)
	case tag&vlanDropEligible != 0:
		return 0, 0, refuse("802.1Q.DEI", behindAddresses+2, ErrUnsupported)
	case tag&vlanID != 0:
		return 0, 0, refuse("802.1Q.VID", behindAddresses+2, ErrUnsupported)
	default:
		f.Dst, f.Lane = dst, uint8(tag>>13)
	}
	kind, at = binary.BigEndian.Uint16(b[EthernetHeaderSize-2:]), EthernetHeaderSize
	if kind == typeCNTag {
		f.Tagged, f.QP = true, uint32(binary.BigEndian.Uint16(b[at:]))
		kind, at = binary.BigEndian.Uint16(b[at+2:]), at+CNTagSize
	}
	if kind == typeRLTag {
		version, flow := binary.BigEndian.Uint16(b[at:]), uint32(binary.BigEndian.Uint16(b[at+10:]))
		f.CPID = binary.BigEndian.Uint64(b[at+2:])
		switch {
		case version&0xF000 != 0:
			return 0, 0, refuse("RLT.Version", at, ErrUnsupported)
		case version != 0:
			return 0, 0, refuse("RLT.Reserved", at, ErrReserved)
		case f.CPID == 0:
			return 0, 0, refuse("RLT.CPID", at+2, ErrRange)
		case f.Tagged && f.QP != flow:
			return 0, 0, refuse("RLT.Flow", at+RLTagSize-4, ErrUnsupported)
		}
		f.QP = flow
		kind, at = binary.BigEndian.Uint16(b[at+12:]), at+RLTagSize
	}
	return kind, at, nil
}

// appendFlow appends the start of a data frame, a message or a probe: version, QP, flags, PSN.
func appendFlow(b []byte, f *Frame, version uint32, flags uint8) []byte {
	b = binary.BigEndian.AppendUint32(b, version<<24|f.QP&0xFFFFFF)
	return binary.BigEndian.AppendUint32(b, uint32(flags)<<24|f.PSN&0xFFFFFF)
}

// parseFlow reads into f the fields that appendFlow has written at b[at] behind the version, and
// returns the flags. It refuses a flow that is not the one of the CN-TAG.
func parseFlow(f *Frame, b []byte, at int) (flags uint8, err error) {
	first, second := binary.BigEndian.Uint32(b[at:]), binary.BigEndian.Uint32(b[at+4:])
	if f.Tagged && CNTag(f.QP) != CNTag(first) {
		return 0, refuse("CN-TAG.FlowID", at-CNTagSize, ErrUnsupported)
	}
	f.QP, f.PSN = first&0xFFFFFF, second&0xFFFFFF
	return uint8(second >> 24), nil
}

// DataVersion is the version of the header with which the payload of a Data frame
// on Ethernet begins.
const DataVersion = 1

// The flags in that header.
const (
	dataMark      = 1 << 7
	dataLast      = 1 << 6
	dataImmediate = 1 << 5
)

// appendDataHeader appends the first MinMSDU bytes of the payload of a Data frame on Ethernet,
// the high byte of each field first. F is the mark, L ends
// a transfer, and I is set if four bytes of immediate data follow. Payload counts itself and the
// padding behind it, without the zeros up to MinFrame:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+-----------------------------------------------+
//	|  Version = 1  |                      QP                       |
//	+-+-+-----------+-----------------------------------------------+
//	|F|L|I|    0    |                      PSN                      |
//	+-+-+-+---------+---------------+-------------------------------+
//	|            Payload            |               0               |
//	+-------------------------------+-------------------------------+
func appendDataHeader(b []byte, f *Frame) []byte {
	b = appendFlow(b, f, DataVersion, uint8(bit(f.FECN, 7)|bit(f.Last, 6)|bit(f.Bits&bitImmediate != 0, 5)))
	return binary.BigEndian.AppendUint32(b, f.Payload<<16)
}

// appendData appends the payload of a Data frame on Ethernet, without padding.
func appendData(b []byte, f *Frame, _ Body) []byte {
	return appendImmediate(appendDataHeader(b, f), f)
}

// appendImmediate appends the immediate data of a Data frame, if it has any.
func appendImmediate(b []byte, f *Frame) []byte {
	if v, ok := f.Immediate(); ok {
		return binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// parseData completes f with a Data frame of Ethernet, whose payload starts at b[at].
func parseData(f *Frame, _ *Body, b []byte, at int) error {
	qp := binary.BigEndian.Uint32(b[at:])
	switch {
	case b[at] != DataVersion:
		return refuse("data.Version", at, ErrUnsupported)
	case f.CPID != 0 && uint16(f.QP) != uint16(qp):
		return refuse("RLT.Flow", at-4, ErrUnsupported)
	}
	flags, err := parseFlow(f, b, at)
	n, header := int(binary.BigEndian.Uint16(b[at+8:])), at+MinMSDU
	zeros := header
	if flags&dataImmediate != 0 {
		zeros += ImmediateSize
	}
	switch {
	case err != nil:
		return err
	case flags&^(dataMark|dataLast|dataImmediate) != 0:
		return refuse("data.Reserved", at+4, ErrReserved)
	case !allZero(b[at+10 : header]):
		return refuse("data.Reserved", at+10, ErrReserved)
	case at+n < zeros || n > MaxMSDU:
		return refuse("data.Payload", at+8, ErrRange)
	case !allZero(b[zeros:]):
		return refuse("payload", header, ErrPayload)
	}
	f.Kind, f.Family, f.Payload = Data, Ethernet, uint32(n)
	f.FECN, f.Last = flags&dataMark != 0, flags&dataLast != 0
	if zeros > header {
		f.SetImmediate(binary.BigEndian.Uint32(b[header:]))
	}
	return wantSize(b, at+n)
}

// wantSize refuses a frame, all but its FCS, if it is longer or shorter than n bytes and the zeros
// up to MinFrame.
func wantSize(b []byte, n int) error {
	switch n = max(n, MinFrame-FCSSize); {
	case len(b) < n:
		return refuse("frame", len(b), ErrTruncated)
	case len(b) > n:
		return refuse("frame", n, ErrTrailing)
	}
	return nil
}

// cnTagFields and rlTagFields are the fields of both tags.
var (
	cnTagFields = []Field{
		{Word: "cn-tag", access: access{Of: func(f *Frame) int64 { return int64(CNTag(f.QP)) }},
			Has: func(f *Frame) bool { return f.Tagged }, Filter: "flow", Header: "cntag", Title: "Flow identifier", Size: 2},
		{Form: Hex, Filter: "type", Header: "cntag", Title: "Type", At: 2, Size: 2},
	}
	rlTagFields = []Field{
		{Filter: "version", Header: "rlt", Title: "Version", Size: 2, Mask: 0xF000},
		{Word: "rlt", Form: Hex, access: ofCPID, Has: (*Frame).limited, Filter: "cpid", Header: "rlt", Title: "Congestion point", At: 2, Size: 8},
		{Filter: "flow", Header: "rlt", Title: "Flow (hash)", At: 10, Size: 2},
		{Form: Hex, Filter: "type", Header: "rlt", Title: "Type", At: 12, Size: 2},
	}
)

// dataFields are the fields of a Data frame; the last ones are those of its header on Ethernet.
var dataFields = slices.Concat(packetFields, []Field{
	versionField, qpField,
	{Form: Flag, access: ofFECN, Filter: "fecn", Title: "Mark", At: 4, Size: 1, Mask: dataMark},
	psnField,
	{access: ofPayload, Filter: "payload", Title: "Payload (bytes)", At: 8, Size: 2},
	{access: ofMSN, Filter: "immediate", Title: "Immediate data (tag of a message)", At: MinMSDU, Size: ImmediateSize,
		Has: hasBit(bitImmediate), ByHand: true},
})
