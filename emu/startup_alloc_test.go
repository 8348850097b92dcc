//go:build timing

package emu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"fabemu/emu/result/summary"
	"fabemu/emu/scenario/generate"
)

// allocations returns how often something allocates, once what is made once is there. It is
// a measure of work that is the same on every machine.
func allocations(do func()) float64 { return testing.AllocsPerRun(1, do) }

// parsed returns how often the YAML parser allocates for a text.
func parsed(t *testing.T, text string) float64 {
	return allocations(func() {
		if err := yaml.Load([]byte(text), &yaml.Node{}); err != nil {
			t.Fatal(err)
		}
	})
}

// routed returns a scenario of 500 endpoints at a switch, with some of the routes that it would
// have anyway.
func routed(routes int) string {
	var text strings.Builder
	text.WriteString(`name: many
model: {duration: 5us}
defaults: {link: {rate: 1GB/s, flow-control: none}, switch: {kind: output-queued, memory: 300KB per port}}
switches: {S: {}}
endpoints: ["h[1-500]"]
links: ["h[1-500] - S"]
short: {duration: 4us}
flows: [{name: f, from: h1, to: h2}]
routes:
`)
	for i := range routes {
		fmt.Fprintf(&text, "  - {at: S, to: h%d, over: \"h%d - S\"}\n", i+1, i+1)
	}
	return text.String()
}

// A scenario is parsed once, and cheaply. With 500 lines more, to open it, and check its short run,
// allocates less than twice as much more as to parse it: with a second time it would be more than
// that. To lay it out, run it and write its results allocates less than half as much more. A line
// takes less than 60 allocations and 5000 bytes.
func TestAllocsAScenarioIsParsedOnce(t *testing.T) {
	var parse, open, run, bytes [2]float64
	for i, text := range []string{routed(0), routed(500)} {
		file := filepath.Join(t.TempDir(), "many.yaml")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		parse[i] = parsed(t, text)
		s, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		open[i] = allocations(func() { Open(file) })
		runtime.ReadMemStats(&after)
		bytes[i] = float64(after.TotalAlloc-before.TotalAlloc) / 2 // once to warm up
		run[i] = allocations(func() {
			r, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Write(t.TempDir(), summary.Pictures); err != nil {
				t.Fatal(err)
			}
		})
	}
	parsed, opened, ran := parse[1]-parse[0], open[1]-open[0], run[1]-run[0]
	took := (bytes[1] - bytes[0]) / 500
	t.Logf("500 lines: to parse them allocates %.0f times, to open %.0f, %.0f bytes a line, to run %.0f", parsed, opened, took, ran)
	if opened >= 2*parsed || opened >= 60*500 || took >= 5500 {
		t.Errorf("to open 500 lines allocates %.0f times, to parse them %.0f times; %.0f bytes a line", opened, parsed, took)
	}
	if ran >= parsed/2 {
		t.Errorf("to run 500 lines allocates %.0f times, to parse them %.0f times", ran, parsed)
	}
}

// To open a chain of switches and lay it out takes memory by its length, and not by its square,
// which is what the ways of all its flows have in hops: four times the chain takes less than five
// times the bytes.
func TestAllocsOfAChain(t *testing.T) {
	var bytes [2]float64
	for i, n := range []int{1000, 4000} {
		text, err := generate.Write("parking-lot", generate.Options{Endpoints: n})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "chain.yaml")
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		bytes[i] = float64(after.TotalAlloc - before.TotalAlloc)
		if got, want := len(f.Flows[0].Path.Hops()), n; got != want {
			t.Errorf("the longest way has %d hops, want %d", got, want)
		}
	}
	if ratio := bytes[1] / bytes[0]; ratio > 5 {
		t.Errorf("%.3g and %.3g bytes: %.1f times as many", bytes[0], bytes[1], ratio)
	}
}
