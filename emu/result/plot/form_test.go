package plot

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// schemes is a figure whose X axis has names.
func schemes() *Figure {
	return &Figure{
		Title: "99th percentile of the slowdown of a workload with a name that is rather long", Subtitle: "means of 10 seeds with their 95 % confidence intervals", Stamp: "verdict: virtual",
		X: Axis{Label: "scheme", Low: 0.5, High: 3.5, Ticks: []float64{1, 2, 3}, Names: []string{"dcqcn", "hpcc", "dctcp"}}, Y: Axis{Label: "delay (µs)"},
		Curves: []Curve{
			{Name: "load 0.5", Apart: true, X: []float64{0.9, 1.9, 2.9}, Y: []float64{3, math.NaN(), 2}, Spread: []float64{0.5, 0, math.NaN()}, Values: []int{120, 0, 7}},
			{Name: "load 0.8", Apart: true, X: []float64{1, 2, 3}, Y: []float64{5, 4, 7}, Low: []float64{4, 3, 5}, High: []float64{6, 5, 9}},
		},
	}
}

func written(t *testing.T, s Style, d Drawing, format string) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.Write(&out, d, format); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A file has the width that is asked for, in each format, and the same bytes each time.
func TestStyleSize(t *testing.T) {
	for width, points := range map[string]float64{"": 680.31, "1column": 249.45, "2columns": 513.07, "120mm": 340.16} {
		s := Style{Width: width}
		var high [2]string
		for i, x := range []struct{ format, at string }{{"svg", `width="([\d.]+)pt" height="([\d.]+)pt"`}, {"pdf", `/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]`}} {
			text := written(t, s, schemes(), x.format)
			m := regexp.MustCompile(x.at).FindStringSubmatch(text)
			if m == nil || !near(m[1], points) {
				t.Errorf("%q as %s: the size %q, want a width of %v", width, x.format, m, points)
				continue
			}
			high[i], _, _ = strings.Cut(m[2], ".")
			if text != written(t, s, schemes(), x.format) {
				t.Errorf("%q: two %s of one figure differ", width, x.format)
			}
		}
		if high[0] != high[1] {
			t.Errorf("%q: the heights are %q", width, high)
		}
	}
}

func near(text string, want float64) bool {
	var v float64
	fmt.Sscan(text, &v)
	return math.Abs(v-want) < 0.1
}

// No text is outside of the picture: long ones have several lines.
func TestTextFits(t *testing.T) {
	for _, s := range []Style{{}, {Width: "2columns"}, {Width: "1column", FontSize: 7}} {
		f := schemes()
		f.Subtitle = strings.Repeat(f.Subtitle+", ", 4)
		svg := written(t, s, f, "svg")
		_, box, _ := strings.Cut(svg, `viewBox="0 0 `)
		var drawn float64
		fmt.Sscan(box, &drawn)
		lines := regexp.MustCompile(`<text x="([0-9.]+)" y="[^"]*" transform="scale\(1, -1\)" textLength="([0-9.]+)"`).FindAllStringSubmatch(svg, -1)
		for _, line := range lines {
			var x, long float64
			fmt.Sscan(line[1], &x)
			if fmt.Sscan(line[2], &long); x+long > drawn {
				t.Errorf("%+v: %s ends at %v, the picture at %v", s, line[0], x+long, drawn)
			}
		}
		if len(lines) < 10 || drawn == 0 {
			t.Errorf("%+v: %d texts in a picture of %v", s, len(lines), drawn)
		}
	}
}

// Text has the size that is asked for, and a title can be left out.
func TestStyleText(t *testing.T) {
	s := Style{Width: "1column", FontSize: 7}
	svg := written(t, s, schemes(), "svg")
	m := regexp.MustCompile(`width="([\d.]+)pt" height="[\d.]+pt" viewBox="0 0 ([\d.]+) `).FindStringSubmatch(svg)
	var drawn float64
	fmt.Sscan(m[2], &drawn)
	if !near(m[1], drawn*0.7) {
		t.Errorf("%q: text of 10 points has not 7", m)
	}
	texts := regexp.MustCompile(`>(verdict: virtual|means of 10 seeds[^<]*|99th percentile[^<]*)</text>`)
	for bare, want := range map[bool]int{false: 3, true: 0} {
		s.NoTitle = bare
		if got := texts.FindAllString(written(t, s, schemes(), "svg"), -1); len(got) != want {
			t.Errorf("without a title %v: %q", bare, got)
		}
	}
	// In PDF text is in the encoding of its font.
	if pdf := written(t, s, schemes(), "pdf"); !strings.HasPrefix(pdf, "%PDF-") {
		t.Error("no PDF")
	}
}

func TestStyleMistakes(t *testing.T) {
	for _, s := range []Style{{Width: "3columns"}, {Width: "88"}, {Width: "2mm"}, {Width: "NaNmm"}, {FontSize: 2}, {FontSize: 60}, {Width: "88mm", FontSize: 20}} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "to ") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// The CSV has exactly the points that are drawn.
func TestCSV(t *testing.T) {
	long := Curve{Name: "long"}
	for i := range 3 * maxPoints {
		long.X, long.Y = append(long.X, float64(i)), append(long.Y, 1)
	}
	f := schemes()
	f.Curves = append(f.Curves, long)
	rows, err := csv.NewReader(strings.NewReader(written(t, Style{}, Stack{f, sample()}, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := 1 // the head
	for _, f := range []*Figure{f, sample()} {
		for _, c := range f.Curves {
			for _, part := range c.parts() {
				want += len(part)
			}
		}
	}
	if len(rows) != want || want != 1+2+3+maxPoints+3+4 {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	title := f.Title
	for i, want := range [][]string{
		{"figure", "curve", "x", "x_name", "y", "low", "high", "values", "x_axis", "y_axis"},
		{title, "load 0.5", "0.9", "dcqcn", "3", "2.5", "3.5", "120", "scheme", "delay (µs)"},
		{title, "load 0.5", "2.9", "dctcp", "2", "", "", "7", "scheme", "delay (µs)"},
		{title, "load 0.8", "1", "dcqcn", "5", "4", "6", "", "scheme", "delay (µs)"},
	} {
		if !slices.Equal(rows[i], want) {
			t.Errorf("row %d is %q, want %q", i, rows[i], want)
		}
	}
}

// Without colours no two curves of a frame are alike: they differ in their dashes, or in the shape
// of their points.
func TestCurvesInGrey(t *testing.T) {
	for _, points := range []bool{false, true} {
		seen := map[string]int{}
		for i := range MaxCurves {
			f, c := &Figure{}, &Curve{Points: points}
			look := fmt.Sprint(dashes[i%len(dashes)])
			if marks := f.marked(c, i, plotter.XYs{{X: 1, Y: 1}, {X: 2, Y: 2}}); marks != nil {
				look += fmt.Sprintf(" %T", f.shape(c, i))
			}
			if k, there := seen[look]; there {
				t.Errorf("the curves %d and %d look alike: %s", k, i, look)
			}
			seen[look] = i
		}
	}
}

// Points at names are not joined, whatever lies between them has a bar, and names without room are
// turned.
func TestApart(t *testing.T) {
	f := schemes()
	f.Curves = f.Curves[1:]
	paths := func() int { return strings.Count(written(t, Style{}, f, "svg"), "<path") }
	apart := paths()
	f.Curves[0].Low = nil
	bare := paths()
	if bars := apart - bare; bars != 3*3 { // each has two caps
		t.Errorf("%d strokes of bars", bars)
	}
	f.Curves[0].Apart, f.Curves[0].Points = false, true
	if lines := paths() - bare; lines != 2 { // and in the legend
		t.Errorf("%d lines without names", lines)
	}
	for wide, want := range map[vg.Length]bool{300: false, 30: true} {
		p := gonum.New()
		if f.turnNames(p, wide); (p.X.Tick.Label.Rotation != 0) != want {
			t.Errorf("names in %v are turned: %v", wide, !want)
		}
	}
}
