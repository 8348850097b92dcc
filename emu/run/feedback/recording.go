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
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// version is the first line of a recording.
const version = "fabemu recording 1"

// Head describes the origin of a recording.
type Head struct {
	Scenario, Flow, Algorithm string
	Family                    wire.Family
	Line                      unit.Rate     // of the source's line: the highest rate
	Packet                    unit.Size     // length of the flow's packets on the line
	Payload                   unit.Size     // of the packets; 0: not known
	Trip                      unit.Duration // the longest round trip of such a packet in the fabric, without queues; 0: not known
	Hops                      int           // switches on the path
	Begin                     unit.Time     // when the flow becomes active
}

// Entry is an entry of a recording at an instant: what the reaction point was told or, where Input
// is of no kind, what it permits from then on.
type Entry struct {
	At    unit.Time
	Input rp.Input
	Limit Limit
}

// Limit is a number of rp.Limits.
type Limit struct {
	Of    LimitOf
	Value int64
}

// LimitOf is what is limited.
type LimitOf uint8

// What is limited.
const (
	RateLimit   LimitOf = iota // the rate that the limiter was set to, in bits per second
	WindowLimit                // the window, in bytes; 0: none
	CreditLimit                // the credit that is left, in bytes
	limits
)

// Course is how limits change: it keeps those that were last taken in.
type Course struct {
	begun bool
	last  rp.Limits
}

// Take returns what differs from the limits that were last taken in. The first time that is the
// rate, and what else is limited.
func (c *Course) Take(l rp.Limits) (changed [limits]Limit, n int) {
	was, begun := c.last, c.begun
	c.last, c.begun = l, true
	if !begun {
		was = rp.Limits{Rate: -1, Credit: rp.NoCredit}
	}
	add := func(of LimitOf, v, was int64) {
		if v != was {
			changed[n] = Limit{of, v}
			n++
		}
	}
	add(RateLimit, int64(l.Rate), int64(was.Rate))
	add(WindowLimit, int64(l.Window), int64(was.Window))
	add(CreditLimit, int64(l.Credit), int64(was.Credit))
	return changed, n
}

// Recording is the recording of the source of a flow.
type Recording struct {
	Head
	Entries []Entry
	End     unit.Time // of the run
}

// The words for the entries.
const (
	feedbackWord = "feedback"
	sentWord     = "sent"
	demandWord   = "demand"
	endWord      = "end"
)

// limitWords are the words for limits.
var limitWords = [limits]string{"rate", "window", "credit"}

// Writer writes a recording while a run runs. It is a node.Listener.
type Writer struct {
	w      *bufio.Writer
	err    error
	line   []byte
	now    unit.Time // of the last entry
	course Course
}

// NewWriter begins a recording.
func NewWriter(w io.Writer, h Head) *Writer {
	t := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	_, t.err = fmt.Fprintf(t.w, "%s\nscenario %s\nflow %s\nalgorithm %s\nfamily %v\nline %d\npacket %d\n",
		version, h.Scenario, h.Flow, h.Algorithm, h.Family, h.Line, h.Packet)
	if h.Payload > 0 {
		fmt.Fprintf(t.w, "payload %d\n", h.Payload)
	}
	if h.Trip > 0 {
		fmt.Fprintf(t.w, "trip %d\n", h.Trip)
	}
	if h.Hops > 0 {
		fmt.Fprintf(t.w, "hops %d\n", h.Hops)
	}
	fmt.Fprintf(t.w, "begin %d\n\n", h.Begin)
	return t
}

// Told writes down what the reaction point is told.
func (t *Writer) Told(now unit.Time, in rp.Input) {
	switch in.Kind {
	case rp.StartInput:
		t.number(now, sentWord, int64(in.Bytes))
	case rp.DemandInput:
		t.number(now, demandWord, int64(in.Bytes))
	default:
		t.begin(now, feedbackWord)
		t.line = AppendInput(append(t.line, ' '), &in)
		t.end()
	}
}

// Limits writes down which limits have changed.
func (t *Writer) Limits(now unit.Time, l rp.Limits) {
	changed, n := t.course.Take(l)
	for _, x := range changed[:n] {
		t.number(now, limitWords[x.Of], x.Value)
	}
}

// number writes down a word with a number.
func (t *Writer) number(now unit.Time, word string, v int64) {
	t.begin(now, word)
	t.line = strconv.AppendInt(append(t.line, ' '), v, 10)
	t.end()
}

// Close ends the recording at the end of the run, and returns the first error in writing.
func (t *Writer) Close(end unit.Time) error {
	t.begin(end, endWord)
	t.end()
	return errors.Join(t.err, t.w.Flush())
}

func (t *Writer) begin(now unit.Time, word string) {
	t.now = max(t.now, now) // starts have the time of the model, also under actual timing
	t.line = strconv.AppendInt(t.line[:0], int64(t.now), 10)
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
	{"payload", func(p *parser, h *Head, v string) { h.Payload = unit.Size(p.whole("payload", v, 1)) }},
	{"trip", func(p *parser, h *Head, v string) { h.Trip = unit.Duration(p.whole("trip", v, 1)) }},
	{"hops", func(p *parser, h *Head, v string) { h.Hops = int(p.whole("hops", v, 1)) }},
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
	e := Entry{At: at}
	limit := slices.Index(limitWords[:], words[min(1, len(words)-1)])
	switch {
	case len(words) == 3 && limit >= 0:
		e.Limit = Limit{LimitOf(limit), p.whole(words[1], words[2], 0)}
		p.recording.Entries = append(p.recording.Entries, e)
	case len(words) == 3 && (words[1] == sentWord || words[1] == demandWord):
		e.Input = rp.Input{Kind: rp.StartInput, Bytes: unit.Size(p.whole(words[1], words[2], 0))}
		if words[1] == demandWord {
			e.Input.Kind = rp.DemandInput
		}
		p.recording.Entries = append(p.recording.Entries, e)
	case len(words) >= 3 && words[1] == feedbackWord:
		in, err := ParseInput(words[2:])
		if err != nil {
			p.add("%v", err)
		}
		e.Input = in
		p.recording.Entries = append(p.recording.Entries, e)
	case len(words) == 2 && words[1] == endWord:
		p.recording.End, p.ended = at, true
	default:
		p.add("%q: the instant is followed by %s NUMBER, %s KIND KEY=NUMBER..., or %s",
			shorten(strings.Join(words, " ")), strings.Join(append(limitWords[:], sentWord, demandWord), " or "), feedbackWord, endWord)
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
