package models_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
)

// streams returns three senders with TCP and one with datagrams over a bottleneck of 10 Mb/s,
// of which the last is paced, with the lines of a flow control.
func streams(t testing.TB, transport, control string, more ...string) *scenario.Scenario {
	t.Helper()
	return runtest.Load(t, `name: streams
model: {duration: 2s, seed: 3}
defaults:
  link: {rate: 100Mb/s, propagation: 2ms, `+control+`}
  endpoint: {ingress: unlimited}
  flow: {packet: 1500B, transport: {kind: tcp, min-rto: 100ms, initial-rto: 200ms, `+transport+`}}
switches: {S: {kind: output-queued, `+more[0]+`}}
endpoints: ["a[1-3]", b, c]
links:
  - "a[1-3] - S"
  - {name: out, between: S - b, rate: 10Mb/s}
  - c - S
flows:
  - {name: greedy, from: "a[1-2]", to: b, start: 0us + 100ms}
  - {name: transfers, from: a3, to: b, traffic: transfers, size: 100KB, count: 3, rate: 4Mb/s}
  - {name: paced, from: c, to: b, traffic: paced, rate: 1Mb/s, transport: datagrams}
`, runtest.Sets(t, more[1:]...)...)
}

// Where the fabric drops frames TCP retransmits them, and all of a transfer arrives; nothing is a
// violation; what is reported of it is what is counted.
func TestModelTCPOverAFabricThatDrops(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, recovery := range []string{"reno", "newreno", "sack"} {
		s := streams(t, "recovery: "+recovery, "flow-control: none", "memory: 200KB, sharing: pooled, output-limit: 20KB, lossless: []")
		r, log := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		c := r.Metrics
		if _, n := c.View().Violations(); n > 0 {
			t.Errorf("%s: %d violations", recovery, n)
		}
		over := func(what string) float64 { return runtest.Over(t, c, what, 0, 2000) }
		if n := over("transfers.transfers"); n != 3 {
			t.Errorf("%s: %v transfers of 3 have ended", recovery, n)
		}
		if n := over("transfers.goodput") * 2; n != 300_000 {
			t.Errorf("%s: %v bytes of 300000 were delivered", recovery, n)
		}
		again, drops := over("greedy.retransmissions")+over("transfers.retransmissions"), over("greedy.drops")+over("transfers.drops")
		if again < drops || drops < 10 {
			t.Errorf("%s: %v segments were dropped, and %v are sent again", recovery, drops, again)
		}
		if recovery == "sack" && again > drops*1.5 {
			t.Errorf("sack: %v segments were dropped, and %v are sent again", drops, again)
		}
		if u := over("out.S-b.utilisation"); u < 0.9 {
			t.Errorf("%s: the bottleneck is used for %v", recovery, u)
		}
		if rtt := over("greedy.rtt"); rtt < 0.008 || rtt > 0.008+0.03 {
			t.Errorf("%s: a round trip of %v s", recovery, rtt)
		}
		if w := over("greedy.cwnd"); w < 2920 || w > 60_000 {
			t.Errorf("%s: a mean window of %v", recovery, w)
		}
		windows := 0
		for _, s := range c.Series() {
			if s.Kind == metrics.FlowWindow {
				windows++
				if most := slices.Max(s.Values); most < 10_000 {
					t.Errorf("%s: the window of %s is never above %v", recovery, s.Name, most)
				}
			}
		}
		if windows != 3 {
			t.Errorf("%s: %d curves of windows, of 3 flows with TCP", recovery, windows)
		}
		if v := over("paced.cwnd"); !math.IsNaN(v) {
			t.Errorf("%s: datagrams have a window of %v", recovery, v)
		}
		told := map[string]int{}
		for line := range strings.Lines(log) {
			var e struct{ Event, Reason, Flow string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			told[e.Event]++
		}
		for event, want := range map[string]float64{
			"retransmit": again, "timeout": over("greedy.timeouts") + over("transfers.timeouts"), "refuse": over("greedy.refused") + over("transfers.refused"),
		} {
			if float64(told[event]) != want {
				t.Errorf("%s: %d events %s, and %v are counted", recovery, told[event], event, want)
			}
		}
	}
}

// Over a lossless fabric nothing is lost: the receive window fills the buffers, and nothing is
// retransmitted.
func TestModelTCPOverALosslessFabric(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, control := range []string{"flow-control: pause", "flow-control: pfc"} {
		s := streams(t, "receive-window: 64KB", control, "memory: 1MB per port")
		r := onVirtualClock(t, s)
		over := func(what string) float64 { return runtest.Over(t, r.Metrics, what, 0, 2000) }
		if _, n := r.Metrics.View().Violations(); n > 0 || over("greedy.retransmissions") > 0 || over("greedy.drops") > 0 {
			t.Errorf("%s: %d violations, %v segments sent again", control, n, over("greedy.retransmissions"))
		}
		if rtt := over("greedy.rtt"); rtt < 0.08 { // 128 KB at less than 10 Mb/s
			t.Errorf("%s: a round trip of %v s: the buffers are not full", control, rtt)
		}
	}
}

// DCTCP over RED is DCTCP over one threshold, where RED goes by the queue as it is and its line is
// steep (RFC 8257, section 3.1). The same marks with windows that are halved miss every claim.
func TestModelDCTCPByStepAndByRED(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	text := runtest.Text(t, "tcp/dctcp")
	step := "{scheme: ecn, min: 60KB, max: 60KB, at: enqueue}"
	red := "{scheme: red, min: 39 packets, max: 40 packets, max-p: 1, q-weight: 1, gaps: geometric, ecn: true}"
	if !strings.Contains(text, step) {
		t.Fatal("tcp/dctcp has another marking")
	}
	for name, c := range map[string]struct {
		marking, congestion string
		holds               bool
	}{"step": {step, "dctcp", true}, "RED": {red, "dctcp", true}, "halved": {step, "classic", false}} {
		s := runtest.Load(t, strings.Replace(text, step, c.marking, 1), runtest.Sets(t, "defaults.flow.transport.congestion="+c.congestion)...)
		for _, k := range onVirtualClock(t, s).Checks {
			if holds := k.Outcome == report.Pass; k.ID != "DC-5" && holds != c.holds {
				t.Errorf("%s: %s is %v: %s", name, k.ID, k.Value, k.Outcome.Word())
			}
		}
	}
}

// The log is the same through bytes and as values, and over sockets.
func TestModelTCPOnBothClocks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, recovery := range []string{"newreno", "sack, ecn: true", "sack, ecn: true, congestion: dctcp"} {
		marking := "memory: 200KB, sharing: pooled, output-limit: 20KB, lossless: []"
		if strings.Contains(recovery, "dctcp") {
			marking += ", marking: {scheme: ecn, min: 10KB, max: 10KB, at: enqueue}"
		}
		s := streams(t, "recovery: "+recovery, "flow-control: none", marking, "model.duration=300ms", "wall.dilation=3")
		_, values := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		_, bytes := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
		if values != bytes {
			t.Errorf("%s: through their bytes frames are others: %s", recovery, runtest.FirstDifference(values, bytes))
		}
		r, wall := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.WallClock}})
		if wall != values {
			t.Errorf("%s: %s", recovery, runtest.FirstDifference(values, wall))
		}
		if r.Verdict.Level == "void" {
			t.Errorf("%s: %v", recovery, r.Verdict)
		}
	}
}

// A rate limiter paces a flow with TCP as any other, and a reaction point hears what a switch
// says of its segments.
func TestModelTCPUnderARateLimiter(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	drop := "memory: 200KB, sharing: pooled, output-limit: 20KB, lossless: []"
	s := streams(t, "recovery: sack", "flow-control: none", drop, "flows.greedy.rate-limit=2Mb/s")
	r := onVirtualClock(t, s)
	if rate := runtest.Over(t, r.Metrics, "greedy.rate", 500, 2000) * 8 / 2; math.Abs(rate-2e6) > 0.05e6 {
		t.Errorf("the two flows have %v b/s each", rate)
	}
	for _, c := range []struct{ scheme, algorithm string }{
		{"qcn, qeq: 10KB, sample-base: 20KB, jitter: 0", "algorithm: qcn, cn-tag: true"},
		{"qcn, qeq: 10KB, sample-base: 20KB, jitter: 0, octets: 20", "algorithm: qcn"},
		{"bcn, qeq: 10KB, qsc: 90KB", "algorithm: bcn"},
	} {
		sets := []string{}
		for field := range strings.SplitSeq(c.algorithm, ", ") {
			sets = append(sets, "defaults.flow.control."+strings.Replace(field, ": ", "=", 1))
		}
		more := append([]string{"memory: 1MB per port, marking: {scheme: " + c.scheme + "}"}, sets...)
		s := streams(t, "recovery: newreno, receive-window: 64KB", "flow-control: pause", more...)
		_, values := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		r, bytes := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
		if values != bytes {
			t.Errorf("%s: through their bytes frames are others: %s", c.algorithm, runtest.FirstDifference(values, bytes))
		}
		if n := runtest.Over(t, r.Metrics, "greedy.notifications", 0, 2000); n < 5 {
			t.Errorf("%s: %v notifications", c.algorithm, n)
		}
		if limit := runtest.Over(t, r.Metrics, "greedy.limit", 1000, 2000) * 8; limit > 95e6 {
			t.Errorf("%s: the limiters let %v b/s through, of a line of 100 Mb/s", c.algorithm, limit)
		}
	}
}
