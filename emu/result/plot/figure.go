package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// MaxCurves is how many curves a figure shows in one frame.
const MaxCurves = 16

// Figure is a figure of curves.
type Figure struct {
	Title    string
	Subtitle string // its source, and the meaning of a point
	Stamp    string // in the corner: the verdict, the seed; empty: none

	X, Y       Axis
	Curves     []Curve
	References []Reference
	Strokes    Strokes
	Events     []Event // by rising At
	Note       string  // a last line of the legend
	Caption    string  // what a caption says besides, such as parameters; the picture does not have it
	Panels     bool    // each curve has its own frame, all frames have the same axes, and none a legend
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
	Apart  bool      // the same, and nothing is between the points: their places on the X axis have names
	Spread []float64 // how far the value of each point may lie above and below, drawn as a bar; nil: it is certain

	Values    []int     // how many values each point is of, such as flows; nil: that is not known
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
// whole height with its name next to it.
type Event struct {
	At   float64
	Name string
}

func (f *Figure) title() string { return f.Title }

func (f *Figure) heads() heads { return heads{f.Title, f.Subtitle, f.Stamp} }

// height returns the height of the picture.
func (f *Figure) height(y form) vg.Length {
	above, below := y.room(f.heads())
	around := above + below + 2*margin
	switch {
	case f.Panels:
		return around + f.panelsHeight(y)
	case y.narrow():
		l := newLegend()
		_ = f.fill(plot.New(), l) // draw returns the error
		return around + 0.6*y.width + l.below(y)
	}
	return around + (height-titleHeight-footHeight-2*margin)*y.width/width
}

// shown are the curves that are drawn.
func (f *Figure) shown() []Curve {
	if f.Panels {
		return f.Curves
	}
	return f.Curves[:min(len(f.Curves), MaxCurves)]
}

func (f *Figure) draw(canvas draw.Canvas, y form) error {
	if f.Panels {
		return f.drawPanels(canvas, y)
	}
	l := newLegend()
	p := f.frame()
	if err := f.fill(p, l); err != nil {
		return err
	}
	f.limits(p)
	inner, write := y.ground(canvas, f.heads())
	if y.narrow() {
		f.turnNames(p, y.width)
		p.Draw(draw.Crop(inner, 0, 0, l.below(y), 0))
		inner.Max.Y = inner.Min.Y + l.below(y)
		l.draw(inner, y)
		write()
		return nil
	}
	wide := inner.Max.X - inner.Min.X - l.width
	f.turnNames(p, wide)
	p.Draw(draw.Crop(inner, 0, -l.width, 0, 0))
	l.draw(draw.Crop(inner, wide+8, 0, 0, 0), y)
	write()
	return nil
}

// fill adds to a frame what the figure shows, and to the legend its names.
func (f *Figure) fill(p *plot.Plot, l *legend) error {
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
	return nil
}

// turnNames turns the names at the X axis, where they have no room side by side.
func (f *Figure) turnNames(p *plot.Plot, wide vg.Length) {
	style, longest := &p.X.Tick.Label, vg.Length(0)
	for _, name := range f.X.Names {
		longest = max(longest, style.Width(name)+8)
	}
	if longest*vg.Length(len(f.X.Names)) > wide {
		style.Rotation, style.XAlign, style.YAlign = math.Pi/5, draw.XRight, draw.YTop
	}
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
	if c.Low != nil && !c.Apart {
		p.Add(area{c, band{color: palette[i%len(palette)]}.area()})
	}
	style := draw.LineStyle{Color: palette[i%len(palette)], Width: 1.5, Dashes: dashes[i%len(dashes)]}
	var sample []plot.Thumbnailer
	by := f.aside(i)
	for _, part := range c.parts() {
		var drawn []plot.Plotter
		if !c.Apart {
			line, err := plotter.NewLine(part)
			if err != nil {
				return err
			}
			line.LineStyle = style
			drawn = append(drawn, line)
		}
		if points := f.marked(c, i, part); points != nil {
			dots, err := plotter.NewScatter(points)
			if err != nil {
				return err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: 3, Shape: f.shape(c, i)}
			drawn = append(drawn, dots)
		}
		for _, x := range drawn {
			p.Add(moved(x, by))
		}
		if len(sample) < len(drawn) {
			sample = nil
			for _, x := range drawn {
				sample = append(sample, x.(plot.Thumbnailer))
			}
		}
	}
	if bars := c.bars(); len(bars.XYs) > 0 {
		bars.LineStyle, bars.CapWidth = draw.LineStyle{Color: style.Color, Width: 1}, 6
		p.Add(moved(bars, by))
	}
	if sample != nil && c.Name != "" {
		l.add(c.Name, sample...)
	}
	return nil
}

// marked returns the points of a part of a curve that have a shape: all, where each was measured by
// itself; some of a curve whose pattern of dashes an earlier one has, so that a print in black and
// white distinguishes them.
func (f *Figure) marked(c *Curve, i int, part plotter.XYs) (points plotter.XYs) {
	if c.Points || c.Apart {
		return part
	}
	if f.Panels || i < len(dashes) {
		return nil
	}
	const some = 8
	step := max(1, len(part)/some)
	for k := step / 2; k < len(part); k += step {
		points = append(points, part[k])
	}
	return points
}

// shape returns the shape of the points of a curve.
func (f *Figure) shape(c *Curve, i int) draw.GlyphDrawer {
	if !c.Points && !c.Apart {
		i = i/len(dashes) - 1
	}
	return shapes[i%len(shapes)]
}

// bars are the bars of the points that have a spread, or that are apart and lie between extremes.
func (c *Curve) bars() *plotter.YErrorBars {
	b := new(plotter.YErrorBars)
	add := func(i int, below, above float64) {
		if finite(c.X[i]) && finite(c.Y[i]) && below+above > 0 && finite(below+above) {
			b.XYs = append(b.XYs, plotter.XY{X: c.X[i], Y: c.Y[i]})
			b.YErrors = append(b.YErrors, struct{ Low, High float64 }{below, above})
		}
	}
	for i, half := range c.Spread {
		add(i, half, half)
	}
	if c.Apart {
		for i := range c.Low {
			add(i, c.Y[i]-c.Low[i], c.High[i]-c.Y[i])
		}
	}
	return b
}

// besides is how far the bars of two curves are apart that are at one X.
const besides = vg.Length(5)

// aside returns how far a curve is drawn beside its X, so that its bars and those of other curves
// at the same X do not hide each other. Curves in frames of their own, and those whose X is apart
// from that of the others, stay in place.
func (f *Figure) aside(i int) vg.Length {
	if f.Panels {
		return 0
	}
	curves := f.shown()
	own := curves[i].bars().XYs
	n, place := 0, -1
	for k := range curves {
		shares := k == i && len(own) > 0
		for _, q := range curves[k].bars().XYs {
			shares = shares || slices.ContainsFunc(own, func(o plotter.XY) bool { return o.X == q.X })
		}
		if !shares {
			continue
		}
		if k == i {
			place = n
		}
		n++
	}
	if place < 0 {
		return 0
	}
	return besides * (vg.Length(place) - vg.Length(n-1)/2)
}

// beside draws something beside its place.
type beside struct {
	plot.Plotter
	by vg.Length
}

func moved(x plot.Plotter, by vg.Length) plot.Plotter {
	if by == 0 {
		return x
	}
	return beside{x, by}
}

// Plot moves the canvas: all that is drawn on it follows.
func (b beside) Plot(c draw.Canvas, p *plot.Plot) {
	c.Min.X += b.by
	c.Max.X += b.by
	b.Plotter.Plot(c, p)
}

// GlyphBoxes is the room that it needs at the edges.
func (b beside) GlyphBoxes(p *plot.Plot) (boxes []plot.GlyphBox) {
	if of, ok := b.Plotter.(plot.GlyphBoxer); ok {
		boxes = of.GlyphBoxes(p)
	}
	for i := range boxes {
		boxes[i].Rectangle = boxes[i].Rectangle.Add(vg.Point{X: b.by})
	}
	return boxes
}

// maxPoints bounds the points of one curve.
const maxPoints = 2000

// kept returns the indices of a curve's points that are drawn: not more than can be seen.
func (c *Curve) kept() (all []int) {
	n := min(len(c.X), len(c.Y))
	for i := 0; i < n; i += max(1, (n+maxPoints-1)/maxPoints) {
		if finite(c.X[i]) && finite(c.Y[i]) {
			all = append(all, i)
		}
	}
	return all
}

// parts returns a curve's unbroken parts.
func (c *Curve) parts() []plotter.XYs {
	step := max(1, (min(len(c.X), len(c.Y))+maxPoints-1)/maxPoints)
	var parts []plotter.XYs
	last := -1 - step
	for _, i := range c.kept() {
		if i != last+step {
			parts = append(parts, nil)
		}
		k := len(parts) - 1
		parts[k], last = append(parts[k], plotter.XY{X: c.X[i], Y: c.Y[i]}), i
	}
	return parts
}

// rows are the points that the figure shows.
func (f *Figure) rows() [][]string {
	all := [][]string{{"figure", "curve", "x", "x_name", "y", "low", "high", "values", "x_axis", "y_axis"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }
	shown := f.shown()
	for k := range shown {
		c := &shown[k]
		for _, i := range c.kept() {
			name, low, high, values := "", "", "", ""
			if c.Values != nil {
				values = strconv.Itoa(c.Values[i])
			}
			at := slices.IndexFunc(f.X.Ticks, func(x float64) bool { return math.Abs(x-c.X[i]) < 0.5 }) // they are 1 apart
			if c.Apart && at >= 0 && f.X.Names != nil {
				name = f.X.Names[at]
			}
			switch {
			case c.Low != nil && finite(c.Low[i]) && finite(c.High[i]):
				low, high = number(c.Low[i]), number(c.High[i])
			case c.Spread != nil && finite(c.Spread[i]):
				low, high = number(c.Y[i]-c.Spread[i]), number(c.Y[i]+c.Spread[i])
			}
			all = append(all, []string{f.Title, c.Name, number(c.X[i]), name, number(c.Y[i]), low, high, values, f.X.Label, f.Y.Label})
		}
	}
	return all
}

// limits sets where the axes begin and end. A Y axis without bounds
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
