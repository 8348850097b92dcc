package terminal

import (
	"fmt"
	"strings"
)

// Width is how many columns text has by default.
const Width = 100

// Page is text that is being written. The zero value is empty, and without colours.
type Page struct {
	Look
	b strings.Builder
}

// String returns the text.
func (p *Page) String() string { return p.b.String() }

// Line writes a line. Spaces at its end are left out.
func (p *Page) Line(format string, args ...any) {
	p.b.WriteString(Harmless(strings.TrimRight(fmt.Sprintf(format, args...), " ")))
	p.b.WriteByte('\n')
}

// Title begins a part.
func (p *Page) Title(s string) {
	if p.b.Len() > 0 {
		p.Line("")
	}
	p.Line("%s", p.Paint(Bold, s))
}

// Paragraph writes text, indented by so many columns and broken between words.
func (p *Page) Paragraph(indent int, s string) {
	for _, l := range Wrap(s, p.Columns()-indent) {
		p.Line("%*s%s", indent, "", l)
	}
}
