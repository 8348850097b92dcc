package wire

import "encoding/binary"

// FCS returns the frame check sequence of the bytes of an Ethernet frame from the
// first of the destination address to the last in front of it (IEEE 802.3, 3.2.9):
// the CRC-32 that starts at all ones and is inverted at the end. It stands last, the
// low byte first.
func FCS(p []byte) uint32 { return ^icrc.update(0xFFFFFFFF, p) }

// appendFCS ends the frame that starts at b[start] with the FCS. All behind its first head
// bytes is zeros.
func appendFCS(b []byte, start, head int) []byte {
	return binary.LittleEndian.AppendUint32(b, ^icrc.around(0xFFFFFFFF, b[start:], head, 0, true))
}
