package limiters

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fabemu/emu/report"
	"fabemu/emu/terminal"
	"fabemu/wire/unit"
)

// heads are those of the table of cases.
var heads = []string{"case", "packets", "rate error", "gaps", "burst", "promised", "withheld", "reaction",
	"fairness", "outcome"}

// headsDoc says what they are.
const headsDoc = "Rate error: over windows of 100 packets, or 1000 or 10 where that is all there is. Gaps: from start to start over what they are at the rate, 1 % and 99 %. " +
	"Burst: the most bytes that started beside the rate; promised: those that may. Withheld: the most that the rate let through and that did not start. " +
	"Reaction: the longest wait of a packet after a change of the rate."

// row returns the cells of a case.
func (o *Outcome) row() []string {
	if o.trace == nil {
		return []string{o.Case, "-", "-", "-", "-", "-", "-", "-", "-", outcomeText(o.Faults)}
	}
	return []string{
		o.Case, strconv.Itoa(o.Packets), o.rateError(), o.gaps(), bytesText(o.BurstBytes), bytesText(o.PromisedBytes),
		bytesText(o.WithheldBytes),
		durationText(o.ReactionPs), number(o.Fairness, 3), o.outcome(),
	}
}

// outcome says how the case came out.
func (o *Outcome) outcome() string {
	if o.Real != nil && !o.Real.Judged {
		return outcomeText(o.Faults) + "; not timed"
	}
	return outcomeText(o.Faults)
}

// outcomeText says how a case came out.
func outcomeText(faults []Fault) string {
	if len(faults) == 0 {
		return "pass"
	}
	words := ""
	for i, f := range faults {
		if i > 0 {
			words += ", "
		}
		words += string(f.Criterion)
	}
	return words
}

// rateError returns the error of the rate over windows of 100 packets, else of others.
func (o *Outcome) rateError() string {
	for _, n := range []int{100, 1000, 10} {
		i := slices.IndexFunc(o.Windows, func(w Window) bool { return w.Packets == n })
		if i >= 0 && o.Windows[i].Low.Known() {
			return fmt.Sprintf("%s..%s %%", signed(o.Windows[i].Low), signed(o.Windows[i].High))
		}
	}
	return "-"
}

// gaps returns the range of the gaps.
func (o *Outcome) gaps() string {
	if o.Gaps.Count == 0 {
		return "-"
	}
	return number(o.Gaps.P1, 3) + ".." + number(o.Gaps.P99, 3)
}

// signed prints a share in percent.
func signed(n report.Number) string {
	v := 100 * float64(n)
	if math.Abs(v) < 0.005 {
		return "0"
	}
	return fmt.Sprintf("%+.2g", v)
}

// number prints a figure.
func number(n report.Number, digits int) string {
	if !n.Known() {
		return "-"
	}
	return strconv.FormatFloat(float64(n), 'g', digits, 64)
}

// bytesText prints a number of bytes.
func bytesText(n int64) string { return strconv.FormatInt(n, 10) + " B" }

// durationText prints a span to three digits.
func durationText(ps int64) string {
	if ps == 0 {
		return "-"
	}
	d := unit.Duration(ps)
	for _, digit := range []unit.Duration{1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12} {
		if d < 1000*digit {
			return (d / digit * digit).String()
		}
	}
	return d.String()
}

// String says how a limiter kept to the wall clock.
func (w *Wall) String() string {
	return fmt.Sprintf("dilation %d, gaps %s of the ideal (%s under an ideal limiter), %v late, %v for the calls of a packet",
		w.Dilation, number(w.Gap, 3), number(w.GapIdeal, 3), time.Duration(w.LateNs), time.Duration(w.CallsNs))
}

// says is the result in a sentence.
func (r *Result) says() string {
	failed := 0
	for i := range r.Loops {
		if len(r.Loops[i].Faults) > 0 {
			failed++
		}
	}
	for i := range r.Cases {
		if len(r.Cases[i].Faults) > 0 {
			failed++
		}
	}
	n := terminal.Count(len(r.Cases)+len(r.Loops), "case")
	said := fmt.Sprintf("%d of %s failed.", failed, n)
	if failed == 0 {
		said = n + ", all passed."
	}
	switch {
	case r.Verdict != "":
		said = fmt.Sprintf("Ended early: %s. %s", strings.TrimSuffix(r.Verdict, "."), said)
	case r.Partial:
		said = fmt.Sprintf("Ended early, after %s, of which %d failed.", n, failed)
	}
	if slices.ContainsFunc(r.Cases, func(o Outcome) bool { return o.Real != nil && !o.Real.Judged }) {
		said += " Not timed: this computer has something else to do, and an ideal limiter was late too."
	}
	if r.NotRun != nil {
		said += fmt.Sprintf(" Not run: %s.", list(r.NotRun))
	}
	return said
}

// WriteText writes a result for people.
func (r *Result) WriteText(w io.Writer, look terminal.Look) error {
	p := terminal.Page{Look: look}
	title := r.Limiter
	if r.Note != "" {
		title += " (" + r.Note + ")"
	}
	p.Title(title)
	heads, doc := heads, headsDoc
	var rows [][]string
	var faults [][]Fault
	for i := range r.Cases {
		rows, faults = append(rows, r.Cases[i].row()), append(faults, r.Cases[i].Faults)
	}
	if r.Loops != nil {
		heads, doc = loopHeads, loopHeadsDoc
	}
	for i := range r.Loops {
		rows, faults = append(rows, r.Loops[i].row()), append(faults, r.Loops[i].Faults)
	}
	writeRows(&p, heads, rows, faults)
	for i := range rows {
		for _, f := range faults[i] {
			p.Line("")
			p.Line("%s: %s", rows[i][0], f.Around)
		}
	}
	for i := range r.Cases {
		if said := r.Cases[i].Said; said != "" {
			p.Line("")
			p.Paragraph(0, r.Cases[i].Case+": "+said+".")
		}
		if w := r.Cases[i].Wall; w != nil {
			p.Line("  %s: %s", r.Cases[i].Case, w)
		}
	}
	if real := r.realRows(); real != nil {
		p.Line("")
		writeRows(&p, realHeads, real, nil)
		p.Paragraph(0, realHeadsDoc)
	}
	p.Line("")
	p.Paragraph(0, r.says())
	if slices.ContainsFunc(r.Cases, func(o Outcome) bool { return o.Smaller != "" }) {
		p.Paragraph(0,
			"Cases with many packets were made smaller: report.html says by how much, and --packets sets how many.")
	}
	p.Paragraph(0, doc)
	_, err := io.WriteString(w, p.String())
	return err
}

// writeRows writes a table; in the last column is the outcome, if there are any faults.
func writeRows(p *terminal.Page, heads []string, rows [][]string, faults [][]Fault) {
	wide := make([]int, len(heads))
	all := append([][]string{heads}, rows...)
	for _, row := range all {
		for k, cell := range row {
			wide[k] = max(wide[k], terminal.Columns(cell))
		}
	}
	for i, row := range all {
		line := terminal.Left(row[0], wide[0])
		for k, cell := range row[1:] {
			switch {
			case k+2 < len(row) || faults == nil:
				line += "  " + terminal.Right(cell, wide[k+1])
			case i == 0:
				line += "  " + cell
			case len(faults[i-1]) == 0:
				line += "  " + p.Paint(terminal.Green, cell)
			default:
				line += "  " + p.Paint(terminal.Red, cell)
			}
		}
		p.Line("  %s", line)
	}
}

// WriteJSON writes a result for programs.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
