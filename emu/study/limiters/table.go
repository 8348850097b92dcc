package limiters

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"fabemu/emu/base/terminal"
	"fabemu/emu/run/mode"
	"fabemu/emu/study/limiters/bench"
)

// RunCase puts a limiter of this program into a case of the caller's, on the virtual clock. For a
// limiter that repeats measured starts, clock is the clock of that measurement.
func RunCase(s *Subject, c bench.Case, clock mode.Clock) *Result {
	t := draw(&c)
	r := bench.Measure(s.New, c, t.add)
	return &Result{Limiter: s.Name, Note: s.Note, Cases: []Outcome{outcomeOf(&c, clock, "", r, t)}}
}

// WriteTable writes results as a table in Markdown, a row for each limiter: how many cases pass on
// each clock, the worst of measures at a steady rate and the largest burst of all cases. The notes
// below it list the faults.
func WriteTable(table, notes io.Writer, results []*Result) error {
	t := tableOf("", []string{"limiter", "virtual clock", "wall clock", "rate error over 1000 packets", "gaps", "largest burst, of the bytes allowed"})
	t.Columns[1].Right, t.Columns[2].Right = false, false
	var n strings.Builder
	for _, r := range results {
		if r.Note != "" {
			fmt.Fprintf(&n, "* `%s`: %s.\n", r.Limiter, r.Note)
		}
		passed, of := map[mode.Clock]int{}, map[mode.Clock]int{}
		var worst, steady Outcome
		error, most := 0.0, 0.0
		for i := range r.Cases {
			o := &r.Cases[i]
			switch {
			case !o.Judged:
			case o.Faults == nil:
				of[o.Clock]++
				passed[o.Clock]++
			default:
				of[o.Clock]++
				fmt.Fprintf(&n, "  * %s: %s: %s\n",
					o.Case, outcomeText(o.Faults), terminal.Shorten(o.Faults[0].Text, 160))
			}
			if over := float64(o.BurstBytes) / float64(o.PromisedBytes); over > most {
				most, worst = over, *o
			}
			if !strings.HasPrefix(o.Case, "steady/") && len(r.Cases) > 1 {
				continue
			}
			for _, w := range o.Windows {
				if w.Packets == 1000 && w.Low.Known() {
					error = max(error, -float64(w.Low), float64(w.High))
				}
			}
			if o.Gaps.Count > steady.Gaps.Count {
				steady = *o
			}
		}
		tally := func(c mode.Clock) string {
			if of[c] == 0 {
				return "-"
			}
			return fmt.Sprintf("%d/%d", passed[c], of[c])
		}
		t.Add("`"+r.Limiter+"`", tally(mode.VirtualClock), tally(mode.WallClock), bench.Plain(100*error, 2)+" %",
			steady.gaps(), fmt.Sprintf("%d of %d B", worst.BurstBytes, worst.PromisedBytes))
	}
	_, err := io.WriteString(table, t.Markdown())
	_, err2 := io.WriteString(notes, n.String())
	return errors.Join(err, err2)
}
