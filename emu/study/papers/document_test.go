package papers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/golden"
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
	{paperNamed("htsim"), []string{"incast", "permutation"}, "one"},
	{paperNamed("uet"), []string{"fabrics", "schemes-queue", "schemes-short-queue", "schemes-permutation"}, "permutation"},
	{paperNamed("tcp-red"), []string{"instability-queue", "fluid-queue", "boundary-sources", "boundary-capacity", "droptail-windows"}, ""},
	{paperNamed("workloads"), []string{"web-search", "hadoop"}, ""},
	{paperNamed("pfc"), []string{"pause", "lossy", "watchdog", "flap", "marking"}, "ports"},
	{paperNamed("cbfc"), []string{"rate", "repair", "backpressure", "retry"}, "leak"},
	{paperNamed("llr"), []string{"load", "pause"}, "loss"},
	{paperNamed("links"), []string{"length", "room", "victim", "loss"}, "deadlock"},
	{paperNamed("paths"), []string{"spreading", "modes"}, ""},
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

// Each page is what the program writes of the paper's description and the figures on the page: with
// -update new words need no runs. Its section about what differs names the claims that do.
func TestModelDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, d := range documents {
		t.Run(d.paper.Name, func(t *testing.T) {
			file, err := os.ReadFile(docs(d.paper, ".md"))
			if err != nil {
				t.Fatal(err)
			}
			r := readBack(t, d.paper, string(file))
			var doc bytes.Buffer
			if err := r.WriteMarkdown(&doc, linked(d.paper, d.pictures)); err != nil {
				t.Fatal(err)
			}
			golden.File(t, docs(d.paper, ".md"), doc.Bytes())
			_, section, _ := strings.Cut(d.paper.About, "\n## What differs and why\n")
			var named, differs []string
			for _, names := range regexp.MustCompile(`(?m)^\* \*\*(.*?)\*\*: `).FindAllStringSubmatch(section, -1) {
				named = append(named, strings.Split(names[1], ", ")...)
			}
			for _, f := range r.Figures {
				for _, c := range f.Claims {
					if c.Outcome == report.Differs {
						differs = append(differs, c.ID)
					}
					if c.Null != nil && c.Null.Within {
						t.Errorf("%s: its null result is within the range", c.ID)
					}
				}
			}
			slices.Sort(named)
			slices.Sort(differs)
			if !slices.Equal(named, differs) {
				t.Errorf("the section about what differs names %v, and what differs is %v", named, differs)
			}
		})
	}
}

// readBack is the result of a paper with the figures that are on its page.
func readBack(t *testing.T, p *Paper, page string) *Result {
	t.Helper()
	r := &Result{Paper: p.Name, Title: p.Title, Source: p.Source, About: p.About, Clock: string(emu.VirtualClock), Seeds: defaultSeeds}
	rows := map[string][]string{} // of claims by ID: accepted range, result, null result, outcome
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(strings.ReplaceAll(line, `\|`, "")), " | ")
		names, isClaim := strings.CutPrefix(cells[0], "| **")
		if !isClaim {
			continue
		}
		names, _, _ = strings.Cut(names, "** ")
		ids := strings.Split(names, ", ")
		for i, id := range ids {
			rows[id] = []string{part(cells[2], i, len(ids)), part(cells[3], i, len(ids)), strings.TrimSuffix(cells[len(cells)-1], " |")}
		}
	}
	for i := range p.Figures {
		f := &p.Figures[i]
		f.whole()
		out := FigureResult{Name: p.Name + "/" + f.Name, Source: f.Source, Title: f.Title, Caption: f.Caption}
		for k := range f.Claims {
			c := &f.Claims[k]
			row := rows[c.ID]
			if row == nil {
				t.Errorf("the page does not have %s: run %s and write it again with -tags soak", c.ID, p.Name)
				continue
			}
			x := c.readBack(p, row[0], row[1], row[2])
			if (x.Outcome == report.Differs) != (c.Differs() != "") {
				t.Errorf("%s: %s, and the reason to differ is %q", c.ID, x.Outcome, c.Differs())
			}
			out.Claims = append(out.Claims, x)
		}
		if f.Table != nil {
			out.Table = f.Table.readBack(page)
		}
		if f.Matrix != nil {
			out.Matrix = (&batch{seeds: defaultSeeds}).matrix(f.Name, f.Matrix) // of no run: the page has pictures alone
		}
		for k := range f.Plots {
			x := &f.Plots[k]
			out.Pictures = append(out.Pictures, Picture{Name: f.pictureName(x), Title: cmp.Or(x.Title, f.Title)})
		}
		r.Figures = append(r.Figures, out)
	}
	return r
}

// part is the i-th of n values in a cell, or the one for all.
func part(cell string, i, n int) string {
	if parts := strings.Split(cell, " / "); len(parts) == n {
		return parts[i]
	}
	return cell
}

// readBack is a claim with the figures of its row.
func (c *Claim) readBack(p *Paper, result, null, outcome string) ClaimResult {
	value, deviation, outside, seeds := c.Unit.read(result)
	nothing, _, _, _ := c.Unit.read(null)
	x := ClaimResult{Judged: report.JudgeClaim(&c.Check, value, ""), Says: c.Claim, Measured: c.Metric, Unit: c.Unit, Above: c.Above, Below: c.Below,
		Deviation: report.Number(deviation), Seeds: seeds, Outside: outside, Null: c.nullResult(nothing)}
	x.Outcome = report.Outcome(strings.ToLower(outcome))
	x.Range = rangeOf(p, &x)
	return x
}

// read returns the figures that a cell prints: a value in the unit, its deviation, and of how many
// seeds how many are outside.
func (u Unit) read(cell string) (value, deviation float64, outside, seeds int) {
	number := func(text string) float64 {
		switch v, err := strconv.ParseFloat(text, 64); {
		case text == "undefined":
			return none
		case err != nil:
			return math.NaN()
		default:
			return v / u.scale()
		}
	}
	cell, rest, _ := strings.Cut(cell, "; ")
	text, spread, several := strings.Cut(cell, " ± ")
	text, _, _ = strings.Cut(text, " ")
	seeds = 1
	if several {
		seeds = defaultSeeds
	}
	fmt.Sscanf(rest, "%d of %d outside", &outside, &seeds) // where there is no rest both stay
	return number(text), number(spread), outside, seeds
}

// readBack is the table with the figures on the page.
func (t *Table) readBack(page string) *TableResult {
	out := &TableResult{Title: t.Title, Columns: t.Columns, Note: t.Note}
	_, text, _ := strings.Cut(page, "\n| "+t.Title+" |")
	lines := strings.Split(text, "\n")[2:]
	for i := range t.Rows {
		row := &t.Rows[i].Claim
		x := RowResult{Says: row.Claim, Measured: row.Metric, Source: row.Source}
		cells := strings.Split(strings.TrimSuffix(lines[i], " |"), " | ")
		for _, cell := range cells[len(cells)-len(t.Rows[i].Cells):] {
			value, deviation, outside, seeds := row.Unit.read(cell)
			c := ClaimResult{Judged: report.JudgeClaim(&row.Check, value, ""), Unit: row.Unit, Deviation: report.Number(deviation), Seeds: seeds, Outside: outside}
			if c.Outcome = report.Fail; strings.HasSuffix(cell, "✓") {
				c.Outcome = report.Pass
			}
			x.Cells = append(x.Cells, c)
		}
		out.Rows = append(out.Rows, x)
	}
	return out
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
	count := regexp.MustCompile(`\| with a null result \| (\d+ of \d+) \|`).FindStringSubmatch(string(text))
	if count == nil || !strings.Contains(string(readme), count[1]+" quoted claims hold") {
		t.Errorf("the README does not say %q", count)
	}
}

// paperNamed returns a paper that has the name.
func paperNamed(name string) *Paper {
	papers := Papers()
	return papers[slices.IndexFunc(papers, func(p *Paper) bool { return p.Name == name })]
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
