package papers

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/base/terminal"
	"fabemu/node/rp"
)

// The bench in short: each cell has a value or says why not, nothing is lost, and flow
// control alone stalls the trunk that the incast shares, which no scheme does.
func TestFiguresOfBenchInShort(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	p := compareSchemes(builtIn(), true)
	var figures []*Figure
	for i := range p.Figures {
		figures = append(figures, &p.Figures[i])
	}
	r, err := Do(context.Background(), p, figures, Options{Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures {
		for _, row := range f.Matrix.Rows {
			for i := range row.Cells {
				c := &row.Cells[i]
				if c.Value.Known() == (c.Reason != "") || c.String() == "undefined" {
					t.Errorf("%s, %s, %s: %v, %q", f.Name, row.Name, c.column.Name, c.Value, c.Reason)
				}
				if c.Value.Known() && row.Command != "" && c.Measured == "" {
					t.Errorf("%s, %s: nothing repeats the %s", f.Name, row.Name, c.column.Name)
				}
			}
			if row.Command != "" && row.Cells[columnAt("drops")].Value != 0 {
				t.Errorf("%s, %s: %v frames were lost", f.Name, row.Name, row.Cells[columnAt("drops")].Value)
			}
		}
	}
	for _, row := range r.Figures[0].Matrix.Rows {
		stalled, told := row.Cells[columnAt("stalled")].Value, row.Cells[columnAt("feedback")].Value
		if row.Name == "none" && (stalled < 0.5 || told != 0) || row.Name != "none" && (stalled > 0.05 || told > 0 == unreported(row.Name)) {
			t.Errorf("%s, %s: the trunk of the incast is stalled for %v, feedback %v", row.Kind, row.Name, stalled, told)
		}
	}
	lot := r.Figures[2].Matrix
	n := len(lot.Rows)
	for i, want := range [][2]float64{{1, 1}, {8. / 9, 5. / 3}} { // (4 C/6 + 2 C/3)^2 / (6 (4 C^2/36 + 2 C^2/9)) and C/3 over C/5
		if row := lot.Rows[n-2+i]; math.Abs(float64(row.Cells[columnAt("fairness")].Value)-want[0]) > 1e-6 || math.Abs(float64(row.Cells[columnAt("bystander")].Value)-want[1]) > 1e-6 {
			t.Errorf("%s: %v and %v, want %v", row.Name, row.Cells[columnAt("fairness")].Value, row.Cells[columnAt("bystander")].Value, want)
		}
	}
	checkPage(t, r)
	var text, doc bytes.Buffer // the document leaves the tables to report.html and matrix.csv
	if err := r.WriteText(&text, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteMarkdown(&doc, func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"qcn without timer", "queue p99 (KB)", "No Jain's index: the flows are not alike."} {
		if !strings.Contains(text.String(), want) || strings.Contains(doc.String(), want) {
			t.Errorf("%q belongs in the text, and not in the document", want)
		}
	}
}

// unreported reports whether a row is of a scheme to which no frame reports congestion: its
// algorithm goes by round trips, or TCP by the marks of its own ACKs. Ultra Ethernet's algorithms
// have marks in ACKs, or credit, too.
func unreported(row string) bool {
	return row == "dctcp" || slices.ContainsFunc(rp.Algorithms(), func(l rp.Algorithm) bool {
		return l.Feedback == rp.Delays && strings.HasPrefix(row, l.Name) && l.Name != "nscc" && !l.Ultra
	})
}
