//go:build soak

package papers

import (
	"bytes"
	"context"
	"testing"

	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/golden"
	"fabemu/emu/result/report"
)

// All of each paper, as fabemu reproduce does it: minutes. Each claim is it is
// expected to, and the document says the result.
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
				t.Errorf("%d claims are not as expected; verdict %s", n, r.Verdict.Level)
			}
			link := linked(d.paper, d.pictures)
			var doc bytes.Buffer
			if err := r.WriteMarkdown(&doc, link); err != nil {
				t.Fatal(err)
			}
			golden.File(t, docs(d.paper, ".md"), doc.Bytes())
			for _, x := range r.pictures() {
				if to := link(x.Name); to != "" {
					golden.File(t, "../../../docs/papers/"+to, svg(t, x))
				}
			}
		})
	}
}
