package limiters

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/study/limiters/bench"
	"fabemu/wire/unit"
)

// heads are the heads of the table of cases.
var heads = []string{"case", "packets", "rate error", "gaps", "burst", "promised", "withheld", "reaction",
	"fairness", "outcome"}

// headsDoc explains them.
const headsDoc = "Rate error: over windows of 100 packets, else of 1000 or 10. Gaps: the times from start to start over the time at the rate, 1 % and 99 %. " +
	"Burst: the most bytes that started above the rate; promised: the bytes that may. Withheld: the most bytes that the rate permitted and that did not start. " +
	"Reaction: the longest wait of a packet after a change of the rate."

// entry is a case or a loop of a result.
type entry struct {
	cells  []string // of its row
	faults []Fault
	timed  bool
}

// entries returns the cases and loops of a result.
func (r *Result) entries() (all []entry) {
	for i := range r.Cases {
		all = append(all, entry{r.Cases[i].row(), r.Cases[i].Faults, r.Cases[i].timed()})
	}
	for i := range r.Loops {
		all = append(all, entry{r.Loops[i].row(), r.Loops[i].Faults, true})
	}
	return all
}

// table returns the table of cases, or the table of the loops of a reaction point.
func (r *Result) table() *document.Table {
	t := tableOf("Cases", heads)
	if r.Loops != nil {
		t = tableOf("Loops with a bottleneck", loopHeads)
	}
	outcome := len(t.Columns) - 1
	t.Columns[outcome].Right = false
	for i, x := range r.entries() {
		t.Add(x.cells...)
		cell := &t.Rows[i][outcome]
		switch {
		case x.faults != nil:
			cell.Color, cell.Mark = terminal.Red, "o o-fail"
		case !x.timed:
			cell.Color, cell.Mark = terminal.Yellow, "o o-differs"
		default:
			cell.Color, cell.Mark = terminal.Green, "o o-pass"
		}
		for k := range t.Rows[i] {
			t.Rows[i][k].Class = "w"
		}
	}
	return t
}

// tableOf returns a table whose first column begins at the left, and the others end at the right.
func tableOf(caption string, heads []string) *document.Table {
	t := document.NewTable(caption, heads, nil)
	for i := range t.Columns[1:] {
		t.Columns[i+1].Right = true
	}
	return t
}

// row returns the cells of a case.
func (o *Outcome) row() []string {
	if o.trace == nil {
		return []string{o.Case, "-", "-", "-", "-", "-", "-", "-", "-", outcomeText(o.Faults)}
	}
	outcome := outcomeText(o.Faults)
	if !o.timed() {
		outcome += "; not timed"
	}
	return []string{
		o.Case, strconv.Itoa(o.Packets), o.rateError(), o.gaps(), bytesText(o.BurstBytes), bytesText(o.PromisedBytes),
		bytesText(o.WithheldBytes), durationText(o.ReactionPs), number(o.Fairness, 3), outcome,
	}
}

// timed reports whether the machine had the time for the measurement in real time, if there is one.
func (o *Outcome) timed() bool { return o.Real == nil || o.Real.Judged }

// outcomeText names the criteria of faults, and where another program has failed the rule that it
// broke.
func outcomeText(faults []Fault) string {
	if len(faults) == 0 {
		return "pass"
	}
	var words []string
	for _, f := range faults {
		word := string(f.Criterion)
		if f.Rule != "" {
			word += " (" + f.Rule + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// rateError returns the error of the rate over windows of 100 packets, else over other windows.
func (o *Outcome) rateError() string {
	for _, n := range []int{100, 1000, 10} {
		i := slices.IndexFunc(o.Windows, func(w Window) bool { return w.Packets == n })
		if i >= 0 && o.Windows[i].Low.Known() {
			if !o.Windows[i].High.Known() { // some packets start at once
				return fmt.Sprintf("above %s %%", signed(o.Windows[i].Low))
			}
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
	return bench.Signed(v, 2)
}

// number prints a figure.
func number[N ~float64](n N, digits int) string {
	if !report.Number(n).Known() {
		return "-"
	}
	return bench.Plain(float64(n), digits)
}

// bytesText prints a number of bytes.
func bytesText(n int64) string { return strconv.FormatInt(n, 10) + " B" }

// durationText prints a span of picoseconds, cut off after three digits.
func durationText(ps int64) string {
	if ps == 0 {
		return "-"
	}
	d := unit.Duration(ps)
	for digit := unit.Duration(1); digit <= unit.Second; digit *= 10 {
		if d < 1000*digit {
			return unit.Text(d / digit * digit)
		}
	}
	return unit.Text(d)
}

// causeText returns a probable cause as a sentence.
func causeText(c bench.Cause) string {
	return "Probable cause: " + c.Text + ". Evidence: " + c.Evidence + "."
}

// summary returns the result in a few sentences.
func (r *Result) summary() string {
	failed, entries := 0, r.entries()
	for _, x := range entries {
		if x.faults != nil {
			failed++
		}
	}
	n := terminal.Count(len(entries), "case")
	text := fmt.Sprintf("%d of %s failed.", failed, n)
	if failed == 0 {
		text = n + ", all passed."
	}
	switch {
	case r.Verdict != "":
		text = fmt.Sprintf("Ended early: %s. %s", strings.TrimSuffix(r.Verdict, "."), text)
	case r.Partial:
		text = fmt.Sprintf("Ended early, after %s, of which %d failed.", n, failed)
	}
	if !r.Timed() {
		text += " Not timed: this machine is busy, and an ideal limiter was late, too."
	}
	if r.NotRun != nil {
		text += fmt.Sprintf(" Not run: %s.", strings.Join(r.NotRun, ", "))
	}
	return text
}

// WriteJSON writes a result for programs.
func (r *Result) WriteJSON(w io.Writer) error { return report.WriteJSON(w, r) }
