package wire

import (
	"unsafe"

	"fabemu/wire/unit"
)

// Kind is the kind of a frame. The zero value is not a frame.
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
	Message                       // on Ethernet, a message of a scheme of congestion control
	Probe                         // a probe of E2CM, or the answer to one
	TCP                           // on Ethernet, an IPv4 packet with a TCP segment
	CNP                           // a congestion notification packet of RoCEv2 (InfiniBand Annex A17.9.3)
	Trimmed                       // a data packet of RoCEv2 of which a switch has left only the beginning (Frame.Trim)
	UETControl                    // a control packet of Ultra Ethernet transport: UETExtension.Code
	CCUpdate                      // a CC_Update of Ultra Ethernet: credits consumed (5.2.6.2)
	CFUpdate                      // a CF_Update of Ultra Ethernet, a control ordered set as all that follow: credits freed (5.2.6.1)
	LLRAck                        // the retry at the link of Ultra Ethernet (5.1.4): frames have arrived
	LLRNack                       // a frame is missing
	LLRInit                       // the sequence number of the first frame
	LLRInitEcho                   // the answer to LLRInit
	Management                    // on InfiniBand, a packet of QP0 or QP1 on VL15; its body is a management datagram (Bodies.PutMAD)
)

func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].word
	}
	return "unknown"
}

// Words returns the words for the kinds that faults of a link may hit, in their order: all of them
// for the zero value, and each but Management, which faults do not see.
func (Kind) Words() []string {
	words := []string{"all"}
	for _, k := range kinds[Data:Management] {
		words = append(words, k.word)
	}
	return words
}

// Control reports whether k acts on the link it crosses and goes no further.
func (k Kind) Control() bool { return controls>>(k&31)&1 == 1 }

// Uncredited reports whether k takes no credit, and acts only when it is whole: it is Control, or
// Management.
func (k Kind) Uncredited() bool { return (controls|1<<Management)>>(k&31)&1 == 1 }

// controls has a bit for each kind that is Control.
const controls = 1<<FlowControl | 1<<Pause | 1<<PriorityPause | 1<<CCUpdate | 1<<CFUpdate |
	1<<LLRAck | 1<<LLRNack | 1<<LLRInit | 1<<LLRInitEcho

// Traffic reports whether flows consist of k: congestion points look at it.
func (k Kind) Traffic() bool { return k == Data || k == TCP }

// EndToEnd reports whether k goes from one end of a flow to the other.
func (k Kind) EndToEnd() bool {
	return k == Data || k == Ack || k == Probe || k == TCP || k == CNP || k == Trimmed || k == UETControl
}

// Family is the form of a frame that belongs to a flow. All but
// those of InfiniBand cross links of Ethernet.
type Family uint8

// The families.
const (
	InfiniBand Family = iota
	Ethernet
	RoCEv2 // the packets of InfiniBand behind Ethernet, IP and UDP (InfiniBand Annex A17)
	Guest  // on Ethernet, frames of a real host: the frame is its body (Bodies.Put)
	UET    // Ultra Ethernet transport, behind Ethernet, IPv4 and UDP
)

var familyWords = [...]string{InfiniBand: "infiniband", Ethernet: "ethernet", RoCEv2: "rocev2", Guest: "guest", UET: "uet"}

func (f Family) String() string { return unit.Word(f, familyWords[:]) }

// leastSend is the least payload that flows of RoCEv2 have. Wireshark tries the payload of RC SEND
// packets as a message of RPC over RDMA, and takes a shorter one for the beginning of one that was
// cut.
const leastSend = 16

// Fit returns the payload nearest to n bytes that a Data frame of a flow of the family can have,
// and not less than n if possible.
func (f Family) Fit(n uint32) uint32 {
	switch f {
	case Ethernet, Guest:
		return min(max(n, MinMSDU), MaxMSDU)
	case RoCEv2:
		n = max(n, leastSend)
	case UET:
		return min(max(n, 1), MaxPayload)
	}
	return (min(n, MaxPayload) + 3) &^ 3
}

// LID is a local identifier: the address of an endpoint in a subnet. Unicast
// LIDs are 0x0001 to 0xBFFF.
type LID uint16

// MaxLID is the last unicast LID.
const MaxLID LID = 0xBFFF

// Frame is a frame as a value. Which fields count depends on Kind; the others
// are zero, so that two frames are the same when == is true. It is one line of the
// cache: frames are copied at each hop, and wait in queues.
type Frame struct {
	Kind   Kind
	Family Family // of Data, Ack, CNP, Trimmed and UETControl; zero for all other kinds: each belongs to one family only
	Lane   uint8  // virtual lane, 0 to 15; on Ethernet the priority, 0 to 7
	Tagged bool   // Ethernet Data, Notification, BCN, Message, Probe: has a CN-TAG, whose flow identifier is the low 16 bits of QP
	FECN   bool   // Data, Ack, CNP, Trimmed, TCP: met congestion on its path (set by switches); of an IP packet this is CE (RFC 3168)
	BECN   bool   // Ack: the data packet that it acknowledges had been marked
	Last   bool   // Data, Trimmed: ends a transfer; on InfiniBand its receiver is asked to raise an event
	DSCP   uint8  // RoCEv2: differentiated services code point, 6 bits (RFC 2474); Data and Ack of InfiniBand: service level (SL), 4 bits

	Src, Dst LID    // Data, Ack, Message, Probe, TCP, Management; of link control on Ethernet, Src is the node that sends it
	QP       uint32 // Data, Ack, Message, Probe, TCP: destination queue pair, 24 bits; it names the flow; Management: 0 or 1
	PSN      uint32 // Data, Ack: packet sequence number, 24 bits, of UET 32; Message, Probe: a number too; TCP: sequence number
	MSN      uint32 // Ack: message sequence number, 24 bits; Management: source queue pair; TCP: acknowledgement number; Data: immediate data; of a guest: Entropy
	Payload  uint32 // Data: payload in bytes, of Trimmed before it was cut, a multiple of 4 up to MaxPayload; on Ethernet MinMSDU to MaxMSDU; of a guest, TCP: any, of UET up to MaxPayload; Ack of RoCEv2: Selected

	Window uint16     // TCP: as it is there, not scaled; RoCEv2, UET: SourcePort, 0: that of the queue pair
	Flags  uint8      // Trimmed: words of 4 bytes that it has left behind the header of UDP; BCN: BCNSevere and so on; Probe: ProbeAnswer, ProbeCounted; TCP: SYN and so on
	Bits   headerBits // Data: has immediate data; RoCEv2, TCP: flags of IP, BTH and AETH, and the direction

	// CPID is a congestion point. Notification, BCN: the one that sends it, of BCN one of Src;
	// Ethernet Data, TCP: the one in the rate-limited tag, 0: there is none.
	CPID uint64

	// Extension is all that the kind adds: a CreditExtension, PauseExtension, SampleExtension,
	// MessageExtension, ProbeExtension, StampExtension, CCExtension, OrderedSetExtension or
	// UETExtension (ExtensionOf). Of a Data frame or a MAD it is the number of its body, of TCP its
	// options.
	//
	// Of a Notification, Src is the congestion point and Dst the source of the sampled
	// frame; FECN, Last, QP, PSN and Payload belong to the sampled frame as far as the
	// octets that it carries reach, and are zero behind. With 14 octets all are there. Of a
	// BCN message they always are.
	Extension Extension
}

// Extension is what a frame of a kind has in addition. All kinds share its memory, which holds no
// pointer.
type Extension [3]uint64

// extensions are those of the kinds. None has gaps between its fields, so that == compares all of
// it.
type extensions interface {
	CreditExtension | PauseExtension | SampleExtension | MessageExtension | ProbeExtension | StampExtension | CCExtension | OrderedSetExtension | UETExtension |
		synExtension | sackExtension
}

// ExtensionOf returns the Extension of a frame.
func ExtensionOf[P extensions](p P) (all Extension) {
	*as[P](&all) = p
	return all
}

// as returns an Extension as that of one kind.
func as[P extensions](p *Extension) *P { return (*P)(unsafe.Pointer(p)) }

// Credit returns the extension of a FlowControl frame.
func (f *Frame) Credit() *CreditExtension { return as[CreditExtension](&f.Extension) }

// Pause returns the extension of a Pause or PriorityPause frame.
func (f *Frame) Pause() *PauseExtension { return as[PauseExtension](&f.Extension) }

// Sampled returns the extension of a Notification or a BCN message.
func (f *Frame) Sampled() *SampleExtension { return as[SampleExtension](&f.Extension) }

func (f *Frame) Message() *MessageExtension { return as[MessageExtension](&f.Extension) }

// CC returns the extension of a CCUpdate.
func (f *Frame) CC() *CCExtension { return as[CCExtension](&f.Extension) }

// OrderedSet returns the extension of a control ordered set (Kind.OrderedSet).
func (f *Frame) OrderedSet() *OrderedSetExtension { return as[OrderedSetExtension](&f.Extension) }

func (f *Frame) Probe() *ProbeExtension { return as[ProbeExtension](&f.Extension) }

// SetImmediate gives a Data frame without a body immediate data: four bytes, which InfiniBand and
// RoCEv2 send in front of the payload (IBTA Volume 1, 9.3.3.7). On Ethernet they are the first
// bytes of the padding, and the payload is at least MinMSDU and ImmediateSize.
func (f *Frame) SetImmediate(v uint32) {
	f.Bits |= bitImmediate
	f.MSN = v
	if f.Family == Ethernet {
		f.Payload = max(f.Payload, MinMSDU+ImmediateSize)
	}
}

// Immediate returns the immediate data of a Data frame, and whether it has any.
func (f *Frame) Immediate() (v uint32, ok bool) {
	return f.MSN, f.Bits&bitImmediate != 0 && f.Kind == Data
}

// behindBTH returns how many bytes are between the BTH of a Data frame and its ICRC.
func (f *Frame) behindBTH() uint32 {
	if f.Bits&bitImmediate != 0 {
		return f.Payload + ImmediateSize
	}
	return f.Payload
}

// MaxPayload is the largest payload of a Data frame: the largest MTU of
// InfiniBand.
const MaxPayload = 4096

// The sizes of the parts of a packet, in bytes.
const (
	LRHSize       = 8
	BTHSize       = 12
	AETHSize      = 4
	ImmediateSize = 4
	ICRCSize      = 4
	VCRCSize      = 2
	FCPSize       = 6
	TrailerSize   = 64
)

// HeaderSize is how much a cut-through switch must have read before it can forward
// a packet: LRH and BTH. It is the "packet header 20 bytes" of HPL-2002-224,
// Table I.
const HeaderSize = LRHSize + BTHSize

// BlockSize is the unit of InfiniBand's credits (IBTA Volume 1, 7.9.4.3).
const BlockSize = 64

// ManagementLane is VL15, which has no credits (IBTA Volume 1, 7.6.1).
const ManagementLane = 15

// Blocks returns how many blocks of credit f, a frame of InfiniBand, takes: its bytes
// from the first of the LRH to the last of the VCRC, in units of BlockSize, rounded up.
// Flow control packets take none.
func (f *Frame) Blocks() int {
	if f.Kind == FlowControl {
		return 0
	}
	return BlocksOf(HeaderSize + unit.Size(f.behindBTH()) + ICRCSize + VCRCSize) // an ACK takes one, with its AETH too
}

// BlocksOf returns how many blocks of credit a packet of n bytes takes.
func BlocksOf(n unit.Size) int { return int((n + BlockSize - 1) / BlockSize) }
