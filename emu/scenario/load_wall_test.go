//go:build !race

package scenario_test

import (
	"testing"
	"time"

	"fabemu/emu/runtest"
)

// The time that a scenario takes to load grows as its size does: eight times the endpoints
// take at most three times as long for each (the square of it would be eight).
func TestWallLoadTakesTimeInProportion(t *testing.T) {
	spent := func(n int) time.Duration {
		src := largeScenario(n)
		least := time.Hour
		for range 3 {
			before := runtest.ProcessorTime(t)
			s := load(t, src)
			least = min(least, runtest.ProcessorTime(t)-before)
			if len(s.Endpoints) != n || len(s.Flows) != n/2 {
				t.Errorf("%d endpoints, %d flows", len(s.Endpoints), len(s.Flows))
			}
		}
		return least
	}
	small, large := spent(500), spent(4000)
	t.Logf("500 endpoints take %v of a processor's time, 4000 take %v", small, large)
	if large > 3*8*small {
		t.Errorf("500 endpoints take %v, 4000 take %v", small, large)
	}
}
