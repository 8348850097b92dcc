package plot

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// How frames are next to one another.
const (
	panelWidth  = 4.6 * vg.Centimeter
	panelHeight = 3.6 * vg.Centimeter
	panelGap    = 0.3 * vg.Centimeter
	axisRoom    = 0.6 * vg.Centimeter // for the label of an axis
	panelCurve  = 15                  // the number of a curve that is blue and has no dashes
)

// panelsInRow returns how many frames are in a row.
func (y *form) panelsInRow() int { return max(1, int((y.width-2*margin)/panelWidth)) }

func (f *Figure) panelRows(y form) int {
	return max(1, (len(f.Curves)+y.panelsInRow()-1)/y.panelsInRow())
}

func (f *Figure) panelsHeight(y form) vg.Length {
	return axisRoom + vg.Length(f.panelRows(y))*panelHeight
}

// drawPanels draws each curve in its own frame. All frames have the same axes.
func (f *Figure) drawPanels(canvas draw.Canvas, y form) error {
	panelsInRow := y.panelsInRow()
	inner, write := y.ground(canvas, f.heads())
	write()
	says := draw.TextStyle{Font: sans(10), Color: ink, Handler: plot.DefaultTextHandler, XAlign: draw.XCenter}
	middle := inner.Center()
	inner.FillText(says, vg.Point{X: middle.X, Y: inner.Min.Y}, f.X.Label)
	says.Rotation, says.YAlign = math.Pi/2, draw.YTop
	inner.FillText(says, vg.Point{X: inner.Min.X, Y: middle.Y + axisRoom/2}, f.Y.Label)
	frames := draw.Crop(inner, axisRoom, 0, axisRoom, 0)
	wide := (frames.Max.X - frames.Min.X + panelGap) / vg.Length(panelsInRow)
	high := (frames.Max.Y - frames.Min.Y) / vg.Length(f.panelRows(y))
	for i := range f.Curves {
		c := f.Curves[i]
		name := c.Name
		c.Name = ""
		p := f.frame()
		p.X.Label.Text, p.Y.Label.Text = "", ""
		p.X.Tick.Label.Font, p.Y.Tick.Label.Font = sans(8), sans(8)
		if f.X.Ticks == nil {
			p.X.Tick.Marker = even{4}
		}
		p.Add(events(f.Events))
		for _, r := range f.References {
			if r.Of == "" || r.Of == name {
				p.Add(band{Reference: r, color: colorOf(nil, "")})
			}
		}
		if err := f.curve(p, nil, &c, panelCurve); err != nil {
			return err
		}
		f.limits(p)
		at := vg.Point{X: frames.Min.X + wide*vg.Length(i%panelsInRow), Y: frames.Max.Y - high*vg.Length(i/panelsInRow)}
		head := draw.TextStyle{Font: bold(9), Color: ink, Handler: plot.DefaultTextHandler, YAlign: draw.YTop}
		frames.FillText(head, vg.Point{X: at.X + 4, Y: at.Y}, name)
		p.Draw(draw.Canvas{Canvas: frames.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: at.X, Y: at.Y - high + panelGap}, Max: vg.Point{X: at.X + wide - panelGap, Y: at.Y - 12}}})
	}
	return nil
}
