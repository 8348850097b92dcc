package sweep

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"

	"github.com/google/go-cmp/cmp"
)

// saved writes the file of a variant.
func saved(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestVariants: a file is a scheme with its values, under the name of the file, next to the scheme
// itself; a field that is set overrides both.
func TestVariants(t *testing.T) {
	v := Variant{Scheme: "dcqcn connectx", Sets: []scenario.Set{{Path: "defaults.flow.control.rate-timer", Value: "77us"}, {Path: "defaults.switch.marking.min", Value: "5KB"}}}
	var b bytes.Buffer
	if err := WriteVariant(&b, &v, "why", "and more"); err != nil {
		t.Fatal(err)
	}
	axis, variants, err := LoadSchemes([]string{"dcqcn connectx," + saved(t, "best.yaml", b.String()), "hpcc"})
	v.Name = "best"
	if err != nil || !cmp.Equal(variants, []Variant{v}) || !cmp.Equal(axis.Values, []string{"dcqcn connectx", "best", "hpcc"}) {
		t.Fatalf("%v, %+v, %q", err, variants, axis.Values)
	}
	p := Plan{Scenario: generated(t, "none"), Axes: []Axis{axis, {"defaults.switch.marking.max", []string{"300KB"}}}, Variants: variants, Metrics: []string{"load.rate"}}
	l := laid(t, p)
	for i, want := range [][]string{{"rate-timer: 300us", "max: 300KB"}, {"rate-timer: 77us", "min: 5KB", "max: 300KB", "preset: connectx"}} {
		text, err := resolve.Text(l.cells[l.plan.Cells[i].ID].scenario)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("run %d does not have %s:\n%s", i, w, text)
			}
		}
	}
	if texts := l.unfair(); texts != nil {
		t.Errorf("%q", texts)
	}
}

func TestWrongVariants(t *testing.T) {
	for want, text := range map[string]string{
		"x.yaml:1: it is not a mapping":                    "- a\n",
		"x.yaml:1: there is no scheme":                     "set: {a: b}\n",
		`x.yaml:2: "sets" is not expected there`:           "scheme: dcqcn\nsets: {}\n",
		"x.yaml:3: a.b is not a value":                     "scheme: dcqcn\nset:\n  a.b: {c: d}\n",
		"x.yaml: ":                                         "scheme: [\n",
		"there is another scheme x: give the file another": "scheme: dcqcn\n",
	} {
		if _, _, err := LoadSchemes([]string{"x,hpcc", saved(t, "x.yaml", text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, _, err := LoadSchemes([]string{"nowhere/x.yaml"}); err == nil || !strings.Contains(err.Error(), "--scheme nowhere/x.yaml: ") {
		t.Error(err)
	}
}
