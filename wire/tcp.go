package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"fabemu/wire/unit"
)

// The sizes of the headers of a TCP segment, in bytes.
const (
	IPv4Size = 20 // without options (RFC 791)
	TCPSize  = 20 // without options (RFC 9293)

	// TCPOverhead is what of a packet is not payload when the segment has no options.
	TCPOverhead = IPv4Size + TCPSize
)

// MaxSACK is how many blocks a SACK option holds here: as many as fit beside a time stamp
// (RFC 2018, section 3).
const MaxSACK = 3

// The control bits of a TCP segment (RFC 9293, section 3.1; RFC 3168, section 6.1).
const (
	FIN uint8 = 1 << iota // the sender has no more data
	SYN                   // the sequence numbers begin
	RST                   // the connection is reset
	PSH                   // the receiver is to hand on what it has: here the segment ends a transfer
	ACK                   // Ack counts
	URG                   // never set: there is no urgent data
	ECE                   // a mark came: CE of RFC 3168 is echoed
	CWR                   // the sender has reduced its window
)

// SACKBlock is a part of the stream that a receiver has, beyond what it acknowledges: Left is
// the first sequence number of it and Right the one behind it. The zero value is none.
type SACKBlock struct{ Left, Right uint32 }

// Segment is what a Frame of kind TCP says to the other end of its flow: an IPv4 packet
// (RFC 791) with a TCP segment (RFC 9293). Both addresses follow from those of the frame, and
// the ports from the flow: they name it at both ends.
//
// Data goes one way. Options stand where they count, in an order of their own: maximum
// segment size, SACK permitted and window scale in segments with SYN; SACK blocks in other
// segments without payload.
type Segment struct {
	Back   bool   // it goes from the flow's destination to its source
	Seq    uint32 // of the first byte, or of SYN or FIN
	Ack    uint32 // the next one that the sender waits for, if Flags has ACK
	Flags  uint8  // control bits
	Window uint16 // as it stands there: not scaled
	Length uint32 // of the payload, in bytes
	ECT    bool   // the packet may be marked in place of being dropped: ECT(0) of RFC 3168
	CE     bool   // it was

	MSS           uint16 // SYN: maximum segment size; 0: the option is absent
	Scales        bool   // SYN: the option window scale is there (RFC 7323)
	Scale         uint8  // and has this shift, 0 to 14
	SACKPermitted bool   // SYN: the option is there (RFC 2018)

	SACK [MaxSACK]SACKBlock // the blocks come first, then none
}

// maxScale is the largest shift of a window (RFC 7323, section 2.3).
const maxScale = 14

// The flags of a TCP segment in Frame.Stopped.
const (
	tcpBack uint8 = 1 << iota
	tcpECT
	tcpSACKPermitted
)

// SetSegment makes f a frame with a segment. Src, Dst, QP, Lane, Tagged and the rate-limited
// tag are the caller's matter; all else is the segment's.
func (f *Frame) SetSegment(s *Segment) {
	f.Kind, f.Family = TCP, InfiniBand
	f.PSN, f.MSN, f.Payload, f.Quanta, f.Classes, f.FECN = s.Seq, s.Ack, s.Length, s.Window, s.Flags, s.CE
	f.Stopped = uint8(bit(s.Back, 0) | bit(s.ECT || s.CE, 1))
	f.Octets, f.Bottleneck = 0, 0
	f.Value, f.SentAt, f.CameAt = 0, 0, 0
	switch {
	case s.Flags&SYN != 0:
		f.Stopped |= uint8(bit(s.SACKPermitted, 2))
		f.Bottleneck = s.MSS
		if s.Scales {
			f.Octets = min(s.Scale, maxScale) + 1
		}
	case s.Length == 0:
		f.Value = s.SACK[0].word()
		f.SentAt, f.CameAt = unit.Time(s.SACK[1].word()), unit.Time(s.SACK[2].word())
	}
}

// Segment returns the segment of a frame of kind TCP.
func (f *Frame) Segment() Segment {
	s := Segment{
		Back: f.Stopped&tcpBack != 0, Seq: f.PSN, Ack: f.MSN, Flags: f.Classes, Window: f.Quanta, Length: f.Payload,
		ECT: f.ECT(), CE: f.FECN,
	}
	switch {
	case s.Flags&SYN != 0:
		s.MSS, s.SACKPermitted = f.Bottleneck, f.Stopped&tcpSACKPermitted != 0
		if f.Octets > 0 {
			s.Scales, s.Scale = true, f.Octets-1
		}
	case s.Length == 0:
		s.SACK = [MaxSACK]SACKBlock{blockOf(f.Value), blockOf(uint64(f.SentAt)), blockOf(uint64(f.CameAt))}
	}
	return s
}

func (b SACKBlock) word() uint64   { return uint64(b.Left)<<32 | uint64(b.Right) }
func blockOf(w uint64) SACKBlock   { return SACKBlock{uint32(w >> 32), uint32(w)} }
func (f *Frame) sack() [3]uint64   { return [3]uint64{f.Value, uint64(f.SentAt), uint64(f.CameAt)} }
func (f *Frame) back() bool        { return f.Stopped&tcpBack != 0 }
func (f *Frame) has(c uint8) bool  { return f.Classes&c != 0 }
func (f *Frame) ofSegment() uint32 { return TCPOverhead + uint32(f.tcpOptions()) + f.Payload }

// ECT reports whether a frame may be marked, by FECN: an IP packet if it says so. Frames that
// are none have the mark in their own header, and always may.
func (f *Frame) ECT() bool { return f.Stopped&tcpECT != 0 || f.Kind != TCP && !f.roce() }

// Back reports whether a frame of kind TCP goes from its flow's destination to its source.
func (f *Frame) Back() bool { return f.back() }

// The ports: that of the flow's source has the low 14 bits of its QP, in the range for
// dynamic ports, and that of its destination the high 10 bits.
const (
	sourcePorts = 0xC000
	sinkPorts   = 0x8400
	lowBits     = 14
)

// tcpOptions returns how many bytes of options a segment has.
func (f *Frame) tcpOptions() (n int) {
	switch {
	case f.has(SYN):
		return 4 * int(bit(f.Bottleneck != 0, 0)+bit(f.Stopped&tcpSACKPermitted != 0, 0)+bit(f.Octets != 0, 0))
	case f.Payload == 0 && f.Value != 0:
		n = 4
		for _, w := range f.sack() {
			if w != 0 {
				n += 8
			}
		}
	}
	return n
}

// appendTCP appends the EtherType and the headers of a segment; its payload, and what fills the
// frame up, are zeros.
func appendTCP(b []byte, f *Frame) []byte {
	b = binary.BigEndian.AppendUint16(b, typeIPv4)
	ip := len(b)
	b = binary.BigEndian.AppendUint32(b, 0x45<<24|ecnOf(f)<<16|f.ofSegment()&0xFFFF)
	b = binary.BigEndian.AppendUint32(b, dontFragment)
	b = binary.BigEndian.AppendUint32(b, timeToLive<<24|protocolTCP<<16)
	b = binary.BigEndian.AppendUint32(b, localIP|uint32(f.Src))
	b = binary.BigEndian.AppendUint32(b, localIP|uint32(f.Dst))
	binary.BigEndian.PutUint16(b[ip+10:], ^onesSum(0, b[ip:]))

	tcp := len(b)
	here, there := sourcePorts|f.QP&(1<<lowBits-1), sinkPorts+f.QP>>lowBits&(1<<10-1)
	if f.back() {
		here, there = there, here
	}
	b = binary.BigEndian.AppendUint32(b, here<<16|there)
	b = binary.BigEndian.AppendUint32(b, f.PSN)
	b = binary.BigEndian.AppendUint32(b, f.MSN)
	b = binary.BigEndian.AppendUint32(b, uint32(TCPSize+f.tcpOptions())<<26|uint32(f.Classes)<<16|uint32(f.Quanta))
	b = append(b, 0, 0, 0, 0)
	switch {
	case f.has(SYN):
		if f.Bottleneck != 0 {
			b = binary.BigEndian.AppendUint32(b, optionMSS<<24|4<<16|uint32(f.Bottleneck))
		}
		if f.Stopped&tcpSACKPermitted != 0 {
			b = append(b, optionNop, optionNop, optionSACKPermitted, 2)
		}
		if f.Octets != 0 {
			b = append(b, optionNop, optionScale, 3, f.Octets-1)
		}
	case f.tcpOptions() > 0:
		b = append(b, optionNop, optionNop, optionSACK, byte(f.tcpOptions()-2))
		for _, w := range f.sack() {
			if w != 0 {
				b = binary.BigEndian.AppendUint64(b, w)
			}
		}
	}
	pseudo := uint32(f.Src) + uint32(f.Dst) + 2*(localIP>>16) + protocolTCP + uint32(len(b)-tcp) + f.Payload
	binary.BigEndian.PutUint16(b[tcp+16:], ^onesSum(pseudo, b[tcp:]))
	return b
}

// What headers have that this package writes.
const (
	dontFragment = 0x4000
	timeToLive   = 64
	protocolTCP  = 6
	protocolUDP  = 17
	localIP      = 10 << 24 // the address of a machine is 10.0.0.0 and its LID

	optionNop           = 1
	optionMSS           = 2
	optionScale         = 3
	optionSACKPermitted = 4
	optionSACK          = 5
)

// ecnOf returns the ECN field of a segment's packet (RFC 3168, section 5).
func ecnOf(f *Frame) uint32 {
	switch {
	case f.FECN:
		return 3
	case f.Stopped&tcpECT != 0:
		return 2
	}
	return 0
}

// onesSum returns the ones' complement sum of bytes, which are even in number, and a sum
// before them (RFC 1071).
func onesSum(sum uint32, b []byte) uint16 {
	wide := uint64(sum)
	for ; len(b) > 3; b = b[4:] {
		wide += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) > 1 {
		wide += uint64(binary.BigEndian.Uint16(b))
	}
	return foldSum(wide)
}

// foldSum returns a sum of words of 16 bits, or of more, as the ones' complement sum that it is.
func foldSum(wide uint64) uint16 {
	wide += bits.RotateLeft64(wide, 32) // the upper half is the sum of both, with the carry added
	half := uint32(wide >> 32)
	half += bits.RotateLeft32(half, 16)
	return uint16(half >> 16)
}

// tcpHead returns how many bytes from the network header on are not known to be zeros, of an
// IPv4 packet of which b has the begin.
func tcpHead(b []byte) int {
	const offset = IPv4Size + 12
	if len(b) <= offset {
		return len(b)
	}
	return min(len(b), IPv4Size+max(TCPSize, int(b[offset]>>4)*4))
}

// parseTCP completes f with a segment, whose packet starts at b[at]; b is all but the FCS. It
// refuses, as elsewhere, what appendTCP does not write: all checksums are right then. All
// behind the headers is zeros if padding says so.
func parseTCP(f *Frame, b []byte, at int, padding bool) error {
	p := b[at:]
	if len(p) < TCPOverhead {
		return refuse("IPv4", len(b), ErrTruncated)
	}
	length, tcp := int(binary.BigEndian.Uint16(p[2:])), p[IPv4Size:]
	head := IPv4Size + int(tcp[12]>>4)*4
	switch {
	case p[0] != 0x45:
		return refuse("IPv4.Version", at, ErrUnsupported)
	case p[1] == 1 || p[1] > 3:
		return refuse("IPv4.TOS", at+1, ErrUnsupported)
	case head < TCPOverhead || head > length:
		return refuse("TCP.Offset", at+IPv4Size+12, ErrRange)
	case length > len(p):
		return refuse("IPv4.Length", at+2, ErrTruncated)
	case length > MaxMSDU:
		return refuse("IPv4.Length", at+2, ErrRange)
	case onesSum(0, p[:IPv4Size]) != 0xFFFF:
		return refuse("IPv4.Checksum", at+10, ErrChecksum)
	case p[9] != protocolTCP:
		return refuse("IPv4.Protocol", at+9, ErrUnsupported)
	case binary.BigEndian.Uint32(p[12:]) != localIP|uint32(f.Src):
		return refuse("IPv4.Source", at+12, ErrUnsupported)
	case binary.BigEndian.Uint32(p[16:]) != localIP|uint32(f.Dst):
		return refuse("IPv4.Destination", at+16, ErrUnsupported)
	case !padding:
		return refuse("payload", at+head, ErrPayload)
	}
	pseudo := uint32(f.Src) + uint32(f.Dst) + 2*(localIP>>16) + protocolTCP + uint32(length-IPv4Size)
	if onesSum(pseudo, tcp[:head-IPv4Size]) != 0xFFFF {
		return refuse("TCP.Checksum", at+IPv4Size+16, ErrChecksum)
	}
	named := f.Tagged || f.CPID != 0
	flow := f.QP
	if !f.readTCP(p) {
		return refuse("TCP.Port", at+IPv4Size, ErrUnsupported)
	}
	f.Kind, f.Payload = TCP, uint32(length-head)
	switch {
	case named && flow != f.QP&0xFFFF:
		return refuse("TCP.Port", at+IPv4Size, ErrUnsupported)
	case f.CPID != 0 && f.Payload == 0:
		return refuse("EtherType", at-2, ErrUnsupported) // only data has a rate-limited tag
	}
	if err := f.readOptions(tcp[TCPSize:head-IPv4Size], at+TCPOverhead); err != nil {
		return err
	}
	var again [2 + TCPOverhead + maxOptions]byte // what is not read is as it is written
	want := appendTCP(again[:0], f)[2:]
	for i := range p[:head] {
		if checksum := i|1 == 11 || i|1 == 37; !checksum && (i >= len(want) || want[i] != p[i]) {
			return refuse("TCP", at+i, ErrUnsupported)
		}
	}
	return wantSize(b, at+length)
}

// maxOptions is the room that a TCP header has for options.
const maxOptions = 40

// readTCP reads what the headers of a packet say, but for the lengths and the options. It
// reports whether the ports name a flow.
func (f *Frame) readTCP(p []byte) bool {
	tcp := p[IPv4Size:]
	here, there := uint32(binary.BigEndian.Uint16(tcp)), uint32(binary.BigEndian.Uint16(tcp[2:]))
	f.Stopped = uint8(bit(p[1]&2 != 0, 1))
	if there >= sourcePorts {
		here, there = there, here
		f.Stopped |= tcpBack
	}
	if here < sourcePorts || there < sinkPorts || there >= sinkPorts+1<<10 {
		return false
	}
	f.QP = (there-sinkPorts)<<lowBits | here&(1<<lowBits-1)
	f.FECN = p[1]&3 == 3
	f.PSN, f.MSN = binary.BigEndian.Uint32(tcp[4:]), binary.BigEndian.Uint32(tcp[8:])
	f.Classes, f.Quanta = tcp[13], binary.BigEndian.Uint16(tcp[14:])
	return true
}

// readOptions reads the options of a segment. They come as appendTCP writes them.
func (f *Frame) readOptions(o []byte, at int) error {
	const field, why = "TCP.Options", ErrUnsupported
	if !f.has(SYN) {
		n := len(o)/8 - 1 + len(o)%8/4
		if len(o) == 0 {
			return nil
		}
		if f.Payload > 0 || len(o) < 12 || len(o)%8 != 4 || n > MaxSACK || o[2] != optionSACK {
			return refuse(field, at, why)
		}
		var words [MaxSACK]uint64
		for i := range n {
			if words[i] = binary.BigEndian.Uint64(o[4+8*i:]); words[i] == 0 {
				return refuse(field, at, why)
			}
		}
		f.Value, f.SentAt, f.CameAt = words[0], unit.Time(words[1]), unit.Time(words[2])
		return nil
	}
	for ; len(o) >= 4; o = o[4:] {
		switch {
		case o[0] == optionMSS:
			f.Bottleneck = binary.BigEndian.Uint16(o[2:])
		case o[2] == optionSACKPermitted:
			f.Stopped |= tcpSACKPermitted
		case o[1] == optionScale && o[3] <= maxScale:
			f.Octets = o[3] + 1
		default:
			return refuse(field, at, why)
		}
	}
	return nil
}

// appendTCPWords appends what a segment says, for people (Frame.AppendWords).
func appendTCPWords(b []byte, f *Frame) []byte {
	s := f.Segment()
	b = append(b, " flags="...)
	for i, letter := range "FSRPAUEC" {
		if s.Flags>>i&1 == 1 {
			b = append(b, byte(letter))
		}
	}
	b = fmt.Appendf(b, " seq=%d", s.Seq)
	if s.Flags&ACK != 0 {
		b = fmt.Appendf(b, " ack=%d", s.Ack)
	}
	b = fmt.Appendf(b, " win=%d len=%d", s.Window, s.Length)
	if s.MSS > 0 {
		b = fmt.Appendf(b, " mss=%d", s.MSS)
	}
	if s.Scales {
		b = fmt.Appendf(b, " scale=%d", s.Scale)
	}
	if s.SACKPermitted {
		b = append(b, " sack-permitted"...)
	}
	for _, k := range s.SACK {
		if k != (SACKBlock{}) {
			b = fmt.Appendf(b, " sack=%d-%d", k.Left, k.Right)
		}
	}
	switch {
	case s.CE:
		b = append(b, " ce"...)
	case s.ECT:
		b = append(b, " ect"...)
	}
	return b
}
