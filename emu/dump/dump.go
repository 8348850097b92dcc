package dump

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/capture/pcapng"
)

// Options say what is printed.
type Options struct {
	Check bool // look for what is wrong
	Quiet bool // print only what is wrong
}

// Summary is what a capture came to.
type Summary struct {
	Packets int
	*Checker

	filters []string // what alone was captured, in words
}

// Problems returns how many problems were found.
func (s *Summary) Problems() int {
	n := 0
	for _, k := range s.Found {
		n += k
	}
	return n
}

// Text prints what was checked and found.
func (s *Summary) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	words := map[Kind]string{
		Reading: "packets", Checksum: "packets that were captured whole", Credit: "frames against the credit of their lane",
		Sequence: "numbers that follow another", PauseKept: "frames of ports that were paused before",
	}
	for _, k := range Kinds() {
		verdict := "all right"
		switch {
		case s.Found[k] > 0:
			verdict = fmt.Sprintf("%d wrong", s.Found[k])
		case s.Checked[k] == 0:
			verdict = "nothing to check"
		}
		fmt.Fprintf(out, "%-9s %8d %-40s %s\n", k, s.Checked[k], words[k], verdict)
	}
	for _, f := range s.filters {
		fmt.Fprintf(out, "incomplete: only this was captured: %s\n", f)
	}
	for _, g := range Gaps() {
		if n := s.Gaps[g]; n > 0 {
			fmt.Fprintf(out, "incomplete: %d %s\n", n, g)
		}
	}
	return out.Flush()
}

// Dump prints a capture, which may be compressed by gzip: offsets are then those of
// what is in it. An error that is a *pcapng.Error is one of the file: what
// stands in front of it was printed.
func Dump(w io.Writer, r io.Reader, o Options) (*Summary, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	s := &Summary{Checker: NewChecker()}
	err := s.dump(out, r, o)
	return s, errors.Join(err, out.Flush())
}

func (s *Summary) dump(out *bufio.Writer, r io.Reader, o Options) error {
	r, err := unpacked(r)
	if err != nil {
		return err
	}
	in, err := pcapng.NewReader(r)
	if err != nil {
		return err
	}
	var d Decoder
	var line []byte
	var flows map[uint32]string
	for {
		raw, err := in.Next()
		if err != nil {
			s.End(in.Statistics)
			for _, i := range in.Interfaces {
				if i.Filter != "" && !slices.Contains(s.filters, i.Filter) {
					s.filters = append(s.filters, i.Filter)
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if s.Packets++; flows == nil {
			flows = names(in.Comments)
		}
		p := d.Decode(in, raw)
		if !o.Quiet {
			line = append(p.Append(line[:0], flows), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		if !o.Check {
			continue
		}
		for _, problem := range s.Check(&p) {
			if problem.Kind == Incomplete {
				fmt.Fprintf(out, "  %v\n", problem)
			} else {
				fmt.Fprintf(out, "  WRONG %v\n", problem)
			}
		}
	}
}

// unpacked returns what gzip has compressed (RFC 1952), or r where it has not.
func unpacked(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" { // an error comes again when it is read
		return in, nil
	}
	return gzip.NewReader(in)
}

// names reads what a capture says of its flows.
func names(comments []string) map[uint32]string {
	flows := map[uint32]string{}
	for _, c := range comments {
		text, ok := strings.CutPrefix(c, "flow ")
		number, name, found := strings.Cut(text, " ")
		if n, err := strconv.ParseUint(number, 10, 24); ok && found && err == nil {
			flows[uint32(n)] = name
		}
	}
	return flows
}
