//go:build soak

package measure

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario/resolve"
)

// The run of which TestFiguresDomains counts the cost, in a process of its own.
const domainsOfRun, setsOfRun, fabricOfRun = "FABEMU_DOMAINS", "FABEMU_SETS", "FABEMU_FABRIC"

// TestFiguresRunInDomains is that process.
func TestFiguresRunInDomains(t *testing.T) {
	domains, err := strconv.Atoi(os.Getenv(domainsOfRun))
	if err != nil {
		t.Skip("TestFiguresDomains runs it")
	}
	text, err := os.ReadFile(os.Getenv(fabricOfRun))
	if err != nil {
		t.Fatal(err)
	}
	sets := strings.Fields(os.Getenv(setsOfRun) + " defaults.flow.traffic=constant defaults.flow.load=0.5")
	s, err := resolve.Load("fabric.yaml", text, runtest.Sets(t, sets...))
	if err != nil {
		t.Fatal(err)
	}
	out, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Loops: 1}, Domains: domains})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("hops=%d\n", out.Verdict.Order.Frames)
}

// The domains that are chosen for one loop cost at most 3 % more than one domain. A cost is that of
// cachegrind's usual model: an instruction is 1, a miss of the first cache 10, and one of the last,
// which has 2 MB here, 100.
func TestFiguresDomains(t *testing.T) {
	runtest.NeedTools(t, "valgrind")
	program := t.TempDir() + "/fabemu"
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/fabemu").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		k           int
		rate, delay string
		short, long int    // µs
		control     string // flow control; with credit, frames have answers
	}{
		{8, "100Gb/s", "500ns", 10, 30, "none"},
		{14, "40Gb/s", "500ns", 10, 20, "none"},
		{14, "40Gb/s", "500ns", 10, 20, "credit"},
		{14, "60Gb/s", "500ns", 10, 15, "none"},
		{14, "100Gb/s", "500ns", 10, 15, "none"},
		{16, "100Gb/s", "500ns", 10, 15, "none"},
	} {
		t.Run(fmt.Sprint(c.k, " ", c.rate, " ", c.delay, " ", c.control), func(t *testing.T) {
			text, err := exec.Command(program, "generate", "fat-tree", "--k", strconv.Itoa(c.k), "--flow-control", c.control, "--delay", c.delay).Output()
			if err != nil {
				t.Fatal(err)
			}
			file := t.TempDir() + "/fabric.yaml"
			if err := os.WriteFile(file, bytes.Replace(text, []byte("window: 7"), []byte("window: 64"), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			var perHop [2]float64
			for domains := range perHop { // 0: as many as are chosen
				few, begun := cost(t, file, domains, c.rate, c.short)
				many, ended := cost(t, file, domains, c.rate, c.long)
				perHop[domains] = (many - few) / (ended - begun)
			}
			ratio := perHop[0] / perHop[1]
			t.Logf("%.0f for a hop, in one domain %.0f: %.3f", perHop[0], perHop[1], ratio)
			if math.IsNaN(ratio) || ratio > 1.03 {
				t.Errorf("the domains that are chosen cost %.1f %% more than one", 100*(ratio-1))
			}
		})
	}
}

// cost returns what a run costs, and its hops.
func cost(t *testing.T, file string, domains int, rate string, us int) (cost, hops float64) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "valgrind", "--tool=cachegrind", "--cache-sim=yes", "--LL=2097152,16,64", "--cachegrind-out-file=/dev/null",
		os.Args[0], "-test.run=^TestFiguresRunInDomains$", "-test.v")
	c.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1",
		domainsOfRun+"="+strconv.Itoa(domains), fabricOfRun+"="+file,
		fmt.Sprintf("%s=defaults.link.rate=%s model.duration=%dus measure.window=%dus", setsOfRun, rate, us, us))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	figure := func(pattern string) float64 {
		m := regexp.MustCompile(pattern).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no %s in\n%s", pattern, out)
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := figure(`I1 +misses: +([0-9,]+)`) + figure(`D1 +misses: +([0-9,]+)`)
	return figure(`I +refs: +([0-9,]+)`) + 10*first + 100*figure(`LL misses: +([0-9,]+)`), figure(`hops=([0-9]+)`)
}
