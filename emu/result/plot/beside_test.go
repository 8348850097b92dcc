package plot

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Bars of curves at the same X are drawn beside each other; those of a curve at an X of its own,
// and a curve without bars, stay in place.
func TestBarsBesideEachOther(t *testing.T) {
	f := &Figure{X: Axis{Label: "load (%)"}, Y: Axis{Label: "FCT (µs)"}, Curves: []Curve{
		{Name: "a", X: []float64{1, 2}, Y: []float64{3, 4}, Spread: []float64{1, 1}, Points: true},
		{Name: "b", X: []float64{1, 2}, Y: []float64{3, 4}, Spread: []float64{1, 1}, Points: true},
		{Name: "c", X: []float64{1.5}, Y: []float64{3}, Spread: []float64{1}, Points: true},
		{Name: "d", X: []float64{1, 2}, Y: []float64{3, 4}, Points: true},
	}}
	want := []float64{-2.5, 2.5, 0, 0}
	for i := range f.Curves {
		if got := float64(f.aside(i)); got != want[i] {
			t.Errorf("%s is %v beside its place, want %v", f.Curves[i].Name, got, want[i])
		}
	}
	// In the picture there is a vertical bar for each of both, 5 points apart.
	var b strings.Builder
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, m := range regexp.MustCompile(`d="M([\d.]+),[\d.]+L([\d.]+),[\d.]+"`).FindAllStringSubmatch(b.String(), -1) {
		if m[1] == m[2] && !slices.Contains(at, m[1]) {
			at = append(at, m[1])
		}
	}
	if len(at) < 5 {
		t.Errorf("vertical lines at %v: five bars have each their own", at)
	}
	f.Panels = true
	if f.aside(0) != 0 {
		t.Error("a curve in a frame of its own is not in its place")
	}
}
