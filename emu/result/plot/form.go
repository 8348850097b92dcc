package plot

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// Style is the style of figures in files. The zero value is for screens.
type Style struct {
	// Formats of figures: svg, png, pdf, or csv, which has exactly the plotted points (default:
	// svg).
	Formats []string `flag:"figures" group:"Figures" arg:"FORMAT,..."`
	// Width of figures: 1column (88 mm), 2columns (181 mm), or in millimetres, such as 120mm
	// (default: 240mm).
	Width string `flag:"width" arg:"WIDTH"`
	// Size of the text of figures, in points (default: 10, with --width 8).
	FontSize float64 `flag:"font-size" arg:"POINTS" low:"0" high:"72"`
	// Leave out what a caption says: the title of figures, the line below it, and the verdict.
	NoTitle bool `flag:"no-title"`
	// Words for the horizontal axis of figures, with the unit (default: those of the varied field).
	XLabel string `flag:"x-label" arg:"WORDS"`
	// Words for the vertical axis (default: those of the metric).
	YLabel string `flag:"y-label" arg:"WORDS"`
	// Words for a name in the legend or on an axis, such as dcqcn=DCQCN (repeatable).
	Labels []string `flag:"label" arg:"NAME=WORDS" each:"true"`
}

// columns are widths by name: one column, and the full text, of two-column proceedings.
var columns = map[string]string{"1column": "88mm", "2columns": "181mm"}

// Check returns a mistake in the style, or nil.
func (s *Style) Check() error {
	_, err := s.form()
	_, wrong := s.labels()
	err = cmp.Or(err, wrong)
	for _, x := range s.Formats {
		err = cmp.Or(err, check(x))
	}
	return err
}

// Formats lists the formats of figures.
func Formats() []string { return []string{"svg", "png", "pdf", "csv"} }

func check(format string) error {
	if slices.Contains(Formats(), format) {
		return nil
	}
	return fmt.Errorf("there is no format %q for figures; there are %s", format, strings.Join(Formats(), ", "))
}

// Files writes a drawing in all formats: it calls write for each with the name of its file, which
// is base and the format. A PDF has a text for its caption beside it.
func (s *Style) Files(base string, d Drawing, write func(name string, to func(io.Writer) error) error) error {
	formats := s.Formats
	if formats == nil {
		formats = Formats()[:1]
	}
	for _, x := range formats {
		if err := write(nameOf(base, x), func(w io.Writer) error { return s.Write(w, d, x) }); err != nil {
			return err
		}
		if x != "pdf" {
			continue
		}
		caption := func(w io.Writer) error {
			_, err := io.WriteString(w, s.Worded(d).caption())
			return err
		}
		if err := write(captionOf(base), caption); err != nil {
			return err
		}
	}
	return nil
}

// captionOf returns the name of the file with the caption of a figure.
func captionOf(base string) string { return base + "-caption.txt" }

// NamesOf returns the names of the files that Files writes, in any style.
func NamesOf(base string) (names []string) {
	for _, x := range Formats() {
		names = append(names, nameOf(base, x))
	}
	return append(names, captionOf(base))
}

// nameOf returns the name of a file. A CSV file has a suffix so that it cannot overwrite the table
// of its figure.
func nameOf(base, format string) string {
	if format == "csv" {
		base += "-points"
	}
	return base + "." + format
}

// Drawing is a *Figure, a Stack, a *Ranks or *Fabrics.
type Drawing interface {
	SVG(w io.Writer) error
	Words() string
	title() string
	height(y form) vg.Length
	draw(canvas draw.Canvas, y form) error
	rows() [][]string // of the CSV file, including the heads
	caption() string
}

func (s *Style) Write(w io.Writer, d Drawing, format string) error {
	y, err := s.form()
	if err := cmp.Or(err, check(format)); err != nil {
		return err
	}
	d = s.Worded(d)
	if _, whole := d.(*Ranks); whole && y.width < width {
		y.scale, y.width = y.scale*y.width/width, width // its columns keep their width
	}
	switch format {
	case "svg":
		return writeSVG(w, d, y)
	case "csv":
		return csv.NewWriter(w).WriteAll(d.rows())
	}
	wide, high := y.width*y.scale, d.height(y)*y.scale
	if format == "png" {
		canvas := vgimg.NewWith(vgimg.UseWH(wide, high), vgimg.UseDPI(int(resolution*max(1, float64(width/wide)))))
		return y.write(w, d, canvas, vgimg.PngCanvas{Canvas: canvas})
	}
	repeatable()
	canvas := vgpdf.New(wide, high)
	return y.write(w, d, pdfCanvas{canvas}, canvas)
}

// resolution of PNG, in dots per inch of a figure of the default width. A narrower one has as many
// dots.
const resolution = 144

// form is a style converted to lengths.
type form struct {
	width vg.Length // of the picture, in lengths of the drawing
	scale vg.Length // ratio of a length in the file to one of the drawing
	bare  bool      // without a title
}

// screen is the form of the zero Style.
var screen = form{width: width, scale: 1}

func (s *Style) form() (form, error) {
	y := screen
	y.bare = s.NoTitle
	usual := 10.0 // points of the text in lengths of the drawing
	size, mm := usual, 240.0
	if s.Width != "" {
		text := s.Width
		if named := columns[text]; named != "" {
			text = named
		}
		v, err := strconv.ParseFloat(strings.TrimSuffix(text, "mm"), 64)
		if err != nil || !strings.HasSuffix(text, "mm") || !(v >= 50 && v <= 1000) {
			return y, fmt.Errorf("--width %s: use 1column, 2columns, or a width from 50mm to 1000mm, such as 120mm", s.Width)
		}
		size, mm = 8, v
	}
	if s.FontSize != 0 {
		size = s.FontSize
	}
	y.scale = vg.Length(size / usual)
	y.width = vg.Length(mm) * vg.Millimeter / y.scale
	if most := mm / 10; size < 4 || size > most {
		return y, fmt.Errorf("--font-size %g: at a width of %g mm the text has from 4 to %g points", size, mm, most)
	}
	return y, nil
}

// narrow reports whether there is no room for the legend next to the curves.
func (y *form) narrow() bool { return y.width < 17*vg.Centimeter }

// write draws on a canvas of the size of the file, and writes it.
func (y *form) write(w io.Writer, d Drawing, canvas vg.Canvas, to io.WriterTo) (err error) {
	defer func() { // vgpdf makes its font in a temporary folder
		if x := recover(); x != nil {
			err = fmt.Errorf("the figure cannot be drawn: %v", x)
		}
	}()
	if y.scale != 1 {
		canvas.Scale(float64(y.scale), float64(y.scale))
	}
	if err := d.draw(draw.NewCanvas(canvas, y.width, d.height(*y)), *y); err != nil {
		return err
	}
	_, err = to.WriteTo(w)
	return err
}

// pdfCanvas corrects vgpdf: its text is in the encoding of its fonts, it embeds only one font, so
// that nothing is bold, and transparency does not darken its colours.
type pdfCanvas struct{ *vgpdf.Canvas }

// FillString draws a text.
func (c pdfCanvas) FillString(face font.Face, at vg.Point, text string) {
	if encoded, err := encoding.ReplaceUnsupported(charmap.Windows1252.NewEncoder()).String(text); err == nil {
		text = encoded
	}
	c.Canvas.FillString(font.DefaultCache.Lookup(sans(face.Font.Size.Points()), face.Font.Size), at, text)
}

// SetColor sets the colour for drawing.
func (c pdfCanvas) SetColor(x color.Color) { c.Canvas.SetColor(straight{x}) }

// straight is a colour that is not multiplied by its alpha.
type straight struct{ color.Color }

// RGBA returns the components of the colour.
func (c straight) RGBA() (r, g, b, a uint32) {
	x := color.NRGBAModel.Convert(c.Color).(color.NRGBA)
	return uint32(x.R) * 0x101, uint32(x.G) * 0x101, uint32(x.B) * 0x101, uint32(x.A) * 0x101
}

// repeatable makes the same figure give the same PDF: without a date, and in a fixed order.
var repeatable = sync.OnceFunc(func() {
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultCatalogSort(true)
})

// The size of a figure and of its parts.
const (
	width       = 24 * vg.Centimeter
	height      = 13 * vg.Centimeter
	titleHeight = 1.5 * vg.Centimeter
	footHeight  = 0.7 * vg.Centimeter
	margin      = 0.4 * vg.Centimeter
)

// heads are the texts around a drawing.
type heads struct{ title, subtitle, stamp string }

var headStyle = draw.TextStyle{Color: ink, Handler: plot.DefaultTextHandler, YAlign: draw.YTop}

// lines breaks a text into lines that fit the figure.
func (y *form) lines(text string, f font.Font) (lines []string) {
	style := headStyle
	style.Font = f
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last < 0 || style.Width(lines[last]+" "+word) > y.width-2*margin {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	return lines
}

// room returns the heights above and below a drawing.
func (y *form) room(h heads) (above, below vg.Length) {
	if y.bare {
		return 0, 0
	}
	more := func(text string, f font.Font, high vg.Length) vg.Length {
		return high * vg.Length(max(1, len(y.lines(text, f)))-1)
	}
	return titleHeight + more(h.title, bold(13), 16) + more(h.subtitle, sans(10), 12), footHeight + more(h.stamp, sans(9), 11)
}

// ground draws a white background. It returns the part of it for the drawing, and a function that
// writes the texts.
func (y *form) ground(all draw.Canvas, h heads) (drawing draw.Canvas, write func()) {
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	inner := draw.Crop(all, margin, -margin, margin, -margin)
	above, below := y.room(h)
	return draw.Crop(inner, 0, 0, below, -above), func() {
		if y.bare {
			return
		}
		style, at := headStyle, vg.Point{X: inner.Min.X, Y: inner.Max.Y}
		for _, x := range []struct {
			text       string
			font       font.Font
			high, next vg.Length
		}{{h.title, bold(13), 16, 17}, {h.subtitle, sans(10), 12, 12}} {
			style.Font = x.font
			for i, line := range y.lines(x.text, x.font) {
				if i > 0 {
					at.Y -= x.high
				}
				all.FillText(style, at, line)
			}
			style.Color = soft
			at.Y -= x.next
		}
		style.Font, style.YAlign, style.XAlign = sans(9), draw.YBottom, draw.XRight
		at = inner.Max
		at.Y = inner.Min.Y
		for _, line := range slices.Backward(y.lines(h.stamp, style.Font)) {
			all.FillText(style, at, line)
			at.Y += 11
		}
	}
}
