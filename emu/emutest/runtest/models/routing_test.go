package models_test

import (
	"fabemu/emu"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
)

// clos is two leaves and two spines of either family.
func clos(family, routing, more string) string {
	link, sw, flow := "flow-control: pause", "kind: output-queued, forwarding-delay: 500ns, marking: {scheme: qcn, qeq: 9KB, octets: 14}", "control: {algorithm: qcn}"
	if family == "infiniband" {
		link, sw, flow = "buffer: 4 packets", "marking: {scheme: input}", "window: 4, timeout: 200us, control: {algorithm: lipd}"
	}
	return fmt.Sprintf(`name: clos
model: {duration: 3ms}
wall: {dilation: 1}
routing: %s
defaults: {link: {rate: 10Gb/s, propagation: 100ns, %s}, switch: {%s}, flow: {packet: 1500B, %s}}
switches: {left: {}, right: {}, s1: {}, s2: {}}
endpoints: ["l[1-4]", "r[1-4]"]
links: ["l[1-4] - left", "r[1-4] - right", left - s1, left - s2, s1 - right, s2 - right]
flows: [{name: there, from: "l[1-4]", to: "r[1-4]", spread: uniform, traffic: poisson, load: 0.7}, {name: one, from: "l[1-4]", to: r1}]
%s`, routing, link, sw, flow, more)
}

// Both spines carry data, ACKs or notifications come back, and each flow keeps to in one direction
// and its order: nothing is violated. With single paths one spine is idle.
func TestModelEqualCostPathsCarryBoth(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, family := range []string{"ethernet", "infiniband"} {
		r, _ := logOf(t, runtest.Load(t, clos(family, "ecmp", "")), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		for _, link := range []string{"left-s1", "left-s2", "s1-right", "s2-right"} {
			if u := runtest.Over(t, r.Metrics, link+".utilisation", 1, 3); u < 0.3 {
				t.Errorf("%s: %s has %v", family, link, u)
			}
		}
		if r.Verdict.Violations > 0 {
			t.Errorf("%s: %+v", family, r.Violations)
		}
		if told := runtest.Over(t, r.Metrics, "one.notifications", 0, 3); family == "ethernet" && told == 0 {
			t.Error("no source was notified")
		}
		single, _ := logOf(t, runtest.Load(t, clos(family, "shortest", "")), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if u := runtest.Over(t, single.Metrics, "left-s2.utilisation", 1, 3); u != 0 {
			t.Errorf("%s: the second spine has %v without ecmp", family, u)
		}
	}
}

// Which way a flow takes is drawn from the seed, switch by switch: over two stages all
// combinations come up. Were all seeds alike, the second switch would choose as the first.
func TestEqualCostChoicesAreIndependent(t *testing.T) {
	var b strings.Builder
	b.WriteString(`name: stages
model: {duration: 1ms}
routing: ecmp
defaults: {link: {rate: 1GB/s}}
switches: {in: {}, a1: {}, a2: {}, m: {}, b1: {}, b2: {}, out: {}}
endpoints: ["x[1-400]", y]
links: ["x[1-400] - in", in - a1, in - a2, a1 - m, a2 - m, m - b1, m - b2, b1 - out, b2 - out, out - y]
flows: [{name: f, from: "x[1-400]", to: y}]
`)
	s := runtest.Load(t, b.String())
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	met := map[[2]int]int{}
	for i := range f.Flows {
		h := f.Flows[i].Path.Hops()
		met[[2]int{h[1].Wire, h[3].Wire}]++
	}
	if len(met) != 4 {
		t.Fatalf("%v", met)
	}
	for ways, n := range met {
		if n < 65 || n > 135 { // 100 and four standard deviations of 8.7
			t.Errorf("%d of 400 flows take %v", n, ways)
		}
	}
}

// On both clocks, with routes that are hashed and made again, the log is the same.
func TestModelRoutingOnTheWallClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	events := "events: [{at: 500us, link: left - s1, state: down}, {at: 1500us, link: left - s1, state: up}, {at: 1700us, switch: s2, restart: 300us}]\n"
	for _, family := range []string{"ethernet", "infiniband"} {
		s := runtest.Load(t, clos(family, "{paths: ecmp, recompute: 100us}", events))
		virtual, want := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		wall, got := logOf(t, s, emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOff})
		if virtual.Digest != wall.Digest || want != got {
			t.Errorf("%s: the logs differ", family)
		}
		if virtual.Verdict.Violations > 0 {
			t.Errorf("%s: %+v", family, virtual.Violations)
		}
		if u := runtest.Over(t, virtual.Metrics, "left-s2.utilisation", 0.7, 1.4); u < 0.5 {
			t.Errorf("%s: while s1 is away s2 carries %v", family, u)
		}
		if u := runtest.Over(t, virtual.Metrics, "left-s1.utilisation", 1.7, 3); u < 0.3 {
			t.Errorf("%s: when s1 is back it carries %v", family, u)
		}
	}
}

// What waited for the link that failed goes the new way, in its order, and is not lost,
// with credit as with PAUSE; before there are new routes it waits.
func TestModelWhatWaitsTakesTheNewWay(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, family := range []string{"ethernet", "infiniband"} {
		yaml := strings.Replace(clos(family, "{recompute: 300us}", "events: [{at: 1ms, link: left - s1, state: down}]\n"), "timeout: 200us, ", "", 1)
		r, _ := logOf(t, runtest.Load(t, yaml), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if got := runtest.Over(t, r.Metrics, "there.rate", 1.2, 1.3); got > 0 {
			t.Errorf("%s: %v arrives before there are routes", family, got)
		}
		if got := runtest.Over(t, r.Metrics, "left-s2.utilisation", 1.5, 3); got < 0.6 {
			t.Errorf("%s: the other way carries %v", family, got)
		}
		lost := int64(0)
		for _, l := range r.Losses {
			lost += int64(l.Count)
		}
		if lost > 4 { // what was on the link, and what was on its return path
			t.Errorf("%s: %d frames are lost: %+v", family, lost, r.Losses)
		}
	}
}

// A link that fails where there is no other way leaves the routes as they are: what goes
// over it waits, as without recompute.
func TestModelNoOtherWay(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	yaml := func(routing string) string {
		return clos("infiniband", routing, "events: [{at: 1ms, link: right - r1, state: down}, {at: 2ms, link: right - r1, state: up}]\n")
	}
	yaml1 := strings.Replace(yaml("{recompute: 100us}"), "right - r1", "r1 - right", -1)
	yaml2 := strings.Replace(yaml("shortest"), "right - r1", "r1 - right", -1)
	_, with := logOf(t, runtest.Load(t, yaml1), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	_, without := logOf(t, runtest.Load(t, yaml2), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if with != without {
		t.Error("the logs differ")
	}
}
