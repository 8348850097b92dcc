package wire

// FCS returns the frame check sequence of the bytes of an Ethernet frame from the
// first of the destination address to the last in front of it (IEEE 802.3, 3.2.9):
// the CRC-32 that starts at all ones and is inverted at the end. It stands last, the
// low byte first.
func FCS(p []byte) uint32 { return ^icrc.update(0xFFFFFFFF, p) }

// fcsOf is FCS; all behind the first head bytes is zeros if padding says so.
func fcsOf(p []byte, head int, padding bool) uint32 {
	if !padding {
		return FCS(p)
	}
	return ^icrc.padding(icrc.update(0xFFFFFFFF, p[:head]), len(p)-head)
}
