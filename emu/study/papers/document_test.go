package papers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
)

// documents are those that the program writes into docs/papers, with the pictures that go
// with them. What takes long is compared, and all of it is written again, with -tags soak
// (scripts/soak.sh).
var documents = []struct {
	paper    *Paper
	pictures []string
	quick    string // a figure that takes little time; empty: none does
}{
	{paperNamed("hpl2002"), []string{"fig2", "fig4b"}, "fig2"},
	{paperNamed("qcn"), []string{"og-hotspot-queue", "og-hotspot-reaction", "recovery", "unit-step-queue", "stability"}, ""}, // two-points takes a quarter of a minute
	{paperNamed("bcn"), []string{"convergence-1g", "convergence-10g", "asymmetric-slow", "parking-lot", "bursty", "gains-down", "ode-rates", "ode-v"}, "delay"},
	{paperNamed("e2cm"), []string{"hotspot", "probes"}, ""},
	{paperNamed("cca"), []string{"hpl2002-printed", "hpl2002-threshold-8", "incast"}, "levels"},
	{paperNamed("dcqcn"), []string{"fixed-point", "stability", "presets", "cnp-delay", "bystander"}, "cnp-delay"},
	{paperNamed("timely"), []string{"paper", "patched"}, "unfair"},
	{paperNamed("swift"), []string{"target"}, ""},
	{paperNamed("hpcc"), []string{"steady", "cut-queue", "cut-use", "incast"}, "cut"},
	{paperNamed("tcp-red"), []string{"instability-queue", "fluid-queue", "boundary-sources", "boundary-capacity", "droptail-windows"}, ""},
	{paperNamed("workloads"), []string{"web-search", "hadoop"}, ""},
	{paperNamed("pfc"), []string{"pause", "lossy", "watchdog", "flap", "marking"}, "ports"},
	{paperNamed("cbfc"), []string{"rate", "repair", "backpressure", "retry"}, "leak"},
	{paperNamed("llr"), []string{"load", "pause"}, "loss"},
	{paperNamed("links"), []string{"length", "room", "victim", "loss"}, "deadlock"},
	{compareSchemes(builtIn(), false), []string{OverviewName, "cut-ethernet", "cut-infiniband"}, ""},
}

func builtIn() *scenario.Schemes {
	tables := scenario.BuiltIn()
	return &tables
}

// docs returns the path of a file of a paper in docs/papers.
func docs(p *Paper, suffix string) string { return "../../../docs/papers/" + pageOf(p) + suffix }

// linked returns where a document finds a picture: in its folder, if it belongs to it.
func linked(p *Paper, pictures []string) func(string) string {
	return func(name string) string {
		if !slices.Contains(pictures, name) {
			return ""
		}
		return pageOf(p) + "-" + name + ".svg"
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

// The documents have every claim as in the papers' descriptions now.
func TestModelDocuments(t *testing.T) {
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
			all := map[scenario.Basis]int{}
			bare := map[scenario.Basis]int{}
			for i := range d.paper.Figures {
				d.paper.Figures[i].whole()
				describes(t, text, d.paper, &d.paper.Figures[i])
				for _, c := range d.paper.Figures[i].Claims {
					count := all
					if !c.Null.given() || c.Null.None != "" {
						count = bare
					}
					count[cmp.Or(c.Basis, scenario.Ours)]++
				}
			}
			for basis, of := range map[scenario.Basis]string{scenario.Quoted: "quoted claims", scenario.Derived: "derived claims", scenario.Ours: "checks of ours"} {
				if all[scenario.Quoted]+all[scenario.Derived]+bare[scenario.Quoted]+bare[scenario.Derived] == 0 { // nothing beside them
					of = "checks"
				}
				if want := fmt.Sprintf(" of %d %s hold", all[basis], of); all[basis] > 0 && !strings.Contains(text, want) {
					t.Errorf("the document does not say %q", want)
				}
				if want := fmt.Sprintf(" of %d %s without a null result hold", bare[basis], of); bare[basis] > 0 && !strings.Contains(text, want) {
					t.Errorf("the document does not say %q", want)
				}
			}
		})
	}
}

// The README counts the claims as the document does.
func TestReadmeCountsClaims(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(docs(paperNamed("hpl2002"), ".md"))
	if err != nil {
		t.Fatal(err)
	}
	count := regexp.MustCompile(`\d+ of \d+ quoted claims hold`).FindString(string(text))
	if count == "" || !strings.Contains(string(readme), count) {
		t.Errorf("the README does not say %q", count)
	}
}

// describes says what of a figure is not in the text of its document.
func describes(t *testing.T, text string, p *Paper, f *Figure) {
	t.Helper()
	cellText := strings.NewReplacer("|", `\|`).Replace
	if !strings.Contains(text, "## "+f.Source+": "+f.Title+"\n") {
		t.Errorf("the document does not have %s", f.Name)
	}
	_, section, _ := strings.Cut(text, "\n## What differs and why\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var differs []string
	for _, names := range regexp.MustCompile(`(?m)^\* \*\*(.*?)\*\*: `).FindAllStringSubmatch(section, -1) {
		differs = append(differs, strings.Split(names[1], ", ")...)
	}
	for _, c := range f.Claims {
		x := ClaimResult{Unit: c.Unit, Above: c.Above, Below: c.Below, Judged: report.Judged{ID: c.ID, Low: report.Number(c.Low), High: report.Number(c.High)}}
		x.Range = rangeOf(p, &x)
		start := "| **" + c.ID + "** " + cellText(c.Basis.Statement(c.Claim, c.Source)) + " | " + x.Accepted() + x.Range.mark() + " | "
		_, row, found := strings.Cut(text, start)
		row, _, _ = strings.Cut(row, "\n")
		null := "–"
		if c.Null.given() && c.Null.Set == nil {
			null = c.nullResult(0).value(&x)
		}
		if !found || c.Null.Set == nil && !strings.Contains(row, " | "+null+" | ") {
			t.Errorf("the document does not have %s as it is now, with the null result %s: %s", c.ID, null, start)
		}
		if strings.Contains(row, "WITHIN THE RANGE") {
			t.Errorf("the document does not have the null result of %s outside of its range", c.ID)
		}
		if named := slices.Contains(differs, c.ID); strings.HasSuffix(row, " | DIFFERS |") != named {
			t.Errorf("%s: %s; the section about what differs names it: %v", c.ID, row, named)
		}
	}
	if f.Table == nil {
		return
	}
	for _, row := range f.Table.Rows {
		if !strings.Contains(text, row.Claim.Claim) {
			t.Errorf("the document does not have the row %q", row.Claim.Claim)
		}
	}
}

// paperNamed returns a paper that has the name.
func paperNamed(name string) *Paper {
	papers := Papers()
	return papers[slices.IndexFunc(papers, func(p *Paper) bool { return p.Name == name })]
}

// All claim tables together have at most 20,000 words, so that a page can be read.
func TestWordsOfClaimTables(t *testing.T) {
	words := 0
	for _, d := range documents {
		text, err := os.ReadFile(docs(d.paper, ".md"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "| **") {
				words += len(strings.Fields(strings.ReplaceAll(line, "|", "")))
			}
		}
	}
	if words < 10000 || words > 20000 {
		t.Errorf("the claim tables have %d words, and a limit of 20,000", words)
	}
}

// The hand-written prose of all pages, without tables, formulas and commands, has at most 8,000 words: 500 a page.
func TestWordsOfPages(t *testing.T) {
	words, fence := 0, false
	for _, d := range documents {
		for line := range strings.Lines(d.paper.About) {
			switch {
			case strings.HasPrefix(line, "```"):
				fence = !fence
			case !fence && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "|"):
				words += len(strings.Fields(line))
			}
		}
	}
	if words < 4000 || words > 8000 {
		t.Errorf("the pages have %d words of prose, and a limit of 8,000", words)
	}
}

// A value of one seed is called no mean.
func TestIntroduction(t *testing.T) {
	p, figures := little()
	for seeds, says := range map[int]bool{1: false, 2: true} {
		r, err := Do(t.Context(), p, figures, Options{Seeds: seeds})
		if err != nil {
			t.Fatal(err)
		}
		var doc, page bytes.Buffer
		if err := errors.Join(r.WriteMarkdown(&doc, func(string) string { return "" }), r.WritePage(&page)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{doc.String(), page.String()} {
			if strings.Contains(text, "mean of") != says {
				t.Errorf("with %d seeds: it speaks of a mean of seeds: %v\n%s", seeds, !says, doc.String())
			}
		}
	}
}
