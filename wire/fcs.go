package wire

import "encoding/binary"

// FCS returns the frame check sequence of the bytes of an Ethernet frame from the
// first of the destination address to the last in front of it (IEEE 802.3, 3.2.9):
// the CRC-32 that starts at all ones and is inverted at the end. It stands last, the
// low byte first.
func FCS(p []byte) uint32 { return ^icrc.update(0xFFFFFFFF, p) }

// fcsOf is FCS; what is between the first head bytes and the last tail is known to be zeros
// if padding says so.
func fcsOf(p []byte, head, tail int, padding bool) uint32 {
	if !padding {
		return FCS(p)
	}
	return ^icrc.update(icrc.padding(icrc.update(0xFFFFFFFF, p[:head]), len(p)-head-tail), p[len(p)-tail:])
}

// appendFCS ends the frame that starts at b[start] with the FCS. What is between its first
// head bytes and its last tail is zeros.
func appendFCS(b []byte, start, head, tail int) []byte {
	return binary.LittleEndian.AppendUint32(b, fcsOf(b[start:], head, tail, true))
}
