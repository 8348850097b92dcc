package sweep_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/compare"
	"fabemu/emu/result/summary"
	"fabemu/emu/study/sweep"
)

const lossless = `name: lossless
model: {duration: 100us}
defaults:
  link: {rate: 40Gb/s, flow-control: pfc, propagation: 1us}
  switch: {kind: output-queued, memory: 400KB per port, marking: {scheme: ecn, min: 5KB, max: 200KB, max-p: 0.01}}
  flow: {packet: 1024B, transport: rocev2, control: {algorithm: fixed}}
switches: {S: {}, T: {high: 100KB, low: 90KB}}
endpoints: ["h[1-4]", r, q]
links: ["h[1-4] - S", r - S, S - T, T - q]
flows: [{name: x, from: "h[1-4]", to: r}, {name: y, from: h1, to: q}]
`

// TestWhatIsDerivedDiffers: if algorithms take different shares of the memory, a sweep says so
// before it runs, and so does the comparison of two runs. They say nothing about a value that is
// given.
func TestWhatIsDerivedDiffers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lossless.yaml")
	if err := os.WriteFile(file, []byte(lossless), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, fixed := range [][]string{nil, {"defaults.switch.high=150KB", "defaults.switch.low=140KB"}} {
		plan := sweep.Plan{Fabemu: "test", Scenario: file, Clock: string(emu.VirtualClock), Metrics: []string{"x.rate"},
			Axes: []sweep.Axis{{Path: "defaults.flow.control.algorithm", Values: []string{"fixed", "dcqcn"}}}}
		for _, set := range fixed {
			path, value, _ := strings.Cut(set, "=")
			plan.Axes = append(plan.Axes, sweep.Axis{Path: path, Values: []string{value}})
		}
		var told []string
		if _, err := sweep.Run(t.Context(), plan, t.TempDir(), sweep.Options{Warn: func(text string) { told = append(told, text) }}); err != nil {
			t.Fatal(err)
		}
		dirs := []string{t.TempDir(), t.TempDir()}
		for i, algorithm := range []string{"fixed", "dcqcn"} {
			s, err := emu.Open(file, runtest.Sets(t, append(slices.Clone(fixed), "defaults.flow.control.algorithm="+algorithm)...)...)
			if err != nil {
				t.Fatal(err)
			}
			r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(r.Derived); (n == 2) != (fixed == nil) || n > 2 {
				t.Errorf("derived %+v", r.Derived)
			}
			if err := r.Write(dirs[i], summary.Pictures); err != nil {
				t.Fatal(err)
			}
		}
		c, err := compare.Dirs(dirs[0], dirs[1])
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := compare.WriteText(&text, []*compare.Comparison{c}, false); err != nil {
			t.Fatal(err)
		}
		for what, said := range map[string]string{"the sweep": strings.Join(told, "\n"), "compare": text.String()} {
			for _, key := range []string{"switch.high of S is derived", "switch.low of S is derived"} {
				if strings.Contains(said, key) != (fixed == nil) {
					t.Errorf("with %v given %s says:\n%s", fixed, what, said)
				}
			}
			if strings.Contains(said, " of T is derived") {
				t.Errorf("%s says of a value that is given that it is derived:\n%s", what, said)
			}
		}
	}
}
