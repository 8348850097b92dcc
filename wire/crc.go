package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// crcTable holds the tables of one reflected CRC of at most 32 bits. The state is the content
// of the shift register: the caller sets the initial value and inverts the result.
type crcTable struct {
	after [8][256]uint32         // after[n][v] is the state after byte v and n zero bytes, from state 0
	few   [zeroStep / 4]operator // few[n] is 4*n zero bytes
	many  [zeroSteps]operator    // many[n] is n*zeroStep zero bytes
}

// The run of zeros that is taken in two steps has fewer than zeroStep*zeroSteps bytes, and no frame
// has so many.
const zeroStep, zeroSteps = 128, 80

// operator takes a state to the one behind some zero bytes. A CRC is linear: the states behind the
// parts of a state add up. The parts are its eight nibbles.
type operator [8][16]uint32

// of returns the state behind the zero bytes.
func (m *operator) of(s uint32) uint32 {
	return m[0][s&15] ^ m[1][s>>4&15] ^ m[2][s>>8&15] ^ m[3][s>>12&15] ^
		m[4][s>>16&15] ^ m[5][s>>20&15] ^ m[6][s>>24&15] ^ m[7][s>>28]
}

// behind returns the operator of the zero bytes of m and of further ones.
func (m *operator) behind(further func(s uint32) uint32) (longer operator) {
	for i := range m {
		for v, s := range m[i] {
			if low := v & -v; low == v {
				longer[i][v] = further(s)
			} else {
				longer[i][v] = longer[i][low] ^ longer[i][v^low]
			}
		}
	}
	return longer
}

// icrc is the CRC-32 of Ethernet: polynomial 0x04C11DB7, reflected. Package hash/crc32 is faster
// where a payload has content, but it sends the masked copy of a header to the heap.
var icrc = newCRC(crc32.IEEE)

// vcrc is the CRC-16 of InfiniBand: polynomial 0x100B, reflected.
var vcrc = newCRC(0xD008)

// newCRC computes the tables of a reflected polynomial.
func newCRC(poly uint32) *crcTable {
	t := new(crcTable)
	for v := range uint32(256) {
		s := v
		for range 8 {
			s = s>>1 ^ poly&-(s&1)
		}
		t.after[0][v] = s
	}
	one := func(s uint32) uint32 { return s>>8 ^ t.after[0][byte(s)] }
	for n := range 7 {
		for v, s := range t.after[n] {
			t.after[n+1][v] = one(s)
		}
	}
	for i := range t.few[0] {
		for v := range uint32(16) {
			t.few[0][i][v] = v << (4 * i)
		}
	}
	four := func(s uint32) uint32 { return one(one(one(one(s)))) }
	for n := range len(t.few) - 1 {
		t.few[n+1] = t.few[n].behind(four)
	}
	step := t.few[len(t.few)-1].behind(four)
	t.many[0] = t.few[0]
	for n := range zeroSteps - 1 {
		t.many[n+1] = t.many[n].behind(step.of)
	}
	return t
}

// update returns the state after the bytes of p.
func (t *crcTable) update(s uint32, p []byte) uint32 {
	for ; len(p) >= 8; p = p[8:] {
		x := binary.LittleEndian.Uint64(p) ^ uint64(s)
		s = t.after[7][byte(x)] ^ t.after[6][byte(x>>8)] ^ t.after[5][byte(x>>16)] ^ t.after[4][byte(x>>24)] ^
			t.after[3][byte(x>>32)] ^ t.after[2][byte(x>>40)] ^ t.after[1][byte(x>>48)] ^ t.after[0][byte(x>>56)]
	}
	if len(p) >= 4 {
		x := binary.LittleEndian.Uint32(p) ^ s
		s = t.after[3][byte(x)] ^ t.after[2][byte(x>>8)] ^ t.after[1][byte(x>>16)] ^ t.after[0][byte(x>>24)]
		p = p[4:]
	}
	for _, v := range p {
		s = s>>8 ^ t.after[0][byte(s)^v]
	}
	return s
}

// padding returns the state after n zero bytes: the payload of nearly every data packet is such a
// run.
func (t *crcTable) padding(s uint32, n int) uint32 {
	for ; n >= zeroStep*zeroSteps; n -= zeroStep {
		s = t.many[1].of(s)
	}
	s = t.few[n%zeroStep/4].of(t.many[n/zeroStep].of(s))
	for range n % 4 {
		s = s>>8 ^ t.after[0][byte(s)]
	}
	return s
}

// FCS returns the frame check sequence of the bytes of an Ethernet frame from the
// first of the destination address to the last in front of it (IEEE 802.3, 3.2.9):
// the CRC-32 that starts at all ones and is inverted at the end. It is last, the
// low byte first.
func FCS(p []byte) uint32 {
	const head, tail = 96, ICRCSize // no headers are longer, and behind the payload there is an ICRC at most
	if end := len(p) - tail; end >= 4*head && allZero(p[head:end]) {
		return ^icrc.update(icrc.padding(^crc32.ChecksumIEEE(p[:head]), end-head), p[end:])
	}
	return crc32.ChecksumIEEE(p)
}

// VCRC returns the variant CRC of the bytes of a packet from the first of the
// LRH to the last of the ICRC: the CRC-16 with polynomial 0x100B, reflected,
// that starts at FFFF and is inverted at the end. It is behind the ICRC, the
// low byte first. A switch that changes a packet computes it again.
//
// The LPCRC of a flow control packet is the same function of its first four
// bytes.
func VCRC(p []byte) uint16 { return ^uint16(vcrc.update(0xFFFF, p)) }

// vcrcOf returns the VCRC of a packet that this package has built. If padding is true, all bytes
// between its BTH and its ICRC are zeros, which are then not read one by one.
func vcrcOf(p []byte, padding bool) uint16 {
	if !padding {
		return VCRC(p)
	}
	end := len(p) - ICRCSize
	s := vcrc.padding(vcrc.update(0xFFFF, p[:HeaderSize]), end-HeaderSize)
	return ^uint16(vcrc.update(s, p[end:]))
}

// ICRC returns the invariant CRC of a packet with local routing (LNH 2): of its
// bytes from the first of the LRH to the last of the payload and its pad, which
// must be HeaderSize at least. It is the CRC-32 of Ethernet over these bytes
// with all that a switch may change set to ones: the VL and the byte of the BTH
// with FECN and BECN. So a mark on the path leaves it as it is. It is behind
// the payload, the low byte first.
func ICRC(p []byte) uint32 { return icrcOf(p, false) }

// icrcOf returns the ICRC of a packet. If padding is true, all bytes behind the BTH are zeros,
// which are then not read one by one.
func icrcOf(p []byte, padding bool) uint32 {
	head := [HeaderSize]byte(p)
	head[0] |= 0xF0
	head[LRHSize+4] = 0xFF
	return behindHead(icrc.update(0xFFFFFFFF, head[:]), p[HeaderSize:], padding)
}

// behindHead returns the ICRC from the state behind the headers of a packet, and from its payload,
// which is zeros if padding is true.
func behindHead(s uint32, payload []byte, padding bool) uint32 {
	if padding {
		return ^icrc.padding(s, len(payload))
	}
	return crc32.Update(^s, crc32.IEEETable, payload)
}

// GlobalICRC returns the invariant CRC of a packet with global routing (LNH 3), which must have at
// least LRH, GRH and BTH. Unlike ICRC, it counts all of the LRH as ones, and in the GRH the traffic
// class, the flow label and the hop limit.
func GlobalICRC(p []byte) uint32 { return RoCEICRC(p[LRHSize:]) }

// RoCEICRC returns the invariant CRC of a packet on Ethernet. p begins at the network header: a
// GRH, or IPv4 or IPv6 followed by UDP. There is no LRH, so eight bytes of ones take its place. In
// the network header all fields that a router may change count as ones, and so does the checksum of
// UDP. For any other bytes it returns 0.
func RoCEICRC(p []byte) uint32 {
	n, least := IPv6Size, IPv4Size
	switch {
	case len(p) < IPv4Size:
		return 0
	case p[0]>>4 == 4 && p[9] == protocolUDP:
		n = int(p[0]&0xF)*4 + UDPSize
		least += UDPSize
	case p[0]>>4 == 6 && p[6] == protocolUDP:
		n += UDPSize
	case p[0]>>4 != 6 || p[6] != protocolBTH:
		return 0
	}
	if n < least || len(p) < n+BTHSize {
		return 0
	}
	return behindHead(icrcHead(p, n), p[n+BTHSize:], false)
}

// protocolBTH is the next header of a GRH that a BTH follows.
const protocolBTH = 0x1B

// onesLRH is the state of the CRC behind the eight bytes of ones that stand for an LRH.
const onesLRH = 0xDEBB20E3

// icrcHead returns the state behind the BTH of a packet whose network header, with UDP, has n
// bytes.
func icrcHead(p []byte, n int) uint32 {
	const ones = 0xFF
	var head [60 + UDPSize + BTHSize]byte
	masked := head[:copy(head[:n+BTHSize], p)]
	if p[0]>>4 == 4 {
		masked[1], masked[8], masked[10], masked[11] = ones, ones, ones, ones
	} else {
		masked[0] |= 0x0F
		masked[1], masked[2], masked[3], masked[7] = ones, ones, ones, ones
	}
	if p[0]>>4 == 4 || n != IPv6Size { // the header in front of the BTH is one of UDP
		masked[n-2], masked[n-1] = ones, ones
	}
	masked[n+4] = ones
	return icrc.update(onesLRH, masked)
}

// allZero reports whether p has no byte but zeros.
func allZero(p []byte) bool {
	for ; len(p) > len(zeros); p = p[len(zeros):] {
		if !bytes.Equal(p[:len(zeros)], zeros[:]) {
			return false
		}
	}
	return bytes.Equal(p, zeros[:len(p)])
}

// zeros are the bytes that padding is compared with.
var zeros [4096]byte
