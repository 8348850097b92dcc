package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"fabemu/emu/report"
)

// shownSettings is how many keys of the scenarios WriteTable prints.
const shownSettings = 40

// shownOfKind is how many series of one kind WriteTable prints.
const shownOfKind = 2

// WriteTable prints what Several returns for people, a column for each run: on one page what
// WriteText prints for two. A series has the mean of each run, and in brackets how far it is from
// that of the first, as a share.
func WriteTable(w io.Writer, all []*Comparison) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(out, strings.Join(cells, "\t")) }
	sides := []*Side{&all[0].A}
	for _, c := range all {
		sides = append(sides, &c.B)
	}
	head(row, "", sides, "")
	row()
	if err := writeSettings(row, all); err != nil {
		return err
	}
	writeChecks(row, all)
	writeSeries(row, all)
	for _, c := range all {
		if len(c.Alone) > 0 {
			text := fmt.Sprintf("Only one of %s and %s has %s", c.A.Directory, c.B.Directory, c.Alone[0])
			if more := len(c.Alone) - 1; more > 0 {
				text += fmt.Sprintf(", and %d more", more)
			}
			row(text + ".")
		}
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

// writeSettings prints in which keys the scenarios differ.
func writeSettings(row func(...string), all []*Comparison) error {
	resolved := [][]byte{all[0].resolvedA}
	for _, c := range all {
		resolved = append(resolved, c.resolvedB)
	}
	settings, err := differing(resolved)
	if err != nil || len(settings) == 0 {
		return err
	}
	row(directories("scenario", all)...)
	for i, s := range settings {
		if i == shownSettings {
			row(fmt.Sprintf("and %d more: see %s", len(settings)-i, report.ResolvedFile))
			break
		}
		row(append([]string{strings.Join(s.path, ".")}, s.values...)...)
	}
	row()
	return nil
}

// writeChecks prints the checks that the first run has and another one too.
func writeChecks(row func(...string), all []*Comparison) {
	var ids []string
	for _, c := range all {
		for _, x := range c.Checks {
			ids = append(ids, x.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	row(append(directories("check", all), "outcome", "claim")...)
	for i, id := range ids {
		if slices.Index(ids, id) < i {
			continue
		}
		cells, outcomes, claim := []string{id, ""}, []string{""}, ""
		for _, c := range all {
			value, outcome := "-", "-"
			if at := slices.IndexFunc(c.Checks, func(x Check) bool { return x.ID == id }); at >= 0 {
				x := &c.Checks[at]
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
	row()
}

// writeSeries prints the series that the first run has and another one too, the furthest apart
// first, of each kind some.
func writeSeries(row func(...string), all []*Comparison) {
	type key struct{ kind, name string }
	found := make(map[key][]*Series) // of each comparison, nil where there is none
	var keys []key
	for i, c := range all {
		for j := range c.Series {
			k := key{c.Series[j].Kind, c.Series[j].Name}
			if found[k] == nil {
				found[k] = make([]*Series, len(all))
				keys = append(keys, k)
			}
			found[k][i] = &c.Series[j]
		}
	}
	apart := func(k key) float64 { // the largest share
		most := -1.0
		for _, s := range found[k] {
			if s != nil {
				most = max(most, size(s.Share))
			}
		}
		return most
	}
	differ := slices.DeleteFunc(slices.Clone(keys), func(k key) bool {
		return !slices.ContainsFunc(found[k], func(s *Series) bool { return s == nil || s.RMS != 0 || s.Gaps > 0 })
	})
	slices.SortStableFunc(differ, func(x, y key) int { return cmp.Compare(apart(y), apart(x)) })
	if len(keys) > 0 {
		row(append(directories("series, mean", all), "unit")...)
	}
	rows, ofKind := 0, make(map[string]int)
	for _, k := range differ {
		if ofKind[k.kind]++; ofKind[k.kind] > shownOfKind {
			continue
		}
		rows++
		cells, symbol := []string{k.kind + " " + k.name, ""}, ""
		for _, s := range found[k] {
			cell := "-"
			if s != nil {
				cells[1], symbol = number(s.MeanA), s.Unit
				cell = number(s.MeanB) + " (" + percent(s.Share) + ")"
			}
			cells = append(cells, cell)
		}
		row(append(cells, symbol)...)
	}
	if more := len(differ) - rows; more > 0 {
		row(fmt.Sprintf("and %d more that differ", more))
	}
	if equal := len(keys) - len(differ); equal > 0 {
		row(fmt.Sprintf("%d series are equal in all", equal))
	}
	if len(keys) > 0 {
		row()
	}
}

// directories returns the head of a table: what it is of, and the runs.
func directories(of string, all []*Comparison) []string {
	head := []string{of, all[0].A.Directory}
	for _, c := range all {
		head = append(head, c.B.Directory)
	}
	return head
}
