package subnet

// Sizes and offsets of messages, for tests.
const (
	PacketSize, ControlSize = packetSize, controlSize
	AtMAD                   = atMAD
)
