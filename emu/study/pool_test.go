package study

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// All items are done, in their order, and never more at a time than there are workers.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []int{0, 1, 2, 3, 4, 5, 6}
		var mu sync.Mutex
		var began []int
		now, most := 0, 0
		begin := time.Now()
		err := Each(t.Context(), 3, items, func(_ context.Context, i int) error {
			mu.Lock()
			began, now = append(began, i), now+1
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second + time.Duration(i)*time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		slices.Sort(began[:3]) // begun at one instant
		if err != nil || !slices.Equal(began, items) || most != 3 {
			t.Errorf("%v: begun %v, %d at a time", err, began, most)
		}
		if took := time.Since(begin); took >= 4*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// After an error nothing is begun, those that are in flight are told, and it is what comes
// back; so it is when the context is done.
func TestEachEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, fails := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			var mu sync.Mutex
			told, begun := 0, 0
			err := Each(ctx, 2, make([]int, 9), func(ctx context.Context, _ int) error {
				mu.Lock()
				begun++
				first := begun == 1
				mu.Unlock()
				if fails && first {
					time.Sleep(time.Second)
					return broken
				}
				<-ctx.Done()
				mu.Lock()
				told++
				mu.Unlock()
				return ctx.Err()
			})
			want, wantTold := context.DeadlineExceeded, 2
			if fails {
				want, wantTold = broken, 1
			}
			if !errors.Is(err, want) || begun != 2 || told != wantTold {
				t.Errorf("fails %v: %v, %d begun, %d told", fails, err, begun, told)
			}
		})
	}
}
