package wire

import (
	"encoding/binary"
	"slices"

	"fabemu/wire/unit"
)

// This file is the table of kinds: which bytes a frame of each kind has, how long it is, and how
// it is written, read and printed. All that one kind adds stands in a file of its own.

// Delimiter is the symbol that stood in front of a frame on a real link, where it
// separates data packets from link packets; Ethernet has one for all frames. In a
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

// Delimiter returns the delimiter of f; a frame of no kind has 0.
func (f *Frame) Delimiter() Delimiter {
	switch {
	case f.Kind == 0:
		return 0
	case f.Kind == FlowControl:
		return LinkPacket
	case f.Family == InfiniBand && (f.Kind == Data || f.Kind == Ack):
		return DataPacket
	}
	return StartOfFrame
}

// sizes returns how many bytes f has in a datagram, and how long papers count it on the line
// (PaperFraming).
func (f *Frame) sizes() (bytes, paper unit.Size) {
	n, packet := unit.Size(0), false // the size of the content behind the EtherType, and whether papers count that alone
	switch f.Kind {
	case Data, Ack, CNP:
		switch f.Family {
		case InfiniBand:
			n = HeaderSize + unit.Size(f.behindBTH())
			if f.Kind == Ack {
				return n + AETHSize + ICRCSize + VCRCSize, n
			}
			return n + ICRCSize + VCRCSize, n
		case RoCEv2:
			n = unit.Size(f.ofRoCE())
		default:
			n = unit.Size(f.Payload)
		}
		packet = true
	case TCP:
		n, packet = unit.Size(f.ofSegment()), true
	case FlowControl:
		return FCPSize, 0
	case Notification:
		n = CNMSize + unit.Size(f.octets())
	case BCN:
		n = BCNSize + unit.Size(f.sampledSize())
	case Message:
		n = MessageSize
	case Probe:
		n = ProbeSize
	case CFUpdate, LLRAck, LLRNack, LLRInit, LLRInitEcho:
		return MinFrame, OrderedSetSize
	case 0:
		return 0, 0
	}
	bytes = EthernetHeaderSize + n + FCSSize
	if f.Tagged {
		bytes += CNTagSize
	}
	if f.limited() {
		bytes += RLTagSize
	}
	if bytes = max(bytes, MinFrame); packet {
		return bytes, n
	}
	return bytes, bytes
}

// WireSize returns how many bytes f has in a datagram, without the trailer.
func (f *Frame) WireSize() unit.Size {
	n, _ := f.sizes()
	return n
}

// Framing is how the length of a frame on the line is counted, the one that paces it.
type Framing uint8

const (
	// PaperFraming counts as HPL-2002-224 does (Table I): data is 20 bytes and the
	// payload, an ACK is 20 bytes, flow control packets take no time. On Ethernet a
	// data frame is its payload, as papers that speak of 1500-byte frames count, and one
	// with a TCP segment or of RoCEv2 its IP packet; PAUSE, PFC, CNM, BCN, messages, probes and CC_Updates
	// are their bytes, FCS included, and control ordered sets OrderedSetSize.
	PaperFraming Framing = iota
	// WireFraming counts the bytes that are really sent, and on Ethernet the further time that
	// the line needs for a frame: LineOverhead.
	WireFraming
)

// Words returns the words for the framings.
func (Framing) Words() []string { return []string{"paper", "wire"} }

func (g Framing) String() string { return unit.Word(g, g.Words()) }

// Length returns the length of f on the line.
func (g Framing) Length(f *Frame) unit.Size {
	bytes, paper := f.sizes()
	switch {
	case g == PaperFraming, f.Kind.OrderedSet():
		return paper
	case f.Delimiter() == StartOfFrame:
		return bytes + LineOverhead
	}
	return bytes
}

// Append appends the bytes of f to b: WireSize of them, every one written. It
// does not allocate if b has room. Of a field that is too large only the bits
// that fit are written, and of fields that depend on each other nothing twice: a class that
// stops, but that the frame does not speak of, or for 0 quanta, goes on. It
// panics if the payload of a Data frame is above MaxPayload or not a multiple of 4,
// on Ethernet outside MinMSDU to MaxMSDU, which would be an error of the program. A
// frame of no kind has no bytes. Nor has one with a body here: AppendBody writes it.
func (f *Frame) Append(b []byte) []byte { return f.AppendBody(b, Body{}) }

// AppendBody does what Append does and also writes a frame that has a body: body is what Bodies.Of returns for the
// frame.
func (f *Frame) AppendBody(b []byte, body Body) []byte {
	if f.Kind == Data {
		f.checkPayload(body)
	}
	size, _ := f.sizes()
	start := len(b)
	b = slices.Grow(b, int(size))
	switch f.Delimiter() {
	case DataPacket:
		return appendPacket(b, f, body)
	case LinkPacket:
		return appendFCP(b, f)
	case 0:
		return b
	}
	b = appendAddresses(b, f)
	switch f.Kind {
	case Pause:
		b = appendPause(b, f)
	case PriorityPause:
		b = appendPFC(b, f)
	case CCUpdate:
		b = appendCCUpdate(b, f)
	case CFUpdate, LLRAck, LLRNack, LLRInit, LLRInitEcho:
		b = appendOrderedSet(b, f)
	case Notification:
		b = appendCNM(b, f)
	case BCN:
		b = appendBCN(b, f)
	case Message:
		b = appendMessage(b, f)
	case Probe:
		b = appendProbe(b, f)
	case TCP:
		b = appendTCP(b, f)
	default:
		if f.Family == RoCEv2 {
			b = appendRoCE(b, f, body)
		} else {
			b = append(appendImmediate(appendDataHeader(b, f, body.Type), f), body.Bytes...)
		}
	}
	b = appendZeros(b, start+int(size)-FCSSize-len(b))
	return binary.LittleEndian.AppendUint32(b, FCS(b[start:]))
}

// appendZeros appends n zero bytes.
func appendZeros(b []byte, n int) []byte {
	at := len(b)
	b = slices.Grow(b, n)[:at+n]
	clear(b[at:])
	return b
}

// Parse reads the frame that b holds from its first to its last byte, without
// the trailer. It refuses, with a *ParseError, all that Append does not
// write: if Parse accepts bytes, Append writes them again byte for byte. It does not
// allocate unless it refuses, and keeps no reference to b.
func Parse(d Delimiter, b []byte) (f Frame, err error) {
	var body Body
	if err = f.ReadBody(&body, d, b); err == nil && body.Type != 0 {
		err = refuse("body", cap(b)-cap(body.Bytes), ErrPayload)
	}
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}

// ParseBody does what Parse does, but accepts a data frame with a body and returns the body, which shares the memory
// of b. The frame does not refer to the body yet: Bodies.Put assigns its number.
func ParseBody(d Delimiter, b []byte) (f Frame, body Body, err error) {
	if err = f.ReadBody(&body, d, b); err != nil {
		return Frame{}, Body{}, err
	}
	return f, body, nil
}

// ReadBody does what ParseBody does, but reads into f and body, which must be zero, because returning a frame by
// value copies it through the stack. After an error their content is undefined.
func (f *Frame) ReadBody(body *Body, d Delimiter, b []byte) error {
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

// parseEthernet reads an Ethernet frame into f and its body. As on a cable, the FCS shows
// whether it arrived undamaged; the content comes after.
func parseEthernet(f *Frame, body *Body, b []byte) error {
	switch {
	case len(b) < MinFrame:
		return refuse("frame", len(b), ErrTruncated)
	case len(b) > MaxFrameSize:
		return refuse("frame", MaxFrameSize, ErrTrailing)
	}
	end := len(b) - FCSSize
	if FCS(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return refuse("FCS", end, ErrChecksum)
	}
	b = b[:end]
	kind, at, err := parseAddresses(f, b)
	switch version := b[at]; {
	case err != nil:
		return err
	case at == behindAddresses+2 && kind == typeData:
		return parseOrderedSet(f, b, at)
	case at == behindAddresses+2:
		return parseControl(f, b)
	case kind == typeIPv6, kind == typeIPv4 && b[at+9] == protocolUDP:
		return parseRoCE(f, body, b, at)
	case kind == typeIPv4:
		return parseTCP(f, b, at)
	case kind == typeData && (version < BCNVersion || version > ProbeVersion):
		return parseData(f, body, b, at)
	case f.CPID != 0: // only data has a rate-limited tag
	case kind == typeNotification:
		return parseCNM(f, b, at)
	case kind == typeData && version == BCNVersion:
		return parseBCN(f, b, at)
	case kind == typeData && version == MessageVersion:
		return parseMessage(f, b, at)
	case kind == typeData:
		return parseProbe(f, b, at)
	}
	return refuse("EtherType", at-2, ErrUnsupported)
}

// AppendWords appends the content of f for people, beside its kind, its addresses, its flow and
// its PSN: " key=value" for each field, and words for flags.
func (f *Frame) AppendWords(b []byte) []byte {
	switch f.Kind {
	case Data, Ack, CNP:
		return appendDataWords(appendTagWords(b, f), f)
	case FlowControl:
		return appendFCPWords(b, f)
	case Pause, PriorityPause:
		return appendPauseWords(b, f)
	case CCUpdate:
		return appendCCWords(b, f)
	case CFUpdate, LLRAck, LLRNack, LLRInit, LLRInitEcho:
		return appendOrderedSetWords(b, f)
	case Notification:
		return appendCNMWords(b, f)
	case BCN:
		return appendBCNWords(b, f)
	case Message:
		return appendMessageWords(b, f)
	case Probe:
		return appendProbeWords(b, f)
	case TCP:
		return appendTCPWords(appendTagWords(b, f), f)
	}
	return b
}
