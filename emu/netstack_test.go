package emu

import (
	"fmt"
	"runtime"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario"
)

// twoStacks is two hosts with gVisor's TCP at a switch that drops what has no room.
const twoStacks = `
name: two-stacks
model: {duration: 120ms}
wall: {dilation: 1}
defaults:
  link: {rate: 100Mb/s, flow-control: pfc, propagation: 50us}
  flow: {packet: 1600B}
switches: {S: {kind: output-queued, memory: 15KB per port, lossless: []}}
endpoints: [{name: "h[1-3]", guest: netstack}]
links: ["h[1-3] - S"]
flows: [{name: there, from: "h[1-2]", to: h3}, {name: back, from: h3, to: "h[1-2]"}]
programs: [{name: client, at: 1ms, on: "h[1-2]", run: send h3}]
expect: [{id: again, metric: client-h1.json.retransmits, low: 1, high: 100000}]
`

// TestNetstackIsTheSameEachTime: two connections of gVisor's TCP that lose segments to one
// another have the same log on both clocks.
func TestNetstackIsTheSameEachTime(t *testing.T) {
	s := runtest.Load(t, twoStacks)
	want := netstackRuns(t, s, 1)
	r, err := Run(t.Context(), s, Options{Settings: Settings{Clock: WallClock, Link: Pipe}, NewStack: netstack.New})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Digest, r.Guests, r.Checks); got != want || r.Verdict.Verify != report.VerifiedEqual {
		t.Errorf("on the wall clock, verified %s: got %s, on the virtual one %s", r.Verdict.Verify, got, want)
	}
}

// TestModelNetstackIsTheSameTenTimes: they have the same log with one processor and with two, and
// over values and bytes.
func TestModelNetstackIsTheSameTenTimes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	netstackRuns(t, runtest.Load(t, twoStacks), 10)
}

// netstackRuns runs a scenario this many times, and returns the result each time.
func netstackRuns(t *testing.T, s *scenario.Scenario, times int) (want string) {
	t.Helper()
	for i := range times {
		n := 1 + i%2
		before := runtime.GOMAXPROCS(n)
		r, err := Run(t.Context(), s, Options{Settings: Settings{Clock: VirtualClock, Codec: i%3 == 0}, Digest: true, NewStack: netstack.New})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(r.Digest, r.Guests, r.Checks)
		if want == "" {
			want = got
			for _, k := range r.Checks {
				if k.Outcome != report.Pass {
					t.Errorf("%s is %v: %s", k.ID, k.Value, k.Reason)
				}
			}
		}
		if got != want {
			t.Fatalf("run %d, with %d processors: got %s, before %s", i, n, got, want)
		}
	}
	return want
}
