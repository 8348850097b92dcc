package metrics

import (
	"math"
	"testing"

	"fabemu/wire/unit"
)

func TestSynchrony(t *testing.T) {
	const bins, flows = 4000, 20
	draw := unit.NewRandom(1, 1)
	saw := func(period, shift int) []float64 {
		of := make([]float64, bins)
		for i := range of {
			of[i] = float64((i + shift) % period)
		}
		return of
	}
	alike, apart, spans := make([][]float64, flows), make([][]float64, flows), make([]float64, bins)
	for i := range flows {
		alike[i], apart[i] = saw(100, 7), saw(100, int(draw.Below(100)))
		for bin := range bins {
			apart[i][bin] += float64(draw.Below(300)) // chance in addition to the saw
		}
	}
	for bin := range spans {
		spans[bin] = float64(1 + bin%2) // the values do not hold for the same time
	}
	for _, c := range []struct {
		name    string
		windows [][]float64
		want    float64
		within  float64
	}{
		{"all alike", alike, 1, 1e-9},
		{"each by itself", apart, 1.0 / flows, 0.02},
		{"one flow", alike[:1], 1, 1e-9},
		{"two in turn", [][]float64{saw(2, 0), saw(2, 1)}, 0, 1e-9},
	} {
		if got := together(c.windows, spans); math.Abs(got-c.want) > c.within {
			t.Errorf("%s: the synchrony is %.4f, want %.4f", c.name, got, c.want)
		}
	}
	if got := together([][]float64{make([]float64, bins)}, spans); !math.IsNaN(got) {
		t.Errorf("windows that do not move have a synchrony of %v", got)
	}
	for _, c := range []struct {
		values, spans []float64
		want          float64
	}{{[]float64{1, 3}, []float64{1, 1}, 1}, {[]float64{1, 3}, []float64{3, 1}, 0.75}, {[]float64{5, 5, 5}, []float64{1, 2, 3}, 0}} {
		if got := variance(c.values, c.spans); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("the variance of %v for %v is %v, want %v", c.values, c.spans, got, c.want)
		}
	}
}
