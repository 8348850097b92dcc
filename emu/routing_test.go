package emu

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
)

// clos is two leaves and two spines of either family.
func clos(family, routing, more string) string {
	link, sw, flow := "flow-control: pause", "kind: output-queued, forwarding-delay: 500ns, marking: {scheme: qcn, qeq: 9KB, octets: 14}", "control: {law: qcn}"
	if family == "infiniband" {
		link, sw, flow = "buffer: 4 packets", "marking: {scheme: input}", "window: 4, timeout: 200us, control: {law: lipd}"
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

func text(t *testing.T, yaml string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load("text.yaml", []byte(yaml), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Both spines carry data, ACKs or notifications come back, and each flow keeps to one way
// and its order: nothing is violated. With single paths one spine is idle.
func TestEqualCostPathsCarryBoth(t *testing.T) {
	for _, family := range []string{"ethernet", "infiniband"} {
		r, _ := logOf(t, text(t, clos(family, "ecmp", "")), Options{Clock: VirtualClock})
		for _, link := range []string{"left-s1", "left-s2", "s1-right", "s2-right"} {
			if u := over(t, r, link+".utilisation", 1, 3); u < 0.3 {
				t.Errorf("%s: %s has %v", family, link, u)
			}
		}
		if r.Verdict.Violations > 0 {
			t.Errorf("%s: %+v", family, r.Violations)
		}
		if told := over(t, r, "one.notifications", 0, 3); family == "ethernet" && told == 0 {
			t.Error("no source was notified")
		}
		single, _ := logOf(t, text(t, clos(family, "shortest", "")), Options{Clock: VirtualClock})
		if u := over(t, single, "left-s2.utilisation", 1, 3); u != 0 {
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
	s := text(t, b.String())
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	met := map[[2]int]int{}
	for i := range f.Flows {
		h := f.Flows[i].Hops
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

// On both clocks, with routes that are hashed and made anew, the log is the same.
func TestRoutingOnTheWallClock(t *testing.T) {
	events := "events: [{at: 500us, link: left - s1, state: down}, {at: 1500us, link: left - s1, state: up}, {at: 1700us, switch: s2, restart: 300us}]\n"
	for _, family := range []string{"ethernet", "infiniband"} {
		s := text(t, clos(family, "{paths: ecmp, recompute: 100us}", events))
		virtual, want := logOf(t, s, Options{Clock: VirtualClock})
		wall, got := logOf(t, s, Options{Link: Pipe, Verify: VerifyOff})
		if virtual.Digest != wall.Digest || want != got {
			t.Errorf("%s: the logs differ", family)
		}
		if virtual.Verdict.Violations > 0 {
			t.Errorf("%s: %+v", family, virtual.Violations)
		}
		if u := over(t, virtual, "left-s2.utilisation", 0.7, 1.4); u < 0.5 {
			t.Errorf("%s: while s1 is away s2 carries %v", family, u)
		}
		if u := over(t, virtual, "left-s1.utilisation", 1.7, 3); u < 0.3 {
			t.Errorf("%s: when s1 is back it carries %v", family, u)
		}
	}
}

// What waited for the link that failed goes the new way, in its order, and is not lost,
// with credit as with PAUSE; before there are new routes it waits.
func TestWhatWaitsTakesTheNewWay(t *testing.T) {
	for _, family := range []string{"ethernet", "infiniband"} {
		yaml := strings.Replace(clos(family, "{recompute: 300us}", "events: [{at: 1ms, link: left - s1, state: down}]\n"), "timeout: 200us, ", "", 1)
		r, _ := logOf(t, text(t, yaml), Options{Clock: VirtualClock})
		if got := over(t, r, "there.rate", 1.2, 1.3); got > 0 {
			t.Errorf("%s: %v arrives before there are routes", family, got)
		}
		if got := over(t, r, "left-s2.utilisation", 1.5, 3); got < 0.6 {
			t.Errorf("%s: the other way carries %v", family, got)
		}
		lost := int64(0)
		for _, l := range r.Losses {
			lost += int64(l.Count)
		}
		if lost > 4 { // what was on the line, and what was on its way back
			t.Errorf("%s: %d frames are lost: %+v", family, lost, r.Losses)
		}
	}
}

// A link that fails where there is no other way leaves the routes as they are: what goes
// over it waits, as without recompute.
func TestNoOtherWay(t *testing.T) {
	yaml := func(routing string) string {
		return clos("infiniband", routing, "events: [{at: 1ms, link: right - r1, state: down}, {at: 2ms, link: right - r1, state: up}]\n")
	}
	yaml1 := strings.Replace(yaml("{recompute: 100us}"), "right - r1", "r1 - right", -1)
	yaml2 := strings.Replace(yaml("shortest"), "right - r1", "r1 - right", -1)
	_, with := logOf(t, text(t, yaml1), Options{Clock: VirtualClock})
	_, without := logOf(t, text(t, yaml2), Options{Clock: VirtualClock})
	if with != without {
		t.Error("the logs differ")
	}
}
