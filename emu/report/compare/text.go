package compare

import (
	"fmt"
	"io"
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
	for _, r := range [][3]string{
		{"directory", c.A.Directory, c.B.Directory},
		{"scenario", c.A.Scenario, c.B.Scenario},
		{"run", how(&c.A), how(&c.B)},
		{"verdict", string(c.A.Level), string(c.B.Level)},
	} {
		row(r[0], r[1], r[2])
	}
	if !c.Same {
		row("", "", "(the scenarios are not the same: see "+report.ResolvedFile+" of each)")
	}
	if c.A.Fabemu != c.B.Fabemu {
		row("version", c.A.Fabemu, c.B.Fabemu)
	}
	if c.A.Duration != c.B.Duration {
		row("model time", unit.Time(c.A.Duration).String(), unit.Time(c.B.Duration).String())
	}
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
	if len(c.Series) > 0 {
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
