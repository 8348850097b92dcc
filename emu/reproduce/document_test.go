package reproduce

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// documents are those that the program writes into docs/, with the pictures that go
// with them. What takes long is compared, and all of it is written anew, with -tags soak
// (scripts/soak.sh).
var documents = []struct {
	paper    *Paper
	pictures []string
	quick    string // a figure that takes little time
}{
	{hpl2002(), []string{"fig2", "fig4b"}, "fig2"},
	{qcn(), []string{"og-hotspot-queue", "og-hotspot-reaction", "recovery", "unit-step-queue", "stability"}, "two-points"},
	{bcn(), []string{"convergence-1g", "convergence-10g", "asymmetric-slow", "parking-lot", "bursty", "gains-down", "ode-rates", "ode-v"}, "delay"},
}

// docs returns the path of a file of a paper in docs/.
func docs(p *Paper, suffix string) string { return "../../docs/" + p.Name + suffix }

// linked returns where a document finds a picture: beside it, if it goes with it.
func linked(p *Paper, pictures []string) func(string) string {
	return func(name string) string {
		if !slices.Contains(pictures, name) {
			return ""
		}
		return p.Name + "-" + name + ".svg"
	}
}

// svg draws a picture.
func svg(t *testing.T, p Picture) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Figure.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The documents have every claim as the papers' descriptions have it now, and of one
// figure what comes out.
func TestDocuments(t *testing.T) {
	for _, d := range documents {
		t.Run(d.paper.Name, func(t *testing.T) {
			file, err := os.ReadFile(docs(d.paper, ".md"))
			if err != nil {
				t.Fatal(err)
			}
			text := string(file)
			if !strings.Contains(text, strings.TrimSpace(d.paper.About)) {
				t.Error("the document does not begin as the description does")
			}
			for i := range d.paper.Figures {
				describes(t, text, &d.paper.Figures[i])
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
			_, section, _ := strings.Cut(part.String(), "\n## "+r.Figures[0].heading())
			if !strings.Contains(text, section) {
				t.Errorf("%s comes out as\n%s", d.quick, section)
			}
			for _, x := range r.Figures[0].Pictures {
				if to := linked(d.paper, d.pictures)(x.Name); to != "" {
					if picture, err := os.ReadFile("../../docs/" + to); err != nil || !bytes.Equal(picture, svg(t, x)) {
						t.Errorf("the picture %s is not what comes out: %v", to, err)
					}
				}
			}
		})
	}
}

// describes says what of a figure is not in the text of its document.
func describes(t *testing.T, text string, f *Figure) {
	t.Helper()
	if !strings.Contains(text, "## "+f.Source+": "+f.Title+"\n") {
		t.Errorf("the document does not have %s", f.Name)
	}
	for _, c := range f.Claims {
		if !strings.Contains(text, "| "+c.ID+" | "+c.Basis.Statement(c.Says, c.Source, c.From)+" | "+c.Measured+" | ") {
			t.Errorf("the document does not have %s as it is now", c.ID)
		}
		if c.Differs != "" && !strings.Contains(text, c.Differs) {
			t.Errorf("the document does not say why %s differs", c.ID)
		}
	}
	if f.Table == nil {
		return
	}
	for _, row := range f.Table.Rows {
		if !strings.Contains(text, row.Claim.Says) {
			t.Errorf("the document does not have the row %q", row.Claim.Says)
		}
	}
}
