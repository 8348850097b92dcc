package plot

import (
	"bytes"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
)

// A stack has both figures, each as high as alone; an axis has the names of its ticks, and equal
// ratios are equally far apart on one that is logarithmic.
func TestStack(t *testing.T) {
	f := &Figure{Title: "Slowdown", X: Axis{Label: "size", High: 1, Ticks: []float64{0, 0.5, 1}, Names: []string{"1KB", "20KB", "3MB"}},
		Y:      Axis{Label: "slowdown", Low: 1, High: 100, Log: true, Ticks: []float64{1, 10, 100}},
		Curves: []Curve{{Name: "p99", X: []float64{0, 0.5, 1}, Y: []float64{1, 10, 100}}}}
	s := Stack{f, sample()}
	var out bytes.Buffer
	if err := new(Style).Write(&out, s, "svg"); err != nil {
		t.Fatal(err)
	}
	if s.height(screen) != 2*height {
		t.Errorf("a stack of two figures is %v high, want %v", s.height(screen), 2*height)
	}
	for _, text := range []string{"Slowdown; Root link", ">1KB<", ">20KB<", ">3MB<", ">threshold 4<"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("it lacks %q", text)
		}
	}
	p := f.frame()
	f.limits(p)
	if got := p.Y.Scale.Normalize(p.Y.Min, p.Y.Max, 10); got != 0.5 {
		t.Errorf("10 is at %v of an axis from 1 to 100, want the middle", got)
	}
	golden.File(t, "testdata/stack.svg", out.Bytes())
}
