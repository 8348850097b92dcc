package summary

import (
	"fmt"
	"io"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
)

// shownRepeated is how many utilisations of repetitions are printed.
const shownRepeated = 24

// WriteRepetitions prints the means over repetitions for people: the checks, and the utilisations of links and groups.
func WriteRepetitions(w io.Writer, r *report.Repetitions) error {
	var p terminal.Page
	p.Line("%s: means over %d seeds, and half of their 95 %% confidence intervals", r.Scenario, len(r.Runs))
	if r.Void > 0 {
		p.Line("%d of the runs are void and do not count", r.Void)
	}
	checks := document.NewTable("", []string{"check", "mean", "wanted", "pass", "claim"}, nil)
	rates := document.NewTable("", []string{"utilisation", "mean"}, nil)
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Kind != "check" {
			rates.Add(f.Name, f.Estimate.String())
			continue
		}
		checks.Add(f.Name, f.Estimate.String(), f.Low.Print("%.4g")+" to "+f.High.Print("%.4g"),
			fmt.Sprintf("%d of %d", f.Passed, len(r.Runs)), f.Claim)
	}
	more := max(0, len(rates.Rows)-shownRepeated)
	rates.Rows = rates.Rows[:len(rates.Rows)-more]
	for _, t := range []*document.Table{checks, rates} {
		if len(t.Rows) > 0 {
			p.Line("")
			t.Text(&p, 2)
		}
	}
	if more > 0 {
		p.Line("  and %d more in %s", more, report.SeedsFile)
	}
	_, err := io.WriteString(w, p.String())
	return err
}
