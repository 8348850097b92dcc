//go:build soak

package subnet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/lint"
)

// tangled is a subnet of 5 to 9 switches with one or two endpoints each, in a ring or a tree with
// random links in addition, and flows between all endpoints. Links have 8 lanes.
func tangled(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 73))
	var switches, endpoints, links, flows []string
	joined := map[[2]int]bool{}
	link := func(a, b int) {
		if a, b = min(a, b), max(a, b); a != b && !joined[[2]int{a, b}] {
			joined[[2]int{a, b}] = true
			links = append(links, fmt.Sprintf("  - s%d - s%d\n", a, b))
		}
	}
	n, ring := 5+r.IntN(5), r.IntN(3) > 0
	for i := range n {
		switches = append(switches, fmt.Sprintf("s%d: {}", i))
		for range 1 + r.IntN(2) {
			h := fmt.Sprintf("h%d", len(endpoints))
			endpoints = append(endpoints, h)
			links = append(links, fmt.Sprintf("  - %s - s%d\n", h, i))
		}
		switch {
		case ring:
			link(i, (i+1)%n)
		case i > 0:
			link(i, r.IntN(i))
		}
	}
	for range r.IntN(n) {
		link(r.IntN(n), r.IntN(n))
	}
	for _, a := range endpoints {
		for _, b := range endpoints {
			if a != b {
				flows = append(flows, fmt.Sprintf("  - {name: %s-%s, from: %s, to: %s}\n", a, b, a, b))
			}
		}
	}
	return fmt.Sprintf(`name: tangled-%d
model: {duration: 1ms}
defaults:
  link: {rate: 25Gb/s, propagation: 10ns, flow-control: credit, buffer: 4 packets, lanes: {max-vls: 8}}
  flow: {traffic: greedy, packet: 2048B}
switches: {%s}
endpoints: [%s]
links:
%sflows:
%s`, seed, strings.Join(switches, ", "), strings.Join(endpoints, ", "), strings.Join(links, ""), strings.Join(flows, ""))
}

// firstSwitch is the GUID of the first switch of a scenario.
const firstSwitch = "0x02fabe0000000100\n"

// manage has OpenSM bring the subnet up with a routing engine and a map from service levels to
// lanes, and stay until the service levels of all paths are known.
func (v *site) manage(t *testing.T, engine, lanes string) {
	t.Helper()
	options, log := filepath.Join(v.dir, "opensm.conf"), filepath.Join(v.dir, "opensm.log")
	if err := os.WriteFile(options, []byte("qos TRUE\nqos_max_vls 8\nqos_sl2vl "+lanes+"\nforce_log_flush TRUE\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	roots := filepath.Join(v.dir, "roots") // of updn, which finds none on such subnets and would do what minhop does
	if err := os.WriteFile(roots, []byte(firstSwitch), 0o666); err != nil {
		t.Fatal(err)
	}
	c := v.command("", "opensm", "-F", options, "-R", engine, "-a", roots, "-D", "0xff", "-f", log)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := v.Wait(ctx)
	c.Process.Signal(os.Interrupt)
	c.Wait()
	text, _ := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), "SUBNET UP") {
		t.Fatalf("opensm -R %s: the subnet is not up: %v", engine, err)
	}
}

var (
	subnetCA  = regexp.MustCompile(`\{ CA(?:-SM)? Ports:\S+ SystemGUID:\S+ NodeGUID:(\S+) PortGUID:\S+ VenID:\S+ DevID:\S+ Rev:\S+ \{([^}]*)\} LID:(\S+)`)
	slSwitch  = regexp.MustCompile(`^Switch (0x[0-9a-f]+),`)
	slRow     = regexp.MustCompile(`^(\d+)\s+(\d+)\s+:((?:\s+\d+){16})`)
	noLoops   = "-I- no credit loops found"
	someLoops = "-E- credit loops in routing"
)

// hasLoops returns whether ibdmchk finds a loop on the paths between channel adapters, in the dumps
// of OpenSM, with the service levels of flows and OpenSM's lanes.
func (v *site) hasLoops(t *testing.T, flows []scenario.Flow) bool {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(v.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	guids, lids := map[string]string{}, map[string]string{}
	for _, m := range subnetCA.FindAllStringSubmatch(read("opensm-subnet.lst"), -1) {
		guids[m[2]], lids[m[2]] = m[1], m[3]
	}
	var levels, lanes strings.Builder
	for _, f := range flows {
		var lid int
		fmt.Sscanf(lids[f.To], "%x", &lid)
		fmt.Fprintf(&levels, "0x%s %d %d\n", guids[f.From], lid, f.SL)
	}
	at := ""
	for line := range strings.Lines(read("opensm-sl2vl.dump")) {
		if m := slSwitch.FindStringSubmatch(line); m != nil {
			at = m[1]
		} else if m := slRow.FindStringSubmatch(line); m != nil && m[1] != "0" {
			fmt.Fprintf(&lanes, "%s %s %s", at, m[1], m[2])
			for k, vl := range strings.Fields(m[3]) {
				n, _ := strconv.Atoi(vl)
				lanes.WriteString([]string{" 0x", ""}[k%2] + fmt.Sprintf("%x", n))
			}
			lanes.WriteByte('\n')
		}
	}
	for name, text := range map[string]string{"levels": levels.String(), "lanes": lanes.String()} {
		if err := os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", "-c", "levels", "-d", "lanes")
	c.Dir = v.dir
	said, _ := c.CombinedOutput() // it fails if it finds something, and version 1.5.7 crashes when all is said
	free, loops := strings.Contains(string(said), noLoops), strings.Contains(string(said), someLoops)
	if free == loops {
		t.Fatalf("ibdmchk says\n%s", said)
	}
	return loops
}

// The static check agrees with ibdmchk, of the Debian package ibutils, on the tables of OpenSM: on
// 200 random subnets, with each of four routing engines. Both look at the paths between channel
// adapters: ibdmchk has no option -a, which adds paths of switches that no flow takes. On every
// other subnet all service levels share a lane, which takes from dfsssp and lash what keeps them
// free of deadlocks.
func TestSoakCyclesAsIbdmchk(t *testing.T) {
	runtest.NeedTools(t, "opensm", "ibdmchk")
	const subnets = 200
	identity, single := "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7", strings.Repeat("0,", 15)+"0"
	type found struct{ ours, theirs bool }
	for _, engine := range []string{"minhop", "updn", "dfsssp", "lash"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			counts := map[string]map[found]int{identity: {}, single: {}}
			for seed := range uint64(subnets) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					text, lanes := tangled(seed), []string{identity, single}[seed%2]
					v := serve(t, runtest.Load(t, text))
					v.manage(t, engine, lanes)
					s := v.Scenario()
					d := lint.FindDeadlock(s, scenario.PathTableOf(s))
					f := found{d != nil, v.hasLoops(t, s.Flows)}
					if counts[lanes][f]++; f.ours != f.theirs {
						t.Errorf("%s, lanes %s: we find %v, ibdmchk finds a loop: %v\n%s", engine, lanes, d, f.theirs, text)
					}
				})
			}
			for lanes, c := range counts {
				if mayLoop := engine == "minhop" || engine != "updn" && lanes == single; mayLoop && c[found{true, true}] == 0 {
					t.Errorf("%s, lanes %s: no subnet has a loop", engine, lanes)
				}
				t.Logf("%s, lanes %s: both find a loop %d times, none %d times; we alone %d times, ibdmchk alone %d times", engine, lanes,
					c[found{true, true}], c[found{false, false}], c[found{true, false}], c[found{false, true}])
			}
		})
	}
}
