package papers

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/result/report"
)

// Every algorithm and every congestion point of the tables is tried, and the schemes that the
// bench is for are there by their names.
func TestAllSchemesAreTried(t *testing.T) {
	tables := builtIn()
	var names []string
	sets := ""
	for _, x := range trials(tables) {
		if name := x.kind + ": " + x.name; slices.Contains(names, name) {
			t.Errorf("%s is tried twice", name)
		} else {
			names = append(names, name)
		}
		sets += strings.Join(x.sets, " ") + " "
	}
	for _, l := range tables.Algorithms {
		if l.New != nil && !strings.Contains(sets, "defaults.flow.control.algorithm="+l.Name+" ") {
			t.Errorf("the algorithm %s is not tried: its row has no trial with a congestion point", l.Name)
		}
	}
	for _, p := range tables.Points {
		if p.Dropper != nil {
			continue // a transport answers what is lost, and no algorithm
		}
		if !strings.Contains(sets, "defaults.switch.marking.scheme="+p.Name+" ") {
			t.Errorf("the congestion point %s is not tried: no algorithm works with it", p.Name)
		}
	}
	for _, want := range []string{
		"InfiniBand: none", "InfiniBand: lipd, naive", "InfiniBand: lipd, input", "InfiniBand: lipd, input-output",
		"InfiniBand: aimd, naive", "InfiniBand: aimd, input", "InfiniBand: aimd, input-output",
		"Ethernet: none", "Ethernet: qcn with timer", "Ethernet: qcn without timer", "Ethernet: bcn", "Ethernet: bcn with the enhancement", "Ethernet: e2cm source-based", "Ethernet: e2cm destination-based",
		"Ethernet: dcqcn", "Ethernet: dcqcn connectx", "InfiniBand: cca", "InfiniBand: cca threshold 8",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not there; there are %q", want, names)
		}
	}
}

// checkPage looks into the page: it needs nothing from elsewhere, it has all cells, and each
// leads to a command that is there.
func checkPage(t *testing.T, r *Result) {
	t.Helper()
	var b bytes.Buffer
	if err := r.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(b.String())
	if found := regexp.MustCompile(`(?i)(src|href)="?(https?:)?//|@import|url\(`).FindString(page); found != "" {
		t.Errorf("the page wants something from elsewhere: %s", found)
	}
	script := regexp.MustCompile(`(?s)<script>(.*)</script>`).FindStringSubmatch(page)
	if script == nil {
		t.Fatal("nothing sorts the table")
	}
	if sum := sha256.Sum256([]byte(script[1])); !strings.Contains(page, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Error("the policy of the page does not let its script run")
	}
	if glance, table := strings.Index(page, ">At a glance</h2>"), strings.Index(page, ">All schemes</h2>"); glance < 0 || glance > table {
		t.Error("there is no overview above the table")
	}
	if strings.Contains(page, "± 0<") || strings.Contains(page, "± 0 ") {
		t.Error("a deviation of 0 is printed")
	}
	if n := strings.Count(page, "<tbody>"); n != len(r.Figures) {
		t.Errorf("%d parts of the table, of %d situations", n, len(r.Figures))
	}
	links := regexp.MustCompile(`<a href="#(r\d+-\d+)" data-m="([^"]+)">`).FindAllStringSubmatch(page, -1)
	cells := 0
	for _, f := range r.Figures {
		for _, row := range f.Matrix.Rows {
			for i := range row.Cells {
				if row.Cells[i].Measured != "" {
					cells++
				}
			}
		}
	}
	if len(links) != cells || cells < 6*len(r.Figures[0].Matrix.Rows) {
		t.Errorf("%d cells lead to a command, of %d", len(links), cells)
	}
	for _, l := range links {
		if !strings.Contains(page, `<p id="`+l[1]+`">`) {
			t.Fatalf("%s leads nowhere", l[0])
		}
	}
}

// A mean has half of its interval behind it, and says how many seeds have a value.
func TestCellsArePrinted(t *testing.T) {
	share, time := &Column{Name: "share", Unit: Percent}, &Column{Name: "time", Unit: Milliseconds, Never: true}
	for _, c := range []struct {
		cell CellResult
		want string
	}{
		{CellResult{Value: 0.1234, Interval: 0.00567, Seeds: 5, column: share}, "12.3 ± 0.57"},
		{CellResult{Value: 0.5, Interval: 1e-12, Seeds: 5, column: share}, "50"},
		{CellResult{Value: 0.5, Interval: report.Missing(), Seeds: 1, column: share}, "50"},
		{CellResult{Value: 0.012, Interval: 0.001, Seeds: 3, Missing: 2, column: time}, "12 ± 1 (3 of 5)"},
		{CellResult{Value: report.Missing(), Missing: 5, column: time}, "never"},
		{CellResult{Value: report.Missing(), Missing: 5, column: share}, "undefined"},
		{CellResult{Value: report.Missing(), Reason: "so", column: share}, "—"},
	} {
		if got := c.cell.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
