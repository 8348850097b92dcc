package generate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

// Fat trees of htsim with two and three tiers, and connections, as they are written.
const (
	htsimSpines = `Nodes 12
Tiers 2
Podsize 12

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Oversubscribed 2
Downlink_Latency_ns 500
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps 100
Radix_Down 3
Bundle 1
Downlink_Latency_ns 1000
Switch_Latency_ns 300
`
	htsimPods = `Nodes 16
Tiers 3
Podsize 4

Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Oversubscribed 1
Downlink_Latency_ns 500
Switch_Latency_ns 0

Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Oversubscribed 1
Bundle 1
Downlink_Latency_ns 1000
Switch_Latency_ns 0

Tier 2
Downlink_speed_Gbps 100
Radix_Down 8
Bundle 2
Downlink_Latency_ns 2000
Switch_Latency_ns 100
`
	htsimConnectionList = `Nodes 12
Connections 3
0->11 id 4 start 0 size 2000000
5->1 id 2 start 1500000 size 1
3->7 id 9 start 1 size 0
`
)

func fromHTSim(t *testing.T, topology, connections string) generate.Imported {
	t.Helper()
	name := ""
	if connections != "" {
		name = "a.cm"
	}
	x, err := generate.FromHTSim("a.topo", []byte(topology), name, []byte(connections))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The files of htsim are the same after import and export.
func TestHTSimAgain(t *testing.T) {
	t.Parallel()
	bundles := strings.NewReplacer("Radix_Up 2\nOversubscribed 2", "Radix_Up 4\nOversubscribed 1", "Radix_Down 3\nBundle 1", "Radix_Down 6\nBundle 2").Replace(htsimSpines)
	for _, topology := range []string{htsimSpines, bundles, htsimPods} {
		x := fromHTSim(t, topology, htsimConnectionList)
		s := runtest.Load(t, string(x.Scenario))
		if _, err := fabric.Build(s); err != nil {
			t.Fatal(err)
		}
		got, err := generate.HTSim(s)
		if err != nil || string(got) != topology {
			t.Errorf("%v: got\n%s\nwant\n%s", err, got, topology)
		}
		connections, left, err := generate.HTSimConnections(s)
		if want := strings.Replace(htsimConnectionList, "12", topology[len("Nodes "):len("Nodes 12")], 1); err != nil || string(connections) != want || left != nil {
			t.Errorf("%v: got\n%s%v\nwant\n%s", err, connections, left, want)
		}
		if len(x.Left)+len(x.Warnings) > 0 {
			t.Errorf("left out %q, warned of %q", x.Left, x.Warnings)
		}
	}
}

// The links of three tiers are those of htsim: each switch of tier 1 leads to the cores of its
// position in the pod.
func TestHTSimLinks(t *testing.T) {
	t.Parallel()
	s := runtest.Load(t, string(fromHTSim(t, htsimPods, "").Scenario))
	var got []string
	for _, l := range s.Links {
		if strings.Contains(l.Name, "agg5") || strings.Contains(l.Name, "h13") {
			got = append(got, l.Name+" "+l.Rate.InBits()+" "+l.Propagation.String())
		}
	}
	want := "h13 - tor6 200Gb/s 500ns, tor4 - agg5 200Gb/s 1us, tor5 - agg5 200Gb/s 1us, " +
		"agg5-core1-1 100Gb/s 2us, agg5-core1-2 100Gb/s 2us, agg5-core3-1 100Gb/s 2us, agg5-core3-2 100Gb/s 2us"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// A generated fat tree is one of htsim, with its own names; what htsim does not have is refused or
// left out.
func TestHTSimOfOtherScenario(t *testing.T) {
	t.Parallel()
	text, err := generate.Write("fat-tree", generate.Options{Ports: 4})
	if err != nil {
		t.Fatal(err)
	}
	s := runtest.Load(t, string(text))
	s.Switches[0], s.Switches[len(s.Switches)-1] = s.Switches[len(s.Switches)-1], s.Switches[0]
	got, err := generate.HTSim(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := generate.HTSim(runtest.Load(t, string(fromHTSim(t, string(got), "").Scenario)))
	if err != nil || string(again) != string(got) || !strings.HasPrefix(string(got), "Nodes 16\nTiers 3\nPodsize 4\n") {
		t.Errorf("%v: got\n%s\nand again\n%s", err, got, again)
	}

	const own = `
name: own
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 2ns, flow-control: pfc}
  switch: {kind: output-queued, forwarding-delay: 1ns}
  flow: {packet: 1000B}
switches: {"t[1-2]": {}, "u[1-2]": {}}
endpoints: ["a[1-4]"]
links: ["a[1-4] - t[1-2]", "t[1-2] x u[1-2]"]
flows:
  - {name: late, from: a1, to: a3, traffic: transfers, size: 1KB, start: 20us}
  - {name: many, from: a1, to: a3, traffic: transfers, size: 2KB, count: 3}
  - {name: drawn, from: a1, to: a3, traffic: transfers, size: web-search}
  - {name: large, from: a1, to: a3, traffic: transfers, size: 2147483648B}
  - {name: greedy, from: a2, to: a1, traffic: greedy}
`
	connections, left, err := generate.HTSimConnections(runtest.Load(t, own))
	if want := "Nodes 4\nConnections 2\n0->2 id 1 start 20000000 size 1000\n1->0 id 2 start 0 size 0\n"; err != nil || string(connections) != want || len(left) != 3 {
		t.Errorf("%v: got\n%s%q\nwant\n%s", err, connections, left, want)
	}
	const no = "own: no fat tree of htsim: "
	for _, c := range []struct{ old, new, want string }{
		{"\"t[1-2] x u[1-2]\"", "\"t[1-2] x u[1-2]\", t1 - t2", no + "link t1 - t2 joins two switches of tier 0"},
		{"\"t[1-2] x u[1-2]\"", "\"t[1-2] x u[1-2]\", {between: a5 - t1, rate: 1Gb/s}", no + "link a5 - t1 has 1Gb/s and 2ns, and another link of tier 0 has 10Gb/s and 2ns"},
		{"\"t[1-2] x u[1-2]\"", "\"t[1-2] x u[1-2]\", a5 - t1", no + "t2 has 2 links downwards, and t1 has 3"},
		{"\"t[1-2] x u[1-2]\"", "t1 - u1, t2 - u1, t1 - u2", no + "t2 has 1 links upwards, and t1 has 2"},
		{"\"u[1-2]\": {}", "\"u[1-2]\": {}, v: {}, w: {}", no + "switch v has no path to an endpoint"},
		{"propagation: 2ns", "propagation: 2.5ns", no + "link a1 - t1 has 10Gb/s and 2.5ns: htsim has whole Gb/s and ns"},
		{"\"u[1-2]\": {}", "u1: {}, u2: {forwarding-delay: 2ns}", no + "switch u2 has a forwarding-delay of 2ns, and tier 1 has 1ns: htsim has whole ns, the same in a tier"},
		{"\"t[1-2] x u[1-2]\"", "{name: x, between: t1 - u1}, {name: y, between: t1 - u1}, t1 - u2, t2 - u1, {name: z, between: t2 - u2}, {name: w, between: t2 - u2}", no + "t1 and u2 have 1 links, and t1 and u1 have 2"},
	} {
		text := strings.Replace(own, c.old, c.new, 1)
		if strings.Contains(c.new, "a5") {
			text = strings.Replace(text, `"a[1-4]"]`, `"a[1-5]"]`, 1)
		}
		if strings.Contains(c.new, "v: {}") {
			text = strings.Replace(text, `x u[1-2]"]`, `x u[1-2]", v - w]`, 1)
		}
		if _, err := generate.HTSim(runtest.Load(t, text)); err == nil || err.Error() != c.want || !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestFromHTSimRefuses(t *testing.T) {
	t.Parallel()
	with := func(old, new string) string { return strings.Replace(htsimSpines, old, new, 1) }
	for _, c := range []struct{ topology, connections, want string }{
		{"# nothing\n", "", "t: the file is empty"},
		{"Nodes 12\nTiers 2\n", "", "t: Nodes, Tiers and Podsize are needed before the first tier"},
		{"Nodes twelve\n", "", "t:1: Nodes twelve: a whole number from 1 to 65536 is expected"},
		{"Nodes\n", "", "t:1: Nodes has no value"},
		{with("Tiers 2", "Tiers 4"), "", "t: Tiers 4: htsim has fat trees with 2 or 3 tiers"},
		{with("Tiers 2", "Tiers 3"), "", "t:13: tier 1 needs Downlink_speed_Gbps, Downlink_Latency_ns, Radix_Down and, below the top, Radix_Up"},
		{strings.Replace(htsimPods, "Tier 2", "# Tier 2", 1), "", "t:23: the tier has a second Downlink_speed_Gbps"},
		{htsimPods[:strings.Index(htsimPods, "Tier 2")], "", "t: tier 2 is missing"},
		{with("Tier 1", "Tier 0"), "", "t:13: tier 0 has begun in line 5"},
		{with("Radix_Down 4", "Radix_Down 4\nRADIX_DOWN 4"), "", "t:8: the tier has a second RADIX_DOWN"},
		{with("Radix_Up 2\n", ""), "", "t:5: tier 0 needs Downlink_speed_Gbps, Downlink_Latency_ns, Radix_Down and, below the top, Radix_Up"},
		{with("Podsize 12", "Podsize 4"), "", "t:5: with two tiers all nodes are one pod: Podsize 12"},
		{with("Podsize 12", "Podsize 5"), "", "t:5: 12 nodes are no whole number of pods of 5"},
		{with("Radix_Down 4", "Radix_Down 5"), "", "t:5: a pod of 12 nodes is no whole number of switches with Radix_Down 5"},
		{with("Oversubscribed 2", "Oversubscribed 1"), "", "t:5: Radix_Down 4 and Radix_Up 2 are not Oversubscribed 1"},
		{with("Tier 1\nDownlink_speed_Gbps 100", "Tier 1\nDownlink_speed_Gbps 200"), "", "t:5: 4 links of 100Gb/s downwards and 2 of 200Gb/s upwards are not Oversubscribed 2"},
		{with("Bundle 1", "Bundle 2"), "", "t:13: a Bundle of 2 does not divide Radix_Down 3, and Radix_Up 2 of tier 0"},
		{with("Radix_Down 3", "Radix_Down 6"), "", "t:13: Radix_Down 6: a pod has 3 switches of tier 0, with Bundle 1 links to each"},
		{with("Oversubscribed 2", "Oversubscribed 2\nBundle 2"), "", "t:5: a Bundle of 2: hosts have one link"},
		{strings.Replace(htsimPods, "Radix_Down 8", "Radix_Down 4", 1), "", "t:22: Radix_Down 4: there are 4 pods, with Bundle 2 links to each"},
		{"Nodes 65536\nTiers 2\nPodsize 65536\nTier 0\nDownlink_speed_Gbps 1\nRadix_Down 4\nRadix_Up 16384\nDownlink_Latency_ns 1\nOversubscribed 1\nTier 1\nDownlink_speed_Gbps 1\nRadix_Down 16384\nDownlink_Latency_ns 1\n", "",
			"t:4: Radix_Down 4 and Radix_Up 16384 are not Oversubscribed 1"},
		{"Nodes 65536\nTiers 2\nPodsize 65536\nTier 0\nDownlink_speed_Gbps 1\nRadix_Down 8\nRadix_Up 8\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 1\nRadix_Down 8192\nDownlink_Latency_ns 1\n", "", ""},
		{"Nodes 65536\nTiers 3\nPodsize 32768\nTier 0\nDownlink_speed_Gbps 1\nRadix_Down 64\nRadix_Up 64\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 1\nRadix_Down 512\nRadix_Up 4096\nDownlink_Latency_ns 1\nTier 2\nDownlink_speed_Gbps 1\nRadix_Down 2\nDownlink_Latency_ns 1\n", "",
			"t:9: 512 links of 1Gb/s downwards and 4096 of 1Gb/s upwards are not Oversubscribed 1"},
		{"Nodes 65536\nTiers 3\nPodsize 32768\nTier 0\nDownlink_speed_Gbps 8\nRadix_Down 64\nRadix_Up 64\nDownlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 8\nRadix_Down 512\nRadix_Up 4096\nDownlink_Latency_ns 1\nTier 2\nDownlink_speed_Gbps 1\nRadix_Down 2\nDownlink_Latency_ns 1\n", "",
			"t:4: 589824 links between switches are too many: at most 131072 are possible"},
		{htsimSpines, "# nothing\n", "c: the file is empty"},
		{htsimSpines, "Nodes 13\n", "c:1: Nodes 13: the topology has 12"},
		{htsimSpines, "Nodes 12\nConnections 2\n0->1 start 0 size 1\n", "c: the file has 1 connections, and its header says Connections 2"},
		{htsimSpines, "Connections 1\n0->1 start 0 size 1\ntrigger id 1 oneshot\n", "c: the file has 1 triggers, and its header says Triggers 0"},
		{htsimSpines, "Connections 1\n0->12 start 0 size 1\n", `c:2: "12" is not the number of a host, a whole number from 0 to 11`},
		{htsimSpines, "Connections 1\n3->3 start 0 size 1\n", "c:2: host 3 sends to itself"},
		{htsimSpines, "Connections 1\n0->3 start -1 size 1\n", `c:2: "-1" is not a start in picoseconds`},
		{htsimSpines, "Connections 1\n0->3 start 0 size\n", "c:2: size has no value"},
		{htsimSpines, "Connections 1\n0->3 size 5\n", "c:2: a connection has a start or a trigger"},
		{htsimSpines, "Connections 2\n0->3 id 7 start 0\n1->3 id 7 start 0\n", "c:3: line 2 has this identifier, 7"},
		{htsimSpines, "Connections 1\n0->3 start 0 sise 5\n", `c:2: "sise" is unknown: id, start, trigger, size, send_done_trigger, recv_done_trigger, prio and addon are expected`},
		{htsimSpines, "Connection 1\n", `c:1: "Connection" is not a connection, such as 0->13, a trigger or a failure`},
		{htsimSpines, "Connections 1\nTriggers 1\n0->3 id 1 trigger 1\ntrigger id 1 oneshot\n", "c: no connection has a start"},
		{htsimSpines, "Connections 1\nTriggers 1\n0->3 id 1 trigger 0\n", `c:3: "0" is not the number of a trigger, a whole number from 1 to 4294967295`},
		{htsimSpines, "Triggers 1\ntrigger id 1\n", "c:2: a trigger has an id, and is oneshot, multishot or barrier"},
		{htsimSpines, "Triggers 1\ntrigger id 1 twice\n", `c:2: "twice" is unknown: id, oneshot, multishot, barrier and count are expected`},
		{htsimSpines, "Triggers 1\ntrigger barrier count\n", "c:2: count has no value"},
		{htsimSpines, strings.Repeat(" ", generate.MostBytes+1), "c: the file has more than 16 MiB"},
	} {
		name := ""
		if c.connections != "" {
			name = "c"
		}
		_, err := generate.FromHTSim("t", []byte(c.topology), name, []byte(c.connections))
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || err.Error() != c.want || !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%.300q, %.100q: %v, want %s", c.topology, c.connections, err, c.want)
		}
	}
}

func TestFromHTSimLeavesOut(t *testing.T) {
	t.Parallel()
	topology := strings.NewReplacer("Podsize 12\n", "Podsize 12\nColour 3\n", "Switch_Latency_ns 300\n",
		"Switch_Latency_ns 300\nQueue_Down 9000\nShape 2\nTier 2\nRadix_Down 4\n").Replace(htsimSpines)
	x := fromHTSim(t, topology, `Nodes 12
Connections 4
Triggers 1
Failures 1
0->1 id 1 start 0 size 5 send_done_trigger 1
0->2 id 2 trigger 1 size 5 prio 2
0->3 id 3 trigger 1 size 5 prio 3
0->4 id 5 start 7 size 5 addon
trigger id 1 oneshot
failure switch_type AGG switch_id 1 link_id 0
`)
	want := `a.topo:4: Colour: htsim does not read it
a.topo:20: Queue_Down: with PFC, a queue ends where the memory does: see memory and headroom
a.topo:21: Shape: htsim does not read it
a.topo:22: tier 2: the file has Tiers 2
a.cm:6: prio: htsim's receivers serve connections by it; priorities of flows are classes of PFC (and 1 more)
a.cm:6: a connection that waits for a trigger: --goal prints all connections as a GOAL file (and 1 more)
a.cm:8: addon: transfers have no successors
a.cm:10: failure: an event takes its place, such as {link: agg0 - core0, state: down}`
	if got := strings.Join(x.Left, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s := runtest.Load(t, string(x.Scenario)); len(s.Flows) != 2 || s.Flows[1].Name != "f5" {
		t.Errorf("flows %v", s.Flows)
	}
}

// Connections that wait for triggers are messages of a GOAL file. With the topology they run, one
// after another.
func TestHTSimGoal(t *testing.T) {
	t.Parallel()
	x := fromHTSim(t, htsimSpines, `Nodes 12
Connections 9
Triggers 5
0->1 id 1 start 0 size 50000 send_done_trigger 1
0->2 id 2 trigger 1 size 50000 recv_done_trigger 2
2->3 id 3 trigger 2 size 50000
4->5 id 4 start 2000000 size 7 send_done_trigger 3
4->6 id 5 start 5000000 size 8 send_done_trigger 3
4->7 id 6 trigger 3 size 9
8->9 id 7 trigger 1 size 9
10->11 id 8 start 0 size 0
4->8 id 9 trigger 5 size 3
trigger id 1 oneshot
trigger id 2 oneshot
trigger id 3 barrier count 2
trigger id 4 oneshot
trigger id 5 multishot
`)
	var got strings.Builder
	for line := range strings.Lines(string(x.Goal)) {
		if strings.Contains(line, "requires") || strings.Contains(line, "calc") {
			got.WriteString(line)
		}
	}
	const want = `  s2 requires s1
  s3 requires r2
  c4: calc 2000
  c5: calc 3000
  s4 requires c4
  s5 requires c5
  c5 requires c4
  s6 requires s4
  s6 requires s5
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	left := strings.Join(x.Left, "\n")
	for _, want := range []string{
		"a.cm:10: a connection that waits for one between other hosts: in the GOAL file it does not wait for that",
		"a.cm:11: a connection without end: a GOAL file has none",
		"a.cm:12: a connection whose trigger nothing fires: in the GOAL file it starts at once",
	} {
		if !strings.Contains(left, want) {
			t.Errorf("left out\n%s\nwant\n%s", left, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tree.goal"), x.Goal, 0o666); err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(x.Scenario), "flows:\n")
	text += "workload:\n  - {name: all, over: \"h[0-11]\", goal: tree.goal}\n"
	if _, err := resolve.Load(filepath.Join(dir, "tree.yaml"), []byte(text), nil); err != nil {
		t.Error(err)
	}
	if x := fromHTSim(t, htsimSpines, htsimConnectionList); x.Goal != nil {
		t.Error("a GOAL file without triggers")
	}
}

// A connection of a trigger with several shots waits for the one that fires it in its turn.
func TestHTSimGoalInTurn(t *testing.T) {
	t.Parallel()
	x := fromHTSim(t, htsimSpines, `Connections 4
Triggers 1
0->1 id 1 start 0 size 5 send_done_trigger 1
0->2 id 2 start 0 size 5 send_done_trigger 1
0->3 id 3 trigger 1 size 5
0->4 id 4 trigger 1 size 5
trigger id 1 multishot
`)
	if !strings.Contains(string(x.Goal), "s3 requires s1\n") || !strings.Contains(string(x.Goal), "s4 requires s2\n") || strings.Contains(string(x.Goal), "s4 requires s1\n") {
		t.Errorf("%s", x.Goal)
	}
}

// FuzzFromHTSim: whatever the files hold, FromHTSim reports a mistake or returns a scenario, in
// which a mistake may be found.
func FuzzFromHTSim(f *testing.F) {
	runtest.MinimizeLittle(f)
	for _, topology := range []string{htsimSpines, htsimPods} {
		f.Add([]byte(topology), []byte(htsimConnectionList))
		for _, b := range runtest.Seeds(runtest.Mutants([]byte(topology), 100), 20) {
			f.Add(b, []byte(htsimConnectionList))
		}
	}
	for _, b := range runtest.Seeds(runtest.Mutants([]byte(htsimConnectionList), 100), 20) {
		f.Add([]byte(htsimSpines), b)
	}
	f.Fuzz(func(t *testing.T, text, connections []byte) {
		checkImported(t, text, func(file string, text []byte) (generate.Imported, error) {
			return generate.FromHTSim(file, text, "file:connections", connections)
		})
	})
}
