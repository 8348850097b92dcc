package generate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/emu/study/generate"
)

// load writes a scenario and reads it, with its metrics.
func load(t testing.TB, kind string, o generate.Options) *scenario.Scenario {
	t.Helper()
	text, err := generate.Write(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load(kind+".yaml", text, nil, scenario.CheckMetrics(func(expr string, s *scenario.Scenario) error {
		f, err := fabric.Build(s)
		if err != nil {
			return err
		}
		_, err = metrics.Compile(expr, f)
		return err
	}))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// TestModelKinds: each kind, in several sizes, is right, has no warnings and the size
// that was asked for, and its claims hold on the virtual clock.
func TestModelKinds(t *testing.T) {
	sizes := []int{0, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 30, 54, 100}
	if testing.Short() {
		sizes = []int{0, 2, 5, 17}
	}
	for _, k := range generate.Kinds() {
		for _, n := range sizes {
			if n != 0 && n < k.Least {
				continue
			}
			o := generate.Options{Endpoints: n}
			if n == 7 {
				o.Rate, o.Name = 10e9, "my/own"
			}
			t.Run(fmt.Sprintf("%s/%d", k.Name, n), func(t *testing.T) {
				t.Parallel()
				s := load(t, k.Name, o)
				if n == 0 {
					n = k.Endpoints
				}
				s.Warnings = slices.DeleteFunc(s.Warnings, func(w scenario.Warning) bool {
					return strings.HasPrefix(w.Message, "no flow uses") // a size that does not fill the tree, or leaves one over
				})
				if len(s.Endpoints) != n || len(s.Warnings) > 0 || len(s.Expect) == 0 || s.Description == "" {
					t.Errorf("%d endpoints, %d checks, warnings %v", len(s.Endpoints), len(s.Expect), s.Warnings)
				}
				if want := fmt.Sprintf("%s-%d", k.Name, n); o.Name == "" && s.Name != want || o.Name != "" && s.Name != o.Name {
					t.Errorf("named %s", s.Name)
				}
				result, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range result.Checks {
					if c.Outcome != report.Pass {
						t.Errorf("%s: %s is %v, from %v to %v is wanted", c.ID, c.Metric, c.Value, c.Low, c.High)
					}
				}
				if result.Verdict.Violations > 0 {
					t.Errorf("violations: %+v", result.Violations)
				}
			})
		}
	}
}

// TestModelLarge: 2000 endpoints are written and read, without warnings.
func TestModelLarge(t *testing.T) {
	for _, k := range generate.Kinds() {
		s := load(t, k.Name, generate.Options{Endpoints: 2000})
		if len(s.Endpoints) != 2000 || len(s.Warnings) > 0 {
			t.Errorf("%s: %d endpoints, warnings %v", k.Name, len(s.Endpoints), s.Warnings)
		}
	}
}

// TestLines: no line is so long that nobody reads it, and the first says how the
// file was made.
func TestLines(t *testing.T) {
	for _, k := range generate.Kinds() {
		text, err := generate.Write(k.Name, generate.Options{Endpoints: 200})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# Written by: fabemu generate "+k.Name+" --endpoints 200 --rate 1GB/s\n") {
			t.Errorf("%s begins with %.80q", k.Name, text)
		}
		for line := range strings.Lines(string(text)) {
			if len(line) > 190 {
				t.Errorf("%s: a line of %d characters: %s", k.Name, len(line), line)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		kind string
		o    generate.Options
		want string
	}{
		{"torus", generate.Options{}, `there is no kind "torus"; there are dumbbell, incast, parking-lot, leaf-spine, fat-tree, hpl2002`},
		{"incast", generate.Options{Endpoints: 1}, "incast has from 2 to 20000 endpoints, not 1"},
		{"hpl2002", generate.Options{Endpoints: 4}, "hpl2002 has from 5 to 20000 endpoints, not 4"},
		{"incast", generate.Options{Endpoints: 20_001}, "incast has from 2 to 20000 endpoints, not 20001"},
		{"incast", generate.Options{Rate: 1e9}, "a rate of 1Gb/s is too low"},
	} {
		if _, err := generate.Write(c.kind, c.o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %+v: %v", c.kind, c.o, err)
		}
	}
}
