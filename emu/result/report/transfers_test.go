package report

import (
	"slices"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// A percentile needs as many transfers as leave one above it, and each band of sizes has enough for
// its p99, or there are bands without one.
func TestPercentilesNeedTransfers(t *testing.T) {
	for _, x := range []struct {
		transfers, bands, least int
		p95, p99, p999, bandP99 bool
	}{
		{1, 1, 1, false, false, false, false}, {19, 1, 19, false, false, false, false}, {39, 1, 39, true, false, false, false},
		{99, 4, 24, true, false, false, false}, {100, 5, 20, true, true, false, false}, {199, 9, 22, true, true, false, false},
		{200, 2, 100, true, true, false, true}, {999, 9, 111, true, true, false, true}, {1000, 10, 100, true, true, true, true},
		{5000, 20, 250, true, true, true, true},
	} {
		all := make([]*metrics.Done, x.transfers)
		for i := range all {
			all[i] = &metrics.Done{Bytes: int64(i), Ended: unit.Time(10 + i), Ideal: 10}
		}
		sizes := Sizes(slices.Values(all))
		least := slices.MinFunc(sizes, func(a, b SizeBand) int { return a.Transfers - b.Transfers })
		if len(sizes) != x.bands || least.Transfers != x.least || least.P99.Known() != x.bandP99 || least.P95.Known() != x.p95 {
			t.Errorf("%d transfers: %d bands, the least %+v", x.transfers, len(sizes), least)
		}
		var s Spread
		if metrics.Spread(make([]float64, x.transfers), s.set); s.P99.Known() != x.p99 || s.P999.Known() != x.p999 || s.P95.Known() != x.p95 || !s.P50.Known() || !s.Max.Known() {
			t.Errorf("%d transfers: %+v", x.transfers, s)
		}
	}
}
