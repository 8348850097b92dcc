package compare_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/compare"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/result/summary"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
)

// Three senders, of which one begins at random: a run depends on its seed.
const scenarioText = `name: three
model: {duration: 1ms, seed: 1}
wall: {dilation: 20}
defaults:
  link: {rate: 1GB/s, buffer: 4 packets}
  flow: {packet: 2048B, control: {algorithm: fixed}}
switches: {S: {}}
endpoints: ["a[1-3]", b]
links:
  - "a[1-3] - S"
  - {name: exit, between: S - b}
flows:
  - {name: f, from: "a[1-2]", to: b}
  - {name: late, from: a3, to: b, start: 100us, jitter: 100us}
measure: {window: 200us}
expect:
  - {id: busy, claim: the link is busy, metric: exit.S-b.utilisation, during: [200us, 1ms], low: 0.9, high: 1.01}
`

// run runs the scenario, writes its results with the event log, and returns the directory.
func run(ctx context.Context, t *testing.T, o emu.Options, sets ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "three.yaml")
	if err := os.WriteFile(path, []byte(scenarioText), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := emu.Open(path, runtest.Sets(t, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, report.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log := report.NewFile(f)
	events := bufio.NewWriter(log)
	o.Events, o.Verify = events, emu.VerifyOff
	r, err := emu.Run(ctx, s, o)
	if err == nil {
		err = events.Flush()
	}
	if err == nil {
		err = r.Record(log)
	}
	if err == nil {
		err = r.Write(dir, summary.Pictures)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var virtual = emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}

// dirs compares two directories.
func dirs(t *testing.T, a, b string) *compare.Comparison {
	t.Helper()
	c, err := compare.Dirs(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Checks) != 1 || len(c.Series) == 0 || len(c.Alone) > 0 {
		t.Fatalf("%+v", c)
	}
	return c
}

// At two dilations the same happens in model time; the scenarios differ in that line.
func TestTwoDilations(t *testing.T) {
	ctx := t.Context()
	c := dirs(t, run(ctx, t, emu.Options{Settings: emu.Settings{Link: emu.Pipe}}, "wall.dilation=5"), run(ctx, t, emu.Options{Settings: emu.Settings{Link: emu.Pipe}}, "wall.dilation=10"))
	if c.A.Dilation != 5 || c.B.Dilation != 10 || c.Same {
		t.Errorf("%+v", c)
	}
	if c.A.Level == report.Void || c.B.Level == report.Void {
		t.Fatalf("%v; %v", c.A.Reason, c.B.Reason)
	}
	if !c.Within(0) || c.Log.State != compare.LogsEqual {
		t.Errorf("they do not agree: %+v", c.Log)
	}
	if len(c.OnlyA) != 1 || len(c.OnlyB) != 1 || !strings.Contains(c.OnlyA[0], "dilation: 5") || !strings.Contains(c.OnlyB[0], "dilation: 10") {
		t.Errorf("%q, %q", c.OnlyA, c.OnlyB)
	}
}

// Virtual and wall.
func TestTwoClocks(t *testing.T) {
	ctx := t.Context()
	c := dirs(t, run(ctx, t, virtual), run(ctx, t, emu.Options{}))
	if c.B.Level == report.Void {
		t.Fatalf("%v", c.B.Reason)
	}
	if !c.Same || c.A.Clock != "virtual" || c.B.Clock != "wall" || !c.Within(0) || c.Log.State != compare.LogsEqual {
		t.Errorf("%+v", c)
	}
}

// With another seed a flow begins at another instant: there the logs part, and the
// series of that flow are apart.
func TestTwoSeeds(t *testing.T) {
	ctx := t.Context()
	c := dirs(t, run(ctx, t, virtual, "model.seed=1"), run(ctx, t, virtual, "model.seed=2"))
	if c.A.Seed != 1 || c.B.Seed != 2 || c.Same || c.Within(0) {
		t.Errorf("%+v", c)
	}
	if c.Log.State != compare.LogsPart || c.Log.Line < 2 || c.Log.EventA == c.Log.EventB || !json.Valid([]byte(c.Log.EventA)) {
		t.Errorf("%+v", c.Log)
	}
	var page strings.Builder
	if err := compare.WriteText(&page, []*compare.Comparison{c}, false); err != nil {
		t.Fatal(err)
	}
	at := func(text string) int { return strings.Index(page.String(), text) }
	if series, input, equal, log := at("\nseries"), at("\nmodel.seed"), at("\nequal: "), at("\nThe event logs"); series < 0 || series > input || input > equal || equal > log {
		t.Errorf("the results come first, then the inputs that differ, then how many are equal:\n%s", page.String())
	}
	if first := c.Series[0]; !(first.RMS > 0) || !(first.Share > 0) || first.Points == 0 || first.Worst == 0 {
		t.Errorf("%+v", first)
	}
}

// With actual timing limiters have what the clock says, which is never exactly what the model says:
// the first packet may start later already. How far the series are apart depends on the machine.
func TestIdealAgainstActual(t *testing.T) {
	ctx := t.Context()
	c := dirs(t, run(ctx, t, emu.Options{Settings: emu.Settings{Link: emu.Pipe}}), run(ctx, t, emu.Options{Settings: emu.Settings{Link: emu.Pipe, Timing: emu.ActualTiming}}))
	if !c.Same || c.A.Timing != "ideal" || c.B.Timing != "actual" || c.Log.State != compare.LogsPart || c.Within(0) {
		t.Errorf("%+v", c)
	}
	points := 0
	for _, s := range c.Series {
		points += s.Points
	}
	if points == 0 {
		t.Error("no point was compared")
	}
}

// What was ended early does not agree with what was not, whichever comes first.
func TestPartialAgainstWhole(t *testing.T) {
	ended, stop := context.WithCancel(t.Context())
	stop()
	whole, part := run(t.Context(), t, virtual), run(ended, t, virtual)
	for _, pair := range [][2]string{{whole, part}, {part, whole}} {
		c, err := compare.Dirs(pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if c.A.Partial == c.B.Partial || c.Within(0) || c.Within(1e9) {
			t.Errorf("%+v", c)
		}
	}
}

// Nor does a shorter run with a longer one, though the shorter covers all its own.
func TestShorterAgainstLonger(t *testing.T) {
	ctx := t.Context()
	short, long := run(ctx, t, virtual, "model.duration=1ms"), run(ctx, t, virtual, "model.duration=2ms")
	for _, pair := range [][2]string{{short, long}, {long, short}} {
		if c := dirs(t, pair[0], pair[1]); c.Within(1e9) {
			t.Errorf("%v and %v agree", c.A.Duration, c.B.Duration)
		}
	}
}

// Comparing repetitions reads their runs again: what they contribute is what they did when they
// ran, but for the digits of slowdowns in the table of flows.
func TestRunsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	if err := os.WriteFile(path, []byte(`name: web
model: {duration: 4ms}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 400KB per port}
  flow: {packet: 1000B, transport: rocev2}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
workload:
  - {name: load, over: "h[1-4]", size: "0B:0 5KB:50 50KB:100", load: 0.6, warm-up: 500us, drain: 1ms}
expect:
  - {id: busy, claim: the link is busy, metric: S-h1.utilisation, during: [1ms, 4ms], low: 0, high: 1}
`), 0o666); err != nil {
		t.Fatal(err)
	}
	var ran []seeds.Run
	r := &seeds.Repetitions{Runs: []string{"seed-1", "seed-2"}}
	for i, name := range r.Runs {
		s, err := emu.Open(path, scenario.Set{Path: "model.seed", Value: fmt.Sprint(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		x, err := emu.Run(t.Context(), s, virtual)
		if err == nil {
			err = x.Write(filepath.Join(dir, name), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		ran = append(ran, seeds.Of(x.Result, x.Metrics.View()))
	}
	r.Slowdowns = seeds.Pool(ran)
	read, err := r.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ran {
		if read[i].Seed != uint64(i+1) || read[i].Void || len(read[i].Figures) == 0 || !slices.Equal(read[i].Figures, ran[i].Figures) {
			t.Errorf("seed %d: %+v, not %+v", read[i].Seed, read[i].Figures, ran[i].Figures)
		}
	}
	again := seeds.Pool(read)
	if len(again) != 1 || again[0].Flows != r.Slowdowns[0].Flows || again[0].Flows < 100 {
		t.Fatalf("%+v, not %+v", again, r.Slowdowns)
	}
	pairs := seeds.Ratios(seeds.Paired(ran, read), "load")
	for name, x := range pairs {
		if name != "p99" && !(x.Low > 0.9999 && x.High < 1.0001) {
			t.Errorf("%s: the same flows have the ratio %v", name, x)
		}
	}
	if err := os.Remove(filepath.Join(dir, "seed-2", report.TransfersFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Load(dir); err == nil || !strings.Contains(err.Error(), "seed-2 is incomplete: it lacks transfers.csv") {
		t.Errorf("%v", err)
	}
}

// Results in a form that this version does not know are refused, with what they lack or
// have; those of another version in the same form are compared, and it is said.
func TestResultsOfAnotherVersion(t *testing.T) {
	ctx := t.Context()
	a := run(ctx, t, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Version: "v1.0.0"})
	b := run(ctx, t, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Version: "v2.0.0"})
	c := dirs(t, a, b)
	var text strings.Builder
	if err := compare.WriteText(&text, []*compare.Comparison{c}, false); err != nil {
		t.Fatal(err)
	}
	if c.A.Fabemu != "v1.0.0" || !strings.Contains(text.String(), "v2.0.0") || !c.Within(0) {
		t.Errorf("%+v\n%s", c, text.String())
	}
	path := filepath.Join(b, report.ResultFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(map[string]any){
		"it lacks checks, phases": func(m map[string]any) { delete(m, "checks"); delete(m, "phases") },
		`unknown field "colour"`:  func(m map[string]any) { m["colour"] = 1 },
	} {
		var m map[string]any
		if err := json.Unmarshal(whole, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		other, err := json.Marshal(m)
		if err == nil {
			err = os.WriteFile(path, other, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compare.Dirs(a, b); err == nil || !strings.Contains(err.Error(), "written by v2.0.0 in another form: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Two fabrics of 32 and 40 hosts, which differ in all that they have, make a page.
func TestFabricsOfManyHosts(t *testing.T) {
	t.Chdir(t.TempDir())
	for dir, n := range map[string]int{"a": 32, "b": 40} {
		text, err := generate.Write("leaf-spine", generate.Options{Endpoints: n})
		if err == nil {
			err = os.WriteFile(dir+".yaml", text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := emu.Open(dir + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := emu.Run(t.Context(), s, virtual)
		if err == nil {
			err = r.Write(dir, summary.Pictures)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := compare.Dirs("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[bool]int)
	for _, whole := range []bool{false, true} {
		var b strings.Builder
		if err := compare.WriteText(&b, []*compare.Comparison{c}, whole); err != nil {
			t.Fatal(err)
		}
		lines[whole] = strings.Count(b.String(), "\n")
		for _, want := range []string{"group.rate", "switches.leaf7", "name  "} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is missing in\n%s", want, b.String())
			}
		}
	}
	if lines[false] > 60 || lines[true] < 700 {
		t.Errorf("%d lines, and %d with all", lines[false], lines[true])
	}
}

// Fig. 3(d) of HPL-2002-224 with two ratios of the highest rate to the lowest, which
// the paper does not give: each check side by side.
func ExampleDirs() {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, rmax := range []string{"256", "512"} {
		s, err := emu.Open("hpl2002/fig3d", scenario.Set{Path: "defaults.flow.control.rmax-over-rmin", Value: rmax})
		if err != nil {
			log.Fatal(err)
		}
		r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if err != nil {
			log.Fatal(err)
		}
		if err := r.Write(filepath.Join(dir, rmax), nil); err != nil {
			log.Fatal(err)
		}
	}
	c, err := compare.Dirs(filepath.Join(dir, "256"), filepath.Join(dir, "512"))
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range c.Checks {
		fmt.Printf("%s: %.2f and %.2f, %s and %s\n", x.ID, x.A, x.B, x.OutcomeA, x.OutcomeB)
	}
	fmt.Println("they agree within 5 %:", c.Within(0.05))
	// Output:
	// IB-7a: 0.98 and 0.96, pass and fail
	// IB-7b: 0.96 and 0.96, pass and pass
	// IB-7c: 0.39 and 0.41, differs and differs
	// they agree within 5 %: false
}
