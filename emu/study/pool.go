package study

import (
	"context"
	"runtime"
	"sync"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
)

// Cost estimates the work of a run of a scenario on the virtual clock, for comparison with
// others: model time by flows.
func Cost(s *scenario.Scenario) float64 { return float64(s.Model.Duration) * float64(1+len(s.Flows)) }

// Each does all items, in their order, with a number of workers; 0 means one per processor. The
// first error ends it, as the end of ctx does: the context that the others were handed is done
// then, and Each returns that error when they have returned.
func Each[T any](ctx context.Context, workers int, items []T, do func(context.Context, T) error) error {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan T)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for item := range next {
				if err := one(ctx, item, do); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, item := range items {
		if ctx.Err() != nil {
			break
		}
		select {
		case next <- item:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

// one does an item. A panic is its error.
func one[T any](ctx context.Context, item T, do func(context.Context, T) error) (err error) {
	defer errs.Into(&err)
	return do(ctx, item)
}
