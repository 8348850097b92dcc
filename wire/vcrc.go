package wire

import (
	"encoding/binary"
	"math/bits"
)

// vcrc is the CRC-16 of InfiniBand: polynomial 0x100B, reflected.
var vcrc = newCRC(0xD008)

// VCRC returns the variant CRC of the bytes of a packet from the first of the
// LRH to the last of the ICRC: the CRC-16 with polynomial 0x100B, reflected,
// that starts at FFFF and is inverted at the end. It stands behind the ICRC, the
// low byte first. A switch that changes a packet computes it anew.
//
// The LPCRC of a flow control packet is the same function of its first four
// bytes.
func VCRC(p []byte) uint16 { return ^uint16(vcrc.update(0xFFFF, p)) }

// lpcrc is VCRC of the first four bytes of a flow control packet, as a word whose high byte comes first.
func lpcrc(w uint32) uint16 { return ^uint16(vcrc.step4(0xFFFF, bits.ReverseBytes32(w))) }

// packetVCRC is VCRC of a packet whose last two bytes are the VCRC itself. The
// body, all that is between BTH and ICRC, is known to be zeros if padding says
// so.
func packetVCRC(packet []byte, padding bool) uint16 {
	icrc := len(packet) - VCRCSize - ICRCSize
	s := vcrc.step8(0xFFFF, binary.LittleEndian.Uint64(packet))
	s = vcrc.step8(s, binary.LittleEndian.Uint64(packet[8:]))
	s = vcrc.step4(s, binary.LittleEndian.Uint32(packet[16:]))
	if padding {
		s = vcrc.padding(s, icrc-HeaderSize)
	} else {
		s = vcrc.update(s, packet[HeaderSize:icrc])
	}
	return ^uint16(vcrc.step4(s, binary.LittleEndian.Uint32(packet[icrc:])))
}
