package limiters

import (
	"fmt"
	"io"
	"math"

	"fabemu/emu/document"
	"fabemu/emu/report/plot"
	"fabemu/emu/report/summary"
	"fabemu/wire/unit"
)

// WriteHTML writes a result for browsers, in one file.
func (r *Result) WriteHTML(w io.Writer) error {
	p := &document.Page{Title: r.Limiter, Subtitle: "rate limiter on the bench; fabemu " + r.Fabemu, Verdict: r.says(),
		Outcome: document.Good}
	if !r.Good() {
		p.Outcome = document.Bad
	}
	if r.Note != "" {
		p.Subtitle += "; " + r.Note
	}
	var rows [][]string
	for i := range r.Cases {
		rows = append(rows, r.Cases[i].row())
	}
	if rows != nil || r.Loops == nil {
		p.Sections = append(p.Sections,
			document.Section{Title: "Cases", Text: headsDoc, Parts: []document.Part{document.NewTable("Cases", heads, rows)}})
	}
	if real := r.realRows(); real != nil {
		p.Sections = append(p.Sections,
			document.Section{Title: "In real time", Text: realHeadsDoc, Parts: []document.Part{document.NewTable("At a dilation of 1", realHeads, real)}})
	}
	if r.Loops != nil {
		loops := document.Section{Title: "Loops", Text: loopHeadsDoc}
		var rows [][]string
		for i := range r.Loops {
			rows = append(rows, r.Loops[i].row())
		}
		loops.Parts = append(loops.Parts, document.NewTable("Loops with a bottleneck", loopHeads, rows))
		for i := range r.Loops {
			for _, f := range r.Loops[i].Faults {
				loops.Parts = append(loops.Parts,
					document.Fold{Title: r.Loops[i].Loop + ": " + string(f.Criterion) + ": " + f.Text, Text: f.Around})
			}
		}
		p.Sections = append(p.Sections, loops)
	}
	for i := range r.Cases {
		s, err := r.Cases[i].section()
		if err != nil {
			return err
		}
		p.Sections = append(p.Sections, s)
	}
	p.Sections = append(p.Sections, summary.MachineSection(r.Machine))
	return p.Write(w)
}

// section is what a page has of a case.
func (o *Outcome) section() (document.Section, error) {
	s := document.Section{Title: o.Case, Text: "The case: " + o.Doc + "; " + string(o.Clock) + " clock."}
	if o.Smaller != "" {
		s.Text += " It has " + o.Smaller + " that it has for limiters in this program."
	}
	if o.Said != "" {
		s.Text += " In this one " + o.Said + "."
	}
	if o.Wall != nil {
		s.Text += " In real time: " + o.Wall.String() + "."
	}
	for _, f := range o.Faults {
		s.Parts = append(s.Parts, document.Fold{Title: string(f.Criterion) + ": " + f.Text, Text: f.Around})
	}
	if o.trace == nil {
		return s, nil
	}
	for _, f := range []*plot.Figure{o.ratesFigure(), o.gapsFigure(), o.burstFigure(), o.reactionFigure()} {
		if f == nil {
			continue
		}
		picture, err := document.Picture(f)
		if err != nil {
			return s, err
		}
		s.Parts = append(s.Parts, picture)
	}
	return s, nil
}

// scale is a unit in which figures are drawn.
type scale struct {
	word string
	base float64
}

// fit returns the largest scale in which a value is one or more, else the first.
func fit(v float64, scales []scale) scale {
	best := scales[0]
	for _, s := range scales {
		if v >= s.base {
			best = s
		}
	}
	return best
}

// times are the scales of spans in ps, and speeds those of rates in b/s.
var (
	times  = []scale{{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}, {"h", 3600e12}}
	speeds = []scale{{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}}
)

// scaled returns values in a scale.
func scaled(values []float64, s scale) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v / s.base
	}
	return out
}

// over returns a figure over the time of the case, with its scale.
func (o *Outcome) over(title, label string) (*plot.Figure, scale) {
	s := fit(float64(o.trace.c.Duration), times)
	return &plot.Figure{
		Title: title, Subtitle: o.Case, Stamp: string(o.Clock) + " clock",
		X: plot.Axis{Label: "model time (" + s.word + ")", High: float64(o.trace.c.Duration) / s.base},
		Y: plot.Axis{Label: label},
	}, s
}

// ratesFigure draws the rate over time, and the one that was set.
func (o *Outcome) ratesFigure() *plot.Figure {
	at, started, set := o.trace.rates()
	most := 0.0
	for i := range set {
		most = max(most, set[i], started[i])
	}
	speed := fit(most, speeds)
	f, s := o.over("Rate", fmt.Sprintf("mean over a %dth of the time (%s)", bins, speed.word))
	at = scaled(at, s)
	f.Curves = []plot.Curve{{Name: "the rate that is set", X: at, Y: scaled(set, speed)},
		{Name: "what started", X: at, Y: scaled(started, speed)}}
	if o.trace.recorded != nil {
		f.Curves = append(f.Curves,
			plot.Curve{Name: "set in the recorded run", X: at, Y: scaled(o.trace.ratesOf(o.trace.recorded), speed)})
	}
	return f
}

// gapsFigure draws the histogram of the gaps between starts.
func (o *Outcome) gapsFigure() *plot.Figure {
	if o.Gaps.Count == 0 {
		return nil
	}
	const width, most = 0.02, 3.0 // a bar, and where the axis ends
	var bars [most / width]float64
	beyond := int64(0)
	for _, b := range o.Gaps.Bins {
		i := int((b.Low + b.High) / 2 / width)
		if i >= len(bars) {
			beyond += b.Count
			continue
		}
		bars[i] += 100 * float64(b.Count) / float64(o.Gaps.Count)
	}
	c := plot.Curve{Name: "gaps"}
	for i, share := range bars {
		low := float64(i) * width
		c.X, c.Y = append(c.X, low, low, low+width, low+width), append(c.Y, 0, share, share, 0)
	}
	f := &plot.Figure{
		Title:    "Gaps between departures",
		Subtitle: fmt.Sprintf("%s; %d gaps, in parts of %v of the ideal", o.Case, o.Gaps.Count, width),
		Stamp:    string(o.Clock) + " clock",
		X:        plot.Axis{Label: "gap from start to start over the ideal, size over rate", High: most},
		Y:        plot.Axis{Label: "share of the gaps (%)"},
		Curves:   []plot.Curve{c}, Events: []plot.Event{{At: 1, Name: "ideal"}},
	}
	if beyond > 0 {
		f.Note = fmt.Sprintf("(%d are longer, up to %s times the ideal)", beyond, number(o.Gaps.Max, 3))
	}
	return f
}

// burstFigure draws what a bucket holds that takes in what starts and empties at the rate.
func (o *Outcome) burstFigure() *plot.Figure {
	if o.trace.c.Limiters > 1 {
		return nil // each has its own
	}
	f, s := o.over("Burst", "most bytes beside the rate in a part of the time (B)")
	c := plot.Curve{Name: "bytes beside the rate"}
	for i, level := range o.trace.level {
		c.X, c.Y = append(c.X, (float64(i)+0.5)/bins*float64(o.trace.c.Duration)/s.base), append(c.Y, level)
	}
	f.Curves = []plot.Curve{c}
	promised := float64(o.PromisedBytes)
	f.References = []plot.Reference{{Name: "that may start", Low: promised, High: promised}}
	return f
}

// reactionFigure draws how soon the first packet started after each change of the rate.
func (o *Outcome) reactionFigure() *plot.Figure {
	if len(o.trace.heard) == 0 || o.trace.c.Limiters > 1 {
		return nil
	}
	most := unit.Duration(0)
	for _, d := range o.trace.heard {
		most = max(most, d.took)
	}
	y := fit(float64(most), times)
	f, s := o.over("Delay of reaction", "from a change of the rate to the next start ("+y.word+")")
	took, ideal := plot.Curve{Name: "to the next start", Points: true},
		plot.Curve{Name: "a packet at the new rate", Points: true}
	for _, d := range o.trace.heard {
		x := float64(d.at) / s.base
		took.X, took.Y = append(took.X, x, x), append(took.Y, float64(d.took)/y.base, math.NaN()) // no line to the next
		if v := float64(d.ideal) / y.base; v <= 1.2*math.Max(float64(most)/y.base, 1e-9) {
			ideal.X, ideal.Y = append(ideal.X, x, x), append(ideal.Y, v, math.NaN())
		}
	}
	f.Curves = []plot.Curve{took, ideal}
	return f
}
