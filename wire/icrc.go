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

// GlobalICRC is ICRC of a packet with global routing (LNH 3), which must have LRH,
// GRH and BTH at least: all of the LRH counts as ones, and of the GRH the traffic
// class, the flow label and the hop limit.
func GlobalICRC(p []byte) uint32 { return RoCEICRC(p[LRHSize:]) }

// RoCEICRC is ICRC of a packet on Ethernet, of its bytes from the first of the
// network header on: a GRH, or IPv4 or IPv6 and UDP. Eight bytes of ones stand for
// the LRH that it has not; in the network header all that a router may change, and
// the checksum of UDP, count as ones. What is no such packet has the ICRC 0.
func RoCEICRC(p []byte) uint32 {
	n, err := networkSize(p)
	if err != nil || len(p) < n+BTHSize {
		return 0
	}
	return ^icrc.update(icrcHead(p, n), p[n+BTHSize:])
}

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
	if n != GRHSize {
		masked[n-2], masked[n-1] = ones, ones
	}
	masked[n+4] = ones
	return icrc.update(onesLRH, masked)
}
