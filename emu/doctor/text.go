package doctor

import (
	"fmt"
	"io"
	"strings"
)

// width is how many columns the text has at the most, as far as words allow.
const width = 100

// titles of the groups of findings, in their order.
var titles = []struct{ group, title string }{
	{"timing", "Timing"}, {"datagrams", "Datagrams"}, {"computer", "Computer"}, {"rights", "Rights"}, {"tools", "Tools"},
}

// WriteText writes the findings for people, group by group, the advice below what
// it is about, and one line of summary. It fits into 100 columns.
func (r *Report) WriteText(w io.Writer, color bool) error {
	p := Page{Color: color}
	names := 0
	for _, f := range r.Findings {
		names = max(names, len(f.Name))
	}
	for _, t := range titles {
		first := true
		for _, f := range r.Findings {
			if f.Group != t.group {
				continue
			}
			if first {
				p.Title(t.title)
				first = false
			}
			p.finding(&f, names)
		}
	}
	n := map[Grade]int{}
	for _, f := range r.Findings {
		n[f.Grade]++
	}
	p.line("")
	switch {
	case n[Bad] > 0:
		p.line("%s", p.paint(red, fmt.Sprintf("%s, %s", count(n[Bad], "thing")+" in the way of runs", count(n[Warning], "warning"))))
	case n[Warning] > 0:
		p.line("%s", p.paint(yellow, count(n[Warning], "warning")+", nothing in the way of runs"))
	default:
		p.line("%s", p.paint(green, "All is well"))
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// Page is text for people that is being written: titles, and paragraphs of at most
// 100 columns.
type Page struct {
	Color bool // mark with colours
	b     strings.Builder
}

// String returns what was written.
func (p *Page) String() string { return p.b.String() }

// Title begins a part.
func (p *Page) Title(s string) {
	if p.b.Len() > 0 {
		p.line("")
	}
	p.line("%s", p.paint(bold, s))
}

// Paragraph writes text, indented by so many columns and broken between words.
func (p *Page) Paragraph(indent int, s string) {
	for _, l := range wrap(s, width-indent) {
		p.line("%*s%s", indent, "", l)
	}
}

// finding writes one finding; names is the length of the longest name.
func (p *Page) finding(f *Finding, names int) {
	indent := 2 + len(Warning) + 2 + names + 2
	color := map[Grade]string{Good: green, Warning: yellow, Bad: red}[f.Grade]
	for i, l := range wrap(f.Value, width-indent) {
		if i == 0 {
			p.line("  %s%*s  %-*s  %s", p.paint(color, string(f.Grade)), len(Warning)-len(f.Grade), "", names, f.Name, l)
		} else {
			p.line("%*s%s", indent, "", l)
		}
	}
	if f.Advice != "" {
		for i, l := range wrap(f.Advice, width-indent-3) {
			lead := "   "
			if i == 0 {
				lead = "-> "
			}
			p.line("%*s%s%s", indent, "", lead, l)
		}
	}
}

func (p *Page) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.b.WriteByte('\n')
}

// The colours, as terminals number them.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *Page) paint(code, s string) string {
	if !p.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// wrap breaks text between words into lines of at most so many columns; a longer
// word has a line of its own.
func wrap(s string, columns int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(s) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= columns:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
