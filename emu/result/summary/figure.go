package summary

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Pictures returns the pictures of a run: its rates, and of workloads the slowdown over the size of
// flows.
func Pictures(r *report.Result, series []metrics.Series) []report.Picture {
	all := []report.Picture{{Name: report.RatesFile, Drawing: RatesFigure(r, series)}}
	if s := Slowdowns(r); s != nil {
		all = append(all, report.Picture{Name: report.SlowdownFile, Drawing: s})
	}
	return all
}

// RatesFigure is a figure of how the rates went: the share of the capacity in the sliding window
// over model time, a curve for each aggregate of the result's phases (links by name, groups of
// flows). The same input gives the same bytes.
func RatesFigure(r *report.Result, series []metrics.Series) *plot.Figure {
	means := fmt.Sprintf("%s; means over a sliding window of %s", r.Source, unit.Text(unit.Duration(r.WindowPs)))
	f := figureOf(r, r.Scenario, strings.TrimPrefix(means, "; "), "rate (% of link capacity)")
	f.Strokes = plot.Strokes{Name: "longest holds", At: holdsOf(r)}
	highest := 100.0
	for _, s := range aggregateSeries(r, series) {
		f.Curves = append(f.Curves, curveOf(&s, 100))
	}
	for _, name := range r.Curves {
		f.Curves = append(f.Curves, chosenCurve(name, series))
	}
	for _, c := range f.Curves {
		for _, y := range slices.Concat(c.Y, c.High) {
			if report.Number(y).Known() {
				highest = max(highest, y)
			}
		}
	}
	if more := len(f.Curves) - plot.MaxCurves; more > 0 {
		f.Curves, f.Note = fullest(f.Curves, plot.MaxCurves), fmt.Sprintf("(the busiest; %d more in %s)", more, report.SeriesFile)
	}
	f.Y.High = highest * 1.03 // a curve at 100 % does not lie on the frame
	return f
}

// inMs returns an instant of model time in ms, as the axis of a figure has it.
func inMs[T ~int64](ps T) float64 { return float64(ps) / float64(unit.Millisecond) }

// figureOf returns a figure over the model time of a run, without curves.
func figureOf(r *report.Result, title, subtitle, label string) *plot.Figure {
	return &plot.Figure{Title: title, Subtitle: subtitle, Stamp: Stamp(r), Events: eventMarks(r),
		X: plot.Axis{Label: "model time (ms)", High: inMs(r.DurationPs)}, Y: plot.Axis{Label: label}}
}

// curveOf returns the curve of a series, with its values times a factor.
func curveOf(s *metrics.Series, factor float64) plot.Curve {
	c := plot.Curve{Name: s.Name}
	for i, v := range s.Values {
		c.X, c.Y = append(c.X, inMs(s.Times[i])), append(c.Y, factor*v)
	}
	return c
}

// chosenCurve returns the curve of a name that the scenario has chosen: of several series the
// median, with a band from the lowest to the highest.
func chosenCurve(name string, series []metrics.Series) plot.Curve {
	chosen, err := scenario.Chooser(name)
	var of []metrics.Series
	for _, s := range series {
		if err == nil && strings.HasSuffix(s.Kind, ".utilisation") && chosen(s.Name) {
			of = append(of, s)
		}
	}
	if len(of) == 0 {
		return plot.Curve{Name: name}
	}
	return bandOf(name, of, 100)
}

// bandOf returns the curve of several series, with their values times a factor: the median, with a
// band from the lowest to the highest.
func bandOf(name string, of []metrics.Series, factor float64) plot.Curve {
	c := curveOf(&of[0], factor)
	if c.Name = name; len(of) == 1 {
		return c
	}
	c.Name = fmt.Sprintf("%s: %d, median and range", name, len(of))
	c.Low, c.High = make([]float64, len(c.Y)), make([]float64, len(c.Y))
	for i := range c.Y {
		var values []float64
		for _, s := range of {
			if i < len(s.Values) && report.Number(s.Values[i]).Known() {
				values = append(values, factor*s.Values[i])
			}
		}
		slices.Sort(values)
		c.Low[i], c.Y[i], c.High[i] = metrics.Rank(values, 0), metrics.Rank(values, 0.5), metrics.Rank(values, 1)
	}
	return c
}

// eventMarks returns the changes of the fabric, and the deadlocks that were found, for the
// figures of a run.
func eventMarks(r *report.Result) []plot.Event {
	var marks []plot.Event
	for _, e := range r.Events {
		marks = append(marks, plot.Event{At: inMs(e.AtPs), Name: e.What})
	}
	for _, d := range r.Deadlocks {
		marks = append(marks, plot.Event{At: inMs(d.AtPs), Name: "deadlock"})
	}
	for _, x := range r.Failures {
		marks = append(marks, plot.Event{At: inMs(x.AtPs), Name: x.Flow + " failed"})
	}
	slices.SortStableFunc(marks, func(a, b plot.Event) int { return cmp.Compare(a.At, b.At) })
	return marks
}

// Stamp returns the text in the corner of a figure: the seed, and the verdict where timing limits
// the figure.
func Stamp(r *report.Result) string {
	s := fmt.Sprintf("seed %d", r.Seed)
	if r.Verdict.Level != report.Virtual {
		s = fmt.Sprintf("verdict: %s; dilation %d; %s", r.Verdict.Level, r.Dilation, s)
	}
	if r.Partial {
		s += "; ended before its time"
	}
	return s
}

// holdsOf returns the instants, in ms of model time, of the longest holds of the run clock.
func holdsOf(r *report.Result) (marks []float64) {
	for _, h := range r.Verdict.Pace.LongestHolds {
		marks = append(marks, inMs(unit.Time(h.AtPs)))
	}
	slices.Sort(marks)
	return marks
}

// aggregateSeries picks the curves of a figure.
func aggregateSeries(r *report.Result, series []metrics.Series) []metrics.Series {
	if len(r.Phases) == 0 || r.Curves != nil {
		return nil
	}
	at := map[[2]string]int{} // by kind and name: a large fabric has tens of thousands
	for i, s := range series {
		at[[2]string{s.Kind, s.Name}] = i
	}
	var curves []metrics.Series
	for _, x := range r.Phases[0].Rates {
		if i, found := at[[2]string{x.Kind + ".utilisation", x.Name}]; found {
			curves = append(curves, series[i])
		}
	}
	return curves
}

// seriesFigure draws the series of a kind, or returns nil where there are none: of many flows a
// band for each group, of many others the fullest.
func seriesFigure(r *report.Result, series []metrics.Series, title, kind, label string) *plot.Figure {
	f := figureOf(r, title, r.Scenario, label)
	name := func(s *metrics.Series) string { return s.Name }
	if kind == metrics.FlowLimit && len(r.Flows) > plot.MaxCurves {
		name = func(s *metrics.Series) string { return groupOf(r, s.Name) }
	}
	series = slices.DeleteFunc(slices.Clone(series), func(s metrics.Series) bool {
		return s.Kind != kind || kind == "pace" && s.Name != "late-share" || kind != "pace" && quiet(s.Values) ||
			kind == metrics.FlowLimit && steady(s.Values) // nothing ever changed it
	})
	for _, of := range report.Grouped(series, name) {
		f.Curves = append(f.Curves, bandOf(name(&of[0]), of, 1))
	}
	if more := len(f.Curves) - plot.MaxCurves; more > 0 {
		f.Curves, f.Note = fullest(f.Curves, plot.MaxCurves), fmt.Sprintf("(the fullest; %d more in %s)", more, report.SeriesFile)
	}
	if f.Curves == nil {
		return nil
	}
	return f
}

// DrawIn scales the values of a figure to the largest of the scales of a unit that makes
// the highest one or more, and writes the scale at the axis.
func DrawIn(f *plot.Figure, u metrics.Unit) {
	highest := 0.0
	for _, c := range f.Curves {
		for _, y := range c.Y {
			if report.Number(y).Known() {
				highest = max(highest, math.Abs(y))
			}
		}
	}
	s := u.Fit(highest)
	if s.Word != "" {
		f.Y.Label += " (" + s.Word + ")"
	}
	for _, c := range f.Curves {
		for i := range c.Y {
			c.Y[i] /= s.Base
		}
		for _, more := range [][]float64{c.Spread, c.Low, c.High} {
			for i := range more {
				more[i] /= s.Base
			}
		}
	}
}

// steady reports whether the values that are known are all the same.
func steady(values []float64) bool {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	return len(known) == 0 || slices.Min(known) == slices.Max(known)
}

// fullest returns the n curves that have the highest mean, in their order.
func fullest(curves []plot.Curve, n int) []plot.Curve {
	means := cellsOf(curves, func(c *plot.Curve) float64 {
		sum, known := 0.0, 0
		for _, v := range c.Y {
			if report.Number(v).Known() {
				sum, known = sum+v, known+1
			}
		}
		return sum / float64(max(1, known))
	})
	order := make([]int, len(curves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(means[b], means[a]) })
	order = slices.Sorted(slices.Values(order[:n]))
	return cellsOf(order, func(k *int) plot.Curve { return curves[*k] })
}

func groupOf(r *report.Result, flow string) string {
	for i := range r.Flows {
		if r.Flows[i].Name == flow {
			return r.Flows[i].Group
		}
	}
	return flow
}

// quiet reports whether nothing of a series is above zero.
func quiet(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v > 0 })
}
