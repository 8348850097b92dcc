package subnet_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/watch/subnet"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// fatTree is a fat tree of endpoints.
func fatTree(t testing.TB, endpoints int) *scenario.Scenario {
	t.Helper()
	text, err := generate.Write("fat-tree", generate.Options{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	return runtest.Load(t, string(text))
}

// site is a subnet that programs can see.
type site struct {
	*subnet.Server
	fabric *fabric.Fabric
	dir    string
	env    []string
}

// serve serves the subnet of a scenario.
func serve(t testing.TB, s *scenario.Scenario) *site {
	t.Helper()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	n, err := subnet.New(f)
	if err != nil {
		t.Fatal(err)
	}
	v, err := subnet.Listen(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	dir := t.TempDir()
	library, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	if len(library) == 0 {
		t.Skip("there is no libumad2sim.so")
	}
	return &site{v, f, dir, append(os.Environ(), "IBSIM_SOCKNAME="+v.Name(), "LD_PRELOAD="+library[0], "OSM_CACHE_DIR="+dir, "OSM_TMP_DIR="+dir)}
}

// command returns a program that sees the subnet from a node.
func (v *site) command(node, name string, args ...string) *exec.Cmd {
	c := exec.Command("timeout", append([]string{"-k", "5", "60", name}, args...)...)
	c.Dir, c.Env = v.dir, append(v.env, "SIM_HOST="+node)
	return c
}

// run runs a program to its end, and returns its output.
func (v *site) run(t testing.TB, node, name string, args ...string) string {
	t.Helper()
	c := v.command(node, name, args...)
	var errors bytes.Buffer
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s%+v", name, args, err, out, &errors, counts(v.Server))
	}
	return string(out)
}

// sweep makes OpenSM bring the subnet up once, without an error in its log.
func (v *site) sweep(t testing.TB, args ...string) {
	t.Helper()
	log := filepath.Join(v.dir, "opensm.log")
	os.Remove(log)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	up := make(chan error, 1)
	wait := func() { up <- v.Wait(ctx) }
	inBand := v.fabric.Scenario.Subnet.InBand
	if inBand {
		go wait() // which has the MADs carried
	}
	v.run(t, "", "opensm", append([]string{"-o", "-f", log}, args...)...)
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), "SUBNET UP") {
		t.Fatalf("opensm %v: the subnet is not up: %v\n%s", args, err, text)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "ERR ") {
			t.Errorf("opensm %v: %s", args, line)
		}
	}
	if !inBand {
		wait()
	}
	if err := <-up; err != nil {
		t.Errorf("opensm %v: %v", args, err)
	}
}

// OpenSM brings up several fabrics. ibnetdiscover then sees the scenario, node by node and link by
// link, with the LIDs of the run's frames. Its output is a scenario with the same fabric. MADs may
// cross the links.
func TestOpenSM(t *testing.T) {
	runtest.NeedTools(t, "opensm", "ibnetdiscover")
	text, err := builtin.Read("hpl2002/fig2")
	if err != nil {
		t.Fatal(err)
	}
	fig2 := runtest.Load(t, string(text))
	// With sl: 1 nobody asks opensm for a path while it ends, when libumad2sim may wait for its own
	// thread.
	inBand := runtest.Load(t, strings.Replace(torus, "packet: 2048B", "packet: 2048B, sl: 1", 1)+"subnet: {in-band: true}\n")
	inBand.Name += "-in-band"
	for _, s := range []*scenario.Scenario{fig2, fatTree(t, 128), runtest.Load(t, torus), inBand} {
		t.Run(strings.ReplaceAll(s.Name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			v := serve(t, s)
			v.sweep(t)
			if up := counts(v.Server).UpPs; (up > 0) != s.Subnet.InBand {
				t.Errorf("up after %d ps of model time", up)
			}
			seen := v.run(t, "", "ibnetdiscover")
			if got, want := picture(t, seen, true), pictureOf(v.fabric); got != want {
				t.Errorf("ibnetdiscover sees\n%s\nthe scenario has\n%s", got, want)
			}
			x, err := generate.FromNet("seen", []byte(seen))
			if err != nil {
				t.Fatal(err)
			}
			again, err := fabric.Build(runtest.Load(t, string(x.Scenario)))
			if err != nil {
				t.Fatal(err)
			}
			n, err := subnet.New(again)
			if err != nil {
				t.Fatal(err)
			}
			var net bytes.Buffer
			n.WriteNet(&net)
			if got, want := picture(t, net.String(), false), picture(t, seen, false); got != want {
				t.Errorf("imported and exported:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// In-band, the model time until the subnet is up depends on the latency of links.
func TestOpenSMInBandTakesModelTime(t *testing.T) {
	runtest.NeedTools(t, "opensm")
	up := map[string]int64{}
	for _, latency := range []string{"10ns", "10us"} {
		v := serve(t, runtest.Load(t, strings.NewReplacer("propagation: 1us", "propagation: "+latency, "window: 8", "window: 8, sl: 1").Replace(row)))
		v.sweep(t)
		up[latency] = counts(v.Server).UpPs
	}
	if up["10ns"] < 10_000_000 || up["10us"] < 5*up["10ns"] { // 10 us; a link takes 0.3 us, or 10.3
		t.Errorf("%v ps", up)
	}
}

var (
	seenNode = regexp.MustCompile(`(?m)^(?:Switch|Ca)\s+(\d+) "[^"]+"\s+# "([^"]+)"(?: base port 0 lid (\d+))?`)
	seenPort = regexp.MustCompile(`^\[(\d+)\](?:\([0-9a-f]+\))?\s+"[^"]+"\[(\d+)\](?:\([0-9a-f]+\))?\s+#(?: lid (\d+) lmc 0)? "([^"]+)"(?: lid \d+)? (\d+x\w+)`)
)

// picture returns the content of the output of ibnetdiscover: a line for each node and port,
// sorted.
func picture(t testing.TB, text string, lids bool) string {
	t.Helper()
	var all []string
	node, lid := "", ""
	for line := range strings.Lines(text) {
		if m := seenNode.FindStringSubmatch(line); m != nil {
			node, lid = m[2], m[3]
		} else if m := seenPort.FindStringSubmatch(line); m != nil {
			if m[3] != "" {
				lid = m[3]
			}
			at := node + "[" + m[1] + "]"
			if lids {
				at += " LID " + lid
			}
			all = append(all, fmt.Sprintf("%s: %s[%s] %s", at, m[4], m[2], m[5]))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// pictureOf returns the picture of a fabric.
func pictureOf(f *fabric.Fabric) string {
	var all []string
	for i := range f.Nodes {
		for k, p := range f.Nodes[i].Ports {
			peer := f.Peer(p)
			speed := map[float64]string{8: "4xSDR", 25: "1xEDR"}[float64(f.Wires[p.Wire].Link.Rate)/1e9]
			all = append(all, fmt.Sprintf("%s[%d] LID %d: %s[%d] %s", f.Nodes[i].Name, k+1, f.Nodes[i].LID, f.Nodes[peer.Node].Name, peer.Port+1, speed))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// tracer records the path of the first packet of each flow, link by link as ibtracert prints it.
type tracer struct {
	fabric *fabric.Fabric
	path   map[uint32][]string
}

func (r *tracer) Record(e *trace.Event) {
	if kind, _, _ := trace.FrameOf(e.A); e.Kind == trace.Start && kind == wire.Data && e.PSN == 0 {
		r.path[e.Flow] = append(r.path[e.Flow], hopOf(r.fabric, e.Node, e.Port))
	}
}

// hopOf describes a link as ibtracert prints it: the ports of its ends, and the LID of the far one.
func hopOf(f *fabric.Fabric, node int32, out uint16) string {
	to := f.Peer(f.Nodes[node].Ports[out])
	return fmt.Sprintf("[%d] -> [%d] %d", out+1, to.Port+1, f.Nodes[to.Node].LID)
}

// tablesOf reads the forwarding tables of all switches with dump_fts: by name of the switch and
// LID, the number of the port.
func (v *site) tablesOf(t *testing.T) map[string]map[wire.LID]int {
	all, name := map[string]map[wire.LID]int{}, ""
	for line := range strings.Lines(v.run(t, "", "dump_fts")) {
		if m := regexp.MustCompile(`^Unicast lids .* \((.*)\):`).FindStringSubmatch(line); m != nil {
			name = m[1]
			all[name] = map[wire.LID]int{}
		}
		var lid wire.LID
		var port int
		if n, _ := fmt.Sscanf(line, "0x%x %d", &lid, &port); n == 2 {
			all[name][lid] = port
		}
	}
	return all
}

// The forwarding tables of a routing engine are the routes of the run: the frames of flows between
// all pairs take the path that the tables show, which dump_fts reads from the switches. ibtracert
// shows the same for some pairs, and with the tag soak for all pairs of 128 endpoints.
func TestModelPathsOfEngines(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "opensm", "ibtracert", "dump_fts")
	for engine, endpoints := range map[string]int{"minhop": 16, "updn": 16, "ftree": 128, "dor": 16} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := fatTree(t, endpoints)
			var pairs [][2]int
			for i := range endpoints {
				for k := range endpoints {
					if i != k {
						pairs = append(pairs, [2]int{i, k})
					}
				}
			}
			flow := s.Flows[0]
			s.Flows, s.Model.Duration = nil, map[int]unit.Duration{16: 2 * unit.Millisecond, 128: 700 * unit.Microsecond}[endpoints]
			for i, p := range pairs {
				flow.Name, flow.Group = fmt.Sprint("flow", i), fmt.Sprint("flow", i)
				flow.From, flow.To = s.Endpoints[p[0]].Name, s.Endpoints[p[1]].Name
				s.Flows = append(s.Flows, flow)
			}
			v := serve(t, s)
			v.sweep(t, "-R", engine)
			f, err := fabric.Build(v.Scenario())
			if err != nil {
				t.Fatal(err)
			}
			seen := &tracer{f, map[uint32][]string{}}
			events := trace.NewBatch(1, seen)
			run, err := assemble.New(f, assemble.Schemes{}, events)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (drive.Virtual{}).Run(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			events.Flush()
			tables := v.tablesOf(t)
			for i := range f.Flows {
				var want []string
				at, dst := int32(f.Flows[i].Src), &f.Nodes[f.Flows[i].Dst]
				for out := 1; f.Nodes[at].Name != dst.Name && len(want) < 10 && out > 0; out = tables[f.Nodes[at].Name][dst.LID] {
					want = append(want, hopOf(f, at, uint16(out-1)))
					at = int32(f.Peer(f.Nodes[at].Ports[out-1]).Node)
				}
				if got := seen.path[f.Flows[i].QP]; !slices.Equal(got, want) || f.Nodes[at].Name != dst.Name {
					t.Fatalf("from %s to %s frames take\n%v, and the tables lead to %s by\n%v", f.Nodes[f.Flows[i].Src].Name, dst.Name, got, f.Nodes[at].Name, want)
				}
			}
			random := rand.New(rand.NewPCG(1, 1))
			hop := regexp.MustCompile(`(?m)^(?:\[(\d+)\] -> \w+ port \{[0-9a-fx]+\}\[(\d+)\] lid (\d+)-)`)
			for i := range f.Flows {
				if random.IntN(len(f.Flows)) > 5 && !(everyPair && endpoints == 128) {
					continue
				}
				var got []string
				src, dst := f.Nodes[f.Flows[i].Src].LID, f.Nodes[f.Flows[i].Dst].LID
				out := v.run(t, "", "ibtracert", "-t", "10000", fmt.Sprint(src), fmt.Sprint(dst)) // ms, for a busy machine
				for _, m := range hop.FindAllStringSubmatch(out, -1) {
					got = append(got, fmt.Sprintf("[%s] -> [%s] %s", m[1], m[2], m[3]))
				}
				if want := seen.path[f.Flows[i].QP]; !slices.Equal(got, want) {
					t.Fatalf("ibtracert from %d to %d:\n%s\ngot  %v\nwant %v", src, dst, out, got, want)
				}
			}
		})
	}
}

// The commands of the guide succeed on its scenarios, one after another.
func TestGuide(t *testing.T) {
	runtest.NeedTools(t, "opensm", "ibnetdiscover", "ibtracert", "perfquery", "ibportstate", "ibccconfig", "ibccquery")
	for _, g := range []struct {
		page     string
		scenario func(page string) *scenario.Scenario
	}{
		{"infiniband", func(string) *scenario.Scenario { return runtest.Load(t, runtest.Text(t, "infiniband/opensm")) }},
		{"subnet", func(page string) *scenario.Scenario {
			_, text, _ := strings.Cut(page, "```text\n")
			text, _, _ = strings.Cut(text, "```")
			x, err := generate.FromNet("subnet.txt", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return runtest.Load(t, string(x.Scenario))
		}},
	} {
		t.Run(g.page, func(t *testing.T) {
			page, err := os.ReadFile("../../../docs/guide/" + g.page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			v := serve(t, g.scenario(string(page)))
			commands := regexp.MustCompile(`(?m)^fabemu subnet exec -- (\w+) ?(.*)$`).FindAllStringSubmatch(string(page), -1)
			if len(commands) < 9 || commands[0][1] != "opensm" {
				t.Fatalf("%d commands: %q", len(commands), commands)
			}
			v.sweep(t)
			for _, c := range commands[1:] {
				v.run(t, "", c[1], strings.Fields(c[2])...)
			}
		})
	}
}

// A subnet manager that dies in the middle of a sweep frees its slot, and the next one brings the
// subnet up. If two run at once, one becomes the master.
func TestManagersThatDie(t *testing.T) {
	runtest.NeedTools(t, "opensm", "sminfo")
	v := serve(t, fatTree(t, 128))
	first := v.command("", "opensm", "-f", filepath.Join(v.dir, "first.log"), "-t", "100")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "the first manager sends MADs", func() bool { return counts(v.Server).MADs > 50 })
	exec.Command("pkill", "-KILL", "-P", fmt.Sprint(first.Process.Pid)).Run()
	first.Process.Kill()
	first.Wait()
	v.sweep(t)
	// The first manager may hand over to the second while that still discovers the subnet, and both
	// stand by then: OpenSM asks the other for its state every 10 s, and after five such times it
	// becomes the master.
	options := filepath.Join(v.dir, "managers.conf")
	if err := os.WriteFile(options, []byte("sminfo_polling_timeout 500\npolling_retry_number 2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var lids []string
	for i, k := range []int{0, 5} {
		e := v.fabric.Scenario.Endpoints[k].Name
		c := v.command(e, "opensm", "-F", options, "-f", filepath.Join(v.dir, fmt.Sprint(i, ".log")), "-p", fmt.Sprint(5+i))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Signal(os.Interrupt); c.Wait() })
		lids = append(lids, fmt.Sprint(v.fabric.Nodes[v.fabric.Paths.Index[e]].LID))
	}
	runtest.Await(t, "the manager of the higher priority is the master, and the other stands by", func() bool {
		time.Sleep(200 * time.Millisecond)
		other := v.fabric.Scenario.Endpoints[9].Name
		// On a busy machine sminfo may hang at its end, because libumad2sim frees a mutex that its
		// thread still uses.
		low, _ := v.command(other, "timeout", "5", "sminfo", lids[0]).CombinedOutput()
		high, _ := v.command(other, "timeout", "5", "sminfo", lids[1]).CombinedOutput()
		return bytes.Contains(low, []byte("SMINFO_STANDBY")) && bytes.Contains(high, []byte("SMINFO_MASTER"))
	})
}
