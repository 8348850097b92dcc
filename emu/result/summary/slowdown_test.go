package summary

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/reporttest"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/run/mode"

	"github.com/google/go-cmp/cmp"
)

// banded is a result with a workload of three bands of sizes, and one whose flows all have one
// size.
func banded() *report.Result {
	spread := report.Spread{Mean: 3, P50: 2, P95: 8, P99: 20, P999: 25, Max: 30}
	return &report.Result{Scenario: "fabric", Settings: mode.Settings{Clock: mode.VirtualClock}, Seed: 3, Workloads: []report.Workload{
		{Name: "web", Transfers: 30, Open: 2, Slowdown: spread, Sizes: []report.SizeBand{
			{Transfers: 10, From: 100, To: 1000, P50: 1, P95: 2, P99: 4},
			{Transfers: 10, From: 1000, To: 1000, P50: 2, P95: 3, P99: 50},
			{Transfers: 10, From: 1500, To: 3_000_000, P50: 2, P95: 3, P99: 5}}},
		{Name: "sum", Transfers: 30, Slowdown: spread, Sizes: []report.SizeBand{{Transfers: 30, From: 64000, To: 64000}},
			Collective: &report.Collective{Operation: "all-reduce", Algorithm: "ring", Rounds: 3}},
	}}
}

// The picture of a workload has a point for each band in the middle of its flows, and sizes as
// marks. Where all flows have one size there is none.
func TestSlowdowns(t *testing.T) {
	r := banded()
	all := Slowdowns(r)
	if len(all) != 1 {
		t.Fatalf("%d pictures, want one", len(all))
	}
	f := all[0]
	if want := []string{"100B", "1KB", "1KB", "3MB"}; !slices.Equal(f.X.Names, want) {
		t.Errorf("marks at %v, want %v", f.X.Names, want)
	}
	if len(f.Curves) != 3 || f.Curves[2].Name != "p99" {
		t.Fatalf("curves %+v", f.Curves)
	}
	if diff := cmp.Diff([]float64{4, 50, 5}, f.Curves[2].Y); diff != "" {
		t.Error(diff)
	}
	if x := f.Curves[2].X; !(x[0] == 1./6 && x[1] == 0.5 && x[2] > 0.83 && x[2] < 0.84) || f.Y.High < 50 {
		t.Errorf("points at %v, the axis ends at %v", x, f.Y.High)
	}
	if !strings.Contains(f.Subtitle, "30 flows, 2 open") {
		t.Errorf("the subtitle %q does not count the flows", f.Subtitle)
	}
	if names := Pictures(r, nil); len(names) != 2 || names[1].Name != report.SlowdownFile {
		t.Errorf("%d pictures of the run", len(names))
	}
	for i := range r.Workloads[0].Sizes {
		r.Workloads[0].Sizes[i].P99 = report.Missing()
	}
	if f := Slowdowns(r)[0]; len(f.Curves) != 2 || f.Note != "(p99: too few)" {
		t.Errorf("without a p99: %d curves, the note %q", len(f.Curves), f.Note)
	}
	r.Workloads[0].Sizes[0].P50 = -1 // a file that was changed
	var out bytes.Buffer
	if err := Slowdowns(r).SVG(&out); err != nil {
		t.Error(err)
	}
	if r.Workloads = nil; Slowdowns(r) != nil || len(Pictures(r, nil)) != 1 {
		t.Error("a run without workloads has a picture of their slowdown")
	}
}

// The report begins with the flows that did not end, and says by how much figures are too low at
// least.
func TestUnfinished(t *testing.T) {
	r := banded()
	r.Workloads[0].AtLeast = &report.Spread{Mean: 4, P99: 31}
	r.Workloads[0].Waiting, r.Workloads[0].Slowdown.P999 = 3, report.Missing()
	r.Workloads[1].Open = 5 // messages of ranks, which wait for one another
	var out bytes.Buffer
	if err := WriteText(&out, r, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"in 0 s Unfinished: web: 5 of 35 flows did not finish", "the mean slowdown is at least 4 instead of 3, and p99 at least 31 instead of 20. A longer", " 20 too few"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q: %s", want, text)
		}
	}
	if strings.Contains(text, "sum: 5") {
		t.Error("messages of ranks count as unfinished")
	}
	r.Workloads[0].Open, r.Workloads[0].Waiting = 0, 0
	if all := unfinished(r); all != nil {
		t.Errorf("%q without open flows", all)
	}
}

// Compared with another run, a point is at its sizes on the axis of the first: flows that are
// larger than all of the first run's are at its end.
func TestSlowdownsBeside(t *testing.T) {
	a, b := banded(), banded()
	b.Workloads[0].Sizes = []report.SizeBand{{Transfers: 8, From: 550, To: 550, P99: 7}, {Transfers: 8, From: 9e6, To: 9e6, P99: 8}}
	all := SlowdownsBeside([]string{"a", "b"}, []*report.Result{a, b})
	if len(all) != 1 || len(all[0].Curves) != 2 || all[0].Curves[1].Name != "b, 30 flows, 2 open" {
		t.Fatalf("%+v", all)
	}
	c := all[0].Curves[1]
	if diff := cmp.Diff([]float64{7, 8}, c.Y); diff != "" {
		t.Error(diff)
	}
	if label := all[0].Y.Label; label != "p99 slowdown" {
		t.Errorf("the Y axis says %q", label)
	}
	if x := c.X; !(x[0] > 1./6-1e-9 && x[0] < 0.6 && x[1] > x[0] && x[1] <= 1) {
		t.Errorf("points at %v", x)
	}
}

// The page and the picture of repetitions have the intervals; where too few flows support a p99,
// the picture says so.
func TestRepetitions(t *testing.T) {
	none := seeds.Interval{Value: report.Missing(), Low: report.Missing(), High: report.Missing()}
	band := func(from, to int64, p50 report.Number) seeds.Band {
		return seeds.Band{Flows: 50, From: from, To: to, Mean: seeds.Interval{Value: 3, Low: 2, High: 4}, P50: seeds.Interval{Value: p50, Low: p50 / 2, High: 2 * p50}, P95: none, P99: none}
	}
	r := &seeds.Repetitions{Scenario: "fabric", Runs: []string{"seed-1", "seed-2"}, Slowdowns: []seeds.Slowdown{
		{Workload: "web", Seeds: 2, Open: 3, Band: band(1, 2000, 4), Sizes: []seeds.Band{band(1, 999, 4), band(1000, 2000, 8)}}}}
	f := pooledFigures(r)[0]
	if len(f.Curves) != 1 || f.Note != "(p99: too few)" || !slices.Equal(f.Curves[0].Low, []float64{2, 4}) || !slices.Equal(f.Curves[0].High, []float64{8, 16}) || f.Y.High < 16 {
		t.Errorf("%+v", f)
	}
	one := PooledFigure("", []SlowdownCurve{{"a", &r.Slowdowns[0], "p50"}, {"b", &r.Slowdowns[0], "p50"}})
	if f.Y.Label != "slowdown" || one.Y.Label != "p50 slowdown" {
		t.Errorf("the Y axes say %q and %q", f.Y.Label, one.Y.Label)
	}
	dir := t.TempDir()
	path, err := WriteRepetitionsPage(dir, r, &plot.Style{})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(path)
	for _, want := range []string{"3 of 53 flows did not finish", "4 (2 to 8)", "too few", "1KB to 2KB"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if paths, err := DrawRepetitions(dir, r, &plot.Style{}); err != nil || len(paths) != 1 {
		t.Errorf("%q, %v", paths, err)
	}
}

// Utilisations over seeds have a column for each phase, and a terminal has the busiest links. What
// is not in every phase keeps its line.
func TestRepeatedRates(t *testing.T) {
	r := &seeds.Repetitions{Scenario: "fabric", Runs: []string{"seed-1", "seed-2"}}
	for phase := range 3 {
		for link := range 32 {
			r.Figures = append(r.Figures, seeds.Repeated{Kind: "link", Name: fmt.Sprintf("leaf%d-spine, phase %d", link, phase+1),
				Estimate: report.Estimate{Mean: report.Number(link+phase) / 100, Interval: 0.02, Values: 2}})
		}
	}
	text := func() string {
		return string(reporttest.Render(t, func(b *bytes.Buffer) error { return WriteRepetitions(b, r) }))
	}
	got := regexp.MustCompile(" +").ReplaceAllString(text(), " ")
	want := " utilisation in percent phase 1 phase 2 phase 3\n leaf30-spine 30.0 ± 2.0 31.0 ± 2.0 32.0 ± 2.0\n leaf31-spine 31.0 ± 2.0 32.0 ± 2.0 33.0 ± 2.0\n ... 30 more like these, less busy, in seeds.json\n"
	if !strings.Contains(got, want) {
		t.Errorf("%q is missing in\n%s", want, got)
	}
	r.Figures = append(r.Figures[:2], seeds.Repeated{Kind: "link", Name: "leaf0-spine, phase 4", Estimate: report.EstimateOf(nil)})
	got = regexp.MustCompile(" +").ReplaceAllString(text(), " ")
	if want := " utilisation in percent mean\n leaf0-spine, phase 1 0.0 ± 2.0\n leaf1-spine, phase 1 1.0 ± 2.0\n leaf0-spine, phase 4 -\n"; !strings.Contains(got, want) {
		t.Errorf("%q is missing in\n%s", want, got)
	}
}

// A workload alone has no flows that are active or not.
func TestActiveFlows(t *testing.T) {
	r := banded()
	r.Phases = []report.Phase{{ToPs: 1e9, Rates: []report.Rate{{Kind: "link", Name: "trunk.A-B", Utilisation: 0.5}}}}
	text := func() string {
		return string(reporttest.Render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
	}
	if r.Flows = nil; strings.Contains(text(), "flows that are active") || !strings.Contains(text(), "trunk.A-B") {
		t.Errorf("a workload alone:\n%s", text())
	}
	if r.Flows = []report.Flow{{Name: "f"}}; !strings.Contains(text(), "flows that are active") {
		t.Errorf("with a flow:\n%s", text())
	}
}

// place returns ranks for sizes.
func TestPlace(t *testing.T) {
	bounds := []float64{0, 100, 100, 100, 300}
	for _, x := range []struct{ size, rank, want float64 }{
		{-1, 0.5, 0}, {0, 0.3, 0}, {50, 0.9, 0.125}, {100, 0.1, 0.25}, {100, 0.6, 0.6}, {100, 0.9, 0.75}, {200, 0, 0.875}, {300, 0, 1}, {400, 0, 1},
	} {
		if got := place(bounds, x.size, x.rank); got != x.want {
			t.Errorf("%v with rank %v is at %v, want %v", x.size, x.rank, got, x.want)
		}
	}
}

// The page has the tables of workloads, and the picture.
func TestPageOfWorkloads(t *testing.T) {
	var out, none bytes.Buffer
	if err := errors.Join(WriteHTML(&out, &report.Dir{Result: banded()}), WriteHTML(&none, &report.Dir{Result: &report.Result{}})); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{">Workloads</h2>", "Flows of workloads", "Collective operations", "fabric: slowdown of web"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	if strings.Contains(none.String(), "Workloads") {
		t.Error("a run without workloads has a section of them")
	}
}
