package plot

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"

	"github.com/google/go-cmp/cmp"
	gonum "gonum.org/v1/plot"
)

// sample has one of everything.
func sample() *Figure {
	return &Figure{
		Title: "Root link against buffer size", Subtitle: "two invented curves", Stamp: "verdict: virtual; seed 1",
		X: Axis{Label: "buffer (packets)", Ticks: []float64{2, 4, 8, 12}},
		Y: Axis{Label: "utilisation (%)"},
		Curves: []Curve{
			{Name: "no threshold", X: []float64{2, 4, 8, 12}, Y: []float64{85, 98, math.NaN(), 100}, Points: true},
			{Name: "threshold 4", X: []float64{2, 4, 8, 12}, Y: []float64{69, 80, 80, 80}, Points: true},
		},
		References: []Reference{
			{Name: "paper: > 90 %", Low: 90, High: 90},
			{Name: "accepted", Of: "threshold 4", Low: 60, High: 90, From: 3, To: 20},
		},
		Strokes: Strokes{Name: "machine stalled", At: []float64{3, 9}},
		Note:    "(more elsewhere)",
	}
}

func TestSVG(t *testing.T) {
	var first, second bytes.Buffer
	if err := new(Style).Write(&first, sample(), "svg"); err != nil {
		t.Fatal(err)
	}
	if err := sample().SVG(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two pictures of one figure differ")
	}
	for _, text := range []string{"Root link against", "two invented", "verdict: virtual", "buffer (packets)", "utilisation (%)", "no threshold", "threshold 4", "paper: &gt; 90 %", "accepted", "machine stalled", "(more elsewhere)"} {
		if !strings.Contains(first.String(), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	golden.File(t, "testdata/sample.svg", first.Bytes())
}

// A PNG has the size of the SVG, and curves where that has them.
func TestPNG(t *testing.T) {
	var out bytes.Buffer
	if err := new(Style).Write(&out, sample(), "png"); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	b := picture.Bounds()
	if got, want := float64(b.Dx())/float64(b.Dy()), float64(width)/float64(height); math.Abs(got-want) > 0.01 {
		t.Errorf("it is %v", b)
	}
	blue := 0
	for x := range b.Dx() {
		for y := range b.Dy() {
			r, g, b, _ := picture.At(x, y).RGBA()
			if r>>8 == 0x00 && g>>8 == 0x72 && b>>8 == 0xb2 {
				blue++
			}
		}
	}
	if blue < 500 {
		t.Errorf("%d pixels have the colour of the second curve", blue)
	}
}

func TestUnknownFormat(t *testing.T) {
	err := new(Style).Write(&bytes.Buffer{}, sample(), "gif")
	if err == nil || !strings.Contains(err.Error(), "there are svg, png, pdf, csv") {
		t.Error(err)
	}
}

// Where a curve has no value it is broken: there is no line across.
func TestCurveIsBroken(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	c := Curve{X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{nan, 2, 3, inf, 5, nan}}
	var got []string
	for _, part := range c.parts() {
		got = append(got, fmt.Sprint(part))
	}
	if diff := cmp.Diff([]string{"[{2 2} {3 3}]", "[{5 5}]"}, got); diff != "" {
		t.Error(diff)
	}
}

// Nothing that a caller can leave out stops a picture.
func TestPicturesOfLittle(t *testing.T) {
	many := Figure{}
	for i := range MaxCurves + 3 {
		many.Curves = append(many.Curves, Curve{Name: fmt.Sprint("c", i), X: []float64{0, 1}, Y: []float64{0, float64(i)}})
	}
	long := Curve{Name: "long"}
	for i := range 10 * maxPoints {
		long.X, long.Y = append(long.X, float64(i)), append(long.Y, 1)
	}
	for name, f := range map[string]*Figure{
		"nothing":        {},
		"one point":      {Curves: []Curve{{Name: "a", X: []float64{3}, Y: []float64{3}}}},
		"no value":       {Curves: []Curve{{Name: "a", X: []float64{3}, Y: []float64{math.NaN()}}}},
		"uneven":         {Curves: []Curve{{Name: "a", X: []float64{1, 2, 3}, Y: []float64{1}}}},
		"unknown curve":  {References: []Reference{{Name: "r", Of: "nobody", Low: 1, High: 2}}},
		"endless":        {References: []Reference{{Name: "r", Low: 1, High: math.Inf(1)}}},
		"negative":       {Curves: []Curve{{Name: "a", X: []float64{-1, 1}, Y: []float64{-5, -2}}}},
		"many curves":    &many,
		"many points":    {Curves: []Curve{long}},
		"reversed range": {References: []Reference{{Name: "r", Low: 2, High: 1, From: 5, To: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := f.SVG(&out); err != nil {
				t.Fatal(err)
			}
			if name == "many curves" && !strings.Contains(out.String(), "(3 more are not drawn)") {
				t.Error("it does not say that curves are missing")
			}
			if name == "many points" && out.Len() > 100_000 {
				t.Errorf("%d bytes", out.Len())
			}
			if err := new(Style).Write(&out, f, "png"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A curve without a name has no line in the legend.
func TestCurveWithoutAName(t *testing.T) {
	size := func(name string) (n int) {
		var out bytes.Buffer
		f := Figure{Curves: []Curve{{Name: name, X: []float64{0, 1}, Y: []float64{1, 2}}}}
		if err := f.SVG(&out); err != nil {
			t.Fatal(err)
		}
		return strings.Count(out.String(), "<path")
	}
	if unnamed, named := size(""), size("a"); unnamed != named-1 {
		t.Errorf("%d strokes without a name, %d with one", unnamed, named)
	}
}

// Text has the width that it was measured to have, whatever font it is set in, and stays
// within the picture.
func TestTextKeepsItsWidth(t *testing.T) {
	var out bytes.Buffer
	f := sample()
	f.Events = []Event{{At: 5, Name: "link <a> down"}, {At: 5.01, Name: "too near"}, {At: 99, Name: "outside"}}
	if err := f.SVG(&out); err != nil {
		t.Fatal(err)
	}
	svg := out.String()
	all, fitted := strings.Count(svg, "<text "), strings.Count(svg, ` lengthAdjust="spacingAndGlyphs"`)
	if all != fitted || all < 20 {
		t.Errorf("%d lines of text, %d with a width", all, fitted)
	}
	for _, line := range regexp.MustCompile(`<text x="([0-9.]+)" y="[^"]*" transform="scale\(1, -1\)" textLength="([0-9.]+)"`).FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(line[1], 64)
		long, _ := strconv.ParseFloat(line[2], 64)
		if x+long > width.Points() {
			t.Errorf("%s ends at %v", line[0], x+long)
		}
	}
	if !strings.Contains(svg, ">link &lt;a&gt; down</text>") || strings.Contains(svg, ">too near</text>") || strings.Contains(svg, ">outside</text>") {
		t.Error("of the events those that have room have names, and no other")
	}
	for _, want := range []string{`role="img"`, "<title>Root link against buffer size</title>", "threshold 4: from 69 to 80, at last 80", "at 5.01: too near", "prefers-color-scheme: dark", "sans-serif"} {
		if !strings.Contains(svg, want) {
			t.Errorf("it does not have %q", want)
		}
	}
}

// In separate frames curves have the axes of all of them: each frame has the mark that only
// one of the curves needs. All are drawn, however many.
func TestPanels(t *testing.T) {
	f := sample()
	f.Panels, f.Curves = true, nil
	for i := range MaxCurves + 3 {
		f.Curves = append(f.Curves, Curve{Name: fmt.Sprint("scheme ", i), X: []float64{0, 10}, Y: []float64{1, 7}})
	}
	f.Curves[5].X, f.Curves[5].Y = []float64{0, 40}, []float64{0, 1000}
	f.X.Ticks = nil
	var out bytes.Buffer
	if err := f.SVG(&out); err != nil {
		t.Fatal(err)
	}
	svg := out.String()
	for _, mark := range []string{">1000</text>", ">40</text>"} {
		if n := strings.Count(svg, mark); n != len(f.Curves) {
			t.Errorf("%d frames of %d have %q", n, len(f.Curves), mark)
		}
	}
	for _, c := range f.Curves {
		if strings.Count(svg, ">"+c.Name+"</text>") != 1 || !strings.Contains(svg, c.Name+": from") {
			t.Errorf("%s is not there", c.Name)
		}
	}
	if strings.Count(svg, ">utilisation (%)</text>") != 1 || strings.Contains(svg, "not drawn") {
		t.Error("the axis is named once, and all curves are drawn")
	}
	golden.File(t, "testdata/panels.svg", out.Bytes())
	var least bytes.Buffer
	if err := new(Style).Write(&least, &Figure{Panels: true}, "png"); err != nil {
		t.Error(err)
	}
}

// A table of ranks has the colours of its ranks, and says in words who is first and last.
func TestRanks(t *testing.T) {
	r := &Ranks{
		Title: "At a glance", Subtitle: "a bench", Stamp: "verdict: virtual",
		Columns: []RankColumn{{"incast", "share (%)", "first: most"}, {"cut", "time (ms)", "first: least"}},
		Rows: []RankRow{
			{"InfiniBand", "none", []RankCell{{"10", 3, 3}, {"never", 2, 2}}},
			{"InfiniBand", "lipd", []RankCell{{"67", 2, 3}, {"—", 0, 0}}},
			{"Ethernet", "qcn", []RankCell{{"98", 1, 3}, {"12", 1, 2}}},
		},
	}
	var out, picture bytes.Buffer
	if err := new(Style).Write(&out, r, "svg"); err != nil {
		t.Fatal(err)
	}
	for color, want := range map[string]int{"#5AA5D6": 3, "#F4F4F0": 2, "#F0934E": 3} { // the legend has each once
		if n := strings.Count(out.String(), "fill:"+color); n != want {
			t.Errorf("%d grounds are %s, want %d", n, color, want)
		}
	}
	if want := "incast, share (%): first Ethernet qcn 98; last InfiniBand none 10. cut, time (ms): first Ethernet qcn 12; last InfiniBand none never."; !strings.Contains(r.Words(), want) {
		t.Errorf("%s\nwant %s", r.Words(), want)
	}
	golden.File(t, "testdata/ranks.svg", out.Bytes())
	if err := new(Style).Write(&picture, r, "png"); err != nil {
		t.Error(err)
	}
	if err := new(Style).Write(&picture, &Ranks{}, "svg"); err != nil {
		t.Error(err)
	}
	if err := new(Style).Write(&picture, r, "gif"); err == nil {
		t.Error("a format that there is not is not refused")
	}
}

// Pictures of a leaf-spine: a link has the colour and the width of its value, and the words have
// the least, the greatest and the notes.
func TestFabrics(t *testing.T) {
	f := &Fabrics{
		Title: "What an incast stops", Subtitle: "a bench", Stamp: "verdict: virtual", Quantity: "time stopped (%)", Most: 80, Columns: 2,
		Panels: []Fabric{
			{Name: "hash", Up: []float64{0, 40}, Down: []float64{0, 80}, Notes: []string{"spared: 1"}},
			{Name: "random", Up: []float64{80, 160}, Down: []float64{-1, 0}, Labels: []string{"40 %", "60 %"}},
		},
	}
	var out, picture bytes.Buffer
	if err := new(Style).Write(&out, f, "svg"); err != nil {
		t.Fatal(err)
	}
	for color, want := range map[string]int{"#B4B4B4": 5, "#C5895A": 2, "#D55E00": 4} { // the legend has each once
		if n := strings.Count(out.String(), "stroke:"+color); n != want {
			t.Errorf("%d lines are %s, want %d", n, color, want)
		}
	}
	if want := "a bench. Pictures of a leaf-spine. Links: time stopped (%). hash: from 0 to 80, spared: 1. random: from -1 to 160. verdict: virtual."; f.Words() != want {
		t.Errorf("%s\nwant %s", f.Words(), want)
	}
	golden.File(t, "testdata/fabrics.svg", out.Bytes())
	for _, format := range []string{"png", "pdf", "csv"} {
		if err := (&Style{Width: "1column"}).Write(&picture, f, format); err != nil {
			t.Error(err)
		}
	}
	if want := "What an incast stops,hash,2,time stopped (%),40,80"; !strings.Contains(picture.String(), want) {
		t.Errorf("the CSV file lacks %s", want)
	}
	if err := new(Style).Write(&picture, &Fabrics{}, "svg"); err != nil {
		t.Error(err)
	}
}

// TestArea: a curve that is the median of several has an area in one part where its extremes are
// known, and the axis has room for them.
func TestArea(t *testing.T) {
	f := &Figure{Curves: []Curve{{Name: "hosts: 8", X: []float64{1, 2, 3, 4, 5, 6, 7}, Y: []float64{5, 5, 5, 5, 5, 5, 5},
		Low: []float64{1, 2, 1, math.NaN(), 1, 1, math.NaN()}, High: []float64{7, 60, 7, math.NaN(), 7, 7, 7}}}}
	areas := func() int {
		var out bytes.Buffer
		if err := f.SVG(&out); err != nil {
			t.Fatal(err)
		}
		return strings.Count(out.String(), "fill-opacity")
	}
	p := gonum.New()
	if f.limits(p); p.Y.Max < 60 {
		t.Errorf("the axis ends at %v, and the area at 60", p.Y.Max)
	}
	with := areas()
	if f.Curves[0].Low = nil; with != areas()+2 {
		t.Errorf("%d areas, and %d without extremes: two are wanted", with, areas())
	}
}

// TestSpread: a point with a spread has a bar with two caps, for which the axis has room; others
// have none.
func TestSpread(t *testing.T) {
	spread := sample()
	spread.Curves[0].Spread = []float64{5, math.NaN(), 7, 80} // the third point has no value
	strokes := func(f *Figure) int {
		var out bytes.Buffer
		if err := f.SVG(&out); err != nil {
			t.Fatal(err)
		}
		return strings.Count(out.String(), "<path")
	}
	if without, with := strokes(sample()), strokes(spread); with < without+2 {
		t.Errorf("%d strokes without two bars, and %d with them", without, with)
	}
	if n := len(spread.Curves[0].bars().XYs); n != 2 {
		t.Errorf("%d bars", n)
	}
	p := gonum.New()
	if spread.limits(p); p.Y.Max < 180 {
		t.Errorf("the axis ends at %v, and a bar at 180", p.Y.Max)
	}
}
