package sweep

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"fabemu/emu/plot"
	"fabemu/emu/report"
)

// draw writes a figure for each metric.
func draw(dir string, p *Plan, cells []Cell) error {
	var varied []int // the axes that have more than one value
	for i, a := range p.Axes {
		if len(a.Values) > 1 {
			varied = append(varied, i)
		}
	}
	if len(varied) == 0 {
		return nil // a single cell is no figure
	}
	for _, name := range names(cells) {
		f := figure(p, cells, varied, name)
		path := filepath.Join(dir, fileName(name)+".svg")
		if err := report.WriteFile(path, func(w io.Writer) error { return f.Write(w, "svg") }); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// figure returns the figure of one metric.
func figure(p *Plan, cells []Cell, varied []int, name string) *plot.Figure {
	first := p.Axes[varied[0]]
	at, label := positions(first)
	f := &plot.Figure{
		Title: name, Subtitle: p.Scenario + ", " + p.Clock + " clock, a point for each run",
		X: plot.Axis{Label: label}, Y: plot.Axis{Label: name},
	}
	index := make(map[string]int)
	for _, c := range cells {
		var parts []string
		for _, i := range varied[1:] {
			parts = append(parts, last(p.Axes[i].Path)+" "+c.Values[i])
		}
		curve := strings.Join(parts, ", ")
		i, ok := index[curve]
		if !ok {
			i = len(f.Curves)
			index[curve] = i
			f.Curves = append(f.Curves, plot.Curve{Name: curve, Points: true})
		}
		f.Curves[i].X = append(f.Curves[i].X, at[c.Values[varied[0]]])
		f.Curves[i].Y = append(f.Curves[i].Y, float64(c.of(name)))
	}
	if more := len(f.Curves) - plot.MaxCurves; more > 0 {
		f.Curves = f.Curves[:plot.MaxCurves]
		f.Note = fmt.Sprintf("%d more curves: see %s", more, TableFile)
	}
	return f
}

// positions returns where the values of an axis stand: by their figure, if each is one
// with the same unit, and they rise; else by their place in the list.
func positions(a Axis) (at map[string]float64, label string) {
	at = make(map[string]float64)
	unit, before := "", 0.0
	for i, v := range a.Values {
		cut := strings.LastIndexFunc(v, func(r rune) bool { return unicode.IsDigit(r) || r == '.' }) + 1
		x, err := strconv.ParseFloat(v[:cut], 64)
		u := strings.TrimSpace(v[cut:])
		if err != nil || i > 0 && (u != unit || x <= before) {
			var places []string
			for k, v := range a.Values {
				at[v] = float64(k + 1)
				places = append(places, fmt.Sprintf("%d: %s", k+1, v))
			}
			return at, a.Path + " (" + strings.Join(places, ", ") + ")"
		}
		unit, before, at[v] = u, x, x
	}
	if unit != "" {
		unit = " (" + unit + ")"
	}
	return at, a.Path + unit
}

// last returns the last word of a path.
func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// fileName makes a file's name of an expression.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, name), "-.")
}
