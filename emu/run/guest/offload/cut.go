package offload

import (
	"encoding/binary"
	"fmt"
)

// Cutter cuts the large segments of a guest's kernel into packets.
type Cutter struct {
	Ethernet bool // packets begin with a header of Ethernet

	packet []byte // without the header of virtual networks; empty: there is none
	at     offsets
	size   int // payload of a packet; 0: the packet is whole
	next   int // offset of the next payload
	count  int // packets so far
}

// Cut begins with b, a packet behind a header of virtual networks. The Cutter keeps b until Next
// returns 0. The error is about a header that cannot be.
func (c *Cutter) Cut(b []byte) error {
	c.packet = nil
	if len(b) <= HeaderSize {
		return fmt.Errorf("a packet of %d bytes has no room for its header of virtual networks", len(b))
	}
	v, p := b[:HeaderSize], b[HeaderSize:]
	begin, at := int(order.Uint16(v[atBegin:])), int(order.Uint16(v[atPlace:]))
	kind := v[atKind] &^ segmentECN
	switch {
	case kind != segmentNone:
		return c.large(p, kind, begin, int(order.Uint16(v[atSize:])))
	case v[atFlags]&needsChecksum == 0:
	case begin+at+2 > len(p):
		return fmt.Errorf("the checksum is at %d+%d of %d bytes", begin, at, len(p))
	default:
		sum := ^sumOf(p[begin:], 0)
		if sum == 0 && at == udpChecksum {
			sum = 0xFFFF // 0 would be none (RFC 768)
		}
		binary.BigEndian.PutUint16(p[begin+at:], sum)
	}
	c.packet, c.size = p, 0
	return nil
}

// udpChecksum is the place of the checksum in the header of UDP.
const udpChecksum = 6

// large begins with a large segment of TCP, whose header is at an offset.
func (c *Cutter) large(p []byte, kind byte, tcp, size int) error {
	l := offsets{ip: ipOf(p, c.Ethernet), tcp: tcp, v6: kind == segmentTCPv6}
	least := ipv4Size
	if l.v6 {
		least = ipv6Size
	}
	switch {
	case kind != segmentTCPv4 && kind != segmentTCPv6:
		return fmt.Errorf("large segments of kind %d are unknown", kind)
	case size == 0:
		return fmt.Errorf("a large segment has packets of 0 bytes")
	case tcp < l.ip+least || len(p) < tcp+tcpSize, !l.v6 && ipv4(p[l.ip:]).headerLength() > tcp-l.ip:
		return fmt.Errorf("a large segment of %d bytes has its header of TCP at %d", len(p), tcp)
	}
	if l.data = tcp + tcpHeader(p[tcp:]).dataOffset(); l.data < tcp+tcpSize || l.data >= len(p) {
		return fmt.Errorf("a large segment of %d bytes has its payload at %d", len(p), l.data)
	}
	c.packet, c.at, c.size, c.next, c.count = p, l, size, l.data, 0
	return nil
}

// Next writes the next packet into b, and returns its length; 0: there is none. It cuts off the end
// of a packet that is longer than b.
func (c *Cutter) Next(b []byte) int {
	p, l := c.packet, &c.at
	if len(p) == 0 {
		return 0
	}
	if c.size == 0 || len(b) < l.data {
		c.packet = nil
		return copy(b, p)
	}
	end := min(c.next+c.size, len(p))
	n := copy(b, p[:l.data])
	b = b[:n+copy(b[n:], p[c.next:end])]
	if !l.v6 {
		ip := ipv4(b[l.ip:])
		ip.setID(ip.id() + uint16(c.count))
	}
	l.setLength(b)
	tcp := tcpHeader(b[l.tcp:])
	tcp.setSequence(tcp.sequence() + uint32(c.next-l.data))
	flags := tcp.flags()
	if c.count > 0 {
		flags &^= flagCWR
	}
	if end < len(p) {
		flags &^= flagPSH | flagFIN
		c.next, c.count = end, c.count+1
	} else {
		c.packet = nil
	}
	tcp[tcpFlags] = flags
	tcp.setChecksum(0)
	tcp.setChecksum(^sumOf(tcp, l.pseudo(b)))
	return len(b)
}
