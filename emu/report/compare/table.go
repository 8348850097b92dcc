package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"fabemu/emu/terminal"
)

// WriteTable prints what Several returns for people, a column for each run: on one page what
// WriteText prints for two. A series has the mean of each run, and in brackets how far it is from
// that of the first, as a share.
func WriteTable(w io.Writer, all []*Comparison, whole bool) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(out, terminal.Harmless(strings.Join(cells, "\t"))) }
	sides := []*Side{&all[0].A}
	for _, c := range all {
		sides = append(sides, &c.B)
	}
	head(row, "", sides)
	for _, c := range all {
		c.warn(row)
	}
	row()
	resolved := [][]byte{all[0].resolvedA}
	for _, c := range all {
		resolved = append(resolved, c.resolvedB)
	}
	inputs, err := differing(resolved)
	if err != nil {
		return err
	}
	writeInputs(row, directories("input", all), inputs, whole)
	writeChecks(row, all, whole)
	writeSeries(row, all, whole)
	for _, c := range all {
		alone, more := aloneLines(c.Alone, whole)
		for _, a := range alone {
			row(fmt.Sprintf("Only one of %s and %s has %s.", c.A.Directory, c.B.Directory, a))
		}
		beyond(row, more, "that only one has")
	}
	for _, c := range all {
		text := "Event logs of " + c.A.Directory + " and " + c.B.Directory + ": " + c.Log.State
		if c.Log.State == LogsPart {
			text += fmt.Sprintf(" at line %d", c.Log.Line)
		}
		row(text + ".")
	}
	return out.Flush()
}

// writeChecks prints the checks that the first run has and another one too.
func writeChecks(row func(...string), all []*Comparison, whole bool) {
	ids, more, equal := checkLines(all, whole)
	if len(ids) == 0 {
		return
	}
	row(append(directories("check", all), "outcome", "claim")...)
	for _, id := range ids {
		cells, outcomes, claim := []string{id, ""}, []string{""}, ""
		for _, c := range all {
			value, outcome := "-", "-"
			if x := c.check(id); x != nil {
				cells[1], outcomes[0], claim = number(x.A), string(x.OutcomeA), x.Claim
				value, outcome = number(x.B), string(x.OutcomeB)
			}
			cells, outcomes = append(cells, value), append(outcomes, outcome)
		}
		if same := slices.Compact(slices.Clone(outcomes)); len(same) == 1 {
			outcomes = same
		}
		row(append(cells, strings.Join(outcomes, ", "), claim)...)
	}
	beyond(row, more, "that differ")
	beyond(row, equal, "that are equal")
	row()
}

// writeSeries prints the series that the first run has and another one too.
func writeSeries(row func(...string), all []*Comparison, whole bool) {
	lines, more, equal := seriesLines(all, whole)
	if len(lines)+equal == 0 {
		return
	}
	row(append(directories("series, mean", all), "unit")...)
	for i := range lines {
		l := &lines[i]
		cells, symbol := []string{l.kind + " " + l.label(), ""}, ""
		for _, s := range l.of {
			cell := "-"
			if s != nil {
				cells[1], symbol = number(s.MeanA), s.Unit
				cell = number(s.MeanB) + " (" + percent(s.Share) + ")"
			}
			cells = append(cells, cell)
		}
		row(append(cells, symbol)...)
	}
	endSeries(row, more, equal)
}

// directories returns the head of a table: what it is of, and the runs.
func directories(of string, all []*Comparison) []string {
	head := []string{of, all[0].A.Directory}
	for _, c := range all {
		head = append(head, c.B.Directory)
	}
	return head
}
