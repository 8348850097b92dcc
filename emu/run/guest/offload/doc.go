// Package offload does for guests the tasks of a network card: it cuts large segments of TCP into
// packets and completes their checksums (Cutter), and joins packets of a connection into large
// segments (Joiner). So one system call moves many packets, and the fabric carries the packets of
// the wire, with whole checksums. It is pure: it has no clock and no device.
//
// A packet comes from a device, and goes into one, behind the header of virtual networks (VIRTIO
// 1.2, 5.1.6, in the form of Linux's TUN devices: 10 bytes in the byte order of the machine).
//
// # Limitations
//
// Only TCP is cut and joined: the kernel hands over datagrams of UDP one by one.
package offload

import "encoding/binary"

// HeaderSize is the length of the header of virtual networks, in bytes.
const HeaderSize = 10

// MaxSize is the greatest length of a packet behind that header, in bytes: of IP, behind a header
// of Ethernet with a tag.
const MaxSize = HeaderSize + ethernetSize + 4 + 1<<16 - 1

// Values in the header of virtual networks (VIRTIO 1.2, 5.1.6).
const (
	needsChecksum = 1 // flags: the checksum holds only the sum of the pseudo-header
	segmentNone   = 0 // kinds of segments
	segmentTCPv4  = 1
	segmentTCPv6  = 4
	segmentECN    = 0x80 // in addition to TCP: CWR belongs to the first packet
)

// Offsets in that header: flags, kind of segment, length of all headers, payload of a packet,
// and the checksum: where its bytes begin, and its place from there.
const (
	atFlags, atKind, atHeaders, atSize, atBegin, atPlace = 0, 1, 2, 4, 6, 8
)

// order is the byte order of that header.
var order = binary.NativeEndian

// offsets are where the headers begin, in the bytes of a packet of TCP.
type offsets struct {
	ip, tcp, data int // data is the offset of the payload
	v6            bool
}

// ipOf returns the offset of the header of IP: 0, or behind the header of Ethernet and its tag. It
// may lie behind the end of the packet.
func ipOf(p []byte, ethernet bool) int {
	switch {
	case !ethernet:
		return 0
	case len(p) > ethernetSize && binary.BigEndian.Uint16(p[12:]) == tagged:
		return ethernetSize + 4
	default:
		return ethernetSize
	}
}

// tagged is the EtherType of a tag (IEEE 802.1Q).
const tagged = 0x8100

// addresses returns the addresses of both ends, one behind the other.
func (l *offsets) addresses(p []byte) []byte {
	if l.v6 {
		return p[l.ip+8 : l.ip+ipv6Size]
	}
	return p[l.ip+12 : l.ip+ipv4Size]
}

// pseudo returns the sum of the pseudo-header of a segment (RFC 9293, 3.1).
func (l *offsets) pseudo(p []byte) uint16 {
	sum := sumOf(l.addresses(p), protocolTCP)
	with := uint32(sum) + uint32(len(p)-l.tcp)
	return uint16(with + with>>16)
}

// setLength writes the length of a packet into its header of IP, and the checksum of that header.
func (l *offsets) setLength(p []byte) {
	if l.v6 {
		binary.BigEndian.PutUint16(p[l.ip+4:], uint16(len(p)-l.ip-ipv6Size))
		return
	}
	ip := p[l.ip:l.tcp]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(p)-l.ip))
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], ^sumOf(ip, 0))
}
