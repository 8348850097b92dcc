package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// The size of the figure and of its parts.
const (
	figureWidth  = 24 * vg.Centimeter
	figureHeight = 13 * vg.Centimeter
	titleHeight  = 1.5 * vg.Centimeter
	footHeight   = 0.7 * vg.Centimeter
	margin       = 0.4 * vg.Centimeter
)

// The legend stands beside the curves and is as wide as its names, within
// bounds.
const (
	thumbnail   = 30
	legendLeast = 3 * vg.Centimeter
	legendMost  = 9 * vg.Centimeter
)

// maxCurves and maxPoints bound what one figure shows.
const (
	maxCurves = 16
	maxPoints = 2000
)

// palette is the one of Okabe and Ito, which those who do not see all colours
// can tell apart; yellow is left out, as it is too faint for a line on white.
var palette = [...]color.Color{
	color.RGBA{0x00, 0x00, 0x00, 0xff}, // black
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
	color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	color.RGBA{0x00, 0x9e, 0x73, 0xff}, // bluish green
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	color.RGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
	color.RGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
}

// dashes tell curves apart where colours do not. Their number and that of the
// colours have no common factor, so that the pairs do not repeat soon.
var dashes = [...][]vg.Length{
	nil,
	{7, 2.5},
	{2, 2},
	{9, 2.5, 2, 2.5},
	{4, 1.5, 1, 1.5, 1, 1.5},
}

// WriteRates writes a figure of how the rates went, as SVG: the share of the
// capacity in the sliding window over model time, a curve for each aggregate of
// the result's phases (links by name, groups of flows). The same input gives the
// same bytes.
func WriteRates(w io.Writer, r *Result, series []metrics.Series) error {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text = "model time (ms)"
	p.Y.Label.Text = "rate (% of link capacity)"
	for _, s := range []*draw.TextStyle{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		s.Font = sans(10)
		s.Color = ink
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.LineStyle.Color, a.Tick.LineStyle.Color = faint, faint
		a.Tick.Length = 4
		a.Label.Padding = 5
	}
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: paper, Width: 0.6}
	grid.Vertical = grid.Horizontal
	p.Add(grid)

	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.ThumbnailWidth = thumbnail
	legend.Padding = 5
	legend.TextStyle.Font, legend.TextStyle.Color = sans(10), ink
	legend.YOffs = -4

	legendWidth := vg.Length(legendLeast)
	entry := func(name string, line ...plot.Thumbnailer) {
		legend.Add(name, line...)
		legendWidth = min(legendMost, max(legendWidth, thumbnail+24+legend.TextStyle.Width(name)))
	}
	curves, more := aggregateSeries(r, series)
	highest := 100.0
	for i, s := range curves {
		points := thin(&s)
		if len(points) == 0 {
			continue
		}
		for _, q := range points {
			highest = max(highest, q.Y)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("%s: %w", RatesFile, err)
		}
		line.LineStyle = draw.LineStyle{Color: palette[i%len(palette)], Width: 1.5, Dashes: dashes[i%len(dashes)]}
		p.Add(line)
		entry(s.Name, line)
	}
	if more > 0 {
		entry(fmt.Sprintf("(%d more in %s)", more, SeriesFile))
	}
	if marks := stallsOf(r.Moments); len(marks) > 0 {
		p.Add(marks)
		entry("machine stalled", marks)
	}
	p.X.Min, p.X.Max = 0, float64(r.DurationPs)/float64(unit.Millisecond)
	p.Y.Min, p.Y.Max = 0, highest*1.03 // a curve at 100 % does not lie on the frame
	p.X.Tick.Marker, p.Y.Tick.Marker = even{10}, even{5}

	canvas := vgsvg.New(figureWidth, figureHeight)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	inner := draw.Crop(all, margin, -margin, margin, -margin)
	p.Draw(draw.Crop(inner, 0, -legendWidth, footHeight, -titleHeight))
	right := draw.Crop(inner, inner.Max.X-inner.Min.X-legendWidth+8, 0, footHeight, -titleHeight)
	legend.Draw(right)

	title := draw.TextStyle{Font: bolder(13), Color: ink, Handler: plot.DefaultTextHandler, XAlign: draw.XLeft, YAlign: draw.YTop}
	all.FillText(title, vg.Point{X: inner.Min.X, Y: inner.Max.Y}, r.Scenario)
	small := title
	small.Font, small.Color = sans(10), soft
	all.FillText(small, vg.Point{X: inner.Min.X, Y: inner.Max.Y - 17}, subtitle(r))
	foot := small
	foot.Font, foot.YAlign, foot.XAlign = sans(9), draw.YBottom, draw.XRight
	all.FillText(foot, vg.Point{X: inner.Max.X, Y: inner.Min.Y}, stamp(r))

	_, err := canvas.WriteTo(w)
	return err
}

var (
	ink   = color.Gray{0x22}
	soft  = color.Gray{0x55}
	faint = color.Gray{0x88}
	paper = color.Gray{0xe4}
)

func sans(points float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Length(points)}
}

func bolder(points float64) font.Font {
	f := sans(points)
	f.Weight = 3 // bold: three steps above normal
	return f
}

// subtitle says where the figure comes from and what a point is.
func subtitle(r *Result) string {
	s := fmt.Sprintf("means over a sliding window of %v", unit.Duration(r.WindowPs))
	if r.Source != "" {
		s = r.Source + "; " + s
	}
	return s
}

// stamp says what the figure is worth.
func stamp(r *Result) string {
	s := fmt.Sprintf("verdict: %s; %s clock", r.Verdict.Level, r.Clock)
	if r.Clock != "virtual" {
		s += fmt.Sprintf(", dilation %d", r.Dilation)
	}
	s += fmt.Sprintf("; seed %d", r.Seed)
	if r.Partial {
		s += "; ended before its time"
	}
	return s
}

// stallMarks are the instants, in ms of model time, at which the machine stalled: a
// stroke on the time axis each.
type stallMarks []float64

func stallsOf(moments []Moment) stallMarks {
	var marks stallMarks
	for _, m := range moments {
		if m.StalledUs > 0 {
			marks = append(marks, float64(m.From)/float64(unit.Millisecond))
		}
	}
	return marks
}

var stallStroke = draw.LineStyle{Color: color.RGBA{0xC0, 0x20, 0x20, 0xff}, Width: 1.5}

// Plot draws the strokes.
func (m stallMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, at := range m {
		c.StrokeLine2(stallStroke, x(at), c.Min.Y, x(at), c.Min.Y+7)
	}
}

// Thumbnail draws one for the legend.
func (m stallMarks) Thumbnail(c *draw.Canvas) {
	middle := (c.Min.X + c.Max.X) / 2
	c.StrokeLine2(stallStroke, middle, c.Center().Y-3.5, middle, c.Center().Y+3.5)
}

// aggregateSeries picks the curves of a figure, and says how many do not fit.
func aggregateSeries(r *Result, series []metrics.Series) (curves []metrics.Series, more int) {
	if len(r.Phases) == 0 {
		return nil, 0
	}
	for _, x := range r.Phases[0].Rates {
		for _, s := range series {
			if s.Name == x.Name && s.Kind == x.Kind+".utilisation" {
				curves = append(curves, s)
			}
		}
	}
	if len(curves) > maxCurves {
		return curves[:maxCurves], len(curves) - maxCurves
	}
	return curves, 0
}

// thin returns the points of a curve in milliseconds and percent: the defined
// ones, and not more than can be seen. The window is many points wide, so that
// leaving some out hides nothing.
func thin(s *metrics.Series) plotter.XYs {
	step := (len(s.Values) + maxPoints - 1) / maxPoints
	var points plotter.XYs
	for i := 0; i < len(s.Values); i += max(1, step) {
		if v := s.Values[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			points = append(points, plotter.XY{X: float64(s.Times[i]) / float64(unit.Millisecond), Y: 100 * v})
		}
	}
	return points
}

// even marks an axis at multiples of 1, 2 or 5 times a power of ten, about so
// many times.
type even struct{ marks int }

// Ticks is a plot.Ticker.
func (e even) Ticks(low, high float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(e.marks))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= float64(e.marks)+1 {
			step *= factor
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step))))
	var ticks []plot.Tick
	for k := math.Ceil(low / step); k*step <= high*(1+1e-9); k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: fmt.Sprintf("%.*f", digits, k*step)})
	}
	return ticks
}
