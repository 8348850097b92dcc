package pcapng

import "encoding/binary"

// The types of blocks.
const (
	sectionBlock    = 0x0A0D0D0A
	interfaceBlock  = 1
	obsoleteBlock   = 2 // a packet, before packetBlock was defined
	simpleBlock     = 3
	namesBlock      = 4
	statisticsBlock = 5
	packetBlock     = 6
)

// byteOrder is in each section header and shows the order of the bytes in its numbers.
const byteOrder = 0x1A2B3C4D

// GuestComment is the form of the comment of a guest's frame in the capture of a run: what its
// bytes do not say.
const GuestComment = "guest: flow %d, psn %d, lane %d, payload %d, from %d to %d"

// ByPacket is the comment of the section of a run in which frames of a flow may take several paths
// at a time.
const ByPacket = "paths by packet"

// The options. The meaning of a code depends on the block.
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

	packetFlags   = 2
	packetDropped = 4

	statisticsReceived = 4
	statisticsDropped  = 5
)

// Nanoseconds is the resolution of time stamps that this package writes, as the
// negative power of ten (if_tsresol).
const Nanoseconds = 9

// LinkType is the first header of the packets of an interface (draft-ietf-opsawg-pcaplinktype).
type LinkType uint16

// The link types of fabrics, and those that others capture them with.
const (
	Ethernet    LinkType = 1   // a MAC frame
	Raw         LinkType = 101 // an IP packet
	LinuxCooked LinkType = 113 // written by "tcpdump -i any"
	ERF         LinkType = 197 // an ERF record
	InfiniBand  LinkType = 247 // a packet of InfiniBand from its LRH on
	Cooked2     LinkType = 276 // written by its newer versions
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

// LinkErrors are the errors of a packet on its link, as its interface saw them: the upper half of
// the flags of a packet.
type LinkErrors uint16

// The errors that a fabric has.
const (
	CRCError       LinkErrors = 1 << 8  // the check sequence is wrong
	DelimiterError LinkErrors = 1 << 13 // the beginning of the frame was not found
)

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
	Filter      string // the names of the captured objects; empty: everything
	Comment     string
	Speed       uint64 // bits per second; 0: unknown
	FCS         int    // bytes of check sequence at the end of each packet; -1: unknown
}

// Packet is a packet that an interface has seen.
type Packet struct {
	Interface int
	Time      int64 // nanoseconds since the epoch of the capture
	Length    int   // of the packet; Data may be less
	Data      []byte
	Direction Direction
	FCS       int // bytes of check sequence at its end, 0 to 15; 0: unknown
	Errors    LinkErrors
	Missing   uint64 // packets that were not captured between the one before of the interface and this one; it is only read
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
	b = words(b, byteOrder, 1, 1<<32-1, 1<<32-1) // version 1.0; the section ends with the file
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
// from 0 in the order in which they are in the file.
func AppendInterface(b []byte, i Interface) []byte {
	b, start := begin(b, interfaceBlock)
	b = words(b, uint32(i.Link), i.Snap)
	b = appendText(b, interfaceName, i.Name)
	b = appendText(b, interfaceDescription, i.Description)
	if i.Filter != "" {
		b = appendText(b, interfaceFilter, "\x00"+i.Filter)
	}
	b = appendText(b, comment, i.Comment)
	if i.Speed > 0 {
		b = appendNumber(b, interfaceSpeed, i.Speed)
	}
	b = words(b, interfaceResolution|1<<16, Nanoseconds) // of one byte
	if i.FCS >= 0 {
		b = words(b, interfaceFCS|1<<16, uint32(i.FCS))
	}
	return finish(b, start)
}

// AppendPacket appends an enhanced packet block.
func AppendPacket(b []byte, p *Packet) []byte {
	b, start := begin(b, packetBlock)
	b = words(b, uint32(p.Interface), uint32(uint64(p.Time)>>32), uint32(p.Time), uint32(len(p.Data)), uint32(p.Length))
	b = pad(append(b, p.Data...), len(p.Data))
	for _, c := range p.Comments {
		b = appendOption(b, comment, c)
	}
	if flags := uint32(p.Direction) | uint32(p.FCS&15)<<5 | uint32(p.Errors)<<16; flags != 0 {
		b = words(b, packetFlags|4<<16, flags)
	}
	return finish(b, start)
}

// AppendStatistics appends an interface statistics block.
func AppendStatistics(b []byte, s Statistics) []byte {
	b, start := begin(b, statisticsBlock)
	b = words(b, uint32(s.Interface), uint32(uint64(s.Time)>>32), uint32(s.Time))
	b = appendText(b, comment, s.Comment)
	b = appendNumber(b, statisticsReceived, s.Received)
	b = appendNumber(b, statisticsDropped, s.Dropped)
	return finish(b, start)
}

// A Name is the name of an Ethernet address.
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
		mac := binary.BigEndian.AppendUint64(nil, n.MAC)[8-macSize:]
		text := n.Text[:min(len(n.Text), maxText-macSize-1)]
		b = appendOption(b, nameOfMAC, string(mac)+text+"\x00")
	}
	b = words(b, 0) // the end of the records
	return finish(b, start)
}

// begin appends the head of a block; finish writes its length, at both ends.
func begin(b []byte, kind uint32) (_ []byte, start int) {
	start = len(b)
	return words(b, kind, 0), start
}

func finish(b []byte, start int) []byte {
	b = words(b, endOfOptions)
	n := uint32(len(b) - start + 4)
	binary.LittleEndian.PutUint32(b[start+4:], n)
	return words(b, n)
}

// words appends numbers of four bytes.
func words(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// maxText is how long the value of an option can be.
const maxText = 1<<16 - 1

// appendOption appends an option: its code and its length, a word together, and its value.
func appendOption[T string | []byte](b []byte, code uint32, value T) []byte {
	n := min(len(value), maxText)
	return pad(append(words(b, code|uint32(n)<<16), value[:n]...), n)
}

// appendText appends an option that is a text; an empty one is left out.
func appendText(b []byte, code uint32, text string) []byte {
	if text == "" {
		return b
	}
	return appendOption(b, code, text)
}

// appendNumber appends an option that is a number of eight bytes.
func appendNumber(b []byte, code uint32, v uint64) []byte {
	return words(b, code|8<<16, uint32(v), uint32(v>>32))
}

// pad fills n bytes up to a multiple of 4.
func pad(b []byte, n int) []byte {
	for ; n%4 != 0; n++ {
		b = append(b, 0)
	}
	return b
}
