package plot

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// The words of the user are in each format, and nowhere else: the figure stays as it is.
func TestWordsOfTheUser(t *testing.T) {
	f := &Figure{Title: "t", Subtitle: "ten seeds", Note: "a note", Stamp: "a stamp", Caption: "min 5KB (a source)\n",
		X: Axis{Label: "scheme", Names: []string{"dcqcn", "hpcc"}, Ticks: []float64{1, 2}, Low: 0.5, High: 2.5}, Y: Axis{Label: "slowdown"},
		Curves: []Curve{{Name: "dcqcn, 120 flows", Apart: true, X: []float64{1, 2}, Y: []float64{2, 1}}, {Name: "other", Apart: true, X: []float64{1}, Y: []float64{1}}}}
	s := Style{Formats: []string{"svg", "csv", "pdf"}, XLabel: "congestion control", YLabel: "FCT (µs)", Labels: []string{"dcqcn=DCQCN (2015)", "other=the rest"}}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Drawing{f, Stack{f}} {
		files := map[string]string{}
		if err := s.Files("x", d, func(name string, to func(io.Writer) error) error {
			var b bytes.Buffer
			err := to(&b)
			files[name] = b.String()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]string{
			"x.svg":         {"congestion control", "FCT (µs)", "DCQCN (2015), 120 flows", "the rest", ">hpcc<"},
			"x-points.csv":  {",congestion control,FCT (µs)\n", ",\"DCQCN (2015), 120 flows\",", ",DCQCN (2015),", ",the rest,"},
			"x-caption.txt": {"t (FCT (µs) over congestion control). ten seeds. a note. a stamp.\n\nmin 5KB (a source)\n"},
		} {
			for _, w := range want {
				if !strings.Contains(files[name], w) {
					t.Errorf("%s does not have %q:\n%s", name, w, files[name])
				}
			}
		}
		if files["x.pdf"] == "" || len(files) != 4 {
			t.Errorf("%d files", len(files))
		}
	}
	if f.X.Label != "scheme" || f.X.Names[0] != "dcqcn" || f.Curves[1].Name != "other" {
		t.Errorf("the figure was changed: %+v", f)
	}
	for _, text := range []string{"dcqcn", "=x", "dcqcn="} {
		if err := (&Style{Labels: []string{text}}).Check(); err == nil || !strings.Contains(err.Error(), "expected NAME=WORDS") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Zero has no sign on an axis.
func TestTickOfZero(t *testing.T) {
	for _, x := range (even{4}).Ticks(-3, 27) {
		if strings.HasPrefix(x.Label, "-0") {
			t.Errorf("%+v", x)
		}
	}
}
