package plot

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is by Okabe and Ito: readers who do not see all colours
// can distinguish them. Yellow is left out, as it is too faint for a line on white.
var palette = [...]color.RGBA{
	{0x00, 0x00, 0x00, 0xff}, // black
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
}

// dashes distinguish curves where colours do not. Their number and the number of
// colours have no common factor, so that the pairs do not repeat soon.
var dashes = [...][]vg.Length{
	nil,
	{7, 2.5},
	{2, 2},
	{9, 2.5, 2, 2.5},
	{4, 1.5, 1, 1.5, 1, 1.5},
}

// shapes are the shapes of points.
var shapes = [...]draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{},
	draw.SquareGlyph{}, draw.TriangleGlyph{},
}

// legend is next to the curves and as wide as its names, within bounds; in a narrow figure it is
// below them, in columns.
type legend struct {
	entries []entry
	width   vg.Length
}

// entry is a line of a legend.
type entry struct {
	name   string
	sample []plot.Thumbnailer
}

const (
	thumbnail   = 30
	legendLeast = 3 * vg.Centimeter
	legendMost  = 9 * vg.Centimeter
	legendLine  = 15 // between the lines, where the legend is below
)

func newLegend() *legend { return &legend{width: legendLeast} }

func (l *legend) add(name string, sample ...plot.Thumbnailer) {
	l.entries = append(l.entries, entry{name, sample})
	style := headStyle
	style.Font = sans(10)
	l.width = min(legendMost, max(l.width, thumbnail+24+style.Width(name)))
}

// columns returns how many columns a legend below the curves has.
func (l *legend) columns(y form) int { return max(1, int((y.width-2*margin)/l.width)) }

// below returns the height of a legend below the curves.
func (l *legend) below(y form) vg.Length {
	n := l.columns(y)
	return legendLine*vg.Length((len(l.entries)+n-1)/n) + 4
}

func (l *legend) draw(c draw.Canvas, y form) {
	columns := 1
	if y.narrow() {
		columns = l.columns(y)
	}
	rows := max(1, (len(l.entries)+columns-1)/columns)
	for k := 0; k*rows < len(l.entries); k++ {
		part := plot.NewLegend()
		part.Top, part.Left = true, true
		part.ThumbnailWidth = thumbnail
		part.Padding = 5
		part.TextStyle.Font, part.TextStyle.Color = sans(10), ink
		part.YOffs = -4
		for _, e := range l.entries[k*rows : min(len(l.entries), (k+1)*rows)] {
			part.Add(e.name, e.sample...)
		}
		part.Draw(draw.Crop(c, vg.Length(k)*(c.Max.X-c.Min.X)/vg.Length(columns), 0, 0, 0))
	}
}

// colorOf returns the colour of a curve, or grey for one that is not there.
func colorOf(curves []Curve, name string) color.RGBA {
	for i := range curves {
		if curves[i].Name == name && name != "" {
			return palette[i%len(palette)]
		}
	}
	return color.RGBA{0x77, 0x77, 0x77, 0xff}
}

// band is a Reference that is drawn.
type band struct {
	Reference
	color color.RGBA
}

// tint is the strength of a band's area over its background.
const tint = 0.16

func (b band) edge() draw.LineStyle {
	return draw.LineStyle{Color: b.color, Width: 0.7, Dashes: []vg.Length{1.5, 1.5}}
}

func (b band) area() color.Color {
	return color.NRGBA{b.color.R, b.color.G, b.color.B, uint8(math.Round(255 * tint))}
}

// Plot draws the band, or the line. It is cut at the axes.
func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	from, to := c.Min.X, c.Max.X
	if b.From != 0 || b.To != 0 {
		from, to = max(from, x(b.From)), min(to, x(b.To))
	}
	low, high := max(c.Min.Y, y(b.Low)), min(c.Max.Y, y(b.High))
	if !(to > from) || !(high >= low) {
		return
	}
	b.draw(&c, from, to, low, high)
}

func (b band) draw(c *draw.Canvas, from, to, low, high vg.Length) {
	if b.Low != b.High {
		c.FillPolygon(b.area(), []vg.Point{{X: from, Y: low}, {X: to, Y: low}, {X: to, Y: high}, {X: from, Y: high}})
	}
	c.StrokeLine2(b.edge(), from, low, to, low)
	if b.Low != b.High {
		c.StrokeLine2(b.edge(), from, high, to, high)
	}
}

// area is the ground between the extremes of a curve that stands for several.
type area struct {
	*Curve
	color color.Color
}

// Plot draws the area, cut at the axes, where both extremes are known.
func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(i int, v float64) vg.Point { return vg.Point{X: x(a.X[i]), Y: min(max(y(v), c.Min.Y), c.Max.Y)} }
	for i := 0; i < len(a.X); {
		from := i
		for i < len(a.X) && finite(a.X[i]) && finite(a.Low[i]) && finite(a.High[i]) {
			i++
		}
		var around []vg.Point
		for k := from; k < i; k++ {
			around = append(around, at(k, a.High[k]))
		}
		for k := i - 1; k >= from; k-- {
			around = append(around, at(k, a.Low[k]))
		}
		if i > from+1 {
			c.FillPolygon(a.color, around)
		}
		i = max(i, from+1)
	}
}

// Thumbnail draws a piece of it for the legend.
func (b band) Thumbnail(c *draw.Canvas) {
	low, high := c.Min.Y, c.Max.Y
	if b.Low == b.High {
		low, high = c.Center().Y, c.Center().Y
	}
	b.draw(c, c.Min.X, c.Max.X, low, high)
}

// events are instants that are drawn as lines.
type events []Event

var eventLine = draw.LineStyle{Color: faint, Width: 0.8, Dashes: []vg.Length{3, 2}}

// Plot draws the lines, and next to each its name where there is room for it
// (plot.Plotter).
func (e events) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	name := draw.TextStyle{Font: sans(8), Color: soft, Handler: plot.DefaultTextHandler, Rotation: math.Pi / 2,
		XAlign: draw.XRight, YAlign: draw.YBottom}
	free := c.Min.X
	for _, one := range e {
		at := x(one.At)
		if at < c.Min.X || at > c.Max.X {
			continue
		}
		c.StrokeLine2(eventLine, at, c.Min.Y, at, c.Max.Y)
		if at-free >= name.Font.Size {
			c.FillText(name, vg.Point{X: at - 1, Y: c.Max.Y - 3}, one.Name)
			free = at
		}
	}
}

// Thumbnail draws one for the legend (plot.Thumbnailer).
func (e events) Thumbnail(c *draw.Canvas) {
	middle := (c.Min.X + c.Max.X) / 2
	c.StrokeLine2(eventLine, middle, c.Min.Y, middle, c.Max.Y)
}

var stroke = draw.LineStyle{Color: color.RGBA{0xC0, 0x20, 0x20, 0xff}, Width: 1.5}

// Plot draws the strokes (plot.Plotter).
func (s Strokes) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, at := range s.At {
		c.StrokeLine2(stroke, x(at), c.Min.Y, x(at), c.Min.Y+7)
	}
}

// Thumbnail draws one for the legend (plot.Thumbnailer).
func (s Strokes) Thumbnail(c *draw.Canvas) {
	middle := (c.Min.X + c.Max.X) / 2
	c.StrokeLine2(stroke, middle, c.Center().Y-3.5, middle, c.Center().Y+3.5)
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
		v := k*step + 0 // which makes zero of a negative zero
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.*f", digits, v)})
	}
	return ticks
}

// at marks an axis at given places, with names or with their figures.
type at struct {
	places []float64
	names  []string
}

// Ticks is a plot.Ticker.
func (a at) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for i, v := range a.places {
		if v >= low && v <= high {
			label := fmt.Sprintf("%g", v)
			if a.names != nil {
				label = a.names[i]
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}
