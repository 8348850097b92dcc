package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"fabemu/emu/report"
	"fabemu/emu/terminal"
	"fabemu/wire/unit"
)

// WriteText prints a comparison for people: the whole of it, or on a page what differs.
func WriteText(w io.Writer, c *Comparison, whole bool) error {
	all := []*Comparison{c}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(out, terminal.Harmless(strings.Join(cells, "\t"))) }
	row("", "first", "second")
	head(row, "directory", []*Side{&c.A, &c.B})
	c.warn(row)
	row()
	writeInputs(row, []string{"input", "first", "second"}, c.Inputs, whole)
	if !c.Same && len(c.Inputs) == 0 {
		row("The inputs are the same; what is said or expected of them is not: see " + report.ResolvedFile + " of each.")
		row()
	}
	if ids, more, equal := checkLines(all, whole); len(ids) > 0 {
		row("check", "first", "second", "difference", "outcome", "claim")
		for _, id := range ids {
			x := c.check(id)
			outcome := string(x.OutcomeA)
			if x.OutcomeB != x.OutcomeA {
				outcome += ", " + string(x.OutcomeB)
			}
			row(x.ID, number(x.A), number(x.B), number(x.Difference), outcome, x.Claim)
		}
		beyond(row, more, "that differ")
		beyond(row, equal, "that are equal")
		row()
	}
	if len(c.Series) > 0 {
		lines, more, equal := seriesLines(all, whole)
		row("series", "", "RMS", "of itself", "worst", "at", "unit")
		for i := range lines {
			s, gaps := lines[i].of[0], ""
			if s.Gaps > 0 {
				gaps = fmt.Sprintf("; undefined in one of them at %d instants", s.Gaps)
			}
			row(s.Kind, lines[i].label(), number(s.RMS), percent(s.Share), number(s.Worst),
				unit.Time(s.WorstPs).String(), s.Unit+gaps)
		}
		endSeries(row, more, equal)
	}
	alone, more := aloneLines(c.Alone, whole)
	for _, a := range alone {
		row("only one has " + a)
	}
	beyond(row, more, "that only one has")
	switch c.Log.State {
	case LogsEqual:
		row("The event logs are equal.")
	case LogsPart:
		row(fmt.Sprintf("The event logs part at line %d:", c.Log.Line))
		row("  first   " + event(c.Log.EventA))
		row("  second  " + event(c.Log.EventB))
	default:
		row("Event logs: " + c.Log.State + ".")
	}
	return out.Flush()
}

// endSeries prints how many series were not printed.
func endSeries(row func(...string), more, equal int) {
	beyond(row, more, "that differ")
	if equal > 0 {
		row(fmt.Sprintf("%d series are equal", equal))
	}
	row()
}

// check returns a check, or nil if not both runs have it.
func (c *Comparison) check(id string) *Check {
	if i := slices.IndexFunc(c.Checks, func(x Check) bool { return x.ID == id }); i >= 0 {
		return &c.Checks[i]
	}
	return nil
}

// head prints what runs were, a column each, and the version and the model time where they
// differ.
func head(row func(...string), directory string, sides []*Side) {
	each := func(name string, always bool, cell func(*Side) string) {
		cells := []string{name}
		for _, s := range sides {
			cells = append(cells, cell(s))
		}
		if always || len(slices.Compact(slices.Clone(cells[1:]))) > 1 {
			row(cells...)
		}
	}
	each(directory, true, func(s *Side) string { return s.Directory })
	each("scenario", true, func(s *Side) string { return s.Scenario })
	each("run", true, how)
	each("verdict", true, func(s *Side) string { return string(s.Level) })
	each("version", false, func(s *Side) string { return s.Fabemu })
	each("model time", false, func(s *Side) string { return unit.Time(s.Duration).String() })
}

// how says what a run was.
func how(s *Side) string {
	text := string(s.Clock) + " clock"
	if s.Clock == report.WallClock {
		text += fmt.Sprintf(", dilation %d, %s timing, %s, %s", s.Dilation, s.Timing, s.Link, s.Placement)
	}
	text += fmt.Sprintf(", seed %d", s.Seed)
	if s.Partial {
		text += ", partial"
	}
	return text
}

func event(line string) string {
	if line == "" {
		return "(the log has ended)"
	}
	return line
}

func number(n report.Number) string {
	if !n.Known() {
		return "-"
	}
	return fmt.Sprintf("%.4g", float64(n))
}

func percent(n report.Number) string {
	if !n.Known() {
		return "-"
	}
	return fmt.Sprintf("%.3g %%", 100*float64(n))
}
