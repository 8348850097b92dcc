package generate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

// Two switches of SONiC with two links between them, and a third neighbour without a file.
const (
	sonicLeaf = `{
    "DEVICE_METADATA": {"localhost": {"hostname": "leaf-1", "hwsku": "Own-32", "type": "ToRRouter"}},
    "PORT": {
        "Ethernet0": {"alias": "Eth1", "lanes": "1,2,3,4", "speed": "100000", "admin_status": "up", "mtu": "9100"},
        "Ethernet12": {"alias": "Eth4", "lanes": "13,14,15,16", "speed": "100000", "admin_status": "up"},
        "Ethernet4": {"alias": "Eth2", "lanes": "5,6,7,8", "speed": "25000", "admin_status": "up"},
        "Ethernet8": {"alias": "Eth3", "lanes": "9,10,11,12", "speed": "100000", "admin_status": "up"},
        "Ethernet16": {"alias": "Eth5", "lanes": "17,18,19,20", "speed": "100000", "admin_status": "down"}
    },
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet4": "5m", "Ethernet8": "40m", "Ethernet12": "40m"}},
    "DEVICE_NEIGHBOR": {
        "Ethernet0": {"name": "server-a", "port": "eth0"},
        "Ethernet8": {"name": "spine", "port": "Ethernet0"},
        "Ethernet12": {"name": "spine", "port": "Eth2"}
    },
    "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "static", "size": "4000000", "xoff": "800000"},
                    "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "4000000"}},
    "BUFFER_PROFILE": {"pg_lossless_100000_40m_profile": {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "size": "1248", "static_th": "298752", "xon": "2496", "xon_offset": "20000", "xoff": "90000"}},
    "BUFFER_PG": {"Ethernet0,Ethernet4,Ethernet8,Ethernet12|3-4": {"profile": "[BUFFER_PROFILE|pg_lossless_100000_40m_profile]"}},
    "PORT_QOS_MAP": {
        "Ethernet0": {"pfc_enable": "3,4", "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
        "Ethernet8": {"pfc_enable": "3,4", "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"}
    },
    "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "48": "6", "46": "5"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "1": "0", "3": "3", "4": "4"}},
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "100"}, "Ethernet8": {"action": "forward", "detection_time": "400", "restoration_time": "600"}},
    "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}, "strict": {"type": "STRICT"}},
    "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "250000", "green_max_threshold": "1000000", "green_drop_probability": "5", "red_max_threshold": "7"}},
    "QUEUE": {
        "Ethernet0|0-2": {"scheduler": "scheduler.0"},
        "Ethernet0|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
        "Ethernet0|6": {"scheduler": "strict"},
        "Ethernet8|3": {"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"}
    },
    "ACL_TABLE": {}
}
`
	sonicSpine = `{
    "DEVICE_METADATA": {"localhost": {"hostname": "spine"}},
    "PORT": {
        "Ethernet0": {"alias": "Eth1", "speed": "100000", "admin_status": "up"},
        "Ethernet4": {"alias": "Eth2", "speed": "40000", "admin_status": "up"},
        "Ethernet8": {"alias": "Eth3", "admin_status": "up"}
    },
    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "leaf-1", "port": "Eth3"}, "Ethernet8": {"name": "core.7", "port": "1"}}
}
`
)

func fromSONiC(t *testing.T, files ...generate.File) generate.Imported {
	t.Helper()
	x, err := generate.FromSONiC(files)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func sonicFiles() []generate.File {
	return []generate.File{{Name: "leaf.json", Text: []byte(sonicLeaf)}, {Name: "spine.json", Text: []byte(sonicSpine)}}
}

func TestFromSONiC(t *testing.T) {
	t.Parallel()
	x := fromSONiC(t, sonicFiles()...)
	_, text, _ := strings.Cut(string(x.Scenario), "\nname: ")
	want := `sonic
model: {duration: 10ms, dscp: [{dscp: 8, priority: 0}, {dscp: 9, priority: 0}`
	if !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	_, text, _ = strings.Cut(text, "\ndefaults:\n")
	want = `  link: {flow-control: pfc}
  switch: {kind: output-queued, memory: 400KB per port}
  flow: {packet: 1024B, transport: rocev2, priority: 3, control: {algorithm: dcqcn, cnp-priority: 6}}
switches:
  'leaf-1': {lossless: [3, 4], memory: 4800KB, sharing: pooled, high: 300KB, low: 280KB, watchdog: {action: forward, detection: 400ms, restoration: 600ms, poll: 100ms}, marking: {scheme: ecn, min: 250KB, max: 1MB, max-p: 0.05}, ets: [{priority: 0, weight: 14}, {priority: 1, weight: 14}, {priority: 2, weight: 14}, {priority: 3, weight: 15}, {priority: 4, weight: 15}]}
  'spine': {lossless: []}
endpoints:
  - 'server-a'
  - 'leaf-1-Ethernet4'
  - 'core-7'
links:
  - {between: 'leaf-1 - server-a', rate: 100Gb/s, propagation: 25ns}
  - {between: 'leaf-1 - leaf-1-Ethernet4', rate: 25Gb/s, propagation: 25ns}
  - {name: 'leaf-1-Ethernet8', between: 'leaf-1 - spine', rate: 100Gb/s, propagation: 200ns}
  - {name: 'leaf-1-Ethernet12', between: 'leaf-1 - spine', rate: 40Gb/s, propagation: 200ns}
  - {between: 'spine - core-7', rate: 100Gb/s, propagation: 25ns}
flows:
  - {name: there, from: 'server-a', to: 'core-7'}
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	want = `leaf.json:3: PORT: 1 ports that are not up
leaf.json:25: TC_TO_QUEUE_MAP: 1 has 0: a priority is its own queue and group
leaf.json:33: scheduler scheduler.0: all ports of a switch have the weights of the first
leaf.json:2: DEVICE_METADATA: hwsku, type
leaf.json:4: PORT: lanes, mtu
leaf.json:16: BUFFER_POOL: type, mode, egress_lossy_pool
leaf.json:18: BUFFER_PROFILE: xoff
leaf.json:28: WRED_PROFILE: red_max_threshold
leaf.json:35: tables that no scenario has: ACL_TABLE`
	if got := strings.Join(x.Left, "\n"); got != want {
		t.Errorf("left out\n%s\nwant\n%s", got, want)
	}
	want = `leaf.json:5: a port has 100Gb/s, and its neighbour in spine.json 40Gb/s: the lower speed is taken
spine.json:6: a port has no speed: 100Gb/s is taken
spine.json:4: ports without a length in CABLE_LENGTH: 5m is taken`
	if got := strings.Join(x.Warnings, "\n"); got != want {
		t.Errorf("warnings\n%s\nwant\n%s", got, want)
	}
}

// What both know is the same after export and import.
func TestSONiCAgain(t *testing.T) {
	t.Parallel()
	load := func(text []byte) *scenario.Scenario {
		s := runtest.Load(t, string(text))
		if _, err := fabric.Build(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := load(fromSONiC(t, sonicFiles()...).Scenario)
	files, left, err := generate.SONiC(first)
	if err != nil || strings.Join(left, "") != "switch spine: sharing: partitioned" {
		t.Fatal(err, left)
	}
	x := fromSONiC(t, files...)
	again := load(x.Scenario)
	for i, w := range first.Switches {
		if got := again.Switches[i]; got.Name != w.Name || got.Memory.Total(4) != w.Memory.Total(4) && got.Memory.Total(3) != w.Memory.Total(3) || got.High != w.High || got.Low != w.Low ||
			got.Lossless != w.Lossless || got.Watchdog != w.Watchdog || got.ETS != w.ETS || got.Marking != w.Marking {
			t.Errorf("got %+v, want %+v", got, w)
		}
	}
	for i, l := range first.Links {
		if got := again.Links[i]; got.A != l.A || got.B != l.B || got.Rate != l.Rate || got.Propagation != l.Propagation || got.FlowControl != l.FlowControl {
			t.Errorf("got %+v, want %+v", got, l)
		}
	}
	for dscp := range uint8(64) {
		got, ok := again.Model.DSCP.Priority(dscp)
		want, listed := first.Model.DSCP.Priority(dscp)
		if got != want || ok != listed {
			t.Errorf("DSCP %d has %d, want %d", dscp, got, want)
		}
	}
	same, _, err := generate.SONiC(again)
	if err != nil || len(same) != 2 || string(same[0].Text) != string(files[0].Text) || string(same[1].Text) != string(files[1].Text) {
		t.Errorf("%v: the second export is\n%s%s\nand the first\n%s%s", err, same[0].Text, same[1].Text, files[0].Text, files[1].Text)
	}
}

// A watermark of 2^dynamic_th times the free memory is alpha, and comes back the same: the pool,
// the profile, and the part of xon and xon_offset. What no power of two is comes near.
func TestSONiCDynamic(t *testing.T) {
	t.Parallel()
	files := sonicFiles()
	files[0].Text = []byte(strings.Replace(sonicLeaf, `"static_th": "298752"`, `"dynamic_th": "-2"`, 1))
	first := runtest.Load(t, string(fromSONiC(t, files...).Scenario))
	leaf := first.Switches[0]
	if leaf.Alpha != 0.25 || leaf.High != 0 || leaf.Low != 2496 || leaf.XonOffset != 20000 || leaf.Memory.Bytes != 4800000 || leaf.Sharing != scenario.Pooled || leaf.Shared < 4e6 {
		t.Errorf("%+v", leaf)
	}
	back, _, err := generate.SONiC(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"mode": "dynamic"`, `"dynamic_th": "-2"`, `"xon": "2496"`, `"xon_offset": "20000"`} {
		if !strings.Contains(string(back[0].Text), want) {
			t.Errorf("the export has no %s:\n%s", want, back[0].Text)
		}
	}
	if again := runtest.Load(t, string(fromSONiC(t, back...).Scenario)).Switches[0]; again != leaf {
		t.Errorf("got %+v, want %+v", again, leaf)
	}
	files[0].Text = []byte(strings.Replace(string(files[0].Text), `"size": "4000000", "xoff": "800000"`, `"size": "40000"`, 1))
	const small = "leaf.json:18: dynamic_th -2: the headroom of all inputs, 69304B, leaves nothing of a memory of 40KB: the watermark is computed"
	if left := fromSONiC(t, files...).Left; !slices.Contains(left, small) {
		t.Errorf("%q", left)
	}
	leaf.Alpha = 0.3
	first.Switches[0] = leaf
	if _, left, err := generate.SONiC(first); err != nil || !strings.Contains(strings.Join(left, "\n"), "switch leaf-1: alpha 0.3 is 2^-2") {
		t.Errorf("%v %v", left, err)
	}
}

// SONiC has no switches with input buffers, and no fractions of Mb/s; what else it does not have is
// listed.
func TestSONiCOfOtherScenario(t *testing.T) {
	t.Parallel()
	const own = `
name: own
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 12ns, flow-control: pfc}
  switch: {kind: output-queued, watchdog: {detection: 10us, restoration: 10us, poll: 5us}, marking: {scheme: ecn, max-p: 0.125, at: enqueue}}
  flow: {packet: 1000B}
switches: {S: {headroom: 2}, T: {watchdog: {detection: 10ms, restoration: 10ms, poll: 5ms, strict: true}, marking: {scheme: none}}}
endpoints: [a, b]
links: [a - S, S - T, T - b]
flows:
  - {name: f, from: a, to: b, traffic: greedy}
`
	_, left, err := generate.SONiC(runtest.Load(t, own))
	want := `switch S: link a - S: a cable of 12ns is 3m
switch S: link S - T: a cable of 12ns is 3m
switch S: the watchdog: 5us is not whole ms
switch S: max-p 0.125 of marking is 13 %
switch S: at and cell of marking
switch S: sharing: partitioned
switch S: headroom
switch T: link S - T: a cable of 12ns is 3m
switch T: link T - b: a cable of 12ns is 3m
switch T: strict of the watchdog
switch T: sharing: partitioned`
	if err != nil || strings.Join(left, "\n") != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, strings.Join(left, "\n"), want)
	}
	for _, c := range []struct{ old, new, want string }{
		{"rate: 10Gb/s", "rate: 10000.5Mb/s", "own: link a - S has 10.0005Gb/s: SONiC has whole Mb/s"},
	} {
		if _, _, err := generate.SONiC(runtest.Load(t, strings.Replace(own, c.old, c.new, 1))); err == nil || err.Error() != c.want || !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	s := runtest.Load(t, "name: ib\nmodel: {duration: 1ms}\ndefaults: {link: {rate: 1GB/s}}\nswitches: {S: {}}\nendpoints: [a, b]\nlinks: [a - S, b - S]\nflows: [{name: f, from: a, to: b}]\n")
	if _, _, err := generate.SONiC(s); err == nil || err.Error() != "ib: switch S is input-buffered, and SONiC's are output-queued" {
		t.Error(err)
	}
}

func TestFromSONiCRefuses(t *testing.T) {
	t.Parallel()
	with := func(old, new string) string {
		if !strings.Contains(sonicLeaf, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(sonicLeaf, old, new, 1)
	}
	for _, c := range []struct{ leaf, want string }{
		{"", "leaf:1: not JSON: EOF"},
		{"{\n\"PORT\": x}", "leaf:2: not JSON: invalid character 'x' looking for beginning of value"},
		{"[1]", "leaf:1: a configuration is an object of tables, such as {\"PORT\": {}}"},
		{"{}\n{}", "leaf:2: something follows the configuration"},
		{strings.Repeat("[", 20), "leaf:1: more than 16 levels of objects and lists"},
		{"{}", "leaf: there is no table PORT"},
		{"{\"PORT\": {}}", "leaf: no links join two endpoints: ports that are up and lead to a neighbour without a file, or to none"},
		{with(`"hostname": "leaf-1"`, `"hostname": "spine"`), `spine: the hostname "spine" is that of leaf, too`},
		{with(`"speed": "25000"`, `"speed": "fast"`), `leaf:6: speed "fast" is not a whole number from 1 to 100000000`},
		{with(`"Ethernet4": "5m"`, `"Ethernet4": "far"`), `leaf:10: "far" is not the length of a cable, such as 5m`},
		{with(`"port": "Eth2"`, `"port": "Eth9"`), `leaf:14: Ethernet12 is linked to port "Eth9" of spine, and spine has no such port that is up`},
		{with(`"port": "Eth2"`, `"port": "Eth3"`), "leaf:14: Ethernet12 is linked to Ethernet8 of spine, which has another neighbour in spine:8"},
		{with(`"pfc_enable": "3,4"`, `"pfc_enable": "3;4"`), `leaf:21: "3;4" is not a list of priorities, such as 3,4`},
		{with(`"26": "3"`, `"26": "16"`), `leaf:24: 26 "16" is not a whole number from 0 to 15`},
		{with(`"26": "3"`, `"64": "3"`), `leaf:24: "64" is not a number from 0 to 63`},
		{with(`"size": "4000000"`, `"size": "-1"`), `leaf:16: size "-1" is not a whole number from 0 to 1099511627776`},
		{with(`"static_th": "298752"`, `"dynamic_th": "1/8"`), `leaf:18: dynamic_th "1/8" is not a whole number from -128 to 127`},
		{with(`"xon": "2496"`, `"xon": "2.5"`), `leaf:18: xon "2.5" is not a whole number from 0 to 1099511627776`},
		{with(`"action": "forward"`, `"action": "stop"`), `leaf:26: the action "stop" of the watchdog is none of drop, forward, alert`},
		{with(`"detection_time": "400"`, `"detection_time": "0"`), `leaf:26: detection_time "0" is not a whole number from 1 to 1000000`},
		{with(`"type": "DWRR", "weight": "15"`, `"type": "FIFO"`), `leaf:27: the type "FIFO" of scheduler scheduler.1 is none of DWRR, WRR, STRICT`},
		{with(`"scheduler": "strict"`, `"scheduler": "loose"`), `leaf:32: there is no scheduler "loose"`},
		{with(`"wred_profile": "AZURE_LOSSLESS"`, `"wred_profile": "MINE"`), `leaf:31: there is no WRED profile "MINE"`},
		{with(`"green_max_threshold": "1000000"`, `"green_max_threshold": "1"`), "leaf:28: WRED profile AZURE_LOSSLESS marks from 250000 to 1 bytes with at most 5 %: that is nothing"},
		{with(`"Ethernet0|0-2"`, `"Ethernet0|2-0"`), `leaf:30: "2-0" is not a list of priorities, such as 3,4`},
		{strings.Repeat(" ", generate.MostBytes+1), "leaf: the file has more than 16 MiB"},
	} {
		files := []generate.File{{Name: "leaf", Text: []byte(c.leaf)}}
		if strings.Contains(c.leaf, "DEVICE_NEIGHBOR") {
			files = append(files, generate.File{Name: "spine", Text: []byte(sonicSpine)})
		}
		if _, err := generate.FromSONiC(files); err == nil || err.Error() != c.want || !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// What a scenario does not have is listed.
func TestFromSONiCLeavesOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{`"size": "4000000", "xoff"`, `"xoff"`, "leaf:16: pool ingress_lossless_pool has no size: the memory is that of the ports"},
		{`"size": "4000000", "xoff"`, `"size": "6000000000", "xoff"`, "leaf:16: pool ingress_lossless_pool: a memory of 6000800000 bytes; a switch has at most 2147483647"},
		{`"static_th": "298752"`, `"dynamic_th": "0"`, "leaf:18: BUFFER_PROFILE: xoff"},
		{`"static_th": "298752"`, `"dynamic_th": "0"`, "leaf:18: size 1248: no memory is reserved for an input"},
		{`"static_th": "298752"`, `"dynamic_th": "-11"`, "leaf:18: dynamic_th -11: alpha is a power of two from 2^-10 to 2^10: the watermark is computed"},
		{`"static_th": "298752", "xon": "2496"`, `"dynamic_th": "-10", "xon": "9000"`, "leaf:18: xon 9000: an input alone is stopped at 4615 bytes, and resumes below that"},
		{`"static_th": "298752"`, `"static_th": "600000"`, "leaf:18: static_th: a watermark of 601248B needs a part of the memory of 1821068B for an input, and it is 1200KB: the watermark is computed"},
		{`"26": "3"`, `"26": "8"`, "leaf:24: DSCP_TO_TC_MAP: class 8: priorities are 0 to 7"},
		{`"ecn": "ecn_all"`, `"ecn": "ecn_none"`, "leaf:28: WRED profile AZURE_LOSSLESS: it does not mark green frames, and lossless frames are never dropped"},
		{`"wred_green_enable": "true"`, `"wred_green_enable": "false"`, "leaf:28: WRED profile AZURE_LOSSLESS: it is not enabled for green frames"},
		{`"type": "DWRR", "weight": "15"`, `"type": "WRR", "weight": "15"`, "leaf:27: scheduler scheduler.1: WRR counts packets, and ets bytes"},
		{`"Ethernet8": {"pfc_enable": "3,4"`, `"Ethernet8": {"pfc_enable": "3"`, "leaf:22: pfc_enable 3: a switch has the lossless priorities of all its ports"},
		{`"lanes": "5,6,7,8"`, `"role": "Rec"`, "leaf:6: PORT: ports within the device"},
		{`"name": "server-a", "port": "eth0"`, `"name": "leaf-1", "port": "Ethernet4"`, "leaf:12: DEVICE_NEIGHBOR: ports that are linked to their own switch"},
		{`"ACL_TABLE": {}`, `"ACL_TABLE": 1, "ACL_TABLE": [1, {}]`, `leaf:35: "ACL_TABLE" is there again in line 35, and the later one counts`},
	} {
		x := fromSONiC(t, generate.File{Name: "leaf", Text: []byte(strings.Replace(sonicLeaf, c.old, c.new, 1))})
		if all := strings.Join(append(x.Left, x.Warnings...), "\n"); !strings.Contains(all+"\n", c.want+"\n") {
			t.Errorf("got\n%s\nwant\n%s", all, c.want)
		}
	}
}

// FuzzFromSONiC: whatever a configuration holds, FromSONiC reports a mistake or returns a scenario,
// in which a mistake may be found.
func FuzzFromSONiC(f *testing.F) {
	runtest.MinimizeLittle(f)
	f.Add([]byte(sonicLeaf))
	f.Add([]byte(sonicSpine))
	for _, b := range runtest.Seeds(runtest.Mutants([]byte(sonicLeaf), 100), 20) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkImported(t, text, func(file string, text []byte) (generate.Imported, error) {
			return generate.FromSONiC([]generate.File{{Name: file, Text: text}, {Name: "file:spine", Text: []byte(sonicSpine)}})
		})
	})
}

// The switches of each built-in scenario on Ethernet can be exported and imported.
func TestSONiCOfBuiltIn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	exported := 0
	for _, entry := range builtin.List() {
		src, err := builtin.Read(entry.Name)
		if err != nil {
			t.Fatal(err)
		}
		files, _, err := generate.SONiC(runtest.Load(t, string(src)))
		if err != nil {
			if !strings.Contains(err.Error(), "output-queued") {
				t.Errorf("%s: %v", entry.Name, err)
			}
			continue
		}
		exported++
		x, err := generate.FromSONiC(files)
		if err != nil {
			t.Errorf("%s: %v", entry.Name, err)
			continue
		}
		if _, err := resolve.Load("x.yaml", x.Scenario, nil); err != nil {
			t.Errorf("%s: %v", entry.Name, err)
		}
	}
	if exported < 50 {
		t.Errorf("%d scenarios were exported", exported)
	}
}
