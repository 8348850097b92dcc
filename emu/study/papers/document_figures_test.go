package papers

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// The documents have of one figure the result.
func TestFiguresOfDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, d := range documents {
		if d.quick == "" {
			continue
		}
		t.Run(d.paper.Name, func(t *testing.T) {
			text, err := os.ReadFile(docs(d.paper, ".md"))
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(d.paper.Figures, func(f Figure) bool { return f.Name == d.quick })
			r, err := Do(context.Background(), d.paper, []*Figure{&d.paper.Figures[i]}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var part bytes.Buffer
			if err := r.WriteMarkdown(&part, linked(d.paper, d.pictures)); err != nil {
				t.Fatal(err)
			}
			_, section, _ := strings.Cut(part.String(), "\n## "+r.Figures[0].Title+"\n")
			if !strings.Contains(string(text), section) {
				t.Errorf("the result of %s is\n%s", d.quick, section)
			}
			for _, x := range r.Figures[0].Pictures {
				if to := linked(d.paper, d.pictures)(x.Name); to != "" {
					if picture, err := os.ReadFile("../../../docs/papers/" + to); err != nil || !bytes.Equal(picture, svg(t, x)) {
						t.Errorf("the picture %s is not the result: %v", to, err)
					}
				}
			}
		})
	}
}
