package emu

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
)

// busy is a fabric of 64 hosts at half the load of their links for 10 ms.
const busy = `name: busy
model: {duration: 10ms, framing: wire}
routing: ecmp
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, forwarding-delay: 500ns, memory: 32MB, sharing: pooled}
  flow: {transport: {kind: rocev2, ack-every: 16}, packet: 4096B, size: web-search, load: 0.5}
switches: {"leaf[1-8]": {}, "spine[1-4]": {}}
endpoints: ["h[1-64]"]
links:
  - {between: "h[1-64] - leaf[1-8]"}
  - {between: "leaf[1-8] x spine[1-4]", rate: 200Gb/s}
%s`

// BenchmarkWorkload runs 64 hosts at half their load: as transfers of a workload, and as transfers of 64 flows. Both send the
// same sizes at the same load over as many links, and the factor is between the costs of a frame-hop. The two take turns,
// and the best run of each counts. 1.2 is the most that is wanted.
func BenchmarkWorkload(b *testing.B) {
	var flows strings.Builder
	flows.WriteString("flows:\n")
	for i := range 64 {
		fmt.Fprintf(&flows, "  - {name: f%d, from: h%d, to: h%d, traffic: transfers}\n", i+1, i+1, (i+32)%64+1)
	}
	both := [2]generated{}
	for i, part := range []string{flows.String(), `workload: [{name: web, over: "h[1-64]", pattern: permutation, size: web-search, load: 0.5}]` + "\n"} {
		s, err := scenario.Load("busy.yaml", fmt.Appendf(nil, busy, part), nil)
		if err != nil {
			b.Fatal(err)
		}
		f, err := fabric.Build(s)
		if err != nil {
			b.Fatal(err)
		}
		both[i] = generated{scenario: s, fabric: f, best: math.Inf(1)}
	}
	for b.Loop() {
		for i := range both {
			both[i].run(b)
		}
	}
	b.ReportMetric(both[0].best, "ns/hop-flows")
	b.ReportMetric(both[1].best, "ns/hop-workload")
	b.ReportMetric(both[1].best/both[0].best, "factor")
	b.ReportMetric(0, "ns/op")
}
