//go:build !race

package emu

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fabemu/emu/runtest"
	"fabemu/emu/scenario"
)

// sameSize is a fabric of Ethernet whose data frames have 1090 bytes, with a transport.
func sameSize(t testing.TB, transport string) *scenario.Scenario {
	return runtest.Load(t, fmt.Sprintf(`name: same-size
model: {duration: 5ms, framing: wire}
defaults:
  link: {rate: 10Gb/s, flow-control: none}
  switch: {kind: output-queued, memory: 300KB per port}
  flow: {traffic: paced, rate: 1Gb/s, %s}
switches: {S: {}, T: {}}
endpoints: ["A[1-8]", "B[1-8]"]
links: ["A[1-8] - S", {between: S - T}, "B[1-8] - T"]
flows: [{name: f, from: "A[1-8]", to: "B[1-8]"}]
`, transport))
}

// hopCosts runs fabrics in turns, with each frame through its bytes, and returns what a frame-hop
// costs in each, in ns: the best of some rounds.
func hopCosts(t testing.TB, rounds int, fabrics ...*scenario.Scenario) []float64 {
	best := make([]float64, len(fabrics))
	for range rounds {
		for i, s := range fabrics {
			begin := time.Now()
			r, err := Run(context.Background(), s, Options{Clock: VirtualClock, Codec: true})
			if err != nil {
				t.Fatal(err)
			}
			cost := float64(time.Since(begin).Nanoseconds()) / float64(r.FrameHops)
			if best[i] == 0 || cost < best[i] {
				best[i] = cost
			}
		}
	}
	return best
}

// The same traffic as datagrams of Ethernet, and as RoCEv2 over IPv4 and IPv6 with an ACK for 64
// packets.
func sameSizes(t testing.TB) []*scenario.Scenario {
	return []*scenario.Scenario{
		sameSize(t, "packet: 1068B"),
		sameSize(t, "packet: 1024B, transport: {kind: rocev2, ack-every: 64}"),
		sameSize(t, "packet: 1004B, transport: {kind: rocev2, ack-every: 64, ip: ipv6}"),
	}
}

// BenchmarkVirtualRoCE compares a frame-hop of RoCEv2, codec included, with one of Ethernet of the
// same size, in turns.
func BenchmarkVirtualRoCE(b *testing.B) {
	fabrics := sameSizes(b)
	var sums [3]float64
	n := 0.0
	for b.Loop() {
		for i, cost := range hopCosts(b, 1, fabrics...) {
			sums[i] += cost
		}
		n++
	}
	b.ReportMetric(sums[0]/n, "ns/ethernet-hop")
	b.ReportMetric(sums[1]/n, "ns/ipv4-hop")
	b.ReportMetric(sums[2]/n, "ns/ipv6-hop")
	b.ReportMetric(sums[1]/sums[0], "ipv4/ethernet")
	b.ReportMetric(sums[2]/sums[0], "ipv6/ethernet")
	b.ReportMetric(0, "ns/op")
}

// A frame-hop of RoCEv2 costs about as much as one of Ethernet: BenchmarkVirtualRoCE has the
// figure, 1.2 is the aim, and this is coarse.
func TestWallRoCEHop(t *testing.T) {
	costs := hopCosts(t, 7, sameSizes(t)...)
	for i, name := range []string{"IPv4", "IPv6"} {
		if ratio := costs[i+1] / costs[0]; ratio > 1.75 {
			t.Errorf("over %s a frame-hop costs %.2f times one of Ethernet (%.0f ns)", name, ratio, costs[0])
		}
	}
	t.Logf("ns for a frame-hop: Ethernet %.0f, RoCEv2 over IPv4 %.0f, over IPv6 %.0f", costs[0], costs[1], costs[2])
}
