package limiters

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/summary"
	"fabemu/wire/unit"
)

// WriteHTML writes a result for browsers, in one file.
func (r *Result) WriteHTML(w io.Writer) error { return r.page().WriteHTML(w) }

// WriteText writes a result for people.
func (r *Result) WriteText(w io.Writer, look terminal.Look) error { return r.page().WriteText(w, look) }

// page is the report of a result.
func (r *Result) page() *document.Page {
	p := &document.Page{Title: r.Limiter, Subtitle: "rate limiter on the bench; fabemu " + r.Fabemu, Verdict: r.summary(),
		Outcome: document.Good, Color: terminal.Green}
	if !r.Good() {
		p.Outcome, p.Color = document.Bad, terminal.Red
	}
	if r.Note != "" {
		p.Title += " (" + r.Note + ")"
	}
	var causes []string
	for _, c := range r.Causes {
		causes = append(causes, causeText(c))
	}
	p.Reason = strings.Join(causes, " ")
	all := document.Section{Title: "Cases", Text: headsDoc, Parts: []document.Block{
		document.Only{In: document.Browser, Block: outcomeFirst(r.table())}, document.Only{In: document.Terminal, Block: r.table()}}}
	if r.Loops != nil {
		all.Title, all.Text = "Loops", loopHeadsDoc
	}
	all.Parts = append(all.Parts, document.Only{In: document.Terminal, Block: document.Paragraph(all.Text)})
	for i := range r.Loops {
		all.Parts = append(all.Parts, folds(r.Loops[i].Loop+": ", r.Loops[i].Faults)...)
	}
	for _, x := range r.entries() {
		for _, f := range x.faults {
			all.Parts = append(all.Parts, document.Only{In: document.Terminal, Block: document.Line("\n" + x.cells[0] + ": " + f.Around)})
		}
	}
	for i := range r.Cases {
		if o := &r.Cases[i]; o.Said != "" {
			all.Parts = append(all.Parts, document.Only{In: document.Terminal, Block: document.Line("\n" + o.Case + ": " + o.Said + ".")})
		}
	}
	p.Sections = append(p.Sections, all)
	if real := r.realTable(); real != nil {
		p.Sections = append(p.Sections, document.Section{Title: "In real time", Text: realHeadsDoc, Parts: []document.Block{real,
			document.Only{In: document.Terminal, Block: document.Paragraph(realHeadsDoc)}}})
	}
	for i := range r.Cases {
		p.Sections = append(p.Sections, r.Cases[i].section())
	}
	if slices.ContainsFunc(r.Cases, func(o Outcome) bool { return o.Smaller != "" }) {
		p.Last = []string{"Large cases were made smaller: report.html has the reduction, and --packets sets how many."}
	}
	machine := summary.MachineSection(r.Machine)
	machine.In = document.Browser
	p.Sections = append(p.Sections, machine)
	return p
}

// outcomeFirst returns the table as browsers show it: the last column comes first, so that a narrow
// window has it.
func outcomeFirst(t *document.Table) *document.Table {
	last := len(t.Columns) - 1
	columns := []int{last}
	for i := range last {
		columns = append(columns, i)
	}
	t = t.Pick(columns...)
	t.Words = true
	return t
}

// folds are faults, each with the starts around it.
func folds(of string, faults []Fault) (all []document.Block) {
	for _, f := range faults {
		all = append(all, document.Fold{Title: of + string(f.Criterion) + ": " + f.Text, Text: f.Around})
	}
	return all
}

// section returns the section of a case. A terminal has its faults below the table of all cases.
func (o *Outcome) section() document.Section {
	s := document.Section{Title: o.Case, Text: "The case: " + o.Doc + "; " + string(o.Clock) + " clock.", In: document.Browser}
	if o.Smaller != "" {
		s.Text += " It has " + o.Smaller + " of the full case."
	}
	if o.Said != "" {
		s.Text += " In this one " + o.Said + "."
	}
	s.Parts = folds("", o.Faults)
	if o.trace == nil {
		return s
	}
	for _, f := range []*plot.Figure{o.ratesFigure(), o.gapsFigure(), o.burstFigure(), o.reactionFigure()} {
		if f != nil {
			s.Parts = append(s.Parts, document.Picture{Drawing: f, Name: o.Case})
		}
	}
	return s
}

// times is the unit of spans in ps, and speeds the unit of rates in b/s.
var (
	times = metrics.Unit{Scales: []metrics.Scale{
		{Base: 3600e12, Word: "h"}, {Base: 1e12, Word: "s"}, {Base: 1e9, Word: "ms"}, {Base: 1e6, Word: "µs"}, {Base: 1e3, Word: "ns"},
	}}
	speeds = metrics.Unit{Scales: []metrics.Scale{
		{Base: 1e9, Word: "Gb/s"}, {Base: 1e6, Word: "Mb/s"}, {Base: 1e3, Word: "kb/s"}, {Base: 1, Word: "b/s"},
	}}
)

func scaled(values []float64, s metrics.Scale) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v / s.Base
	}
	return out
}

// over returns a figure over the time of the case, with its scale.
func (o *Outcome) over(title, label string) (*plot.Figure, metrics.Scale) {
	s := times.Fit(float64(o.trace.c.Duration))
	return &plot.Figure{
		Title: title, Subtitle: o.Case, Stamp: string(o.Clock) + " clock",
		X: plot.Axis{Label: "model time (" + s.Word + ")", High: float64(o.trace.c.Duration) / s.Base},
		Y: plot.Axis{Label: label},
	}, s
}

// ratesFigure draws the rate of the starts and the set rate over time.
func (o *Outcome) ratesFigure() *plot.Figure {
	at, started, set := o.trace.rates()
	most := 0.0
	for i := range set {
		most = max(most, set[i], started[i])
	}
	speed := speeds.Fit(most)
	f, s := o.over("Rate", fmt.Sprintf("mean over a %dth of the time (%s)", bins, speed.Word))
	at = scaled(at, s)
	f.Curves = []plot.Curve{{Name: "the rate that is set", X: at, Y: scaled(set, speed)},
		{Name: "the rate of the starts", X: at, Y: scaled(started, speed)}}
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

// burstFigure draws the level of a bucket that each start fills, and that empties at the rate.
func (o *Outcome) burstFigure() *plot.Figure {
	if o.trace.c.Limiters > 1 {
		return nil // each has its own
	}
	f, s := o.over("Burst", "most bytes above the rate in a part of the time (B)")
	c := plot.Curve{Name: "bytes above the rate"}
	for i, level := range o.trace.level {
		c.X, c.Y = append(c.X, (float64(i)+0.5)/bins*float64(o.trace.c.Duration)/s.Base), append(c.Y, level)
	}
	f.Curves = []plot.Curve{c}
	promised := float64(o.PromisedBytes)
	f.References = []plot.Reference{{Name: "that may start", Low: promised, High: promised}}
	return f
}

// reactionFigure draws the delay of the first start after each change of the rate.
func (o *Outcome) reactionFigure() *plot.Figure {
	if len(o.trace.reactions) == 0 || o.trace.c.Limiters > 1 {
		return nil
	}
	most := unit.Duration(0)
	for _, d := range o.trace.reactions {
		most = max(most, d.took)
	}
	y := times.Fit(float64(most))
	f, s := o.over("Delay of reaction", "from a change of the rate to the next start ("+y.Word+")")
	took, ideal := plot.Curve{Name: "to the next start", Points: true},
		plot.Curve{Name: "a packet at the new rate", Points: true}
	for _, d := range o.trace.reactions {
		x := float64(d.at) / s.Base
		took.X, took.Y = append(took.X, x, x), append(took.Y, float64(d.took)/y.Base, math.NaN()) // no line to the next
		if v := float64(d.ideal) / y.Base; v <= 1.2*math.Max(float64(most)/y.Base, 1e-9) {
			ideal.X, ideal.Y = append(ideal.X, x, x), append(ideal.Y, v, math.NaN())
		}
	}
	f.Curves = []plot.Curve{took, ideal}
	return f
}
