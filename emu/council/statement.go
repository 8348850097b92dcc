package council

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fabemu/wire/unit"
)

// Statement is how far a part is, and what it needs for its next event.
type Statement struct {
	Over bool       // it is at the end of the run
	Next unit.Time  // the instant of its next event; not in bytes
	Out  []Outgoing // by place in Border.Out
	In   []Incoming // by place in Border.In
}

// Outgoing is a path that leads away from a part.
type Outgoing struct {
	Claim unit.Time // the next frame is not due earlier, if no frame comes that has not been seen
	Floor unit.Time // nor is it earlier in any case: the line is busy
	Due   unit.Time // the first due time of what was sent since the last statement; unit.Never: nothing was
	Sent  uint32    // frames sent so far
}

// Incoming is a path that comes from another part.
type Incoming struct {
	Need unit.Time // the part needs to be promised that no frame is due earlier
	Seen uint32    // frames seen so far
}

// Promise is about a path that comes from another part.
type Promise struct {
	At   unit.Time // no frame that has not been seen is due earlier
	Lost uint32    // up to that number, frames that have not come are lost
}

// Both travel as bytes: a statement is a byte for Over, and then the fields of each path in their order; a
// message of promises has one for each path that comes from elsewhere.
const (
	outSize = 3*8 + 4
	inSize  = 8 + 4
	// PromiseSize is the size of a promise in bytes.
	PromiseSize = 8 + 4
)

// errStatement reports bytes that are not a statement of the part they come from.
var errStatement = errors.New("not a statement of this part")

// NewStatement returns a statement with room for the paths of a border.
func NewStatement(b *Border) Statement {
	return Statement{Out: make([]Outgoing, len(b.Out)), In: make([]Incoming, len(b.In))}
}

// Append appends the bytes of s.
func (s *Statement) Append(b []byte) []byte {
	over := byte(0)
	if s.Over {
		over = 1
	}
	b = append(b, over)
	for _, x := range s.Out {
		b = binary.BigEndian.AppendUint64(b, uint64(x.Claim))
		b = binary.BigEndian.AppendUint64(b, uint64(x.Floor))
		b = binary.BigEndian.AppendUint64(b, uint64(x.Due))
		b = binary.BigEndian.AppendUint32(b, x.Sent)
	}
	for _, x := range s.In {
		b = binary.BigEndian.AppendUint64(b, uint64(x.Need))
		b = binary.BigEndian.AppendUint32(b, x.Seen)
	}
	return b
}

// read reads what Append writes of a statement for the same border.
func (s *Statement) read(b []byte) error {
	if len(b) != 1+len(s.Out)*outSize+len(s.In)*inSize || b[0] > 1 {
		return fmt.Errorf("%d bytes: %w", len(b), errStatement)
	}
	s.Over, b = b[0] == 1, b[1:]
	for k := range s.Out {
		s.Out[k] = Outgoing{timeAt(b), timeAt(b[8:]), timeAt(b[16:]), binary.BigEndian.Uint32(b[24:])}
		b = b[outSize:]
	}
	for k := range s.In {
		s.In[k] = Incoming{timeAt(b), binary.BigEndian.Uint32(b[8:])}
		b = b[inSize:]
	}
	return nil
}

// Append appends the bytes of p.
func (p Promise) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(p.At))
	return binary.BigEndian.AppendUint32(b, p.Lost)
}

// ReadPromises reads the promises of a message for all paths of a part that come from elsewhere.
func ReadPromises(all []Promise, b []byte) error {
	if len(b) != len(all)*PromiseSize {
		return fmt.Errorf("a promise of %d bytes, and not of %d: of another version?", len(b), len(all)*PromiseSize)
	}
	for i := range all {
		all[i] = Promise{timeAt(b), binary.BigEndian.Uint32(b[8:])}
		if b = b[PromiseSize:]; all[i].At < 0 {
			return fmt.Errorf("a promise of %v", all[i].At)
		}
	}
	return nil
}

func timeAt(b []byte) unit.Time { return unit.Time(binary.BigEndian.Uint64(b)) }
