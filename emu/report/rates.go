package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/wire/unit"
)

// WriteRates writes a figure of how the rates went, as SVG: the share of the
// capacity in the sliding window over model time, a curve for each aggregate of
// the result's phases (links by name, groups of flows). The same input gives the
// same bytes.
func WriteRates(w io.Writer, r *Result, series []metrics.Series) error {
	if err := RatesFigure(r, series).SVG(w); err != nil {
		return fmt.Errorf("%s: %w", RatesFile, err)
	}
	return nil
}

// RatesFigure is the figure of WriteRates.
func RatesFigure(r *Result, series []metrics.Series) *plot.Figure {
	f := &plot.Figure{
		Title:    r.Scenario,
		Subtitle: subtitle(r),
		Stamp:    Stamp(r),
		X:        plot.Axis{Label: "model time (ms)", High: float64(r.DurationPs) / float64(unit.Millisecond)},
		Y:        plot.Axis{Label: "rate (% of link capacity)"},
		Strokes:  plot.Strokes{Name: "machine stalled", At: stallsOf(r.Pace)},
		Events:   eventMarks(r),
	}
	highest := 100.0
	for _, s := range aggregateSeries(r, series) {
		c := plot.Curve{Name: s.Name, X: make([]float64, len(s.Values)), Y: make([]float64, len(s.Values))}
		for i, v := range s.Values {
			c.X[i], c.Y[i] = float64(s.Times[i])/float64(unit.Millisecond), 100*v
			if Number(v).Known() {
				highest = max(highest, 100*v)
			}
		}
		f.Curves = append(f.Curves, c)
	}
	if more := len(f.Curves) - plot.MaxCurves; more > 0 {
		f.Curves, f.Note = f.Curves[:plot.MaxCurves], fmt.Sprintf("(%d more in %s)", more, SeriesFile)
	}
	f.Y.High = highest * 1.03 // a curve at 100 % does not lie on the frame
	return f
}

// eventMarks returns what changed the fabric, and the deadlocks that were found, for the
// figures of a run.
func eventMarks(r *Result) []plot.Event {
	var marks []plot.Event
	for _, e := range r.Events {
		marks = append(marks, plot.Event{At: float64(e.AtPs) / float64(unit.Millisecond), Name: e.What})
	}
	for _, d := range r.Deadlocks {
		marks = append(marks, plot.Event{At: float64(d.AtPs) / float64(unit.Millisecond), Name: "deadlock"})
	}
	slices.SortStableFunc(marks, func(a, b plot.Event) int { return cmp.Compare(a.At, b.At) })
	return marks
}

// subtitle says where the figure comes from and what a point is.
func subtitle(r *Result) string {
	s := fmt.Sprintf("means over a sliding window of %v", unit.Duration(r.WindowPs))
	if r.Source != "" {
		s = r.Source + "; " + s
	}
	return s
}

// Stamp says in a line what a figure of a run is worth: the verdict, the clock, the
// seed.
func Stamp(r *Result) string {
	s := fmt.Sprintf("verdict: %s; %s clock", r.Verdict.Level, r.Clock)
	if r.Clock != VirtualClock {
		s += fmt.Sprintf(", dilation %d", r.Dilation)
	}
	s += fmt.Sprintf("; seed %d", r.Seed)
	if r.Partial {
		s += "; ended before its time"
	}
	return s
}

// stallsOf returns the instants, in ms of model time, at which the machine stalled.
func stallsOf(pace []metrics.Series) (marks []float64) {
	for _, s := range pace {
		for i, v := range s.Values {
			if s.Name == stalledUs && v > 0 {
				marks = append(marks, float64(s.Times[i])/float64(unit.Millisecond))
			}
		}
	}
	return marks
}

// aggregateSeries picks the curves of a figure.
func aggregateSeries(r *Result, series []metrics.Series) []metrics.Series {
	if len(r.Phases) == 0 {
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
