package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"fabemu/emu"
	"fabemu/emu/files"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/emu/study"
)

// Options say how a sweep is run.
type Options struct {
	Jobs     int  // virtual clock: cells at a time; 0: as many as there are processors
	Force    bool // begin anew: do all cells, whatever is in the directory
	Priority bool // wall clock: emu.Options.Priority
	// Progress, if not nil, is called when a cell is done, one call at a time.
	Progress func(Status)
}

// Status is how far a sweep is.
type Status struct {
	Cells, Done int
	Before      int    // of Done: by earlier calls
	Name        string // the values of the cell that was done last
}

// Cell is what came out of one combination.
type Cell struct {
	Number  int          `json:"number"`
	Values  []string     `json:"values"` // of the axes, in their order
	Level   report.Level `json:"level"`
	Figures []Figure     `json:"figures"`
}

// Figure is a figure of a cell.
type Figure struct {
	Name    string         `json:"name"` // the check's id, or the expression
	Value   report.Number  `json:"value"`
	Outcome report.Outcome `json:"outcome,omitempty"` // of a check
}

// Run does the cells of a plan that are not done yet, and writes the table and the
// figures into a directory. When ctx is done, it stops; what is done stays, and the
// error is that of ctx. What is wrong with the plan or with the directory is a
// *emu.Mistake; then nothing is run, and with a wrong plan the directory is not
// touched.
func Run(ctx context.Context, p Plan, dir string, o Options) ([]Cell, error) {
	l, err := p.lay()
	if err == nil && o.Jobs < 0 {
		err = fmt.Errorf("%d runs at a time: at least one is wanted", o.Jobs)
	}
	if err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	d, err := claim(dir, l, o.Force)
	if err != nil {
		return nil, err
	}
	defer d.close()
	r := &run{layout: l, options: o, directory: d, done: make([]*Cell, len(l.cells))}
	var left []*cell
	for i, c := range l.cells {
		if r.done[i] = d.read(c); r.done[i] == nil {
			left = append(left, c)
		}
	}
	r.status.Cells, r.status.Before = len(l.cells), len(l.cells)-len(left)
	r.status.Done = r.status.Before
	if o.Progress != nil {
		o.Progress(r.status)
	}
	workers := o.Jobs
	if p.Clock != string(emu.VirtualClock) {
		workers = 1 // they would disturb each other
	}
	if err := study.Each(ctx, workers, left, r.cell); err != nil {
		return nil, err
	}
	cells := make([]Cell, len(r.done))
	for i, c := range r.done {
		cells[i] = *c
	}
	if err := files.Write(filepath.Join(dir, TableFile), func(w io.Writer) error { return WriteTable(w, &p, cells) }); err != nil {
		return nil, err
	}
	return cells, l.drawAll(dir, cells)
}

// run is one call of Run.
type run struct {
	layout    *layout
	options   Options
	directory *directory
	mu        sync.Mutex
	done      []*Cell
	status    Status
}

// cell does one cell.
func (r *run) cell(ctx context.Context, c *cell) error {
	o := r.layout.options()
	o.Priority = r.options.Priority
	x, err := emu.Run(ctx, c.scenario, o)
	switch {
	case err != nil:
		return fmt.Errorf("run %d, %v: %w", c.number, c.values, err)
	case x.Partial && ctx.Err() != nil:
		return ctx.Err()
	case x.Partial:
		return fmt.Errorf("run %d, %v: %w", c.number, c.values, errors.New("it ended before its time"))
	}
	out := &Cell{Number: c.number, Values: c.values, Level: x.Verdict.Level}
	if len(r.layout.Metrics) == 0 {
		for _, check := range x.Checks {
			out.Figures = append(out.Figures, Figure{check.ID, check.Value, check.Outcome})
		}
	}
	from, to := r.layout.during(c.scenario)
	for _, expression := range r.layout.Metrics {
		m, err := metrics.Compile(expression, x.Metrics.Fabric())
		if err != nil {
			return err
		}
		out.Figures = append(out.Figures, Figure{Name: expression, Value: report.Number(m.Over(x.Metrics, from, to))})
	}
	if err := r.directory.write(c, out); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[c.number-1] = out
	r.status.Done++
	r.status.Name = fmt.Sprint(c.values)
	if r.options.Progress != nil {
		r.options.Progress(r.status)
	}
	return nil
}
