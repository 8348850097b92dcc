package wire

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"fabemu/wire/unit"
)

// This file is the table of kinds: which bytes a frame of each kind has, how long it is, and how
// it is written, read and printed. Each kind has its own file for what only that kind needs.

// A row is what differs from kind to kind. Which kinds are link control or traffic is in frame.go.
type row struct {
	word   string
	fields []Field
	forms  []form // by Frame.Family; a kind of one family has one
}

// A form is how frames of one kind and one family are measured, written and read.
type form struct {
	delimiter Delimiter // StartOfFrame if there is an EtherType
	etherType uint16    // in front of the content
	overIPv6  uint16    // the same where the packet is one of IPv6
	code      uint8     // distinguishes forms with one EtherType: the first byte, or the protocol of IPv4; 0: any other

	content int                // how many bytes the content has, behind the EtherType or up to the end of the payload
	payload bool               // and the payload
	more    func(f *Frame) int // and how many more, if that is not all
	around  int                // how many bytes are around the content, without tags and padding
	apart   bool               // PaperFraming counts only the content, not the frame

	append func(b []byte, f *Frame, body Body) []byte
	parse  func(f *Frame, body *Body, b []byte, at int) error // of an Ethernet frame: its content starts at b[at]
}

// The forms that several kinds have.
var (
	onRoCE = form{
		etherType: typeIPv4, overIPv6: typeIPv6, code: protocolUDP, more: (*Frame).ofRoCE, apart: true,
		append: appendRoCE, parse: parseUDP,
	}
	onUET      = form{etherType: typeIPv4, code: protocolUDP, more: (*Frame).ofUET, apart: true, append: appendUET, parse: parseUDP}
	orderedSet = form{etherType: typeData, content: OrderedSetSize, apart: true, append: appendOrderedSet, parse: parseOrderedSet}
)

// kinds are the rows.
var kinds = [...]row{
	0: {word: "none"},
	Data: {"data", dataFields, []form{
		InfiniBand: {
			delimiter: DataPacket, content: HeaderSize, more: func(f *Frame) int { return int(f.behindBTH()) },
			around: ICRCSize + VCRCSize, apart: true, append: appendPacket,
		},
		Ethernet: {etherType: typeData, payload: true, apart: true, append: appendData, parse: parseData},
		RoCEv2:   onRoCE,
		Guest:    {delimiter: GuestFrame, more: (*Frame).ofGuest, around: guestHeader + FCSSize, apart: true, append: appendGuest},
		UET:      onUET,
	}},
	Ack: {"ack", ackFields, []form{
		InfiniBand: {
			delimiter: DataPacket, content: HeaderSize, around: AETHSize + ICRCSize + VCRCSize, apart: true, append: appendPacket,
		},
		RoCEv2: onRoCE,
		UET:    onUET,
	}},
	CNP: {"cnp", cnpFields, []form{RoCEv2: onRoCE}},
	Trimmed: {"trimmed", trimmedFields, []form{RoCEv2: {
		etherType: typeIPv4, overIPv6: typeIPv6, code: protocolUDP, more: (*Frame).ofTrimmed, apart: true,
		append: appendTrimmed, parse: parseUDP,
	}, UET: {
		etherType: typeIPv4, code: protocolUDP, more: (*Frame).ofTrimmed, apart: true, append: appendTrimmed, parse: parseUDP,
	}}},
	UETControl:    {"uet-control", controlFields, []form{UET: onUET}},
	FlowControl:   {"fcp", fcpFields, []form{{delimiter: LinkPacket, around: FCPSize, apart: true, append: appendFCP}}},
	Pause:         {"pause", pauseFields, []form{{etherType: typeControl, append: appendPause, parse: parseControl}}},
	PriorityPause: {"pfc", pauseFields, []form{{etherType: typeControl, append: appendPFC, parse: parseControl}}},
	CCUpdate:      {"cc-update", ccFields, []form{{etherType: typeControl, append: appendCCUpdate, parse: parseControl}}},
	CFUpdate:      {"cf-update", setFields, []form{orderedSet}},
	LLRAck:        {"llr-ack", setFields, []form{orderedSet}},
	LLRNack:       {"llr-nack", setFields, []form{orderedSet}},
	LLRInit:       {"llr-init", setFields, []form{orderedSet}},
	LLRInitEcho:   {"llr-init-echo", setFields, []form{orderedSet}},
	Management: {"mad", madFields, []form{{
		delimiter: DataPacket, content: HeaderSize + DETHSize + MADSize, around: ICRCSize + VCRCSize, apart: true, append: appendPacket,
	}}},
	TCP: {"tcp", tcpFields, []form{{
		etherType: typeIPv4, more: (*Frame).ofSegment, apart: true, append: appendTCP, parse: parseTCP,
	}}},
	Notification: {"cnm", cnmFields, []form{{
		etherType: typeNotification, content: CNMSize, more: (*Frame).octets, append: appendCNM, parse: parseCNM,
	}}},
	BCN: {"bcn", bcnFields, []form{{
		etherType: typeData, code: BCNVersion, content: BCNSize, more: (*Frame).sampledSize, append: appendBCN, parse: parseBCN,
	}}},
	Message: {"message", messageFields, []form{{
		etherType: typeData, code: MessageVersion, content: MessageSize, append: appendMessage, parse: parseMessage,
	}}},
	Probe: {"probe", probeFields, []form{{
		etherType: typeData, code: ProbeVersion, content: ProbeSize, append: appendProbe, parse: parseProbe,
	}}},
}

// forms are the forms of all kinds and families, by formOf. Those without a row are zero.
var forms = func() (all [256]*form) {
	for i := range all {
		all[i] = new(form)
	}
	for k := range kinds {
		for family, form := range kinds[k].forms {
			if form.etherType != 0 {
				form.delimiter, form.around = StartOfFrame, EthernetHeaderSize+FCSSize
			}
			*all[formOf(Kind(k), Family(family))] = form
		}
	}
	return all
}()

// formOf returns the index of a form in forms.
func formOf(k Kind, f Family) uint8 { return uint8(k)<<3 | uint8(f)&7 }

// form returns the form of f. The form of a frame of no kind is zero.
func (f *Frame) form() *form { return forms[formOf(f.Kind, f.Family)] }

// lent returns p for a call of a function of a form. None of them keeps the pointer, which the
// compiler cannot see: it would move each frame to the heap.
func lent[T Frame | Body](p *T) *T {
	hidden := uintptr(unsafe.Pointer(p))
	return *(**T)(unsafe.Pointer(&hidden))
}

// Delimiter is the symbol that was in front of a frame on a real link, where it
// separates data packets from link packets; Ethernet has one for all frames. In a
// datagram the trailer carries it. The zero value is invalid on purpose.
type Delimiter uint8

// The delimiters.
const (
	DataPacket   Delimiter = iota + 1 // LRH ... VCRC: Data, Ack and Management
	LinkPacket                        // FlowControl
	StartOfFrame                      // Ethernet: DA ... FCS
	GuestFrame                        // the same, and the frame is a guest's: no Parse reads it
)

var delimiterWords = [...]string{
	0: "none", DataPacket: "data packet", LinkPacket: "link packet", StartOfFrame: "ethernet frame", GuestFrame: "frame of a guest",
}

func (d Delimiter) String() string { return unit.Word(d, delimiterWords[:]) }

// Delimiter returns the delimiter of f; a frame of no kind has 0.
func (f *Frame) Delimiter() Delimiter { return f.form().delimiter }

// sizes returns how many bytes f has in a datagram, and how long papers count it on the link
// (PaperFraming).
func (f *Frame) sizes() (bytes, paper unit.Size) {
	form := f.form()
	n := form.content
	if form.more != nil {
		n += form.more(lent(f))
	} else if form.payload {
		n += int(f.Payload)
	}
	bytes = unit.Size(n + form.around)
	if form.delimiter >= StartOfFrame {
		if f.Family == Guest {
			bytes += tagSize * unit.Size(bit(f.Lane != 0, 0)+bit(f.Bits&bitOwnTag != 0, 0))
		}
		if f.Tagged {
			bytes += CNTagSize
		}
		if f.limited() {
			bytes += RLTagSize
		}
		bytes = max(bytes, MinFrame)
	}
	if form.apart {
		return bytes, unit.Size(n)
	}
	return bytes, bytes
}

// WireSize returns how many bytes f has in a datagram, without the trailer.
func (f *Frame) WireSize() unit.Size {
	n, _ := f.sizes()
	return n
}

// Framing is how the length of a frame on the link is counted, the one that paces it.
type Framing uint8

const (
	// PaperFraming counts as HPL-2002-224 does (Table I): data is 20 bytes and the
	// payload, an ACK is 20 bytes, flow control packets take no time. On Ethernet a
	// data frame is its payload, as papers that speak of 1500-byte frames count, and one
	// with a TCP segment, of RoCEv2 or of a guest its IP packet; PAUSE, PFC, CNM, BCN, messages,
	// probes and CC_Updates are their bytes, FCS included, and control ordered sets OrderedSetSize.
	PaperFraming Framing = iota
	// WireFraming counts the bytes that are really sent, and on Ethernet the further time that
	// the link needs for a frame: LineOverhead.
	WireFraming
)

func (Framing) Words() []string { return []string{"paper", "wire"} }

func (g Framing) String() string { return unit.Word(g, g.Words()) }

// Length returns the length of f on the link.
func (g Framing) Length(f *Frame) unit.Size {
	bytes, paper := f.sizes()
	switch {
	case g == PaperFraming, f.Kind.OrderedSet():
		return paper
	case f.Delimiter() >= StartOfFrame:
		return bytes + LinkOverhead
	}
	return bytes
}

// Append appends the bytes of f to b: WireSize of them, every one written. It
// does not allocate if b has room. Of a field that is too large only the bits
// that fit are written, and of fields that depend on each other nothing twice: a class that
// stops, but that the frame does not name, or for 0 quanta, continues. It
// panics if the payload of a Data frame is above MaxPayload or not a multiple of 4,
// on Ethernet outside MinMSDU to MaxMSDU, which would be an error of the program. A
// frame of no kind has no bytes. Nor has one with a body here: AppendBody writes it.
func (f *Frame) Append(b []byte) []byte { return f.AppendBody(b, Body{}) }

// AppendBody does what Append does and also writes a frame that has a body: body is what Bodies.Of
// returns for the frame.
func (f *Frame) AppendBody(b []byte, body Body) []byte {
	if f.Kind == Data {
		f.checkPayload(body)
	}
	size, form, start := f.WireSize(), f.form(), len(b)
	b = slices.Grow(b, int(size))
	switch form.delimiter {
	case 0:
		return b
	case DataPacket, LinkPacket:
		return form.append(b, lent(f), body)
	case StartOfFrame:
		b = appendAddresses(b, f)
	}
	b = form.append(b, lent(f), body)
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
// allocate unless it refuses, and keeps no reference to b. The frame of a guest, which does not
// name its flow, it always refuses.
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

// ParseBody does what Parse does, but accepts a data frame with a body and returns the body, which
// shares the memory of b. The frame does not refer to the body yet: Bodies.Put assigns its number.
func ParseBody(d Delimiter, b []byte) (f Frame, body Body, err error) {
	if err = f.ReadBody(&body, d, b); err != nil {
		return Frame{}, Body{}, err
	}
	return f, body, nil
}

// ReadBody does what ParseBody does, but reads into f and body, which must be zero, because
// returning a frame by value copies it through the stack. After an error their content is
// undefined.
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
	etherType, at, err := parseAddresses(f, b)
	if err != nil {
		return err
	}
	code := b[at]
	if etherType == typeIPv4 {
		code = b[at+9] // the protocol
	}
	i := announced(etherType, at == behindAddresses+2, code)
	form := forms[i]
	if form.parse == nil || f.CPID != 0 && !Kind(i>>3).Traffic() { // only data has a rate-limited tag
		return refuse("EtherType", at-2, ErrUnsupported)
	}
	return form.parse(lent(f), lent(body), b, at)
}

// announced returns the first form that an EtherType and a code announce, of link control or not:
// its index in forms. 0: none.
func announced(etherType uint16, link bool, code uint8) uint8 {
	if announcements.etherTypes[etherType&15] != etherType {
		return 0
	}
	return announcements.forms[bit(link, 0)][etherType&15][code]
}

// announcements are the results of announced. The low four bits of all EtherTypes differ.
var announcements = func() (all struct {
	etherTypes [16]uint16
	forms      [2][16][256]uint8
}) {
	for _, exactly := range [...]bool{false, true} { // forms for any code come first
		for i := len(forms) - 1; i > 0; i-- { // and the first kind last
			form := forms[i]
			for _, t := range [...]uint16{form.etherType, form.overIPv6} {
				to := &all.forms[bit(Kind(i>>3).Control(), 0)][t&15]
				if t != 0 {
					all.etherTypes[t&15] = t
					to[form.code] = uint8(i)
				}
				for code := 0; t != 0 && !exactly && (form.code == 0 || t == typeIPv6) && code < 256; code++ {
					to[code] = uint8(i)
				}
			}
		}
	}
	return all
}()
