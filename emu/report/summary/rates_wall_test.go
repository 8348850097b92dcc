//go:build !race

package summary

import (
	"fmt"
	"testing"
	"time"

	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/emu/runtest"
)

// The curves of a figure are found in time in proportion to their number: 32 times as many take some 32
// times as long, or a few times that where they no longer fit into the processor's cache, and not 1024 times.
func TestWallCurvesAreFoundInProportion(t *testing.T) {
	spent := func(n int) time.Duration {
		var series []metrics.Series
		r := &report.Result{Phases: []report.Phase{{}}}
		for i := range n {
			name := fmt.Sprintf("link%d.A-B", i)
			r.Phases[0].Rates = append(r.Phases[0].Rates, report.Rate{Kind: "link", Name: name})
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
	small, large := spent(1000), spent(32000)
	t.Logf("1000 take %v, 32000 take %v", small, large)
	if large > 256*small {
		t.Errorf("32000 curves take %v, 1000 take %v", large, small)
	}
}
