package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
)

// The files of a sweep.
const (
	PlanFile  = "sweep.json"
	TableFile = "sweep.csv"
	CellsDir  = "cells"
)

// Options say how a sweep is run.
type Options struct {
	Jobs     int  // virtual clock: cells at a time; 0: as many as there are processors
	Force    bool // write into a directory that holds something else, and do all cells anew
	Priority bool // wall clock: emu.Options.Priority
	// Progress, if not nil, is called when a cell is done, one call at a time.
	Progress func(Status)
}

// Status is how far a sweep is.
type Status struct {
	Cells, Done int
	Before      int // of Done: by earlier calls
	Name        string
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
// figures. When ctx is done, it stops; what is done stays, and the error is that of
// ctx.
func Run(ctx context.Context, p Plan, dir string, o Options) ([]Cell, error) {
	all, err := p.cells()
	if err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	if err := p.claim(dir, o.Force); err != nil {
		return nil, err
	}
	r := &run{plan: &p, options: o, dir: dir, done: make([]*Cell, len(all))}
	var left []*cell
	for _, c := range all {
		if r.done[c.number-1] = r.read(c); r.done[c.number-1] == nil {
			left = append(left, c)
		} else {
			r.status.Before++
		}
	}
	r.status.Cells, r.status.Done = len(all), r.status.Before
	if o.Progress != nil {
		o.Progress(r.status)
	}
	workers := o.Jobs
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	if p.Clock == string(emu.WallClock) {
		workers = 1 // they would disturb each other
	}
	if err := r.do(ctx, left, workers); err != nil {
		return nil, err
	}
	cells := make([]Cell, len(r.done))
	for i, c := range r.done {
		cells[i] = *c
	}
	if err := report.WriteFile(filepath.Join(dir, TableFile), func(w io.Writer) error { return WriteTable(w, &p, cells) }); err != nil {
		return nil, err
	}
	return cells, draw(dir, &p, cells)
}

// claim makes a directory that of the sweep, or finds that it is.
func (p *Plan) claim(dir string, force bool) error {
	if err := os.MkdirAll(filepath.Join(dir), 0o777); err != nil {
		return &emu.Mistake{Err: err}
	}
	path := filepath.Join(dir, PlanFile)
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		var before Plan
		if err := json.Unmarshal(b, &before); err != nil {
			before.Scenario = "unknown"
		}
		differs := p.same(&before)
		if differs == nil {
			return os.MkdirAll(filepath.Join(dir, CellsDir), 0o777)
		}
		if !force {
			return &emu.Mistake{Err: fmt.Errorf("%s is of another sweep: %w; choose another --out, or --force to begin anew there", dir, differs)}
		}
		// Only the cells, which are of that sweep: they are not what this one asks for.
		if err := removeCells(dir); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 && !force {
			return &emu.Mistake{Err: fmt.Errorf("%s is not empty, and not of a sweep; choose another --out, or --force to write into it", dir)}
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, CellsDir), 0o777); err != nil {
		return err
	}
	return report.WriteFile(path, func(w io.Writer) error { return encode(w, p) })
}

// removeCells removes the files of cells.
func removeCells(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, CellsDir, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// run is one call of Run.
type run struct {
	plan    *Plan
	options Options
	dir     string
	mu      sync.Mutex
	done    []*Cell
	status  Status
}

// path returns the file of a cell.
func (r *run) path(c *cell) string {
	return filepath.Join(r.dir, CellsDir, fmt.Sprintf("%06d.json", c.number))
}

// read returns what an earlier call has made of a cell, or nil.
func (r *run) read(c *cell) *Cell {
	b, err := os.ReadFile(r.path(c))
	if err != nil {
		return nil
	}
	var out Cell
	if json.Unmarshal(b, &out) != nil || out.Number != c.number || len(out.Values) != len(c.values) {
		return nil
	}
	for i := range c.values {
		if out.Values[i] != c.values[i] {
			return nil
		}
	}
	return &out
}

// do does cells, so many at a time.
func (r *run) do(ctx context.Context, left []*cell, workers int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan *cell)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for c := range next {
				if err := r.cell(ctx, c); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, c := range left {
		select {
		case next <- c:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

// cell does one cell.
func (r *run) cell(ctx context.Context, c *cell) error {
	x, err := emu.Run(ctx, c.scenario, emu.Options{
		Clock: emu.Clock(r.plan.Clock), Link: emu.Carrier(r.plan.Link), SkipCodec: true, Verify: emu.VerifyOff,
		Priority: r.options.Priority, Version: r.plan.Fabemu,
	})
	if err != nil {
		return fmt.Errorf("cell %d, %v: %w", c.number, c.values, err)
	}
	if x.Partial {
		return ctx.Err()
	}
	out := &Cell{Number: c.number, Values: c.values, Level: x.Verdict.Level}
	if len(r.plan.Metrics) == 0 {
		for _, check := range x.Checks {
			out.Figures = append(out.Figures, Figure{check.ID, check.Value, check.Outcome})
		}
	}
	from, to := r.plan.during(c.scenario)
	for _, expression := range r.plan.Metrics {
		m, err := metrics.Compile(expression, x.Metrics.Fabric())
		if err != nil {
			return err
		}
		out.Figures = append(out.Figures, Figure{Name: expression, Value: report.Number(m.Over(x.Metrics, from, to))})
	}
	if err := report.WriteFile(r.path(c), func(w io.Writer) error { return encode(w, out) }); err != nil {
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
