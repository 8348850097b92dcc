package terminal

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns returns how many columns s has.
func Columns(s string) int { return utf8.RuneCountInString(s) }

// Left pads s to a number of columns; it returns s if that is longer.
func Left(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-Columns(s)))
}

// Wrap breaks text between words into lines with a maximum number of columns; a longer word has its
// own line. It returns at least one line.
func Wrap(s string, columns int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(s) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case Columns(*last)+1+Columns(word) <= columns:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Shorten cuts s to a number of columns, between two words if one ends near there.
func Shorten(s string, columns int) string {
	r := []rune(s)
	if len(r) <= columns {
		return s
	}
	cut := string(r[:columns-2])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		return cut[:i] + "..."
	}
	return string(r[:columns-3]) + "..."
}

// Count prints a number of things: "1 frame", "2 frames", "2 switches".
func Count[N int | int64](n N, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		thing += "e"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Width is how many columns text has by default.
const Width = 100

// Page is text that is being written. The zero value is empty, and without colours.
type Page struct {
	Look
	b strings.Builder
}

func (p *Page) String() string { return p.b.String() }

// Line writes a line. Spaces at its end are left out.
func (p *Page) Line(format string, args ...any) {
	p.b.WriteString(Harmless(strings.TrimRight(fmt.Sprintf(format, args...), " ")))
	p.b.WriteByte('\n')
}

// Title begins a part.
func (p *Page) Title(s string) { p.Heading(Bold, s) }

// Heading begins a part with a title in a colour, broken between words.
func (p *Page) Heading(c Color, s string) {
	if p.b.Len() > 0 {
		p.Line("")
	}
	for _, l := range Wrap(s, p.Columns()) {
		p.Line("%s", p.Paint(c, l))
	}
}

// Paragraph writes text, indented by a number of columns and broken between words.
func (p *Page) Paragraph(indent int, s string) {
	margin := strings.Repeat(" ", indent)
	p.Hang(margin, margin, s)
}

// Hang writes text, broken between words: the first line begins with first, all others with next,
// which is as wide.
func (p *Page) Hang(first, next, s string) {
	for _, l := range Wrap(s, p.Columns()-Columns(next)) {
		p.Line("%s%s", first, l)
		first = next
	}
}

// own matches the sequences that Page.Paint writes.
var own = regexp.MustCompile("\x1b\\[(0|1|31|32|33)m")

// Harmless returns text in which commands to a terminal are written as in Go, \x1b for an escape:
// names come from files and programs of others. Ends of lines, tabs and colours stay.
func Harmless(s string) string {
	if !strings.ContainsFunc(s, commands) {
		return s
	}
	var b strings.Builder
	for from := 0; from < len(s); {
		to, next := len(s), len(s)
		if at := own.FindStringIndex(s[from:]); at != nil {
			to, next = from+at[0], from+at[1]
		}
		for _, r := range s[from:to] {
			if commands(r) {
				fmt.Fprintf(&b, `\x%02x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		b.WriteString(s[to:next])
		from = next
	}
	return b.String()
}

func commands(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Filter returns a writer that passes text on to w by way of Harmless.
func Filter(w io.Writer) io.Writer { return filter{w} }

type filter struct{ io.Writer }

// Write is the method of io.Writer. Each call has whole letters.
func (f filter) Write(b []byte) (int, error) {
	if !plain(b) && bytes.ContainsFunc(b, commands) {
		if _, err := io.WriteString(f.Writer, Harmless(string(b))); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return f.Writer.Write(b)
}

// plain reports whether b is printable ASCII in lines, as most text is.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' || c > '~' {
			return false
		}
	}
	return true
}
