package schedule

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"fabemu/wire/unit"
)

// maxWord is the length of the longest label.
const maxWord = 255

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	endOfFile      tokenKind = iota
	endOfStatement           // a line's, or a semicolon
	word
	integer
	opening // brace
	closing
	colon
	minus
	other
)

// keyword is a word with a meaning. A label is none of them.
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
	keyBytes
)

// keywords is the keywords as they are written. The last one, b, is a keyword only behind a
// number: a label may have this name.
var keywords = map[string]keyword{
	"num_ranks": keyNumRanks, "rank": keyRank, "send": keySend, "recv": keyRecv, "calc": keyCalc, "requires": keyRequires,
	"irequires": keyIrequires, "to": keyTo, "from": keyFrom, "tag": keyTag, "cpu": keyCPU, "nic": keyNIC, "b": keyBytes,
}

// token is a token of the file.
type token struct {
	kind  tokenKind
	key   keyword
	char  byte   // the first one
	value uint64 // integer; word: the hash of its letters
	line  int
}

// scanner reads the tokens and statements of a GOAL file.
type scanner struct {
	in     *bufio.Reader
	offset int64 // of the next byte
	line   int   // of the next byte
	word   []byte
	peeked token // where ahead is set
	ahead  bool

	rank, ranks int // of the section, of the file
	opened      int // the line in which the section begins
}

// unexpected returns the error of the last token, which stands in the place of another one.
func (s *scanner) unexpected(t token, wanted string) error {
	found := fmt.Sprintf("%q", t.char)
	switch t.kind {
	case endOfFile:
		return fmt.Errorf("line %d: the file ends where %s should stand: it may be cut", t.line, wanted)
	case endOfStatement:
		found = "the end of the statement"
	case word:
		found = fmt.Sprintf("%q", s.word)
	case integer:
		found = fmt.Sprint("the number ", t.value)
	}
	return fmt.Errorf("line %d: %s stands where %s should", t.line, found, wanted)
}

// enter begins a section.
func (s *scanner) enter(rank, ranks, line int) { s.rank, s.ranks, s.opened = rank, ranks, line }

// get returns the next byte, or 0 and false at the end of the file.
func (s *scanner) get() (byte, bool, error) {
	c, err := s.in.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("line %d: %w", s.line, err)
	}
	s.offset++
	if c == '\n' {
		s.line++
	}
	return c, true, nil
}

// back puts the last byte back, which is c.
func (s *scanner) back(c byte) {
	_ = s.in.UnreadByte() // a byte has been read
	s.offset--
	if c == '\n' {
		s.line--
	}
}

// next returns the next token, behind blanks and comments.
func (s *scanner) next() (token, error) {
	if s.ahead {
		s.ahead = false
		return s.peeked, nil
	}
	for {
		t := token{line: s.line}
		c, ok, err := s.get()
		t.char = c
		switch {
		case err != nil || !ok:
			return t, err
		case c == ' ' || c == '\t' || c == '\r':
			continue
		case c == '/':
			if err := s.comment(t.line); err != nil {
				return t, err
			}
			continue
		case c == '\n' || c == ';':
			t.kind = endOfStatement
		case c == '{':
			t.kind = opening
		case c == '}':
			t.kind = closing
		case c == ':':
			t.kind = colon
		case c == '-':
			t.kind = minus
		case c >= '0' && c <= '9':
			return s.digits(t, c)
		case letter(c):
			return s.letters(t, c)
		default:
			t.kind = other
		}
		return t, nil
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// digits reads a number.
func (s *scanner) digits(t token, c byte) (token, error) {
	t.kind = integer
	for {
		d := uint64(c - '0')
		if t.value > (math.MaxUint64-d)/10 {
			return t, fmt.Errorf("line %d: a number above %d", t.line, uint64(math.MaxUint64))
		}
		t.value = 10*t.value + d
		var ok bool
		var err error
		if c, ok, err = s.get(); err != nil || !ok {
			return t, err
		}
		if c < '0' || c > '9' {
			s.back(c)
			return t, nil
		}
	}
}

// letters reads a word. Labels are compared by their hashes, of 64 bits: of a million labels
// two differ and have one hash in one file of 37 million, and that file is refused.
func (s *scanner) letters(t token, c byte) (token, error) {
	t.kind = word
	s.word = s.word[:0]
	const offset, prime = 14695981039346656037, 1099511628211 // of FNV-1a
	for t.value = offset; letter(c) || c >= '0' && c <= '9' || c == '_'; {
		if len(s.word) == maxWord {
			return t, fmt.Errorf("line %d: a label of more than %d characters", t.line, maxWord)
		}
		s.word = append(s.word, c)
		t.value = (t.value ^ uint64(c)) * prime
		var ok bool
		var err error
		if c, ok, err = s.get(); err != nil {
			return t, err
		} else if !ok {
			t.key = keywords[string(s.word)]
			return t, nil
		}
	}
	s.back(c)
	t.value = max(t.value, 1) // 0 is no label
	t.key = keywords[string(s.word)]
	return t, nil
}

// comment skips a comment behind its first slash.
func (s *scanner) comment(line int) error {
	c, ok, err := s.get()
	switch {
	case err != nil:
		return err
	case !ok || c != '/' && c != '*':
		return fmt.Errorf("line %d: a slash that begins no comment", line)
	}
	for last, kind := byte(0), c; ; last = c {
		c, ok, err = s.get()
		switch {
		case err != nil:
			return err
		case !ok && kind == '*':
			return fmt.Errorf("line %d: a comment without its end: the file may be cut", line)
		case !ok:
			return nil
		case kind == '/' && c == '\n':
			s.back(c) // it ends the statement
			return nil
		case kind == '*' && last == '*' && c == '/':
			return nil
		}
	}
}

// statement returns the next statement of the section. ok is false behind its closing brace.
func (s *scanner) statement() (o Op, ok bool, err error) {
	for {
		t, err := s.next()
		switch {
		case err != nil:
			return o, false, err
		case t.kind == endOfStatement:
			continue
		case t.kind == closing:
			return o, false, nil
		}
		o, err = s.parse(t)
		if err == nil {
			err = s.finish()
		}
		return o, err == nil, s.inside(err)
	}
}

// inside returns err, or, at the end of the file, the error that the section has no end.
func (s *scanner) inside(err error) error {
	if errors.Is(err, errCut) {
		return fmt.Errorf("line %d: %w inside rank %d, whose section begins in line %d: the file may be cut", s.line, err, s.rank, s.opened)
	}
	return err
}

// errCut reports the end of the file in a section.
var errCut = errors.New("the file ends")

// take returns the next token within a section.
func (s *scanner) take() (token, error) {
	t, err := s.next()
	if err == nil && t.kind == endOfFile {
		err = errCut
	}
	return t, err
}

// finish reads the end of a statement. The closing brace ends the last one too.
func (s *scanner) finish() error {
	t, err := s.take()
	switch {
	case err != nil:
		return err
	case t.kind == closing:
		s.peeked, s.ahead = t, true
	case t.kind != endOfStatement:
		return s.unexpected(t, "the end of the statement")
	}
	return nil
}

// parse reads a statement without its end, from its first token on.
func (s *scanner) parse(t token) (Op, error) {
	o := Op{Line: t.line}
	const wanted = "send, recv, calc, a label or }"
	switch {
	case t.kind == endOfFile:
		return o, errCut
	case t.kind != word || t.key != noKey && t.key != keyBytes && (t.key < keySend || t.key > keyCalc):
		return o, s.unexpected(t, wanted)
	case t.key == noKey || t.key == keyBytes:
		o.Name = t.value
		var err error
		if t, err = s.take(); err != nil {
			return o, err
		}
		switch {
		case t.kind == word && t.key == keyRequires:
			return s.dependency(o, Requires)
		case t.kind == word && t.key == keyIrequires:
			return s.dependency(o, StartRequires)
		case t.kind != colon:
			return o, s.unexpected(t, `":", requires or irequires`)
		}
		if t, err = s.take(); err != nil {
			return o, err
		}
	}
	switch {
	case t.kind == word && t.key == keyCalc:
		o.Kind = Calc
		ns, err := s.number(maxTime, "the nanoseconds of a calc")
		if err != nil {
			return o, err
		}
		o.Time = unit.Duration(ns) * unit.Nanosecond
		return s.options(o)
	case t.kind == word && t.key == keySend:
		return s.message(o, Send, keyTo, "to")
	case t.kind == word && t.key == keyRecv:
		return s.message(o, Receive, keyFrom, "from")
	}
	return o, s.unexpected(t, "send, recv or calc")
}

// dependency reads the operation that is waited for.
func (s *scanner) dependency(o Op, kind Kind) (Op, error) {
	t, err := s.take()
	if err == nil && (t.kind != word || t.key != noKey && t.key != keyBytes) {
		err = s.unexpected(t, "a label")
	}
	o.Kind, o.On = kind, t.value
	return o, err
}

// message reads the rest of a send or a recv.
func (s *scanner) message(o Op, kind Kind, side keyword, name string) (Op, error) {
	o.Kind = kind
	size, err := s.number(MaxSize, "the size of a message")
	if err != nil {
		return o, err
	}
	o.Size = max(unit.Size(size), 1)
	for _, want := range []struct {
		key  keyword
		name string
	}{{keyBytes, "b"}, {side, name}} {
		t, err := s.take()
		if err != nil {
			return o, err
		}
		if t.kind != word || t.key != want.key {
			return o, s.unexpected(t, want.name)
		}
	}
	peer, err := s.number(math.MaxInt32, "a rank")
	switch {
	case err != nil:
		return o, err
	case int(peer) >= s.ranks:
		return o, fmt.Errorf("line %d: %s %d: the ranks are 0 to %d", o.Line, name, peer, s.ranks-1)
	case int(peer) == s.rank:
		return o, fmt.Errorf("line %d: a message of rank %d to itself passes through no fabric: write a calc", o.Line, peer)
	}
	o.Peer = int(peer)
	return s.options(o)
}

// options reads the options of an operation.
func (s *scanner) options(o Op) (Op, error) {
	for seen := [keyBytes]bool{}; ; {
		t, err := s.take()
		if err != nil {
			return o, err
		}
		switch {
		case t.kind == endOfStatement || t.kind == closing:
			s.peeked, s.ahead = t, true
			return o, nil
		case t.kind != word || t.key < keyTag || t.key > keyNIC || o.Kind == Calc && t.key != keyCPU:
			if o.Kind == Calc {
				return o, s.unexpected(t, "cpu or the end of the statement")
			}
			return o, s.unexpected(t, "tag, cpu, nic or the end of the statement")
		case seen[t.key]:
			return o, fmt.Errorf("line %d: an option stands twice", t.line)
		}
		seen[t.key] = true
		most := uint64(math.MaxUint64)
		if t.key == keyCPU {
			most = maxCPU
		}
		n, err := s.number(most, "the number of an option")
		switch {
		case err != nil:
			return o, err
		case t.key == keyTag:
			o.Tag = uint32(n)
		case t.key == keyCPU && o.Kind == Calc:
			o.CPU = uint16(n)
		}
	}
}

// number reads a number up to most.
func (s *scanner) number(most uint64, meaning string) (uint64, error) {
	t, err := s.next()
	switch {
	case err != nil:
		return 0, err
	case t.kind == endOfFile && s.opened > 0:
		return 0, errCut
	case t.kind == minus:
		return 0, fmt.Errorf("line %d: a negative number stands where %s should: any rank (-1) and any tag (-1) are not supported, name them",
			t.line, meaning)
	case t.kind != integer:
		return 0, s.unexpected(t, meaning)
	case t.value > most:
		return 0, fmt.Errorf("line %d: %d is too large for %s: at most %d", t.line, t.value, meaning, most)
	}
	return t.value, nil
}
