package pcapng

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// maxBlock is the longest block that a Reader takes.
const maxBlock = 16 << 20

// maxInterfaces is how many interfaces a section may have for a Reader.
const maxInterfaces = 1 << 16

// Error is a mistake in a file, with its place.
type Error struct {
	Offset int64 // of the block, from the start of the file
	What   string
}

func (e *Error) Error() string { return fmt.Sprintf("capture: at byte %d: %s", e.Offset, e.What) }

// Reader reads a capture file. Its fields hold the parts of the section that have been read so
// far.
type Reader struct {
	Section    int      // how many have begun, in pcapng
	Program    string   // that has written the section (shb_userappl); empty: unknown
	Comments   []string // of the section
	Interfaces []Interface
	Statistics []Statistics
	Names      []Name

	in     *bufio.Reader
	order  binary.ByteOrder
	ng     bool
	nano   bool  // pcap: the fraction of a second is in nanoseconds
	at     int64 // offset of the next block
	start  int64 // offset of the current block
	units  []unit
	block  []byte
	packet Packet
}

// unit converts the time stamps of an interface to nanoseconds: to the second,
// and the offset that is added.
type unit struct {
	perSecond uint64
	offset    int64 // seconds
}

// NewReader begins to read a capture. An error that is no *Error comes from r.
func NewReader(r io.Reader) (*Reader, error) {
	p := &Reader{in: bufio.NewReaderSize(r, 1<<16)}
	magic, err := p.in.Peek(4)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, p.fail("the file is shorter than any capture")
		}
		return nil, err
	}
	switch m := binary.LittleEndian.Uint32(magic); m {
	case sectionBlock:
		p.ng = true
		return p, nil
	case 0xA1B2C3D4, 0xA1B23C4D:
		p.order, p.nano = binary.LittleEndian, m == 0xA1B23C4D
	case 0xD4C3B2A1, 0x4D3CB2A1:
		p.order, p.nano = binary.BigEndian, m == 0x4D3CB2A1
	default:
		return nil, p.fail("this is neither pcapng nor pcap")
	}
	head, err := p.bytes(24)
	if err != nil {
		return nil, err
	}
	p.Interfaces = []Interface{{Link: LinkType(p.order.Uint32(head[20:]) & 0xFFFF),
		Snap: p.order.Uint32(head[16:]), FCS: -1}}
	return p, nil
}

func (r *Reader) fail(format string, args ...any) error {
	return &Error{r.start, fmt.Sprintf(format, args...)}
}

// bytes reads n bytes, which are valid until the next call.
func (r *Reader) bytes(n int) ([]byte, error) {
	if cap(r.block) < n {
		// A length is only believed as far as bytes come: a file that lies about it must
		// not make us allocate.
		r.block = make([]byte, 0, min(n, 1<<16))
	}
	r.block = r.block[:0]
	for len(r.block) < n {
		step := min(n-len(r.block), 1<<16)
		from := len(r.block)
		r.block = append(r.block, make([]byte, step)...)
		k, err := io.ReadFull(r.in, r.block[from:])
		r.at += int64(k)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, r.fail("the file ends in the middle: %d of %d bytes are there", from+k, n)
			}
			return nil, err
		}
	}
	return r.block, nil
}

// Offset returns where in the file the last packet's block begins.
func (r *Reader) Offset() int64 { return r.start }

// Next returns the next packet, which is valid until the next call, or io.EOF.
// An error in the file is an *Error.
func (r *Reader) Next() (*Packet, error) {
	for {
		r.start = r.at
		if _, err := r.in.Peek(1); err != nil {
			return nil, err // io.EOF, between blocks
		}
		if !r.ng {
			return r.old()
		}
		p, err := r.next()
		if p != nil || err != nil {
			return p, err
		}
	}
}

// old reads a packet of pcap.
func (r *Reader) old() (*Packet, error) {
	head, err := r.bytes(16)
	if err != nil {
		return nil, err
	}
	seconds, fraction, n, length := r.order.Uint32(head), r.order.Uint32(head[4:]), r.order.Uint32(head[8:]),
		r.order.Uint32(head[12:])
	if n > maxBlock || length > math.MaxInt32 {
		return nil, r.fail("a packet of %d bytes", max(n, length))
	}
	data, err := r.bytes(int(n))
	if err != nil {
		return nil, err
	}
	ns := int64(fraction)
	if !r.nano {
		ns *= 1000
	}
	r.packet = Packet{Time: int64(seconds)*1e9 + ns, Length: int(length), Data: data}
	return &r.packet, nil
}

// next reads a block of pcapng; no packet if it holds none.
func (r *Reader) next() (*Packet, error) {
	head, err := r.in.Peek(12)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, r.fail("the file ends in the middle of a block's head")
	}
	if binary.LittleEndian.Uint32(head) == sectionBlock { // the same in either order
		switch uint32(byteOrder) {
		case binary.LittleEndian.Uint32(head[8:]):
			r.order = binary.LittleEndian
		case binary.BigEndian.Uint32(head[8:]):
			r.order = binary.BigEndian
		default:
			return nil, r.fail("a section header without a byte order")
		}
	}
	if r.order == nil {
		return nil, r.fail("a block in front of the section header")
	}
	kind, n := r.order.Uint32(head), r.order.Uint32(head[4:])
	if n < 12 || n%4 != 0 || n > maxBlock {
		return nil, r.fail("a block of %d bytes", n)
	}
	b, err := r.bytes(int(n))
	if err != nil {
		return nil, err
	}
	if again := r.order.Uint32(b[n-4:]); again != n {
		return nil, r.fail("a block of %d bytes that has %d at its end", n, again)
	}
	body := b[8 : n-4]
	x, known := blocks[kind]
	switch {
	case !known:
		return nil, nil
	case len(body) < x.least:
		return nil, r.fail("%s of %d bytes", x.name, len(body))
	}
	return x.read(r, body)
}

// blocks are the kinds of blocks that are read, each with its least size, and with the function
// that reads it, and returns a packet if the block holds one.
var blocks = map[uint32]struct {
	name  string
	least int
	read  func(r *Reader, b []byte) (*Packet, error)
}{
	sectionBlock:    {"a section header", 16, (*Reader).section},
	interfaceBlock:  {"an interface", 8, (*Reader).addInterface},
	packetBlock:     {"a packet block", 20, (*Reader).enhanced},
	obsoleteBlock:   {"an obsolete packet block", 20, (*Reader).obsolete},
	simpleBlock:     {"a simple packet block", 0, (*Reader).simple},
	statisticsBlock: {"a statistics block", 12, (*Reader).addStatistics},
	namesBlock:      {"names", 0, (*Reader).addNames},
}

func (r *Reader) section(b []byte) (*Packet, error) {
	if major := r.order.Uint16(b[4:]); major != 1 {
		return nil, r.fail("version %d of pcapng", major)
	}
	r.Section++
	r.Program, r.Comments, r.Interfaces, r.Statistics, r.Names, r.units = "", nil, nil, nil, nil, nil
	return nil, r.options(b[16:], func(code uint16, v []byte) {
		switch code {
		case comment:
			r.Comments = append(r.Comments, string(v))
		case sectionApplication:
			r.Program = string(v)
		}
	})
}

func (r *Reader) addInterface(b []byte) (*Packet, error) {
	if len(r.Interfaces) >= maxInterfaces {
		return nil, r.fail("more than %d interfaces", maxInterfaces)
	}
	i := Interface{Link: LinkType(r.order.Uint16(b)), Snap: r.order.Uint32(b[4:]), FCS: -1}
	u := unit{perSecond: 1e6}
	var wrong error
	err := r.options(b[8:], func(code uint16, v []byte) {
		switch {
		case code == comment:
			i.Comment = string(v)
		case code == interfaceName:
			i.Name = string(v)
		case code == interfaceDescription:
			i.Description = string(v)
		case code == interfaceFilter && len(v) > 1 && v[0] == 0:
			i.Filter = string(v[1:])
		case code == interfaceSpeed && len(v) == 8:
			i.Speed = r.order.Uint64(v)
		case code == interfaceFCS && len(v) == 1:
			i.FCS = int(v[0])
		case code == interfaceResolution && len(v) == 1:
			if u.perSecond = resolution(v[0]); u.perSecond == 0 {
				wrong = r.fail("an interface whose time stamps have the resolution %#x", v[0])
			}
		case code == 14 && len(v) == 8: // if_tsoffset
			u.offset = int64(r.order.Uint64(v))
		}
	})
	r.Interfaces, r.units = append(r.Interfaces, i), append(r.units, u)
	return nil, errors.Join(err, wrong)
}

// resolution returns how many units of time a second has; 0 if that is too many.
func resolution(v byte) uint64 {
	n := uint64(1)
	if v&0x80 != 0 {
		if v&0x7F > 62 {
			return 0
		}
		return n << (v & 0x7F)
	}
	if v > 18 {
		return 0
	}
	for range v {
		n *= 10
	}
	return n
}

// time returns a time stamp of an interface in nanoseconds.
func (r *Reader) time(i int, high, low uint32) int64 {
	u := r.units[i]
	t := uint64(high)<<32 | uint64(low)
	seconds, rest := t/u.perSecond, t%u.perSecond
	hi, lo := bits.Mul64(rest, 1e9)
	ns, _ := bits.Div64(hi, lo, u.perSecond)
	return (int64(seconds)+u.offset)*1e9 + int64(ns)
}

func (r *Reader) enhanced(b []byte) (*Packet, error) { return r.withOptions(r.order.Uint32(b), 0, b) }

// obsolete reads a Packet Block, which has two numbers of two bytes instead of the interface.
func (r *Reader) obsolete(b []byte) (*Packet, error) {
	const unknown = 0xFFFF
	missing := uint64(r.order.Uint16(b[2:]))
	if missing == unknown {
		missing = 0
	}
	return r.withOptions(uint32(r.order.Uint16(b)), missing, b)
}

// withOptions reads a packet of an interface, in front of which this many packets are missing.
func (r *Reader) withOptions(i uint32, missing uint64, b []byte) (*Packet, error) {
	n, length := r.order.Uint32(b[12:]), r.order.Uint32(b[16:])
	if int(i) >= len(r.Interfaces) {
		return nil, r.fail("a packet of interface %d, which is not described", i)
	}
	if int(n) > len(b)-20 || length > math.MaxInt32 {
		return nil, r.fail("a packet of %d bytes in a block with room for %d", n, len(b)-20)
	}
	p := &r.packet
	*p = Packet{Interface: int(i), Time: r.time(int(i), r.order.Uint32(b[4:]), r.order.Uint32(b[8:])),
		Length: int(length), Data: b[20 : 20+n], Missing: missing, Comments: p.Comments[:0]}
	err := r.options(b[min(len(b), 20+(int(n)+3)&^3):], func(code uint16, v []byte) {
		switch {
		case code == comment:
			p.Comments = append(p.Comments, v)
		case code == packetFlags && len(v) == 4:
			flags := r.order.Uint32(v)
			p.Direction, p.FCS, p.Errors = Direction(flags&3), int(flags>>5&15), LinkErrors(flags>>16)
		case code == packetDropped && len(v) == 8:
			p.Missing = r.order.Uint64(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (r *Reader) simple(b []byte) (*Packet, error) {
	if len(b) < 4 || len(r.Interfaces) == 0 {
		return nil, r.fail("a simple packet block without length or interface")
	}
	length := r.order.Uint32(b)
	if length > math.MaxInt32 {
		return nil, r.fail("a packet of %d bytes", length)
	}
	n := min(int(length), len(b)-4)
	if snap := int64(r.Interfaces[0].Snap); snap > 0 {
		n = int(min(int64(n), snap))
	}
	r.packet = Packet{Length: int(length), Data: b[4 : 4+n]}
	return &r.packet, nil
}

func (r *Reader) addStatistics(b []byte) (*Packet, error) {
	i := r.order.Uint32(b)
	if int(i) >= len(r.Interfaces) {
		return nil, r.fail("statistics of interface %d, which is not described", i)
	}
	s := Statistics{Interface: int(i), Time: r.time(int(i), r.order.Uint32(b[4:]), r.order.Uint32(b[8:]))}
	err := r.options(b[12:], func(code uint16, v []byte) {
		switch {
		case code == comment:
			s.Comment = string(v)
		case code == statisticsReceived && len(v) == 8:
			s.Received = r.order.Uint64(v)
		case code == statisticsDropped && len(v) == 8:
			s.Dropped = r.order.Uint64(v)
		}
	})
	if len(r.Statistics) < maxInterfaces {
		r.Statistics = append(r.Statistics, s)
	}
	return nil, err
}

// maxNames is how many names a section may have for a Reader.
const maxNames = 1 << 16

func (r *Reader) addNames(b []byte) (*Packet, error) {
	return nil, r.options(b, func(kind uint16, v []byte) {
		if kind != nameOfMAC || len(v) <= macSize || len(r.Names) >= maxNames {
			return
		}
		text, _, _ := bytes.Cut(v[macSize:], []byte{0})
		mac := uint64(binary.BigEndian.Uint16(v))<<32 | uint64(binary.BigEndian.Uint32(v[2:]))
		r.Names = append(r.Names, Name{mac, string(text)})
	})
}

// options reads the options at the end of a block.
func (r *Reader) options(b []byte, take func(code uint16, value []byte)) error {
	for len(b) >= 4 {
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == endOfOptions {
			return nil
		}
		b = b[4:]
		if n > len(b) {
			return r.fail("an option of %d bytes in a block with %d left", n, len(b))
		}
		take(code, b[:n])
		b = b[min(len(b), (n+3)&^3):]
	}
	if len(b) > 0 {
		return r.fail("%d bytes behind the options of a block", len(b))
	}
	return nil
}
