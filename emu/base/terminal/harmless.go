package terminal

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

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
