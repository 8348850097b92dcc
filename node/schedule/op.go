package schedule

import (
	"fmt"

	"fabemu/wire/unit"
)

// Kind is the kind of a statement of a program.
type Kind uint8

// Three kinds of operations, and two kinds of dependencies between operations.
const (
	Send Kind = iota
	Receive
	Calc
	Requires      // an operation begins when another one has ended
	StartRequires // an operation begins when another one has begun: irequires of GOAL
)

func (k Kind) String() string {
	return unit.Word(k, []string{"send", "receive", "calc", "requires", "irequires"})
}

// Op is one statement of a program: an operation, or a dependency between two operations that
// the program has yielded before.
type Op struct {
	Kind Kind
	CPU  uint16        // Calc: a processor; it runs one calc at a time, in the order in which they may begin
	Tag  uint32        // Send, Receive
	Peer int           // Send, Receive: a rank
	Size unit.Size     // Send, Receive: bytes of payload, at least 1
	Time unit.Duration // Calc
	// Name is the number of an operation in its program, by which dependencies mean it; 0: none
	// does. Of a dependency it is the operation that waits, and On the one that it waits for.
	Name, On    uint64
	Step, Round int // of a collective operation, from 1; 0: of none
	Line        int // of the file; 0: there is none
}

// String describes an operation in a report: "receive of tag 5 from rank 2 (line 12)".
func (o Op) String() (s string) {
	switch o.Kind {
	case Send:
		s = fmt.Sprintf("send of %d bytes with tag %d to rank %d", o.Size, o.Tag, o.Peer)
	case Receive:
		s = fmt.Sprintf("receive of tag %d from rank %d", o.Tag, o.Peer)
	case Calc:
		s = fmt.Sprintf("calc of %v", o.Time)
	default:
		s = fmt.Sprintf("%v between operations %d and %d", o.Kind, o.Name, o.On)
	}
	switch {
	case o.Line > 0:
		s += fmt.Sprintf(" (line %d)", o.Line)
	case o.Round > 0:
		s += fmt.Sprintf(" (step %d of round %d)", o.Step, o.Round)
	}
	return s
}

// Program yields the statements of one rank in order; they are made or read as they are wanted.
type Program interface {
	// Next returns the next statement. ok is false at the end.
	Next() (op Op, ok bool, err error)
	// Reach returns how far the program must be read. It does not change.
	Reach() Reach
}

// Reach is a promise of a program: how far it must be read so that no operation begins later
// than its dependencies allow. It counts operations.
type Reach struct {
	// Ahead: of the operations that an operation requires, the last one in the program is
	// at most so many before it. An operation without a dependency requires the beginning of
	// the program, which is one before the first operation. At least 1.
	Ahead int
	// Hold: between an operation and the last dependency by which it waits are at most so
	// many other operations.
	Hold int
}
