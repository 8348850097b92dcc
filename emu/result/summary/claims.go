package summary

import (
	"cmp"
	"slices"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
)

// Row is a claim in a report.
type Row struct {
	report.Judged
	Claim     string // of a run
	Statement string // the claim with its source, as scenario.Basis prints it
	Measured  string
	Value     string
	Accepted  string // the range, as it is judged
	Committed string // when it was committed; empty: unknown
	Null      string // the null result: the value without the scheme; empty: none is stated
	NullWhy   string // its reason, or why there is none
	Because   string // the reason for the outcome
}

// Claims makes a table of the claims of a source and one of our own: a row each, and below it the
// reasons.
func Claims(rows []Row) []document.Block {
	null := slices.ContainsFunc(rows, func(r Row) bool { return r.Null != "" })
	var both [2]*document.Table
	for i, head := range []string{"claim of the source", "our expectation"} {
		both[i] = &document.Table{Label: "Claims: " + head, Words: true, Columns: []document.Column{{Head: head, Wrap: true},
			{Head: "accepted range"}, {Head: "result"}, {Head: "null result"}, {Head: "outcome"}}}
	}
	all := byBasis(rows, both, (*Row).cells)
	for i, t := range all {
		if !null {
			all[i] = t.(*document.Table).Pick(0, 1, 2, 4)
		}
	}
	if len(all) > 1 {
		all = slices.Insert(all, 1, document.In(document.Terminal, document.Line(""))...)
	}
	return all
}

// byBasis adds claims to the first of two tables if a source makes or supports them, and our own to
// the second. It returns those with rows.
func byBasis(rows []Row, both [2]*document.Table, cells func(*Row) []document.Cell) (all []document.Block) {
	for i := range rows {
		t := both[0]
		if rows[i].Basis == scenario.Ours {
			t = both[1]
		}
		t.Rows = append(t.Rows, cells(&rows[i]))
	}
	for _, t := range both {
		if t.Rows != nil {
			all = append(all, t)
		}
	}
	return all
}

// notes is a note, unless there is none.
func notes(lead, text string) []string {
	if text == "" {
		return nil
	}
	return []string{lead + text}
}

// brief makes tables of the first claims for a terminal, with a column for IDs. A claim has two
// lines at most, and columns are as wide as all claims need.
func brief(rows []Row, shown int) []document.Block {
	id, accepted, result := len("id"), 0, 0
	for i := range rows {
		r := &rows[i]
		id, accepted, result = max(id, len(r.ID)), max(accepted, len(r.Accepted)), max(result, len(r.Value))
	}
	table := func(caption, says string) *document.Table {
		return &document.Table{Label: caption, Color: terminal.Bold, Hang: id + 2, Columns: []document.Column{{Head: "id", Least: id},
			{Head: says, Wrap: true, Fill: true, Lines: 2, Least: 20}, {Head: "accepted", Right: true, Least: accepted},
			{Head: "result", Right: true, Least: result}, {Least: len("UNEXPECTED PASS")}}}
	}
	both := [2]*document.Table{table("Claims", "claim of the source"), table("Checks", "expectation")}
	return byBasis(rows[:shown], both, func(r *Row) []document.Cell {
		return []document.Cell{{Text: r.ID}, {Text: r.Claim}, {Text: r.Accepted}, {Text: r.Value},
			{Text: r.Outcome.Word(), Color: r.Outcome.Color(), Notes: notes("", r.Because)}}
	})
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

// Page returns a page that begins with a verdict and a tally of claims; nil: there are none. The
// worse of the two gives the colour at the top.
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

// checksOf returns the checks of a run: those that did not pass come first, the worst before the
// others. shown is how many of them are before a fold.
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
