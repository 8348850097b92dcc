package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/lint"
)

// square is a ring of four switches with a host each.
const square = `
name: square
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns, flow-control: pfc}
  switch: {kind: output-queued}
  flow: {packet: 1000B, traffic: constant, rate: 500Mb/s}
switches: {"S[1-4]": {}}
endpoints: ["h[1-4]"]
links:
  - "h[1-4] - S[1-4]"
  - S1 - S2
  - S2 - S3
  - S3 - S4
  - S4 - S1
`

// clockwise sends over two hops by explicit routes.
const clockwise = `
flows:
  - {name: f1, from: h1, to: h3}
  - {name: f2, from: h2, to: h4}
  - {name: f3, from: h3, to: h1}
  - {name: f4, from: h4, to: h2}
routes:
  - {at: S1, to: h3, over: S1 - S2}
  - {at: S2, to: h4, over: S2 - S3}
  - {at: S3, to: h1, over: S3 - S4}
  - {at: S4, to: h2, over: S4 - S1}
`

// byShortest sends over two hops either way.
var byShortest, _, _ = strings.Cut(clockwise, "routes:")

const all = `
workload:
  - {name: w, over: "h[1-4]", pattern: uniform, size: web-search, load: 0.1}
`

// found returns the cycle of buffers of a scenario, and the flows that make it; empty if there is
// none.
func found(s *scenario.Scenario) string {
	d := lint.FindDeadlock(s, scenario.PathTableOf(s))
	if d == nil {
		return ""
	}
	var cycle []string
	for _, b := range d.Cycle {
		cycle = append(cycle, b.String())
	}
	return strings.Join(cycle, ", ") + ": " + strings.Join(d.Senders, ", ")
}

func TestFindDeadlock(t *testing.T) {
	t.Parallel()
	const ringOfAll = "S1-S2 priority 0, S2-S3 priority 0, S3-S4 priority 0, S4-S1 priority 0"
	const byFour = ": flow f1, flow f2, flow f3, flow f4"
	for _, c := range []struct {
		name, text string
		sets       []string
		want       string
	}{
		{"routes", square + clockwise, nil, ringOfAll + byFour},
		{"another flow to the same switch", strings.Replace(square+clockwise, "flows:\n", "flows:\n  - {name: f0, from: h2, to: h3}\n", 1), nil, ringOfAll + byFour},
		{"PAUSE", square + clockwise, []string{"defaults.link.flow-control=pause"}, strings.ReplaceAll(ringOfAll, " priority 0", "") + byFour},
		{"priority", square + clockwise, []string{"defaults.flow.priority=3"}, strings.ReplaceAll(ringOfAll, "priority 0", "priority 3") + byFour},
		{"priorities apart", square + clockwise, []string{"flows.f1.priority=3"}, ""},
		{"not lossless", strings.Replace(square, "output-queued", "output-queued, lossless: [3]", 1) + clockwise, nil, ""},
		{"one switch not lossless", strings.Replace(square, "switches: {\"S[1-4]\": {}}", "switches: {\"S[1-2]\": {}, S3: {lossless: []}, S4: {}}", 1) + clockwise, nil, ""},
		{"no flow control", square + clockwise, []string{"defaults.link.flow-control=none"}, ""},
		{"channels", square + clockwise, []string{"defaults.link.flow-control=cbfc", "defaults.link.cbfc.first-channel=2", "defaults.link.cbfc.limit=100"},
			strings.ReplaceAll(ringOfAll, "priority 0", "channel 2") + byFour},
		{"watchdog", square + clockwise, []string{"defaults.switch.watchdog=drop"}, ""},
		{"watchdog that only reports", square + clockwise, []string{"defaults.switch.watchdog=alert"}, ringOfAll + byFour},
		{"three flows", strings.Replace(square+clockwise, "  - {name: f4, from: h4, to: h2}\n", "", 1), nil, ""},
		// Over two hops the shortest path from 1 is over 2, from 2 over 1 or 3.
		{"shortest paths", square + all, nil, ""},
		{"equal paths", square + all, []string{"routing=ecmp"}, "S1-S2 priority 0, S2-S3 priority 0, S3-S4 priority 0, S4-S1 priority 0: workload w"},
		// By the hash a flow goes either way, and by packet both; a warning must not depend on
		// which.
		{"a hash of flows", square + byShortest, []string{"routing=ecmp"}, ringOfAll + byFour},
		{"packets on equal paths", square + byShortest, []string{"routing.paths=ecmp", "routing.balance=random"}, ringOfAll + byFour},
		{"flowlets on equal paths", square + byShortest, []string{"routing.paths=ecmp", "routing.balance=adaptive-flowlet"}, ringOfAll + byFour},
		{"sprayed by the source", square + byShortest, []string{"routing=ecmp", "defaults.flow.transport.kind=rocev2", "defaults.flow.transport.order=direct", "defaults.flow.transport.spray=oblivious", "defaults.flow.transport.ack-dscp=48"}, ringOfAll + byFour},
		{"answers", square + `
flows:
  - {name: f1, from: h1, to: h3, transport: rocev2}
  - {name: f2, from: h4, to: h2, transport: rocev2}
routes:
  - {at: S1, to: h3, over: S1 - S2}
  - {at: S3, to: h1, over: S3 - S4}
  - {at: S4, to: h2, over: S4 - S1}
  - {at: S2, to: h4, over: S2 - S3}
`, nil, ringOfAll + ": flow f1, flow f2"},
		{"answers apart", square + `
flows:
  - {name: f1, from: h1, to: h3, transport: {kind: rocev2, ack-dscp: 48}}
  - {name: f2, from: h4, to: h2, transport: {kind: rocev2, ack-dscp: 40}}
routes:
  - {at: S1, to: h3, over: S1 - S2}
  - {at: S3, to: h1, over: S3 - S4}
  - {at: S4, to: h2, over: S4 - S1}
  - {at: S2, to: h4, over: S2 - S3}
`, nil, ""},
		{"later routes", strings.Replace(square+strings.Replace(clockwise, "over: S4 - S1}", "over: S3 - S4}\n  - {at: S4, to: h2, over: S4 - S1, since: 500us}", 1),
			"name: square", "name: later", 1), nil, ringOfAll + byFour},
	} {
		s := runtest.Load(t, c.text, runtest.Sets(t, c.sets...)...)
		if got := found(s); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
		warned := 0
		for _, w := range s.Warnings {
			if strings.Contains(w.Message, "wait for one another in a cycle") {
				warned++
			}
		}
		if (warned == 1) != (c.want != "") {
			t.Errorf("%s: %d warnings of a cycle", c.name, warned)
		}
	}
}

// The lanes that lash gives a ring break its cycle; on one lane it is there, unless frames that
// lack credit for long are dropped.
func TestFindDeadlockLanes(t *testing.T) {
	t.Parallel()
	text, err := builtin.Read("infiniband/lash-ring")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sets []string
		some bool
	}{
		{nil, false},
		{[]string{"defaults.link.lanes.max-vls=1"}, true},
		{[]string{"defaults.link.lanes.max-vls=1", "defaults.link.lanes.head-of-queue-lifetime=100us"}, false},
	} {
		if got := found(runtest.Load(t, string(text), runtest.Sets(t, c.sets...)...)); (got != "") != c.some || c.some && !strings.Contains(got, "VL0") {
			t.Errorf("%v: %q", c.sets, got)
		}
	}
}

// Of the built-in scenarios only those with a deadlock in their name or description have a cycle.
// Generated fabrics have none.
func TestFindDeadlockRarely(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, kind := range generate.Kinds() {
		text, err := generate.Write(kind.Name, generate.Options{FlowControl: "pfc"})
		if err != nil {
			t.Fatal(err)
		}
		if got := found(runtest.Load(t, string(text))); got != "" {
			t.Errorf("%s: %s", kind.Name, got)
		}
	}
	for _, info := range builtin.List() {
		text, err := builtin.Read(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got := found(runtest.Load(t, string(text))); (got != "") != (info.Name == "ethernet/ring-deadlock") {
			t.Errorf("%s: %q", info.Name, got)
		}
	}
}

// torus is a square torus with a host at each switch, and a workload among all of them.
func torus(size int) string {
	var b strings.Builder
	n := size * size
	fmt.Fprintf(&b, `
name: torus
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns}
  flow: {packet: 1000B}
switches: {"S[1-%[1]d]": {}}
endpoints: ["h[1-%[1]d]"]
workload:
  - {name: w, over: "h[1-%[1]d]", pattern: uniform, size: web-search, load: 0.1}
links:
  - "h[1-%[1]d] - S[1-%[1]d]"
`, n)
	for i := range n {
		fmt.Fprintf(&b, "  - S%d - S%d\n  - S%[1]d - S%[3]d\n", i+1, i/size*size+(i+1)%size+1, (i+size)%n+1)
	}
	return b.String()
}

func TestFindDeadlockTorus(t *testing.T) {
	t.Parallel()
	s := runtest.Load(t, torus(4))
	if got := found(s); !strings.Contains(got, "VL0") || !strings.HasSuffix(got, ": workload w") {
		t.Errorf("%q", got)
	}
}

func BenchmarkFindDeadlock(b *testing.B) {
	text, err := generate.Write("fat-tree", generate.Options{Endpoints: 1024, Traffic: "web-search"})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, text string }{{"fat-tree", string(text)}, {"torus", torus(32)}} {
		s := runtest.Load(b, c.text)
		table := scenario.PathTableOf(s)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				lint.FindDeadlock(s, table)
			}
		})
	}
}
