package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario/generate"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// generated writes the file that fabemu generate writes for a scheme.
func generated(t *testing.T, scheme string) string {
	t.Helper()
	text, err := generate.Write("fat-tree", generate.Options{Name: "ft", Endpoints: 8, Rates: []unit.Rate{100e9},
		Delays: []unit.Duration{unit.Microsecond}, FlowControl: "pfc", Scheme: scheme, Traffic: "64KB", Load: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ft.yaml")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSchemes: whatever scheme a scenario has, replacing it gives the scenario that is generated
// for the new scheme.
func TestSchemes(t *testing.T) {
	schemes := []string{"dcqcn", "hpcc", "swift", "timely", "dctcp", "none", "timely patched"}
	for _, base := range []string{"dcqcn connectx", "dctcp", "none"} {
		p := Plan{Scenario: generated(t, base), Axes: []Axis{{Path: Scheme, Values: schemes}}, Metrics: []string{"load.rate"}}
		l, err := p.lay("")
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range l.plan.Cells {
			want, err := emu.Open(generated(t, schemes[i]))
			if err != nil {
				t.Fatal(err)
			}
			a, err := want.Resolved()
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.cells[x.ID].scenario.Resolved()
			if d := cmp.Diff(string(a), string(b)); err != nil || d != "" {
				t.Errorf("%s in the place of %s: %v, %s", schemes[i], base, err, d)
			}
		}
		if texts := l.unfair(); texts != nil {
			t.Errorf("%s: %q", base, texts)
		}
		if f := l.figure(&l.drawings[0], nil); len(f.X.Names) != len(schemes) {
			t.Errorf("%+v", f.X)
		}
	}
}

// TestUnfairSweeps: a comparison of schemes warns of what it does not change, and a field that is
// set overrides its scheme.
func TestUnfairSweeps(t *testing.T) {
	text, err := os.ReadFile(generated(t, "dcqcn"))
	if err != nil {
		t.Fatal(err)
	}
	own := write(t, strings.Replace(string(text), "workload:\n", "flows:\n  - {name: other, from: h1, to: h2, control: {algorithm: fixed}}\nworkload:\n", 1))
	for _, c := range []struct {
		axes []Axis
		want string
	}{
		{[]Axis{{"defaults.flow.control.algorithm", []string{"dcqcn", "fixed"}}}, "defaults.flow.control.algorithm varies only the algorithm"},
		{[]Axis{{"defaults.flow.control.algorithm", []string{"dcqcn"}}, {"model.seed", []string{"1", "2"}}}, ""},
		{[]Axis{{Scheme, []string{"hpcc", "dcqcn"}}}, "--scheme does not change flow other, which has its own settings: fixed"},
	} {
		p := Plan{Scenario: own, Axes: c.axes, Metrics: []string{"load.rate"}}
		l, err := p.lay("")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(l.unfair(), "; "); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v: %q, want %q", c.axes, got, c.want)
		}
	}
	p := Plan{Scenario: own, Axes: []Axis{{"defaults.switch.marking.max", []string{"300KB"}}, {Scheme, []string{"dcqcn"}}}, Metrics: []string{"load.rate"}}
	l, err := p.lay("")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := l.cells[l.plan.Cells[0].ID].scenario.Resolved(); err != nil || !strings.Contains(string(b), "max: 300KB") {
		t.Errorf("%v: %s", err, b)
	}
	if got := ParseSchemes([]string{"lipd, input,fimd", "none"}); !cmp.Equal(got.Values, []string{"lipd, input", "fimd", "none"}) {
		t.Errorf("%q", got.Values)
	}
	for _, c := range []struct {
		schemes []string
		want    string
	}{
		{[]string{"dcqn"}, `there is no scheme "dcqn" (did you mean "dcqcn"?)`},
		{[]string{"hpcc", "hpcc"}, "scheme has the value hpcc twice"},
		{[]string{"lipd, input"}, "the scheme lipd, input is not compatible with flow control pfc"},
	} {
		p := Plan{Scenario: own, Axes: []Axis{{Scheme, c.schemes}}, Metrics: []string{"load.rate"}}
		if _, err := p.lay(""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.schemes, err)
		}
	}
}
