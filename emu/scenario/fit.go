package scenario

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// BlocksOf returns the blocks of credit that a packet with a payload takes.
func BlocksOf(payload unit.Size) int {
	return (&wire.Frame{Kind: wire.Data, Payload: uint32(payload)}).Blocks()
}

// BlocksIn returns the blocks of a room for packets with a payload.
func BlocksIn(b unit.Room, payload unit.Size) int {
	if b.Packets > 0 {
		return b.Packets * BlocksOf(payload)
	}
	return int(b.Bytes / wire.BlockSize)
}
