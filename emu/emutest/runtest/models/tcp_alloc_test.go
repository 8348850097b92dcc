//go:build timing

package models_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
)

// cost runs a scenario on the virtual clock, and returns how many frames were handed to
// nodes, and how many allocations that took.
func cost(t testing.TB, s *scenario.Scenario) (hops, allocations int64) {
	t.Helper()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := metrics.New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	events := trace.NewBatch(trace.MaxBatch, c)
	m, err := assemble.New(f, assemble.Schemes{}, events)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	hops, err = drive.Virtual{SkipCodec: true}.Run(context.Background(), m)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return hops, int64(after.Mallocs - before.Mallocs)
}

// crossing is eight flows over two switches, whatever their transport, of which each offers a
// rate: the trunk between carries 125 Mb/s of each.
func crossing(t testing.TB, transport, rate, duration string) *scenario.Scenario {
	return runtest.Load(t, `name: crossing
model: {duration: `+duration+`, seed: 3}
defaults:
  link: {rate: 1Gb/s, propagation: 10us, flow-control: none}
  endpoint: {ingress: unlimited}
  flow: {packet: 1500B, transport: `+transport+`}
switches: {S: {kind: output-queued, memory: 1MB, sharing: pooled, output-limit: 60KB, lossless: []}, T: {kind: output-queued, memory: 1MB, sharing: pooled, output-limit: 60KB, lossless: []}}
endpoints: ["a[1-8]", "b[1-8]"]
links:
  - "a[1-8] - S"
  - {name: trunk, between: S - T}
  - "b[1-8] - T"
flows:
  - {name: f, from: "a[1-8]", to: "b[1-8]", traffic: paced, rate: `+rate+`}
`)
}

// A segment over a hop allocates nothing, once the ends have the memory that they need: eight
// times as many take no more.
func TestAllocsOfTCP(t *testing.T) {
	for _, recovery := range []string{"reno", "newreno", "sack", "sack, ecn: true, congestion: dctcp"} {
		transport := "{kind: tcp, recovery: " + recovery + ", min-rto: 1ms, initial-rto: 1ms}"
		few, base := cost(t, crossing(t, transport, "300Mb/s", "100ms"))
		many, grown := cost(t, crossing(t, transport, "300Mb/s", "800ms"))
		if many < 6*few {
			t.Errorf("%s: %d hops, and %d: the test does not test", recovery, few, many)
		}
		if more := grown - base; more > 200 {
			t.Errorf("%s: %d more frame-hops took %d more allocations", recovery, many-few, more)
		}
	}
}

// Nor does a segment of a workload.
func TestAllocsOfTransfersOverTCP(t *testing.T) {
	const text = `name: bulk
model: {duration: %s}
defaults:
  link: {rate: 1Gb/s, propagation: 10us, flow-control: pfc}
  flow: {packet: 1500B, transport: {kind: tcp, recovery: sack, ecn: true, congestion: dctcp}}
  switch: {kind: output-queued, marking: {scheme: ecn, min: 30KB, max: 30KB}}
switches: {S: {}}
endpoints: ["h[1-8]"]
links: ["h[1-8] - S"]
workload: [{name: x, over: "h[1-8]", pattern: permutation, size: 1GB}]
`
	few, base := cost(t, runtest.Load(t, fmt.Sprintf(text, "100ms")))
	many, grown := cost(t, runtest.Load(t, fmt.Sprintf(text, "800ms")))
	if more := grown - base; many < 6*few || more > 200 {
		t.Errorf("%d more frame-hops took %d more allocations", many-few, more)
	}
}

// The connections that have ended take no memory: after fifty times as many, as much is in use.
func TestAllocsOfConnections(t *testing.T) {
	const text = `name: many
model: {duration: 20ms}
defaults:
  link: {rate: 100Gb/s, propagation: 100ns, flow-control: %s}
  flow: {packet: 1500B, transport: {kind: tcp, recovery: sack, initial-rto: 1ms, min-rto: 1ms}}
  switch: {kind: output-queued, memory: %s per port, lossless: %s}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
workload: [{name: x, over: "h[1-4]", size: "100B:0 3KB:100", load: 0.5, count: %d, open: 16}]
`
	for flowControl, sets := range map[string][2]string{"pfc": {"300KB", "[0, 1, 2, 3, 4, 5, 6, 7]"}, "none": {"12KB", "[]"}} {
		var inUse [2]int64
		for i, count := range []int{500, 25_000} {
			f, err := fabric.Build(runtest.Load(t, fmt.Sprintf(text, flowControl, sets[0], sets[1], count)))
			if err != nil {
				t.Fatal(err)
			}
			seen := kinds{}
			events := trace.NewBatch(trace.MaxBatch, seen)
			m, err := assemble.New(f, assemble.Schemes{}, events)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if _, err := (drive.Virtual{SkipCodec: true}).Run(context.Background(), m); err != nil {
				t.Fatal(err)
			}
			events.Flush()
			runtime.GC()
			runtime.ReadMemStats(&after)
			inUse[i] = int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if n := seen[trace.TransferEnd]; n != 4*count || (seen[trace.Retransmit] > 0) != (flowControl == "none" && i == 1) {
				t.Errorf("%s: %d of %d transfers ended, %d segments sent again", flowControl, n, 4*count, seen[trace.Retransmit])
			}
			runtime.KeepAlive(m)
		}
		if more := inUse[1] - inUse[0]; more > 1<<20 {
			t.Errorf("%s: %d more connections that have ended take %d bytes", flowControl, 4*24_500, more)
		}
	}
}

// kinds counts events by their kind.
type kinds map[trace.Kind]int

func (k kinds) Record(e *trace.Event) { k[e.Kind]++ }

// Nor does a packet whose round trip is measured, with its telemetry or its mark, nor its ACK.
func TestAllocsOfDelayAndTelemetry(t *testing.T) {
	for _, algorithm := range []string{"{algorithm: timely}", "{algorithm: swift}", "{algorithm: hpcc, base-rtt: 100us, exact: true}", "{algorithm: dcqcn-window, base-rtt: 100us}"} {
		few, base := cost(t, crossing(t, "rocev2, control: "+algorithm, "100Mb/s", "100ms"))
		many, grown := cost(t, crossing(t, "rocev2, control: "+algorithm, "100Mb/s", "800ms"))
		if many < 6*few {
			t.Errorf("%s: %d hops, and %d: the test does not test", algorithm, few, many)
		}
		if more := grown - base; more > 200 {
			t.Errorf("%s: %d more frame-hops took %d more allocations", algorithm, many-few, more)
		}
	}
}
