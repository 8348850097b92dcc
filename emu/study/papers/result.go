package papers

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
)

// Result is the outcome of figures of a paper: the content of claims.json.
type Result struct {
	Fabemu      string         `json:"fabemu"` // version of this program
	Paper       string         `json:"paper"`
	Title       string         `json:"title"`
	Source      string         `json:"source"`
	About       string         `json:"-"` // as the paper's description has it
	Clock       string         `json:"clock"`
	Dilation    int64          `json:"dilation"` // 0 on the virtual clock
	Seeds       int            `json:"seeds"`    // over how many a mean is taken where a figure wants several
	Partial     bool           `json:"partial"`  // ended before its time
	Verdict     report.Verdict `json:"verdict"`  // the worst of the runs
	Figures     []FigureResult `json:"figures"`
	Runs        []RunResult    `json:"runs"`
	Machine     emu.Computer   `json:"machine"`
	WallSeconds report.Number  `json:"wall_seconds"` // null: many calls did the runs

	Directory string `json:"-"` // where it lies; empty when it was not written
}

// FigureResult is the outcome of a figure.
type FigureResult struct {
	Name     string        `json:"name"`
	Source   string        `json:"source"`
	Title    string        `json:"title"`
	Caption  string        `json:"caption"`
	Claims   []ClaimResult `json:"claims"`
	Table    *TableResult  `json:"table,omitempty"`
	Matrix   *MatrixResult `json:"matrix,omitempty"`
	Pictures []Picture     `json:"pictures"`
}

// Picture is a plot that is drawn.
type Picture struct {
	Name   string       `json:"name"` // of the file, without the extension
	Title  string       `json:"title"`
	Figure plot.Drawing `json:"-"`
}

// ClaimResult is a claim with its outcome.
type ClaimResult struct {
	report.Judged               // of a value in shares from 0 to 1, or in seconds
	Says          string        `json:"says"`
	Measured      string        `json:"measured"`
	Unit          Unit          `json:"unit"`
	Above         bool          `json:"above,omitempty"` // the low end itself is outside of the range
	Below         bool          `json:"below,omitempty"` // the high end itself is
	Range         Range         `json:"range,omitzero"`  // when low and high were committed
	Deviation     report.Number `json:"deviation"`       // standard deviation over the seeds
	Seeds         int           `json:"seeds"`
	Outside       int           `json:"seeds_outside"` // of the seeds, those whose value is not in the range
	Null          *NullResult   `json:"null_result,omitempty"`
}

// TableResult is a table of statements and choices.
type TableResult struct {
	Title   string      `json:"title"`
	Columns []string    `json:"columns"`
	Rows    []RowResult `json:"rows"`
	Note    string      `json:"note"`
}

// RowResult is a statement under each choice.
type RowResult struct {
	Says     string        `json:"says"`
	Measured string        `json:"measured"`
	Source   string        `json:"source"`
	Cells    []ClaimResult `json:"cells"`
}

// statement returns the statement of a row, with its source.
func (r *RowResult) statement() string { return strings.TrimPrefix(r.Source+": "+r.Says, ": ") }

// heading is the start of a row in a table of choices: the statement, and the measurement where
// there is one.
func (r *RowResult) heading() string {
	return strings.TrimSuffix(r.statement()+" ("+r.Measured+")", " ()")
}

// RunResult is a run that figures were taken of.
type RunResult struct {
	Run         string         `json:"run"` // the scenario and its changes
	Seed        uint64         `json:"seed"`
	Dilation    int64          `json:"dilation"`
	DurationPs  int64          `json:"duration_ps"`
	Verdict     report.Verdict `json:"verdict"`
	Digest      string         `json:"digest,omitempty"` // of its event log; empty: none was asked for
	WallSeconds report.Number  `json:"wall_seconds"`

	Resolved []byte `json:"-"`
}

// verdictOf returns the worst verdict of the runs.
func verdictOf(runs []RunResult) report.Verdict {
	if len(runs) == 0 {
		return report.Verdict{Level: report.Void, Reason: "nothing was run to its end", Figures: report.NoFigures()}
	}
	badness := func(x RunResult) int { return slices.Index(report.Levels(), x.Verdict.Level) }
	worst := slices.MaxFunc(runs, func(a, b RunResult) int { return cmp.Compare(badness(a), badness(b)) }).Verdict
	n := 0
	for i := range runs {
		if runs[i].Verdict.Level == worst.Level {
			n++
		}
	}
	if n < len(runs) {
		worst.Reason = fmt.Sprintf("%d of %d runs: %s", n, len(runs), worst.Reason)
	}
	return worst
}

// stamp returns the text in the corner of a picture: the verdict where timing limits the picture.
func (r *Result) stamp() string {
	var parts []string
	if r.Verdict.Level != report.Virtual {
		parts = append(parts, fmt.Sprintf("verdict: %s; dilation %d", r.Verdict.Level, r.Dilation))
	}
	if r.Partial {
		parts = append(parts, "ended before its time")
	}
	return strings.Join(parts, "; ")
}

// runsIn returns the number of runs in words, and the time that they took where it was measured.
func (r *Result) runsIn() string {
	s := fmt.Sprintf("%d runs", len(r.Runs))
	if r.WallSeconds.Known() {
		s += fmt.Sprintf(" in %.0f s", float64(r.WallSeconds))
	}
	return s
}

// Tally counts the outcomes of the claims.
func (r *Result) Tally() report.Tally {
	t := report.Tally{}
	for _, f := range r.Figures {
		for i := range f.Claims {
			if c := &f.Claims[i]; c.Null == nil || c.Null.None != "" {
				t.AddBare(c.Basis, c.Outcome)
			} else {
				t.Add(c.Basis, c.Outcome)
			}
		}
	}
	return t
}

// Result prints the value, with its deviation over the seeds.
func (c *ClaimResult) Result() string {
	s := c.print(float64(c.Value), 3)
	if c.Seeds > 1 && c.Value.Known() {
		scale := c.Unit.scale()
		deviation := scale * float64(c.Deviation)
		if deviation < roundings*math.Abs(scale*float64(c.Value)) {
			deviation = 0
		}
		s += " ± " + strconv.FormatFloat(deviation, 'g', 2, 64)
	}
	if c.Seeds > 1 && c.Outside > 0 {
		s += fmt.Sprintf("; %d of %d outside", c.Outside, c.Seeds)
	}
	return s
}

// because is the reason as a sentence.
func (c *ClaimResult) because() string {
	lead := map[report.Outcome]string{
		report.Differs: "It differs", report.UnexpectedPass: "It was expected to differ", report.NotMeasured: "It was not measured",
	}[c.Outcome]
	return cmp.Or(lead, "It failed") + ": " + c.Reason
}

// judged reports whether there is a range.
func (c *ClaimResult) judged() bool { return c.Low.Known() || c.High.Known() }

// Accepted prints the range as it is judged: to so many digits that 1.0525 is not 1.05.
func (c *ClaimResult) Accepted() string {
	low, high := float64(c.Low), float64(c.High)
	bound := func(v float64) string { return c.print(v, 6) }
	from, to := "at least ", "at most "
	if c.Above {
		from = "above "
	}
	if c.Below {
		to = "below "
	}
	switch lowless, highless := !c.Low.Known(), !c.High.Known(); {
	case lowless && highless:
		return "any"
	case lowless:
		return to + bound(high)
	case highless:
		return from + bound(low)
	case bound(low) == bound(high): // but for the rounding of floats
		return bound(low)
	case c.Above || c.Below:
		return from + bound(low) + ", " + to + bound(high)
	}
	return strings.TrimSuffix(bound(low), " "+string(c.Unit)) + " to " + bound(high)
}

// print prints a value in the unit of the claim, to so many digits that count.
func (c *ClaimResult) print(v float64, count int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "undefined"
	}
	return strings.TrimSpace(digits(c.Unit.scale()*v, count) + " " + string(c.Unit))
}

// digits prints a figure to so many digits that count, and not more than one more after
// the point.
func digits(v float64, count int) string {
	n := count - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	if v == 0 || n > count+1 {
		n = count + 1
	}
	s := strconv.FormatFloat(v, 'f', max(0, n), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		s = "0"
	}
	return s
}

// WriteCSV writes the claims as a table, one row a claim.
func (r *Result) WriteCSV(w io.Writer) error {
	rows := [][]string{{"figure", "id", "basis", "source", "says", "from", "measured", "unit", "value", "deviation", "seeds",
		"low", "high", "outcome", "why", "reason", "verdict", "accepted", "null_result", "committed"}}
	for _, f := range r.Figures {
		for i := range f.Claims {
			c := &f.Claims[i]
			low, null := c.Low, ""
			if low == positive {
				low = 0 // the accepted range is "above 0"
			}
			if c.Null != nil {
				null = c.Null.value(c) + ": " + c.Null.why()
			}
			rows = append(rows, []string{f.Name, c.ID, string(c.Basis), c.Source, c.Says, c.From, c.Measured, string(c.Unit), c.Value.Cell(figureDigits),
				c.Deviation.Cell(figureDigits), strconv.Itoa(c.Seeds), low.Cell(figureDigits), c.High.Cell(figureDigits), string(c.Outcome), c.Why, c.Reason,
				string(r.Verdict.Level), c.Accepted(), null, string(c.Range.When)})
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// figureDigits is how many digits figures have in tables for programs.
const figureDigits = 10

// WriteJSON writes claims.json.
func (r *Result) WriteJSON(w io.Writer) error { return report.WriteJSON(w, r) }
