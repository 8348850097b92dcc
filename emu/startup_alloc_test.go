//go:build !race

package emu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/scenarios"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// allocations returns how often something allocates, once what is made once is there. It is
// a measure of work that is the same on every computer.
func allocations(do func()) float64 { return testing.AllocsPerRun(1, do) }

// parsed returns how often the YAML parser allocates for a text.
func parsed(t *testing.T, text string) float64 {
	return allocations(func() {
		if _, err := parser.Parse(lexer.Tokenize(text), 0); err != nil {
			t.Fatal(err)
		}
	})
}

// A scenario is parsed once. To open it, and check its short run, allocates about as much
// again as to parse it: less than half of that with a second time. To lay it out, run it and
// write its results allocates less than to parse it.
func TestAllocsAScenarioIsParsedOnce(t *testing.T) {
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
	for i := range 500 { // what is long to read and soon done
		fmt.Fprintf(&text, "  - {at: S, to: h%d, over: \"h%d - S\"}\n", i+1, i+1)
	}
	file := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	once := parsed(t, text.String())
	s, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if opened := allocations(func() { Open(file) }); opened >= 2.5*once {
		t.Errorf("to open it allocates %.0f times, to parse it %.0f times", opened, once)
	}
	if ran := allocations(func() {
		r, err := Run(context.Background(), s, Options{Clock: VirtualClock})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Write(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}); ran >= once {
		t.Errorf("to run it allocates %.0f times, to parse it %.0f times", ran, once)
	}
}

// The list of scenarios parses their heads, and nothing is parsed to complete a name.
func TestAllocsTheListParsesHeads(t *testing.T) {
	whole := 0.0
	for _, e := range scenarios.List() {
		src, err := scenarios.Read(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		whole += parsed(t, string(src))
	}
	if listed := allocations(func() { scenarios.List() }); listed >= whole/4 {
		t.Errorf("the list allocates %.0f times, to parse all scenarios %.0f times", listed, whole)
	}
}
