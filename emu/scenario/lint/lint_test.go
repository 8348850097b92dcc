package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
)

// load reads a scenario with its warnings.
func load(t *testing.T, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	return runtest.Load(t, text, runtest.Sets(t, sets...)...)
}

// TestWarnings compares what is said about each file that is right but odd with
// the golden next to it.
func TestWarnings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.warn.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := resolve.Load(filepath.Base(file), src, nil, resolve.Lint(lint.Check))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, w := range s.Warnings {
			b.WriteString(w.String() + "\n" + w.Excerpt + "\n")
		}
		golden.File(t, strings.TrimSuffix(file, ".yaml")+".golden", b.String())
	}
}

// TestWarningsOfSets: what a --set takes the effect from is not warned of; what a
// --set gives in vain is, also when it is the default.
func TestWarningsOfSets(t *testing.T) {
	const src = `name: small
source: nowhere
model: {duration: 10ms}
defaults:
  link: {rate: 1GB/s}
switches: {S: {}, T: {marking: {scheme: input-output, threshold: 6}}}
endpoints: ["A[1-3]", B]
links:
  - "A[1-3] - S"
  - {name: trunk, between: S - T}
  - B - T
flows:
  - {name: in, from: "A[1-3]", to: B, start: 1ms + 100us, stop: 5ms}
  - {name: out, from: B, to: A2}
expect:
  - {id: C1, metric: in.rate, during: [1ms, 2ms], low: 0, high: 1}
`
	for _, c := range []struct {
		set, want string
	}{
		{"model.seed=2", ""},
		{"switches.T.marking.scheme=none", ""},
		{"switches.S.marking.threshold=4", "--set switches.S.marking.threshold=4: threshold has no effect: it is used only with scheme: input-output or cca"},
		{"flows.out.control.factor=3", "--set flows.out.control.factor=3: factor has no effect: it is used only with algorithm: fimd or aimd"},
		{"links.trunk.propagation=5us", "--set links.trunk.propagation=5us: link trunk cannot run at its full rate, only at 68.3 % of 1GB/s"},
	} {
		s := load(t, src, c.set)
		switch {
		case c.want == "" && len(s.Warnings) > 0, c.want != "" && (len(s.Warnings) != 1 || !strings.HasPrefix(s.Warnings[0].String(), c.want)):
			t.Errorf("%s: %v", c.set, s.Warnings)
		}
	}
}
