package reproduce

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write documents anew; those that need all of the paper with -tags soak only")

// The document, and the pictures in README, are made by the program. What takes long is
// compared with -tags soak (scripts/soak.sh).
const (
	document = "../../docs/hpl2002.md"
	drawing  = "../../docs/hpl2002-" // and the name of the picture
)

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
		t.Errorf("%s is not what comes out (-comes out +is there):\n%s\ngo test -tags soak ./emu/reproduce -run TestWholePaper -update writes it anew", path, diff)
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
