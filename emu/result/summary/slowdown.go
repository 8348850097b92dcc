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

// Slowdowns draws, for each workload with flows of several sizes, how the slowdown depends on the
// size: the median and the 95th and 99th percentile of each band of sizes. It is empty if there is
// no such workload.
func Slowdowns(r *report.Result) (all plot.Stack) {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if f := PooledFigure(fmt.Sprintf("%s: slowdown of %s by flow size", r.Scenario, w.Name), percentiles(ofRun(w))); f != nil {
			f.Subtitle, f.Stamp = f.Subtitle+"; "+ended(w), Stamp(r)
			all = append(all, f)
		}
	}
	return all
}

// SlowdownsBeside draws the 99th percentile of each run as one curve, for each workload of the
// first run.
func SlowdownsBeside(names []string, runs []*report.Result) (all plot.Stack) {
	for _, of := range runs[0].Workloads {
		var curves []SlowdownCurve
		for k, r := range runs {
			for j := range r.Workloads {
				if w := &r.Workloads[j]; w.Name == of.Name {
					curves = append(curves, SlowdownCurve{names[k] + ", " + ended(w), ofRun(w), "p99"})
				}
			}
		}
		if f := PooledFigure(fmt.Sprintf("99th percentile of the slowdown of %s by flow size", of.Name), curves); f != nil {
			all = append(all, f)
		}
	}
	return all
}

// percentiles are the curves of a workload by itself.
func percentiles(s *seeds.Slowdown) []SlowdownCurve {
	return []SlowdownCurve{{"p50", s, "p50"}, {"p95", s, "p95"}, {"p99", s, "p99"}}
}

// ofRun returns the bands of sizes of a single run, whose figures have no intervals.
func ofRun(w *report.Workload) *seeds.Slowdown {
	s := &seeds.Slowdown{Workload: w.Name}
	one := func(v report.Number) seeds.Interval {
		return seeds.Interval{Value: v, Low: report.Missing(), High: report.Missing()}
	}
	for _, b := range w.Sizes {
		s.Sizes = append(s.Sizes, seeds.Band{Flows: b.Transfers, From: b.From, To: b.To, P50: one(b.P50), P95: one(b.P95), P99: one(b.P99)})
	}
	return s
}

// SlowdownCurve is a figure of the bands of sizes of a workload, as a curve.
type SlowdownCurve struct {
	Name   string
	Of     *seeds.Slowdown
	Figure string // "p99"
}

// values returns the figure of each band.
func (c *SlowdownCurve) values() (all []seeds.Interval) {
	for i := range c.Of.Sizes {
		for name, x := range c.Of.Sizes[i].Figures {
			if name == c.Figure {
				all = append(all, x)
			}
		}
	}
	return all
}

// PooledFigure draws curves over the sizes of the first, each with its interval as an area, or
// returns nil where all sizes are alike.
func PooledFigure(title string, curves []SlowdownCurve) *plot.Figure {
	scale, statistic := curves[0].Of.Sizes, curves[0].Figure
	if slices.ContainsFunc(curves, func(c SlowdownCurve) bool { return c.Figure != statistic }) {
		statistic = ""
	}
	f := slowdownFigure(scale, statistic)
	if f == nil {
		return nil
	}
	f.Title = title
	for i := range curves {
		c := &curves[i]
		if !slices.ContainsFunc(c.values(), func(v seeds.Interval) bool { return v.Value.Known() }) {
			f.Note = fmt.Sprintf("(%s: %s)", c.Name, tooFew)
			continue
		}
		addSlowdown(f, c, scale)
	}
	return f
}

// ended counts the flows of a workload.
func ended(w *report.Workload) string {
	if w.Open == 0 {
		return fmt.Sprintf("%d flows", w.Transfers)
	}
	return fmt.Sprintf("%d flows, %d open", w.Transfers, w.Open)
}

// boundsOf returns the sizes, in bytes, between which bands lie.
func boundsOf(bands []seeds.Band) []float64 {
	bounds := []float64{float64(bands[0].From)}
	for i := range bands {
		bounds = append(bounds, float64(bands[i].To))
	}
	return bounds
}

// slowdownFigure returns the axes of a picture whose X axis has the quantiles of the sizes of
// bands, or nil where all sizes are alike. The Y axis names the statistic of its curves, unless
// they have several.
func slowdownFigure(bands []seeds.Band, statistic string) *plot.Figure {
	n := len(bands)
	if n == 0 || bands[0].From == bands[n-1].To {
		return nil
	}
	bounds := boundsOf(bands)
	f := &plot.Figure{
		Subtitle: fmt.Sprintf("%d size bands with %d flows each", n, bands[0].Flows),
		X:        plot.Axis{Label: "flow size (quantiles)", High: 1},
		Y:        plot.Axis{Label: strings.TrimSpace(statistic + " slowdown"), Low: 1, High: 2, Log: true, Ticks: []float64{1, 1.2, 1.5, 2, 3, 5, 7, 10}},
	}
	const marks = 10 // at most, because their names need room
	for k := 0; k <= marks; k++ {
		i := k * n / marks
		if at := float64(i) / float64(n); k == 0 || at > f.X.Ticks[len(f.X.Ticks)-1] {
			f.X.Ticks, f.X.Names = append(f.X.Ticks, at), append(f.X.Names, sizeText(bounds[i]))
		}
	}
	return f
}

// addSlowdown adds a curve with a point for each band, at its sizes on the scale of other bands,
// and an area where values have intervals.
func addSlowdown(f *plot.Figure, of *SlowdownCurve, scale []seeds.Band) {
	values := of.values()
	c, n := plot.Curve{Name: of.Name, Points: true}, float64(len(values))
	axis, bounds := boundsOf(scale), boundsOf(of.Of.Sizes)
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
	for i, v := range values {
		left, right := place(axis, bounds[i], float64(i)/n), place(axis, bounds[i+1], float64(i+1)/n)
		c.X = append(c.X, (left+right)/2)
		certain = certain && !v.Low.Known()
		add(&c.Y, v.Value)
		c.Values = append(c.Values, of.Of.Sizes[i].Flows)
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

// place returns the share of flows that are smaller than a size, between 0 and 1, by the bounds of
// bands with equal numbers of flows. Where a part of the scale has only this size, rank selects a
// point in the part.
func place(bounds []float64, size, rank float64) float64 {
	n := float64(len(bounds) - 1)
	least := sort.SearchFloat64s(bounds, size)
	most := sort.Search(len(bounds), func(i int) bool { return bounds[i] > size }) - 1
	switch {
	case least <= most:
		return min(max(rank, float64(least)/n), float64(most)/n)
	case least == 0:
		return 0
	case least == len(bounds):
		return 1
	}
	return (float64(least-1) + (size-bounds[least-1])/(bounds[least]-bounds[least-1])) / n
}

// sizeText prints bytes to three digits.
func sizeText(bytes float64) string {
	x := metrics.Sizes().Fit(bytes)
	return report.Significant(bytes/x.Base, 3) + x.Word
}
