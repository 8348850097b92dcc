package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"fabemu/wire/unit"
)

// Packer writes the events of a log in few bytes, and reads them again. It has to be given all
// events of the log, in the order of time, because each is written as its difference from those
// before it.
//
// A packed event is a control word of 32 bits and eight values. Each four bits of the control word,
// from the lowest on, are the size of a value: 0 to 8 bytes. All numbers have their low byte first.
// The values are:
//
//  1. the time since the event before it
//  2. Node; above 32 bits, Seq less the number after that of the node's last event
//  3. Kind; above 8 bits Port; above 24 bits Lane
//  4. Flow
//  5. PSN
//  6. Bytes
//  7. A, and
//  8. B, both shifted by one bit and, where they are negative, inverted
type Packer struct {
	at   unit.Time
	next []uint32 // by node: the number of its next event
}

// MaxPacked is the most bytes that a packed event takes.
const MaxPacked = 4 + 8*8

// sizes are the most bytes of each value.
var sizes = [8]int{8, 8, 4, 4, 4, 4, 8, 8}

// errPacked is the error of Next for a size or a time that no event has.
var errPacked = errors.New("trace: these bytes are no event")

// NewPacker returns a Packer for the events of a number of nodes.
func NewPacker(nodes int) *Packer { return &Packer{next: make([]uint32, nodes)} }

// Append appends e to b. Its bytes are never all 0.
func (p *Packer) Append(b []byte, e *Event) []byte {
	b = slices.Grow(b, MaxPacked)
	to := (*[MaxPacked]byte)(b[len(b) : len(b)+MaxPacked])
	control, n := put(to, 0, 4, 0, uint64(e.At-p.at))
	control, n = put(to, control, n, 4, uint64(uint32(e.Node))|uint64(e.Seq-p.next[e.Node])<<32)
	control, n = put32(to, control, n, 8, uint32(e.Kind)|uint32(e.Port)<<8|uint32(e.Lane)<<24)
	control, n = put32(to, control, n, 12, e.Flow)
	control, n = put32(to, control, n, 16, e.PSN)
	control, n = put32(to, control, n, 20, e.Bytes)
	control, n = put(to, control, n, 24, uint64(e.A<<1^e.A>>63))
	control, n = put(to, control, n, 28, uint64(e.B<<1^e.B>>63))
	binary.LittleEndian.PutUint32(to[:], control)
	p.at, p.next[e.Node] = e.At, e.Seq+1
	return b[:len(b)+n]
}

// put writes a value at n, and its size into the control word.
func put(to *[MaxPacked]byte, control uint32, n, shift int, v uint64) (uint32, int) {
	size := (bits.Len64(v) + 7) / 8
	binary.LittleEndian.PutUint64(to[n:], v)
	return control | uint32(size)<<shift, n + size
}

// put32 does so with a value of 32 bits.
func put32(to *[MaxPacked]byte, control uint32, n, shift int, v uint32) (uint32, int) {
	size := (bits.Len32(v) + 7) / 8
	binary.LittleEndian.PutUint32(to[n:], v)
	return control | uint32(size)<<shift, n + size
}

// Next reads the event at the front of b, and returns the number of its bytes, too. It is
// ErrTruncated if b ends before the event does. An event of an unknown node or kind is an error.
func (p *Packer) Next(b []byte) (e Event, n int, err error) {
	if len(b) < 4 {
		return e, 0, ErrTruncated
	}
	control := binary.LittleEndian.Uint32(b)
	var values [len(sizes)]uint64
	n = 4
	for i := range values {
		size := int(control >> (4 * i) & 15)
		switch {
		case size > sizes[i]:
			return e, 0, errPacked
		case len(b) < n+size:
			return e, 0, ErrTruncated
		}
		for k := range size {
			values[i] |= uint64(b[n+k]) << (8 * k)
		}
		n += size
	}
	what, node := values[2], uint32(values[1])
	e = Event{
		At: p.at + unit.Time(values[0]), Node: int32(node), Kind: Kind(what), Port: uint16(what >> 8), Lane: uint8(what >> 24),
		Flow: uint32(values[3]), PSN: uint32(values[4]), Bytes: uint32(values[5]),
		A: int64(values[6]>>1) ^ -int64(values[6]&1), B: int64(values[7]>>1) ^ -int64(values[7]&1),
	}
	switch {
	case e.At < p.at:
		return e, 0, errPacked
	case int64(node) >= int64(len(p.next)):
		return e, 0, fmt.Errorf("trace: an event of node %d; there are %d", node, len(p.next))
	case !e.Kind.known():
		return e, 0, fmt.Errorf("trace: an event of kind %d, which this version does not know", e.Kind)
	}
	e.Seq = p.next[node] + uint32(values[1]>>32)
	p.at, p.next[node] = e.At, e.Seq+1
	return e, n, nil
}
