package limiters

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"fabemu/emu/report"
	"fabemu/emu/study/bench"
	"fabemu/emu/terminal"
)

// RunCase puts a limiter of this program into a case that is not one of the bench, on the
// virtual clock. Where it lets packets start when others did before, clock is what they
// were measured by.
func RunCase(s *Subject, c bench.Case, clock report.Clock) *Result {
	t := draw(&c)
	r := bench.Measure(s.New, c, t.add)
	return &Result{Limiter: s.Name, Note: s.Note, Cases: []Outcome{outcomeOf(&c, clock, "", r, t)}}
}

// WriteTable writes results as a table in Markdown, a limiter a row: how many cases pass on
// each clock, the worst of measures at a steady rate and the largest burst of all cases; and
// notes below it, with what has not passed.
func WriteTable(table, notes io.Writer, results []*Result) error {
	var b, n strings.Builder
	b.WriteString("| limiter | virtual clock | wall clock | steady: rate error over 1000 packets | steady: gaps | steady: withheld | largest burst of what may start | gaps in real time |\n|---|---|---|---:|---:|---:|---:|---:|\n")
	for _, r := range results {
		passed, of := map[report.Clock]int{}, map[report.Clock]int{}
		var worst, steady, wall Outcome
		error, most, withheld := 0.0, 0.0, int64(0)
		for i := range r.Cases {
			o := &r.Cases[i]
			if o.Judged {
				of[o.Clock]++
				if len(o.Faults) == 0 {
					passed[o.Clock]++
				}
			}
			isSteady := strings.HasPrefix(o.Case, "steady/") || len(r.Cases) == 1
			for _, w := range o.Windows {
				if isSteady && w.Packets == 1000 && w.Low.Known() {
					error = max(error, -float64(w.Low), float64(w.High))
				}
			}
			if over := float64(o.BurstBytes) / float64(o.PromisedBytes); over > most {
				most, worst = over, *o
			}
			if isSteady {
				withheld = max(withheld, o.WithheldBytes)
				if o.Gaps.Count > steady.Gaps.Count {
					steady = *o
				}
			}
			if o.Wall != nil && wall.Wall == nil {
				wall = *o
			}
		}
		tally := func(c report.Clock) string {
			if of[c] == 0 {
				return "-"
			}
			return fmt.Sprintf("%d of %d", passed[c], of[c])
		}
		real := "-"
		if wall.Wall != nil {
			real = number(wall.Wall.Gap, 3)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %.2g %% | %s | %d B | %d of %d B | %s |\n",
			r.Limiter, tally(report.VirtualClock), tally(report.WallClock),
			100*error, steady.gaps(), withheld, worst.BurstBytes, worst.PromisedBytes, real)
		if r.Note != "" {
			fmt.Fprintf(&n, "* `%s`: %s.\n", r.Limiter, r.Note)
		}
		for i := range r.Cases {
			if o := &r.Cases[i]; o.Judged && len(o.Faults) > 0 {
				fmt.Fprintf(&n, "  * %s: %s: %s\n",
					o.Case, outcomeText(o.Faults), terminal.Shorten(o.Faults[0].Text, 160))
			}
		}
	}
	_, err := io.WriteString(table, b.String())
	_, err2 := io.WriteString(notes, n.String())
	return errors.Join(err, err2)
}
