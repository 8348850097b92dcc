package fabric_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
)

// several is a fabric with two flows: over two spines, of which one has two links to a leaf, and
// within a leaf.
const several = `
name: several
model: {duration: 1ms}
routing: ROUTING
defaults: {link: {rate: 10Gb/s, flow-control: none}, switch: {kind: output-queued, lossless: []}}
switches: {a: {}, b: {}, "spine[1-2]": {}}
endpoints: [A, B, C]
links: [A - a, C - a, B - b, "a - spine[1-2]", spine1 - b, {name: one, between: spine2 - b}, {name: two, between: spine2 - b}]
flows: [{name: over, from: A, to: B, transport: TRANSPORT}, {name: back, from: B, to: C}, {name: within, from: A, to: C}]
`

func laidOut(t *testing.T, routing, transport string) *fabric.Fabric {
	t.Helper()
	f, err := fabric.Build(runtest.Load(t, strings.NewReplacer("ROUTING", routing, "TRANSPORT", transport).Replace(several)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func linkNames(f *fabric.Fabric, hops []fabric.Hop) (names []string) {
	for _, h := range hops {
		names = append(names, f.LinkName(h))
	}
	return names
}

// "The hops that packets of a flow may take, by their distance", "the hops that every packet
// takes", and the links that carry data.
func TestSeveralPaths(t *testing.T) {
	const one, all = "[A-a][x][x][b-B]", "[A-a][a-spine1 a-spine2][spine1-b one.spine2-b two.spine2-b][b-B]"
	for _, c := range []struct {
		name, routing, transport string
		over, within             string
		certain, links           int
	}{
		{"one path", "{}", "datagrams", one, "[A-a][a-C]", 4, 8},
		{"a hash", "{paths: ecmp}", "datagrams", one, "[A-a][a-C]", 4, 8},
		{"switches", "{paths: ecmp, balance: random}", "datagrams", all, "[A-a][a-C]", 2, 14},
		{"flowlets", "{paths: ecmp, balance: adaptive-flowlet}", "datagrams", all, "[A-a][a-C]", 2, 14},
		{"the source", "{paths: ecmp}", "{kind: rocev2, order: direct, spray: oblivious}", all, "[A-a][a-C]", 2, 11},
		{"the source, without paths", "{}", "{kind: rocev2, order: direct, spray: oblivious}", one, "[A-a][a-C]", 4, 8},
	} {
		f := laidOut(t, c.routing, c.transport)
		words := func(w *fabric.Flow) (text string) {
			for _, level := range f.Levels(w) {
				names := linkNames(f, level)
				if c.over == one && strings.Contains(names[0], "spine") {
					names = []string{"x"}
				}
				text += "[" + strings.Join(names, " ") + "]"
			}
			return text
		}
		if got := words(&f.Flows[0]); got != c.over {
			t.Errorf("%s: over has %s, want %s", c.name, got, c.over)
		}
		if got := words(&f.Flows[2]); got != c.within {
			t.Errorf("%s: within has %s, want %s", c.name, got, c.within)
		}
		if got := f.Certain(&f.Flows[0]).Hops(); len(got) != c.certain {
			t.Errorf("%s: certain are %v, want %d", c.name, linkNames(f, got), c.certain)
		}
		// A-a, b-B, B-b and a-C; of the flows over spines two links each, or all five.
		if got := f.DataLinks(); len(got) != c.links {
			t.Errorf("%s: data crosses %d links, %v, want %d", c.name, len(got), linkNames(f, got), c.links)
		}
	}
}

// "The choices that data leaves, each once, by their nodes."
func TestChoices(t *testing.T) {
	if got := laidOut(t, "{}", "datagrams").Choices(); len(got) > 0 {
		t.Errorf("with one path: %v", got)
	}
	f := laidOut(t, "{paths: ecmp}", "datagrams")
	var got []string
	for _, c := range f.Choices() {
		got = append(got, fmt.Sprint(f.Nodes[c.Node].Name, linkNames(f, c.Hops)))
	}
	want := []string{"a[a-spine1 a-spine2]", "b[b-spine1 one.b-spine2 two.b-spine2]", "spine2[one.spine2-b two.spine2-b]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
