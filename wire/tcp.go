package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// The sizes of the headers of a TCP segment, in bytes.
const (
	IPv4Size = 20 // without options (RFC 791)
	TCPSize  = 20 // without options (RFC 9293)

	// TCPOverhead is how much longer a packet is than its payload when the segment has no options.
	TCPOverhead = IPv4Size + TCPSize
)

// MaxSACK is how many blocks a SACK option holds here: as many as fit in addition to a time stamp
// (RFC 2018, section 3).
const MaxSACK = 3

// The control bits of a TCP segment (RFC 9293, section 3.1; RFC 3168, section 6.1).
const (
	FIN uint8 = 1 << iota // the sender has no more data
	SYN                   // the sequence numbers begin
	RST                   // the connection is reset
	PSH                   // the receiver is to hand on all that it has: here the segment ends a transfer
	ACK                   // Ack counts
	URG                   // never set: there is no urgent data
	ECE                   // a mark came: CE of RFC 3168 is echoed
	CWR                   // the sender has reduced its window
)

// SACKBlock is a part of the stream that a receiver has, beyond the bytes that it acknowledges:
// Left is the first sequence number of it and Right the one behind it. The zero value is none.
type SACKBlock struct{ Left, Right uint32 }

// Segment is the message of a Frame of kind TCP to the other end of its flow: an IPv4 packet
// (RFC 791) with a TCP segment (RFC 9293). Both addresses follow from the addresses of the frame,
// and the ports from the flow: they name it at both ends.
//
// Data goes in one direction. Options are where they count, in their own order: maximum
// segment size, SACK permitted and window scale in segments with SYN; SACK blocks in other
// segments without payload.
type Segment struct {
	Back   bool   // it goes from the flow's destination to its source
	Seq    uint32 // of the first byte, or of SYN or FIN
	Ack    uint32 // the next one that the sender waits for, if Flags has ACK
	Flags  uint8  // control bits
	Window uint16 // as it is there: not scaled
	Length uint32 // of the payload, in bytes
	ECT    bool   // the packet may be marked instead of being dropped: ECT(0) of RFC 3168
	CE     bool   // it was

	MSS           uint16 // SYN: maximum segment size; 0: the option is absent
	Scales        bool   // SYN: the option window scale is there (RFC 7323)
	Scale         uint8  // and has this shift, 0 to 14
	SACKPermitted bool   // SYN: the option is there (RFC 2018)

	SACK [MaxSACK]SACKBlock // the blocks come first, then none
}

// maxScale is the largest shift of a window (RFC 7323, section 2.3).
const maxScale = 14

// synExtension is what a TCP frame with SYN adds.
type synExtension struct {
	mss       uint16
	scale     uint8 // the shift, and 1; 0: the option is absent
	permitted bool
}

// sackExtension is what a TCP frame adds without SYN and without payload.
type sackExtension [MaxSACK]SACKBlock

// SetSegment makes f a frame with a segment. Src, Dst, QP, Lane, Tagged and the rate-limited
// tag are the caller's matter; all else is the segment's.
func (f *Frame) SetSegment(s *Segment) {
	f.Kind, f.Family, f.DSCP = TCP, InfiniBand, 0
	f.PSN, f.MSN, f.Payload, f.Window, f.Flags, f.FECN = s.Seq, s.Ack, s.Length, s.Window, s.Flags, s.CE
	f.Bits = bitBack.when(s.Back) | bitECT.when(s.ECT || s.CE)
	f.Extension = Extension{}
	switch {
	case s.Flags&SYN != 0:
		o := as[synExtension](&f.Extension)
		o.mss, o.permitted = s.MSS, s.SACKPermitted
		if s.Scales {
			o.scale = min(s.Scale, maxScale) + 1
		}
	case s.Length == 0:
		*as[sackExtension](&f.Extension) = s.SACK
	}
}

// Segment returns the segment of a frame of kind TCP.
func (f *Frame) Segment() Segment {
	s := Segment{
		Back: f.Back(), Seq: f.PSN, Ack: f.MSN, Flags: f.Flags, Window: f.Window, Length: f.Payload,
		ECT: f.ECT(), CE: f.FECN,
	}
	switch {
	case s.Flags&SYN != 0:
		o := as[synExtension](&f.Extension)
		s.MSS, s.SACKPermitted = o.mss, o.permitted
		if o.scale > 0 {
			s.Scales, s.Scale = true, o.scale-1
		}
	case s.Length == 0:
		s.SACK = *as[sackExtension](&f.Extension)
	}
	return s
}

// Back reports whether a frame of kind TCP goes from its flow's destination to its source.
func (f *Frame) Back() bool { return f.Bits&bitBack != 0 }

// ofSegment returns the size of the packet of a TCP frame.
func (f *Frame) ofSegment() int { return TCPOverhead + f.tcpOptions() + int(f.Payload) }

// tcpOptions returns how many bytes of options a segment has.
func (f *Frame) tcpOptions() (n int) {
	switch {
	case f.Flags&SYN != 0:
		o := as[synExtension](&f.Extension)
		return 4 * int(bit(o.mss != 0, 0)+bit(o.permitted, 0)+bit(o.scale != 0, 0))
	case f.Payload == 0 && as[sackExtension](&f.Extension)[0] != SACKBlock{}:
		n = 4
		for _, block := range as[sackExtension](&f.Extension) {
			if block != (SACKBlock{}) {
				n += 8
			}
		}
	}
	return n
}

// The ports: the one of the flow's source has the low 14 bits of its QP, in the range for
// dynamic ports, and the one of its destination the high 10 bits.
const (
	sourcePorts = 0xC000
	sinkPorts   = 0x8400
	lowBits     = 14
)

// The values in headers that this package writes.
const (
	dontFragment = 0x4000
	timeToLive   = 64
	protocolTCP  = 6
	protocolUDP  = 17
	localIP      = 10 << 24 // the address of a node is 10.0.0.0 and its LID

	optionNop           = 1
	optionMSS           = 2
	optionScale         = 3
	optionSACKPermitted = 4
	optionSACK          = 5
)

// appendIPv4 appends the header of an IPv4 packet of this many bytes.
func appendIPv4(b []byte, f *Frame, protocol uint32, size int) []byte {
	ip := len(b)
	b = binary.BigEndian.AppendUint32(b, 0x45<<24|f.trafficClass()<<16|uint32(size)&0xFFFF)
	b = binary.BigEndian.AppendUint32(b, dontFragment)
	b = binary.BigEndian.AppendUint32(b, timeToLive<<24|protocol<<16)
	b = binary.BigEndian.AppendUint32(b, localIP|uint32(f.Src))
	b = binary.BigEndian.AppendUint32(b, localIP|uint32(f.Dst))
	binary.BigEndian.PutUint16(b[ip+10:], ^onesSum(0, b[ip:]))
	return b
}

// appendTCP appends the headers of a packet with a segment; its payload, and the padding of the
// frame, are zeros.
func appendTCP(b []byte, f *Frame, _ Body) []byte {
	b = appendIPv4(b, f, protocolTCP, f.ofSegment())
	tcp, options := len(b), f.tcpOptions()
	here, there := sourcePorts|f.QP&(1<<lowBits-1), sinkPorts+f.QP>>lowBits&(1<<10-1)
	if f.Back() {
		here, there = there, here
	}
	b = binary.BigEndian.AppendUint32(b, here<<16|there)
	b = binary.BigEndian.AppendUint32(b, f.PSN)
	b = binary.BigEndian.AppendUint32(b, f.MSN)
	b = binary.BigEndian.AppendUint32(b, uint32(TCPSize+options)<<26|uint32(f.Flags)<<16|uint32(f.Window))
	b = append(b, 0, 0, 0, 0)
	switch {
	case f.Flags&SYN != 0:
		o := as[synExtension](&f.Extension)
		if o.mss != 0 {
			b = binary.BigEndian.AppendUint32(b, optionMSS<<24|4<<16|uint32(o.mss))
		}
		if o.permitted {
			b = append(b, optionNop, optionNop, optionSACKPermitted, 2)
		}
		if o.scale != 0 {
			b = append(b, optionNop, optionScale, 3, o.scale-1)
		}
	case options > 0:
		b = append(b, optionNop, optionNop, optionSACK, byte(options-2))
		for _, block := range as[sackExtension](&f.Extension) {
			if block != (SACKBlock{}) {
				b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, block.Left), block.Right)
			}
		}
	}
	pseudo := uint32(f.Src) + uint32(f.Dst) + 2*(localIP>>16) + protocolTCP + uint32(len(b)-tcp) + f.Payload
	binary.BigEndian.PutUint16(b[tcp+16:], ^onesSum(pseudo, b[tcp:]))
	return b
}

// onesSum returns the ones' complement sum of bytes, which are even in number, and a sum
// before them (RFC 1071).
func onesSum(sum uint32, b []byte) uint16 {
	wide := uint64(sum)
	for ; len(b) > 7; b = b[8:] {
		x := binary.BigEndian.Uint64(b)
		wide += x>>32 + x&0xFFFFFFFF
	}
	for ; len(b) > 1; b = b[2:] {
		wide += uint64(binary.BigEndian.Uint16(b))
	}
	wide += bits.RotateLeft64(wide, 32) // the upper half is the sum of both, with the carry added
	half := uint32(wide >> 32)
	half += bits.RotateLeft32(half, 16)
	return uint16(half >> 16)
}

// parseTCP completes f with a segment, whose packet starts at b[at]; b is all but the FCS. It
// refuses all that appendTCP does not write: all checksums are right then.
func parseTCP(f *Frame, _ *Body, b []byte, at int) error {
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
	case !allZero(p[head:]):
		return refuse("payload", at+head, ErrPayload)
	}
	pseudo := uint32(f.Src) + uint32(f.Dst) + 2*(localIP>>16) + protocolTCP + uint32(length-IPv4Size)
	if onesSum(pseudo, tcp[:head-IPv4Size]) != 0xFFFF {
		return refuse("TCP.Checksum", at+IPv4Size+16, ErrChecksum)
	}
	named, flow := f.Tagged || f.CPID != 0, f.QP
	if !f.readTCP(p) {
		return refuse("TCP.Port", at+IPv4Size, ErrUnsupported)
	}
	f.Kind, f.Payload = TCP, uint32(length-head)
	switch {
	case named && flow != f.QP&0xFFFF:
		return refuse("TCP.Port", at+IPv4Size, ErrUnsupported)
	case f.CPID != 0 && f.Payload == 0:
		return refuse("EtherType", at-2, ErrUnsupported) // only data has a rate-limited tag
	case !f.readOptions(tcp[TCPSize : head-IPv4Size]):
		return refuse("TCP.Options", at+TCPOverhead, ErrUnsupported)
	}
	var again [TCPOverhead + maxOptions]byte // all that is not read is as it is written
	want := appendTCP(again[:0], f, Body{})
	for i := range p[:head] {
		if checksum := i|1 == 11 || i|1 == 37; !checksum && (i >= len(want) || want[i] != p[i]) {
			return refuse("TCP", at+i, ErrUnsupported)
		}
	}
	return wantSize(b, at+length)
}

// maxOptions is the room that a TCP header has for options.
const maxOptions = 40

// readTCP reads the headers of a packet, but for the lengths and the options. It
// reports whether the ports name a flow.
func (f *Frame) readTCP(p []byte) bool {
	tcp := p[IPv4Size:]
	here, there := uint32(binary.BigEndian.Uint16(tcp)), uint32(binary.BigEndian.Uint16(tcp[2:]))
	f.Bits = bitECT.when(p[1]&2 != 0)
	if there >= sourcePorts {
		here, there = there, here
		f.Bits |= bitBack
	}
	if here < sourcePorts || there < sinkPorts || there >= sinkPorts+1<<10 {
		return false
	}
	f.QP = (there-sinkPorts)<<lowBits | here&(1<<lowBits-1)
	f.FECN = p[1]&3 == 3
	f.PSN, f.MSN = binary.BigEndian.Uint32(tcp[4:]), binary.BigEndian.Uint32(tcp[8:])
	f.Flags, f.Window = tcp[13], binary.BigEndian.Uint16(tcp[14:])
	return true
}

// readOptions reads the options of a segment, and reports whether they come as appendTCP writes
// them.
func (f *Frame) readOptions(o []byte) bool {
	if f.Flags&SYN == 0 {
		if len(o) == 0 {
			return true
		}
		n := len(o)/8 - 1 + len(o)%8/4
		if f.Payload > 0 || len(o) < 12 || len(o)%8 != 4 || n > MaxSACK || o[2] != optionSACK {
			return false
		}
		for i := range n {
			block := SACKBlock{binary.BigEndian.Uint32(o[4+8*i:]), binary.BigEndian.Uint32(o[8+8*i:])}
			if block == (SACKBlock{}) {
				return false
			}
			as[sackExtension](&f.Extension)[i] = block
		}
		return true
	}
	for syn := as[synExtension](&f.Extension); len(o) >= 4; o = o[4:] {
		switch {
		case o[0] == optionMSS:
			syn.mss = binary.BigEndian.Uint16(o[2:])
		case o[2] == optionSACKPermitted:
			syn.permitted = true
		case o[1] == optionScale && o[3] <= maxScale:
			syn.scale = o[3] + 1
		default:
			return false
		}
	}
	return true
}

var tcpFields = slices.Concat(cnTagFields, rlTagFields, []Field{
	{text: func(b []byte, f *Frame) []byte {
		b = append(b, " flags="...)
		for i, letter := range "FSRPAUEC" {
			if f.Flags>>i&1 == 1 {
				b = append(b, byte(letter))
			}
		}
		return b
	}},
	{Word: "seq", access: ofPSN},
	{Word: "ack", access: ofMSN, Has: hasFlag(ACK)},
	{Word: "win", access: number(func(f *Frame) *uint16 { return &f.Window })},
	{Word: "len", access: ofPayload},
	{text: func(b []byte, f *Frame) []byte {
		s := f.Segment()
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
		return b
	}},
}, markFields)
