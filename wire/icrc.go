package wire

import "encoding/binary"

// icrc is the CRC-32 of Ethernet: polynomial 0x04C11DB7, reflected. The tables
// are our own because hash/crc32 sends the masked copy of the header to the
// heap.
var icrc = newCRC(0xEDB88320)

// ICRC returns the invariant CRC of a packet with local routing (LNH 2): of its
// bytes from the first of the LRH to the last of the payload and its pad, which
// must be HeaderSize at least. It is the CRC-32 of Ethernet over these bytes
// with all that a switch may change set to ones: the VL and the byte of the BTH
// with FECN and BECN. So a mark on the way leaves it as it is. It stands behind
// the payload, the low byte first.
func ICRC(p []byte) uint32 { return icrcOf(p, false) }

// icrcOf is ICRC; what follows the BTH is known to be zeros if padding says so.
func icrcOf(p []byte, padding bool) uint32 {
	const (
		vl   = 0xF0       // in the first byte
		mark = 0xFF << 32 // in byte 12, the fifth of the second eight
	)
	s := icrc.step8(0xFFFFFFFF, binary.LittleEndian.Uint64(p)|vl)
	s = icrc.step8(s, binary.LittleEndian.Uint64(p[8:])|mark)
	s = icrc.step4(s, binary.LittleEndian.Uint32(p[16:]))
	if padding {
		return ^icrc.padding(s, len(p)-HeaderSize)
	}
	return ^icrc.update(s, p[HeaderSize:])
}
