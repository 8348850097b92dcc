package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// MaxCurves is how many curves a figure shows in one frame.
const MaxCurves = 16

// Figure is a figure of curves.
type Figure struct {
	Title    string
	Subtitle string // its source, and the meaning of a point
	Stamp    string // in the corner: the verdict, the clock

	X, Y       Axis
	Curves     []Curve
	References []Reference
	Strokes    Strokes
	Events     []Event // by rising At
	Note       string  // a last line of the legend
	Panels     bool    // each curve has a frame of its own, all frames have the same axes, and none a legend
}

// Axis is one of the two axes of a figure.
type Axis struct {
	Label string  // quantity and unit: "model time (ms)"
	Low   float64 // where the axis begins and ends; where both are zero, as the curves need
	High  float64
	Ticks []float64 // where it is marked; none: at round figures
	Names []string  // of Ticks; none: their figures
	Log   bool      // of Y: logarithmic; Low, High and all points are above zero then
}

// Curve is a curve: points by rising X. Where Y is not a number the curve is
// broken.
type Curve struct {
	Name   string
	X, Y   []float64
	Points bool      // each point was measured by itself, and is drawn as one
	Spread []float64 // how far the value of each point may lie above and below, drawn as a bar; nil: it is certain

	Low, High []float64 // the curve is the median of several, which lie between these, drawn as an area; nil: it is one
}

// Reference is the statement of a source about a quantity: a line where Low is High,
// else the band between them.
type Reference struct {
	Name      string  // in the legend; empty: not there
	Of        string  // the curve that it is about, whose colour it takes; empty: grey
	Low, High float64 // on the Y axis
	From, To  float64 // on the X axis; both zero: all of it
}

// Strokes are instants, drawn as short strokes on the X axis.
type Strokes struct {
	Name string // in the legend
	At   []float64
}

// Event is an instant on the X axis at which something changed, drawn as a line over the
// whole height with its name beside.
type Event struct {
	At   float64
	Name string
}

// Formats lists the formats of Write.
func Formats() []string { return []string{"svg", "png"} }

// Write writes a figure in a format.
func (f *Figure) Write(w io.Writer, format string) error { return write(w, f, format) }

// The size of a figure and of its parts.
const (
	width       = 24 * vg.Centimeter
	height      = 13 * vg.Centimeter
	titleHeight = 1.5 * vg.Centimeter
	footHeight  = 0.7 * vg.Centimeter
	margin      = 0.4 * vg.Centimeter
)

// resolution of PNG, in dots per inch.
const resolution = 144

// PNG writes a figure as PNG.
func (f *Figure) PNG(w io.Writer) error { return writePNG(w, f) }

// drawing is a picture that is written in the formats.
type drawing interface {
	title() string
	Words() string
	height() vg.Length
	draw(canvas draw.Canvas) error
}

func write(w io.Writer, d drawing, format string) error {
	switch format {
	case "svg":
		return writeSVG(w, d)
	case "png":
		return writePNG(w, d)
	}
	return fmt.Errorf("there is no format %q for figures; there are %s", format, strings.Join(Formats(), ", "))
}

func writePNG(w io.Writer, d drawing) error {
	canvas := vgimg.NewWith(vgimg.UseWH(width, d.height()), vgimg.UseDPI(resolution))
	if err := d.draw(draw.New(canvas)); err != nil {
		return err
	}
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

func (f *Figure) title() string { return f.Title }

// height returns the height of the picture.
func (f *Figure) height() vg.Length {
	if f.Panels {
		return f.panelsHeight()
	}
	return height
}

// shown are the curves that are drawn.
func (f *Figure) shown() []Curve {
	if f.Panels {
		return f.Curves
	}
	return f.Curves[:min(len(f.Curves), MaxCurves)]
}

// ground makes a white ground. It returns the part of it for the drawing, and a function that writes the texts.
func ground(all draw.Canvas) (drawing draw.Canvas, write func(title, subtitle, stamp string)) {
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	inner := draw.Crop(all, margin, -margin, margin, -margin)
	return draw.Crop(inner, 0, 0, footHeight, -titleHeight), func(title, subtitle, stamp string) {
		head := draw.TextStyle{Font: bold(13), Color: ink, Handler: plot.DefaultTextHandler, XAlign: draw.XLeft,
			YAlign: draw.YTop}
		all.FillText(head, vg.Point{X: inner.Min.X, Y: inner.Max.Y}, title)
		small := head
		small.Font, small.Color = sans(10), soft
		all.FillText(small, vg.Point{X: inner.Min.X, Y: inner.Max.Y - 17}, subtitle)
		foot := small
		foot.Font, foot.YAlign, foot.XAlign = sans(9), draw.YBottom, draw.XRight
		all.FillText(foot, vg.Point{X: inner.Max.X, Y: inner.Min.Y}, stamp)
	}
}

func (f *Figure) draw(canvas draw.Canvas) error {
	if f.Panels {
		return f.drawPanels(canvas)
	}
	p := f.frame()
	l := newLegend()
	curves := f.shown()
	// Below the curves: the events, and the references.
	p.Add(events(f.Events))
	for _, r := range f.References {
		p.Add(band{Reference: r, color: colorOf(curves, r.Of)})
	}
	for i := range curves {
		if err := f.curve(p, l, &curves[i], i); err != nil {
			return fmt.Errorf("%s: %w", curves[i].Name, err)
		}
	}
	for _, r := range f.References {
		if r.Name != "" {
			l.add(r.Name, band{Reference: r, color: colorOf(curves, r.Of)})
		}
	}
	if more := len(f.Curves) - len(curves); more > 0 {
		l.add(fmt.Sprintf("(%d more are not drawn)", more))
	}
	if len(f.Events) > 0 {
		l.add("event", events(nil))
	}
	if len(f.Strokes.At) > 0 {
		p.Add(f.Strokes)
		l.add(f.Strokes.Name, f.Strokes)
	}
	if f.Note != "" {
		l.add(f.Note)
	}
	f.limits(p)

	inner, write := ground(canvas)
	p.Draw(draw.Crop(inner, 0, -l.width, 0, 0))
	l.Draw(draw.Crop(inner, inner.Max.X-inner.Min.X-l.width+8, 0, 0, 0))
	write(f.Title, f.Subtitle, f.Stamp)
	return nil
}

// frame makes the axes.
func (f *Figure) frame() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = f.X.Label, f.Y.Label
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
	p.X.Tick.Marker, p.Y.Tick.Marker = even{10}, even{5}
	if f.X.Ticks != nil {
		p.X.Tick.Marker = at{f.X.Ticks, f.X.Names}
	}
	if f.Y.Ticks != nil {
		p.Y.Tick.Marker = at{f.Y.Ticks, f.Y.Names}
	}
	if f.Y.Log {
		p.Y.Scale = plot.LogScale{}
	}
	return p
}

// curve adds a curve and its line in the legend. A curve without points has neither, and
// a curve without a name has no such line.
func (f *Figure) curve(p *plot.Plot, l *legend, c *Curve, i int) error {
	if c.Low != nil {
		p.Add(area{c, band{color: palette[i%len(palette)]}.area()})
	}
	style := draw.LineStyle{Color: palette[i%len(palette)], Width: 1.5, Dashes: dashes[i%len(dashes)]}
	var sample []plot.Thumbnailer
	for _, part := range c.parts() {
		line, err := plotter.NewLine(part)
		if err != nil {
			return err
		}
		line.LineStyle = style
		p.Add(line)
		if sample == nil {
			sample = append(sample, line)
		}
		if c.Points {
			dots, err := plotter.NewScatter(part)
			if err != nil {
				return err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: 3, Shape: shapes[i%len(shapes)]}
			p.Add(dots)
			if len(sample) == 1 {
				sample = append(sample, dots)
			}
		}
	}
	if bars := c.bars(); len(bars.XYs) > 0 {
		bars.LineStyle, bars.CapWidth = draw.LineStyle{Color: style.Color, Width: 1}, 6
		p.Add(bars)
	}
	if sample != nil && c.Name != "" {
		l.add(c.Name, sample...)
	}
	return nil
}

// bars are the bars of the points that have a spread.
func (c *Curve) bars() *plotter.YErrorBars {
	b := new(plotter.YErrorBars)
	for i, half := range c.Spread {
		if finite(c.X[i]) && finite(c.Y[i]) && half > 0 && finite(half) {
			b.XYs = append(b.XYs, plotter.XY{X: c.X[i], Y: c.Y[i]})
			b.YErrors = append(b.YErrors, struct{ Low, High float64 }{half, half})
		}
	}
	return b
}

// maxPoints bounds the points of one curve.
const maxPoints = 2000

// parts returns a curve's unbroken parts, with not more points than can be seen.
func (c *Curve) parts() []plotter.XYs {
	n := min(len(c.X), len(c.Y))
	step := max(1, (n+maxPoints-1)/maxPoints)
	var parts []plotter.XYs
	var part plotter.XYs
	for i := 0; i < n; i += step {
		if !finite(c.X[i]) || !finite(c.Y[i]) {
			if part != nil {
				parts, part = append(parts, part), nil
			}
			continue
		}
		part = append(part, plotter.XY{X: c.X[i], Y: c.Y[i]})
	}
	if part != nil {
		parts = append(parts, part)
	}
	return parts
}

// limits sets where the axes begin and end. A Y axis that nobody has bounded
// begins at zero, unless something is below, and leaves room above.
func (f *Figure) limits(p *plot.Plot) {
	xs, ys := []float64{}, []float64{0}
	for _, c := range f.shown() {
		for _, part := range c.parts() {
			for _, q := range part {
				xs, ys = append(xs, q.X), append(ys, q.Y)
			}
		}
	}
	for _, c := range f.shown() {
		b := c.bars()
		for i, q := range b.XYs {
			ys = append(ys, q.Y-b.YErrors[i].Low, q.Y+b.YErrors[i].High)
		}
	}
	for _, c := range f.shown() {
		ys = append(ys, slices.DeleteFunc(slices.Concat(c.Low, c.High), func(y float64) bool { return !finite(y) })...)
	}
	for _, r := range f.References {
		if finite(r.Low) && finite(r.High) {
			ys = append(ys, r.Low, r.High)
		}
	}
	p.X.Min, p.X.Max = f.X.Low, f.X.High
	if f.X.Low == 0 && f.X.High == 0 && len(xs) > 0 {
		p.X.Min, p.X.Max = slices.Min(xs), slices.Max(xs)
	}
	p.Y.Min, p.Y.Max = f.Y.Low, f.Y.High
	if f.Y.Low == 0 && f.Y.High == 0 {
		p.Y.Min, p.Y.Max = slices.Min(ys), slices.Max(ys)
		p.Y.Max += (p.Y.Max - p.Y.Min) * 0.03 // a curve at the top does not lie on the frame
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if !(a.Max > a.Min) {
			a.Max = a.Min + 1
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

var (
	ink   = color.Gray{0x22}
	soft  = color.Gray{0x55}
	faint = color.Gray{0x88}
	paper = color.Gray{0xe4}
)

func sans(points float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: font.Length(points)}
}

func bold(points float64) font.Font {
	f := sans(points)
	f.Weight = 3 // three steps above normal
	return f
}
