//go:build soak

package reproduce

import (
	"bytes"
	"context"
	"testing"

	"fabemu/emu/report"
)

// All of HPL-2002-224, as fabemu reproduce hpl2002 does it: minutes. Each claim comes
// out as it is expected to, and the document says what comes out.
func TestWholePaper(t *testing.T) {
	p := hpl2002()
	var figures []*Figure
	for i := range p.Figures {
		figures = append(figures, &p.Figures[i])
	}
	r, err := Do(context.Background(), p, figures, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	if n := r.Count(report.Fail) + r.Count(report.UnexpectedPass); n > 0 || r.Verdict.Level != report.Virtual {
		t.Errorf("%d claims do not come out as expected; verdict %s", n, r.Verdict.Level)
	}
	var doc bytes.Buffer
	if err := r.WriteMarkdown(&doc); err != nil {
		t.Fatal(err)
	}
	compare(t, document, doc.Bytes())
	for _, f := range r.Figures {
		for _, x := range f.Pictures {
			if x.Name == "fig2" || x.Name == "fig4b" { // those in README
				compare(t, drawing+x.Name+".svg", svg(t, x))
			}
		}
	}
}
