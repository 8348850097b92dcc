package sweep

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/scenario"
	"fabemu/emu/study/campaign"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

const two = `name: two
model: {duration: 1ms, seed: 1}
defaults:
  link: {rate: 1GB/s, buffer: 4 packets}
  flow: {packet: 2048B, control: {algorithm: fixed}}
switches: {S: {}}
endpoints: [a, b]
links:
  - a - S
  - {name: exit, between: S - b}
flows:
  - {name: f, from: a, to: b}
measure: {window: 200us}
expect:
  - {id: busy, claim: the link is busy, metric: exit.S-b.utilisation, during: [200us, 1ms], low: 0.96, high: 1.01}
`

// write writes a scenario and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "two.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// windows is a sweep of three runs.
func windows(t *testing.T, change func(*Plan)) Plan {
	p := Plan{
		Fabemu: "test", Scenario: write(t, two), Clock: "virtual", Metrics: []string{"f.rate"},
		Axes: []Axis{{"flows.f.window", []string{"1", "2", "3"}}},
	}
	if change != nil {
		change(&p)
	}
	return p
}

// sweep runs a plan and returns how many of its cells were already done.
func sweep(t *testing.T, p Plan, dir string, o Options) (cells []Cell, before int) {
	t.Helper()
	o.Progress = func(s campaign.Status) { before = s.Before }
	cells, err := Run(t.Context(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return cells, before
}

// put writes files into a directory.
func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// listing lists what is in a directory.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// cellsOf returns the files of the cells of a plan, in its order.
func cellsOf(t *testing.T, p Plan) (names []string) {
	t.Helper()
	cells, err := Cells(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		names = append(names, campaign.CellsDir+"/"+c.File())
	}
	return names
}

func TestRunWritesTheTableTheFiguresAndTheCells(t *testing.T) {
	dir := t.TempDir()
	cells, _ := sweep(t, windows(t, nil), dir, Options{})
	want := append(cellsOf(t, windows(t, nil)), "f.rate.svg", ParametersFile, CaptionFile, "sweep.csv")
	slices.Sort(want)
	if d := cmp.Diff(want, listing(t, dir)); d != "" {
		t.Error(d)
	}
	for i, c := range cells {
		if c.Number != i+1 || c.Values[0] != fmt.Sprint(i+1) || c.Level != report.Virtual || !(c.Figures[0].Value > 9e8) {
			t.Errorf("%+v", c)
		}
	}
}

// After a power cut files may be empty, cut short, or filled with zeros. They count as
// missing, and whole files are kept.
func TestRunAfterFilesWereCut(t *testing.T) {
	whole := t.TempDir()
	p := windows(t, nil)
	sweep(t, p, whole, Options{})
	names, cells := listing(t, whole), cellsOf(t, p)
	for what, cut := range map[string]func(b []byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"half":  func(b []byte) []byte { return b[:len(b)/2] },
		"zeros": func(b []byte) []byte { return append(b[:len(b)/2:len(b)/2], make([]byte, len(b)-len(b)/2)...) },
	} {
		for _, lost := range [][]string{names, {"f.rate.svg"}, cells[1:2], {cells[0], "sweep.csv"}} {
			dir := filepath.Join(t.TempDir(), "cut")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			kept := len(cells)
			for _, name := range lost {
				path := filepath.Join(dir, name)
				b, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, cut(b), 0o666)
				}
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(name, campaign.CellsDir) {
					kept--
				}
			}
			before := -1
			_, err := Run(t.Context(), p, dir, Options{Progress: func(s campaign.Status) {
				if before < 0 {
					before = s.Before
				}
			}})
			if err != nil || before != kept {
				t.Errorf("%s: %q: %v; %d cells are taken, want %d", what, lost, err, before, kept)
			}
			for _, name := range names {
				want, _ := os.ReadFile(filepath.Join(whole, name))
				if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != string(want) {
					t.Errorf("%s: %q: %s is\n%s%v, want\n%s", what, lost, name, got, err, want)
				}
			}
		}
	}
}

// The last axis varies fastest.
func TestOrderOfCells(t *testing.T) {
	p := windows(t, func(p *Plan) {
		p.Axes = []Axis{{"flows.f.window", []string{"1", "2"}}, {"model.seed", []string{"1", "2", "3"}}, {"wall.dilation", []string{"20"}}}
	})
	l, err := p.lay("")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range l.plan.Cells {
		got = append(got, strings.Join(l.cells[c.ID].values, " "))
	}
	if d := cmp.Diff([]string{"1 1 20", "1 2 20", "1 3 20", "2 1 20", "2 2 20", "2 3 20"}, got); d != "" {
		t.Error(d)
	}
}

// A sweep that was interrupted and resumed has the same table as one that was not, and does nothing
// twice.
func TestRunGoesOn(t *testing.T) {
	p := windows(t, nil)
	whole, broken := t.TempDir(), t.TempDir()
	want, _ := sweep(t, p, whole, Options{})
	ctx, stop := context.WithCancel(t.Context())
	_, err := Run(ctx, p, broken, Options{Jobs: 1, Progress: func(s campaign.Status) {
		if s.Done == 1 {
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	got, before := sweep(t, p, broken, Options{})
	if before != 1 {
		t.Errorf("%d were done before", before)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, before := sweep(t, p, broken, Options{}); before != 3 {
		t.Errorf("of a sweep that is done, %d of 3 were done before", before)
	}
	if _, before := sweep(t, p, broken, Options{Force: true}); before != 0 {
		t.Errorf("with Force, %d were done before", before)
	}
}

// A call that was killed early can be repeated, whatever it left behind.
func TestRunAfterACallThatHadHardlyBegun(t *testing.T) {
	p := windows(t, nil)
	for name, leave := range map[string]func(dir string){
		"nothing":              func(string) {},
		"an empty directory":   func(dir string) { os.Mkdir(filepath.Join(dir, campaign.CellsDir), 0o777) },
		"a cell, half":         func(dir string) { sweep(t, p, dir, Options{}); put(t, dir, "cells/.9f3a1c02b4d5.json-77") },
		"a table and a figure": func(dir string) { sweep(t, p, dir, Options{}); put(t, dir, ".sweep.csv-1", ".f.rate.svg-2") },
	} {
		dir := t.TempDir()
		leave(dir)
		sweep(t, p, dir, Options{})
		for _, f := range listing(t, dir) {
			if strings.HasPrefix(filepath.Base(f), ".") {
				t.Errorf("%s: %s is left", name, f)
			}
		}
	}
}

// A directory with other files and no cells is refused, except with Force. Other files stay in any
// case.
func TestRunLeavesWhatIsNotItsOwn(t *testing.T) {
	p := windows(t, nil)
	for _, foreign := range []string{"x", ".sweep.csv-a1", ".sweep.csv-", "sweep.csv", "cell/x"} {
		dir := t.TempDir()
		put(t, dir, foreign)
		_, err := Run(t.Context(), p, dir, Options{})
		var mistake *emu.Mistake
		first, _, _ := strings.Cut(foreign, "/")
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "not of a sweep (there is "+first+")") {
			t.Errorf("%s: %v", foreign, err)
		}
		if got := listing(t, dir); !slices.Equal(got, []string{foreign}) {
			t.Errorf("%s: %v", foreign, got)
		}
		sweep(t, p, dir, Options{Force: true})
		if got := listing(t, dir); !slices.Contains(got, foreign) {
			t.Errorf("with Force, %s is gone", foreign)
		}
	}

	dir := t.TempDir()
	sweep(t, p, dir, Options{})
	mine := []string{"notes", "cells/notes.json", "cells/1.json", "mine.svg", ".notes-1"}
	put(t, dir, mine...)
	p.Metrics = []string{"f.utilisation"}
	sweep(t, p, dir, Options{})
	got := listing(t, dir)
	for _, f := range mine {
		if !slices.Contains(got, f) {
			t.Errorf("%s is gone", f)
		}
	}
}

// Brackets in the name of a directory are brackets.
func TestADirectoryThatLooksLikeAPattern(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]*")
	p := windows(t, nil)
	sweep(t, p, dir, Options{})
	if _, before := sweep(t, p, dir, Options{}); before != 3 {
		t.Errorf("%d of 3 cells are found again", before)
	}
	if _, before := sweep(t, p, dir, Options{Force: true}); before != 0 {
		t.Errorf("with Force, %d cells are not repeated", before)
	}
}

// Everything on which the result of a cell depends changes the name of its file; a plan with more
// cells reuses those of the smaller one.
func TestNamesOfCells(t *testing.T) {
	p := windows(t, nil)
	known := cellsOf(t, p)
	for says, change := range map[string]func(*Plan){
		"another version":    func(p *Plan) { p.Fabemu = "2" },
		"another scenario":   func(p *Plan) { p.Scenario = write(t, strings.Replace(two, "duration: 1ms", "duration: 2ms", 1)) },
		"the checks":         func(p *Plan) { p.Metrics = nil },
		"another time":       func(p *Plan) { p.FromPs, p.ToPs = 1e8, 1e9 },
		"the wall clock":     func(p *Plan) { p.Clock, p.Link = "wall", "pipe" },
		"the bytes":          func(p *Plan) { p.Codec = true },
		"other values":       func(p *Plan) { p.Axes[0].Values = []string{"4", "5"} },
		"another field, too": func(p *Plan) { p.Axes = append(p.Axes, Axis{"model.seed", []string{"7"}}) },
	} {
		q := windows(t, change)
		for _, name := range cellsOf(t, q) {
			if slices.Contains(known, name) {
				t.Errorf("%s: %s has the same name", says, name)
			}
		}
	}
	dir := t.TempDir()
	sweep(t, p, dir, Options{})
	more := windows(t, func(p *Plan) { p.Axes[0].Values = []string{"8", "1", "2", "3"} })
	cells, before := sweep(t, more, dir, Options{})
	if before != 3 || cells[1].Number != 2 || cells[1].Values[0] != "1" {
		t.Errorf("of a plan with one more cell %d were done before: %+v", before, cells)
	}
}

func TestMistakes(t *testing.T) {
	axis := func(path string, values ...string) func(*Plan) {
		return func(p *Plan) { p.Axes = append(p.Axes, Axis{path, values}) }
	}
	numbers := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint(i+1))
		}
		return list
	}
	for _, c := range []struct {
		want   string
		change func(*Plan)
	}{
		{`there is no clock "wal"`, func(p *Plan) { p.Clock = "wal" }},
		{`there is no link "vet" for a sweep; there are udp and pipe`, func(p *Plan) { p.Clock, p.Link = "wall", "vet" }},
		{`there is no link "veth" for a sweep`, func(p *Plan) { p.Clock, p.Link = "wall", "veth" }},
		{"flows.f.window is set twice", axis("flows.f.window", "4")},
		{"over no value", axis("model.seed")},
		{"1002 runs, which is more than 1000: use --large", axis("model.seed", numbers(334)...)},
		{"--metric f.rate is given twice", func(p *Plan) { p.Metrics = []string{"f.rate", "f.rate"} }},
		{"--metric g.rate", func(p *Plan) { p.Metrics = []string{"g.rate"} }},
		{"taken until 2 ms, but the run ends at 1 ms", func(p *Plan) { p.ToPs = 2e9 }},
		{"cannot be taken from", func(p *Plan) { p.FromPs, p.ToPs = 5, 5 }},
		{"cannot be taken from", func(p *Plan) { p.FromPs, p.ToPs = -5, 5 }},
		{"windou", axis("flows.f.windou", "1")},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		_, err := Run(t.Context(), windows(t, c.change), dir, Options{})
		var mistake *emu.Mistake
		if !errors.As(err, &mistake) || !strings.Contains(strings.ReplaceAll(err.Error(), " ms", "ms"), strings.ReplaceAll(c.want, " ms", "ms")) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the directory was made", c.want)
		}
	}
	if _, err := Run(t.Context(), windows(t, nil), t.TempDir(), Options{Jobs: -1}); err == nil {
		t.Error("-1 jobs")
	}
	large := windows(t, axis("model.seed", numbers(334)...))
	large.Large = true
	if n, err := large.size(); n != 1002 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := Run(t.Context(), windows(t, nil), write(t, two), Options{}); err == nil {
		t.Error("into a file")
	}
}

// Only one call at a time can use a directory.
func TestTwoCallsAtOnce(t *testing.T) {
	p, dir := windows(t, nil), t.TempDir()
	var second error
	_, err := Run(t.Context(), p, dir, Options{Progress: func(s campaign.Status) {
		if s.Done == 1 {
			_, second = Run(t.Context(), p, dir, Options{})
		}
	}})
	if err != nil || second == nil || !strings.Contains(second.Error(), "another run is active there: wait for its end") {
		t.Errorf("%v; %v", err, second)
	}
}

// none is a threshold like others: in a list with numbers it means marking
// without an output threshold.
func TestThresholdNone(t *testing.T) {
	at := func(axes ...Axis) Cell {
		p := Plan{Scenario: "hpl2002/fig3b", Clock: "virtual", Metrics: []string{"root.B-BC.utilisation"}, Axes: append(axes, Axis{"model.duration", []string{"4ms"}})}
		cells, _ := sweep(t, p, t.TempDir(), Options{})
		return cells[0]
	}
	scheme := "defaults.switch.marking.scheme"
	a := at(Axis{scheme, []string{"input-output"}}, Axis{"defaults.switch.marking.threshold", []string{"none", "4"}})
	b := at(Axis{scheme, []string{"input"}})
	if d := cmp.Diff(b.Figures, a.Figures); d != "" {
		t.Error(d)
	}
}

func TestParseAxis(t *testing.T) {
	a, err := ParseAxis("links.A - B.rate = 1GB/s, 2GB/s")
	if d := cmp.Diff(Axis{"links.A - B.rate", []string{"1GB/s", "2GB/s"}}, a); err != nil || d != "" {
		t.Error(err, d)
	}
	if again, err := ParseAxis(a.String()); err != nil || !cmp.Equal(a, again) {
		t.Error(err, again)
	}
	for _, bad := range []string{"", "x", "x=", "=1", "x=1,,2", "x=1,1", "x=1,"} {
		if a, err := ParseAxis(bad); err == nil {
			t.Errorf("%q: %v", bad, a)
		}
	}
}

func TestPositions(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   map[string]float64
		label  string
		named  bool
	}{
		{[]string{"2packets", "10packets"}, map[string]float64{"2packets": 2, "10packets": 10}, "x (packets)", false},
		{[]string{"2 packets", "10packets"}, map[string]float64{"2 packets": 2, "10packets": 10}, "x (packets)", false},
		{[]string{"3", "0.5"}, map[string]float64{"3": 3, "0.5": 0.5}, "x", false},
		{[]string{"none", "4"}, map[string]float64{"none": 1, "4": 2}, "x", true},
		{[]string{"1KB", "1MB"}, map[string]float64{"1KB": 1, "1MB": 2}, "x", true},
		{[]string{"1", "1.0"}, map[string]float64{"1": 1, "1.0": 2}, "x", true},
	} {
		x, at := positions(Axis{"x", c.values})
		if d := cmp.Diff(c.want, at); d != "" || x.Label != c.label {
			t.Errorf("%v: %s, %s", c.values, x.Label, d)
		}
		if named := slices.Equal(x.Names, named(c.values)) && x.Low == 0.5; named != c.named || len(x.Ticks) != len(c.values) {
			t.Errorf("%v: %+v", c.values, x)
		}
	}
}

// A figure has words where a scenario has paths.
func TestWordsOfFigures(t *testing.T) {
	for path, want := range map[string]string{
		"defaults.switch.marking.min": "min of switch marking", "model.duration": "duration", "scheme": "scheme",
		"workload.web.load": "load of workload web", "links.trunk.rate": "rate of link trunk", "switches.S.memory": "memory of switch S",
		"defaults.flow.control.rate-timer": "rate timer of flow control", "defaults.link.buffer": "buffer of link"} {
		if got := onAxis(path); got != want {
			t.Errorf("%s is %q on an axis, want %q", path, got, want)
		}
	}
	for _, x := range [][3]string{{"defaults.flow.control.algorithm", "dcqcn", "dcqcn"}, {Scheme, "lipd, input", "lipd, input"}, {"defaults.link.buffer", "2packets", "buffer 2 packets"}, {"defaults.flow.control.rate-timer", "55us", "rate timer 55 µs"}, {"links.a.rate", "10Gb/s", "rate 10 Gb/s"}} {
		if got := inLegend(x[0], x[1]); got != x[2] {
			t.Errorf("%s=%s is %q in a legend, want %q", x[0], x[1], got, x[2])
		}
	}
	l := new(layout)
	l.draw(&scenario.Scenario{}, "load.slowdown.p99", "load.slowdown.p99")
	l.draw(&scenario.Scenario{}, "IB-3", "root.B-BC.utilisation")
	for i, want := range [][2]string{{"99th percentile of the slowdown of load", "99th percentile of the slowdown of load"}, {"IB-3", "utilisation of root.B-BC"}} {
		if d := l.drawings[i]; d.title != want[0] || d.label != want[1] {
			t.Errorf("the figure of %s is called %q, its axis %q; want %q", d.metric, d.title, d.label, want)
		}
	}
}

// Over seeds, the check that flows of a workload have ended is in the tables and has no figure.
func TestGuardsAreNotDrawn(t *testing.T) {
	s := &scenario.Scenario{Workloads: []scenario.Workload{{}}}
	s.Workloads[0].Name = "load"
	l := new(layout)
	for _, x := range []struct {
		seeds  int
		metric string
		want   bool
	}{{3, "load.transfers", true}, {0, "load.transfers", false}, {3, "f.transfers", false}, {3, "load.slowdown.p99", false}} {
		if l.Seeds = x.seeds; l.guards(s, x.metric) != x.want {
			t.Errorf("%d seeds, %s: %t", x.seeds, x.metric, !x.want)
		}
	}
}

// Every figure has its own file, whatever its name.
func TestNamesOfFigures(t *testing.T) {
	p := windows(t, nil)
	l := &layout{Plan: p}
	long := strings.Repeat("ü", 200)
	for _, m := range []string{"a / b", "a - b", "a-2", "/", long, "..", "a.rate"} {
		l.draw(&scenario.Scenario{}, m, m)
		l.draw(&scenario.Scenario{}, m, "again")
	}
	l.nameDrawings()
	var got []string
	for _, d := range l.drawings {
		got = append(got, d.file)
	}
	if d := cmp.Diff([]string{"a---b", "a---b-2", "a-2", "figure", strings.Repeat("ü", 50), "figure-2", "a.rate"}, got); d != "" {
		t.Error(d)
	}
}

// The first axis is horizontal, in numeric order; the curves distinguish
// the others. The results of void runs are not drawn.
func TestFigure(t *testing.T) {
	l := &layout{Plan: Plan{Scenario: "s", Clock: "wall", Axes: []Axis{{"a.buffer", []string{"4packets", "2packets"}}, {"x", []string{"1"}}, {"b.threshold", []string{"none", "6"}}}}}
	cell := func(level report.Level, v float64, values ...string) Cell {
		return Cell{Values: values, Level: level, Figures: []seeds.Figure{{Name: "m", Value: report.Number(v)}}}
	}
	f := l.figure(&drawing{metric: "m", title: "m", label: "m", unit: metrics.Unit{Scales: []metrics.Scale{{Base: 1e3, Word: "GB/s"}, {Base: 2, Word: "MB/s"}}}}, []Cell{
		cell(report.Exact, 10, "4packets", "1", "none"), cell(report.Void, 20, "4packets", "1", "6"),
		cell(report.Exact, 30, "2packets", "1", "none"), cell(report.Degraded, 40, "2packets", "1", "6"),
	})
	want := &plot.Figure{
		Title: "m", Subtitle: "s, a point for each run", Stamp: "verdicts: 2 exact, 1 degraded, 1 void; wall clock",
		X: plot.Axis{Label: "buffer of a (packets)", Ticks: []float64{2, 4}}, Y: plot.Axis{Label: "m (MB/s)"},
		Curves: []plot.Curve{
			{Name: "threshold none", X: []float64{2, 4}, Y: []float64{15, 5}, Points: true},
			{Name: "threshold 6", X: []float64{2, 4}, Y: []float64{20, math.NaN()}, Points: true},
		},
		Note: "1 void runs are not drawn",
	}
	equalNaN := cmp.Comparer(func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
	if d := cmp.Diff(want, f, equalNaN); d != "" {
		t.Error(d)
	}
}

func TestWriteTable(t *testing.T) {
	p := &Plan{Axes: []Axis{{Path: "a"}, {Path: "b"}}}
	var b bytes.Buffer
	err := WriteTable(&b, p, []Cell{
		{ID: "000001-c", Values: []string{"1", "x, y"}, Level: report.Virtual, Figures: []seeds.Figure{{Name: "IB-1", Value: 0.5, Outcome: report.Pass}}},
		{ID: "000002-d", Values: []string{"2", "z"}, Level: report.Void, Figures: []seeds.Figure{{Name: "IB-1", Value: report.Missing(), Outcome: report.Fail}, {Name: "IB-2", Value: 1e9, Outcome: report.Differs}}},
	})
	want := "cell,a,b,level,IB-1,IB-1 outcome,IB-2,IB-2 outcome\n" +
		"000001-c,1,\"x, y\",virtual,0.5,pass,,\n" +
		"000002-d,2,z,void,,fail,1e+09,differs\n"
	if d := cmp.Diff(want, b.String()); err != nil || d != "" {
		t.Error(err, d)
	}
}

// TestRepetitions: seeds are not an axis of a figure; the table has each run, and the means have a
// row for each window, with the interval of their values.
func TestRepetitions(t *testing.T) {
	dir := t.TempDir()
	p := windows(t, func(p *Plan) {
		p.Scenario = write(t, strings.NewReplacer("{name: f, from: a, to: b}", "{name: f, from: a, to: b, traffic: poisson, load: 0.5}").Replace(two))
		p.Axes[0].Values = []string{"1", "4"}
		p.Repeat(1, 3)
	})
	cells, _ := sweep(t, p, dir, Options{})
	if len(cells) != 6 || !slices.Equal(cells[1].Values, []string{"1", "2"}) {
		t.Fatalf("%d cells: %+v", len(cells), cells)
	}
	rows := func(name string) [][]string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := rows(TableFile); len(got) != 7 {
		t.Errorf("%d rows", len(got))
	}
	got := rows(MeansFile)
	if d := cmp.Diff([]string{"flows.f.window", "seeds", "f.rate", "f.rate interval", "f.rate paired difference", "f.rate paired interval", "f.rate effect"}, got[0]); d != "" || len(got) != 3 {
		t.Errorf("%d rows, %s", len(got), d)
	}
	for k, row := range got[1:] {
		e := report.EstimateOf([]float64{float64(cells[3*k].Figures[0].Value), float64(cells[3*k+1].Figures[0].Value), float64(cells[3*k+2].Figures[0].Value)})
		if want := []string{[]string{"1", "4"}[k], "3", e.Mean.Cell(figureDigits), e.Interval.Cell(figureDigits)}; !slices.Equal(row[:4], want) || e.Interval <= 0 {
			t.Errorf("%v, not %v", row, want)
		}
	}
	l, err := p.lay("")
	if err != nil {
		t.Fatal(err)
	}
	f := l.figure(&l.drawings[0], cells)
	if len(f.Curves) != 1 || len(f.Curves[0].X) != 2 || !(f.Curves[0].Spread[1] > 0) || !strings.Contains(f.Subtitle, "means of 3 seeds") {
		t.Errorf("%s: %+v", f.Subtitle, f.Curves)
	}
	cells[0].Level = report.Void
	if e := p.groups(cells)[0].Find("f.rate"); e.Values != 2 || e.Missing != 1 {
		t.Errorf("a void run counts: %+v", e)
	}
	p.Axes[1].Values, p.Seeds = []string{"1", "2", "3"}, 0 // seeds as an axis: the same cells, but another table
	if _, before := sweep(t, p, dir, Options{}); before != 6 {
		t.Errorf("%d of 6 cells are taken over", before)
	}
}

// TestFlowsBehindPoints: a percentile of too few flows has no point but a note, and how many flows
// a point is of is in both tables, in the figure, and in its points.
func TestFlowsBehindPoints(t *testing.T) {
	p := &Plan{Scenario: "s", Axes: []Axis{{"load", []string{"1", "2", "3"}}}}
	p.Repeat(1, 2)
	cell := func(load, seed string, v report.Number, flows int) Cell {
		f := seeds.Figure{Name: "w.slowdown.p99", Value: v, Flows: flows}
		if !v.Known() {
			f.Why = fmt.Sprintf("w.slowdown.p99 is of %d values, and needs 100", flows)
		}
		return Cell{Values: []string{load, seed}, Level: report.Virtual, Figures: []seeds.Figure{f}}
	}
	cells := []Cell{cell("3", "1", 9, 400), cell("3", "2", 11, 300), cell("1", "1", report.Missing(), 40), cell("1", "2", report.Missing(), 50),
		cell("2", "1", 5, 120), cell("2", "2", report.Missing(), 90)}
	l := &layout{Plan: *p}
	f := l.figure(&drawing{metric: "w.slowdown.p99", title: "t", label: "slowdown"}, cells)
	if c := f.Curves[0]; !slices.Equal(c.X, []float64{1, 2, 3}) || !slices.Equal(c.Values, []int{0, 120, 700}) || !math.IsNaN(c.Y[0]) || c.Y[1] != 5 || c.Y[2] != 10 {
		t.Errorf("%+v", c)
	}
	if want := "; 120 to 700 flows a point"; !strings.HasSuffix(f.Subtitle, want) {
		t.Errorf("%s, want %s", f.Subtitle, want)
	}
	if want := "1 without a point: w.slowdown.p99 is of 40 values, and needs 100"; f.Note != want {
		t.Errorf("%s, want %s", f.Note, want)
	}
	var table, means bytes.Buffer
	if err := errors.Join(WriteTable(&table, p, cells), WriteMeans(&means, p, cells)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		table.String(): "cell,load,model.seed,level,w.slowdown.p99,w.slowdown.p99 flows\n,3,1,virtual,9,400\n",
		means.String(): "load,seeds,w.slowdown.p99,w.slowdown.p99 interval,w.slowdown.p99 flows,",
	} {
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s\ndoes not begin with %s", text, want)
		}
	}
	if want := "\n2,2,5,,120,"; !strings.Contains(means.String(), want) {
		t.Errorf("%s\ndoes not have %s", means.String(), want)
	}
}

// TestMeansArePaired: the difference from the first combination is of pairs of runs with one seed,
// in any order and without void runs.
func TestMeansArePaired(t *testing.T) {
	p := &Plan{Axes: []Axis{{"a", []string{"x", "y", "z"}}, {"one", []string{"1"}}}}
	p.Repeat(1, 4)
	cell := func(level report.Level, a, seed string, v float64) Cell {
		return Cell{Values: []string{a, "1", seed}, Level: level, Figures: []seeds.Figure{{Name: "m", Value: report.Number(v)}}}
	}
	x := []Cell{cell(report.Virtual, "x", "1", 10), cell(report.Virtual, "x", "2", 20), cell(report.Virtual, "x", "3", 60), cell(report.Void, "x", "4", 1000)}
	y := []Cell{cell(report.Virtual, "y", "4", 70), cell(report.Virtual, "y", "3", 63), cell(report.Virtual, "y", "1", 11), cell(report.Virtual, "y", "2", 22)}
	z := []Cell{cell(report.Virtual, "z", "3", 61), cell(report.Void, "z", "1", 7)}
	rows := func(cells []Cell) string {
		var b bytes.Buffer
		if err := WriteMeans(&b, p, cells); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	own, d := report.EstimateOf([]float64{10, 20, 60}), report.EstimateOf([]float64{1, 2, 3})
	all := rows(slices.Concat(x, y, z))
	for _, want := range []string{
		"a,one,seeds,m,m interval,m paired difference,m paired interval,m effect\n",
		fmt.Sprintf("\nx,1,4,30,%s,,,\n", own.Interval.Cell(figureDigits)),
		fmt.Sprintf(",2,%s,none\n", d.Interval.Cell(figureDigits)),
		",61,,1,,unknown\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if missing := rows(y); !strings.HasSuffix(missing, ",,,\n") || strings.Count(missing, "\n") != 2 {
		t.Errorf("without the first combination:\n%s", missing)
	}
}

const web = `name: web
model: {duration: 6ms, seed: 1}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 400KB per port}
  flow: {packet: 1000B, transport: rocev2}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
workload:
  - {name: load, over: "h[1-4]", size: "0B:0 5KB:50 50KB:100", load: 0.6, warm-up: 500us, drain: 3ms}
`

// TestMetricsOfTransfersCountThoseOfTheReport: a metric of a workload is of the transfers that the
// report of a run and the table of slowdowns count, unless --during names others.
func TestMetricsOfTransfersCountThoseOfTheReport(t *testing.T) {
	file := write(t, web)
	p := Plan{Fabemu: "test", Scenario: file, Clock: "virtual", Metrics: []string{
		"load.transfers", "load.slowdown.p50", "load.slowdown.mean", "load.completion.p99", "load.transfers / load.transfers", "S-h1.utilisation"}}
	p.Repeat(1, 2)
	dir := t.TempDir()
	cells, _ := sweep(t, p, dir, Options{})
	pooled := 0
	for i, c := range cells {
		s, err := emu.Open(file, scenario.Set{Path: "model.seed", Value: fmt.Sprint(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if err != nil {
			t.Fatal(err)
		}
		w, early := &r.Workloads[0], 0
		for d := range r.Metrics.Counted(0) {
			if d.Ended < unit.Time(s.Model.Duration/5) {
				early++
			}
		}
		if early == 0 || w.FromPs == 0 {
			t.Fatalf("no transfer distinguishes the samples: %d early ones, from %v", early, w.FromPs)
		}
		busy, _ := metrics.Compile("S-h1.utilisation", r.Metrics.Fabric())
		want := []report.Number{report.Number(w.Transfers), w.Slowdown.P50, w.Slowdown.Mean, w.Completion.P99, 1,
			report.Number(busy.Over(r.Metrics, unit.Time(s.Model.Duration/5), unit.Time(s.Model.Duration)))}
		for k, f := range c.Figures {
			if f.Value != want[k] || f.Why != "" {
				t.Errorf("seed %d: %s is %v %s, and the report has %v", i+1, f.Name, f.Value, f.Why, want[k])
			}
		}
		pooled += w.Transfers
	}
	table, err := os.ReadFile(filepath.Join(dir, seeds.TableFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil || rows[1][slices.Index(rows[0], "flows")] != fmt.Sprint(pooled) {
		t.Errorf("%s has other flows than the %d of the reports: %v\n%s", seeds.TableFile, pooled, err, table)
	}
	p.FromPs, p.ToPs = 1e9, 2e9
	for _, c := range runOnly(t, p) {
		if n := c.Figures[0].Value; !(n > 0) || n >= cells[0].Figures[0].Value {
			t.Errorf("from 1 to 2 ms %v transfers end, of %v", n, cells[0].Figures[0].Value)
		}
	}
}

// runOnly runs a plan in a directory of its own.
func runOnly(t *testing.T, p Plan) []Cell {
	t.Helper()
	cells, _ := sweep(t, p, t.TempDir(), Options{})
	return cells
}

// TestChangedCells: a result that was changed after it was written is refused, by a call that would
// continue and by one that draws, and the table stays away.
func TestChangedCells(t *testing.T) {
	whole := t.TempDir()
	p := windows(t, nil)
	sweep(t, p, whole, Options{})
	name := cellsOf(t, p)[1]
	text, err := os.ReadFile(filepath.Join(whole, name))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(text []byte) (dir string) {
		dir = t.TempDir()
		for _, file := range cellsOf(t, p) {
			put(t, dir, file)
			b, err := os.ReadFile(filepath.Join(whole, file))
			if err == nil && file == name {
				b = text
			}
			if err := errors.Join(err, os.WriteFile(filepath.Join(dir, file), b, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	refused := func(what string, text []byte) {
		t.Helper()
		dir := changed(text)
		_, _, drawn := Draw(p, dir, plot.Style{})
		_, ran := Run(t.Context(), p, dir, Options{})
		for _, err := range []error{drawn, ran} {
			if err == nil || !strings.Contains(err.Error(), filepath.Base(name)) || errors.As(err, new(*emu.Mistake)) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, TableFile)); err == nil {
			t.Errorf("%s: there is a table", what)
		}
	}
	for _, c := range [][2]string{
		{`"values"`, `"valugs"`}, {`"value": 9`, `"value": 19`}, {`"2"`, `"3"`}, {`"virtual"`, `"virtuah"`}, {`"f.rate"`, `"f>rate"`},
		{`"figures"`, `"figurez"`}, {`"sum"`, `"som"`}, {`"id"`, `"ie"`}, {`"result"`, `"resalt"`},
	} {
		other := bytes.Replace(text, []byte(c[0]), []byte(c[1]), 1)
		if bytes.Equal(other, text) {
			t.Fatalf("%s is not in\n%s", c[0], text)
		}
		refused(c[1], other)
	}
	other, err := os.ReadFile(filepath.Join(whole, cellsOf(t, p)[0]))
	if err != nil {
		t.Fatal(err)
	}
	refused("another cell", other)
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		t.Fatal(err)
	}
	want, _ := os.ReadFile(filepath.Join(whole, TableFile))
	for i := 0; i < compact.Len(); i += 7 { // a file that is no JSON any more is missing; no other gives a table
		b := bytes.Clone(compact.Bytes())
		b[i] ^= 1
		dir := changed(b)
		_, missing, err := Draw(p, dir, plot.Style{})
		if got, _ := os.ReadFile(filepath.Join(dir, TableFile)); err == nil && len(missing) == 0 && !bytes.Equal(got, want) {
			t.Errorf("byte %d of\n%s\ngives another table\n%s", i, b, got)
		}
	}
}

// A run is done again when a file that it reads has changed.
func TestCellsOfChangedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.yaml")
	text := `name: list
model: {duration: 1ms}
defaults: {link: {rate: 1GB/s, buffer: 4 packets}}
switches: {S: {}}
endpoints: ["h[1-2]"]
links: ["h[1-2] - S"]
workload: [{name: w, over: "h[1-2]", transfers: w.csv}]
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	id := func(rows string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "w.csv"), []byte("at,from,to,bytes\n"+rows), 0o666); err != nil {
			t.Fatal(err)
		}
		p := Plan{Fabemu: "test", Scenario: path, Clock: "virtual", Metrics: []string{"w.rate"}, Axes: []Axis{{"defaults.link.rate", []string{"1GB/s"}}}}
		l, err := p.lay("")
		if err != nil {
			t.Fatal(err)
		}
		return l.plan.Cells[0].ID
	}
	first, other := id("0s,h1,h2,1000\n"), id("0s,h1,h2,2000\n")
	if again := id("0s,h1,h2,1000\n"); first != again || first == other {
		t.Errorf("IDs: %s, of a changed file %s, and of the first again %s", first, other, again)
	}
}
