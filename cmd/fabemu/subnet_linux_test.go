package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
)

// underSubnet starts a run that waits for a subnet manager, and has opensm bring the subnet up. It goes on until the end of the
// test if sweeps is "on"; else it sweeps once, with that routing engine. The function that it returns runs other programs on the run.
func underSubnet(t *testing.T, dir string, sweeps string, args ...string) (*exec.Cmd, func(program ...string) (string, error)) {
	t.Helper()
	on := func(program ...string) (string, error) {
		c := exec.Command("timeout", append([]string{"60", binary, "subnet", "exec", "--run", "results/lab", "--"}, program...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "OSM_TMP_DIR="+dir)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	run := exec.Command(binary, append([]string{"run", "--subnet=1m", "--quiet", "--out", "results/lab"}, args...)...)
	var said strings.Builder
	run.Dir, run.Stdout, run.Stderr = dir, &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Process.Kill()
		run.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	runtest.Await(t, "the run waits for a manager", func() bool { return exists(filepath.Join(dir, "results/lab", subnetFile)) })
	if sweeps != "on" {
		if out, err := on("opensm", "-o", "-R", sweeps, "-f", filepath.Join(dir, "opensm.log")); err != nil {
			t.Fatalf("opensm: %v\n%s", err, out)
		}
		if slices.Contains(args, "virtual") {
			return run, on
		}
	} else {
		options := filepath.Join(dir, "opensm.conf")
		if err := os.WriteFile(options, []byte("force_log_flush TRUE\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(binary, "subnet", "exec", "--run", "results/lab", "--", "opensm", "-F", options, "-f", filepath.Join(dir, "opensm.log"))
		c.Dir, c.Env = dir, append(os.Environ(), "OSM_TMP_DIR="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Signal(os.Interrupt); c.Wait() })
	}
	runtest.Await(t, "the run answers", func() bool { _, code := control(dir, "status", "lab"); return code == exitOK })
	return run, on
}

// resultOf reads the result of a run that ends, whose event log must be that of the virtual clock.
func resultOf(t *testing.T, dir string, run *exec.Cmd) *report.Result {
	t.Helper()
	if err := run.Wait(); err != nil {
		t.Errorf("the run: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "results/lab", report.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	r := new(report.Result)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	if managed := !slices.Contains(run.Args, "virtual"); managed && (r.Verdict.Verify != report.VerifiedEqual || r.Subnet == nil || len(r.Subnet.Unadopted) > 0) {
		t.Errorf("verify %q, subnet %+v", r.Verdict.Verify, r.Subnet)
	}
	return r
}

// perf returns the counters of a port as perfquery -x prints them.
func perf(t *testing.T, on func(...string) (string, error), args ...string) map[string]int64 {
	t.Helper()
	out, err := on(append([]string{"perfquery"}, args...)...)
	if err != nil {
		t.Fatalf("perfquery %v: %v\n%s", args, err, out)
	}
	all := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+):\.+(\d+)$`).FindAllStringSubmatch(out, -1) {
		all[m[1]], _ = strconv.ParseInt(m[2], 10, 64)
	}
	return all
}

// Fig. 2 of HPL-2002-224 under opensm. While the links are quiet after the flows have stopped, the counters of perfquery are
// those of the result, to the word. XmitWait has grown at the trunk, which feeds the root, and nowhere else: each
// sender has one packet on its way. There are no errors.
func TestSubnetCounters(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "opensm", "perfquery", "ibqueryerrors")
	dir := t.TempDir()
	text, err := os.ReadFile("../../emu/scenario/builtin/hpl2002/fig2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	short, _, _ := strings.Cut(string(text), "events: []")
	short = strings.NewReplacer("duration: 100ms", "duration: 60ms", "100us}", "100us, stop: 5ms}", "start: 40ms, stop: 60ms", "start: 2ms, stop: 5ms").Replace(short)
	if err := os.WriteFile(filepath.Join(dir, "fig2.yaml"), []byte(short), 0o666); err != nil {
		t.Fatal(err)
	}
	run, on := underSubnet(t, dir, "minhop", "fig2.yaml", "--link", "pipe", "--dilation", "200")
	awaitModel(t, dir, 6e9)
	type key struct {
		lid, port int
	}
	// LIDs: A 1, B 2, then endpoints. Ports are in the order of links.
	seen := map[string]map[string]int64{}
	for name, k := range map[string]key{"trunk.A-B": {1, 12}, "root.B-BC": {2, 12}, "B-BV": {2, 13}, "A1-A": {3, 1}, "B1-B": {14, 1}} {
		seen[name] = perf(t, on, "-x", fmt.Sprint(k.lid), fmt.Sprint(k.port))
		for c, v := range perf(t, on, fmt.Sprint(k.lid), fmt.Sprint(k.port)) {
			seen[name]["narrow "+c] = v
		}
	}
	if out, err := on("ibqueryerrors", "--data"); err != nil || strings.Contains(out, "Discards") || strings.Contains(out, "Errors") {
		t.Errorf("ibqueryerrors: %v\n%s", err, out)
	}
	if out, err := on("perfquery", "-R", "1", "12"); err != nil {
		t.Errorf("perfquery -R: %v\n%s", err, out)
	}
	if after := perf(t, on, "1", "12"); after["PortXmitData"] != 0 || after["PortXmitWait"] != 0 {
		t.Errorf("after the reset: %v", after)
	}
	r := resultOf(t, dir, run)
	const ack = 20 // bytes with framing: paper
	for name, got := range seen {
		found := false
		for _, l := range r.Links {
			if l.Name != name {
				continue
			}
			found = true
			if want := (l.Bytes + l.Acks*ack) / 4; got["PortXmitData"] != want || got["PortXmitPkts"] != l.Frames+l.Acks {
				t.Errorf("%s: %d words in %d packets, want %d in %d", name, got["PortXmitData"], got["PortXmitPkts"], want, l.Frames+l.Acks)
			}
			if wait := got["narrow PortXmitWait"]; (wait > 0) != (name == "trunk.A-B") {
				t.Errorf("%s: PortXmitWait is %d", name, wait)
			}
		}
		if !found {
			t.Errorf("the result has no link %s", name)
		}
	}
}

// The congestion counters of Annex A10 at endpoints are the marks that the result counts for their flows: FECN where the flows
// end, BECN where they begin.
func TestSubnetMarks(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "opensm", "perfquery")
	dir := t.TempDir()
	text, err := os.ReadFile("../../emu/scenario/builtin/cca/incast.yaml")
	if err != nil {
		t.Fatal(err)
	}
	short, _, _ := strings.Cut(string(text), "events: []")
	short = strings.NewReplacer("duration: 100ms", "duration: 12ms", "0us + 20us}", "0us + 20us, stop: 2ms}", "start: 1ms}", "start: 1ms, stop: 2ms}").Replace(short)
	if err := os.WriteFile(filepath.Join(dir, "incast.yaml"), []byte(short), 0o666); err != nil {
		t.Fatal(err)
	}
	run, on := underSubnet(t, dir, "minhop", "incast.yaml", "--link", "pipe", "--dilation", "1000")
	awaitModel(t, dir, 4e9)
	const r, s1 = "20", "3" // LIDs: A, B, S1 to S16, V, R
	end, begin := perf(t, on, "--rcvcc", r, "1"), perf(t, on, "--rcvcc", s1, "1")
	sl := perf(t, on, "--slrcvbecn", s1, "1")
	if out, err := on("perfquery", "--rcvcc", "1", "1"); err == nil {
		t.Errorf("a switch counts marks:\n%s", out)
	}
	var marked, returned int64
	for _, f := range resultOf(t, dir, run).Flows {
		if f.To == "R" {
			marked += f.Marked
		}
		if f.From == "S1" {
			returned += f.MarkedAcks
		}
	}
	if marked == 0 || end["PortPktRcvFECN"] != marked || begin["PortPktRcvBECN"] != returned || sl["PortSLRcvBECN0"] != returned {
		t.Errorf("FECN %d, BECN %d and %d, want %d and %d", end["PortPktRcvFECN"], begin["PortPktRcvBECN"], sl["PortSLRcvBECN0"], marked, returned)
	}
}

// hotspot is four senders and a hot spot, to be filled in with the congestion control.
const hotspot = `
name: lab
model: {duration: 12ms, framing: wire}
wall: {dilation: 400}
measure: {window: 1ms}
defaults:
  link: {rate: 8Gb/s, propagation: 10ns, buffer: 32 packets}
  switch: {marking: {scheme: %s}}
  flow: {packet: 2048B, window: 16, control: {law: %s}}
switches: {A: {}, B: {}}
endpoints: ["s[1-4]", v, r, w]
links: ["s[1-4] - A", v - A, {name: trunk, between: A - B, rate: 25Gb/s}, {name: root, between: B - r}, B - w]
flows:
  - {name: hot, from: "s[1-4]", to: r}
  - {name: victim, from: v, to: w}
expect:
  - {id: root, metric: root.B-r.utilisation, during: [8ms, 12ms], low: 0, high: 1}
  - {id: victim, metric: victim.utilisation, during: [8ms, 12ms], low: 0, high: 1}
`

// ibccconfig configures congestion control during a run. The rates are then those of a run that began with the same table and
// thresholds, whether there was another table before or no congestion control at all, and not those of the run before. ibccquery
// reads what was configured.
func TestSubnetCongestionControl(t *testing.T) {
	runtest.NeedTools(t, "opensm", "ibccconfig", "ibccquery")
	values := func(r *report.Result) (all [2]float64) {
		for i := range all {
			all[i] = float64(r.Checks[i].Value)
		}
		return all
	}
	alone := func(text string) [2]float64 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		run := exec.Command(binary, "run", "lab.yaml", "--clock", "virtual", "--quiet", "--out", "results/lab")
		run.Dir = dir
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		return values(resultOf(t, dir, run))
	}
	const scheme = "cca, threshold: 12, packet-size: 8, marking-rate: 3, victim-mask: hosts"
	const table = "cca, cct: '0:0,0:9', ccti-timer: 300, ccti-increase: 1"
	want := alone(fmt.Sprintf(hotspot, scheme, table))
	for _, x := range []struct{ name, marking, control string }{{"another table", scheme, "cca"}, {"none", "none", "fixed"}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf(hotspot, x.marking, x.control)
			before := alone(text)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			run, on := underSubnet(t, dir, "minhop", "lab.yaml", "--link", "pipe")
			do := func(words string) string {
				t.Helper()
				out, err := on(strings.Fields(words)...)
				if err != nil {
					t.Errorf("%s: %v\n%s", words, err, out)
				}
				return out
			}
			for lid := 1; lid <= 2; lid++ { // A and B
				do(fmt.Sprintf("ibccconfig SwitchCongestionSetting %d 0x1F 0x3E 0x0 0xC 8 0 0:0 3", lid))
			}
			for lid := 3; lid <= 7; lid++ { // s1 to s4, and v
				do(fmt.Sprintf("ibccconfig CongestionControlTable %d 1 0 0:0 0:9", lid))
				do(fmt.Sprintf("ibccconfig CACongestionSetting %d 0 0x1 300 1 0 0", lid))
			}
			for words, want := range map[string]string{
				"SwitchCongestionSetting 1":     "Threshold:.......................0xc\nPacket_Size:.....................8",
				"CACongestionSetting 3":         "CCTI_Timer:......................300",
				"CongestionControlTable 7":      "CCTI_Limit:......................1",
				"CongestionInfo 3":              "ControlTableCap:.................255",
				"CongestionKeyInfo 3":           "CC_KeyViolations:................0",
				"CongestionLog 1":               "LogType:.........................1",
				"Timestamp 3":                   "Timestamp:",
				"SwitchPortCongestionSetting 1": "Valid:...........................0",
			} {
				if out := do("ibccquery " + words); !strings.Contains(out, want) {
					t.Errorf("ibccquery %s:\n%s\nwant %s", words, out, want)
				}
			}
			got := values(resultOf(t, dir, run))
			for i := range got {
				if math.Abs(got[i]-want[i]) > 0.02 {
					t.Errorf("root and victim: %.3f, want %.3f", got, want)
				}
			}
			if math.Abs(got[0]-before[0]) < 0.3 {
				t.Errorf("root and victim: %.3f, and %.3f before", got, before)
			}
		})
	}
}

// awaitModel waits until a run has come to a model time, in ps.
func awaitModel(t *testing.T, dir string, ps int64) {
	t.Helper()
	runtest.Await(t, "the flows have stopped", func() bool {
		said, _ := control(dir, "status", "lab", "--json")
		m := regexp.MustCompile(`"model_ps":(\d+)`).FindStringSubmatch(said)
		if m == nil {
			return false
		}
		now, _ := strconv.ParseInt(m[1], 10, 64)
		return now > ps
	})
}

// A cable breaks, or ibportstate disables a port: the switches report it, opensm sweeps again, and the traffic takes the other
// spine. Only frames on that link are lost, and the run is that of its resolved scenario.
func TestSubnetResweep(t *testing.T) {
	runtest.NeedTools(t, "opensm", "ibportstate")
	text, err := os.ReadFile("../../emu/scenario/builtin/infiniband/opensm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(string(text), "duration: 60ms", "duration: 40ms", 1)
	intact, _, _ := strings.Cut(whole, "events:")
	for _, by := range []string{"event", "ibportstate"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := map[string]string{"event": whole, "ibportstate": intact}[by]
			if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(file), 0o666); err != nil {
				t.Fatal(err)
			}
			run, on := underSubnet(t, dir, "on", "lab.yaml", "--link", "pipe")
			swept := func(times int) {
				t.Helper()
				runtest.Await(t, fmt.Sprint("sweep ", times), func() bool {
					log, _ := os.ReadFile(filepath.Join(dir, "opensm.log"))
					return strings.Count(string(log), "SUBNET UP") >= times
				})
			}
			set := func(state string) {
				t.Helper()
				if out, err := on("ibportstate", "1", "5", state); err != nil { // L1's end of up11
					t.Errorf("ibportstate: %v\n%s", err, out)
				}
			}
			if by == "ibportstate" {
				set("disable")
			}
			runtest.Await(t, "the link is down", func() bool {
				said, _ := control(dir, "events", "lab")
				return strings.Contains(said, "link up11 down")
			})
			swept(2)
			if by == "ibportstate" {
				set("enable")
				swept(3)
			}
			r := resultOf(t, dir, run)
			text, err := os.ReadFile(filepath.Join(dir, "results/lab", report.ResolvedFile))
			if err != nil || !regexp.MustCompile(`at: L1, to: h\d, over: up12, since: `).Match(text) ||
				by == "ibportstate" && !strings.Contains(string(text), "link: up11, state: up}") {
				t.Errorf("the routes have not changed: %v\n%s", err, text)
			}
			for _, l := range r.Losses {
				if !strings.HasPrefix(l.Link, "up11") {
					t.Errorf("lost elsewhere: %+v", l)
				}
			}
		})
	}
}

// Under the same traffic the routes decide how far congestion spreads: with equal-cost paths by a hash the victim of the hot spot
// waits; with the tables of each routing engine of opensm, on the virtual clock, it has all of its link.
func TestSubnetEngines(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "opensm")
	victim := func(dir string) float64 {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "results/lab", report.ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		r := new(report.Result)
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Checks {
			if c.ID == "victim" {
				return float64(c.Value)
			}
		}
		t.Fatal("no check of the victim")
		return 0
	}
	const fatTree = "infiniband/fat-tree-hotspot"
	dir := t.TempDir()
	if said, code := control(dir, "run", fatTree, "--clock", "virtual", "--quiet", "--out", "results/lab"); code != exitOK {
		t.Fatal(said)
	}
	if alone := victim(dir); alone > 0.5 {
		t.Errorf("with equal-cost paths the victim has %.3f of its link", alone)
	}
	for _, engine := range []string{"minhop", "updn", "ftree"} {
		dir := t.TempDir()
		run, _ := underSubnet(t, dir, engine, fatTree, "--clock", "virtual")
		if err := run.Wait(); status(err) != exitCheck { // the check is about equal-cost paths
			t.Errorf("%s: the run: %v", engine, err)
		}
		if got := victim(dir); got < 0.99 {
			t.Errorf("%s: the victim has %.3f of its link", engine, got)
		}
	}
}
