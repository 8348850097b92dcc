package generate_test

import (
	"errors"
	"strings"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario/generate"
)

// A topology and flows of HPCC's simulator, as it writes them.
const (
	hpccTopology = `7 3 8
4 5 6
0 4 100Gbps 1000ns 0
1 4 100Gbps 1000ns 0
2 5 25Gbps 2500ns 0
3 5 25Gbps 2500ns 0
4 5 400Gbps 1000ns 0
4 5 400Gbps 1000ns 0
4 6 400Gbps 1000ns 0
5 6 400Gbps 1000ns 0
`
	hpccFlowList = `3
0 2 3 100 200000 2
1 3 3 100 5000 2.15
3 0 1 100 1 2.150000001
`
	hpccRest = "\nFirst line: how many there are\n"
)

func fromHPCC(t *testing.T, topology, flows string) generate.Imported {
	t.Helper()
	name := ""
	if flows != "" {
		name = "flow.txt"
	}
	x, err := generate.FromHPCC("topology.txt", []byte(topology), name, []byte(flows))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The files of HPCC's simulator are the same after import and export; explanations behind them do
// not count.
func TestHPCCAgain(t *testing.T) {
	t.Parallel()
	double := strings.Replace(strings.Replace(hpccTopology, "7 3 8", "7 3 9", 1), "1 4 ", "0 5 100Gbps 1000ns 0\n1 4 ", 1)
	for _, topology := range []string{hpccTopology, double} {
		x := fromHPCC(t, topology+hpccRest, hpccFlowList+hpccRest)
		s := runtest.Load(t, string(x.Scenario))
		if _, err := fabric.Build(s); err != nil {
			t.Fatal(err)
		}
		if got := string(generate.HPCC(s)); got != topology {
			t.Errorf("got\n%s\nwant\n%s", got, topology)
		}
		flows, left := generate.HPCCFlows(s)
		if string(flows) != hpccFlowList || left != nil {
			t.Errorf("got\n%s%v\nwant\n%s", flows, left, hpccFlowList)
		}
		if want := topology == double; (len(x.Warnings) == 1) != want || len(x.Left) > 0 {
			t.Errorf("left out %q, warned of %q", x.Left, x.Warnings)
		}
	}
}

// A scenario with names of its own has numbers from the hosts on; what HPCC's simulator does not
// have is left out of the flows.
func TestHPCCOfOtherScenario(t *testing.T) {
	t.Parallel()
	s := runtest.Load(t, `
name: own
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 1.5ns, flow-control: pfc}
  switch: {kind: output-queued}
  flow: {packet: 1000B}
switches: {top: {}}
endpoints: [a, b, c]
links: [a - top, b - top, top - c]
flows:
  - {name: late, from: a, to: c, traffic: transfers, size: 1KB, start: 20us}
  - {name: early, from: b, to: c, traffic: transfers, size: 2KB, start: 10us, jitter: 0s}
  - {name: many, from: b, to: c, traffic: transfers, size: 2KB, count: 3}
  - {name: drawn, from: b, to: c, traffic: transfers, size: web-search}
  - {name: greedy, from: a, to: b, traffic: greedy}
`)
	if got, want := string(generate.HPCC(s)), "4 1 3\n3\n0 3 10Gbps 1.5ns 0\n1 3 10Gbps 1.5ns 0\n3 2 10Gbps 1.5ns 0\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	flows, left := generate.HPCCFlows(s)
	if got, want := string(flows), "2\n1 2 0 100 2000 0.00001\n0 2 0 100 1000 0.00002\n"; got != want || len(left) != 3 {
		t.Errorf("got\n%s%q\nwant\n%s", got, left, want)
	}
}

func TestFromHPCCRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topology, flows, want string }{
		{"", "", "t: the file is empty"},
		{"7 3", "", "t:1: the file ends where the number of links is expected"},
		{"7 x 8", "", `t:1: "x" is not the number of switches, a whole number from 0 to 131072`},
		{"2 1 1\n2\n", "", `t:2: "2" is not the number of a switch, a whole number from 0 to 1`},
		{"3 2 1\n1 1\n", "", "t:2: switch 1 is listed twice"},
		{"3 1 1\n2\n0 2 100GB 1us 0\n", "", `t:3: "100GB" is not a rate, such as 100Gbps`},
		{"3 1 1\n2\n0 2 100Gbps soon 0\n", "", `t:3: "soon" is not a delay, such as 1000ns`},
		{"3 1 1\n2\n0 2 100Gbps 0ns 0\n", "", "t:3: a link has a rate above 0, and a delay of at least 1ns"},
		{"3 1 1\n2\n2 2 100Gbps 1ns 0\n", "", "t:3: node 2 is linked to itself"},
		{"3 1 1\n2\n0 2 100Gbps 1ns 0\n", "", "t: fewer than two hosts have links"},
		{hpccTopology, "1\n0 4 3 100 1 2\n", "f:2: node 4 is no host with a link"},
		{hpccTopology, "1\n0 0 3 100 1 2\n", "f:2: host 0 sends to itself"},
		{hpccTopology, "1\n0 1 8 100 1 2\n", `f:2: "8" is not a priority group, a whole number from 0 to 7`},
		{hpccTopology, "1\n0 1 3 100 1 -2\n", `f:2: "-2" is not a start in seconds`},
		{hpccTopology, "2\n0 1 3 100 1 2\n", "f:2: the file ends where the number of a host is expected"},
		{hpccTopology, strings.Repeat(" ", generate.MostBytes+1), "f: the file has more than 16 MiB"},
	} {
		name := ""
		if c.flows != "" {
			name = "f"
		}
		_, err := generate.FromHPCC("t", []byte(c.topology), name, []byte(c.flows))
		if err == nil || err.Error() != c.want || !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%.100q, %.100q: %v, want %s", c.topology, c.flows, err, c.want)
		}
	}
	x := fromHPCC(t, strings.Replace(hpccTopology, "7 3 8", "8 3 7", 1)+"0 4 1Gbps 1ns 0.1\n", "")
	if got := strings.Join(x.Left, "; "); got != "topology.txt:10: what follows the 7 links that the first line announces; topology.txt: node 7: it has no links" {
		t.Error(got)
	}
}

// FuzzFromHPCC: whatever the files hold, FromHPCC reports a mistake or returns a scenario, in which
// a mistake may be found.
func FuzzFromHPCC(f *testing.F) {
	runtest.MinimizeLittle(f)
	f.Add([]byte(hpccTopology), []byte(hpccFlowList))
	for _, b := range runtest.Seeds(runtest.Mutants([]byte(hpccTopology), 100), 20) {
		f.Add(b, []byte(hpccFlowList))
	}
	f.Fuzz(func(t *testing.T, text, flows []byte) {
		checkImported(t, text, func(file string, text []byte) (generate.Imported, error) {
			return generate.FromHPCC(file, text, "file:flows", flows)
		})
	})
}

// Slurm's tree has a line for the switches that are joined below, and one for each leaf with its
// hosts.
func TestSlurm(t *testing.T) {
	t.Parallel()
	of := func(kind string, o generate.Options) string {
		text, err := generate.Write(kind, o)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := generate.Slurm(runtest.Load(t, string(text)))
		if err != nil {
			t.Fatal(err)
		}
		_, lines, _ := strings.Cut(string(tree), "\n") // below the comment
		return lines
	}
	for _, c := range []struct{ name, got, want string }{
		{"leaves and spines", of("leaf-spine", generate.Options{Leaves: 3, PerLeaf: 2}),
			"SwitchName=leaf1 Nodes=h[1-2]\nSwitchName=leaf2 Nodes=h[3-4]\nSwitchName=leaf3 Nodes=h[5-6]\nSwitchName=spine1 Switches=leaf[1-3]\n"},
		{"a fat tree", of("fat-tree", generate.Options{Ports: 4, Pods: 2}),
			"SwitchName=leaf1 Nodes=h[1-2]\nSwitchName=leaf2 Nodes=h[3-4]\nSwitchName=leaf3 Nodes=h[5-6]\nSwitchName=leaf4 Nodes=h[7-8]\n" +
				"SwitchName=top1-1 Switches=leaf[1-2]\nSwitchName=top2-1 Switches=leaf[3-4]\nSwitchName=core1 Switches=top1-1,top2-1\n"},
		{"a chain", of("parking-lot", generate.Options{Endpoints: 3}),
			"SwitchName=s1 Nodes=e1\nSwitchName=s2 Nodes=e2,sink\nSwitchName=fabric Switches=s[1-2]\n"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, c.got, c.want)
		}
	}
}
