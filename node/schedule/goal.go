package schedule

import (
	"fmt"
	"io"
	"math"

	"fabemu/wire/unit"
)

// Goal is a GOAL file that has been indexed and found correct. The file must stay as it is.
//
// The text form, as txt2bin of LogGOPSim reads it:
//
//	num_ranks 2
//	rank 0 {
//	  l1: send 8b to 1 tag 42
//	  l2: calc 1000            // ns
//	  l2 irequires l1          /* begins when l1 has begun */
//	}
//	rank 1 {
//	  recv 8b from 0 tag 42
//	}
//
// A statement ends with its line; a semicolon ends it too. Operations may go without a label.
// A dependency follows both of its operations, anywhere in the section. Sections may come
// in any order, one for each rank. After send and recv come optional "tag N", "cpu N" and "nic N",
// after calc "cpu N", each once and in any order. Missing numbers are 0.
//
// The calcs of one cpu run one after another. Ignored are the cpu of send and recv, each nic,
// and the size of recv. As in LogGOPSim, a tag counts modulo 2^32. A message of 0b has 1 byte,
// because a transport carries no message of none.
//
// Refused are recv from -1 and tag -1, which match any; messages of a rank to itself; labels
// that occur twice in a section.
type Goal struct {
	file     io.ReaderAt
	size     int64
	sections []section // by rank
	tagged   bool
}

// section is the part of the file that belongs to one rank.
type section struct {
	offset int64 // behind the opening brace
	line   int   // of it; 0: there is no section
	reach  Reach
}

// The largest numbers of a GOAL file.
const (
	maxCPU  = 4095
	maxTime = uint64(math.MaxInt64 / unit.Nanosecond)
)

// ReadGoal reads a file of size bytes through, and returns it with an index of its ranks. An
// error names the line and the reason. The index takes some 40 bytes for each labelled operation of
// the rank that has most of them, for as long as ReadGoal runs, and later 32 bytes for each rank.
func ReadGoal(file io.ReaderAt, size int64) (*Goal, error) {
	g := &Goal{file: file, size: size}
	s := newScanner(file, 0, size, 1, 1<<16)
	labels := map[uint64]label{}
	for {
		if err := s.read(); err != nil {
			return nil, err
		}
		var err error
		switch {
		case len(s.words) == 0 && s.end == 0:
			return g, g.complete(s.line)
		case s.skip(keyNumRanks):
			err = g.open(s)
		case s.skip(keyRank):
			err = g.index(s, labels)
		case len(s.words) > 0 || s.end != '\n' && s.end != ';':
			err = s.wrong("num_ranks or rank")
		}
		if err != nil {
			return nil, err
		}
	}
}

// open reads the number of ranks.
func (g *Goal) open(s *scanner) error {
	n, err := s.number(math.MaxInt32, "the number of ranks")
	if err == nil {
		err = s.finished()
	}
	switch {
	case err != nil:
		return err
	case s.end == '{' || s.end == '}':
		return s.wrong("the end of the statement")
	case g.sections != nil:
		return s.refuse("num_ranks is here a second time")
	case n == 0:
		return s.refuse("num_ranks 0: a schedule has at least one rank")
	case int64(n) > g.size:
		return s.refuse("num_ranks %d, but a file of %d bytes has no room for so many sections", n, g.size)
	}
	g.sections = make([]section, n)
	return nil
}

// complete returns an error if a rank has no section.
func (g *Goal) complete(line int) error {
	if g.sections == nil {
		return fmt.Errorf("line %d: the file ends without num_ranks: a GOAL file starts with it", line)
	}
	missing, first := 0, 0
	for i := len(g.sections) - 1; i >= 0; i-- {
		if g.sections[i].line == 0 {
			missing, first = missing+1, i
		}
	}
	if missing > 0 {
		return fmt.Errorf("line %d: num_ranks is %d, but %d of these ranks have no section, the first one is rank %d: "+
			"the file may be cut", line, len(g.sections), missing, first)
	}
	return nil
}

// label is the index's entry for a labelled operation.
type label struct {
	index int32 // its place in the section
	last  int32 // the place of the last operation that it requires; -1: none
	line  int32
}

// index reads the section of a rank through, checks it and finds its reach.
func (g *Goal) index(s *scanner, labels map[uint64]label) error {
	n, err := s.number(math.MaxInt32, "a rank")
	if err == nil {
		err = s.finished()
	}
	switch {
	case err != nil:
		return err
	case s.end != '{':
		return s.wrong("{")
	case g.sections == nil:
		return s.refuse("rank %d is before num_ranks", n)
	case int(n) >= len(g.sections):
		return s.refuse("rank %d, but num_ranks is %d: ranks count from 0", n, len(g.sections))
	case g.sections[n].line != 0:
		return s.refuse("rank %d has a section in line %d already", n, g.sections[n].line)
	}
	x := section{offset: s.offset, line: s.begins, reach: Reach{Ahead: 1}}
	s.enter(int(n), len(g.sections), s.begins)
	clear(labels)
	for count := int32(0); ; {
		o, ok, err := s.statement()
		switch {
		case err != nil:
			return err
		case !ok:
			for _, l := range labels {
				x.reach.Ahead = max(x.reach.Ahead, int(l.index-l.last))
			}
			g.sections[n] = x
			return nil
		case o.Kind >= Requires:
			a, first := labels[o.Name]
			b, second := labels[o.On]
			switch {
			case !first:
				return s.refuse("no operation above has the first label of this dependency")
			case !second:
				return s.refuse("no operation above has the second label of this dependency")
			case o.Name == o.On:
				return s.refuse("an operation that requires itself never starts")
			}
			x.reach.Hold = max(x.reach.Hold, int(count-1-a.index))
			a.last = max(a.last, b.index)
			labels[o.Name] = a
		case count == math.MaxInt32:
			return s.refuse("rank %d has more than %d operations", n, count)
		default:
			g.tagged = g.tagged || o.Tag != 0
			if o.Name == 0 {
				x.reach.Ahead = max(x.reach.Ahead, int(count)+1)
			} else if l, twice := labels[o.Name]; twice {
				return s.refuse("the operation in line %d has the same label", l.line)
			} else {
				labels[o.Name] = label{index: count, last: -1, line: int32(min(o.Line, math.MaxInt32))}
			}
			count++
		}
	}
}

// Ranks returns the number of ranks.
func (g *Goal) Ranks() int { return len(g.sections) }

// Tagged reports whether a message has a tag other than 0: then messages must carry their tags.
func (g *Goal) Tagged() bool { return g.tagged }

// Program returns the program of a rank, from 0 to Ranks-1. It reads the file as it goes.
func (g *Goal) Program(rank int) Program {
	x := g.sections[rank]
	s := newScanner(g.file, x.offset, g.size, x.line, 1<<12)
	s.enter(rank, len(g.sections), x.line)
	return &goalProgram{s, x.reach}
}

// goalProgram is the section of one rank.
type goalProgram struct {
	scanner *scanner
	reach   Reach
}

// Reach returns how far the section must be read, as the index has found.
func (p *goalProgram) Reach() Reach { return p.reach }

// Next reads the next statement.
func (p *goalProgram) Next() (Op, bool, error) { return p.scanner.statement() }
