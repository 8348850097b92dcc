//go:build !race

package report

import (
	"fmt"
	"testing"
	"time"

	"fabemu/emu/metrics"
	"fabemu/emu/runtest"
)

// The curves of a figure are found in time in proportion to their number: eight times as many take
// about eight times as long, and not sixty-four times.
func TestWallCurvesAreFoundInProportion(t *testing.T) {
	spent := func(n int) time.Duration {
		var series []metrics.Series
		r := &Result{Phases: []Phase{{}}}
		for i := range n {
			name := fmt.Sprintf("link%d.A-B", i)
			r.Phases[0].Rates = append(r.Phases[0].Rates, Rate{Kind: "link", Name: name})
			for _, kind := range []string{"link.rate", "link.utilisation", "link.queue"} {
				series = append(series, metrics.Series{Kind: kind, Name: name})
			}
		}
		least := time.Hour
		for range 20 {
			begin := runtest.ProcessorTime(t)
			if got := len(aggregateSeries(r, series)); got != n {
				t.Fatalf("%d curves of %d", got, n)
			}
			least = min(least, runtest.ProcessorTime(t)-begin)
		}
		return least
	}
	small, large := spent(2000), spent(16000)
	t.Logf("2000 take %v, 16000 take %v", small, large)
	if large > 32*small {
		t.Errorf("16000 curves take %v, 2000 take %v", large, small)
	}
}
