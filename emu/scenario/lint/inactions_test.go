package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
)

// fourToOne is a switch with four sources and a destination on links of each family. Its inputs
// have 60 KB and the headroom, or four packets.
var fourToOne = map[wire.Family]string{
	wire.InfiniBand: `
defaults: {link: {rate: 1GB/s, propagation: 10ns, buffer: 4 packets}, flow: {packet: 2048B}}
switches: {S: {}}
`,
	wire.Ethernet: `
defaults: {link: {rate: 10Gb/s, propagation: 500ns, flow-control: pfc}, flow: {packet: 1024B, priority: 3}}
switches: {S: {kind: output-queued, memory: 400KB per port, lossless: [3], high: 60KB}}
`,
}

// tooHigh are parameters of each congestion point with which it never acts there. Those without act
// on every full buffer.
var tooHigh = map[string][]string{
	"ecn": {"max=1MB", "min=1MB"}, "red": {"max=1MB", "min=500KB"}, "qcn": {"qeq=1MB"}, "bcn": {"qeq=1MB", "qsc=2MB", "maximum=2MB"},
	"cca": {"threshold=0"}, "naive": nil, "input": nil, "input-output": nil,
}

// acting returns the warnings of schemes that never act.
func acting(t *testing.T, text string, sets ...string) (all []string) {
	t.Helper()
	for _, w := range load(t, text, sets...).Warnings {
		if strings.Contains(w.Message, "never") {
			all = append(all, w.Message)
		}
	}
	return all
}

// resolved returns a file as it is with --sets.
func resolved(t *testing.T, text string, sets ...string) string {
	t.Helper()
	out, err := resolve.Text(load(t, text, sets...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Each algorithm with the congestion points that belong to it acts, and there is no warning. There
// is one where the switch has no marking, where more would have to wait than can, and where packets
// cannot be marked.
func TestSchemesThatNeverAct(t *testing.T) {
	tables, met := scenario.BuiltIn(), map[string]bool{}
	want := func(t *testing.T, got []string, want string) {
		t.Helper()
		if len(got) == 0 { // a resolved file has one item for each flow
			t.Errorf("no warning, want %q", want)
		}
		for _, w := range got {
			if !strings.Contains(w, want) {
				t.Errorf("%q; want %q", w, want)
			}
		}
	}
	for _, p := range tables.Presets() {
		t.Run(fmt.Sprint(p.Family, ", ", p.Name), func(t *testing.T) {
			base := "name: four\nmodel: {duration: 2ms}" + fourToOne[p.Family] + `
endpoints: ["t[1-4]", r]
links: ["t[1-4] - S", {name: out, between: S - r}]
flows: [{name: x, from: "t[1-4]", to: r}]
`
			var sets []string
			for _, s := range p.Sets {
				sets = append(sets, s.Path+"="+s.Value)
			}
			text := resolved(t, base, sets...)
			if got := acting(t, text); len(got) > 0 {
				t.Fatalf("%q", got)
			}
			delays := slices.ContainsFunc(rp.Algorithms(), func(l rp.Algorithm) bool { return l.Name == p.Algorithm && l.Feedback == rp.Delays })
			if p.Point == "" || !p.Acts || delays { // by round trips it acts without marks, too
				return
			}
			met[p.Point] = true
			want(t, acting(t, resolved(t, base, append(sets, "switches.S.marking.scheme=none")...)), "no switch on its path")
			high, known := tooHigh[p.Point]
			if !known {
				t.Fatalf("the test has no parameters for %s", p.Point)
			}
			if len(high) > 0 {
				for i, set := range high {
					high[i] = "switches.S.marking." + strings.TrimPrefix(set, "switches.S.marking.")
				}
				want(t, acting(t, text, high...), "switch S never acts on it")
			}
			if strings.HasPrefix(p.Algorithm, "dcqcn") {
				off := strings.ReplaceAll(text, "ecn: true", "ecn: false")
				want(t, acting(t, off), "its packets cannot be marked (ecn: false): the algorithm never acts")
			}
		})
	}
	for _, p := range cp.Points() {
		if !met[p.Name] && p.Name != "red" { // TestMarkingThatNeverActs
			t.Errorf("no algorithm has been tried with %s", p.Name)
		}
	}
}

// A marking is compared with the most that can wait: by watermarks, the memory, limits and credits,
// at the output that has most; and by the packets that pass.
func TestMarkingThatNeverActs(t *testing.T) {
	const text = `
name: four
model: {duration: 2ms}
defaults: {link: {rate: 10Gb/s, propagation: 500ns, flow-control: CONTROL, cbfc: {limit: 100}}, flow: {packet: 1000B, priority: 3, transport: TRANSPORT}}
switches: {S: {kind: output-queued, memory: MEMORY, lossless: LOSSLESS, marking: MARKING}}
endpoints: ["t[1-4]", r, q]
links: ["t[1-4] - S", {name: out, between: S - r}, {name: other, between: S - q}]
flows: [{name: x, from: "t[1-4]", to: r}, {name: y, from: t1, to: q}]
`
	for _, c := range []struct{ control, transport, memory, lossless, marking, want string }{
		{"pfc", "datagrams", "100KB per port", "[3], high: 60KB", "{scheme: ecn, min: 240KB, max: 400KB}", ""}, // and the headroom
		{"pfc", "datagrams", "100KB per port", "[3], high: 60KB", "{scheme: ecn, min: 300KB, max: 400KB}", "switch S never acts on it: min is 300KB, and no more than"},
		{"pfc", "datagrams", "100KB per port", "[3]", "{scheme: ecn, min: 399KB, max: 400KB}", ""},
		{"pfc", "datagrams", "100KB per port", "[3]", "{scheme: ecn, min: 400KB, max: 400KB}", "because its 4 inputs are bounded by"},
		{"pfc", "datagrams", "600KB, sharing: pooled", "[3], high: 60KB", "{scheme: ecn, min: 300KB, max: 400KB}", "because its 4 inputs are bounded by the high watermark, 60KB, and the headroom"},
		{"pfc", "datagrams", "100KB per port", "[5], high: 60KB", "{scheme: ecn, min: 240KB, max: 400KB}", "the 60KB of a priority without flow control"},
		{"none", "datagrams", "100KB per port", "[]", "{scheme: ecn, min: 399KB, max: 400KB}", ""},
		{"none", "datagrams", "100KB per port", "[]", "{scheme: ecn, min: 400KB, max: 400KB}", "bounded by the memory of the switch"},
		{"none", "datagrams", "100KB per port", "[], output-limit: 50KB", "{scheme: ecn, min: 49KB, max: 400KB}", ""},
		{"cbfc", "datagrams", "400KB per port", "[3]", "{scheme: ecn, min: 1MB, max: 2MB}", "because its 4 inputs are bounded by the credits of their channels"},
		{"none", "{kind: tcp, ecn: true}", "100KB per port", "[]", "{scheme: red, min: 300KB, max: 600KB, ecn: true}", ""},
		{"none", "{kind: tcp, ecn: true}", "100KB per port", "[]", "{scheme: red, min: 400KB, max: 600KB, ecn: true}", "never acts on it: min is 400KB"},
		{"none", "tcp", "100KB per port", "[]", "{scheme: red, min: 300KB, max: 600KB}", ""}, // it drops
		{"pfc", "tcp", "100KB per port", "[3]", "{scheme: red, min: 100KB, max: 200KB, ecn: true}", "flow x.t1 has this marking on its path, and its packets cannot be marked (ecn: false)"},
		{"none", "tcp", "100KB per port", "[]", "{scheme: ecn, min: 100KB, max: 200KB}", "its packets cannot be marked (ecn: false), so the switches never mark them"},
		{"none", "{kind: tcp, ecn: true}", "100KB per port", "[]", "{scheme: none}", "has ecn: true, and no switch on its path marks"},
	} {
		got := acting(t, strings.NewReplacer("CONTROL", c.control, "TRANSPORT", c.transport, "MEMORY", c.memory,
			"LOSSLESS", c.lossless, "MARKING", c.marking).Replace(text))
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	// What is lost, late or ignored on the path of a PAUSE lets more arrive.
	held := strings.NewReplacer("CONTROL", "pfc", "TRANSPORT", "datagrams", "MEMORY", "100KB per port",
		"LOSSLESS", "[3], high: 60KB", "MARKING", "{scheme: ecn, min: 300KB, max: 400KB}").Replace(text)
	for _, event := range []string{"{at: 1ms, endpoint: t1, pauses: ignored}", "{at: 1ms, link: out, loss: 0.1}", "{at: 1ms, link: out, delay: 1us}"} {
		if got := acting(t, held+"events: ["+event+"]\n"); len(got) > 0 {
			t.Errorf("%s: %q", event, got)
		}
	}
}

// An event turns marking on during the run, and a subnet manager may, so a flow that waits for
// marks is no mistake there.
func TestMarkingThatActsLater(t *testing.T) {
	const text = `
name: later
model: {duration: 2ms}
defaults: {link: {rate: 1GB/s, propagation: 10ns, buffer: 4 packets}, flow: {packet: 2048B, control: {algorithm: ALGORITHM}}}
switches: {S: {marking: MARKING}}
endpoints: ["t[1-4]", r]
links: ["t[1-4] - S", S - r]
flows: [{name: x, from: "t[1-4]", to: r}]
events: EVENTS
`
	for _, c := range []struct {
		algorithm, marking, events string
		alone, managed             int // warnings
	}{
		{"cca", "{scheme: none}", "[]", 1, 0},
		{"cca", "{scheme: none}", "[{at: 1ms, switch: S, marking: {threshold: 15}}]", 0, 0},
		{"cca", "{scheme: none}", "[{at: 1ms, switch: S, marking: {threshold: 0}}]", 1, 0},
		{"cca", "{scheme: cca, threshold: 0}", "[]", 1, 0},
		{"cca", "{scheme: cca, threshold: 0}", "[{at: 1ms, switch: S, marking: {threshold: 15}}]", 0, 0},
		{"lipd", "{scheme: none}", "[]", 1, 1}, // which no manager can change
	} {
		text := strings.NewReplacer("ALGORITHM", c.algorithm, "MARKING", c.marking, "EVENTS", c.events).Replace(text)
		s, never := load(t, text), 0
		for _, w := range s.UnderManager() {
			if strings.Contains(w.Message, "never") {
				never++
			}
		}
		if got := acting(t, text); len(got) != c.alone || never != c.managed {
			t.Errorf("%+v: %d under a manager, and alone %q", c, never, got)
		}
	}
}
