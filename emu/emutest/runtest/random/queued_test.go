package random_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/capture/dump"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// queuedFabric returns a fabric of output-queued switches, of which most plan departures
// (switchd.OutputQueued.Plan): trees with flows of all kinds of traffic and transports, with one
// priority or several, and without flow control, with PAUSE or PFC. Some of them mark, trim or
// choose outputs by their queues, and in half of them things happen that change a plan. Each link,
// flow and event has its own line.
func queuedFabric(seed uint64) string {
	return fabricOfQueues(seed, unit.NewRandom(seed, 19).Below(3) == 0)
}

// fabricOfQueues returns the fabric with a seed, whose switches may trim.
func fabricOfQueues(seed uint64, trims bool) string {
	r := unit.NewRandom(seed, 18)
	below := func(n int) int { return int(r.Below(uint64(n))) }
	pick := func(all ...string) string { return all[below(len(all))] }
	us := func(from, to int) string { return fmt.Sprintf("%d.%03dus", from+below(to-from), below(1000)) }
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	const over = 1500 // us
	control := pick("none", "pause", "pfc")
	switches, hosts := 1+below(4), 2+below(4) // hosts of each switch
	rates, packets, flights := []string{"10Gb/s"}, []string{"1500B"}, []string{"500ns"}
	if below(5) < 3 { // else all instants fall together
		rates = []string{"10Gb/s", "10Gb/s", "4Gb/s", "25Gb/s", "1Gb/s"}
	}
	if below(3) > 0 {
		packets = []string{"1500B", "1024B", "256B", "64B"}
	}
	if below(5) < 3 {
		flights = []string{"10ns", "500ns", "2us", "5us"}
	}
	priorities := []string{"0"}
	switch below(4) {
	case 0:
		priorities = []string{"3"}
	case 1:
		priorities = []string{"0", "3"}
	case 2:
		priorities = []string{"0", "1", "3", "5", "7"}
	}
	line("name: queued\nmodel: {duration: 2ms, seed: %d, framing: %s}", seed, pick("paper", "wire"))
	routing := pick("shortest", "ecmp")
	if r := unit.NewRandom(seed, 21); routing == "ecmp" && !trims && r.Below(3) > 0 { // drawn apart, too; the witness knows one path
		routing = "{paths: ecmp, balance: " + []string{"random", "adaptive", "adaptive-flowlet"}[r.Below(3)] + "}"
	}
	line("routing: %s", routing)
	quanta := ""
	memory := pick("20KB", "60KB", "300KB")
	if control != "none" {
		quanta = pick("", "", ", quanta: 200", ", quanta: 2000")
		memory = "600KB"
	}
	line("defaults:\n  link: {rate: 10Gb/s, flow-control: %s%s}", control, quanta)
	if control != "none" {
		memory += " per port" + pick("", ", high: 83KB, low: 79KB", ", high: 83KB, low: 40KB", ", high: 83KB, low: 82KB", ", high: 40KB, low: 10KB")
	} else {
		memory += " per port"
	}
	sharing := pick("partitioned", "partitioned", "pooled")
	alpha := control != "none" && sharing == "pooled" && below(4) == 0
	if alpha { // watermarks that follow the free memory
		memory = "600KB per port"
		sharing += ", alpha: " + pick("0.125", "1", "8")
	}
	packetwise := "{kind: rocev2}"
	if trims { // what is drawn for that is drawn apart: other fabrics stay as they are
		r := unit.NewRandom(seed, 19)
		some := func(all ...string) string { return all[r.Below(uint64(len(all)))] }
		packetwise = "{kind: rocev2" + some("", ", order: selective-repeat", ", order: direct") + "}"
		sharing += fmt.Sprintf(", trim: {size: %s, priority: %s, limit: %s}", some("128B", "64B", "256B"), some("6", "7", "2"), some("100KB", "1KB"))
		if r := unit.NewRandom(seed, 20); r.Below(2) == 0 { // and so is Ultra Ethernet
			some := func(all ...string) string { return all[r.Below(uint64(len(all)))] }
			packetwise = "{kind: uet, rto: 300us" + some("", "", ", delivery: ordered", ", window: 8", ", probe-after: 40us", ", spray: mixed") + "}" +
				some("", ", control: {algorithm: nscc, base-rtt: 20us}", ", control: {algorithm: rccc, base-rtt: 20us}", ", control: {algorithm: nscc-rccc, base-rtt: 20us}")
		}
		switch control {
		case "none":
			sharing += ", output-limit: " + some("none", "35KB")
		case "pfc":
			sharing += ", lossless: [0]"
		}
	}
	line("  switch: {kind: output-queued, memory: %s, sharing: %s, forwarding: %s%s}", memory, sharing,
		pick("store-and-forward, forwarding-delay: "+pick("500ns", "1ns", "3us"), "cut-through, forwarding-delay: "+pick("500ns", "3us")), pick("", "", "", ", marking: {scheme: ecn, min: 30KB, max: 60KB}", ", marking: {scheme: ecn, min: 3KB, max: 3KB, at: enqueue}", ", marking: {scheme: ecn, min: 8KB, max: 100KB, cell: 208B}"))
	line("  endpoint: {service: %s, ingress: 300KB}", pick("unlimited", "unlimited", "2Gb/s", "15Gb/s"))
	line("switches:")
	for i := range switches {
		line("  S%d: {}", i)
	}
	line("endpoints: [\"E[0-%d]\"]\nlinks:", switches*hosts-1)
	links := 0
	link := func(x, y string) {
		line("  - {name: L%d, between: %s - %s, rate: %s, propagation: %s}", links, x, y, pick(rates...), pick(flights...))
		links++
	}
	for i := 1; i < switches; i++ {
		link(fmt.Sprintf("S%d", below(i)), fmt.Sprintf("S%d", i))
	}
	if switches > 1 && below(3) == 0 { // equal paths, or one beside the others
		link("S1", "S0")
	}
	for i := range switches * hosts {
		link(fmt.Sprintf("E%d", i), fmt.Sprintf("S%d", i/hosts))
	}
	line("flows:")
	for i := range 2 + below(11) {
		from := below(switches * hosts)
		to := (from + 1 + below(switches*hosts-1)) % (switches * hosts)
		if from != 0 && below(5) < 2 {
			to = 0 // several to one: a queue that others share
		}
		traffic := pick("greedy", "greedy"+pick("", ", transport: "+packetwise, ", transport: {kind: tcp, min-rto: 100us}"), fmt.Sprintf("poisson, load: 0.%d", 1+below(9)),
			fmt.Sprintf("constant, load: 0.%d", 1+below(9)), fmt.Sprintf("bursts, load: 0.%d, burst: 20KB", 1+below(4)))
		line("  - {name: f%d, from: E%d, to: E%d, priority: %s, packet: %s, start: %s, traffic: %s}", i, from, to, pick(priorities...), pick(packets...), pick("0us", "0us", "1us", us(0, 50)), traffic)
	}
	var events strings.Builder
	for range below(2) * (1 + below(6)) {
		l, e, s := fmt.Sprintf("L%d", below(links)), fmt.Sprintf("E%d", below(switches*hosts)), below(switches)
		until := below(900)
		lasts := fmt.Sprintf("at: %s, for: %dus", us(0, over), 1+below(300))
		switch below(9) {
		case 0:
			fmt.Fprintf(&events, "  - {at: %s, link: %s, rate: %s}\n", us(0, over), l, pick("10Gb/s", "4Gb/s", "25Gb/s", "2Gb/s"))
		case 1:
			fmt.Fprintf(&events, "  - {at: %dus, link: %s, state: down}\n  - {at: %dus, link: %s, state: up}\n", until, l, until+1+below(300), l)
		case 2:
			fmt.Fprintf(&events, "  - {at: %s, switch: S%d, restart: %dus}\n", us(0, over), s, 1+below(100))
		case 3:
			if control != "none" {
				fmt.Fprintf(&events, "  - {at: %dus, endpoint: %s, pause-storm: \"on\"}\n  - {at: %dus, endpoint: %s, pause-storm: \"off\"}\n", until, e, until+1+below(300), e)
			}
		case 4:
			fmt.Fprintf(&events, "  - {at: %s, endpoint: %s, service: %s}\n", us(0, over), e, pick("500Mb/s", "unlimited"))
		case 5:
			fmt.Fprintf(&events, "  - {link: %s, %s, %s}\n", l, pick("loss: 0.1", "corruption: 0.3", "delay: 30us, jitter: 3us"), lasts)
		case 6:
			if alpha { // no input has a part of its own
				continue
			}
			fmt.Fprintf(&events, "  - {link: %s, buffer: 0.%d, %s}\n", l, 4+below(6), lasts)
		case 7:
			if control != "none" && !alpha {
				fmt.Fprintf(&events, "  - {at: %s, switch: S%d, high: %dKB, low: %dKB}\n", us(0, over), s, 4+below(60), 1+below(3))
			}
		case 8:
			if b := b.String(); !strings.Contains(b, "greedy}") && !strings.Contains(b, "load") { // only transports take packets again, or out of turn
				fmt.Fprintf(&events, "  - {link: %s, from: S%d, %s, frames: data, %s}\n", fmt.Sprintf("L%d", links-1), switches-1, pick("repeat: 0.1", "overtake: 0.1, after: 2us", "repeat: 0.3, after: 1us"), lasts)
			}
		}
	}
	if events.Len() > 0 {
		b.WriteString("events:\n" + events.String())
	}
	return b.String()
}

// A switch that plans departures counts what one does that acts at each instant, whose events are
// wanted: with them or without, and in domains, the figures and curves are the same. Most of the
// fabrics have switches that plan.
func TestModelRandomFabricsThatPlan(t *testing.T) {
	t.Parallel()
	runs := uint64(plannedFabrics)
	if testing.Short() {
		runs = 2
	}
	refused, plan := uint64(0), uint64(0)
	for seed := range runs {
		text := queuedFabric(seed)
		planning, err := plans(text)
		if err != nil {
			if refused++; !refusal(err) {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			continue
		}
		if planning > 0 {
			plan++
		}
		if wrong := divided(text); len(wrong) > 0 {
			t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(wrong, "\n"), text)
		}
		if seed%100 == 99 {
			t.Logf("%d fabrics", seed+1)
		}
	}
	t.Logf("%d fabrics, %d refused, %d of the others plan", runs, refused, plan)
	switch {
	case plan == 0:
		t.Error("some should plan")
	case 4*plan < 3*(runs-refused) && !testing.Short(): // two fabrics say nothing about most
		t.Error("most should plan")
	}
}

// A switch that trims does the same in domains and in loops, with events and without, and as an
// independent count of its events has it; in captures of Ultra Ethernet transport no check finds a
// fault. In some of the fabrics packets are trimmed.
func TestModelRandomFabricsThatTrim(t *testing.T) {
	t.Parallel()
	runs := uint64(plannedFabrics) / 2
	if testing.Short() {
		runs = 2
	}
	refused, trim, ultra := uint64(0), uint64(0), uint64(0)
	for seed := range runs {
		text := fabricOfQueues(seed, true)
		wrong, _, err := examine(text)
		if err != nil {
			if refused++; !refusal(err) {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			continue
		}
		if wrong = append(wrong, divided(text)...); len(wrong) > 0 {
			t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(wrong, "\n"), text)
		}
		if trimmed(t, text) > 0 {
			trim++
		}
		if strings.Contains(text, "kind: uet") {
			ultra++
			for _, both := range []bool{false, true} {
				if sum := proved(t, text, both); sum.Problems() > 0 {
					t.Errorf("seed %d: the capture, of both ends %t, has %v\n%s", seed, both, sum.Found, text)
				}
			}
		}
	}
	t.Logf("%d fabrics, %d refused, %d of the others trim, %d have Ultra Ethernet transport", runs, refused, trim, ultra)
	if trim == 0 || ultra == 0 {
		t.Error("some should trim, and some have Ultra Ethernet transport")
	}
}

// proved returns what the checks find in the capture of a run, at both ends of each link or where
// frames leave.
func proved(t *testing.T, text string, both bool) *dump.Summary {
	t.Helper()
	s, err := resolve.Load("queued.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	o := emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &b, Both: both}, NewStack: netstack.New}
	if _, err := emu.Run(context.Background(), s, o); err != nil {
		t.Fatal(err)
	}
	sum, err := dump.Dump(io.Discard, dump.Options{Check: true}, &b)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// trimmed returns how many packets are trimmed.
func trimmed(t *testing.T, text string) int {
	s, err := resolve.Load("queued.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var events bytes.Buffer
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Events: &events, NewStack: netstack.New}); err != nil {
		t.Fatal(err)
	}
	return bytes.Count(events.Bytes(), []byte(`"event":"trim"`))
}

// plans returns how many switches of a scenario plan departures.
func plans(text string) (n int, err error) {
	s, err := resolve.Load("queued.yaml", []byte(text), nil)
	if err != nil {
		return 0, err
	}
	f, err := fabric.Build(s)
	if err != nil {
		return 0, err
	}
	c, err := metrics.New(f, s)
	if err != nil {
		return 0, err
	}
	events := trace.NewBatch(trace.MaxBatch, c)
	events.Count(c, c.Flows())
	setup, err := assemble.New(f, assemble.Schemes{}, events)
	if err != nil {
		return 0, err
	}
	for _, m := range setup.Nodes {
		if x, ok := m.(drive.Passer); ok && x.Plan(anyLines{}) {
			n++
		}
	}
	return n, nil
}

// anyLines take any frame, and none is ever sent.
type anyLines struct{}

func (anyLines) Takes(port.ID) (int32, bool)         { return 0, true }
func (anyLines) TakeBack(port.ID, int, port.Planner) {}
