//go:build !race

package summary

import (
	"fmt"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
)

// BenchmarkCurves finds the curves of two figures, one with 32 times as many, in turns, and compares the
// least times of a processor. It fails where the large one takes more than 256 times as long: the square
// of the size would be 1024 times, and the processor's cache explains a few times 32.
func BenchmarkCurves(b *testing.B) {
	sizes := [2]int{1000, 32000}
	var results [2]*report.Result
	var series [2][]metrics.Series
	least := [2]time.Duration{time.Hour, time.Hour}
	for i, n := range sizes {
		results[i] = &report.Result{Phases: []report.Phase{{}}}
		for k := range n {
			name := fmt.Sprintf("link%d.A-B", k)
			results[i].Phases[0].Rates = append(results[i].Phases[0].Rates, report.Rate{Kind: "link", Name: name})
			for _, kind := range []string{"link.rate", "link.utilisation", "link.queue"} {
				series[i] = append(series[i], metrics.Series{Kind: kind, Name: name})
			}
		}
	}
	for b.Loop() {
		for i, n := range sizes {
			begin := runtest.ProcessorTime(b)
			if got := len(aggregateSeries(results[i], series[i])); got != n {
				b.Fatalf("%d curves of %d", got, n)
			}
			least[i] = min(least[i], runtest.ProcessorTime(b)-begin)
		}
	}
	ratio := float64(least[1]) / float64(least[0])
	b.ReportMetric(ratio, "times-for-32-times-the-size")
	if ratio > 256 {
		b.Errorf("32000 curves take %v, 1000 take %v", least[1], least[0])
	}
}
