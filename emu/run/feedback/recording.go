package feedback

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// version is the first line of a recording.
const version = "fabemu recording 1"

// Head describes the origin of a recording.
type Head struct {
	Scenario, Flow, Algorithm string
	Family                    wire.Family
	Line                      unit.Rate // of the source's line: the highest rate
	Packet                    unit.Size // length of the flow's packets on the line
	Begin                     unit.Time // when the flow becomes active
}

// Entry is an entry of a recording at an instant: a frame that the reaction point took in,
// or, where Frame is of no kind, the rate that the limiter was set to.
type Entry struct {
	At    unit.Time
	Frame wire.Frame
	Rate  unit.Rate
}

// Recording is the recording of the source of a flow.
type Recording struct {
	Head
	Entries []Entry
	End     unit.Time // of the run
}

// The words for the entries.
const (
	rateWord     = "rate"
	feedbackWord = "feedback"
	endWord      = "end"
)

// Writer writes a recording while a run runs. It is a node.Listener.
type Writer struct {
	w    *bufio.Writer
	err  error
	line []byte
}

// NewWriter begins a recording.
func NewWriter(w io.Writer, h Head) *Writer {
	t := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	_, t.err = fmt.Fprintf(t.w, "%s\nscenario %s\nflow %s\nalgorithm %s\nfamily %v\nline %d\npacket %d\nbegin %d\n\n",
		version, h.Scenario, h.Flow, h.Algorithm, h.Family, h.Line, h.Packet, h.Begin)
	return t
}

// Feedback writes a frame down.
func (t *Writer) Feedback(now unit.Time, f *wire.Frame) {
	t.begin(now, feedbackWord)
	t.line = AppendFrame(append(t.line, ' '), f)
	t.end()
}

// Rate writes a rate down.
func (t *Writer) Rate(now unit.Time, r unit.Rate) {
	t.begin(now, rateWord)
	t.line = strconv.AppendInt(append(t.line, ' '), int64(r), 10)
	t.end()
}

// Close ends the recording at the end of the run, and returns the first error in writing.
func (t *Writer) Close(end unit.Time) error {
	t.begin(end, endWord)
	t.end()
	return errors.Join(t.err, t.w.Flush())
}

func (t *Writer) begin(now unit.Time, word string) {
	t.line = strconv.AppendInt(t.line[:0], int64(now), 10)
	t.line = append(append(t.line, ' '), word...)
}

func (t *Writer) end() {
	if _, err := t.w.Write(append(t.line, '\n')); err != nil && t.err == nil {
		t.err = err
	}
}

// Parse reads a recording, from the file that name stands for. Its error is a *errs.Mistake
// with all mistakes of the recording, up to mostMistakes, with the lines.
func Parse(name string, text []byte) (*Recording, error) {
	p := parser{name: name, recording: &Recording{}}
	for line := range bytes.Lines(text) {
		p.number++
		p.line(strings.TrimSpace(string(line)))
	}
	p.complete()
	if p.wrong != nil {
		return nil, &errs.Mistake{Err: errors.Join(p.wrong...)}
	}
	return p.recording, nil
}

// mostMistakes is how many mistakes of a recording are reported.
const mostMistakes = 20

type parser struct {
	name      string
	number    int // of the line
	recording *Recording
	seen      []string // keys of the head
	begun     bool     // the first line has been read
	ended     bool
	now       unit.Time
	wrong     []error
}

// add notes a mistake in the line that is read.
func (p *parser) add(format string, args ...any) {
	if len(p.wrong) < mostMistakes {
		p.wrong = append(p.wrong, fmt.Errorf("%s:%d: %s", p.name, p.number, fmt.Sprintf(format, args...)))
	}
}

func (p *parser) line(line string) {
	switch {
	case !p.begun:
		p.begun = true
		if line != version {
			p.add("a recording starts with %q, and this file with %q", version, shorten(line))
		}
	case line == "" || line[0] == '#':
	case p.ended:
		p.add("%q follows the end", shorten(line))
	case line[0] >= '0' && line[0] <= '9' || line[0] == '-':
		p.entry(strings.Fields(line))
	default:
		p.head(line)
	}
}

// heads are the keys of the head, and the functions that take their values.
var heads = []struct {
	key  string
	take func(p *parser, h *Head, value string)
}{
	{"scenario", func(_ *parser, h *Head, v string) { h.Scenario = v }},
	{"flow", func(_ *parser, h *Head, v string) { h.Flow = v }},
	{"algorithm", func(_ *parser, h *Head, v string) { h.Algorithm = v }},
	{"family", func(p *parser, h *Head, v string) { h.Family = p.family(v) }},
	{"line", func(p *parser, h *Head, v string) { h.Line = unit.Rate(p.whole("line", v, 1)) }},
	{"packet", func(p *parser, h *Head, v string) { h.Packet = unit.Size(p.whole("packet", v, 1)) }},
	{"begin", func(p *parser, h *Head, v string) { h.Begin = unit.Time(p.whole("begin", v, 0)) }},
}

// head reads a key and its value.
func (p *parser) head(line string) {
	key, value, _ := strings.Cut(line, " ")
	if key == "law" {
		key = "algorithm" // in recordings of version 0.1.0
	}
	if slices.Contains(p.seen, key) {
		p.add("%s occurs twice", key)
	}
	p.seen = append(p.seen, key)
	var keys []string
	for _, h := range heads {
		if h.key == key {
			h.take(p, &p.recording.Head, value)
			return
		}
		keys = append(keys, h.key)
	}
	p.add("there is no %q: the head has %s, and each other line starts with an instant in ps",
		key, strings.Join(keys, ", "))
}

// family reads a family of fabrics.
func (p *parser) family(text string) wire.Family {
	families := []wire.Family{wire.InfiniBand, wire.Ethernet, wire.RoCEv2}
	for _, f := range families {
		if f.String() == text {
			return f
		}
	}
	p.add("there is no family %q: there are %v, %v and %v", text, families[0], families[1], families[2])
	return 0
}

// whole reads a whole number of at least low.
func (p *parser) whole(what, text string, low int64) int64 {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < low {
		p.add("%s is %q: expected a whole number of %d or more", what, text, low)
		return low
	}
	return v
}

// entry reads an instant and its entry.
func (p *parser) entry(words []string) {
	at := unit.Time(p.whole("the instant", words[0], 0))
	if at < p.now {
		p.add("%d is before the instant of the line before, %d", at, p.now)
	}
	p.now = max(p.now, at)
	switch {
	case len(words) == 3 && words[1] == rateWord:
		p.recording.Entries = append(p.recording.Entries,
			Entry{At: at, Rate: unit.Rate(p.whole(rateWord, words[2], 0))})
	case len(words) >= 3 && words[1] == feedbackWord:
		f, err := ParseFrame(words[2:])
		if err != nil {
			p.add("%v", err)
		}
		p.recording.Entries = append(p.recording.Entries, Entry{At: at, Frame: f})
	case len(words) == 2 && words[1] == endWord:
		p.recording.End, p.ended = at, true
	default:
		p.add("%q: the instant is followed by %s RATE, %s KIND KEY=NUMBER..., or %s",
			shorten(strings.Join(words, " ")), rateWord, feedbackWord, endWord)
	}
}

// complete reports the parts that are missing.
func (p *parser) complete() {
	for _, key := range []string{"line", "packet"} {
		if !slices.Contains(p.seen, key) {
			p.add("the head has no %s", key)
		}
	}
	if !p.ended {
		p.add("the last line is not an instant and %s: the recording is incomplete", endWord)
	}
}

// shorten cuts a line that is quoted.
func shorten(line string) string {
	if r := []rune(line); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return line
}
