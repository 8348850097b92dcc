package random_test

import (
	"fmt"
	"regexp"
	"strings"

	"fabemu/wire/unit"
)

// randomFabric returns a fabric: one of eight is a tight one (tightFabric), the others are plain
// (plainFabric).
func randomFabric(seed uint64) string {
	text := plainFabric(seed)
	if seed%8 == 7 {
		text = tightFabric(seed)
	}
	return withUltra(seed, withResponse(seed, withTransports(seed, text)))
}

// withResponse has the ports of a third of the fabrics with PAUSE or PFC obey only after a time,
// drawn apart from all else.
func withResponse(seed uint64, text string) string {
	r := unit.NewRandom(seed, 17)
	pick := func(all ...string) string { return all[r.Below(uint64(len(all)))] }
	if r.Below(3) > 0 {
		return text
	}
	return strings.Replace(text, ", quanta: ", ", response: "+pick("67 quanta", "1us", "3ns", "2345ns")+", quanta: ", 1)
}

// withGuests adds two guests with gVisor's TCP, of which one sends to the other. Real hosts cannot
// be here: they need root, and run on the wall clock alone.
func withGuests(r *unit.Random, text string) string {
	pick := func(all ...string) string { return all[r.Below(uint64(len(all)))] }
	switches := strings.Count(text, ": {}\n")
	at := func() string { return fmt.Sprintf("S%d", r.Below(uint64(switches))) }
	flow := "priority: " + pick("0", "1", "3", "5") + ", packet: 1600B}\n"
	text = strings.Replace(text, "\nlinks:\n", "\n  - {name: G0, guest: {kind: netstack, tcp: reno}}\n  - {name: G1, guest: {kind: netstack, tcp: reno}}\nlinks:\n", 1)
	text = strings.Replace(text, "\nflows:\n", "\n  - {name: G0, between: G0 - "+at()+"}\n  - {name: G1, between: G1 - "+at()+"}\nflows:\n"+
		"  - {name: g0, from: G0, to: G1, "+flow+"  - {name: g1, from: G1, to: G0, "+flow, 1)
	return strings.TrimSuffix(text, "\n") + "\nprograms:\n  - {name: client, at: 10us, on: G0, run: send G1 " + pick("3KB", "50KB", "300KB") + "}\n"
}

// withTransports gives some of the flows and workloads of a third of the fabrics of Ethernet RoCEv2
// or TCP, and some of those guests (withGuests), drawn apart from all else.
func withTransports(seed uint64, text string) string {
	r := unit.NewRandom(seed, 13)
	pick := func(all ...string) string { return all[r.Below(uint64(len(all)))] }
	if r.Below(3) > 0 || !strings.Contains(text, "kind: output-queued") {
		return text
	}
	if r.Below(3) == 0 {
		text = withGuests(r, text)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if flow, found := strings.CutSuffix(l, "}"); found && (strings.HasPrefix(l, "  - {name: f") || strings.HasPrefix(l, "  - {name: w")) && r.Below(2) == 0 {
			flow = packetOf.ReplaceAllString(flow, "packet: "+pick("64B", "256B", "1500B", "4096B"))
			lines[i] = flow + ", transport: " + pick("rocev2", "{kind: rocev2, ack-every: 16, ack-timeout: 100us}", "{kind: rocev2, window: 4}",
				"{kind: tcp, min-rto: 100us}", "{kind: tcp, recovery: sack, delayed-ack: none, receive-window: 20KB}") + "}"
		}
	}
	return strings.Join(lines, "\n")
}

// withUltra gives some of the flows and workloads of half of the fabrics of Ethernet, where they
// have no other transport, that of Ultra Ethernet, and has switches trim that may drop, drawn apart
// from all else. Its packets cannot be quoted in notifications.
func withUltra(seed uint64, text string) string {
	r := unit.NewRandom(seed, 21)
	pick := func(all ...string) string { return all[r.Below(uint64(len(all)))] }
	if r.Below(2) > 0 || !strings.Contains(text, "kind: output-queued") || strings.Contains(text, "scheme: qcn") || strings.Contains(text, "scheme: bcn") {
		return text
	}
	if drops := strings.Contains(text, "flow-control: none") || strings.Contains(text, "lossless: [3, 5]"); drops && !strings.Contains(text, "rocev2") {
		text = strings.Replace(text, "kind: output-queued", "kind: output-queued, trim: "+pick("{size: 64B, priority: 2}", "{size: 128B, priority: 2}", "{size: 64B, priority: 2, limit: 1KB}"), 1)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		flow, found := strings.CutSuffix(l, "}")
		if !found || strings.Contains(l, "transport: ") || !strings.HasPrefix(l, "  - {name: f") && !strings.HasPrefix(l, "  - {name: w") || r.Below(4) == 0 {
			continue
		}
		flow = packetOf.ReplaceAllString(flow, "packet: "+pick("64B", "256B", "1500B", "4096B"))
		flow = windowOf.ReplaceAllString(flow, "")
		lines[i] = flow + ", transport: {kind: uet, retry-count: 7, rto: " + pick("50us", "300us") + pick("", "", ", delivery: ordered", ", window: 8", ", probe-after: 20us", ", spray: mixed", ", spray: reps, window: 64") + "}" +
			pick("", ", control: {algorithm: nscc, base-rtt: 50us}", ", control: {algorithm: rccc, base-rtt: 50us}", ", control: {algorithm: nscc-rccc, base-rtt: 50us}") + "}"
	}
	return strings.Join(lines, "\n")
}

var (
	windowOf = regexp.MustCompile(", window: (none|[0-9]+)")
	packetOf = regexp.MustCompile("packet: [0-9]+B")
)

// plainFabric returns a scenario of InfiniBand or Ethernet: some switches in a tree or in a ring,
// maybe with two links between two of them, whatever routing, fixed routes that are not the
// shortest, endpoints, all kinds of traffic until 300 µs, congestion points whose notifications are
// as large as the data, and things that happen until 400 µs and are over then, but for a link that
// stays down; faults; and in half of the fabrics links that make equal paths, routes that change,
// and workloads. What is in flight has the rest of the 20 ms to arrive. Each node, link, flow,
// route and event has its own line.
func plainFabric(seed uint64) string {
	r := unit.NewRandom(seed, 7)
	below := func(n int) int { return int(r.Below(uint64(n))) }
	pick := func(all ...string) string { return all[below(len(all))] }
	us := func(from, to int) string { return fmt.Sprintf("%d.%03dus", from+below(to-from), below(1000)) }
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	const stop, over = 300, 400 // us
	more := newMore(seed)
	control := pick("pause", "pfc", "pause", "pfc", "pfc", "none", "credit", "credit")
	ring := below(2) == 0
	corner := below(6) == 0 // all round in one direction and back, with much feedback, and a link on the path goes down
	if corner {
		control, ring = "pfc", true
	}
	switches, endpoints := 1+below(3), 3+below(4)
	if ring {
		switches = 3 + below(3)
		endpoints += switches
	}
	line("name: random\nmodel: {duration: 20ms, seed: %d, framing: %s}", seed, pick("paper", "wire"))
	routing := more.routing(pick("shortest", "ecmp", "{recompute: 20us}", "{paths: ecmp, recompute: 5us}"))
	line("routing: %s", routing)
	line("defaults:")
	packets, algorithm, windows := []string{"12B", "700B", "1500B", "1500B", "4000B", "9000B"}, "fixed", []string{"none"}
	rates := []string{"10Gb/s", "10Gb/s", "4Gb/s", "25Gb/s", "1Gb/s"}
	switch {
	case control == "credit":
		packets, windows = []string{"64B", "256B", "2048B", "2048B", "4096B"}, []string{"1", "3", "16"}
		algorithm = pick("fixed", "fixed", "aimd", "lipd", "fimd")
		line("  link: {rate: 10Gb/s, propagation: %s, buffer: %s, resend: 30us}", pick("1ns", "500ns", "5us"), pick("1 packets", "2 packets", "4 packets", "20KB"))
		line("  switch: {kind: input-buffered, crossbar: %s, forwarding-delay: 500ns, marking: {scheme: %s}}", pick("multi-output", "single-output"), pick("none", "naive", "input", "input-output"))
	default:
		line("  link: {rate: 10Gb/s, propagation: %s, flow-control: %s, quanta: %s}", pick("1ns", "500ns", "5us"), control, pick("65535", "65535", "150", "2000"))
		memory := pick("60KB per port", "100KB per port", "150KB per port", "300KB per port")
		if control == "none" {
			memory = pick("20KB per port", "50KB per port")
		}
		rest := ""
		if control == "pfc" && !corner && below(2) == 0 {
			rest = ", lossless: [3, 5]"
		}
		if control == "none" || rest != "" {
			rest += pick("", ", output-limit: 15KB")
		}
		if corner || below(2) == 0 { // frames that are as small as what is said of them
			packets = []string{"12B", "64B", "64B", "110B", "700B"}
			octets, scheme := pick("14", "64"), pick("qcn", "bcn")
			if algorithm = pick("fixed", scheme); corner {
				packets, algorithm = []string{pick(packets...)}, "fixed"
			}
			if scheme == "qcn" {
				rest += ", marking: {scheme: qcn, qeq: 3KB, sample-base: 10KB, octets: " + octets + pick("", ", priority: 3") + "}"
			} else {
				rest += ", marking: {scheme: bcn, qeq: 3KB, pm: 0.3" + pick("", ", priority: 3") + "}"
			}
		}
		rest += pick("", "", ", ets: [{priority: 3, weight: 3}, {priority: 0, weight: 1}]", ", ets: [{priority: 5, weight: 1}, {priority: 7, weight: 100}, {priority: 0, weight: 7}]")
		line("  switch: {kind: output-queued, memory: %s, sharing: %s, forwarding: %s, forwarding-delay: 500ns%s}", memory, pick("partitioned", "pooled"), pick("store-and-forward", "cut-through"), rest)
		line("  endpoint: {ingress: %s, egress: %s}", pick("unlimited", "300KB"), pick("unlimited", "60KB"))
	}
	line("  flow: {control: {algorithm: %s}}", algorithm)
	line("switches:")
	for i := range switches {
		line("  S%d: {}", i)
	}
	line("endpoints:")
	for i := range endpoints {
		line("  - {name: E%d%s}", i, pick("", "", ", service: 2Gb/s", ", service: 15Gb/s"))
	}
	line("links:")
	var links []string
	link := func(x, y string) {
		line("  - {name: L%d, between: %s - %s, rate: %s}", len(links), x, y, pick(rates...))
		links = append(links, fmt.Sprintf("L%d", len(links)))
	}
	at := make([]int, endpoints)
	for i := range switches { // of a ring, those from each switch to the next come first
		switch {
		case ring:
			link(fmt.Sprintf("S%d", i), fmt.Sprintf("S%d", (i+1)%switches))
		case i > 0:
			link(fmt.Sprintf("S%d", i), fmt.Sprintf("S%d", below(i)))
		}
	}
	if switches > 1 && !ring && below(2) == 0 { // another link in addition to the first
		link("S1", "S0")
	}
	for i := range endpoints {
		if at[i] = below(switches); ring && i < switches {
			at[i] = i
		}
		link(fmt.Sprintf("E%d", i), fmt.Sprintf("S%d", at[i]))
	}
	b.WriteString(more.links(switches))
	line("flows:")
	for i := range 2 + below(8) {
		from := below(endpoints)
		to := (from + 1 + below(endpoints-1)) % endpoints
		if from != 0 && below(3) == 0 {
			to = 0 // much of it to one: it is there that there is too little room
		}
		timeout := ""
		kind := pick("greedy", "greedy", "greedy", "constant, load: 0.4", "bernoulli, load: 0.3", "poisson, load: 0.5", "bursts, load: 0.2, burst: 20KB", fmt.Sprintf("transfers, size: %dB, count: %d", 1+below(60000), 1+below(4)))
		if control == "credit" && !strings.HasPrefix(kind, "transfers") {
			timeout = pick("", ", timeout: 200us")
		}
		line("  - {name: f%d, from: E%d, to: E%d, priority: %s, window: %s, traffic: %s%s%s, packet: %s, start: %s, stop: %s}",
			i, from, to, pick("0", "3", "5", "7"), pick(windows...), kind, timeout, pick("", ", limiter: token-bucket", ", limiter: token-bucket, depth: 1B"), pick(packets...), us(0, 100), us(200, stop))
	}
	b.WriteString(more.workloads(endpoints, control, packets))
	computed := strings.Contains(routing, "recompute")
	round := corner || ring && below(2) == 0 && !(more.on && computed) // most of those would lead nowhere around a link that is down
	if round {                                                         // all in one direction
		line("routes:")
		for s := range switches {
			for e := range endpoints {
				if at[e] != s {
					line("  - {at: S%d, to: E%d, over: L%d}", s, e, s)
				}
			}
		}
	}
	if ring && !computed {
		b.WriteString(more.routes(at, switches, round))
	}
	line("events:")
	if corner {
		line("  - {at: %s, link: L%d, state: down}", us(50, 100), below(switches))
		return b.String()
	}
	for range below(12) {
		switch below(6) {
		case 0:
			line("  - {at: %s, link: %s, rate: %s}", us(0, over), pick(links...), pick(rates...))
		case 1:
			l := pick(links...)
			line("  - {at: %s, link: %s, state: down}\n  - {at: %s, link: %s, state: up}", us(0, stop), l, us(stop, over), l)
		case 2:
			e := below(endpoints)
			line("  - {at: %s, endpoint: E%d, service: 500Mb/s}\n  - {at: %s, endpoint: E%d, service: unlimited}", us(0, stop), e, us(stop, over), e)
		case 3:
			if e := below(endpoints); control != "none" && control != "credit" {
				line("  - {at: %s, endpoint: E%d, pause-storm: \"on\"}\n  - {at: %s, endpoint: E%d, pause-storm: \"off\"}", us(0, stop), e, us(stop, over), e)
			}
		case 4:
			line("  - {at: %s, switch: S%d, restart: %s}", us(0, stop), below(switches), us(1, 100))
		case 5:
			if below(4) == 0 {
				line("  - {at: %s, link: %s, state: down}", us(0, stop), pick(links...))
			}
		}
	}
	text := strings.TrimSuffix(b.String(), "events:\n") // a list of nothing is none
	return text + randomFaults(seed, links, endpoints, switches, control, at)
}

// more draws what only half of the fabrics have, apart from all else.
type more struct {
	on     bool
	random *unit.Random
}

func newMore(seed uint64) *more {
	m := &more{random: unit.NewRandom(seed, 11)}
	m.on = m.below(2) == 0
	return m
}

func (m *more) below(n int) int { return int(m.random.Below(uint64(n))) }

func (m *more) pick(all ...string) string { return all[m.below(len(all))] }

// routing returns the choice among paths: in most of the fabrics with equal paths, all of them.
func (m *more) routing(usual string) string {
	if m.on && !strings.Contains(usual, "ecmp") && m.below(3) > 0 {
		return m.pick("ecmp", "{paths: ecmp, recompute: 7us}")
	}
	return usual
}

// links returns further links between switches.
func (m *more) links(switches int) string {
	var b strings.Builder
	if !m.on || switches < 2 {
		return ""
	}
	x, y := 0, 1
	for i := range m.below(6) {
		if m.below(2) == 0 { // else another one beside the last
			x = m.below(switches)
			y = (x + 1 + m.below(switches-1)) % switches
		}
		fmt.Fprintf(&b, "  - {name: M%d, between: S%d - S%d, rate: %s}\n", i, x, y, m.pick("10Gb/s", "10Gb/s", "4Gb/s", "25Gb/s"))
	}
	return b.String()
}

// workloads returns workloads, whose transfers take any of equal paths, each with a priority.
func (m *more) workloads(endpoints int, control string, packets []string) string {
	var b strings.Builder
	if !m.on {
		return ""
	}
	b.WriteString("workload:\n")
	for i := range 1 + m.below(4) {
		what := fmt.Sprintf("size: %dB, load: 0.%d", 1+m.below(60000), 1+m.below(9))
		switch m.below(4) {
		case 0:
			what = fmt.Sprintf("pattern: incast, size: %dB, count: %d", 1+m.below(60000), 1+m.below(4))
		case 1:
			what = fmt.Sprintf("pattern: %s, size: %dB, count: %d", m.pick("permutation", "ring", "all-to-all"), 1+m.below(60000), 1+m.below(4))
		case 2:
			if control != "none" {
				what = fmt.Sprintf("collective: %s, size: %dB, count: %d", m.pick("all-reduce", "all-to-all", "all-gather"), 10+m.below(40000), 1+m.below(3))
			}
		}
		first := m.below(endpoints - 1)
		last := first + 1
		if m.below(2) == 0 { // two endpoints have few paths among which the flows of a check could find all
			last += m.below(endpoints - 1 - first)
		}
		fmt.Fprintf(&b, "  - {name: w%d, over: \"E[%d-%d]\", %s, priority: %s, packet: %s, start: %dus, stop: %dus}\n",
			i, first, last, what, m.pick("0", "1", "3", "5", "6", "7"), m.pick(packets...), m.below(100), 200+m.below(100))
	}
	return b.String()
}

// routes returns routes to some endpoints that change while the fabric runs: in one direction round
// a ring, or in the other if they are so at first.
func (m *more) routes(at []int, switches int, round bool) string {
	var b strings.Builder
	if !m.on {
		return ""
	}
	if !round {
		b.WriteString("routes:\n")
	}
	for e := range at {
		if since := 20 + m.below(280); m.below(2) == 0 || e == 0 {
			for s := range switches {
				over := s
				if round {
					over = (s + switches - 1) % switches
				}
				if s != at[e] {
					fmt.Fprintf(&b, "  - {at: S%d, to: E%d, over: L%d, since: %dus}\n", s, e, over, since)
				}
			}
		}
	}
	return b.String()
}

// tightFabric returns two leaves, with equal paths between them over each spine, and with a slow
// endpoint at each spine, to which flows fill the inputs of the spine with their priorities.
// Workloads with others cross all of it, and routes change.
func tightFabric(seed uint64) string {
	r := unit.NewRandom(seed, 12)
	below := func(n int) int { return int(r.Below(uint64(n))) }
	pick := func(all ...string) string { return all[below(len(all))] }
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	spines, hosts := 2+below(3), 2+below(2) // hosts of each leaf
	control := pick("pfc", "pfc", "pfc", "pause")
	line("name: tight\nmodel: {duration: 20ms, seed: %d, framing: %s}", seed, pick("paper", "wire"))
	line("routing: %s", pick("ecmp", "ecmp", "shortest", "{paths: ecmp, recompute: 5us}", "{recompute: 20us}"))
	line("defaults:")
	line("  link: {rate: 10Gb/s, propagation: %s, flow-control: %s}", pick("1ns", "100ns", "500ns"), control)
	line("  switch: {kind: output-queued, memory: %s, sharing: %s, forwarding: %s, forwarding-delay: 500ns%s}", pick("40KB per port", "60KB per port", "100KB per port"),
		pick("partitioned", "pooled"), pick("store-and-forward", "cut-through"), pick("", ", ets: [{priority: 3, weight: 3}, {priority: 0, weight: 1}]"))
	line("switches:")
	for i := range 2 + spines {
		line("  S%d: {}", i)
	}
	line("endpoints:")
	var at []int
	for i := range 2*hosts + spines {
		line("  - {name: E%d}", i)
		at = append(at, i/hosts)
		if i >= 2*hosts {
			at[i] = 2 + i - 2*hosts
		}
	}
	line("links:")
	var links []string
	link := func(x string, y int, rate string) {
		line("  - {name: L%d, between: %s - S%d, rate: %s}", len(links), x, y, rate)
		links = append(links, fmt.Sprintf("L%d", len(links)))
	}
	for s := range spines {
		for leaf := range 2 {
			for range 1 + below(4)/3 {
				link(fmt.Sprintf("S%d", leaf), 2+s, pick("10Gb/s", "10Gb/s", "25Gb/s"))
			}
		}
	}
	for i, s := range at {
		rate := "10Gb/s"
		if i >= 2*hosts {
			rate = "1Gb/s"
		}
		link(fmt.Sprintf("E%d", i), s, rate)
	}
	line("flows:")
	for i := range spines + below(4) {
		to := 2*hosts + below(spines)
		line("  - {name: f%d, from: E%d, to: E%d, priority: %s, packet: %s, stop: %dus}", i, below(2*hosts), to, pick("1", "3", "5"), pick("64B", "256B", "1500B"), 200+below(100))
	}
	line("workload:")
	for i := range 1 + below(3) {
		first, last := below(hosts), hosts+below(hosts)
		line("  - {name: w%d, over: \"E[%d-%d]\", size: %dB, load: 0.%d, priority: %s, packet: %s, stop: %dus}",
			i, first, last, 1+below(40000), 1+below(9), pick("0", "3", "4", "7"), pick("64B", "256B", "1500B"), 200+below(100))
	}
	line("events:")
	l := pick(links[:len(links)-len(at)]...)
	line("  - {at: %dus, link: %s, state: down}\n  - {at: %dus, link: %s, state: up}", 50+below(100), l, 300+below(50), l)
	return b.String() + randomFaults(seed, links, len(at), 2+spines, control, at)
}

// randomFaults returns faults of links and endpoints for half of the fabrics, drawn apart from all
// else. They are over at 400 µs.
func randomFaults(seed uint64, links []string, endpoints, switches int, control string, at []int) string {
	r := unit.NewRandom(seed, 8)
	below := func(n int) int { return int(r.Below(uint64(n))) }
	pick := func(all ...string) string { return all[below(len(all))] }
	var b strings.Builder
	for range below(2) * (1 + below(4)) {
		when := fmt.Sprintf("at: %dus, for: %dus", below(300), 1+below(100))
		e := below(endpoints)
		frames := ", frames: " + pick("all", "all", "data", "ack", "fcp", "pause", "pfc", "cnm")
		switch below(6) {
		case 0, 1:
			fmt.Fprintf(&b, "  - {link: %s, %s: %s%s, %s}\n", pick(links...), pick("loss", "corruption"), pick("0.01", "0.3", "1", "0.1, burst: 5", "1, nth: 3", "1, every: 4"), frames, when)
		case 2:
			fmt.Fprintf(&b, "  - {link: %s, delay: %s, jitter: 3us%s, %s}\n", pick(links...), pick("1us", "30us"), frames, when)
		case 3:
			i := len(links) - endpoints + e // the link of the endpoint
			fmt.Fprintf(&b, "  - {link: %s, from: %s, at: %dus, stuck: %dus}\n", links[i], pick(fmt.Sprintf("E%d", e), fmt.Sprintf("S%d", at[e])), below(300), 1+below(100))
		case 4:
			fmt.Fprintf(&b, "  - {endpoint: E%d, sink: stopped, %s}\n", e, when)
		case 5:
			if control == "pause" || control == "pfc" {
				fmt.Fprintf(&b, "  - {endpoint: E%d, pauses: ignored, %s}\n", e, when)
			}
		}
	}
	if r := unit.NewRandom(seed, 9); r.Below(2) == 0 { // the ports of switches have a part of their buffer
		for range 1 + r.Below(3) {
			fmt.Fprintf(&b, "  - {link: %s, buffer: 0.%d, at: %dus, for: %dus}\n", links[r.Below(uint64(len(links)))], 4+r.Below(6), r.Below(300), 1+r.Below(100))
		}
	}
	if r := unit.NewRandom(seed, 10); (control == "pause" || control == "pfc") && r.Below(2) == 0 { // switches have other watermarks
		for range 1 + r.Below(4) {
			fmt.Fprintf(&b, "  - {at: %dus, switch: S%d, high: %dKB, low: %dKB}\n", r.Below(400), r.Below(uint64(switches)), 4+r.Below(12), 1+r.Below(3))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "faults:\n" + b.String()
}
