package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Ranks is a table to be taken in at a glance: schemes by situations, for example. Each cell
// has a figure, on a ground that shows its rank in the column: blue is the first, orange
// the last.
type Ranks struct {
	Title    string
	Subtitle string
	Stamp    string
	Columns  []RankColumn
	Rows     []RankRow
}

// RankColumn is a column, with the meaning of its figures.
type RankColumn struct {
	Name   string
	Figure string // quantity and unit
	Best   string // which figures come first
}

// RankRow is a row. Rows of a group are adjacent.
type RankRow struct {
	Group, Name string
	Cells       []RankCell
}

// RankCell is a cell. Rank is from 1 to Of; 0: it has none, and no colour.
type RankCell struct {
	Text     string
	Rank, Of int
}

// The sizes of such a table.
const (
	rankHigh   = 0.56 * vg.Centimeter
	rankHead   = 1.5 * vg.Centimeter
	rankNames  = 6.2 * vg.Centimeter
	rankMost   = 2.9 * vg.Centimeter // the width of a column
	rankLegend = 0.7 * vg.Centimeter
)

// The grounds of the first, the middle and the last rank, and the ink on them, which stay as they
// are where the page is dark.
var (
	rankFirst  = color.RGBA{0x5a, 0xa5, 0xd6, 0xff}
	rankMiddle = color.RGBA{0xf4, 0xf4, 0xf0, 0xff}
	rankLast   = color.RGBA{0xf0, 0x93, 0x4e, 0xff}
	rankInk    = color.Gray{0x11}
)

// rankColor returns the ground of a share from 0, the first, to 1.
func rankColor(share float64) color.RGBA {
	from, to, part := rankFirst, rankMiddle, 2*share
	if share > 0.5 {
		from, to, part = rankMiddle, rankLast, 2*share-1
	}
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + part*(float64(b)-float64(a)))) }
	return color.RGBA{mix(from.R, to.R), mix(from.G, to.G), mix(from.B, to.B), 0xff}
}

// ground returns the colour of a cell.
func (c *RankCell) ground() color.RGBA { return rankColor(float64(c.Rank-1) / float64(max(1, c.Of-1))) }

// SVG writes a table as SVG.
func (r *Ranks) SVG(w io.Writer) error { return writeSVG(w, r, screen) }

func (r *Ranks) title() string { return r.Title }

func (r *Ranks) heads() heads { return heads{r.Title, r.Subtitle, r.Stamp} }

func (r *Ranks) height(y form) vg.Length {
	above, below := y.room(r.heads())
	return 2*margin + above + rankHead + vg.Length(len(r.Rows))*rankHigh + rankLegend + below
}

func (r *Ranks) rows() [][]string {
	all := [][]string{{"figure", "group", "name", "column", "quantity", "value", "rank", "of"}}
	for _, row := range r.Rows {
		for i, c := range row.Cells {
			all = append(all, []string{r.Title, row.Group, row.Name, r.Columns[i].Name, r.Columns[i].Figure, c.Text, strconv.Itoa(c.Rank), strconv.Itoa(c.Of)})
		}
	}
	return all
}

// Words names the first and the last of each column.
func (r *Ranks) Words() string {
	parts := []string{r.Subtitle}
	for i, column := range r.Columns {
		var first, last []string
		for _, row := range r.Rows {
			c, name := &row.Cells[i], row.Group+" "+row.Name
			switch c.Rank {
			case 0:
			case 1:
				first = append(first, name+" "+c.Text)
			case r.lowest(i):
				last = append(last, name+" "+c.Text)
			}
		}
		parts = append(parts, fmt.Sprintf("%s, %s: first %s; last %s", column.Name, column.Figure, strings.Join(first, ", "), strings.Join(last, ", ")))
	}
	if r.Stamp != "" {
		parts = append(parts, r.Stamp)
	}
	return strings.Join(parts, ". ") + "."
}

// lowest returns the last rank in a column.
func (r *Ranks) lowest(column int) (lowest int) {
	for i := range r.Rows {
		lowest = max(lowest, r.Rows[i].Cells[column].Rank)
	}
	return lowest
}

func (r *Ranks) draw(canvas draw.Canvas, page form) error {
	inner, write := page.ground(canvas, r.heads())
	style := func(size float64, c color.Color, x draw.XAlignment) draw.TextStyle {
		return draw.TextStyle{Font: sans(size), Color: c, Handler: plot.DefaultTextHandler, XAlign: x, YAlign: draw.YCenter}
	}
	head, small, name := style(10, ink, draw.XCenter), style(8, soft, draw.XCenter), style(9, ink, draw.XLeft)
	head.Font = bold(9)
	figure := style(9, rankInk, draw.XCenter)
	wide := min(rankMost, (inner.Max.X-inner.Min.X-rankNames)/vg.Length(max(1, len(r.Columns))))
	left := func(i int) vg.Length { return inner.Min.X + rankNames + wide*vg.Length(i) }
	fill := func(c color.Color, x, y, w, h vg.Length) {
		inner.FillPolygon(c, []vg.Point{{X: x, Y: y}, {X: x + w, Y: y}, {X: x + w, Y: y + h}, {X: x, Y: y + h}})
	}
	for i, c := range r.Columns {
		at := vg.Point{X: left(i) + wide/2, Y: inner.Max.Y - 6}
		for k, text := range []string{c.Name, c.Figure, c.Best} {
			inner.FillText([]draw.TextStyle{head, small, small}[k], vg.Point{X: at.X, Y: at.Y - vg.Length(12*k)}, text)
		}
	}
	y := inner.Max.Y - rankHead
	for k, row := range r.Rows {
		if k == 0 || row.Group != r.Rows[k-1].Group {
			group := style(9, soft, draw.XLeft)
			inner.FillText(group, vg.Point{X: inner.Min.X, Y: y - rankHigh/2}, row.Group)
			inner.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.8}, inner.Min.X, y, left(len(r.Columns)), y)
		}
		inner.FillText(name, vg.Point{X: inner.Min.X + rankNames*0.3, Y: y - rankHigh/2}, row.Name)
		for i := range row.Cells {
			c, ink := &row.Cells[i], style(9, soft, draw.XCenter)
			if c.Rank > 0 {
				fill(c.ground(), left(i)+1, y-rankHigh+1, wide-2, rankHigh-2)
				ink = figure
			}
			inner.FillText(ink, vg.Point{X: left(i) + wide/2, Y: y - rankHigh/2}, c.Text)
		}
		y -= rankHigh
	}
	const steps = 9
	y -= rankLegend
	for k := range steps {
		fill(rankColor(float64(k)/(steps-1)), left(0)+14*vg.Length(k), y, 14, 8)
	}
	small.XAlign = draw.XRight
	inner.FillText(small, vg.Point{X: left(0) - 5, Y: y + 4}, "first in the column")
	small.XAlign = draw.XLeft
	inner.FillText(small, vg.Point{X: left(0) + 14*steps + 5, Y: y + 4}, "last")
	write()
	return nil
}
