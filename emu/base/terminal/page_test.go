package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	if diff := cmp.Diff([]string{"one two", "three", "averyverylongword", "é é é é é"}, Wrap("one two  three averyverylongword é é é é é", 9)); diff != "" {
		t.Error(diff)
	}
	if got := Wrap("", 9); len(got) != 1 || got[0] != "" {
		t.Errorf("%q", got)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"short", 9, "short"}, {"averyverylongword", 9, "averyv..."}, {"several words in a row", 16, "several words..."}} {
		if got := Shorten(c.text, c.most); got != c.want {
			t.Errorf("%q in %d columns: %q, not %q", c.text, c.most, got, c.want)
		}
	}
}

func TestPage(t *testing.T) {
	for _, c := range []struct {
		color bool
		want  string
	}{
		{false, "first\n  a line\n\nsecond\n"},
		{true, "\x1b[1mfirst\x1b[0m\n  a line\n\n\x1b[1msecond\x1b[0m\n"},
	} {
		p := Page{Look: Look{Color: c.color}}
		p.Title("first")
		p.Paragraph(2, "a line")
		p.Title("second")
		if diff := cmp.Diff(c.want, p.String()); diff != "" {
			t.Error(diff)
		}
	}
	if got := Count(1, "switch") + ", " + Count(0, "frame") + ", " + Count(int64(2), "switch"); got != "1 switch, 0 frames, 2 switches" {
		t.Error(got)
	}
	if got := Left("é", 3); got != "é  " {
		t.Errorf("%q", got)
	}
}
