package summary

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
)

// Slowdowns draws, for each workload with transfers of several sizes, how the slowdown depends on the size: the
// median and the 95th and 99th percentile of each band of sizes. It is empty where there is no such workload.
func Slowdowns(r *report.Result) (all plot.Stack) {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		f := slowdownFigure(valuesOf(w.Sizes, nil), "")
		if f == nil {
			continue
		}
		f.Title = fmt.Sprintf("%s: slowdown of %s by flow size", r.Scenario, w.Name)
		f.Subtitle, f.Stamp = f.Subtitle+"; "+ended(w), Stamp(r)
		for _, x := range percentiles {
			all := valuesOf(w.Sizes, x.of)
			if !slices.ContainsFunc(all, func(b sizeBand) bool { return b.value.Value.Known() }) {
				f.Note = fmt.Sprintf("(%s: %s)", x.name, tooFew)
				continue
			}
			addSlowdown(f, x.name, all, all)
		}
		all = append(all, f)
	}
	return all
}

// SlowdownsBeside draws the 99th percentile of each run as one curve, for each workload of the first run.
func SlowdownsBeside(names []string, runs []*report.Result) (all plot.Stack) {
	for i := range runs[0].Workloads {
		of := &runs[0].Workloads[i]
		scale := valuesOf(of.Sizes, nil)
		f := slowdownFigure(scale, "p99")
		if f == nil {
			continue
		}
		f.Title = fmt.Sprintf("99th percentile of the slowdown of %s by flow size", of.Name)
		for k, r := range runs {
			for j := range r.Workloads {
				if w := &r.Workloads[j]; w.Name == of.Name {
					addSlowdown(f, names[k]+", "+ended(w), valuesOf(w.Sizes, p99), scale)
				}
			}
		}
		all = append(all, f)
	}
	return all
}

func p99(b *report.SizeBand) report.Number { return b.P99 }

var percentiles = []struct {
	name string
	of   func(*report.SizeBand) report.Number
}{
	{"p50", func(b *report.SizeBand) report.Number { return b.P50 }},
	{"p95", func(b *report.SizeBand) report.Number { return b.P95 }},
	{"p99", p99},
}

// sizeBand is a figure of the flows of neighbouring sizes, in bytes.
type sizeBand struct {
	from, to int64
	flows    int
	value    seeds.Interval
}

// valuesOf returns the bands of a run with one of their figures, which has no interval.
func valuesOf(all []report.SizeBand, of func(*report.SizeBand) report.Number) (out []sizeBand) {
	for i := range all {
		b := sizeBand{from: all[i].From, to: all[i].To, flows: all[i].Transfers}
		if of != nil {
			b.value = seeds.Interval{Value: of(&all[i]), Low: report.Missing(), High: report.Missing()}
		}
		out = append(out, b)
	}
	return out
}

// ended counts the transfers of a workload.
func ended(w *report.Workload) string {
	if w.Open == 0 {
		return fmt.Sprintf("%d transfers", w.Transfers)
	}
	return fmt.Sprintf("%d flows, %d open", w.Transfers, w.Open)
}

// bordersOf returns the sizes, in bytes, between which bands lie.
func bordersOf(bands []sizeBand) []float64 {
	borders := []float64{float64(bands[0].from)}
	for i := range bands {
		borders = append(borders, float64(bands[i].to))
	}
	return borders
}

// slowdownFigure returns the axes of a picture whose X axis has the quantiles of the sizes of bands, or nil where all
// sizes are alike. The Y axis names the statistic of its curves, unless they have several.
func slowdownFigure(bands []sizeBand, statistic string) *plot.Figure {
	n := len(bands)
	if n == 0 || bands[0].from == bands[n-1].to {
		return nil
	}
	borders := bordersOf(bands)
	f := &plot.Figure{
		Subtitle: fmt.Sprintf("%d size bands with %d flows each", n, bands[0].flows),
		X:        plot.Axis{Label: "flow size (quantiles)", High: 1},
		Y:        plot.Axis{Label: strings.TrimSpace(statistic + " slowdown"), Low: 1, High: 2, Log: true, Ticks: []float64{1, 1.2, 1.5, 2, 3, 5, 7, 10}},
	}
	const marks = 10 // at most, because their names need room
	for k := 0; k <= marks; k++ {
		i := k * n / marks
		if at := float64(i) / float64(n); k == 0 || at > f.X.Ticks[len(f.X.Ticks)-1] {
			f.X.Ticks, f.X.Names = append(f.X.Ticks, at), append(f.X.Names, sizeText(borders[i]))
		}
	}
	return f
}

// addSlowdown adds a curve with a point for each band, at its sizes on the scale of other bands, and an area where values
// have intervals.
func addSlowdown(f *plot.Figure, name string, bands, scale []sizeBand) {
	c, n := plot.Curve{Name: name, Points: true}, float64(len(bands))
	if len(bands) == 0 {
		return
	}
	axis, borders := bordersOf(scale), bordersOf(bands)
	add := func(to *[]float64, v report.Number) {
		y := float64(v)
		if !(y >= 1) { // of a file that was changed: the axis begins at 1
			y = math.NaN()
		}
		if *to = append(*to, y); report.Number(y).Known() {
			f.Y.High = max(f.Y.High, y*1.05) // the highest point does not lie on the frame
		}
	}
	certain := true
	for i := range bands {
		left, right := place(axis, borders[i], float64(i)/n), place(axis, borders[i+1], float64(i+1)/n)
		c.X = append(c.X, (left+right)/2)
		v := bands[i].value
		certain = certain && !v.Low.Known()
		add(&c.Y, v.Value)
		add(&c.Low, v.Low)
		add(&c.High, v.High)
	}
	if certain {
		c.Low, c.High = nil, nil
	}
	if f.Y.High > 10 {
		f.Y.Ticks = nil
		for base := 1.0; base <= f.Y.High; base *= 10 {
			f.Y.Ticks = append(f.Y.Ticks, base, 2*base, 5*base)
		}
	}
	f.Curves = append(f.Curves, c)
}

// place returns the share of transfers that are smaller than a size, between 0 and 1, by the borders of bands with
// equal numbers of transfers. Where a part of the scale has only this size, rank selects a point in the part.
func place(borders []float64, size, rank float64) float64 {
	n := float64(len(borders) - 1)
	least := sort.SearchFloat64s(borders, size)
	most := sort.Search(len(borders), func(i int) bool { return borders[i] > size }) - 1
	switch {
	case least <= most:
		return min(max(rank, float64(least)/n), float64(most)/n)
	case least == 0:
		return 0
	case least == len(borders):
		return 1
	}
	return (float64(least-1) + (size-borders[least-1])/(borders[least]-borders[least-1])) / n
}

// sizeText prints bytes to three digits.
func sizeText(bytes float64) string {
	x := metrics.Sizes().Fit(bytes)
	return report.Significant(bytes/x.Base, 3) + x.Word
}
