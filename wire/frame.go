package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// Kind says what a frame is. The zero value is no frame.
type Kind uint8

// The kinds of frames.
const (
	Data          Kind = iota + 1 // an RC SEND-only packet of InfiniBand or RoCEv2; on Ethernet a frame with an 802.1Q tag
	Ack                           // an RC ACK packet of InfiniBand or RoCEv2, of the latter also a NAK
	FlowControl                   // an InfiniBand flow control packet (FCP)
	Pause                         // an Ethernet PAUSE frame (IEEE 802.3, annex 31B)
	PriorityPause                 // an Ethernet PFC frame (IEEE 802.1Qbb)
	Notification                  // a congestion notification message (CNM, IEEE 802.1Qau)
	BCN                           // a message of Backward Congestion Notification
	Message                       // on Ethernet, what a scheme of congestion control says by a frame of its own
	Probe                         // a probe of E2CM, or the answer to one
	TCP                           // on Ethernet, an IPv4 packet with a TCP segment
	CNP                           // a congestion notification packet of RoCEv2 (InfiniBand Annex A17.9.3)
)

// kindWords are the words for kinds.
var kindWords = [...]string{
	0: "none", Data: "data", Ack: "ack", FlowControl: "fcp", Pause: "pause", PriorityPause: "pfc", Notification: "cnm",
	BCN: "bcn", Message: "message", Probe: "probe", TCP: "tcp", CNP: "cnp",
}

func (k Kind) String() string { return unit.Word(k, kindWords[:]) }

// Control reports whether k acts on the link it crosses and goes no further.
func (k Kind) Control() bool { return k-FlowControl <= PriorityPause-FlowControl } // they stand side by side

// Traffic reports whether k is what flows consist of: congestion points look at it.
func (k Kind) Traffic() bool { return k == Data || k == TCP }

// EndToEnd reports whether k goes from one end of a flow to the other.
func (k Kind) EndToEnd() bool { return k == Data || k == Ack || k == Probe || k == TCP || k == CNP }

// Family says what a frame looks like that belongs to a flow. Those of Ethernet and of RoCEv2
// cross links of Ethernet.
type Family uint8

// The families.
const (
	InfiniBand Family = iota
	Ethernet
	RoCEv2 // the packets of InfiniBand behind Ethernet, IP and UDP (InfiniBand Annex A17)
)

// familyWords are the words for families.
var familyWords = [...]string{InfiniBand: "infiniband", Ethernet: "ethernet", RoCEv2: "rocev2"}

func (f Family) String() string { return unit.Word(f, familyWords[:]) }

// leastSend is the least payload that flows of RoCEv2 have. Wireshark tries what RC SEND packets
// carry as a message of RPC over RDMA, and takes a shorter one for the beginning of one that was
// cut.
const leastSend = 16

// Fit returns the payload nearest to n bytes that a Data frame of a flow of the family can have,
// not less than n where there is such a one.
func (f Family) Fit(n uint32) uint32 {
	switch f {
	case Ethernet:
		return min(max(n, MinMSDU), MaxMSDU)
	case RoCEv2:
		n = max(n, leastSend)
	}
	return (min(n, MaxPayload) + 3) &^ 3
}

// LID is a local identifier: the address of an endpoint in a subnet. Unicast
// LIDs are 0x0001 to 0xBFFF.
type LID uint16

// MaxLID is the last unicast LID.
const MaxLID LID = 0xBFFF

// Op says what a flow control packet does.
type Op uint8

// The operands of flow control packets (IBTA Volume 1, 7.9.4); others are
// reserved and a packet that has one is discarded.
const (
	OpNormal Op = 0
	OpInit   Op = 1 // link initialisation: the receiver sets its block counter to zero
)

// Frame is a frame as a value. Which fields count depends on Kind; the others
// are zero, so that two frames are the same when == says so. What those of a TCP segment
// mean says Segment, and those of RoCEv2 beside the ones named here RoCE.
type Frame struct {
	Kind   Kind
	Family Family // of Data, Ack and CNP; zero for all other kinds: each belongs to one family only
	Lane   uint8  // virtual lane, 0 to 15; on Ethernet the priority, 0 to 7
	Tagged bool   // Ethernet Data, Notification, BCN, Message, Probe: has a CN-TAG, whose flow identifier is the low 16 bits of QP
	FECN   bool   // Data, Ack, CNP: met congestion on its way (set by switches); of RoCEv2 this is CE (RFC 3168)
	BECN   bool   // Ack: the data packet that it acknowledges had been marked
	Last   bool   // Data: ends a transfer; on InfiniBand its receiver is asked to raise an event
	Op     Op     // FlowControl

	Src, Dst LID    // Data, Ack, Message, Probe; of PAUSE and PFC frames, Src is the machine that asks
	QP       uint32 // Data, Ack, Message, Probe: destination queue pair, 24 bits; it names the flow
	PSN      uint32 // Data, Ack: packet sequence number, 24 bits; Message: what its scheme says; Probe: its number
	MSN      uint32 // Ack: message sequence number, 24 bits
	Payload  uint32 // Data: payload in bytes, a multiple of 4 up to MaxPayload; on Ethernet MinMSDU to MaxMSDU

	FCTBS uint16 // FlowControl: total blocks sent, modulo 4096
	FCCL  uint16 // FlowControl: credit limit in blocks, modulo 4096

	Quanta  uint16 // Pause, PriorityPause: for how long to stop, in units of 512 bit times; 0 lets go
	Classes uint8  // PriorityPause: the priorities it speaks of (class_enable), a bit each
	Stopped uint8  // PriorityPause: those of them that stop for Quanta; the others may go on

	// Of a Notification, Src is the congestion point and Dst the source of the sampled
	// frame; FECN, Last, QP, PSN and Payload are those of the sampled frame as far as the
	// octets that it carries reach, and zero behind. With 14 octets all are there. Of a
	// BCN message they always are.
	Fb          uint8  // Notification: quantised feedback, 0 to 63
	Octets      uint8  // Notification: how much of the sampled frame's MSDU it carries, 0 to 64
	SampledLane uint8  // Notification, BCN: priority of the sampled frame
	Flags       uint8  // BCN: BCNSevere, BCNMild, BCNMax; Probe: ProbeAnswer, ProbeCounted
	SampledDst  LID    // Notification, BCN: where the sampled frame was going
	QOffset     int16  // Notification, BCN: Qeq - q, in units of 64 octets
	QDelta      int16  // Notification, BCN: q - qold, in units of 64 octets
	Bottleneck  uint16 // BCN: rate of the congested line in units of BottleneckUnit; 0: not told
	CPID        uint64 // Notification, BCN: which congestion point, of BCN one of Src; Ethernet Data: that of the rate-limited tag, 0: there is none

	Value uint64 // Message: what it says, as its scheme defines it; Probe: bytes of the flow; Data: its body, as Bodies numbers it, 0 with padding

	SentAt, CameAt unit.Time // Probe: when it left its source, and, of an answer, when it came to the destination; not negative
}

// MaxPayload is the largest payload of a Data frame: the largest MTU of
// InfiniBand.
const MaxPayload = 4096

// The sizes of the parts of a packet, in bytes.
const (
	LRHSize     = 8
	BTHSize     = 12
	AETHSize    = 4
	ICRCSize    = 4
	VCRCSize    = 2
	FCPSize     = 6
	TrailerSize = 64
)

// HeaderSize is what a cut-through switch must have read before it can forward
// a packet: LRH and BTH. It is the "packet header 20 bytes" of HPL-2002-224,
// Table I.
const HeaderSize = LRHSize + BTHSize

// BlockSize is the unit of InfiniBand's credits (IBTA Volume 1, 7.9.4.3).
const BlockSize = 64

// ethernet reports whether f is a frame of Ethernet.
func (f *Frame) ethernet() bool {
	return f.Family != InfiniBand || f.Kind-Pause <= TCP-Pause // they stand side by side
}

// WireSize returns how many bytes f has in a datagram, without the trailer.
func (f *Frame) WireSize() unit.Size {
	if f.ethernet() {
		return ethernetSize(f)
	}
	switch f.Kind {
	case Data:
		return HeaderSize + unit.Size(f.Payload) + ICRCSize + VCRCSize
	case Ack:
		return HeaderSize + AETHSize + ICRCSize + VCRCSize
	case FlowControl:
		return FCPSize
	default:
		return 0
	}
}

// Blocks returns how many blocks of credit f, a frame of InfiniBand, takes: its bytes
// from the first of the LRH to the last of the VCRC, in units of BlockSize, rounded up.
// Flow control packets take none.
func (f *Frame) Blocks() int {
	if f.Kind == FlowControl {
		return 0
	}
	return BlocksOf(HeaderSize + unit.Size(f.Payload) + ICRCSize + VCRCSize) // an ACK takes one, with its AETH too
}

// BlocksOf returns how many blocks of credit a packet of n bytes takes.
func BlocksOf(n unit.Size) int { return int((n + BlockSize - 1) / BlockSize) }

// Framing says which length a frame has on the line, the one that paces it.
type Framing uint8

const (
	// PaperFraming counts as HPL-2002-224 does (Table I): data is 20 bytes and the
	// payload, an ACK is 20 bytes, flow control packets take no time. On Ethernet a
	// data frame is its payload, as papers that speak of 1500-byte frames count, and one
	// with a TCP segment or of RoCEv2 its IP packet; PAUSE, PFC, CNM, BCN, messages and probes are
	// their bytes, FCS included.
	PaperFraming Framing = iota
	// WireFraming counts the bytes that are really sent, and on Ethernet what else the
	// line needs for a frame: LineOverhead.
	WireFraming
)

// Words returns the words for the framings.
func (Framing) Words() []string { return []string{"paper", "wire"} }

func (g Framing) String() string { return unit.Word(g, g.Words()) }

// Length returns the length of f on the line.
func (g Framing) Length(f *Frame) unit.Size {
	if f.ethernet() {
		return g.ethernetLength(f)
	}
	if g == WireFraming {
		return f.WireSize()
	}
	switch f.Kind {
	case Data:
		return HeaderSize + unit.Size(f.Payload)
	case Ack:
		return HeaderSize
	default:
		return 0
	}
}

// ethernetLength is Length of an Ethernet frame.
func (g Framing) ethernetLength(f *Frame) unit.Size {
	switch {
	case g == WireFraming:
		return ethernetSize(f) + LineOverhead
	case f.roce():
		return unit.Size(f.ofRoCE())
	case f.Kind == Data:
		return unit.Size(f.Payload)
	case f.Kind == TCP:
		return unit.Size(f.ofSegment())
	default:
		return ethernetSize(f)
	}
}

// AppendWords appends what f says for people, beside its kind, its addresses, its flow and
// its PSN: " key=value" for each field, and words for flags.
func (f *Frame) AppendWords(b []byte) []byte {
	switch f.Kind {
	case Data, Ack, CNP:
		b = appendTagWords(b, f)
		if f.Family == RoCEv2 {
			b = appendRoCEWords(b, f)
		} else if f.FECN {
			b = append(b, " fecn"...)
		}
		if f.BECN {
			b = append(b, " becn"...)
		}
	case FlowControl:
		if f.Op == OpInit {
			b = append(b, " init"...)
		}
		b = fmt.Appendf(b, " lane=%d fctbs=%d fccl=%d", f.Lane, f.FCTBS, f.FCCL)
	case Pause:
		b = fmt.Appendf(b, " quanta=%d", f.Quanta)
	case PriorityPause:
		b = fmt.Appendf(b, " classes=%#02x stopped=%#02x quanta=%d", f.Classes, f.Stopped, f.Quanta)
	case Notification:
		b = fmt.Appendf(b, " fb=%d qoffset=%d qdelta=%d cpid=%#x", f.Fb, f.QOffset, f.QDelta, f.CPID)
	case Message:
		b = fmt.Appendf(b, " value=%d", f.Value)
	case BCN:
		b = appendBCNWords(b, f)
	case Probe:
		b = appendProbeWords(b, f)
	case TCP:
		b = appendTCPWords(appendTagWords(b, f), f)
	}
	return b
}

// appendTagWords appends which tags a frame of a flow has.
func appendTagWords(b []byte, f *Frame) []byte {
	if f.Tagged {
		b = fmt.Appendf(b, " cn-tag=%d", CNTag(f.QP))
	}
	if f.limited() {
		b = fmt.Appendf(b, " rlt=%#x", f.CPID)
	}
	return b
}

// The EtherTypes of the frames that this package writes.
const (
	typeVLAN         = 0x8100 // a customer VLAN tag follows (IEEE 802.1Q)
	typeControl      = 0x8808 // MAC control: PAUSE and PFC (IEEE 802.3, clause 31)
	typeCNTag        = 0x22E9 // a CN-TAG follows (IEEE 802.1Qau)
	typeNotification = 0x22E7 // a CNM (IEEE 802.1Qau)
	typeRLTag        = 0x8904 // a rate-limited tag follows (BCN)
	typeIPv4         = 0x0800 // an IPv4 packet: of TCP, or of RoCEv2
	typeIPv6         = 0x86DD // an IPv6 packet: of RoCEv2
	typeData         = 0x88B5 // for local experiments (IEEE 802, 9.2.4): data, BCN messages, messages, probes
)

// EtherType reports whether t is the EtherType of frames that this package reads, behind
// their addresses and their 802.1Q tag.
func EtherType(t uint16) bool {
	switch t {
	case typeControl, typeCNTag, typeNotification, typeRLTag, typeIPv4, typeIPv6, typeData:
		return true
	}
	return false
}

// appendEthernet appends an Ethernet frame of any kind.
func appendEthernet(b []byte, f *Frame, body Body) []byte {
	start, size := len(b), int(ethernetSize(f))
	b = slices.Grow(b, size)
	if f.Kind.Control() {
		b = appendControl(b, f)
	} else {
		b = appendTags(appendAddresses(b, f.Dst.MAC(), f.Src, typeVLAN<<16|VLANTag{Priority: f.Lane}.word()), f)
	}
	switch f.Kind {
	case Notification:
		b = appendNotification(b, f)
	case BCN:
		b = appendBCN(b, f)
	case Message:
		b = appendMessage(b, f)
	case Probe:
		b = appendProbe(b, f)
	case TCP:
		b = appendTCP(b, f)
	case Data, Ack, CNP:
		if f.roce() {
			return appendRoCE(b, start, size, f, body)
		}
		b = append(appendDataHeader(binary.BigEndian.AppendUint16(b, typeData), f, body.Type), body.Bytes...)
	}
	head := len(b) - start
	b = b[:start+size-FCSSize]
	clear(b[start+head:])
	return binary.LittleEndian.AppendUint32(b, fcsOf(b[start:], head, true))
}

// limited reports whether f has a rate-limited tag.
func (f *Frame) limited() bool {
	return f.CPID != 0 && (f.Kind == Data || f.Kind == TCP && f.Payload > 0)
}

// appendAddresses appends the addresses of a frame and the four bytes behind them. They are stored eight at
// a time, because the CRCs load these bytes again at once.
func appendAddresses(b []byte, dst MAC, src LID, behind uint64) []byte {
	from := uint64(src.MAC())
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(dst)<<16|from>>32), from<<32|behind)
}

// appendTags appends f's CN-TAG and its rate-limited tag if it has them.
func appendTags(b []byte, f *Frame) []byte {
	if f.Tagged {
		b = CNTag(f.QP).Append(b)
	}
	if f.limited() {
		b = RLTag{CPID: f.CPID, Flow: uint16(f.QP)}.Append(b)
	}
	return b
}

// parseEthernet reads an Ethernet frame into f and its body. As on a cable, the FCS tells
// whether it came whole; what it is comes after.
func parseEthernet(f *Frame, body *Body, b []byte) error {
	switch {
	case len(b) < MinFrame:
		return refuse("frame", len(b), ErrTruncated)
	case len(b) > MaxFrameSize:
		return refuse("frame", MaxFrameSize, ErrTrailing)
	}
	end := len(b) - FCSSize
	kind, at, wrong := f.parseTags(b[:end])
	head := end // padding may begin here
	switch {
	case wrong != nil, at == behindAddresses+2:
	case kind == typeIPv6, kind == typeIPv4 && b[at+9] == protocolUDP:
		return parseRoCE(f, body, b, at, kind == typeIPv6)
	case kind == typeIPv4:
		head = at + tcpHead(b[at:end])
	default:
		head = at + MinMSDU
	}
	padding := allZero(b[head:end])
	if fcsOf(b[:end], head, padding) != binary.LittleEndian.Uint32(b[end:]) {
		return refuse("FCS", end, ErrChecksum)
	}
	b = b[:end]
	switch version := b[at]; {
	case wrong != nil:
		return wrong
	case at == behindAddresses+2:
		return parseControl(f, b)
	case kind == typeIPv4:
		return parseTCP(f, b, at, padding)
	case kind == typeData && (version < BCNVersion || version > ProbeVersion):
		return parseEthernetData(f, body, b, at, padding)
	case f.CPID != 0: // only data has a rate-limited tag
	case kind == typeNotification:
		return parseNotification(f, b, at)
	case kind == typeData && version == BCNVersion:
		return parseBCN(f, b, at)
	case kind == typeData && version == MessageVersion:
		return parseMessage(f, b, at)
	case kind == typeData:
		return parseProbe(f, b, at)
	}
	return refuse("EtherType", at-2, ErrUnsupported)
}

// behindAddresses is where the first EtherType of an Ethernet frame stands.
const behindAddresses = 12

// parseTags reads the addresses and tags of an Ethernet frame into f, and returns the EtherType behind
// them and where it ends; b is all but the FCS.
func (f *Frame) parseTags(b []byte) (kind uint16, at int, err error) {
	first, second, third := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	src, fromMachine := MAC(first&0xFFFF<<32 | second>>32).LID()
	dst, toMachine := MAC(first >> 16).LID()
	f.Src, kind = src, uint16(second>>16)
	switch tag := vlanTag(uint16(second)); {
	case !fromMachine:
		return 0, 0, refuse("SA", 6, ErrUnsupported)
	case kind == typeControl && MAC(first>>16) == ControlAddress:
		return kind, behindAddresses + 2, nil
	case kind != typeControl && kind != typeVLAN:
		return 0, 0, refuse("EtherType", behindAddresses, ErrUnsupported)
	case !toMachine || kind == typeControl:
		return 0, 0, refuse("DA", 0, ErrUnsupported)
	case tag.DropEligible:
		return 0, 0, refuse("802.1Q.DEI", behindAddresses+2, ErrUnsupported)
	case tag.VID != 0:
		return 0, 0, refuse("802.1Q.VID", behindAddresses+2, ErrUnsupported)
	default:
		f.Dst, f.Lane = dst, tag.Priority
	}
	kind, at = uint16(third>>48), EthernetHeaderSize
	if kind == typeCNTag {
		f.Tagged, f.QP = true, uint32(third>>32)&0xFFFF
		kind, at = uint16(third>>16), EthernetHeaderSize+CNTagSize
	}
	if kind == typeRLTag {
		t, rest, err := ParseRLTag(b[at-2:])
		if err != nil {
			return 0, 0, shift(err, at-2)
		}
		if f.Tagged && CNTag(f.QP) != CNTag(t.Flow) {
			return 0, 0, refuse("RLT.Flow", at+RLTagSize-4, ErrUnsupported)
		}
		f.CPID, f.QP = t.CPID, uint32(t.Flow)
		kind, at = binary.BigEndian.Uint16(rest), at+RLTagSize
	}
	return kind, at, nil
}

// ethernetSize returns how many bytes an Ethernet frame has in a datagram.
func ethernetSize(f *Frame) unit.Size {
	n := unit.Size(0)
	switch f.Kind {
	case Data, Ack, CNP:
		if f.roce() {
			n = EthernetHeaderSize + unit.Size(f.ofRoCE()) + FCSSize
			break
		}
		n = EthernetHeaderSize + unit.Size(f.Payload) + FCSSize
	case Notification:
		n = EthernetHeaderSize + CNMSize + unit.Size(f.octets()) + FCSSize
	case BCN:
		n = EthernetHeaderSize + BCNSize + unit.Size(f.sampledSize()) + FCSSize
	case Message:
		n = EthernetHeaderSize + MessageSize + FCSSize
	case Probe:
		n = EthernetHeaderSize + ProbeSize + FCSSize
	case TCP:
		n = EthernetHeaderSize + unit.Size(f.ofSegment()) + FCSSize
	}
	if f.Tagged {
		n += CNTagSize
	}
	if f.limited() {
		n += RLTagSize
	}
	return max(n, MinFrame)
}
