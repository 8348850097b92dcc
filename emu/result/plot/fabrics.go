package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Fabrics is one leaf-spine in several pictures side by side: what each of several choices does to
// its links. A link is the wider and the more orange the more it has of a quantity.
type Fabrics struct {
	Title    string
	Subtitle string
	Stamp    string
	Quantity string  // of the links, with its unit
	Most     float64 // the value of the widest line; larger values have no wider ones
	Columns  int     // pictures in a row, if there is room
	Panels   []Fabric
}

// Fabric is one of the pictures: two leaves, and the spines between them.
type Fabric struct {
	Name   string
	Up     []float64 // by spine: of its link from the left leaf
	Down   []float64 // of its link to the right leaf, as many
	Labels []string  // of the spines; none: they have no words
	Notes  []string  // below the picture
}

// The sizes of such a picture.
const (
	fabricLeast  = 4.4 * vg.Centimeter // the width of a panel
	fabricHigh   = 2.6 * vg.Centimeter // from the leaves to the spines
	fabricHead   = 0.6 * vg.Centimeter
	fabricNote   = 0.36 * vg.Centimeter
	fabricGap    = 0.5 * vg.Centimeter
	fabricLegend = 0.9 * vg.Centimeter
	nodeHigh     = 0.34 * vg.Centimeter
)

// The colours and the widths of the links that have nothing, and that have most.
var (
	linkNone     = color.RGBA{0xb4, 0xb4, 0xb4, 0xff}
	linkMost     = color.RGBA{0xd5, 0x5e, 0x00, 0xff} // vermilion, of the palette
	linkThinnest = vg.Length(0.6)
	linkWidest   = vg.Length(3.6)
	linkOfSpine  = vg.Length(0.14) // at most this part of the place of a spine, so that links stay apart
)

// SVG writes the pictures as SVG.
func (f *Fabrics) SVG(w io.Writer) error { return writeSVG(w, f, screen) }

func (f *Fabrics) title() string { return f.Title }

func (f *Fabrics) heads() heads { return heads{f.Title, f.Subtitle, f.Stamp} }

// columns returns how many pictures are in a row.
func (f *Fabrics) columns(y form) int {
	room := max(1, int((y.width-2*margin)/fabricLeast))
	if f.Columns > 0 {
		room = min(room, f.Columns)
	}
	return min(room, max(1, len(f.Panels)))
}

// high returns the height of a picture with what is above and below it.
func (f *Fabrics) high() vg.Length {
	notes := 0
	for i := range f.Panels {
		notes = max(notes, len(f.Panels[i].Notes))
	}
	return fabricHead + fabricHigh + 2*nodeHigh + vg.Length(notes)*fabricNote + fabricGap
}

func (f *Fabrics) height(y form) vg.Length {
	above, below := y.room(f.heads())
	n := f.columns(y)
	return 2*margin + above + vg.Length((len(f.Panels)+n-1)/n)*f.high() + fabricLegend + below
}

func (f *Fabrics) rows() [][]string {
	all := [][]string{{"figure", "name", "spine", "quantity", "from the left leaf", "to the right leaf"}}
	for _, p := range f.Panels {
		for i := range p.Up {
			all = append(all, []string{f.Title, p.Name, strconv.Itoa(i + 1), f.Quantity, number(p.Up[i]), number(p.Down[i])})
		}
	}
	return all
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Words names the least and the greatest value of each picture, and its notes.
func (f *Fabrics) Words() string {
	parts := []string{f.Subtitle, "Pictures of a leaf-spine. Links: " + f.Quantity}
	for _, p := range f.Panels {
		if all := slices.Concat(p.Up, p.Down); len(all) > 0 {
			text := fmt.Sprintf("%s: from %.3g to %.3g", p.Name, slices.Min(all), slices.Max(all))
			parts = append(parts, strings.Join(append([]string{text}, p.Notes...), ", "))
		}
	}
	if f.Stamp != "" {
		parts = append(parts, f.Stamp)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ". ") + "."
}

// caption is the title, and what the pictures show.
func (f *Fabrics) caption() string { return f.Title + ". " + f.Words() + "\n" }

// line returns how a link with a value is drawn, where one that has most has a width.
func (f *Fabrics) line(v float64, widest vg.Length) draw.LineStyle {
	part := 0.0
	if f.Most > 0 && v > 0 {
		part = min(1, v/f.Most)
	}
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + part*(float64(b)-float64(a)))) }
	return draw.LineStyle{Width: linkThinnest + vg.Length(part)*(widest-linkThinnest),
		Color: color.RGBA{mix(linkNone.R, linkMost.R), mix(linkNone.G, linkMost.G), mix(linkNone.B, linkMost.B), 0xff}}
}

func (f *Fabrics) draw(canvas draw.Canvas, page form) error {
	inner, write := page.ground(canvas, f.heads())
	n := f.columns(page)
	wide := (inner.Max.X - inner.Min.X) / vg.Length(n)
	for i := range f.Panels {
		at := vg.Point{X: inner.Min.X + wide*vg.Length(i%n), Y: inner.Max.Y - f.high()*vg.Length(i/n)}
		f.panel(inner, &f.Panels[i], at, wide-fabricGap)
	}
	f.legend(inner)
	write()
	return nil
}

// text is a style of text that is centred at its place.
func text(size float64, c color.Color) draw.TextStyle {
	return draw.TextStyle{Font: sans(size), Color: c, Handler: plot.DefaultTextHandler, XAlign: draw.XCenter, YAlign: draw.YCenter}
}

// panel draws one picture, whose upper left corner is at a place.
func (f *Fabrics) panel(c draw.Canvas, p *Fabric, at vg.Point, wide vg.Length) {
	head := text(9, ink)
	head.Font = bold(9)
	middle := at.X + wide/2
	c.FillText(head, vg.Point{X: middle, Y: at.Y - fabricHead/2}, p.Name)
	spines, leaves := at.Y-fabricHead-nodeHigh, at.Y-fabricHead-nodeHigh-fabricHigh // the lower, and the upper, edges
	each := wide / vg.Length(max(1, len(p.Up)))
	left, right := vg.Point{X: at.X + wide*0.22, Y: leaves}, vg.Point{X: at.X + wide*0.78, Y: leaves}
	spine := func(i int) vg.Point { return vg.Point{X: at.X + each*(vg.Length(i)+0.5), Y: spines} }
	for i := range p.Up {
		for _, l := range []struct {
			leaf vg.Point
			v    float64
		}{{left, p.Up[i]}, {right, p.Down[i]}} {
			c.StrokeLine2(f.line(l.v, min(linkWidest, each*linkOfSpine)), l.leaf.X, l.leaf.Y, spine(i).X, spine(i).Y)
		}
	}
	box := func(center, half, low vg.Length) {
		c.FillPolygon(soft, []vg.Point{{X: center - half, Y: low}, {X: center + half, Y: low}, {X: center + half, Y: low + nodeHigh}, {X: center - half, Y: low + nodeHigh}})
	}
	inside := text(8, color.White)
	for i := range p.Up {
		half := min(each*0.42, 0.55*vg.Centimeter)
		box(spine(i).X, half, spines)
		if i < len(p.Labels) {
			c.FillText(inside, vg.Point{X: spine(i).X, Y: spines + nodeHigh/2}, p.Labels[i])
		}
	}
	for _, leaf := range []struct {
		at   vg.Point
		name string
	}{{left, "left leaf"}, {right, "right leaf"}} {
		box(leaf.at.X, min(wide*0.2, 1.55*vg.Centimeter), leaves-nodeHigh)
		c.FillText(inside, vg.Point{X: leaf.at.X, Y: leaves - nodeHigh/2}, leaf.name)
	}
	note := text(8, soft)
	for i, line := range p.Notes {
		c.FillText(note, vg.Point{X: middle, Y: leaves - nodeHigh - fabricNote*(vg.Length(i)+0.7)}, line)
	}
}

// legend draws what widths and colours mean.
func (f *Fabrics) legend(c draw.Canvas) {
	const steps, length, apart = 5, 26, 34
	says := text(9, ink)
	says.XAlign = draw.XLeft
	y := c.Min.Y + fabricLegend/2
	c.FillText(says, vg.Point{X: c.Min.X, Y: y}, f.Quantity+":")
	x := c.Min.X + says.Width(f.Quantity+":") + 10
	for k := range steps {
		v := f.Most * float64(k) / (steps - 1)
		c.StrokeLine2(f.line(v, linkWidest), x, y, x+length, y)
		label := fmt.Sprintf("%.3g", v)
		if k == steps-1 {
			label += " or more"
		}
		c.FillText(says, vg.Point{X: x + length + 4, Y: y}, label)
		x += length + apart
	}
}
