//go:build soak

package reproduce

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/report"
	"fabemu/emu/terminal"
)

var update = flag.Bool("update", false, "write the document and the pictures anew")

// compare compares a file with what it should be, or writes it.
func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what comes out (-comes out +is there):\n%s\ngo test -tags soak ./emu/study/reproduce -run TestWholePapers -update writes it anew", path, diff)
	}
}

// All of each paper, as fabemu reproduce does it: minutes. Each claim comes out as it is
// expected to, and the document says what comes out.
func TestWholePapers(t *testing.T) {
	for _, d := range documents {
		t.Run(d.paper.Name, func(t *testing.T) {
			var figures []*Figure
			for i := range d.paper.Figures {
				figures = append(figures, &d.paper.Figures[i])
			}
			r, err := Do(context.Background(), d.paper, figures, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := r.WriteText(&text, terminal.Look{}); err != nil {
				t.Fatal(err)
			}
			t.Log(text.String())
			if n := r.Tally().Of(report.Fail) + r.Tally().Of(report.UnexpectedPass); n > 0 || r.Verdict.Level != report.Virtual {
				t.Errorf("%d claims do not come out as expected; verdict %s", n, r.Verdict.Level)
			}
			link := linked(d.paper, d.pictures)
			var doc bytes.Buffer
			if err := r.WriteMarkdown(&doc, link); err != nil {
				t.Fatal(err)
			}
			compare(t, docs(d.paper, ".md"), doc.Bytes())
			for _, f := range r.Figures {
				for _, x := range f.Pictures {
					if to := link(x.Name); to != "" {
						compare(t, "../../../docs/"+to, svg(t, x))
					}
				}
			}
		})
	}
}
