package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"fabemu/emu/report"
	"fabemu/wire/unit"
)

// shown is how many series WriteText prints.
const shown = 12

// shownLines is how many lines of each scenario it prints.
const shownLines = 3

// WriteText prints a comparison for people.
func WriteText(w io.Writer, c *Comparison) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(out, strings.Join(cells, "\t")) }
	row("", "first", "second")
	note := ""
	if !c.Same {
		note = "(the scenarios are not the same: see " + report.ResolvedFile + " of each)"
	}
	head(row, "directory", []*Side{&c.A, &c.B}, note)
	if len(c.OnlyA)+len(c.OnlyB) > 0 {
		row()
		row("The scenarios differ in:")
		lines(row, "first", c.OnlyA)
		lines(row, "second", c.OnlyB)
	}
	row()
	if len(c.Checks) > 0 {
		row("check", "first", "second", "difference", "outcome", "claim")
		for _, x := range c.Checks {
			outcome := string(x.OutcomeA)
			if x.OutcomeB != x.OutcomeA {
				outcome += ", " + string(x.OutcomeB)
			}
			row(x.ID, number(x.A), number(x.B), number(x.Difference), outcome, x.Claim)
		}
		row()
	}
	c.writeSeries(row)
	for _, a := range c.Alone {
		row("only one has " + a)
	}
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

// writeSeries prints the series that are the furthest apart.
func (c *Comparison) writeSeries(row func(...string)) {
	if len(c.Series) == 0 {
		return
	}
	row("series", "", "RMS", "of itself", "worst", "at", "unit")
	equal := 0
	for i, s := range c.Series {
		if s.RMS == 0 && s.Gaps == 0 {
			equal++
			continue
		}
		if i >= shown {
			continue
		}
		gaps := ""
		if s.Gaps > 0 {
			gaps = fmt.Sprintf("; undefined in one of them at %d instants", s.Gaps)
		}
		row(s.Kind, s.Name, number(s.RMS), percent(s.Share), number(s.Worst), unit.Time(s.WorstPs).String(), s.Unit+gaps)
	}
	if more := len(c.Series) - equal - shown; more > 0 {
		row(fmt.Sprintf("and %d more that differ less", more))
	}
	if equal > 0 {
		row(fmt.Sprintf("%d series are equal", equal))
	}
	row()
}

// head prints what runs were, a column each, and the version and the model time where they
// differ.
func head(row func(...string), directory string, sides []*Side, note string) {
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
	if note != "" {
		row("", "", note)
	}
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

// lines prints lines of one of the scenarios, not more than can be looked through.
func lines(row func(...string), which string, list []string) {
	for i, line := range list {
		if i == shownLines {
			row(fmt.Sprintf("  %-6s  and %d more: see %s", which, len(list)-i, report.ResolvedFile))
			return
		}
		row(fmt.Sprintf("  %-6s  %s", which, line))
	}
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
