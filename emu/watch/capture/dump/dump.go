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

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
)

// Options select the lines that are printed.
type Options struct {
	// Verify the frames, as far as the capture allows.
	Check bool `flag:"check"`
	// Print only the problems that --check finds.
	Quiet bool `flag:"quiet"`
	// Print the links that each packet of these flows has crossed, instead of frames.
	//
	// FLOW is a name of a flow or a group, or a queue pair. At the end comes how many packets have
	// taken each path.
	Path []string `flag:"path" arg:"FLOW,..."`
}

// Summary is the result of reading a capture.
type Summary struct {
	Packets int
	*Checker

	decoder Decoder
	paths   *pathsOf // nil: they are not wanted
	title   string   // of the section
	part    int      // its number, of a capture in several files
	unknown string   // the first link type that is not known
	filters []string // the filters of the interfaces, in words
}

// Problems returns how many problems were found.
func (s *Summary) Problems() int {
	n := 0
	for _, k := range s.Found {
		n += k
	}
	return n
}

// Text prints the checks and their results.
func (s *Summary) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	words := map[Kind]string{
		Reading: "packets", Checksum: "packets that were captured whole",
		Credit:   "frames against their credit",
		Sequence: "numbers that follow another", PauseKept: "frames of ports that were paused before",
		Deliveries: "packets and ACKs from end to end",
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
	s.disorder(out)
	return out.Flush()
}

// Dump prints a capture: a file, which may be compressed by gzip, or several which follow one
// another. Offsets count uncompressed bytes. A *pcapng.Error is an error in a file; the
// packets in front of it were printed.
func Dump(w io.Writer, o Options, files ...io.Reader) (*Summary, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	s := &Summary{Checker: NewChecker()}
	if len(o.Path) > 0 {
		s.paths = &pathsOf{names: o.Path}
	}
	for i, r := range files {
		if err := s.dump(out, r, o); err != nil {
			if len(files) > 1 {
				err = fmt.Errorf("file %d: %w", i+1, err)
			}
			return s, errors.Join(err, out.Flush())
		}
	}
	if s.paths != nil {
		if err := s.paths.end(out, s); err != nil {
			return s, errors.Join(err, out.Flush())
		}
	}
	err := out.Flush()
	if o.Check && s.Packets > 0 && s.Gaps[NoReader] == s.Packets {
		err = errors.Join(err, fmt.Errorf("no packet could be checked: %s is not one of Ethernet (1), IP (101), Linux cooked (113, 276), ERF (197, with InfiniBand or Ethernet) and InfiniBand (247)", s.unknown))
	}
	return s, err
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
	var line []byte
	section := 0
	for {
		raw, err := s.decoder.next(in)
		if err != nil {
			s.end(in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if s.names.flows == nil || in.Section > section {
			section = in.Section
			if err := s.begin(in); err != nil {
				return err
			}
		}
		s.Packets++
		p := s.decoder.Decode(in, raw)
		if p.Unknown && s.unknown == "" {
			s.unknown = p.Other
		}
		if s.paths != nil {
			if err := s.paths.take(out, s, &p, in); err != nil {
				return err
			}
		} else if !o.Quiet {
			line = append(p.Append(line[:0], s.names), '\n')
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

// begin takes the comments of a section. Another capture begins with nothing known; the next part
// of the same capture continues.
func (s *Summary) begin(in *pcapng.Reader) error {
	s.names = namesOf(in)
	s.layout = layoutOf(in, s.names)
	title, part := "", 0
	for i, c := range in.Comments {
		if i == 0 {
			title = c
		}
		if text, ok := strings.CutPrefix(c, "part "); ok {
			part, _ = strconv.Atoi(text) // 0 if that is not a number
		}
	}
	if part > 0 && (part != s.part+1 || part > 1 && title != s.title) {
		s.forgetAll()
		if part > 1 {
			s.Gaps[NoBegin]++
		}
	}
	s.title, s.part = title, part
	if s.paths != nil {
		return s.paths.section(s.names)
	}
	return nil
}

// end takes the statistics and the filters at the end of a file.
func (s *Summary) end(in *pcapng.Reader) {
	s.End(in.Statistics)
	for _, i := range in.Interfaces {
		if i.Filter != "" && !slices.Contains(s.filters, i.Filter) {
			s.filters = append(s.filters, i.Filter)
		}
	}
}

// unpacked returns the bytes that gzip has compressed (RFC 1952), or r if it has not.
func unpacked(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" { // an error is received again when it is read
		return in, nil
	}
	return gzip.NewReader(in)
}

// Names are the names of flows in a capture, by queue pair, and of nodes, by LID.
type Names struct {
	flows map[uint32]string
	nodes map[wire.LID]string
}

// namesOf reads the names of flows and nodes in a capture.
func namesOf(in *pcapng.Reader) Names {
	n := Names{map[uint32]string{}, map[wire.LID]string{}}
	for _, c := range in.Comments {
		text, ok := strings.CutPrefix(c, "flow ")
		number, name, found := strings.Cut(text, " ")
		if qp, err := strconv.ParseUint(number, 10, 24); ok && found && err == nil {
			n.flows[uint32(qp)] = name
		}
	}
	for _, name := range in.Names {
		if lid, ok := wire.MAC(name.MAC).LID(); ok {
			n.nodes[lid] = name.Text
		}
	}
	return n
}
