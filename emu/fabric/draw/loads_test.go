package draw

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/emu/fabric"
)

// fan is two leaves and four spines, with flows from the one leaf to the other.
func fan(t *testing.T, routing string) *fabric.Fabric {
	t.Helper()
	_, f := open(t, []byte(`
name: fan
model: {duration: 1ms}
routing: `+routing+`
defaults: {link: {rate: 10Gb/s, flow-control: none}, switch: {kind: output-queued, lossless: []}}
switches: {left: {}, right: {}, "spine[1-4]": {}}
endpoints: ["L[1-16]", "R[1-16]"]
links: ["L[1-16] - left", "R[1-16] - right", "left - spine[1-4]", "spine[1-4] - right"]
flows: [{name: f, from: "L[1-16]", to: "R[1-16]"}]
`))
	return f
}

// "How many flows have each of equal outputs": by the hash all of them together, each where its
// path is; by packet each output has its part of all.
func TestLoadsOfFlows(t *testing.T) {
	f := fan(t, "{paths: ecmp}")
	l, flows, over := FlowLoads(f), 0, 0.0
	on := map[fabric.Hop]int{}
	for i := range f.Flows {
		for _, h := range f.Flows[i].Path.All() {
			on[h]++
		}
	}
	for h, x := range l.of {
		if n := on[h]; x.words != fmt.Sprintf("%d flows", n) && (n != 1 || x.words != "1 flow") || math.Abs(x.over-float64(n)/4) > 1e-9 {
			t.Errorf("%s: %+v, and %d of 16 flows take it", f.LinkName(h), x, n)
		}
		flows, over = flows+on[h], over+x.over
	}
	if len(l.of) != 4 || flows != 16 || over != 4 || !strings.Contains(l.caption, "by the hash") {
		t.Errorf("%+v", l)
	}
	l = FlowLoads(fan(t, "{paths: ecmp, balance: random}"))
	for _, x := range l.of {
		if x.words != "1/4 of 16 flows" || x.over != 1 {
			t.Errorf("%+v", x)
		}
	}
	if l := FlowLoads(fan(t, "{}")); len(l.of) > 0 || l.caption != "" {
		t.Errorf("with one path %+v", l)
	}
}

// "What share of the data that equal outputs carried each of them had", in the pictures too.
func TestLoadsOfRuns(t *testing.T) {
	f := fan(t, "{paths: ecmp, balance: random}")
	carried := map[string]int64{"left-spine1": 600, "left-spine2": 250, "left-spine3": 150, "left-spine4": 0}
	l, missing := CarriedLoads(f, carried)
	if missing != "" || len(l.of) != 4 {
		t.Fatalf("%+v, %s", l, missing)
	}
	for name, want := range map[string]load{"left-spine1": {"60 %", 2.4}, "left-spine2": {"25 %", 1}, "left-spine4": {"0 %", 0}} {
		for h, x := range l.of {
			if f.LinkName(h) == name && x != want {
				t.Errorf("%s: %+v, want %+v", name, x, want)
			}
		}
	}
	var svg, dot, mermaid bytes.Buffer
	s := f.Scenario
	if SVG(&svg, s, f, l) != nil || DOT(&dot, s, f, l) != nil || Mermaid(&mermaid, s, f, l) != nil {
		t.Fatal("not drawn")
	}
	for what, text := range map[string]string{"SVG": svg.String(), "DOT": dot.String(), "Mermaid": mermaid.String()} {
		for _, words := range []string{"60 %", "15 %", loadColour(2.4), loadColour(0), "share of their data"} {
			if !strings.Contains(text, words) {
				t.Errorf("%s has no %q", what, words)
			}
		}
	}
	delete(carried, "left-spine3")
	if _, missing := CarriedLoads(f, carried); missing != "left-spine3" {
		t.Errorf("missing is %q", missing)
	}
}
