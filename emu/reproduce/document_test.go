package reproduce

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// The document, and the pictures in README, are made by the program. What takes long is
// compared, and all of it is written anew, with -tags soak (scripts/soak.sh).
const (
	document = "../../docs/hpl2002.md"
	drawing  = "../../docs/hpl2002-" // and the name of the picture
)

// svg draws a picture.
func svg(t *testing.T, p Picture) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Figure.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The document has every claim as the paper's description has it now, and of Fig. 2 what
// comes out.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	p := hpl2002()
	for _, f := range p.Figures {
		if !strings.Contains(string(text), "## "+f.Source+": "+f.Title+"\n") {
			t.Errorf("the document does not have %s", f.Name)
		}
		for _, c := range f.Claims {
			if !strings.Contains(string(text), "| "+c.ID+" | "+c.Says+" ("+c.Source+") | "+c.Measured+" | ") {
				t.Errorf("the document does not have %s as it is now", c.ID)
			}
			if c.Differs != "" && !strings.Contains(string(text), c.Differs) {
				t.Errorf("the document does not say why %s differs", c.ID)
			}
		}
		if f.Table == nil {
			continue
		}
		for _, row := range f.Table.Rows {
			if !strings.Contains(string(text), row.Claim.Says) {
				t.Errorf("the document does not have the row %q", row.Claim.Says)
			}
		}
	}
	r, err := Do(context.Background(), p, []*Figure{&p.Figures[0]}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var part bytes.Buffer
	if err := r.WriteMarkdown(&part); err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(part.String(), "## Fig. 2")
	if !strings.Contains(string(text), section) {
		t.Errorf("Fig. 2 comes out as\n%s", section)
	}
	picture, err := os.ReadFile(drawing + "fig2.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(picture, svg(t, r.Figures[0].Pictures[0])) {
		t.Error("the picture of Fig. 2 is not what comes out")
	}
}
