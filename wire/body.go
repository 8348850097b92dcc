package wire

import (
	"encoding/binary"
	"fmt"
)

// Body is the content of a Data frame instead of padding: a packet of a kernel's TCP, a
// program's datagram. On InfiniBand it is behind the header that IP over InfiniBand has
// (RFC 4391, section 6; over a reliable connection, RFC 4755): its type, and two bytes of
// zeros; so it does on RoCEv2. On Ethernet it is the frame, which is of the family Guest then.
// Without a body the type is 0.
type Body struct {
	Type  uint16 // as an EtherType: 0800 IPv4, 86DD IPv6, 6558 a whole frame of Ethernet; from LeastBodyType. 0: there is no body
	Bytes []byte // Family.Carries limits them

	Marked bool // where it is delivered: its frame has FECN
}

// The types of bodies with packets of IP, of frames of Ethernet, and of tags in front of packets
// (IEEE 802.1Q).
const (
	bodyIPv4, bodyIPv6      = 0x0800, 0x86DD
	bodyFrame               = 0x6558
	customerTag, serviceTag = 0x8100, 0x88A8

	congested = 3 // CE, in the ECN field

	guestHeader = 14 // both addresses and the EtherType
	tagSize     = EthernetHeaderSize - guestHeader
	leastGuest  = 46 // bytes behind them: a shorter frame is filled up
)

// ip returns the packet of IP of a body, which may be in a frame of Ethernet and behind tags, and
// the shift of its ECN field in its second byte. It returns nil for another body.
func (b *Body) ip() (packet []byte, shift uint) {
	kind, p := b.Type, b.Bytes
	if kind == bodyFrame && len(p) >= 14 {
		kind, p = binary.BigEndian.Uint16(p[12:]), p[14:]
	}
	for (kind == customerTag || kind == serviceTag) && len(p) >= 4 {
		kind, p = binary.BigEndian.Uint16(p[2:]), p[4:]
	}
	switch {
	case kind == bodyIPv4 && len(p) >= IPv4Size:
		return p, 0
	case kind == bodyIPv6 && len(p) >= IPv6Size:
		return p, 4
	}
	return nil, 0
}

// MarkIP sets CE in a packet of IP, if that is ECT (RFC 3168, section 5).
func (b *Body) MarkIP() {
	p, shift := b.ip()
	if p == nil || p[1]>>shift&congested == 0 || p[1]>>shift&congested == congested {
		return
	}
	setECN(p, shift, congested)
}

// ClearECN takes ECT and CE out of a packet of IP.
func (b *Body) ClearECN() {
	if p, shift := b.ip(); p != nil && p[1]>>shift&congested != 0 {
		setECN(p, shift, 0)
	}
}

// setECN sets the ECN field of a packet of IP with this shift in its second byte.
func setECN(p []byte, shift uint, ecn uint8) {
	old := binary.BigEndian.Uint16(p)
	if p[1] = p[1]&^(congested<<shift) | ecn<<shift; shift == 0 { // the checksum of IPv4, by RFC 1624
		sum := uint32(^binary.BigEndian.Uint16(p[10:])) + uint32(^old) + uint32(binary.BigEndian.Uint16(p))
		sum = sum&0xFFFF + sum>>16
		binary.BigEndian.PutUint16(p[10:], ^uint16(sum+sum>>16))
	}
}

// LeastBodyType is the lowest type of a body: EtherTypes begin here (IEEE 802.3, 3.2.6).
const LeastBodyType = 0x0600

// encapsulationSize is the size of the header of a body on InfiniBand, and on RoCEv2.
const encapsulationSize = 4

// checkPayload panics if f, a Data frame, cannot carry its payload, or body is not its body.
func (f *Frame) checkPayload(body Body) {
	if f.Telemetry() != NoTelemetry {
		body = Body{}
	}
	switch {
	case body.Type != 0 && f.Bits&bitImmediate != 0:
		panic("wire: a data frame with a body and immediate data")
	case body.Type == 0 && (f.HasBody() && f.Telemetry() == NoTelemetry || len(body.Bytes) > 0):
		panic("wire: a data frame without its body, or with bytes that are no body")
	case body.Type != 0 && (body.Type < LeastBodyType || f.Payload != f.Family.PayloadOf(body)):
		panic("wire: a data frame with the body of another")
	case f.Family == Guest && body.Type == 0:
		panic("wire: a guest's frame without its bytes")
	case f.Family == Guest:
	case f.Family == Ethernet && (f.Payload < MinMSDU || f.Payload > MaxMSDU):
		panic("wire: a data frame whose payload is below MinMSDU or above MaxMSDU")
	case f.Family == UET && f.Payload <= MaxPayload:
	case f.Family != Ethernet && (f.Payload > MaxPayload || f.Payload%4 != 0):
		panic("wire: a data packet whose payload is above MaxPayload or not a multiple of 4")
	}
}

// BodyRoom returns how long the body of a Data frame with this much payload can be. A whole frame
// of Ethernet may have its header in addition to that on Ethernet.
func (f Family) BodyRoom(payload uint32) int {
	if f == Ethernet || f == Guest {
		return int(payload)
	}
	return int(payload) - encapsulationSize
}

// Carries reports whether a Data frame of the family with this much payload has room for a body.
func (f Family) Carries(payload uint32, b Body) bool { return f.PayloadOf(b) <= payload }

// PayloadOf returns the payload of a Data frame of the family with a body. On Ethernet it is all
// behind the EtherType, without a tag of IEEE 802.1Q.
func (f Family) PayloadOf(b Body) uint32 {
	n := len(b.Bytes)
	if f != Ethernet && f != Guest {
		return uint32(encapsulationSize+n+3) &^ 3
	}
	if b.Type == bodyFrame {
		n -= guestHeader
	}
	if b.tagged() {
		n -= tagSize
	}
	return uint32(max(0, n))
}

// tagged reports whether a body begins with a tag of IEEE 802.1Q, behind its addresses if it has
// any.
func (b *Body) tagged() bool {
	kind, n := b.Type, len(b.Bytes)
	if kind == bodyFrame {
		kind, n = binary.BigEndian.Uint16(b.Bytes[behindAddresses:]), n-guestHeader
	}
	return kind == customerTag && n >= tagSize
}

// ofGuest returns how many bytes a guest's frame has behind its EtherType, filled up, without a
// tag.
func (f *Frame) ofGuest() int { return max(int(f.Payload), leastGuest) }

// appendGuest appends a guest's frame: its body as it is, between tags that the fabric needs. A
// frame with a priority above 0 has the tag of IEEE 802.1Q that tells it.
func appendGuest(b []byte, f *Frame, body Body) []byte {
	rest := body.Bytes
	if body.Type == bodyFrame {
		b, rest = append(b, rest[:behindAddresses]...), rest[behindAddresses:]
	} else {
		b = appendMAC(appendMAC(b, f.Dst.MAC()), f.Src.MAC())
	}
	if f.Lane != 0 {
		b = appendVLAN(b, f.Lane)
	}
	b = appendTags(b, f)
	at := len(b) + 2
	if body.Type != bodyFrame {
		b = binary.BigEndian.AppendUint16(b, body.Type)
	}
	b = append(b, rest...)
	if f.FECN {
		(&Body{Type: binary.BigEndian.Uint16(b[at-2:]), Bytes: b[at:]}).MarkIP()
	}
	return b
}

// describe takes over into a guest's frame what its packet of IP says: the DSCP, ECN, and what
// paths follow from.
func (f *Frame) describe(b *Body) {
	p, shift := b.ip()
	class := uint8(0)
	if p != nil {
		class = uint8(binary.BigEndian.Uint16(p) >> shift)
	}
	f.Family, f.MSN = Guest, entropyOf(p)
	f.Bits = f.Bits&^(bitECT|bitOwnTag) | bitOwnTag.when(b.tagged())
	f.setTrafficClass(class)
}

// entropyOf returns a hash of what routers spread packets of IP by: the addresses, the protocol
// and, if it has them, the ports. Fragments have none, so that all take one path.
func entropyOf(p []byte) uint32 {
	if p == nil {
		return 0
	}
	addresses, ports, protocol := p[12:IPv4Size], int(p[0]&15)*4, p[9]
	whole := p[0]>>4 == 6 || binary.BigEndian.Uint16(p[6:])&^dontFragment == 0
	if p[0]>>4 == 6 && len(p) >= IPv6Size {
		addresses, ports, protocol = p[8:IPv6Size], IPv6Size, p[6]
	}
	hash := uint64(protocol)
	for ; len(addresses) > 0; addresses = addresses[8:] {
		hash = mix(hash ^ binary.BigEndian.Uint64(addresses))
	}
	if (protocol == protocolTCP || protocol == protocolUDP) && whole && len(p) >= ports+4 {
		hash = mix(hash ^ uint64(binary.BigEndian.Uint32(p[ports:])))
	}
	return uint32(hash)
}

// Entropy returns the number by which switches choose among equal paths: the queue pair of the
// flow, with RoCEv2 and UET also a source port of the frame's own, and of a guest's frame a hash of
// the headers of IP and UDP or TCP.
func (f *Frame) Entropy() uint32 {
	switch f.Family {
	case RoCEv2, UET:
		return f.QP ^ uint32(f.Window)
	case Guest:
		return f.QP ^ f.MSN
	}
	return f.QP
}

// parse reads the body in the payload of a data packet that is no padding, and reports whether it
// is one.
func (b *Body) parse(payload []byte, pad int) bool {
	end := len(payload) - pad
	if end < encapsulationSize {
		return false
	}
	b.Type, b.Bytes = binary.BigEndian.Uint16(payload), payload[encapsulationSize:end]
	return b.Type >= LeastBodyType && allZero(payload[2:4]) && allZero(payload[end:])
}

// Bodies holds the bodies of the frames that the nodes of one driver have in hand: a
// Frame with a body has its number there. So a Frame stays as small as it is, without a
// pointer. It fills a line of the cache, is copied at each hop, and waits in queues: a run on
// the virtual clock (BenchmarkVirtual) was slower by 3 to 5 % with a string in it, by 9 to 12 %
// with a pointer, and by 5 to 8 % with four bytes more that are neither.
//
// A body belongs to the node that holds its frame, and there is one such frame at a time: a
// node that hands a frame on no longer has it. It ends, with Free, where the frame does:
// when its bytes have been sent (package emu/run/drive), when it is dropped (port.Port), and when
// it has come to its endpoint (package node). Nothing is allocated once there is memory for
// as many bodies as are in flight.
//
// The zero value is ready; it belongs to one goroutine.
type Bodies struct {
	slots []bodySlot
	free  []uint32
}

// bodySlot is a place for a body. The memory stays with it.
type bodySlot struct {
	body Body
	uses uint32 // counts the bodies that it has had
}

// Put makes b, which is copied, the body of a Data frame, and gives the frame the payload that b
// needs; a frame of Ethernet becomes one of a guest. It panics if b is not a body, or longer than a
// frame of that family can carry.
//
// The telemetry of a packet leaves its payload as it is.
func (s *Bodies) Put(f *Frame, b Body) {
	if b.packet() {
		short := b.Type == bodyFrame && len(b.Bytes) < guestHeader
		if b.Type < LeastBodyType || short || !f.Family.Carries(f.Family.Fit(1<<30), b) {
			panic(fmt.Sprintf("wire: a body of type %#04x with %d bytes", b.Type, len(b.Bytes)))
		}
		if f.Payload = f.Family.PayloadOf(b); f.Family == Ethernet || f.Family == Guest {
			f.describe(&b)
		}
	}
	to := s.take(f)
	to.Type, to.Bytes = b.Type, append(to.Bytes[:0], b.Bytes...)
}

// Copy gives a copy of a frame its own body, if the frame has one.
func (s *Bodies) Copy(f *Frame) {
	if !f.HasBody() {
		return
	}
	from := s.slot(f).body // the places may move
	to := s.take(f)
	to.Type, to.Bytes = from.Type, append(to.Bytes[:0], from.Bytes...)
}

// packet reports whether there is a body that is in the payload: telemetry does not.
func (b *Body) packet() bool { return b.Type > madBody }

// take gives a frame a place for a body.
func (s *Bodies) take(f *Frame) *Body {
	if len(s.free) == 0 {
		s.free = append(s.free, uint32(len(s.slots)))
		s.slots = append(s.slots, bodySlot{})
	}
	last := len(s.free) - 1
	at := s.free[last]
	s.free = s.free[:last]
	slot := &s.slots[at]
	slot.uses++
	f.Extension[0] = uint64(slot.uses)<<32 | uint64(at+1)
	return &slot.body
}

// Of returns the body of a frame, which stays as it is until Free. The body of a frame without
// one has type 0.
func (s *Bodies) Of(f *Frame) Body {
	if !f.HasBody() {
		return Body{}
	}
	return s.slot(f).body
}

// Free ends the body of a frame, if it has one: a frame with padding remains.
func (s *Bodies) Free(f *Frame) {
	if f.HasBody() {
		slot := s.slot(f)
		slot.body.Type = 0
		s.free = append(s.free, uint32(f.Extension[0])-1)
		f.Extension[0] = 0
	}
}

// Held returns how many bodies there are.
func (s *Bodies) Held() int { return len(s.slots) - len(s.free) }

func (s *Bodies) slot(f *Frame) *bodySlot {
	slot := &s.slots[uint32(f.Extension[0])-1]
	if slot.uses != uint32(f.Extension[0]>>32) || slot.body.Type == 0 {
		panic("wire: a frame whose body has been freed")
	}
	return slot
}

// HasBody reports whether f is a data frame or a MAD with a body, or a packet with telemetry.
func (f *Frame) HasBody() bool {
	return f.Extension[0] != 0 && (1<<Data|1<<Management|1<<Ack)>>(f.Kind&31)&1 == 1 && (f.Kind != Ack || f.Telemetry() != NoTelemetry)
}
