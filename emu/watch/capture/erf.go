package capture

import (
	"encoding/binary"

	"fabemu/wire"
	"fabemu/wire/fault"
)

// The types of ERF records (Endace's extensible record format) for InfiniBand.
const (
	erfInfiniBand = 21 // a packet from its LRH on
	erfLink       = 25 // a flow control packet
)

const (
	erfHeaderSize = 16
	// erfVarying is the flag of records that have the length of their packets.
	erfVarying = 1 << 2
	erfError   = 1 << 4 // the flag of records whose packet has an error
	// linkSize is the size of the record of a flow control packet, without the header:
	// Wireshark looks for the headers of a packet in it, and finds zeros.
	linkSize = 64
)

// appendERF appends the header of an ERF record: time in ns, type, the fate of the packet on its
// link, the size of the record without this header, and of the packet on the wire.
func appendERF(b []byte, ns int64, kind byte, fate fault.Fate, size, wire int) []byte {
	seconds, rest := uint64(ns/1e9), uint64(ns%1e9)
	b = binary.LittleEndian.AppendUint64(b, seconds<<32|(rest<<32+5e8)/1e9)
	flags := byte(erfVarying)
	if fate != fault.Carried {
		flags |= erfError
	}
	b = append(b, kind, flags)
	b = binary.BigEndian.AppendUint16(b, uint16(erfHeaderSize+size))
	b = append(b, 0, 0) // records lost before this one
	return binary.BigEndian.AppendUint16(b, uint16(wire))
}

// record appends a frame as in its link type, a data frame cut to snap bytes unless snap
// is 0, and returns the length that it would have had uncut. The last check sequence of a corrupted
// frame is wrong.
func (c *Capture) record(b []byte, f *wire.Frame, body wire.Body, fate fault.Fate, ns int64) (_ []byte, length int) {
	c.frame = f.AppendBody(c.frame[:0], body)
	kept, size := c.frame, len(c.frame)
	if fate == fault.Corrupted {
		kept[size-1] ^= 0xFF
	}
	if f.Kind == wire.FlowControl {
		size = linkSize
		kept = append(kept, zeros[:linkSize-len(kept)]...)
	}
	if c.options.Snap > 0 && f.Kind.Traffic() && f.Payload > 0 {
		snap := c.options.Snap
		switch {
		case f.Kind == wire.TCP: // all of its headers
			snap = max(snap, size-int(f.Payload)-wire.FCSSize)
		case f.Family == wire.RoCEv2:
			snap = max(snap, size-int(f.Payload)-wire.ICRCSize-wire.FCSSize)
		}
		kept = kept[:min(len(kept), snap)]
	}
	switch f.Delimiter() {
	case wire.DataPacket:
		b = appendERF(b, ns, erfInfiniBand, fate, len(kept), size)
		size += erfHeaderSize
	case wire.LinkPacket:
		b = appendERF(b, ns, erfLink, fate, len(kept), size)
		size += erfHeaderSize
	}
	return append(b, kept...), size
}

var zeros [linkSize]byte
