package program

import (
	"fmt"
	"strings"
)

// Fault is a violation of the protocol by a program.
type Fault struct {
	Rule   Rule   // that is broken
	What   string // "gives 5, which is before the instant that it was asked at"
	Asked  string // the last line that it was sent; empty: none was
	Line   string // the line that it has sent, as far as it was read; empty: none
	Stderr string // the end of its standard error
}

// Rule names the breach of a rule of the protocol.
type Rule string

// The breaches.
const (
	NoAnswer       Rule = "no answer in time"
	Malformed      Rule = "a malformed answer"
	Unasked        Rule = "a line without a question"
	EndedEarly     Rule = "it ended early"
	EndedLate      Rule = "it does not end with its input"
	EndedBadly     Rule = "it did not end well"
	NeverStarts    Rule = "no packet starts"
	BeforeQuestion Rule = "an instant before the question"
)

func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString("the program ")
	b.WriteString(f.What)
	if f.Line != "" {
		fmt.Fprintf(&b, "; its line is %q", f.Line)
	}
	if f.Asked != "" {
		fmt.Fprintf(&b, "; the last line to it was %q", f.Asked)
	}
	if f.Stderr != "" {
		fmt.Fprintf(&b, "; its standard error ends with %q", f.Stderr)
	}
	return b.String()
}

// tail keeps the end of the text that is written to it.
type tail struct{ text []byte }

// tailSize is how much of a program's standard error is kept.
const tailSize = 400

// Write keeps the end of b.
func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(b), nil
}
