package campaign

import (
	"context"
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
// their order. The first error ends it, as the end of ctx does; finished cells stay.
func Do[T any](
	ctx context.Context, d *Directory, cells []Cell, o Options, do func(context.Context, *Cell) (*T, error),
) ([]*T, error) {
	all := make([]*T, len(cells))
	if d.mode != Anew {
		all = Results[T](d, cells)
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

// Results returns the results of cells, in their order; nil for each missing one.
func Results[T any](d *Directory, cells []Cell) []*T {
	all := make([]*T, len(cells))
	for i := range cells {
		if r := new(T); d.read(&cells[i], r) {
			all[i] = r
		}
	}
	return all
}
