package terminal

import (
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"plain é\tand\nlines":           "plain é\tand\nlines",
		"\x1b]0;title\a\x1b[2J":         `\x1b]0;title\x07\x1b[2J`,
		"back\b\r\x7f\u009b31m":         `back\x08\x0d\x7f\x9b31m`,
		"\x1b[31mred\x1b[0m \x1b[5mbad": "\x1b[31mred\x1b[0m " + `\x1b[5mbad`,
	} {
		var b strings.Builder
		if _, err := Filter(&b).Write([]byte(text)); err != nil || b.String() != want {
			t.Errorf("%q: %q, %v, want %q", text, b.String(), err, want)
		}
		if got := Harmless(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	var p Page
	p.Line("%s: %s", "a\x1b[2J", "b")
	if got, want := p.String(), `a\x1b[2J: b`+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
