package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/study/campaign"
	"fabemu/wire/unit"
)

// Kind is the kind of campaign that a sweep is.
const Kind = "sweep"

// TableFile is the table of a sweep, with a row for each run. MeansFile has one row for all
// repetitions of a run.
const (
	TableFile = "sweep.csv"
	MeansFile = "means.csv"
)

// Options are the settings of a call.
type Options struct {
	Share campaign.Share // which cells are done
	// Number of runs at a time (default: one for each CPU).
	Jobs  int  `flag:"jobs" group:"Runs" arg:"N" needs:"clock=virtual" low:"1" high:"4096"`
	Force bool // do all cells again, and write even into a directory with other files
	Style plot.Style
	// Progress, if not nil, is called when a cell is done, one call at a time.
	Progress func(campaign.Status)
	// Warn, if not nil, gets the warnings about probable mistakes, before a cell is done.
	Warn func(text string)
	// Say, if not nil, gets what the schemes of a sweep have in common and what not, before a cell
	// is done.
	Say func(text string)
}

// Cell is the result of one combination.
type Cell struct {
	ID      string         `json:"-"`      // as in campaign.Cell
	Number  int            `json:"-"`      // as in campaign.Cell
	Values  []string       `json:"values"` // of the axes, in order
	Level   report.Level   `json:"level"`
	Figures []seeds.Figure `json:"figures"`

	Samples []seeds.Sample `json:"samples,omitempty"` // of the workloads, with Plan.Seeds
}

// Run does the unfinished cells of a plan that Options.Share selects, and
// returns their results. If these are all cells, it writes the table and the figures into
// the directory; for a share, Draw does. When ctx is done, Run stops, keeps finished cells, and
// returns the error of ctx. A fault of the plan, the share or the directory is a
// *emu.Mistake; then nothing is run, and if the plan is wrong, the directory is not touched.
func Run(ctx context.Context, p Plan, dir string, o Options) ([]Cell, error) {
	l, share, err := p.begun(&o)
	if err != nil {
		return nil, err
	}
	d, err := campaign.Claim(dir, &l.plan, o.Mode())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	cells, err := l.do(ctx, d, share, &o)
	if err != nil || !o.Share.All() {
		return cells, err
	}
	return cells, l.drawAll(d, cells, &o.Style)
}

// Do does the same in a directory that is claimed for a campaign of which the plan is a part, and
// draws nothing.
func Do(ctx context.Context, p Plan, d *campaign.Directory, o Options) ([]Cell, error) {
	l, share, err := p.begun(&o)
	if err != nil {
		return nil, err
	}
	return l.do(ctx, d, share, &o)
}

// Collect returns the finished cells of a plan in such a directory, and the missing ones.
func Collect(p Plan, d *campaign.Directory) (cells []Cell, missing []campaign.Cell, err error) {
	l, err := p.lay("")
	if err != nil {
		return nil, nil, &emu.Mistake{Err: err}
	}
	return l.collect(d)
}

// collect returns the finished cells, and the missing ones.
func (l *layout) collect(d *campaign.Directory) (cells []Cell, missing []campaign.Cell, err error) {
	results, err := campaign.Results[Cell](d, l.plan.Cells)
	if err != nil {
		return nil, nil, err
	}
	return l.take(l.plan.Cells, results)
}

// Mode is how a call takes its directory.
func (o *Options) Mode() campaign.Mode {
	switch {
	case o.Force:
		return campaign.Anew
	case !o.Share.All():
		return campaign.Part
	}
	return campaign.Everything
}

// begun lays a plan out, with the cells that a call does.
func (p *Plan) begun(o *Options) (*layout, []campaign.Cell, error) {
	l, err := p.lay(o.Share.Cell)
	var share []campaign.Cell
	if err == nil {
		share, err = o.Share.Pick(l.plan.Cells)
	}
	switch {
	case err != nil:
	case o.Style.Check() != nil:
		err = o.Style.Check()
	case o.Jobs < 0:
		err = fmt.Errorf("%d runs at a time: at least one is required", o.Jobs)
	case o.Force && !o.Share.All():
		err = errors.New("a share cannot repeat cells: only a call that does all of them can")
	}
	if err != nil {
		return nil, nil, &emu.Mistake{Err: err}
	}
	return l, share, nil
}

// do does cells, and says before what may be wrong with them, and afterwards which figures they do
// not have.
func (l *layout) do(ctx context.Context, d *campaign.Directory, share []campaign.Cell, o *Options) ([]Cell, error) {
	if o.Warn != nil {
		for _, text := range append(l.unfair(), l.derivedApart()...) {
			o.Warn(text)
		}
		if parts := l.differing(); parts != nil {
			o.Warn("the schemes differ in more than their algorithms, markings and transports: in " + strings.Join(parts, ", "))
		}
	}
	if text := l.compared(); text != "" && o.Say != nil {
		o.Say(text)
	}
	jobs := o.Jobs
	if l.Clock != string(emu.VirtualClock) {
		jobs = 1 // they would disturb each other
	}
	do := func(ctx context.Context, c *campaign.Cell) (*Cell, error) {
		return l.run(ctx, l.cells[c.ID])
	}
	done, err := campaign.Do(ctx, d, share, campaign.Options{Workers: jobs, Progress: o.Progress}, do)
	if err != nil {
		return nil, err
	}
	cells, _, err := l.take(share, done)
	if err != nil {
		return nil, err
	}
	if o.Warn != nil {
		for _, text := range undefined(cells) {
			o.Warn(text)
		}
	}
	return cells, nil
}

// undefined returns a warning for each undefined metric: in how many cells it is undefined, and why
// in the first of them.
func undefined(cells []Cell) (all []string) {
	for _, k := range columns(cells) {
		n, why := 0, ""
		for i := range cells {
			if f := cells[i].of(k.name); f.Why != "" {
				n, why = n+1, cmp.Or(why, f.Why)
			}
		}
		if n > 0 {
			all = append(all, fmt.Sprintf("%s is undefined in %d of %d runs: %s", k.name, n, len(cells), why))
		}
	}
	return all
}

// Draw writes the table and the figures of the finished cells into the directory, and
// returns these cells and the missing ones. If all are missing, it writes nothing, because existing
// tables may belong to another sweep. Mistakes are as in Run.
func Draw(p Plan, dir string, style plot.Style) (cells []Cell, missing []campaign.Cell, err error) {
	l, err := p.lay("")
	if err != nil {
		return nil, nil, &emu.Mistake{Err: err}
	}
	d, err := campaign.Claim(dir, &l.plan, campaign.Drawing)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	if cells, missing, err = l.collect(d); err != nil || cells == nil {
		return nil, missing, err
	}
	return cells, missing, l.drawAll(d, cells, &style)
}

// Cells returns the cells of a plan, in order. A fault of the plan is a
// *emu.Mistake.
func Cells(p Plan) ([]campaign.Cell, error) {
	l, err := p.lay("")
	if err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	return l.plan.Cells, nil
}

// take returns the results that exist, and the cells without one. The error is that of a result
// whose values are not those of the plan.
func (l *layout) take(cells []campaign.Cell, results []*Cell) (there []Cell, missing []campaign.Cell, err error) {
	for i, c := range results {
		if c == nil {
			missing = append(missing, cells[i])
			continue
		}
		c.ID, c.Number = cells[i].ID, cells[i].Number
		if want := l.cells[c.ID].values; !slices.Equal(c.Values, want) {
			return nil, nil, fmt.Errorf("%s is of the values %q, but the plan has %q there: remove it, and call again to repeat this run",
				filepath.Join(campaign.CellsDir, cells[i].File()), c.Values, want)
		}
		there = append(there, *c)
	}
	return there, missing, nil
}

func (l *layout) run(ctx context.Context, c *cell) (*Cell, error) {
	x, err := emu.Run(ctx, c.scenario, l.options())
	switch {
	case err != nil:
		return nil, fmt.Errorf("run %d, %v: %w", c.number, c.values, err)
	case x.Partial && ctx.Err() != nil:
		return nil, ctx.Err()
	case x.Partial:
		return nil, fmt.Errorf("run %d, %v: %w", c.number, c.values, errors.New("it ended too early"))
	}
	out := &Cell{Values: c.values, Level: x.Verdict.Level}
	if l.Seeds > 0 {
		out.Samples = seeds.SamplesOf(x.Result, x.Metrics.View())
	}
	if len(l.Metrics) == 0 {
		for _, check := range x.Checks {
			f := seeds.Figure{Name: check.ID, Value: check.Value, Outcome: check.Outcome, Flows: check.Flows}
			if !check.Value.Known() {
				f.Why = check.Reason
			}
			out.Figures = append(out.Figures, f)
		}
	}
	from, to := unit.Time(l.FromPs), unit.Time(l.ToPs)
	for _, expression := range l.Metrics {
		m, err := x.Metrics.Compile(expression)
		if err != nil {
			return nil, err
		}
		f := seeds.Figure{Name: expression, Value: report.Number(m.OverRun(x.Metrics)), Flows: m.ValuesOverRun(x.Metrics)}
		if to > 0 {
			f.Value, f.Flows = report.Number(m.Over(x.Metrics, from, to)), m.Values(x.Metrics, from, to)
		}
		switch {
		case f.Value.Known():
		case to > 0:
			f.Why = m.Why(x.Metrics, from, to)
		default:
			f.Why = m.WhyOverRun(x.Metrics)
		}
		out.Figures = append(out.Figures, f)
	}
	return out, nil
}
