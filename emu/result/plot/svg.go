package plot

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG writes a figure as SVG. It follows the reader's choice of light or dark, describes itself in
// words, and its text keeps its place in any font.
func (f *Figure) SVG(w io.Writer) error { return writeSVG(w, f, screen) }

func writeSVG(w io.Writer, d Drawing, y form) error {
	high := d.height(y)
	canvas := vgsvg.New(y.width, high)
	if err := d.draw(draw.New(canvas), y); err != nil {
		return err
	}
	var drawn bytes.Buffer
	if _, err := canvas.WriteTo(&drawn); err != nil {
		return err
	}
	_, body, _ := bytes.Cut(drawn.Bytes(), []byte("<g ")) // without the head of the library
	var out bytes.Buffer
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" aria-label="%s" width="%.5gpt" height="%.5gpt" viewBox="0 0 %g %g" font-family="%s">`+"\n",
		html.EscapeString(d.title()), (y.width * y.scale).Points(), (high * y.scale).Points(), y.width.Points(), high.Points(), families)
	fmt.Fprintf(&out, "<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>\n<g ",
		html.EscapeString(d.title()), html.EscapeString(d.Words()), dark)
	out.Write(textElement.ReplaceAllFunc(body, fitted))
	_, err := w.Write(out.Bytes())
	return err
}

// families are the fonts of text: those in which its width was measured, then any.
const families = "Liberation Sans, Arial, Helvetica, sans-serif"

// dark changes the colours of a figure for a dark ground. An element without a colour of
// its own is black.
const dark = `@media (prefers-color-scheme: dark) { .plot g { fill: #eee; } ` +
	`.plot [style*="fill:#FFFFFF"] { fill: #161616 !important; } .plot [style*="fill:#222222"] { fill: #ddd !important; } .plot [style*="fill:#555555"] { fill: #aaa !important; } ` +
	`.plot [style*="stroke:#000000"] { stroke: #eee !important; } .plot [style*="stroke:#E4E4E4"] { stroke: #3a3a3a !important; } ` +
	`.plot [style*="stroke:#0072B2"] { stroke: #4aa8e0 !important; } .plot [style*="fill:#0072B2"] { fill: #4aa8e0 !important; } }`

// textElement is a line of text as the library writes it.
var textElement = regexp.MustCompile(`<text ([^>]*?)\s+style="font-family:[^;]*;font-variant:normal;font-weight:(\w+);font-style:normal;font-size:([0-9.]+)px;([^"]*)">([^<]+)</text>`)

// fitted gives a line of text the width that it was measured to have.
func fitted(element []byte) []byte {
	m := textElement.FindSubmatch(element)
	size, err := strconv.ParseFloat(string(m[3]), 64)
	if err != nil {
		return element
	}
	style, weight := draw.TextStyle{Font: sans(size), Handler: plot.DefaultTextHandler}, ""
	if string(m[2]) == "bold" {
		style.Font, weight = bold(size), "font-weight:bold;"
	}
	wide := style.Width(html.UnescapeString(string(m[5]))).Points()
	return fmt.Appendf(nil,
		`<text %s textLength="%.5g" lengthAdjust="spacingAndGlyphs" style="%sfont-size:%spx;%s">%s</text>`,
		m[1], wide, weight, m[3], m[4], m[5])
}

// Words describes a figure for readers who do not see it: the axes, the least, the greatest
// and the last value of each curve, and the events.
func (f *Figure) Words() string {
	var parts []string
	if f.Subtitle != "" {
		parts = append(parts, f.Subtitle)
	}
	parts = append(parts, fmt.Sprintf("Curves of %s over %s", f.Y.Label, f.X.Label))
	for i := range f.shown() {
		c := &f.Curves[i]
		least, most, last := math.Inf(1), math.Inf(-1), math.NaN()
		for _, y := range c.Y[:min(len(c.X), len(c.Y))] {
			if finite(y) {
				least, most, last = min(least, y), max(most, y), y
			}
		}
		if c.Name != "" && finite(last) {
			parts = append(parts, fmt.Sprintf("%s: from %.3g to %.3g, at last %.3g", c.Name, least, most, last))
		}
	}
	for _, e := range f.Events {
		parts = append(parts, fmt.Sprintf("at %.6g: %s", e.At, e.Name))
	}
	if f.Stamp != "" {
		parts = append(parts, f.Stamp)
	}
	return strings.Join(parts, ". ") + "."
}
