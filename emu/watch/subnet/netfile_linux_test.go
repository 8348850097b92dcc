package subnet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/subnet"
	"fabemu/wire/unit"
)

// imported returns the fabric of an InfiniBand topology.
func imported(t testing.TB, text string) *fabric.Fabric {
	t.Helper()
	x, err := generate.FromNet("net", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load("net", x.Scenario, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// exported returns the topology of a fabric as ibnetdiscover prints it.
func exported(t testing.TB, f *fabric.Fabric) string {
	t.Helper()
	n, err := subnet.New(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := n.WriteNet(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// layout describes the links of a fabric, with the ports at both ends, in a fixed order: LIDs may
// differ. Names of links count if named says so.
func layout(f *fabric.Fabric, named bool) string {
	var all []string
	for i := range f.Wires {
		w := &f.Wires[i]
		var ends []string
		for _, e := range w.Ends {
			ends = append(ends, fmt.Sprintf("%s[%d]", f.Nodes[e.Node].Name, e.Port+1))
		}
		slices.Sort(ends)
		line := strings.Join(ends, " - ") + " " + w.Link.Rate.InBits()
		if named && w.Named() {
			line += " " + w.Name
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// throughIbsim returns what ibnetdiscover prints of a topology that stock ibsim has read.
func throughIbsim(t *testing.T, text string) string {
	t.Helper()
	library, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	if len(library) == 0 {
		t.Skip("there is no libumad2sim.so")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "net")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), fmt.Sprintf("IBSIM_SOCKNAME=net-%x", rand.Uint64()))
	sim := exec.CommandContext(t.Context(), "ibsim", "-s", file)
	sim.Env, sim.Dir = env, dir
	input, err := sim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	sim.Stdout, sim.Stderr = &said, &said
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		input.Close()
		sim.Process.Kill()
		sim.Wait()
	}()
	var out []byte
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c := exec.CommandContext(t.Context(), "timeout", "-k", "5", "60", "ibnetdiscover")
		c.Dir, c.Env = dir, append(env, "LD_PRELOAD="+library[0])
		if out, err = c.Output(); err == nil && len(out) > 0 {
			return string(out)
		}
		if time.Now().After(until) {
			t.Fatalf("ibnetdiscover: %v", err)
		}
	}
}

// A cluster of 600 nodes: hosts with one port, leaves and spines of 64 ports, and 263 pairs of a
// leaf and a spine that two links join. Ports are used from both ends of a switch.
func cluster(speed string) string {
	const leaves, spines, hosts, pairs = 34, 22, 16, 263
	ports := map[string][]string{}
	link := func(a string, pa int, b string, pb int) {
		ports[a] = append(ports[a], fmt.Sprintf("[%d]\t%q[%d]\t\t# %q lid 0 %s\n", pa, b, pb, b+" MF0", speed))
		ports[b] = append(ports[b], fmt.Sprintf("[%d]\t%q[%d]\t\t# %q lid 0 %s\n", pb, a, pa, a+" MF0", speed))
	}
	var order []string
	up, down := make([]int, leaves), make([]int, spines)
	double := 0
	for l := range leaves {
		leaf := fmt.Sprintf("leaf%02d", l)
		order = append(order, leaf)
		for h := range hosts {
			host := fmt.Sprintf("host%02d-%02d", l, h)
			order = append(order, host)
			link(leaf, 2*h+1, host, 1)
		}
		for s := range spines {
			for range 1 + min(1, (pairs*(l*spines+s+1))/(leaves*spines)-(pairs*(l*spines+s))/(leaves*spines)) {
				link(leaf, 64-up[l], fmt.Sprintf("spine%02d", s), 1+down[s])
				up[l]++
				down[s]++
			}
			double += (pairs*(l*spines+s+1))/(leaves*spines) - (pairs*(l*spines+s))/(leaves*spines)
		}
	}
	for s := range spines {
		order = append(order, fmt.Sprintf("spine%02d", s))
	}
	if len(order) != 600 || double != pairs {
		panic(fmt.Sprint(len(order), double))
	}
	var b strings.Builder
	for i, name := range order {
		kind, n := "Switch", 64
		if strings.HasPrefix(name, "host") {
			kind, n = "Ca", 1
		}
		fmt.Fprintf(&b, "%sguid=0x%x\n%s\t%d %q\t\t# %q\n%s\n", map[string]string{"Ca": "ca", "Switch": "switch"}[kind], 0x200000+i*0x100, kind, n, name,
			name+" MF0", strings.Join(ports[name], ""))
	}
	return b.String()
}

// A topology is the same fabric after stock ibsim has read it and ibnetdiscover has found it, and
// so is the fabric that export writes for ibsim. Only the names of links have the port numbers of
// their file.
func TestNetThroughIbsim(t *testing.T) {
	runtest.NeedTools(t, "ibsim", "ibnetdiscover")
	nets := map[string]string{"cluster": cluster("4xHDR")}
	examples, _ := filepath.Glob("/usr/share/doc/ibsim-utils/net-examples/net*")
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		nets[filepath.Base(file)] = string(text)
	}
	nets["widths"] = `
Switch 4 "S"
[1] "A"[1] w=1 s=1
[2] "B"[1] w=12 s=4 e=4
[3] "C"[1] w=16 s=2
[4] "D"[1] w=4 s=4 e=1
Ca 1 "A"
[1] "S"[1] w=3
Ca 1 "B"
[1] "S"[2] w=31 s=7 e=7
Ca 1 "C"
[1] "S"[3] w=16 s=7
Ca 1 "D"
[1] "S"[4] w=4 s=4 e=1
`
	for name, text := range nets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := imported(t, text)
			if got, want := layout(imported(t, throughIbsim(t, text)), true), layout(f, true); got != want {
				t.Errorf("of the file, ibnetdiscover sees\n%s\nimport has\n%s", got, want)
			}
			if got, want := layout(imported(t, throughIbsim(t, exported(t, f))), false), layout(f, false); got != want {
				t.Errorf("of the exported file, ibnetdiscover sees\n%s\nimport has\n%s", got, want)
			}
		})
	}
}

// What export writes is the same fabric when it is imported, with every width and speed, and with
// more speeds than ibsim knows.
func TestNetAgain(t *testing.T) {
	t.Parallel()
	f := imported(t, cluster("4xNDR"))
	if got, want := layout(imported(t, exported(t, f)), false), layout(f, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	named := 0
	for i := range f.Wires {
		if f.Wires[i].Named() {
			named++
		}
	}
	if len(f.Nodes) != 600 || named != 2*263 {
		t.Errorf("%d nodes, and %d links that have a name because another joins the same switches", len(f.Nodes), named)
	}
	for speed, lane := range generate.LaneRates() {
		for _, width := range []int{1, 2, 4, 8, 12} {
			word := fmt.Sprintf("%dx%s", width, speed)
			f := imported(t, fmt.Sprintf("Switch 2 \"S\"\n[1] \"A\"[1] # \"A\" lid 0 %[1]s\n[2] \"B\"[1] # \"B\" lid 0 %[1]s\nCa 1 \"A\"\nCa 1 \"B\"\n", word))
			if got := f.Wires[0].Link.Rate; got != lane*unit.Rate(width) {
				t.Errorf("%s: %v", word, got)
			}
			again := imported(t, exported(t, f)).Wires[0].Link.Rate
			if speed != "FDR10" && again != f.Wires[0].Link.Rate { // PortInfo has no code for FDR10
				t.Errorf("%s, exported and imported: %s, not %s", word, again.InBits(), f.Wires[0].Link.Rate.InBits())
			}
		}
	}
}

// Programs run on a node whose name libumad2sim cuts: by its ClientName, by the cut name if no
// other node has it, and as the first endpoint.
func TestLongNames(t *testing.T) {
	runtest.NeedTools(t, "ibnetdiscover")
	const first, twin, other = "Mellanox-Technologies-Aggregation-Node", "Mellanox-Technologies-Aggregation-Twin", "a-name-that-has-37-characters-in-all-"
	v := serve(t, runtest.Load(t, fmt.Sprintf(`
name: long
model: {duration: 1ms}
defaults:
  link: {rate: 8Gb/s}
  flow: {packet: 2048B, traffic: greedy}
switches: {L: {}}
endpoints: [%[1]s, %[2]s, %[3]s]
links: [%[1]s - L, %[2]s - L, %[3]s - L]
flows:
  - {name: f, from: %[1]s, to: %[2]s}
`, first, twin, other)))
	for _, host := range []string{"", subnet.ClientName(first), subnet.ClientName(twin), subnet.ClientName(other), other, "L"} {
		seen := v.run(t, host, "ibnetdiscover")
		for _, name := range []string{first, twin, other} {
			if !strings.Contains(seen, `"`+name+`"`) {
				t.Errorf("from %q, ibnetdiscover does not see %s:\n%s", host, name, seen)
			}
		}
	}
	if out, err := v.command(first, "ibnetdiscover").CombinedOutput(); err == nil { // it and its twin look the same
		t.Errorf("from the name of two nodes: %s", out)
	}
}
