package emu_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/result/compare"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/study/sweep"
	"fabemu/emu/watch/live"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/openmetrics"
	"fabemu/wire/unit"
)

// stateOf returns all figures of all objects in the state of a run: those of the table, with their
// parts, and those of expressions over the run so far.
func stateOf(v *metrics.View) map[string]float64 {
	all := countsOf(v)
	maps.Copy(all, meansOf(v, v.End()))
	return all
}

// countsOf returns the figures that are of an instant, and not over a time that ends there.
func countsOf(v *metrics.View) map[string]float64 {
	all := map[string]float64{}
	for _, f := range metrics.AllFigures() {
		if f.Expression() && f.Kind != metrics.Counter && !f.Whole {
			continue
		}
		for x := range v.Objects(f.Of) {
			name := fmt.Sprint(f.Name, " of ", x)
			if f.By() == "" {
				all[name] = f.Read(x)
			}
			f.Each(x, func(part string, value float64) { all[name+" by "+part] = value })
		}
	}
	return all
}

// meansOf returns all figures of expressions from the start of a run to an instant.
func meansOf(v *metrics.View, to unit.Time) map[string]float64 {
	all := map[string]float64{}
	for r := range v.Rows(metrics.Interval{To: to}) {
		all[r.Object+"."+r.Name()] = r.Value
	}
	return all
}

// jsonOf returns a result as result.json has it.
func jsonOf(t *testing.T, r *report.Result) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What observers last saw of a run is what its result is made of: each figure, by each name.
func TestTheLastStateIsThatOfTheResult(t *testing.T) {
	for _, name := range []string{"hpl2002/fig3b", "ethernet/pfc-hol", "ethernet/pause-storm", "cbfc/retry", "llr/replay", "tcp/ecn", "roce/go-back-n", "workload/hadoop", "workload/all-reduce",
		"ethernet/incast-drops", "ethernet/ring-deadlock", "links/loss", "pfc/watchdog"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "roce/go-back-n" || name == "workload/hadoop") {
				t.Skip("long: not with -short")
			}
			s := runtest.Load(t, runtest.Text(t, name))
			if end := unit.Duration(44 * unit.Millisecond); s.Model.Duration > end {
				s.Model.Duration, s.Expect = end, nil
			}
			var last map[string]float64
			var made *report.Result
			seen := make(chan struct{})
			watch := observe.Func(func(s *observe.Snapshot) {
				if s.Last {
					defer close(seen)
					last, made = stateOf(s.Figures), report.New(s.Figures)
				}
			})
			r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{{Observer: watch}}})
			if err != nil {
				t.Fatal(err)
			}
			<-seen
			if got, want := jsonOf(t, made), jsonOf(t, report.New(r.Metrics.View())); got != want {
				t.Errorf("the result that observers would make differs (-want +got):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
			}
			want, known := stateOf(r.Metrics.View()), 0
			for name, value := range want {
				got, ok := last[name]
				if !ok || got != value && !(math.IsNaN(got) && math.IsNaN(value)) {
					t.Errorf("%s is %v in the result, and was %v to observers", name, value, got)
				}
				if value > 0 {
					known++
				}
			}
			if len(last) != len(want) || known < 50 {
				t.Errorf("observers saw %d figures of %d, of which %d are not 0", len(last), len(want), known)
			}
		})
	}
}

// stopAt is a context of a run that ends as soon as its observer has seen it, some windows after
// its start: the loop asks for the error behind each visit, so nothing happens in between.
type stopAt struct {
	context.Context
	windows int // so many times the loop asks before the observer does
	ask     chan struct{}
	seen    chan struct{}
	over    bool
}

func (c *stopAt) Err() error {
	switch c.windows--; {
	case c.over:
	case c.windows == 0:
		c.ask <- struct{}{}
		time.Sleep(time.Millisecond) // then the loop knows, and the next call is probably behind a visit
	case c.windows < 0:
		select {
		case <-c.seen:
			c.over = true
		case <-time.After(time.Second): // there was no visit yet
		}
	}
	if c.over {
		return context.Canceled
	}
	return nil
}

// A run that runs is, at an instant, what it is if it ends there: observers see each figure by each
// name as its result has it, and so a run of several domains does that lasts only until then. What
// is over a time is compared over the time that is complete for observers (View.End).
func TestAStateInTheMiddleIsThatOfARunThatEnds(t *testing.T) {
	for name, of := range map[string]struct{ windows, domains int }{
		"hpl2002/fig3b": {60, 0}, "ethernet/pfc-hol": {70, 0}, "ethernet/incast": {60, 2}, "pfc/watchdog": {100, 0}, "cbfc/retry": {80, 0}, "llr/mixed": {60, 0}, "tcp/ecn": {40, 2},
		"roce/go-back-n": {80, 0}, "workload/web-search": {200, 3}, "workload/all-reduce": {70, 0}, "links/loss": {100, 0}, "qcn/basic": {60, 0}, "ethernet/leaf-spine": {60, 4}} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "workload/web-search" || name == "ethernet/leaf-spine") {
				t.Skip("long: not with -short")
			}
			t.Parallel()
			s := runtest.Load(t, runtest.Text(t, name))
			var state, means map[string]float64
			var made *report.Result
			var now, end unit.Time
			ctx := &stopAt{Context: context.Background(), windows: of.windows, ask: make(chan struct{}, 1), seen: make(chan struct{}, 1)}
			watch := observe.Func(func(s *observe.Snapshot) {
				if made == nil {
					now, end = s.Now, s.Figures.End()
					state, means, made = countsOf(s.Figures), meansOf(s.Figures, end), report.New(s.Figures)
					ctx.seen <- struct{}{}
				}
			})
			r, err := emu.Run(ctx, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{{Observer: watch, Ask: ctx.ask}}})
			if err != nil {
				t.Fatal(err)
			}
			if unit.Time(r.DurationPs) != now || end == 0 || !r.Partial {
				t.Fatalf("it was seen at %v, with figures up to %v, and ended at %v", now, end, unit.Time(r.DurationPs))
			}
			t.Logf("at %v of %v, complete up to %v", now, s.Model.Duration, end)
			sameState(t, r, state, means, end, made)
			if of.domains > 0 {
				short := runtest.Load(t, runtest.Text(t, name))
				short.Model.Duration, short.Expect = unit.Duration(now), nil
				if r, err = emu.Run(context.Background(), short, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Domains: of.domains}); err != nil {
					t.Fatal(err)
				}
				made.Partial, made.Checks, made.Silences, made.PatiencePs = false, []report.Check{}, r.Silences, r.PatiencePs // they depend on how long a run was to be
				sameState(t, r, state, means, end, made)
			}
		})
	}
}

// sameState compares what observers saw in the middle of a run, with figures over the time up to
// end, with the result of a run that has ended there.
func sameState(t *testing.T, r *emu.Result, state, means map[string]float64, end unit.Time, made *report.Result) {
	t.Helper()
	compare := func(got, want map[string]float64) {
		t.Helper()
		known := 0
		for name, value := range want {
			x, ok := got[name]
			if !ok || x != value && !(math.IsNaN(x) && math.IsNaN(value)) {
				t.Errorf("%s was %v to observers, and is %v in the result", name, x, value)
			}
			if value > 0 {
				known++
			}
		}
		if len(got) != len(want) || known < 30 {
			t.Errorf("observers saw %d figures of %d, of which %d are not 0", len(got), len(want), known)
		}
	}
	v := r.Metrics.View()
	compare(state, countsOf(v))
	compare(means, meansOf(v, end))
	want := report.New(v)
	want.Phases = made.Phases
	for i := range want.Links {
		want.Links[i].Utilisation = made.Links[i].Utilisation
	}
	if got, want := jsonOf(t, made), jsonOf(t, want); got != want {
		t.Errorf("the result that observers would make differs (-want +got):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}

// A row that a program adds to a run appears everywhere: as an expression, in checks and in what
// status says of them, in sweeps and the reference, in result.json, on the live page and in
// Prometheus under both names. Package subnet has a test of fields of MADs.
func TestAFigureIsARow(t *testing.T) {
	lost := *metrics.Find(metrics.Link, "drops")
	lost.Name, lost.JSON, lost.Live = "lost", "lost", "lost"
	lost.Meaning = "frames that were lost"
	lost.Prometheus = []metrics.Exposed{{Name: "fabemu_port_lost", Far: true}, {Name: "node_network_lost", Help: "Network device statistic lost.", Far: true}}
	s := runtest.Load(t, runtest.Text(t, "ethernet/incast-drops"))
	var own, node, moment bytes.Buffer
	seen := make(chan struct{})
	watch := observe.Func(func(x *observe.Snapshot) {
		if !x.Last {
			return
		}
		defer close(seen)
		openmetrics.Own.Write(&own, x)
		openmetrics.NodeExporter.Write(&node, x)
		live.NewObserver(live.NewScene(s, x.Fabric), func(m *live.Moment) { json.NewEncoder(&moment).Encode(m.Figures["lost"]) }).Observe(x)
	})
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Figures: []*metrics.Figure{&lost}, Observe: []observe.Request{{Observer: watch}}})
	if err != nil {
		t.Fatal(err)
	}
	<-seen
	drops, most := int64(0), &r.Links[0]
	for _, d := range r.Drops {
		drops += d.Count
	}
	sum := 0.
	for i := range r.Links {
		l := &r.Links[i]
		if sum += float64(l.Figures["lost"]); l.Figures["lost"] > most.Figures["lost"] {
			most = l
		}
	}
	if drops == 0 || sum != float64(drops) {
		t.Errorf("result.json has %v lost frames of all links, and the run has dropped %d", sum, drops)
	}
	n := float64(most.Figures["lost"])
	expression := most.Name + ".lost"
	m, err := r.Metrics.Compile(expression)
	if got := m.Over(r.Metrics, 0, r.Metrics.End()); err != nil || got != n {
		t.Errorf("%s is %v (%v), want %v", expression, got, err, n)
	}
	if !strings.Contains(metrics.Reference(&lost), "\n| `lost` | links | frames that were lost | frames |\n") || strings.Contains(metrics.Reference(), "`lost`") {
		t.Error("the reference does not have it with the row alone")
	}
	text := strings.TrimSpace(runtest.Text(t, "ethernet/incast-drops")) + fmt.Sprintf("\nexpect:\n  - {id: lost, claim: frames are lost, metric: %s, during: [0s, %dps], low: 1, high: 1e9}\n", expression, r.DurationPs)
	if _, err := resolve.Load("x.yaml", []byte(text), nil, resolve.CheckMetrics(metrics.Checker())); err == nil {
		t.Error("a check of it is not refused without the row")
	}
	checked, err := resolve.Load("x.yaml", []byte(text), nil, resolve.CheckMetrics(metrics.Checker(&lost)))
	if err != nil {
		t.Fatal(err)
	}
	var states []live.CheckStatus
	seen = make(chan struct{})
	watch = observe.Func(func(x *observe.Snapshot) {
		if x.Last {
			defer close(seen)
			live.NewObserver(live.NewScene(checked, x.Fabric), func(m *live.Moment) { states = m.State.Checks }).Observe(x)
		}
	})
	c, err := emu.Run(context.Background(), checked, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Figures: []*metrics.Figure{&lost}, Observe: []observe.Request{{Observer: watch}}})
	if err != nil {
		t.Fatal(err)
	}
	<-seen
	if got := c.Checks[len(c.Checks)-1]; float64(got.Value) != n || got.Outcome != report.Pass {
		t.Errorf("a check of it has %v, %s; want %v", got.Value, got.Outcome, n)
	}
	if got := states[len(states)-1]; float64(got.Value) != n || got.State != report.Pass {
		t.Errorf("of the check status says %+v, want %v", got, n)
	}
	cells, err := sweep.Run(t.Context(), sweep.Plan{Scenario: "ethernet/incast-drops", Clock: string(emu.VirtualClock), Metrics: []string{expression}, Figures: []*metrics.Figure{&lost}, ToPs: r.DurationPs,
		Axes: []sweep.Axis{{Path: "model.seed", Values: []string{fmt.Sprint(r.Seed)}}}}, t.TempDir(), sweep.Options{})
	if err != nil || len(cells) != 1 || float64(cells[0].Figures[0].Value) != n {
		t.Errorf("a sweep has %+v (%v), want %v", cells, err, n)
	}
	for _, want := range []string{"# TYPE fabemu_port_lost counter\n", "# HELP fabemu_port_lost Frames that were lost.\n"} {
		if !strings.Contains(own.String(), want) {
			t.Errorf("Prometheus has no %q", want)
		}
	}
	for name, text := range map[string]string{"fabemu_port_lost_total{": own.String(), "node_network_lost_total{": node.String()} {
		total := 0.
		for l := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(l, name); ok {
				v, _ := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
				total += v
			}
		}
		if total != sum {
			t.Errorf("%s} of all ports is %v, want %v", name, total, sum)
		}
	}
	var column []live.Figure
	if err := json.Unmarshal(moment.Bytes(), &column); err != nil || !slices.Contains(column, live.Figure(n)) {
		t.Errorf("the live page has %v, want %v among them (%v)", column, n, err)
	}
}

// Each curve is of a row of the table, which has its kind; those of groups are figures of flows.
func TestCurvesAreOfRows(t *testing.T) {
	rows := map[string]bool{}
	for _, f := range metrics.AllFigures() {
		rows[f.Series.Kind], rows[f.Series.Groups] = f.Series.Kind != "", f.Series.Groups != ""
	}
	for _, name := range []string{"ethernet/pfc-hol", "tcp/ecn", "dcqcn/incast-pfc"} {
		sc := runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, "model.duration=3ms")...)
		r, err := emu.Run(context.Background(), sc, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Metrics.Outline() {
			kind := s.Kind
			for _, stalled := range []string{metrics.LinkStalled, metrics.FlowStalled} {
				if strings.HasPrefix(kind, stalled) { // and the cause
					kind = stalled
				}
			}
			if !rows[kind] {
				t.Errorf("%s: no row has curves of kind %s", name, s.Kind)
			}
		}
	}
}

// So does a row of another object: of workloads also in the curves, in tables of the report, and in
// Python.
func TestAFigureOfAWorkloadIsARow(t *testing.T) {
	row := *metrics.Find(metrics.Workload, "open")
	row.Name, row.JSON, row.Live, row.Meaning = "unfinished", "unfinished", "unfinished", "flows that have not ended"
	row.Columns, row.Series = []metrics.Column{{Head: "unfinished"}}, metrics.Curve{Groups: "group.unfinished"}
	row.Prometheus = []metrics.Exposed{{Name: "fabemu_workload_unfinished"}}
	s := runtest.Load(t, runtest.Text(t, "workload/hadoop"), runtest.Sets(t, "model.duration=500us")...)
	s.Expect = nil
	var own bytes.Buffer
	var moment live.WorkMoment
	seen := make(chan struct{})
	watch := observe.Func(func(x *observe.Snapshot) {
		if x.Last {
			defer close(seen)
			openmetrics.Own.Write(&own, x)
			live.NewObserver(live.NewScene(s, x.Fabric), func(m *live.Moment) { moment = m.Works[0] }).Observe(x)
		}
	})
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Figures: []*metrics.Figure{&row}, Observe: []observe.Request{{Observer: watch}}})
	if err != nil {
		t.Fatal(err)
	}
	<-seen
	w := &r.Workloads[0]
	n := w.Figures["unfinished"]
	if n < 1 || int(n) != w.Open {
		t.Errorf("result.json has %v unfinished flows, and %d that are open", n, w.Open)
	}
	m, err := r.Metrics.Compile(w.Name + ".unfinished")
	if got := m.Over(r.Metrics, 0, r.Metrics.End()); err != nil || got != float64(n) {
		t.Errorf("as an expression it is %v (%v), want %v", got, err, n)
	}
	if got := moment.Figures["unfinished"]; got != live.Figure(n) {
		t.Errorf("the live page has %v, want %v", got, n)
	}
	for _, want := range []string{"# TYPE fabemu_workload_unfinished gauge\n", "# HELP fabemu_workload_unfinished Flows that have not ended.\n",
		fmt.Sprintf("fabemu_workload_unfinished{workload=%q} %v\n", w.Name, float64(n))} {
		if !strings.Contains(own.String(), want) {
			t.Errorf("Prometheus has no %q", want)
		}
	}
	all := r.Metrics.Series()
	if k := slices.IndexFunc(all, func(x metrics.Series) bool { return x.Kind == "group.unfinished" }); k < 0 || all[k].Name != w.Name ||
		all[k].Values[len(all[k].Values)-1] != float64(n) {
		t.Errorf("the last point of its curve is not %v", n)
	}
	var text bytes.Buffer
	if err := summary.WriteText(&text, r.Result, terminal.Look{}); err != nil || !regexp.MustCompile(fmt.Sprintf(`(?s)p99\.9 [^\n]*unfinished *\n *%s .* %v *\n`, w.Name, n)).Match(text.Bytes()) {
		t.Errorf("the report has no column with %v (%v):\n%s", n, err, text.String())
	}
	var page bytes.Buffer
	if err := summary.WriteHTML(&page, &report.Dir{Result: r.Result}); err != nil || !strings.Contains(page.String(), ">unfinished<") {
		t.Errorf("the page has no column for it (%v)", err)
	}
	dir := t.TempDir()
	resolved, err := resolve.Text(s)
	if err := errors.Join(err, report.WriteDir(dir, r.Result, r.Metrics, resolved, nil)); err != nil {
		t.Fatal(err)
	}
	both, err := compare.Dirs(dir, dir)
	if err != nil || !slices.ContainsFunc(both.Workloads, func(f compare.Figure) bool { return f.Name == w.Name+".unfinished" && f.A == n && f.B == n }) {
		t.Errorf("compare does not have it (%v)", err)
	}
	t.Run("python", func(t *testing.T) {
		runtest.NeedTools(t, "python3")
		c := exec.CommandContext(t.Context(), "python3", "-c", `import json, sys
from fabemu.figures import Workload, read
from fabemu.result import _tidy
works = json.load(sys.stdin)["workloads"]
print(read(Workload, works[0]).figures["unfinished"], _tidy(works)[0]["figures.unfinished"])`)
		var data bytes.Buffer
		if err := report.WriteJSON(&data, r.Result); err != nil {
			t.Fatal(err)
		}
		c.Stdin, c.Env = &data, append(os.Environ(), "PYTHONPATH=../python", "PYTHONDONTWRITEBYTECODE=1")
		if out, err := c.CombinedOutput(); err != nil || string(out) != fmt.Sprintf("%v %v\n", n, n) {
			t.Errorf("Python has %s (%v), want %v", out, err, n)
		}
	})
}
