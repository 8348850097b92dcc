package dump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/gopacket/layers"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
)

// Packet is one frame of a capture.
type Packet struct {
	Number    int   // in the capture, from 1
	Offset    int64 // of its block in the file
	Time      int64 // ns
	Port      string
	Interface int
	Direction pcapng.Direction
	Speed     uint64 // of the interface, in bits per second; 0: unknown
	Size      int    // of the frame in bytes, without the headers of its carrier
	Comment   string
	Missing   int // frames in front of it that the capture of a run lacks, as it states itself

	Carried bool // in a datagram, with Trailer
	Trailer wire.Trailer

	Frame   wire.Frame // a frame of a fabric; of no kind if it is none
	Body    string     // and its body in words, if it has one
	Headers *Headers   // otherwise: a packet of InfiniBand or RoCE
	RoCE    int        // its version, 1 or 2; 0: with an LRH
	Pause   string     // otherwise: a PAUSE or PFC frame of another program, in words
	Other   string     // otherwise: its description
	Unknown bool       // it has a link type, or is an ERF record of a type, that this program does not read
	Err     error      // otherwise: why it cannot be read

	Cut    bool   // not all of it was captured: the checksums are not known
	BadSum string // the checksums that are wrong

	channels *channels     // the parameters of the credits of its port, if the capture has them
	response port.Response // of its port to PAUSE
	again    bool          // the retry of its link retransmits it

	snapped bool // the capture has only its first bytes
	ofRun   bool // the capture of a run has it: it was not written by another program
	have    int  // bytes of the frame itself that the capture has
}

// emptyRecord describes a record of a run without a frame: of a frame that was dropped later, or of
// an event of the port, as its comment states.
const emptyRecord = "an empty record"

// program is the name of this program in the captures of its runs.
const program = "fabemu"

// A Decoder makes packets of the records of a capture. Its zero value is ready.
type Decoder struct {
	n     int
	buf   []byte
	train train

	stranger   *stranger
	content    *content
	parameters map[string]*channels // by comments of interfaces
}

// train is a packet in which several frames have left together, as tcpdump sees it.
type train struct {
	packet  pcapng.Packet // as if its last frame had left by itself
	head    []byte        // of all of them: the bytes in front of the first
	rest    []byte        // the frames to come
	lengths []byte        // of these
	buf     []byte
}

// next returns the next packet of a capture. It takes the packet of a train apart.
func (d *Decoder) next(in *pcapng.Reader) (*pcapng.Packet, error) {
	t := &d.train
	if len(t.lengths) > 0 {
		d.n-- // they have one number
	} else {
		raw, err := in.Next()
		if err != nil || len(raw.Data) != raw.Length {
			return raw, err
		}
		begin, lengths := link.Split(raw.Data)
		if len(lengths) == 0 {
			return raw, nil
		}
		first := raw.Data[begin:][:binary.BigEndian.Uint16(lengths)]
		if _, _, err := wire.ParseTrailer(first); err != nil {
			return raw, nil
		}
		t.packet, t.head, t.rest, t.lengths = *raw, raw.Data[:begin], raw.Data[begin:], lengths
	}
	n := binary.BigEndian.Uint16(t.lengths)
	t.buf = append(append(t.buf[:0], t.head...), t.rest[:n]...)
	t.rest, t.lengths = t.rest[n:], t.lengths[2:]
	t.packet.Data, t.packet.Length = t.buf, len(t.buf)
	return &t.packet, nil
}

// Decode reads p, which r has returned last. The result does not refer to p.
func (d *Decoder) Decode(r *pcapng.Reader, p *pcapng.Packet) Packet {
	d.n++
	i := &r.Interfaces[p.Interface]
	out := Packet{
		Number: d.n, Offset: r.Offset(), Time: p.Time, Port: i.Name, Interface: p.Interface, Direction: p.Direction,
		Speed: i.Speed, channels: d.channelsOf(i.Comment), response: responseOf(i.Comment), Missing: int(min(p.Missing, 1<<40)),
		snapped: p.Length > len(p.Data), ofRun: r.Program == program,
	}
	var guest wire.Frame
	var guests bool
	for _, c := range p.Comments {
		if f, ok := guestFrame(c); ok {
			guest, guests = f, true
			continue // what dump prints of every frame
		}
		if bytes.HasPrefix(c, []byte("machines ")) {
			continue // the table of names, which a decoder does not need: interfaces have theirs
		}
		if len(out.Comment) > 0 {
			out.Comment += "; "
		}
		out.Comment += string(c)
		if _, text, ok := bytes.Cut(c, []byte("retry ")); ok {
			digits, _, _ := bytes.Cut(text, []byte(";"))
			if n, err := strconv.ParseUint(string(digits), 10, 20); err == nil {
				out.Trailer.Preamble = wire.Sequenced(uint32(n))
			}
		}
		if text, ok := bytes.CutPrefix(c, []byte("missing: ")); ok {
			n, _, _ := bytes.Cut(text, []byte(" "))
			missing, _ := strconv.Atoi(string(n)) // 0 if that is not a number
			out.Missing = max(out.Missing, missing)
		}
	}
	switch i.Link {
	case pcapng.ERF:
		d.erf(&out, p.Data, p.Length)
	case pcapng.Ethernet:
		fcs := i.FCS
		if p.FCS > 0 {
			fcs = p.FCS
		}
		if len(p.Data) == 0 {
			out.Other = emptyRecord
			break
		}
		if guests && out.ofRun {
			d.guest(&out, guest, p.Data, p.Length)
			break
		}
		d.ethernet(&out, p.Data, p.Length, fcs)
	case pcapng.LinuxCooked:
		d.other(&out, layers.LayerTypeLinuxSLL, p.Data)
	case pcapng.Cooked2:
		d.cooked2(&out, p.Data)
	case pcapng.Raw:
		d.raw(&out, p.Data)
	case pcapng.InfiniBand:
		d.packet(&out, p.Data, p.Length)
	default:
		out.Other, out.Unknown = fmt.Sprintf("link type %d", i.Link), true
	}
	// The error of a frame that was filled up may be about a field that the capture lacks.
	var refused *wire.ParseError
	if errors.As(out.Err, &refused) && refused.Offset > len(p.Data) {
		out.Err = short(refused.Field, len(p.Data))
	}
	return out
}

// short is the error of a layer that ends early.
func short(field string, n int) error {
	return &wire.ParseError{Field: field, Offset: n, Reason: wire.ErrTruncated}
}

// erf reads an ERF record.
func (d *Decoder) erf(out *Packet, b []byte, length int) {
	const header = 16
	if len(b) < header {
		out.Err = short("ERF", len(b))
		return
	}
	kind, size := b[8], int(binary.BigEndian.Uint16(b[14:]))
	more := kind&0x80 != 0
	b, length = b[header:], length-header
	for ; more; b, length = b[8:], length-8 { // extension headers
		if len(b) < 8 {
			out.Err = short("ERF.extension", header+len(b))
			return
		}
		more = b[0]&0x80 != 0
	}
	switch kind & 0x7F {
	case 21:
		if size == 0 || size > length {
			size = max(length, 0)
		}
		if size == 0 || len(b) == 0 {
			out.Other = emptyRecord
			return
		}
		d.frame(out, wire.DataPacket, b[:min(len(b), size)], size)
	case 25:
		d.frame(out, wire.LinkPacket, b[:min(len(b), wire.FCPSize)], wire.FCPSize)
	case 2, 11, 16, 20: // two bytes of padding are in front
		if len(b) < 2 {
			out.Err = short("ERF.ethernet", header+len(b))
			return
		}
		d.ethernet(out, b[2:], max(length-2, 0), wire.FCSSize)
	default:
		out.Other, out.Unknown = fmt.Sprintf("ERF record of type %d", kind&0x7F), true
	}
}

// packet reads a record of LINKTYPE_INFINIBAND of length bytes, of which b may hold fewer. It has
// no delimiter: a flow control packet is known by its check sequence and the zeros behind it, which
// no other packet has.
func (d *Decoder) packet(out *Packet, b []byte, length int) {
	const n = wire.FCPSize
	if len(b) >= n && binary.LittleEndian.Uint16(b[n-2:]) == wire.VCRC(b[:n-2]) && !slices.ContainsFunc(b[n:], func(c byte) bool { return c != 0 }) {
		d.frame(out, wire.LinkPacket, b[:n], n)
		return
	}
	d.frame(out, wire.DataPacket, b, length)
}

// frame reads a frame of size bytes, of which b may hold fewer.
func (d *Decoder) frame(out *Packet, kind wire.Delimiter, b []byte, size int) {
	out.Size = size
	out.Cut, out.have = len(b) < size, len(b)
	whole := b
	if out.Cut {
		if kind == wire.LinkPacket && len(b) < 4 {
			out.Err = short("FCP", len(b))
			return
		}
		switch t, at := etherType(b, true); {
		case kind != wire.StartOfFrame || at < 0:
		case (t == typeIPv4 || t == typeIPv6) && len(b) < at+ipSize(t):
			out.Err = short("IP", len(b))
			return
		case roceV2(t, b[at:]) && len(b) < at+ipSize(t)+wire.UDPSize+wire.BTHSize:
			out.Err = short("BTH", len(b)) // which the headers in front of it follow from
			return
		}
		whole = d.complete(kind, b, size)
	}
	f, body, err := wire.ParseBody(kind, whole)
	if err == nil {
		d.is(out, f, body)
		return
	}
	var refused *wire.ParseError
	if errors.As(err, &refused) && refused.Reason == wire.ErrChecksum && !out.Cut {
		out.BadSum = refused.Field
	}
	switch {
	case kind == wire.DataPacket:
		ours := out.BadSum
		out.BadSum = ""
		if d.infiniBand(out, b, size); out.Err != nil {
			out.BadSum = ours
		} else if out.BadSum != "" {
			d.repaired(out, kind, whole)
		}
	case out.BadSum != "":
		if d.repaired(out, kind, whole); out.Frame.Kind == 0 {
			out.Other = "a damaged " + kind.String()
		}
	default:
		out.Err = err
	}
}

// is takes a frame that was read.
func (d *Decoder) is(out *Packet, f wire.Frame, body wire.Body) {
	out.Frame = f
	if body.Type == 0 {
		return
	}
	if d.content == nil {
		d.content = newContent()
	}
	out.Body = d.content.words(body)
}

// repaired reads a frame whose checksums are wrong as if they were right, and its
// payload too, if it is there that the damage is.
func (d *Decoder) repaired(out *Packet, kind wire.Delimiter, b []byte) {
	f, body, err := wire.ParseBody(kind, d.sums(kind, append(d.buf[:0], b...)))
	for _, head := range payloads[kind] {
		if err == nil {
			break
		}
		if len(d.buf) > head {
			clear(d.buf[head:])
			f, body, err = wire.ParseBody(kind, d.sums(kind, d.buf))
		}
	}
	if err == nil {
		d.is(out, f, body)
	}
}

// behindHeader is where the padding of data on Ethernet begins that has no tag but 802.1Q's.
const behindHeader = wire.EthernetHeaderSize + wire.MinMSDU

// behindSegment is where the payload of a TCP segment begins in such a frame.
const behindSegment = wire.EthernetHeaderSize + wire.TCPOverhead

// The offsets behind the BTH of RoCEv2 in such a frame, over IPv4 and IPv6.
const (
	behindIPv4 = wire.EthernetHeaderSize + wire.IPv4Size + wire.UDPSize + wire.BTHSize
	behindIPv6 = wire.EthernetHeaderSize + wire.IPv6Size + wire.UDPSize + wire.BTHSize
)

// payloads has the offsets at which the padding of a frame can begin, the later first.
var payloads = func() map[wire.Delimiter][]int {
	all := map[wire.Delimiter][]int{wire.DataPacket: {wire.HeaderSize}}
	for _, behind := range []int{behindIPv6, behindIPv4, behindSegment, behindHeader} {
		for _, tags := range []int{wire.CNTagSize + wire.RLTagSize, wire.RLTagSize, wire.CNTagSize, 0} {
			all[wire.StartOfFrame] = append(all[wire.StartOfFrame], behind+tags)
		}
	}
	return all
}()

// complete fills up a frame that was cut, with padding and right checksums.
func (d *Decoder) complete(kind wire.Delimiter, b []byte, size int) []byte {
	if size > wire.MaxFrameSize {
		return b
	}
	d.buf = append(append(d.buf[:0], b...), make([]byte, size-len(b))...)
	return d.sums(kind, d.buf)
}

// sums writes the right checksums into a frame.
func (d *Decoder) sums(kind wire.Delimiter, b []byte) []byte {
	d.buf = b
	n := len(b)
	switch {
	case kind == wire.DataPacket && n >= wire.HeaderSize+wire.ICRCSize+wire.VCRCSize:
		end := n - wire.ICRCSize - wire.VCRCSize
		binary.LittleEndian.PutUint32(b[end:], wire.ICRC(b[:end]))
		binary.LittleEndian.PutUint16(b[n-wire.VCRCSize:], wire.VCRC(b[:n-wire.VCRCSize]))
	case kind == wire.LinkPacket && n == wire.FCPSize:
		binary.LittleEndian.PutUint16(b[4:], wire.VCRC(b[:4]))
	case kind == wire.StartOfFrame && n >= wire.FCSSize:
		if kind, at := etherType(b, true); at >= 0 && n > at+wire.ICRCSize+wire.FCSSize && roceV2(kind, b[at:]) {
			end := n - wire.FCSSize - wire.ICRCSize
			binary.LittleEndian.PutUint32(b[end:], wire.RoCEICRC(b[at:end]))
		}
		binary.LittleEndian.PutUint32(b[n-wire.FCSSize:], wire.FCS(b[:n-wire.FCSSize]))
	}
	return b
}

// datagram reads a frame with its link trailer; false if there is no trailer.
func (d *Decoder) datagram(out *Packet, b []byte) bool {
	t, frame, err := wire.ParseTrailer(b)
	if err != nil {
		return false
	}
	out.Carried, out.Trailer = true, t
	if t.Delimiter == wire.GuestFrame { // it does not name its flow
		out.Size = len(frame)
		d.other(out, layers.LayerTypeEthernet, frame[:max(0, len(frame)-wire.FCSSize)])
		return true
	}
	d.frame(out, t.Delimiter, frame, len(frame))
	return true
}

// otherTrailer returns an error for a datagram whose trailer is of another version.
func otherTrailer(b []byte) error {
	version := len(b) - 3
	_, _, err := wire.ParseTrailer(b)
	var refused *wire.ParseError
	if !errors.As(err, &refused) || refused.Field != "Trailer.Version" || wire.Delimiter(b[version-1]) > wire.GuestFrame {
		return nil
	}
	refused.Offset = version
	return fmt.Errorf("its trailer has version %d, and this program reads version %d: use the version that wrote it (%w)",
		b[version], wire.TrailerVersion, err)
}

// The EtherTypes that lead to frames of fabrics.
const (
	typeIPv4   = 0x0800
	typeIPv6   = 0x86DD
	typeVLAN   = 0x8100
	typeQinQ   = 0x88A8
	typeRoCE   = 0x8915
	typeOnVeth = 0x88B6
	typeCNTag  = 0x22E9
	typeRLTag  = 0x8904
	typeFrame  = 0x6558
	typeMAC    = 0x8808
)

// etherType returns the EtherType of a MAC frame behind its tags, and the offset behind it; -1 if
// the frame ends before. It skips the tags of VLANs, and the tags of congestion schemes too if all
// is true.
func etherType(b []byte, all bool) (kind uint16, at int) {
	for at = 14; len(b) >= at; {
		switch kind = binary.BigEndian.Uint16(b[at-2:]); {
		case kind == typeVLAN, kind == typeQinQ, all && kind == typeCNTag:
			at += 4
		case all && kind == typeRLTag:
			at += wire.RLTagSize
		default:
			return kind, at
		}
	}
	return 0, -1
}

// ipSize returns the size of the IP header behind an EtherType.
func ipSize(kind uint16) int {
	if kind == typeIPv6 {
		return wire.IPv6Size
	}
	return wire.IPv4Size
}

// roceV2 reports whether the bytes behind an EtherType are a packet of RoCEv2.
func roceV2(kind uint16, b []byte) bool {
	const udp = 17
	n := ipSize(kind)
	return len(b) >= n+4 && (kind == typeIPv4 && b[0] == 0x45 && b[9] == udp || kind == typeIPv6 && b[6] == udp) &&
		binary.BigEndian.Uint16(b[n+2:]) == wire.RoCEPort
}

// ethernet reads a MAC frame. Its last fcs bytes are the check sequence; -1: this is not known. In
// the capture of a run it is a frame of an Ethernet fabric. In other captures it is one if it has
// the trailer of a link, or if all of its bytes are those that this program writes: other programs
// use the same addresses and EtherTypes.
func (d *Decoder) ethernet(out *Packet, b []byte, size, fcs int) {
	kind, at := etherType(b, false)
	if at < 0 {
		out.Err = short("EtherType", len(b))
		return
	}
	if wire.EtherType(kind) {
		ip := kind == typeIPv4 || kind == typeIPv6 // its datagram may have the trailer
		frame := *out
		if d.datagram(&frame, b) && (frame.Frame.Kind != 0 || !ip || frame.Trailer.Delimiter == wire.GuestFrame) {
			*out = frame
			return
		}
		frame = *out
		if d.mac(&frame, b, size, fcs); frame.Frame.Kind != 0 || frame.ofRun {
			*out = frame
			return
		}
	}
	end := len(b)
	if fcs > 0 && len(b) == size && size >= at+fcs {
		end -= fcs
		if fcs == wire.FCSSize && binary.LittleEndian.Uint32(b[end:]) != wire.FCS(b[:end]) {
			out.BadSum = "FCS"
		}
	}
	d.other(out, layers.LayerTypeEthernet, b[:end])
}

// mac reads a frame of an Ethernet fabric. If fcs is -1 the frame is read with a check sequence and
// without one.
func (d *Decoder) mac(out *Packet, b []byte, size, fcs int) {
	d.frame(out, wire.StartOfFrame, b, size)
	if fcs >= 0 && fcs != 0 || out.Err == nil && out.BadSum == "" {
		return
	}
	with := append(slices.Clone(b), make([]byte, max(0, wire.MinFrame-wire.FCSSize-len(b)))...)
	with = binary.LittleEndian.AppendUint32(with, wire.FCS(with))
	if f, body, err := wire.ParseBody(wire.StartOfFrame, with); err == nil {
		d.is(out, f, body)
		out.Err, out.BadSum, out.Cut = nil, "", true
	} else if out.Err != nil || out.Frame.Kind == 0 {
		out.Err, out.BadSum = err, ""
	}
}
