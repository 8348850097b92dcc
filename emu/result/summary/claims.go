package summary

import (
	"cmp"
	"slices"

	"fabemu/emu/base/document"
	"fabemu/emu/result/report"
)

// Row is a claim on a page.
type Row struct {
	report.Judged
	Statement                   string // the claim with its source, as scenario.Basis prints it
	Measured, CameOut, Accepted string
	Null                        string // the outcome if nothing works; empty: unstated
}

// Claims makes a table of the claims of a source and one of our own, a row each.
func Claims(rows []Row) (tables []document.Part) {
	sourced, ours := report.ByBasis(rows)
	for _, x := range []struct {
		says string
		rows []Row
	}{{"claim of the source", sourced}, {"expectation", ours}} {
		if len(x.rows) == 0 {
			continue
		}
		t := document.NewTable("", []string{"id", x.says, "came out", "accepted", "outcome"}, nil)
		t.Label, t.Words = "Claims: "+x.says, true
		for i := range x.rows {
			t.Rows = append(t.Rows, x.rows[i].cells())
		}
		tables = append(tables, t)
	}
	return tables
}

// cells are the row in a table.
func (r *Row) cells() []document.Cell {
	accepted := document.Cell{Text: r.Accepted, Class: "l", Mark: "o"}
	if r.Why != "" {
		accepted.Notes = append(accepted.Notes, r.Why)
	}
	if r.Null != "" {
		accepted.Notes = append(accepted.Notes, "If nothing works: "+r.Null)
	}
	outcome := document.Cell{Text: r.Outcome.Word(), Mark: "o o-" + string(r.Outcome)}
	if r.Reason != "" {
		outcome.Notes = append(outcome.Notes, r.Reason)
	}
	return []document.Cell{
		{Text: r.ID, Class: "w"}, {Text: r.Statement, Class: "l", Notes: []string{"Measured: " + r.Measured}},
		{Text: r.CameOut, Class: "n"}, accepted, outcome,
	}
}

// Page returns a page that begins with a verdict and a tally of claims; nil: there are none. The worse of the
// two gives the colour at the top.
func Page(title, subtitle string, v *report.Verdict, claims report.Tally) *document.Page {
	p := &document.Page{Title: title, Subtitle: subtitle, Outcome: document.Good,
		Verdict: "Verdict: " + string(v.Level) + ".", Reason: v.Sentence()}
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
// how many of them stand before a fold.
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
