package campaign

import (
	"context"
	"errors"
	"sync"

	"fabemu/emu/study"
)

// Options are the settings for doing cells.
type Options struct {
	Workers  int          // cells at a time; 0: as many as there are processors
	Progress func(Status) // if not nil, called when a cell is done, one call at a time
}

// Status is how far a call is.
type Status struct {
	Cells, Done int
	Before      int    // of Done: by earlier calls
	Name        string // of the cell that was done last
}

// Do does cells that are not done yet, with Anew all of them, and returns the results of all, in
// their order. The first error ends it, as the end of ctx does; finished cells stay. A result that
// was changed on the disk is an error.
func Do[T any](
	ctx context.Context, d *Directory, cells []Cell, o Options, do func(context.Context, *Cell) (*T, error),
) ([]*T, error) {
	all := make([]*T, len(cells))
	if d.mode != Anew {
		var err error
		if all, err = Results[T](d, cells); err != nil {
			return nil, err
		}
	}
	var left []int
	for i := range all {
		if all[i] == nil {
			left = append(left, i)
		}
	}
	s := Status{Cells: len(cells), Done: len(cells) - len(left), Before: len(cells) - len(left)}
	var mu sync.Mutex
	report := func() {
		if o.Progress != nil {
			o.Progress(s)
		}
	}
	report()
	err := study.Each(ctx, o.Workers, left, func(ctx context.Context, i int) error {
		c := &cells[i]
		result, err := do(ctx, c)
		if err == nil {
			err = d.write(c, result)
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all[i] = result
		s.Done++
		s.Name = c.Name
		report()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Results returns the results of cells, in their order; nil for each missing one. The error names
// the files that were changed.
func Results[T any](d *Directory, cells []Cell) ([]*T, error) {
	all, wrong := make([]*T, len(cells)), []error(nil)
	for i := range cells {
		r := new(T)
		there, err := d.read(&cells[i], r)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case there:
			all[i] = r
		}
	}
	return all, errors.Join(wrong...)
}
