package doctor

import (
	"fmt"
	"io"

	"fabemu/emu/terminal"
)

// titles of the groups of findings, in their order.
var titles = []struct{ group, title string }{
	{"timing", "Timing"}, {"datagrams", "Datagrams"}, {"computer", "Computer"}, {"rights", "Rights"},
	{"tools", "Tools"},
}

// WriteText writes the findings for people, group by group, the advice below what
// it is about, and one line of summary. It fits into 100 columns.
func (r *Report) WriteText(w io.Writer, look terminal.Look) error {
	p := terminal.Page{Look: look}
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
			finding(&p, &f, names)
		}
	}
	n := map[Grade]int{}
	for _, f := range r.Findings {
		n[f.Grade]++
	}
	p.Line("")
	switch {
	case n[Bad] > 0:
		p.Line("%s", p.Paint(terminal.Red,
			fmt.Sprintf("%s, %s", terminal.Count(n[Bad], "thing")+" in the way of runs", terminal.Count(n[Warning], "warning"))))
	case n[Warning] > 0:
		p.Line("%s", p.Paint(terminal.Yellow, terminal.Count(n[Warning], "warning")+", nothing in the way of runs"))
	default:
		p.Line("%s", p.Paint(terminal.Green, "All is well"))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// finding writes one finding; names is the length of the longest name.
func finding(p *terminal.Page, f *Finding, names int) {
	indent := 2 + len(Warning) + 2 + names + 2
	color := map[Grade]terminal.Color{Good: terminal.Green, Warning: terminal.Yellow, Bad: terminal.Red}[f.Grade]
	for i, l := range terminal.Wrap(f.Value, p.Columns()-indent) {
		if i == 0 {
			p.Line("  %s%*s  %-*s  %s",
				p.Paint(color, string(f.Grade)), len(Warning)-len(f.Grade), "", names, f.Name, l)
		} else {
			p.Line("%*s%s", indent, "", l)
		}
	}
	if f.Advice != "" {
		for i, l := range terminal.Wrap(f.Advice, p.Columns()-indent-3) {
			lead := "   "
			if i == 0 {
				lead = "-> "
			}
			p.Line("%*s%s%s", indent, "", lead, l)
		}
	}
}
