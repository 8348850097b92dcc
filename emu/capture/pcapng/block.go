package pcapng

import "encoding/binary"

// The types of blocks.
const (
	sectionBlock    = 0x0A0D0D0A
	interfaceBlock  = 1
	simpleBlock     = 3
	namesBlock      = 4
	statisticsBlock = 5
	packetBlock     = 6
)

// byteOrder stands in each section header and tells how its numbers are written.
const byteOrder = 0x1A2B3C4D

// The options. What a code means depends on the block.
const (
	endOfOptions = 0
	comment      = 1 // all blocks

	sectionApplication = 4

	interfaceName        = 2
	interfaceDescription = 3
	interfaceSpeed       = 8
	interfaceResolution  = 9
	interfaceFilter      = 11
	interfaceFCS         = 13

	packetFlags = 2

	statisticsReceived = 4
	statisticsDropped  = 5
)

// Nanoseconds is the resolution of time stamps that this package writes, as the
// negative power of ten (if_tsresol).
const Nanoseconds = 9

// LinkType says how the packets of an interface begin (draft-ietf-opsawg-pcaplinktype).
type LinkType uint16

// The link types of fabrics, and those that others capture them with.
const (
	Ethernet    LinkType = 1   // a MAC frame
	Raw         LinkType = 101 // an IP packet
	LinuxCooked LinkType = 113 // what "tcpdump -i any" writes
	ERF         LinkType = 197 // an ERF record
	Cooked2     LinkType = 276 // what newer ones write
)

// Direction is where a packet went, as its interface saw it.
type Direction uint8

// The directions.
const (
	Unknown  Direction = 0
	Inbound  Direction = 1
	Outbound Direction = 2
)

func (d Direction) String() string {
	switch d {
	case Inbound:
		return "in"
	case Outbound:
		return "out"
	default:
		return ""
	}
}

// Section begins a capture.
type Section struct {
	Application string
	Comment     string
	// Room, if not zero, is how many bytes the comment has in the file: it is filled up
	// with spaces, or cut. Another of the same room can be written in its place.
	Room int
	More []string // more comments
}

// Interface is where packets were seen.
type Interface struct {
	Link        LinkType
	Snap        uint32 // how many bytes of a packet are kept, 0: all
	Name        string
	Description string
	Filter      string // what was captured, in words; empty: everything
	Comment     string
	Speed       uint64 // bits per second; 0: unknown
	FCS         int    // bytes of check sequence at the end of each packet; -1: unknown
}

// Packet is what an interface has seen.
type Packet struct {
	Interface int
	Time      int64 // nanoseconds since the epoch of the capture
	Length    int   // of the packet; Data may be less
	Data      []byte
	Direction Direction
	FCS       int // bytes of check sequence at its end, 0 to 15; 0: not said
	Comments  [][]byte
}

// Statistics are the figures of an interface at the end.
type Statistics struct {
	Interface int
	Time      int64  // nanoseconds
	Received  uint64 // packets that the interface saw
	Dropped   uint64 // of them, those that were not captured
	Comment   string
}

// AppendSection appends a section header block. The comment begins at b[at].
func AppendSection(b []byte, s Section) (_ []byte, at int) {
	b, start := begin(b, sectionBlock)
	b = binary.LittleEndian.AppendUint32(b, byteOrder)
	b = binary.LittleEndian.AppendUint32(b, 1)       // version 1.0
	b = binary.LittleEndian.AppendUint64(b, 1<<64-1) // the section ends with the file
	text := s.Comment
	if s.Room > 0 {
		text = Fill(text, s.Room)
	}
	at = len(b) + 4
	b = appendText(b, comment, text)
	for _, text := range s.More {
		b = appendText(b, comment, text)
	}
	b = appendText(b, sectionApplication, s.Application)
	return finish(b, start), at
}

// Fill returns text in exactly room bytes: spaces follow, or its end is missing.
func Fill(text string, room int) string {
	b := make([]byte, room)
	for i := copy(b, text); i < room; i++ {
		b[i] = ' '
	}
	return string(b)
}

// AppendInterface appends an interface description block. Interfaces are numbered
// from 0 in the order in which they stand in the file.
func AppendInterface(b []byte, i Interface) []byte {
	b, start := begin(b, interfaceBlock)
	b = binary.LittleEndian.AppendUint32(b, uint32(i.Link))
	b = binary.LittleEndian.AppendUint32(b, i.Snap)
	b = appendText(b, interfaceName, i.Name)
	b = appendText(b, interfaceDescription, i.Description)
	if i.Filter != "" {
		b = appendText(b, interfaceFilter, "\x00"+i.Filter)
	}
	b = appendText(b, comment, i.Comment)
	if i.Speed > 0 {
		b = binary.LittleEndian.AppendUint64(appendOption(b, interfaceSpeed, 8), i.Speed)
	}
	b = append(appendOption(b, interfaceResolution, 1), Nanoseconds, 0, 0, 0)
	if i.FCS >= 0 {
		b = append(appendOption(b, interfaceFCS, 1), byte(i.FCS), 0, 0, 0)
	}
	return finish(b, start)
}

// AppendPacket appends an enhanced packet block.
func AppendPacket(b []byte, p *Packet) []byte {
	b, start := begin(b, packetBlock)
	b = binary.LittleEndian.AppendUint32(b, uint32(p.Interface))
	b = binary.LittleEndian.AppendUint32(b, uint32(uint64(p.Time)>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(p.Time))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(p.Length))
	b = pad(append(b, p.Data...), len(p.Data))
	for _, c := range p.Comments {
		c = c[:min(len(c), maxText)]
		b = pad(append(appendOption(b, comment, uint16(len(c))), c...), len(c))
	}
	if flags := uint32(p.Direction) | uint32(p.FCS&15)<<5; flags != 0 {
		b = binary.LittleEndian.AppendUint32(appendOption(b, packetFlags, 4), flags)
	}
	return finish(b, start)
}

// AppendStatistics appends an interface statistics block.
func AppendStatistics(b []byte, s Statistics) []byte {
	b, start := begin(b, statisticsBlock)
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Interface))
	b = binary.LittleEndian.AppendUint32(b, uint32(uint64(s.Time)>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Time))
	b = appendText(b, comment, s.Comment)
	b = binary.LittleEndian.AppendUint64(appendOption(b, statisticsReceived, 8), s.Received)
	b = binary.LittleEndian.AppendUint64(appendOption(b, statisticsDropped, 8), s.Dropped)
	return finish(b, start)
}

// A Name is what an address of Ethernet is called.
type Name struct {
	MAC  uint64 // its 48 bits in the order of transmission, from the highest
	Text string
}

// nameOfMAC is the type of a record that names an address of 48 bits (nrb_record_eui48).
// Wireshark 4.0 skips it.
const nameOfMAC = 3

const macSize = 6

// AppendNames appends a name resolution block.
func AppendNames(b []byte, names []Name) []byte {
	b, start := begin(b, namesBlock)
	for _, n := range names {
		text := n.Text[:min(len(n.Text), maxText-macSize-1)]
		size := macSize + len(text) + 1
		b = binary.BigEndian.AppendUint16(appendOption(b, nameOfMAC, uint16(size)), uint16(n.MAC>>32))
		b = append(binary.BigEndian.AppendUint32(b, uint32(n.MAC)), text...)
		b = pad(append(b, 0), size)
	}
	b = append(b, 0, 0, 0, 0) // the end of the records
	return finish(b, start)
}

// begin appends the head of a block; finish writes its length, at both ends.
func begin(b []byte, kind uint32) (_ []byte, start int) {
	start = len(b)
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(b, 0, 0, 0, 0), start
}

func finish(b []byte, start int) []byte {
	b = append(b, 0, 0, 0, 0) // the end of the options
	n := uint32(len(b) - start + 4)
	binary.LittleEndian.PutUint32(b[start+4:], n)
	return binary.LittleEndian.AppendUint32(b, n)
}

// maxText is how long the value of an option can be.
const maxText = 1<<16 - 1

func appendOption(b []byte, code, n uint16) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	return binary.LittleEndian.AppendUint16(b, n)
}

// appendText appends an option that is a text; an empty one is left out.
func appendText(b []byte, code uint16, text string) []byte {
	if text == "" {
		return b
	}
	if len(text) > maxText {
		text = text[:maxText]
	}
	return pad(append(appendOption(b, code, uint16(len(text))), text...), len(text))
}

// pad fills n bytes up to a multiple of 4.
func pad(b []byte, n int) []byte {
	for ; n%4 != 0; n++ {
		b = append(b, 0)
	}
	return b
}
