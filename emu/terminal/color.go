package terminal

import (
	"io"
	"os"
)

// Color is how a terminal is told of a colour: the number of ECMA-48, section 8.3.117
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
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Colors reports whether text for w may be coloured: w is a terminal, and NO_COLOR is
// not set (no-color.org).
func Colors(w io.Writer) bool { return Is(w) && os.Getenv("NO_COLOR") == "" }

// Paint returns s in a colour, where the page has colours.
func (p *Page) Paint(c Color, s string) string {
	if !p.Color || c == Plain {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}
