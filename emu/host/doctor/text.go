package doctor

import (
	"fmt"
	"io"
	"strings"

	"fabemu/emu/base/terminal"
)

// WriteText writes the findings for people: group by group, with the advice below each
// finding, and one line of summary. It fits into 100 columns.
func (r *Report) WriteText(w io.Writer, look terminal.Look) error {
	p := terminal.Page{Look: look}
	colors := map[Grade]terminal.Color{Good: terminal.Green, Warning: terminal.Yellow, Bad: terminal.Red}
	n, names, group := map[Grade]int{}, 0, ""
	for _, f := range r.Findings {
		n[f.Grade]++
		names = max(names, len(f.Name))
	}
	indent := strings.Repeat(" ", 2+len(Warning)+2+names+2)
	for _, f := range r.Findings {
		if f.Group != group {
			group = f.Group
			p.Title(strings.ToUpper(group[:1]) + group[1:])
		}
		grade := p.Paint(colors[f.Grade], string(f.Grade)) + strings.Repeat(" ", len(Warning)-len(f.Grade))
		p.Hang(fmt.Sprintf("  %s  %-*s  ", grade, names, f.Name), indent, f.Value)
		if f.Advice != "" {
			p.Hang(indent+"-> ", indent+"   ", f.Advice)
		}
	}
	p.Line("")
	warnings := terminal.Count(n[Warning], "warning")
	switch {
	case n[Bad] > 0:
		p.Line("%s", p.Paint(terminal.Red, terminal.Count(n[Bad], "thing")+" in the way of runs, "+warnings))
	case n[Warning] > 0:
		p.Line("%s", p.Paint(terminal.Yellow, warnings+", nothing in the way of runs"))
	default:
		p.Line("%s", p.Paint(terminal.Green, "All is well"))
	}
	_, err := io.WriteString(w, p.String())
	return err
}
