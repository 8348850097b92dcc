package random_test

import (
	"fmt"
	"strings"

	"fabemu/wire/unit"
)

// randomFabric returns a scenario of InfiniBand or Ethernet: some switches in a tree or in a
// ring, maybe with two links between two of them, whatever routing, fixed routes that are
// not the shortest, endpoints, all kinds of traffic until 300 µs, congestion points whose
// notifications are as large as the data, and things that happen until 400 µs and are over
// then, but for a link that stays down; and faults. What is in flight has the rest of the 20 ms to
// arrive. Each node, link, flow, route and event has its own line.
func randomFabric(seed uint64) string {
	r := unit.NewRandom(seed, 7)
	below := func(n int) int { return int(r.Below(uint64(n))) }
	pick := func(all ...string) string { return all[below(len(all))] }
	us := func(from, to int) string { return fmt.Sprintf("%d.%03dus", from+below(to-from), below(1000)) }
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	const stop, over = 300, 400 // us
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
	line("routing: %s", pick("shortest", "ecmp", "{recompute: 20us}", "{paths: ecmp, recompute: 5us}"))
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
		more := ""
		if control == "pfc" && !corner && below(2) == 0 {
			more = ", lossless: [3, 5]"
		}
		if control == "none" || more != "" {
			more += pick("", ", output-limit: 15KB")
		}
		if corner || below(2) == 0 { // frames that are as small as what is said of them
			packets = []string{"12B", "64B", "64B", "110B", "700B"}
			octets, scheme := pick("14", "64"), pick("qcn", "bcn")
			if algorithm = pick("fixed", scheme); corner {
				packets, algorithm = []string{pick(packets...)}, "fixed"
			}
			if scheme == "qcn" {
				more += ", marking: {scheme: qcn, qeq: 3KB, sample-base: 10KB, octets: " + octets + pick("", ", priority: 3") + "}"
			} else {
				more += ", marking: {scheme: bcn, qeq: 3KB, pm: 0.3" + pick("", ", priority: 3") + "}"
			}
		}
		more += pick("", "", ", ets: [{priority: 3, weight: 3}, {priority: 0, weight: 1}]", ", ets: [{priority: 5, weight: 1}, {priority: 7, weight: 100}, {priority: 0, weight: 7}]")
		line("  switch: {kind: output-queued, memory: %s, sharing: %s, forwarding: %s, forwarding-delay: 500ns%s}", memory, pick("partitioned", "pooled"), pick("store-and-forward", "cut-through"), more)
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
	if corner || ring && below(2) == 0 { // all in one direction round
		line("routes:")
		for s := range switches {
			for e := range endpoints {
				if at[e] != s {
					line("  - {at: S%d, to: E%d, over: L%d}", s, e, s)
				}
			}
		}
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
