package summary

import (
	"cmp"
	"slices"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
)

// Row is a claim in a report.
type Row struct {
	report.Judged
	Statement string // the claim with its source, as scenario.Basis prints it
	Measured  string
	Value     string
	Accepted  string // the range, as it is judged
	Committed string // when it was committed; empty: unknown
	Null      string // the null result: the value without the scheme; empty: none is stated
	NullWhy   string // its reason, or why there is none
	Because   string // the reason for the outcome
}

// Claims makes a table of the claims of a source and one of our own: a row each, and below it the reasons.
func Claims(rows []Row) (tables []document.Part) {
	sourced, ours := report.ByBasis(rows)
	null := slices.ContainsFunc(rows, func(r Row) bool { return r.Null != "" })
	for _, x := range []struct {
		head string
		rows []Row
	}{{"claim of the source", sourced}, {"our expectation", ours}} {
		if len(x.rows) == 0 {
			continue
		}
		t := &document.Table{Label: "Claims: " + x.head, Words: true, Columns: []document.Column{{Head: x.head, Wrap: true},
			{Head: "accepted range"}, {Head: "result"}, {Head: "null result"}, {Head: "outcome"}}}
		for i := range x.rows {
			t.Rows = append(t.Rows, x.rows[i].cells())
		}
		if !null {
			t = t.Pick(0, 1, 2, 4)
		}
		if tables != nil {
			tables = append(tables, document.Only{In: document.Terminal, Part: document.Line("")})
		}
		tables = append(tables, t)
	}
	return tables
}

// notes is a note, unless there is none.
func notes(lead, text string) []string {
	if text == "" {
		return nil
	}
	return []string{lead + text}
}

// brief makes tables of the first checks of a run for a terminal, with a column for IDs. A claim has two lines at most, and
// columns are as wide as all checks need.
func brief(all []report.Check, shown int) (tables []document.Part) {
	id, accepted, result := len("id"), 0, 0
	for i := range all {
		k := &all[i]
		id, accepted, result = max(id, len(k.ID)), max(accepted, len(k.Accepted())), max(result, len(k.Result()))
	}
	sourced, ours := report.ByBasis(all[:shown])
	for _, x := range []struct {
		caption, says string
		checks        []report.Check
	}{{"Claims", "claim of the source", sourced}, {"Checks", "expectation", ours}} {
		if len(x.checks) == 0 {
			continue
		}
		t := &document.Table{Label: x.caption, Color: terminal.Bold, Hang: id + 2, Columns: []document.Column{{Head: "id", Least: id},
			{Head: x.says, Wrap: true, Fill: true, Lines: 2, Least: 20}, {Head: "accepted", Right: true, Least: accepted},
			{Head: "result", Right: true, Least: result}, {Least: len("UNEXPECTED PASS")}}}
		for i := range x.checks {
			k := &x.checks[i]
			t.Rows = append(t.Rows, []document.Cell{{Text: k.ID}, {Text: k.Claim}, {Text: k.Accepted()}, {Text: k.Result()},
				{Text: k.Outcome.Word(), Color: k.Outcome.Color(), Notes: notes("", because(k))}})
		}
		tables = append(tables, t)
	}
	return tables
}

// cells are the row in a table.
func (r *Row) cells() []document.Cell {
	return []document.Cell{
		{Lead: r.ID, Text: r.Statement, Class: "l", Notes: append(notes("Measured: ", r.Measured), notes("Derived: ", r.From)...)},
		{Text: r.Accepted, Mark: "o", Notes: append(notes("Range: ", r.Why), notes("", r.Committed)...)},
		{Text: r.Value, Class: "n"},
		{Text: cmp.Or(r.Null, "–"), Notes: notes("Null result: ", r.NullWhy)},
		{Text: r.Outcome.Word(), Color: r.Outcome.Color(), Mark: "o o-" + string(r.Outcome), Notes: notes("", r.Because)},
	}
}

// Page returns a page that begins with a verdict and a tally of claims; nil: there are none. The worse of the
// two gives the colour at the top.
func Page(title, subtitle string, v *report.Verdict, claims report.Tally) *document.Page {
	p := &document.Page{Title: title, Subtitle: subtitle, Outcome: document.Good,
		Lead: "Verdict: ", Verdict: string(v.Level) + ".", Color: v.Level.Color(), Reason: v.Sentence()}
	if len(claims) > 0 {
		p.Claims = claims.String()
	}
	switch {
	case v.Level == report.Degraded, v.Level == report.Void, claims.Of(report.Fail) > 0:
		p.Outcome = document.Bad
	case v.Level == report.OrderOnly, claims.Of(report.NotMeasured) > 0, claims.Of(report.UnexpectedPass) > 0:
		p.Outcome = document.Fair
	}
	return p
}

// checksOf returns the checks of a run: those that did not pass come first, the worst before the others. shown is
// how many of them are before a fold.
func checksOf(r *report.Result) (sorted []report.Check, shown int, tally report.Tally) {
	order := []report.Outcome{report.Fail, report.NotMeasured, report.UnexpectedPass, report.Differs, report.Pass}
	sorted = slices.Clone(r.Checks)
	slices.SortStableFunc(sorted, func(x, y report.Check) int {
		return cmp.Compare(slices.Index(order, x.Outcome), slices.Index(order, y.Outcome))
	})
	tally = report.Tally{}
	for i := range sorted {
		tally.Add(sorted[i].Basis, sorted[i].Outcome)
		if sorted[i].Outcome != report.Pass {
			shown++
		}
	}
	return sorted, max(shown, min(document.Listed, len(sorted))), tally
}

// because returns the reason for the outcome of a check.
func because(k *report.Check) string {
	if k.Outcome == report.UnexpectedPass {
		return "It was expected to differ: " + k.Reason
	}
	return k.Reason
}
