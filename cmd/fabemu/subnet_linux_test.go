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
	"fabemu/emu/host"
	"fabemu/emu/result/report"
)

// underSubnet starts a run that waits for a subnet manager, and has opensm bring the subnet up. It
// goes on until the end of the test if sweeps is "on" and further arguments; else it sweeps once,
// with that routing engine and further options. With "on", opensm.conf in dir has more of them. The
// function that it returns runs other programs on the run.
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
	more, stays := strings.CutPrefix(sweeps, "on")
	if !stays {
		if out, err := on(append([]string{"opensm", "-o", "-f", filepath.Join(dir, "opensm.log"), "-R"}, strings.Fields(sweeps)...)...); err != nil {
			t.Fatalf("opensm: %v\n%s", err, out)
		}
	} else {
		options := filepath.Join(dir, "opensm.conf")
		had, _ := os.ReadFile(options)
		if err := os.WriteFile(options, append(had, "force_log_flush TRUE\n"...), 0o666); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(binary, append([]string{"subnet", "exec", "--run", "results/lab", "--", "opensm", "-F", options,
			"-f", filepath.Join(dir, "opensm.log")}, strings.Fields(more)...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "OSM_TMP_DIR="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Signal(os.Interrupt); c.Wait() })
	}
	if slices.Contains(args, "virtual") {
		return run, on
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
	r := readResult(t, dir)
	if managed := !slices.Contains(run.Args, "virtual"); managed && (r.Verdict.Verify != report.VerifiedEqual || r.Subnet == nil || len(r.Subnet.Unadopted) > 0) {
		t.Errorf("verify %q, subnet %+v", r.Verdict.Verify, r.Subnet)
	}
	return r
}

// perf returns the numbers that perfquery with some arguments prints, or ibccquery if that is the
// first.
func perf(t *testing.T, on func(...string) (string, error), args ...string) map[string]int64 {
	t.Helper()
	if args[0] != "ibccquery" {
		args = append([]string{"perfquery"}, args...)
	}
	out, err := on(args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	all := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+):\.+(\d+)$`).FindAllStringSubmatch(out, -1) {
		all[m[1]], _ = strconv.ParseInt(m[2], 10, 64)
	}
	return all
}

// writeShort writes a built-in scenario into a folder, without its events and claims, and with
// other texts for some.
func writeShort(t *testing.T, dir, name string, changes ...string) {
	t.Helper()
	text, err := os.ReadFile("../../emu/scenario/builtin/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	short, _, _ := strings.Cut(string(text), "events: []")
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)+".yaml"), []byte(strings.NewReplacer(changes...).Replace(short)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Fig. 2 of HPL-2002-224 under opensm. While the links are quiet after the flows have stopped, the
// data counters of all ports are those of the result, to the word. XmitWait has grown at the trunk,
// which feeds the root, and nowhere else: each sender has one packet on its way. No other error
// counter has grown.
func TestSubnetCounters(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	runtest.NeedTools(t, "opensm", "perfquery", "ibqueryerrors")
	dir := t.TempDir()
	writeShort(t, dir, "hpl2002/fig2", "duration: 100ms", "duration: 60ms", "100us}", "100us, stop: 5ms}", "start: 40ms, stop: 60ms", "start: 2ms, stop: 5ms")
	run, on := underSubnet(t, dir, "minhop", "fig2.yaml", "--link", "pipe", "--dilation", "200")
	awaitModel(t, dir, 6e9)
	// By node and port. --skip-sl: opensm has ended, and answers no query for a path.
	query := func(args ...string) map[string]map[string]int64 {
		out, err := on(append([]string{"ibqueryerrors", "--skip-sl"}, args...)...)
		if err != nil && !strings.Contains(out, "25 nodes checked, 1 bad nodes found") || strings.Contains(out, "ERROR") {
			t.Fatalf("ibqueryerrors %v: %v\n%s", args, err, out)
		}
		all, node := map[string]map[string]int64{}, ""
		for line := range strings.Lines(out) {
			if m := regexp.MustCompile(`for 0x\w+ "(\w+)"`).FindStringSubmatch(line); m != nil {
				node = m[1]
			} else if m := regexp.MustCompile(`port (\d+): `).FindStringSubmatch(line); m != nil {
				at := node + " " + m[1]
				all[at] = map[string]int64{}
				for _, c := range regexp.MustCompile(`\[(\w+) == (\d+)`).FindAllStringSubmatch(line, -1) {
					all[at][c[1]], _ = strconv.ParseInt(c[2], 10, 64)
				}
			}
		}
		return all
	}
	counters, errors := query("--counters"), query()
	if len(errors) != 1 || len(errors["A 12"]) != 1 || errors["A 12"]["PortXmitWait"] == 0 {
		t.Errorf("errors: %v, want PortXmitWait of the trunk", errors)
	}
	const trunk, root = "12", "12" // ports of A, LID 1, and B, LID 2
	if x := perf(t, on, "-x", "2", root); x["PortXmitData"] != counters["B "+root]["PortXmitData"] {
		t.Errorf("perfquery -x: %v", x)
	}
	if out, err := on("perfquery", "-R", "1", trunk); err != nil {
		t.Errorf("perfquery -R: %v\n%s", err, out)
	}
	if after := perf(t, on, "1", trunk); after["PortXmitData"] != 0 || after["PortXmitWait"] != 0 {
		t.Errorf("after the reset: %v", after)
	}
	ports := map[string]int{} // so far, in the order of links
	for _, l := range resultOf(t, dir, run).Links {
		ports[l.From]++
		const ack = 20 // bytes with framing: paper
		got, words, packets := counters[fmt.Sprint(l.From, " ", ports[l.From])], (l.Bytes+l.Acks*ack)/4, l.Frames+l.Acks
		if got["PortXmitData"] != words || got["PortXmitPkts"] != packets || packets == 0 {
			t.Errorf("%s: %v, want %d words in %d packets", l.Name, got, words, packets)
		}
	}
	if len(ports) != 25 || len(counters) != 48 {
		t.Errorf("%d nodes and %d ports", len(ports), len(counters))
	}
}

// The congestion counters of Annex A10 at endpoints are the marks that the result counts for their
// flows: FECN where the flows end, BECN where they begin. The log of a switch counts the marks of
// its ports; that of an endpoint has flows at the trigger threshold.
func TestSubnetMarks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	runtest.NeedTools(t, "opensm", "perfquery", "ibccquery")
	dir := t.TempDir()
	writeShort(t, dir, "cca/incast", "duration: 100ms", "duration: 12ms", "0us + 20us}", "0us + 20us, stop: 2ms}", "start: 1ms}", "start: 1ms, stop: 2ms}", "algorithm: cca", "algorithm: cca, trigger-threshold: 3")
	run, on := underSubnet(t, dir, "minhop", "incast.yaml", "--link", "pipe", "--dilation", "1000")
	awaitModel(t, dir, 4e9)
	const r, s1 = "20", "3" // LIDs: A, B, S1 to S16, V, R
	end, begin := perf(t, on, "--rcvcc", r, "1"), perf(t, on, "--rcvcc", s1, "1")
	sl := perf(t, on, "--slrcvbecn", s1, "1")
	if out, err := on("perfquery", "--rcvcc", "1", "1"); err == nil {
		t.Errorf("a switch counts marks:\n%s", out)
	}
	log := perf(t, on, "ibccquery", "CongestionLog", "2")
	switchLog, err := on("ibccquery", "CongestionLog", "2")
	if err != nil || len(regexp.MustCompile(`SLID:\.+([3-9]|1[0-8])\nDLID:\.+20\nSL:\.+0\nTimestamp:\.+[1-9]\d*\n`).FindAllString(switchLog, -1)) != 12 {
		t.Errorf("the log of B: %v\n%s", err, switchLog)
	}
	const root, other = "2", "3" // ports of B
	congested, not := perf(t, on, "--xmitcc", "2", root)["PortXmitTimeCong"], perf(t, on, "--xmitcc", "2", other)["PortXmitTimeCong"]
	entries, err := on("ibccquery", "CongestionLog", s1)
	first := regexp.MustCompile(`(?s)LogType:\.+2\n.*EventCounter:\.+[1-9].*EventMap:\.+0x0001\n.*?Local_QP_CN_Entry:\.+[1-9].*?Local_LID_CN:\.+3\nRemote_LID_CN_Entry:\.+20\nTimestamp_CN_Entry:\.+[1-9]`)
	if err != nil || !first.MatchString(entries) {
		t.Errorf("the log of S1: %v\n%s", err, entries)
	}
	var marked, returned, byB int64
	result := resultOf(t, dir, run)
	for _, l := range result.Links {
		if l.From == "B" {
			byB += l.Marked
		}
		// The output is congested while a frame leaves that is marked: 2068 bytes, 517 words of 4
		// ns. The flows send for 2 ms.
		if l.Name == "root.B-R" && (congested < l.Marked*517 || congested > 3_000_000/4) || not != 0 {
			t.Errorf("PortXmitTimeCong is %d with %d marks, and %d at another output", congested, l.Marked, not)
		}
	}
	if log["LogEventsCounter"] != byB%65536 {
		t.Errorf("the log of B counts %d marks, want %d", log["LogEventsCounter"], byB)
	}
	for _, f := range result.Flows {
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
  flow: {packet: 2048B, window: 16, control: {algorithm: %s}}
switches: {A: {}, B: {}}
endpoints: ["s[1-4]", v, r, w]
links: ["s[1-4] - A", v - A, {name: trunk, between: A - B, rate: 25Gb/s}, {name: root, between: B - r}, B - w]
flows:
  - {name: hot, from: "s[1-4]", to: r}
  - {name: victim, from: v, to: w}
expect:
  - {id: root, metric: root.B-r.utilisation, during: [8ms, 12ms], low: 0, high: 1}
  - {id: victim, metric: victim.utilisation, during: [8ms, 12ms], low: 0, high: 1}
  - {id: marks, metric: root.B-r.marked, during: [8ms, 12ms], low: 0, high: 1}
`

// ibccconfig configures congestion control during a run. The rates and the share of marked packets
// are then those of a run that began with the same table and thresholds, whether there were others
// before or no congestion control at all, and not those of the run before. ibccquery reads what was
// configured.
func TestSubnetCongestionControl(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "opensm", "ibccconfig", "ibccquery")
	start := func(marking, control string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(fmt.Sprintf(hotspot, marking, control)), 0o666); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	values := func(dir string, run *exec.Cmd) (all [3]float64) { // root, victim, marks
		r := resultOf(t, dir, run)
		for i := range all {
			all[i] = float64(r.Checks[i].Value)
		}
		return all
	}
	alone := func(marking, control string) [3]float64 {
		dir := start(marking, control)
		run := exec.Command(binary, "run", "lab.yaml", "--clock", "virtual", "--quiet", "--out", "results/lab")
		if run.Dir = dir; run.Start() != nil {
			t.Fatal("the run does not start")
		}
		return values(dir, run)
	}
	for _, x := range []struct {
		name                   string
		before, after          [2]string
		marking, table, source string // of ibccconfig, without the LIDs
		queries                map[string]string
	}{
		{"another table", [2]string{"cca", "cca"}, [2]string{"cca", "cca, cct: '0:4,0:9'"},
			"0x10 0 0 0 0 0 0:0 1", "1 0 0:4 0:9", "0 1 150 1 0 0", map[string]string{
				"SwitchCongestionSetting 1": "Threshold:.......................0x0f",
				"CongestionControlTable 7":  "CCTI_Limit:......................1\n\nEntry:...........................0\nCCT_Shift:.......................0\nCCT_Multiplier:..................4",
				"CongestionLog 1":           "LogType:.........................1",
				"CongestionKeyInfo 3":       "CC_KeyViolations:................0",
			}},
		{"none, and a port of its own", [2]string{"none", "fixed"}, [2]string{"cca, threshold: 0, ports: '2=15:8:3'", "cca, cct: '0:0', ccti-increase: 0, ccti-timer: 300"},
			"0x1F 0xC 0 0 8 0 0:0 1", "0 0 0:0", "0 1 300 0 9 0", map[string]string{
				"SwitchCongestionSetting 2":     "Threshold:.......................0x00\nPacket_Size:.....................8",
				"CACongestionSetting 3":         "SL:..............................0\nCCTI_Timer:......................300\nCCTI_Increase:...................0\nTrigger_Threshold:...............9",
				"CongestionInfo 3":              "ControlTableCap:.................255",
				"Timestamp 3":                   "Timestamp:",
				"SwitchPortCongestionSetting 2": "Valid:...........................1\nControl_Type:....................0\nThreshold:.......................0x0f\nPacket_Size:.....................8\nCong_Parm_Marking_Rate:..........3",
			}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			before, want := alone(x.before[0], x.before[1]), alone(x.after[0], x.after[1])
			dir := start(x.before[0], x.before[1])
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
				do(fmt.Sprintf("ibccconfig SwitchCongestionSetting %d %s", lid, x.marking))
				if strings.Contains(x.after[0], "ports: '2=15:8:3'") {
					do(fmt.Sprintf("ibccconfig SwitchPortCongestionSetting %d 2 1 0 15 8 3", lid))
				}
			}
			for lid := 3; lid <= 7; lid++ { // s1 to s4, and v
				do(fmt.Sprintf("ibccconfig CongestionControlTable %d %s", lid, x.table))
				do(fmt.Sprintf("ibccconfig CACongestionSetting %d %s", lid, x.source))
			}
			for words, want := range x.queries {
				if out := do("ibccquery " + words); !strings.Contains(out, want) {
					t.Errorf("ibccquery %s:\n%s\nwant %s", words, out, want)
				}
			}
			got, other := values(dir, run), false
			for i := range got {
				if math.Abs(got[i]-want[i]) > 0.02 {
					t.Errorf("root, victim, marks: %.3f, want %.3f", got, want)
				}
				other = other || math.Abs(got[i]-before[i]) > 0.1
			}
			if !other {
				t.Errorf("root, victim, marks: %.3f, as before", got)
			}
		})
	}
}

// With congestion_control in its options, opensm enables it at all nodes before the run begins, and
// the victim of the hot spot no longer waits with it.
func TestSubnetCongestionControlByOpenSM(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "opensm")
	victim := func(options string) float64 {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{"lab.yaml": fmt.Sprintf(hotspot, "none", "fixed"), "opensm.conf": options} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		run, _ := underSubnet(t, dir, "minhop -F opensm.conf", "lab.yaml", "--clock", "virtual")
		return float64(resultOf(t, dir, run).Checks[1].Value)
	}
	without := victim("congestion_control FALSE\n")
	with := victim(`congestion_control TRUE
cc_sw_cong_setting_control_map 0x1F
cc_sw_cong_setting_victim_mask 0x3E
cc_sw_cong_setting_threshold 0xF
cc_sw_cong_setting_packet_size 8
cc_sw_cong_setting_marking_rate 1
cc_ca_cong_setting_control_map 0x1
cc_ca_cong_setting_ccti_timer 0 150
cc_ca_cong_setting_ccti_increase 0 1
cc_cct 0:0,0:1,0:2,0:3,0:4,0:5,0:6,0:7,0:8,0:9,0:10,0:11,0:12,0:13,0:14,0:15
`)
	if without > 0.5 || with < 0.75 {
		t.Errorf("the victim has %.3f of its link, and %.3f with congestion control", without, with)
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

// A cable breaks, or ibportstate disables a port: the switches report it, opensm sweeps again, and
// the traffic takes the other spine. Only frames on that link are lost, and the run is that of its
// resolved scenario, even if MADs cross the links.
func TestSubnetResweep(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "opensm", "ibportstate")
	text, err := os.ReadFile("../../emu/scenario/builtin/infiniband/opensm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(string(text), "duration: 60ms", "duration: 40ms", 1)
	intact, _, _ := strings.Cut(whole, "events:")
	for _, by := range []string{"event", "ibportstate", "in-band"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, ports := intact, by != "event"
			if !ports {
				file = whole
			}
			if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(file), 0o666); err != nil {
				t.Fatal(err)
			}
			run, on := underSubnet(t, dir, "on", "lab.yaml", "--link", "pipe", "--set", fmt.Sprint("subnet.in-band=", by == "in-band"))
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
			if ports {
				set("disable")
			}
			runtest.Await(t, "the link is down", func() bool {
				said, _ := control(dir, "events", "lab")
				return strings.Contains(said, "link up11 down")
			})
			swept(2)
			if ports {
				set("enable")
				swept(3)
			}
			r := resultOf(t, dir, run)
			text, err := os.ReadFile(filepath.Join(dir, "results/lab", report.ResolvedFile))
			if err != nil || !regexp.MustCompile(`at: L1, to: h\d, over: up12, since: `).Match(text) ||
				ports && !strings.Contains(string(text), "link: up11, state: up}") {
				t.Errorf("the routes have not changed: %v\n%s", err, text)
			}
			for _, l := range r.Losses { // after a frame that is lost, others come out of turn
				if !strings.HasPrefix(l.Link, "up11") && l.Reason != "not-in-turn" {
					t.Errorf("lost elsewhere: %+v", l)
				}
			}
		})
	}
}

// ibportstate gives h6 the LID of h5, and another program runs at h6. The result says so, and the
// routes to both stay as they were.
func TestSubnetDuplicateLID(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	runtest.NeedTools(t, "opensm", "ibportstate")
	dir := t.TempDir()
	text, err := os.ReadFile("../../emu/scenario/builtin/infiniband/opensm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	intact, _, _ := strings.Cut(string(text), "events:")
	if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(intact), 0o666); err != nil {
		t.Fatal(err)
	}
	run, on := underSubnet(t, dir, "minhop", "lab.yaml", "--link", "pipe", "--set", "model.duration=20ms")
	awaitModel(t, dir, 1e9)
	see := exec.Command(binary, "subnet", "exec", "--run", "results/lab", "--node", "h6", "--", "env")
	see.Dir = dir
	if out, err := see.Output(); err != nil || strings.Count(string(out), "SIM_HOST=") != 1 || !strings.Contains(string(out), "SIM_HOST=h6\n") {
		t.Errorf("a program at h6: %v\n%s", err, out)
	}
	if out, err := on("ibportstate", "10", "1", "lid", "9"); err != nil {
		t.Errorf("ibportstate: %v\n%s", err, out)
	}
	r := resultOf(t, dir, run)
	if !slices.Equal(r.Subnet.DuplicateLIDs, []string{"h5 and h6 have the same LID 9"}) {
		t.Errorf("%q", r.Subnet.DuplicateLIDs)
	}
	for _, f := range r.Flows {
		if f.Frames < 1000 {
			t.Errorf("flow %s: %d frames", f.Name, f.Frames)
		}
	}
}

// underEngine runs a scenario on the virtual clock under opensm with a routing engine and service
// levels, and returns its result. The file root names the first switch.
func underEngine(t *testing.T, dir, engine string, args ...string) *report.Result {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "root"), []byte("0x02fabe0000000100\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run, _ := underSubnet(t, dir, "on -Q -R "+engine, append(args, "--clock", "virtual")...)
	code := status(run.Wait())
	name, _, _ := strings.Cut(engine, " ")
	if log, err := os.ReadFile(filepath.Join(dir, "opensm.log")); err != nil || !strings.Contains(string(log), name+" tables configured") {
		t.Errorf("%s: %v\n%s", engine, err, log)
	}
	r := readResult(t, dir)
	if ended := len(r.Deadlocks) > 0; ended != (code == exitFailed) || !ended && code != exitOK && code != exitCheck {
		t.Errorf("%s: exit status %d, with %d deadlocks", engine, code, len(r.Deadlocks))
	}
	return r
}

// readResult reads the result of a run.
func readResult(t *testing.T, dir string) *report.Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "results/lab", report.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	r := new(report.Result)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// treeOf returns the links that waited for credit for a tenth of a run or more.
func treeOf(r *report.Result) string {
	var all []string
	for _, l := range r.Links {
		for _, s := range l.Stalled {
			if s.Cause == "no-credit" && s.TimePs*10 > r.DurationPs {
				all = append(all, l.Name)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// mesh is a mesh of nine switches whose endpoints all send to the one in a corner.
const mesh = `name: mesh
model: {duration: 4ms}
defaults: {link: {rate: 1GB/s, lanes: 4}, flow: {window: 4}}
switches: {"a[1-3]": {}, "b[1-3]": {}, "c[1-3]": {}}
endpoints: ["p[1-3]", "q[1-3]", "r[1-3]"]
links: ["p[1-3] - a[1-3]", "q[1-3] - b[1-3]", "r[1-3] - c[1-3]", "a[1-2] - a[2-3]", "b[1-2] - b[2-3]", "c[1-2] - c[2-3]",
  "a[1-3] - b[1-3]", "b[1-3] - c[1-3]"]
flows: [{name: p, from: "p[1-3]", to: r3}, {name: q, from: "q[1-2]", to: r3}, {name: r, from: "r[1-2]", to: r3}]
`

// Under the same traffic the routes decide how far congestion spreads. In a fat tree with
// equal-cost paths by a hash the victim of the hot spot waits. With the tables of minhop, updn and
// ftree it has all of its link; dor and lash lead all hosts over the first spine, where it waits.
// In a mesh the trees of minhop, updn and dor differ too.
func TestSubnetEngines(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	runtest.NeedTools(t, "opensm")
	const fatTree = "infiniband/fat-tree-hotspot"
	victim := func(r *report.Result) float64 {
		i := slices.IndexFunc(r.Checks, func(c report.Check) bool { return c.ID == "victim" })
		return float64(r.Checks[i].Value)
	}
	dir := t.TempDir()
	if said, code := control(dir, "run", fatTree, "--clock", "virtual", "--quiet", "--out", "results/lab"); code != exitOK {
		t.Fatal(said)
	}
	if got := victim(readResult(t, dir)); got > 0.5 {
		t.Errorf("with equal-cost paths the victim has %.3f of its link", got)
	}
	for engine, spreads := range map[string]bool{"minhop": false, "updn": false, "ftree": false, "dor": true, "lash": true} {
		r := underEngine(t, t.TempDir(), engine, fatTree)
		if got := victim(r); spreads != (got < 0.2) || !spreads && got < 0.99 || treeOf(r) == "" {
			t.Errorf("%s: the victim has %.3f of its link; tree %q", engine, got, treeOf(r))
		}
	}
	seen := map[string]string{}
	for _, engine := range []string{"minhop", "updn -a root", "dor"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "mesh.yaml"), []byte(mesh), 0o666); err != nil {
			t.Fatal(err)
		}
		tree := treeOf(underEngine(t, dir, engine, "mesh.yaml"))
		if other, known := seen[tree]; known || tree == "" {
			t.Errorf("a mesh has the tree %q with %s, and with %q", tree, engine, other)
		}
		seen[tree] = engine
	}
}

// "A ring deadlocks with minhop, not with updn or lash": the service levels of lash are those of
// opensm's path records, and its tables map them to lanes.
func TestSubnetRing(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "opensm")
	for engine, deadlocks := range map[string]int{"minhop": 1, "updn -a root": 0, "lash": 0} {
		dir := t.TempDir()
		r := underEngine(t, dir, engine, "infiniband/lash-ring")
		if len(r.Deadlocks) != deadlocks || r.Subnet.Levels != 5 {
			t.Errorf("%s: deadlocks %+v; subnet %+v", engine, r.Deadlocks, r.Subnet)
		}
		for _, c := range r.Checks {
			if (c.Outcome == report.Pass) != (deadlocks == 0) {
				t.Errorf("%s: %s is %s: %v", engine, c.ID, c.Outcome, c.Value)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "results/lab", report.ResolvedFile))
		if strings.Contains(string(text), " sl: 1,") != (engine == "lash") {
			t.Errorf("%s: %v\n%s", engine, err, text)
		}
	}
}

// qos are options of opensm: four lanes, of which one has high priority with a limit, and three
// have weights.
const qos = `qos TRUE
qos_max_vls 4
qos_high_limit 3
qos_vlarb_high 3:64
qos_vlarb_low 0:64,1:192,2:64
qos_sl2vl 0,1,2,3
`

// lanesUnder has a flow on each of four lanes. A packet has 33 units of 64 bytes, so that the turns
// of the weights 64 and 192 have two packets and six, and the limit of 3 x 4 KiB six packets of VL3
// for one of the others.
const lanesUnder = `name: lanes
model: {duration: 60ms}
wall: {dilation: 200}
measure: {window: 100us}
defaults: {link: {rate: 1GB/s, lanes: 4}, flow: {window: 8}}
switches: {S: {}}
endpoints: ["h[0-3]", r]
links: ["h[0-3] - S", {name: shared, between: S - r}]
flows: [{name: f0, from: h0, to: r}, {name: f1, from: h1, to: r, sl: 1}, {name: f2, from: h2, to: r, sl: 2}, {name: f3, from: h3, to: r, sl: 3}]
expect:
  - {id: f0, metric: f0.rate / shared.S-r.rate, during: [FROM, 60ms], low: 0.0283, high: 0.0289}   # 2/10 of 1/7
  - {id: f1, metric: f1.rate / shared.S-r.rate, during: [FROM, 60ms], low: 0.0849, high: 0.0866}   # 6/10 of 1/7
  - {id: f2, metric: f2.rate / shared.S-r.rate, during: [FROM, 60ms], low: 0.0283, high: 0.0289}
  - {id: f3, metric: f3.rate / shared.S-r.rate, during: [FROM, 60ms], low: 0.8486, high: 0.8657}   # 6/7
`

// The arbitration that opensm sets divides a link as its weights and its limit say, within 1 %,
// from the beginning or from the time on at which a manager sets it during a run, which is that of
// its resolved scenario.
func TestSubnetArbitration(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "opensm", "smpquery")
	for _, from := range []string{"1ms", "40ms"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{"lanes.yaml": strings.ReplaceAll(lanesUnder, "FROM", from), "opensm.conf": qos} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if from == "1ms" {
				for _, c := range underEngine(t, dir, "minhop", "lanes.yaml").Checks {
					if c.Outcome != report.Pass {
						t.Errorf("%s is %s: %v", c.ID, c.Outcome, c.Value)
					}
				}
				return
			}
			run, on := underSubnet(t, dir, "minhop", "lanes.yaml", "--link", "pipe")
			if out, err := on("opensm", "-o", "-F", "opensm.conf", "-f", filepath.Join(dir, "opensm.log")); err != nil {
				t.Errorf("opensm: %v\n%s", err, out)
			}
			if out, err := on("smpquery", "vlarb", "1", "5"); err != nil || !regexp.MustCompile(`VL    : \|0x0 \|0x1 \|0x2 `).MatchString(out) {
				t.Errorf("smpquery: %v\n%s", err, out)
			}
			resultOf(t, dir, run)
			text, err := os.ReadFile(filepath.Join(dir, "results/lab", report.ResolvedFile))
			if err != nil || !regexp.MustCompile(`at: S, over: shared, lanes: "[0-9,]+", vlarb-high: "3:64", vlarb-low: "0:64,1:192,2:64", high-limit: 3, since: `).Match(text) {
				t.Errorf("the lanes have not changed: %v\n%s", err, text)
			}
		})
	}
}

// A program of subnet exec ends with the run, and its exit status is that of subnet exec before.
func TestSubnetExecEnds(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "opensm")
	dir := t.TempDir()
	run := exec.Command(binary, "run", "infiniband/opensm", "--subnet=1m", "--quiet", "--out", "results/lab")
	run.Dir = dir
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Process.Kill() })
	runtest.Await(t, "the run waits for a manager", func() bool { return exists(filepath.Join(dir, "results/lab", subnetFile)) })
	under := func(program ...string) *exec.Cmd {
		c := exec.Command(binary, append([]string{"subnet", "exec", "--"}, program...)...)
		c.Dir = dir
		return c
	}
	if code := status(under("sh", "-c", "exit 7").Run()); code != 7 {
		t.Errorf("exit status %d, want 7", code)
	}
	var said strings.Builder
	c := under("sh", "-c", "echo begun; exec sleep 600")
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 16)); n == 0 {
		t.Fatal(err)
	}
	run.Process.Signal(os.Interrupt)
	run.Wait()
	if err := c.Wait(); err != nil || !strings.Contains(said.String(), "the run has ended, and with it sh") {
		t.Errorf("%v: %s", err, said.String())
	}
}

// Without --run a program finds the one run with a subnet, wherever its folder is; where there are
// two, both are named. In a network namespace of its own there are no others.
func TestSubnetExecFindsTheRun(t *testing.T) {
	t.Attr("depends-on", "privileges")
	runtest.NeedTools(t, "unshare")
	if err := exec.Command("unshare", "--net", "true").Run(); err != nil {
		t.Skipf("no network namespace can be made: %v", err)
	}
	if !host.Installed(host.Umad2sim) {
		t.Skip(host.NoCommand(host.Umad2sim))
	}
	t.Parallel()
	dir := t.TempDir()
	c := exec.Command("unshare", "--net", "sh", "-c", `
cd "$1" && mkdir -p elsewhere/deep there
begin() {
	(cd elsewhere && exec "$0" run infiniband/opensm --subnet=5m --quiet --clock virtual --out "$1") 2>/dev/null &
	n=0
	until [ -e "elsewhere/$1/subnet.env" ] || [ $n -gt 600 ]; do sleep 0.1; n=$((n + 1)); done
}
begin "deep/a run"
one=$!
cd there
"$0" subnet exec -- sh -c 'echo "one: $OSM_CACHE_DIR"'
cd ..
begin two
cd there
"$0" subnet exec -- true 2>&1
echo "status $?"
kill -INT $one $!
wait
"$0" subnet exec -- true 2>&1
`, binary, dir)
	out, _ := c.CombinedOutput() // the last command fails
	a, b := filepath.Join(dir, "elsewhere/deep/a run"), filepath.Join(dir, "elsewhere/two")
	for _, want := range []string{
		"one: " + filepath.Join(a, subnetCache) + "\n", "several runs have a subnet: choose one with --run, of ", a, b, "status 2\n",
		"no run of this user has a subnet",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
