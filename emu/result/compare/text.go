package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/wire/unit"
)

// WriteText prints comparisons with one run for people: the whole of them, or on a page the
// differences; first the results, then the inputs. One comparison has the differences of checks and
// series. Several have a column for each run, where a series has the mean of the run, and in
// brackets its distance from the first run as a share.
func WriteText(w io.Writer, all []*Comparison, whole bool) error {
	t := &text{all: all, whole: whole, runs: []string{"first", "second"}}
	if len(all) > 1 {
		t.runs = []string{all[0].A.Directory}
		for _, c := range all {
			t.runs = append(t.runs, c.B.Directory)
		}
	}
	t.head()
	if all[0].A.Seeds > 0 {
		t.means()
	} else {
		t.checks()
		t.workloads()
		t.series()
	}
	t.inputs()
	for _, c := range all {
		t.alone(c)
	}
	for _, c := range all {
		if c.A.Seeds == 0 {
			t.log(&c.Log, c)
		}
	}
	page := document.Page{Sections: []document.Section{t.Section}}
	return page.WriteText(w, terminal.Look{})
}

// text is the comparison that is being written.
type text struct {
	document.Section
	all   []*Comparison
	whole bool
	runs  []string // the heads of the columns of runs
}

// pair reports whether two runs are compared.
func (t *text) pair() bool { return len(t.all) == 1 }

// table returns a table with a column for each run.
func (t *text) table(first string, others ...string) *document.Table {
	return document.NewTable("", slices.Concat([]string{first}, t.runs, others), nil)
}

// beyond counts the lines that only --all prints.
func (t *text) beyond(more int, kind string) {
	if more > 0 {
		t.Line("and %d more %s: --all", more, kind)
	}
}

// head prints the runs, and the version and the model time where they differ.
func (t *text) head() {
	table := t.table("")
	each := func(name string, always bool, cell func(*Side) string) {
		cells := []string{name, cell(&t.all[0].A)}
		for _, c := range t.all {
			cells = append(cells, cell(&c.B))
		}
		if always || len(slices.Compact(slices.Clone(cells[1:]))) > 1 {
			table.Add(cells...)
		}
	}
	if t.pair() { // else the heads are the directories
		each("directory", true, func(s *Side) string { return s.Directory })
	}
	each("scenario", true, func(s *Side) string { return s.Scenario })
	each("run", true, how)
	each("verdict", true, func(s *Side) string { return string(s.Level) })
	each("version", false, func(s *Side) string { return s.Fabemu })
	each("model time", false, func(s *Side) string { return unit.Text(unit.Time(s.Duration)) })
	t.Add(table)
	for _, c := range t.all {
		for _, warning := range c.Derived {
			t.Line("Warning: %s", warning)
		}
	}
	t.Line("")
}

// how describes a run.
func how(s *Side) string {
	text := string(s.Clock) + " clock"
	if s.Clock == mode.WallClock {
		text += fmt.Sprintf(", dilation %d, %s timing, %s, %s", s.Dilation, s.Timing, s.Link.Over(s.Packing), s.Placement)
	}
	if s.Seeds > 0 {
		text += fmt.Sprintf(", %d seeds", s.Seeds)
	} else {
		text += fmt.Sprintf(", seed %d", s.Seed)
	}
	if s.Partial {
		text += ", partial"
	}
	return text
}

// inputs prints the inputs in which scenarios differ, like ones in one.
func (t *text) inputs() {
	runs := []resolved{t.all[0].resolvedA}
	for _, c := range t.all {
		runs = append(runs, c.resolvedB)
	}
	inputs := t.all[0].Inputs
	if !t.pair() {
		inputs = differing(runs...)
	}
	if len(inputs) == 0 {
		if t.pair() && !t.all[0].Same {
			t.Line("The inputs are the same; the descriptions or the expectations differ: see %s of each.", report.ResolvedFile)
			t.Line("")
		}
		return
	}
	groups := report.Grouped(inputs, func(x *Input) string {
		key := joined(append([]string{x.Path}, x.Values...))
		if t.whole {
			return key
		}
		return alike(key)
	})
	table, shown := t.table("input"), len(groups)
	if !t.whole {
		shown = min(shown, shownInputs)
	}
	for _, like := range groups[:shown] {
		table.Add(append([]string{andLike(like[0].Path, len(like))}, like[0].Values...)...)
	}
	t.Add(table)
	t.beyond(len(groups)-shown, "that differ")
	if n := equal(runs...); n > 0 {
		t.Line("equal: %s", terminal.Count(n, "other input"))
	}
	t.Line("")
}

// checks prints the checks that the first run has and another one too.
func (t *text) checks() {
	ids, more, equal := checkLines(t.all, t.whole)
	if len(ids) == 0 {
		return
	}
	heads := []string{"outcome", "claim"}
	if t.pair() {
		heads = append([]string{"difference"}, heads...)
	}
	table := t.table("check", heads...)
	for _, id := range ids {
		cells, outcomes, claim, difference := []string{id, ""}, []string{""}, "", ""
		for _, c := range t.all {
			value, outcome := "-", "-"
			if k := slices.IndexFunc(c.Checks, func(x Check) bool { return x.ID == id }); k >= 0 {
				x := &c.Checks[k]
				cells[1], outcomes[0], claim = x.A.Print(figure), string(x.OutcomeA), x.Claim
				value, outcome = x.B.Print(figure), string(x.OutcomeB)
				difference = x.Difference.Print(figure)
			}
			cells, outcomes = append(cells, value), append(outcomes, outcome)
		}
		if t.pair() {
			cells = append(cells, difference)
		}
		if same := slices.Compact(slices.Clone(outcomes)); len(same) == 1 {
			outcomes = same
		}
		table.Add(append(cells, strings.Join(outcomes, ", "), claim)...)
	}
	t.Add(table)
	t.beyond(more, "that differ")
	t.beyond(equal, "that are equal")
	t.Line("")
}

// series prints the series that the first run has and another one too.
func (t *text) series() {
	lines, more, equal := seriesLines(t.all, t.whole)
	if len(lines)+equal == 0 {
		return
	}
	table := t.table("series, mean", "unit")
	if t.pair() {
		table = document.NewTable("", []string{"series", "", "RMS", "of itself", "worst", "at", "unit"}, nil)
	}
	for i := range lines {
		if l := &lines[i]; t.pair() {
			table.Add(l.apartCells()...)
		} else {
			table.Add(l.meanCells()...)
		}
	}
	t.Add(table)
	t.beyond(more, "that differ")
	if equal > 0 {
		t.Line("%d series are equal", equal)
	}
	t.Line("")
}

// apartCells are a series of two runs, with the distance between them.
func (l *line) apartCells() []string {
	s, gaps := l.of[0], ""
	if s.Gaps > 0 {
		gaps = fmt.Sprintf("; undefined in one of them at %d instants", s.Gaps)
	}
	in := scaleOf(s.Unit, s.RMS, s.Worst)
	return []string{s.Kind, l.label(), in.print(s.RMS), (100 * s.Share).Print(percent), in.print(s.Worst),
		unit.Text(unit.Time(s.WorstPs)), in.Word + gaps}
}

// scale is the unit of a row of figures.
type scale struct{ metrics.Scale }

// scaleOf returns the unit for some figures: rates are printed in bits per second, in the unit that
// suits the largest, and others as they are.
func scaleOf(symbol string, figures ...report.Number) scale {
	rates := metrics.Rates()
	if symbol != rates.Symbol {
		return scale{metrics.Scale{Base: 1, Word: symbol}}
	}
	largest := 0.
	for _, v := range figures {
		if v.Known() {
			largest = max(largest, math.Abs(float64(v)))
		}
	}
	return scale{rates.Fit(largest)}
}

func (s scale) print(v report.Number) string { return (v / report.Number(s.Base)).Print(figure) }

// meanCells are a series of several runs, with the mean of each.
func (l *line) meanCells() []string {
	cells, symbol, means := []string{l.kind + " " + l.label(), ""}, "", []report.Number{}
	for _, s := range l.of {
		if s != nil {
			symbol, means = s.Unit, append(means, s.MeanA, s.MeanB)
		}
	}
	in := scaleOf(symbol, means...)
	for _, s := range l.of {
		cell := "-"
		if s != nil {
			cells[1] = in.print(s.MeanA)
			cell = in.print(s.MeanB) + " (" + (100 * s.Share).Print(percent) + ")"
		}
		cells = append(cells, cell)
	}
	return append(cells, in.Word)
}

// alone prints the checks and series that only one of two runs has.
func (t *text) alone(c *Comparison) {
	alone, more := aloneLines(c.Alone, t.whole)
	for _, a := range alone {
		if t.pair() {
			t.Line("only one has %s", a)
		} else {
			t.Line("Only one of %s and %s has %s.", c.A.Directory, c.B.Directory, a)
		}
	}
	t.beyond(more, "that only one has")
}

// log prints how far the event logs of two runs agree.
func (t *text) log(l *Log, c *Comparison) {
	switch {
	case !t.pair() && l.State == LogsPart:
		t.Line("Event logs of %s and %s: %s at line %d.", c.A.Directory, c.B.Directory, l.State, l.Line)
	case !t.pair():
		t.Line("Event logs of %s and %s: %s.", c.A.Directory, c.B.Directory, l.State)
	case l.State == LogsEqual:
		t.Line("The event logs are equal.")
	case l.State == LogsPart:
		t.Line("The event logs differ from line %d on:", l.Line)
		t.Line("  first   %s", cmp.Or(l.EventA, ended))
		t.Line("  second  %s", cmp.Or(l.EventB, ended))
	default:
		t.Line("Event logs: %s.", l.State)
	}
}

// The forms of figures.
const (
	figure  = "%.4g"
	percent = "%.3g %%"
)

// ended stands for the event of a log that has ended.
const ended = "(the log has ended)"
