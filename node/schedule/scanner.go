package schedule

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"fabemu/wire/unit"
)

// maxStatement is the length of the longest statement, without blanks.
const maxStatement = 1024

// keyword is a word with a meaning. A label is none of them, but for b.
type keyword uint8

const (
	noKey keyword = iota
	keyNumRanks
	keyRank
	keySend
	keyRecv
	keyCalc
	keyRequires
	keyIrequires
	keyTo
	keyFrom
	keyTag
	keyCPU
	keyNIC
	keyColon
	keyBytes
)

var keywords = map[string]keyword{
	"num_ranks": keyNumRanks, "rank": keyRank, "send": keySend, "recv": keyRecv, "calc": keyCalc,
	"requires": keyRequires, "irequires": keyIrequires, "to": keyTo, "from": keyFrom,
	"tag": keyTag, "cpu": keyCPU, "nic": keyNIC, ":": keyColon, "b": keyBytes,
}

// scanner reads the statements of a GOAL file.
type scanner struct {
	in     *bufio.Reader
	offset int64 // of the next byte
	line   int   // of the next byte

	words  [][]byte // of the statement, in text: labels and keywords, numbers, single other characters
	text   []byte
	parsed int  // words
	begins int  // the line of its first word
	end    byte // the newline, semicolon or brace that ends it; 0: the end of the file

	rank, ranks int // of the section, of the file
	opened      int // the line in which the section begins; 0: outside
	closed      bool
}

// newScanner returns a scanner of the file from an offset on, which is in a line.
func newScanner(file io.ReaderAt, offset, size int64, line, buffer int) *scanner {
	return &scanner{
		in:     bufio.NewReaderSize(io.NewSectionReader(file, offset, size-offset), buffer),
		offset: offset, line: line, text: make([]byte, 0, maxStatement), words: make([][]byte, 0, 16),
	}
}

// enter begins a section.
func (s *scanner) enter(rank, ranks, line int) {
	s.rank, s.ranks, s.opened, s.closed = rank, ranks, line, false
}

// get returns the next byte, or 0 at the end of the file.
func (s *scanner) get() (byte, error) {
	c, err := s.in.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("line %d: %w", s.line, err)
	case c == 0:
		return 0, fmt.Errorf("line %d: a zero byte in a text", s.line)
	case c == '\n':
		s.line++
	}
	s.offset++
	return c, nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// read reads the words of the next statement, of which there may be none.
func (s *scanner) read() error {
	s.words, s.text, s.parsed = s.words[:0], s.text[:0], 0
	for start := 0; ; { // of the last word in text
		if len(s.words) == 0 {
			s.begins = s.line
		}
		c, err := s.get()
		if err == nil && c == '/' {
			c, err = s.comment()
		}
		switch {
		case err != nil:
			return err
		case c == 0 || c == '\n' || c == ';' || c == '{' || c == '}':
			s.end = c
			return nil
		case c == ' ' || c == '\t' || c == '\r':
			start = len(s.text)
			continue
		case len(s.text) == maxStatement:
			return s.refuse("a statement of more than %d characters", maxStatement)
		}
		more := start < len(s.text)
		if more {
			first := s.text[start]
			more = isLetter(first) && (isLetter(c) || isDigit(c) || c == '_') || (isDigit(first) || first == '-') && isDigit(c)
		}
		s.text = append(s.text, c)
		if more {
			s.words[len(s.words)-1] = s.text[start:]
		} else {
			start = len(s.text) - 1
			s.words = append(s.words, s.text[start:])
		}
	}
}

// comment skips a comment behind its first slash, and returns a byte that stands for it.
func (s *scanner) comment() (byte, error) {
	line := s.line
	kind, err := s.get()
	if err == nil && kind != '/' && kind != '*' {
		err = fmt.Errorf("line %d: a slash that starts no comment", line)
	}
	for last := byte(0); err == nil; {
		var c byte
		c, err = s.get()
		switch {
		case kind == '/' && (c == '\n' || c == 0):
			return c, err
		case kind == '*' && last == '*' && c == '/':
			return ' ', err
		case kind == '*' && c == 0 && err == nil:
			err = fmt.Errorf("line %d: a comment without an end: the file may be cut", line)
		}
		last = c
	}
	return 0, err
}

// statement returns the next statement of the section. ok is false behind its closing brace.
func (s *scanner) statement() (o Op, ok bool, err error) {
	for !s.closed {
		if err := s.read(); err != nil {
			return o, false, err
		}
		s.closed = s.end == '}'
		switch {
		case s.end == 0:
			s.begins = s.line
			return o, false, s.refuse("the file ends inside rank %d, whose section starts in line %d: the file may be cut",
				s.rank, s.opened)
		case s.end == '{':
			return o, false, s.refuse(`"{" is inside rank %d, whose section starts in line %d`, s.rank, s.opened)
		case len(s.words) > 0:
			o, err = s.parse()
			return o, err == nil, err
		}
	}
	return o, false, nil
}

// parse reads the words of an operation or a dependency.
func (s *scanner) parse() (o Op, err error) {
	o.Line = s.begins
	wanted := "send, recv, calc, a label or }"
	if o.Name = s.label(); o.Name != 0 {
		switch s.key() {
		case keyRequires:
			return s.dependency(o, Requires)
		case keyIrequires:
			return s.dependency(o, StartRequires)
		case keyColon:
			wanted = "send, recv or calc"
		default:
			return o, s.wrong(`":", requires or irequires`)
		}
		s.parsed++
	}
	key := s.key()
	s.parsed++
	switch key {
	case keyCalc:
		var ns uint64
		o.Kind = Calc
		ns, err = s.number(maxTime, "the nanoseconds of a calc")
		o.Time = unit.Duration(ns) * unit.Nanosecond
	case keySend:
		err = s.message(&o, Send, keyTo, "to")
	case keyRecv:
		err = s.message(&o, Receive, keyFrom, "from")
	default:
		s.parsed--
		return o, s.wrong(wanted)
	}
	if err == nil {
		err = s.options(&o)
	}
	return o, err
}

// dependency reads the operation that is waited for.
func (s *scanner) dependency(o Op, kind Kind) (Op, error) {
	s.parsed++
	o.Kind = kind
	if o.On = s.label(); o.On == 0 {
		return o, s.wrong("a label")
	}
	return o, s.finished()
}

// message reads the size and the peer of a send or a recv.
func (s *scanner) message(o *Op, kind Kind, side keyword, name string) error {
	size, err := s.number(MaxSize, "the size of a message")
	switch {
	case err != nil:
		return err
	case !s.skip(keyBytes):
		return s.wrong("b")
	case !s.skip(side):
		return s.wrong(name)
	}
	peer, err := s.number(math.MaxInt32, "a rank")
	switch {
	case err != nil:
		return err
	case int(peer) >= s.ranks:
		return s.refuse("%s %d: the ranks are 0 to %d", name, peer, s.ranks-1)
	case int(peer) == s.rank:
		return s.refuse("a message of rank %d to itself passes through no fabric: write a calc", peer)
	}
	o.Kind, o.Size, o.Peer = kind, max(unit.Size(size), 1), int(peer)
	return nil
}

// options reads the options of an operation, to its end.
func (s *scanner) options(o *Op) error {
	wanted, seen := "tag, cpu or nic, each once, or the end of the statement", [keyNIC + 1]bool{}
	if o.Kind == Calc {
		wanted, seen[keyTag], seen[keyNIC] = "cpu, once, or the end of the statement", true, true
	}
	for s.parsed < len(s.words) {
		key, most := s.key(), uint64(math.MaxUint64)
		if key < keyTag || key > keyNIC || seen[key] {
			return s.wrong(wanted)
		}
		seen[key] = true
		s.parsed++
		if key == keyCPU {
			most = maxCPU
		}
		n, err := s.number(most, "the number of an option")
		switch {
		case err != nil:
			return err
		case key == keyTag:
			o.Tag = uint32(n)
		case key == keyCPU && o.Kind == Calc:
			o.CPU = uint16(n)
		}
	}
	return nil
}

// key returns the keyword of the next word.
func (s *scanner) key() keyword {
	if s.parsed == len(s.words) {
		return noKey
	}
	return keywords[string(s.words[s.parsed])]
}

// skip reads the next word if it is a keyword.
func (s *scanner) skip(key keyword) bool {
	is := s.key() == key
	if is {
		s.parsed++
	}
	return is
}

// label reads the next word if it is a label, and returns its hash, or 0. Labels are compared
// by their hashes, of 64 bits: among a million labels two have one hash in one file of 37
// million, and that file is refused.
func (s *scanner) label() uint64 {
	if key := s.key(); s.parsed == len(s.words) || key != noKey && key != keyBytes || !isLetter(s.words[s.parsed][0]) {
		return 0
	}
	const offset, prime = 14695981039346656037, 1099511628211 // of FNV-1a
	hash := uint64(offset)
	for _, c := range s.words[s.parsed] {
		hash = (hash ^ uint64(c)) * prime
	}
	s.parsed++
	return max(hash, 1)
}

// number reads a number up to most.
func (s *scanner) number(most uint64, meaning string) (n uint64, err error) {
	if s.parsed == len(s.words) {
		return 0, s.wrong(meaning)
	}
	w := s.words[s.parsed]
	if w[0] == '-' {
		return 0, s.refuse("found %s instead of %s: any rank (-1) and any tag (-1) are not supported, name them",
			w, meaning)
	}
	for _, c := range w {
		d := uint64(c - '0')
		switch {
		case !isDigit(c):
			return 0, s.wrong(meaning)
		case n > most/10 || 10*n > most-d:
			return 0, s.refuse("%s is too large for %s: at most %d", w, meaning, most)
		}
		n = 10*n + d
	}
	s.parsed++
	return n, nil
}

// finished returns an error if a word is left.
func (s *scanner) finished() error {
	if s.parsed < len(s.words) {
		return s.wrong("the end of the statement")
	}
	return nil
}

// refuse returns an error of the statement.
func (s *scanner) refuse(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{s.begins}, args...)...)
}

// wrong returns the error that the next word is not the wanted one.
func (s *scanner) wrong(wanted string) error {
	switch {
	case s.parsed < len(s.words):
		return s.refuse("found %q instead of %s", s.words[s.parsed], wanted)
	case s.end == 0:
		return s.refuse("the file ends instead of %s: it may be cut", wanted)
	case s.end == '{' || s.end == '}':
		return s.refuse("found %q instead of %s", string(s.end), wanted)
	}
	return s.refuse("the statement ends instead of %s", wanted)
}
