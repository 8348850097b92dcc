package offload

import (
	"encoding/binary"
	"math/bits"
)

// Lengths of headers, in bytes, and the protocol of TCP (RFC 791, 8200, 9293; IEEE 802.3).
const (
	ethernetSize = 14
	ipv4Size     = 20 // without options
	ipv6Size     = 40
	tcpSize      = 20 // without options
	protocolTCP  = 6
)

// ipv4 is a packet of IPv4 that has a whole header.
type ipv4 []byte

func (b ipv4) headerLength() int { return int(b[0]&0xF) * 4 }
func (b ipv4) length() int       { return int(binary.BigEndian.Uint16(b[2:])) }
func (b ipv4) id() uint16        { return binary.BigEndian.Uint16(b[4:]) }
func (b ipv4) setID(id uint16)   { binary.BigEndian.PutUint16(b[4:], id) }

// fragment returns the flags "don't fragment" and "more fragments", and the offset of a fragment.
func (b ipv4) fragment() uint16 { return binary.BigEndian.Uint16(b[6:]) }

// dontFragment is a bit of fragment; the bits of wholePacket are 0 in a packet that is no fragment.
const (
	dontFragment = 0x4000
	wholePacket  = 0x3FFF
)

// tcpHeader is a segment of TCP that has a whole header.
type tcpHeader []byte

func (b tcpHeader) sequence() uint32     { return binary.BigEndian.Uint32(b[4:]) }
func (b tcpHeader) setSequence(n uint32) { binary.BigEndian.PutUint32(b[4:], n) }
func (b tcpHeader) dataOffset() int      { return int(b[12]>>4) * 4 }
func (b tcpHeader) flags() byte          { return b[tcpFlags] }
func (b tcpHeader) setChecksum(s uint16) { binary.BigEndian.PutUint16(b[tcpChecksum:], s) }

// Offsets in the header of TCP, and its flags.
const (
	tcpFlags    = 13
	tcpChecksum = 16

	flagFIN, flagPSH, flagACK, flagCWR = 0x01, 0x08, 0x10, 0x80
)

// IntactIPv4 reports whether the checksum of a header of IPv4, with its options, is right.
func IntactIPv4(header []byte) bool { return sumOf(header, 0) == 0xFFFF }

// sumOf returns the sum of RFC 1071 of b and a sum before it, without the final complement. An odd
// byte at the end counts as the high byte of a word. It adds words in the byte order of the
// machine, since the order of bytes in a sum is their order in the words (RFC 1071, 2 B).
func sumOf(b []byte, before uint16) uint16 {
	var sum, carry uint64
	for len(b) >= 64 {
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[0:8]), carry)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[8:16]), carry)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[16:24]), carry)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[24:32]), carry)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[32:40]), carry)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[40:48]), carry)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[48:56]), carry)
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b[56:64]), carry)
		b = b[64:]
	}
	for len(b) >= 8 {
		sum, carry = bits.Add64(sum, binary.NativeEndian.Uint64(b), carry)
		b = b[8:]
	}
	if len(b) >= 4 {
		sum, carry = bits.Add64(sum, uint64(binary.NativeEndian.Uint32(b)), carry)
		b = b[4:]
	}
	if len(b) >= 2 {
		sum, carry = bits.Add64(sum, uint64(binary.NativeEndian.Uint16(b)), carry)
		b = b[2:]
	}
	if len(b) == 1 {
		sum, carry = bits.Add64(sum, uint64(swapped(uint16(b[0])<<8)), carry)
	}
	sum, carry = bits.Add64(sum, uint64(swapped(before)), carry)
	sum, carry = bits.Add64(sum, 0, carry)
	sum += carry
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return swapped(uint16(sum))
}

// swapped changes a number between the byte order of the network and the machine's.
func swapped(n uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], n)
	return binary.NativeEndian.Uint16(b[:])
}
