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

	"fabemu/emu/goldentest"

	"github.com/google/go-cmp/cmp"
)

// sample has one of everything.
func sample() *Figure {
	return &Figure{
		Title: "Root link against buffer size", Subtitle: "two curves that nobody measured", Stamp: "verdict: virtual; seed 1",
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
	if err := sample().Write(&first, "svg"); err != nil {
		t.Fatal(err)
	}
	if err := sample().SVG(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two pictures of one figure differ")
	}
	for _, text := range []string{"Root link against", "two curves that", "verdict: virtual", "buffer (packets)", "utilisation (%)", "no threshold", "threshold 4", "paper: &gt; 90 %", "accepted", "machine stalled", "(more elsewhere)"} {
		if !strings.Contains(first.String(), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	goldentest.File(t, "testdata/sample.svg", first.Bytes())
}

// A PNG has the size of the SVG, and curves where that has them.
func TestPNG(t *testing.T) {
	var out bytes.Buffer
	if err := sample().Write(&out, "png"); err != nil {
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
	err := sample().Write(&bytes.Buffer{}, "pdf")
	if err == nil || !strings.Contains(err.Error(), "there are svg, png") {
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
			if err := f.PNG(&out); err != nil {
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
