package terminal

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Color is a colour by its number in ECMA-48, section 8.3.117
// (select graphic rendition).
type Color string

// The colours of text; Plain is none.
const (
	Plain  Color = ""
	Bold   Color = "1"
	Red    Color = "31"
	Green  Color = "32"
	Yellow Color = "33"
)

// Is reports whether w is a terminal on which lines can be written over, and which can
// show colours.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// Look is how text is set. The zero value is plain, and as wide as Width.
type Look struct {
	Color bool // mark with colours
	Wide  int  // columns, as far as words allow; 0: Width
}

// LookOf returns the look of text for w: with colours if Colors allows them, and as wide as
// COLUMNS, or else the terminal, or else Width.
func LookOf(w io.Writer) Look {
	l := Look{Color: Colors(w)}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		l.Wide = max(n, narrowest)
	} else if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			l.Wide = max(n, narrowest)
		}
	}
	return l
}

// narrowest is the least width of text: below, tables make no sense.
const narrowest = 40

// Columns returns how many columns a line has.
func (l Look) Columns() int {
	if l.Wide > 0 {
		return l.Wide
	}
	return Width
}

// Colors reports whether text for w may be coloured: w is a terminal, and NO_COLOR is
// not set (no-color.org).
func Colors(w io.Writer) bool { return Is(w) && os.Getenv("NO_COLOR") == "" }

// Paint returns s in a colour, where the page has colours.
func (p *Page) Paint(c Color, s string) string {
	if !p.Color || c == Plain || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}
