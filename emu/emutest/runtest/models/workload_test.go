package models_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	repeated "fabemu/emu/result/seeds"
	"fabemu/emu/result/summary"
	"fabemu/emu/watch/observe"
	"fabemu/wire/unit"
)

func runWorkload(t *testing.T, text string, codec bool, sets ...string) *emu.Result {
	t.Helper()
	s := runtest.Load(t, text, runtest.Sets(t, sets...)...)
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: codec}})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Verdict.Violations; n != 0 {
		t.Errorf("%d violations: %+v", n, r.Violations)
	}
	return r
}

// One transfer that has the fabric for itself takes exactly as long as the closed form says, on
// ways of each length, over fast and slow links, by each transport, for one packet, for many, and
// for a rest. Without the closed form's first packet, or its slowest link, the two would differ.
func TestModelTransferAloneHasSlowdownOne(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: alone
model: {duration: 20ms}
defaults:
  link: {rate: 10Gb/s, propagation: 700ns}
  flow: {packet: 1000B}
endpoints: [a, b]
%s
workload:
  - {name: one, over: "%s", pattern: incast, senders: 1, count: 1, start: 10us}
`
	families := map[string][]string{
		"infiniband": {"defaults.flow.window=4096", "defaults.link.buffer=4096 packets"},
		"datagrams":  {"defaults.link.flow-control=pfc", "defaults.switch.kind=output-queued"},
		"rocev2":     {"defaults.link.flow-control=pfc", "defaults.switch.kind=output-queued", "defaults.flow.transport=rocev2"},
		"cut-through": {"defaults.link.flow-control=pfc", "defaults.switch.kind=output-queued", "defaults.flow.transport=rocev2",
			"defaults.switch.forwarding=cut-through"},
		"tcp": {"defaults.link.flow-control=pfc", "defaults.switch.kind=output-queued", "defaults.flow.transport=tcp",
			"defaults.flow.transport.initial-window=1000", "defaults.flow.transport.receive-window=16MB"},
	}
	for name, sets := range families {
		for _, rates := range [][]string{{"10Gb/s"}, {"10Gb/s", "10Gb/s"}, {"10Gb/s", "4Gb/s", "10Gb/s"}, {"40Gb/s", "10Gb/s", "25Gb/s", "10Gb/s", "40Gb/s"}, {"8Gb/s", "9Gb/s", "10Gb/s"}} {
			var text = strings.NewReplacer("endpoints: [a, b]", "endpoints: [\"h[1-2]\"]", "%s\nworkload", chain(rates)+"workload", "%s", "h[1-2]").Replace(text)
			for _, size := range []string{"1B", "999B", "1000B", "1001B", "64KB", "1234567B"} {
				r := runWorkload(t, text, false, append(sets, "workload.one.size="+size)...)
				ended, open := r.Metrics.Work(0)
				if len(ended) != 1 || len(open) != 0 {
					t.Fatalf("%s over %v: %d ended, %d open", name, rates, len(ended), len(open))
				}
				d := &ended[0]
				if took := d.Ended.Sub(d.Arrived); took != d.Ideal {
					t.Errorf("%s over %v, %s: %v, alone %v", name, rates, size, took, d.Ideal)
				}
			}
		}
	}
}

// chain returns two endpoints with links of these rates between them, and switches.
func chain(rates []string) string {
	var switches, links strings.Builder
	at := "h1"
	for i, rate := range rates {
		to := fmt.Sprintf("S%d", i+1)
		if i == len(rates)-1 {
			to = "h2"
		} else {
			fmt.Fprintf(&switches, "  %s: {}\n", to)
		}
		fmt.Fprintf(&links, "  - {between: %s - %s, rate: %s}\n", at, to, rate)
		at = to
	}
	if switches.Len() == 0 {
		return "links:\n" + links.String()
	}
	return "switches:\n" + switches.String() + "links:\n" + links.String()
}

// A run takes as much memory for a thousand million transfers as for ten thousand, whenever they
// arrive, and the transfers that end are the same. If each that waits took but a byte, the second
// run would take a gigabyte more.
func TestModelWaitingTransfersTakeNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: many
model: {duration: 200us}
defaults: {link: {rate: 10Gb/s, flow-control: pfc}, switch: {kind: output-queued, memory: 300KB per port}}
switches: {S: {}}
endpoints: ["h[1-3]"]
links: ["h[1-3] - S"]
workload: [{name: web, over: "h[1-3]", size: 100B, count: %d, %s}]
`
	for _, more := range []string{"pattern: uniform", "pattern: ring, open: 2, transport: rocev2", "pattern: all-to-all, start: 20us"} {
		var allocated [2]uint64
		var ended [2]string
		for i, count := range []int{10_000, 1_000_000_000} {
			before, after := runtime.MemStats{}, runtime.MemStats{}
			runtime.ReadMemStats(&before)
			r := runWorkload(t, fmt.Sprintf(text, count, more), false)
			runtime.ReadMemStats(&after)
			allocated[i] = after.TotalAlloc - before.TotalAlloc
			all, open := r.Metrics.Work(0)
			ended[i] = fmt.Sprint(all, open)
			each := 1
			if strings.Contains(more, "all-to-all") {
				each = 2
			}
			first := metrics.At{View: r.Metrics.View(), Of: metrics.Workload}
			if got, want := metrics.Find(metrics.Workload, "transfers.waiting").Read(first), float64(3*each*count-len(all)-len(open)); got != want || len(all) < 50 {
				t.Errorf("%s, %d transfers: %v wait, want %v; %d have ended", more, count, got, want, len(all))
			}
		}
		if ended[0] != ended[1] {
			t.Errorf("%s: other transfers end", more)
		}
		if allocated[1] > 2*allocated[0] {
			t.Errorf("%s: %d bytes for 10^9 transfers, %d for 10^4", more, allocated[1], allocated[0])
		}
	}
}

// At a link that flows share in equal parts the mean slowdown is 1/(1 - load), whatever the
// distribution of their sizes is (M/G/1 with processor sharing; L. Kleinrock, "Queueing Systems",
// volume 2, section 4.4), if flows are large compared with packets: here they have 100 to 300.
// First come, first served would give 1.5 at half the load.
func TestModelMeanSlowdownOfSharing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	meanSlowdown(t, "100KB:0 300KB:100", 1000, 0.5, 10, 800*unit.Millisecond)
	meanSlowdown(t, "100KB:0 300KB:100", 1000, 0.8, 10, 2*unit.Second)
}

// meanSlowdown is that test for one distribution and one size of packets, over the flows of some
// seeds.
func meanSlowdown(t *testing.T, sizes string, packet int, load float64, number int, duration unit.Duration) {
	const text = `name: sharing
model: {duration: %v, seed: %d}
defaults: {link: {rate: 1Gb/s, propagation: 1ns, flow-control: none}, flow: {packet: %dB}}
endpoints: ["h[1-2]"]
links: [h1 - h2]
workload: [{name: x, over: "h[1-2]", size: "%s", load: %v, open: 4096, warm-up: %[6]v, drain: %[6]v}]
`
	want := 1 / (1 - load) // plain Ethernet counts payload alone
	var runs []repeated.Run
	for seed := range number {
		r := runWorkload(t, fmt.Sprintf(text, duration, seed+1, packet, sizes, load, duration/8), false)
		runs = append(runs, repeated.Of(r.Result, r.Metrics.View()))
	}
	s := repeated.Pool(runs)[0]
	t.Logf("%s at %v: %v of %d flows, %d open; want %.3g", sizes, load, s.Mean, s.Flows, s.Open, want)
	if float64(s.Mean.Low) > want || float64(s.Mean.High) < want || s.Mean.High > 1.3*s.Mean.Low || s.Open > 0 {
		t.Errorf("%s at %v: a mean slowdown of %v, with %d flows open; want %.3g", sizes, load, s.Mean, s.Open, want)
	}
}

// rough is a small fabric in which switches drop.
const rough = `name: rough
model: {duration: 8ms}
routing: ecmp
defaults:
  link: {rate: 10Gb/s, propagation: 200ns, flow-control: none}
  switch: {kind: output-queued, forwarding-delay: 300ns, memory: 24KB per port}
  flow: {transport: {kind: rocev2, ack-timeout: 200us}, packet: 1000B}
switches: {A: {}, B: {}, S: {}, T: {}}
endpoints: ["h[1-8]"]
links: ["h[1-4] - A", "h[5-8] - B", A - S, A - T, B - S, B - T]
workload:
  - {name: web, over: "h[1-8]", size: "0B:0 2KB:50 40KB:100", load: 0.3, open: 8, stop: 4ms}
  - {name: in, over: "h[2-7]", pattern: incast, size: 20KB, load: 0.1, stop: 4ms}
`

// lostAndAgain returns how many frames of a run of two workloads were lost, and how many packets of
// their transfers were retransmitted before these had ended. Each transfer has ended once, with
// each of its bytes, and no more than most packets of one were retransmitted.
func lostAndAgain(t *testing.T, r *emu.Result, most func(bytes int64) int64) (lost, again int64) {
	t.Helper()
	for _, d := range r.Drops {
		lost += d.Count
	}
	for k := range 2 {
		ended, open := r.Metrics.Work(k)
		if len(ended) < 20 || len(open) > 0 {
			t.Errorf("workload %d: %d transfers ended, %d did not", k, len(ended), len(open))
		}
		for i := range ended {
			d := &ended[i]
			again += int64(d.Again)
			if d.Missing != 0 || int64(d.Again) > most(d.Bytes) {
				t.Errorf("%+v", *d)
			}
		}
	}
	whole := float64(r.Metrics.End()) / float64(unit.Millisecond)
	if drops, sent := runtest.Over(t, r.Metrics, "web.drops", 0, whole)+runtest.Over(t, r.Metrics, "in.drops", 0, whole),
		runtest.Over(t, r.Metrics, "web.retransmissions", 0, whole)+runtest.Over(t, r.Metrics, "in.retransmissions", 0, whole); drops == 0 || drops > float64(lost) || sent < float64(again) {
		t.Errorf("the metrics of the workloads: %v drops, %v retransmissions; want at most %d, and at least %d", drops, sent, lost, again)
	}
	return lost, again
}

// Where packets are lost they come again, and each transfer ends once, with each of its bytes.
func TestModelTransfersThatLosePackets(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	lost, again := lostAndAgain(t, runWorkload(t, rough, true), func(int64) int64 { return math.MaxInt64 })
	if lost < 20 || again < 20 {
		t.Errorf("%d frames lost, %d packets sent again: the test wants more", lost, again)
	}
}

// Arrivals of the warm-up load the fabric and are in no figure, none arrive in the drain, and the
// run ends when all have ended: of a workload, of a table and of flows with sizes.
func TestModelWarmUpAndDrain(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: span
model: {duration: 10ms}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 300KB per port}
  flow: {transport: rocev2, packet: 1000B}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
workload:
  - {name: web, over: "h[1-4]", size: "0B:0 2KB:50 40KB:100", load: 0.5}
flows:
  - {name: f, from: "h[1-2]", to: h3, traffic: transfers, size: 10KB, load: 0.1}
expect:
  - {id: web, metric: web.transfers, during: [0ms, 10ms], low: 1, high: 1e9}
  - {id: f, metric: f.transfers, during: [0ms, 10ms], low: 1, high: 1e9}
  - {id: few, metric: web.slowdown.p99 / web.slowdown.p999.small, during: [0ms, 1ms], low: 0, high: 1e9}
  - {id: more, metric: web.slowdown.p99, during: [0ms, 10ms], low: 0, high: 1e9}
`
	const ms = unit.Time(unit.Millisecond)
	counts := map[string][2]float64{}
	for name, sets := range map[string][]string{
		"all":     nil,
		"drained": {"workload.web.drain=6ms", "flows.f.drain=6ms"},
		"counted": {"workload.web.drain=6ms", "flows.f.drain=6ms", "workload.web.warm-up=1ms", "flows.f.warm-up=1ms"},
	} {
		r := runWorkload(t, text, true, sets...)
		counts[name] = [2]float64{float64(r.Checks[0].Value), float64(r.Checks[1].Value)}
		if few, more := r.Checks[2], r.Checks[3]; sets == nil && (few.Outcome == report.Pass || !strings.Contains(few.Reason, "web.slowdown.p999.small") || more.Outcome != report.Pass) {
			t.Errorf("%s: checks %+v, %+v", name, few, more)
		}
		ended, open := r.Metrics.Work(0)
		late := slices.ContainsFunc(ended, func(d metrics.Done) bool { return d.Arrived >= 4*ms })
		if drained := sets != nil; late == drained || drained != (len(open) == 0) || drained != (r.EndedPs > int64(4*ms) && r.EndedPs < int64(6*ms)) {
			t.Errorf("%s: arrivals after 4 ms: %v; %d open; the run ended at %v", name, late, len(open), unit.Time(r.EndedPs))
		}
		if w := &r.Workloads[0]; w.FromPs != 0 != (name == "counted") || float64(w.Transfers) != counts[name][0] {
			t.Errorf("%s: %d transfers from %v on, and the metric is %v", name, w.Transfers, unit.Time(w.FromPs), counts[name][0])
		}
	}
	for k := range 2 {
		all, drained, counted := counts["all"][k], counts["drained"][k], counts["counted"][k]
		if !(counted > 0.65*drained && counted < 0.85*drained && drained > 0.3*all && drained < 0.5*all) {
			t.Errorf("%v of %v of %v transfers", counted, drained, all)
		}
	}
}

// Transfers that wait for a source are counted: of 40 that arrive at once two are open, and each
// that ends lets one in.
func TestModelTransfersThatWait(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: waiting
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pfc}
  flow: {transport: rocev2, packet: 1000B}
endpoints: ["h[1-2]"]
links: [h1 - h2]
workload:
  - {name: one, over: "h[1-2]", pattern: all-to-all, count: 40, size: 100KB, open: 2}
expect:
  - {id: at-once, metric: one.waiting, during: [0us, 1us], low: 76, high: 76}
  - {id: at-the-end, metric: one.waiting, during: [0ms, 1ms], low: 50, high: 58}
`
	r := runWorkload(t, text, true)
	ended, open := r.Metrics.Work(0)
	if w := r.Workloads[0]; w.Waiting != int64(80-len(ended)-len(open)) || len(open) != 4 || len(ended) < 15 {
		t.Errorf("%d ended, %d open, %d waiting: of 80", len(ended), len(open), w.Waiting)
	}
	for _, c := range r.Checks {
		if c.Outcome != report.Pass {
			t.Errorf("%s: %v", c.ID, c.Value)
		}
	}
}

// An ACK that comes after its source has gone back acknowledges the packets that the source has
// sent before. Here each ACK comes when fifteen packets of the next round are out, and without that
// the source would go back forever.
func TestModelAckOfPacketsBeforeGoingBack(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: short
model: {duration: 10ms}
defaults:
  link: {rate: 10Gb/s, propagation: 100us, flow-control: pfc}
  flow: {transport: {kind: rocev2, ack-timeout: 20us, ack-every: 16}, packet: 1000B}
endpoints: ["h[1-2]"]
links: [h1 - h2]
workload:
  - {name: one, over: "h[1-2]", pattern: incast, senders: 1, count: 1, size: 1MB}
`
	r := runWorkload(t, text, true)
	ended, open := r.Metrics.Work(0)
	if len(ended) != 1 || len(open) > 0 || ended[0].Again < 1000 || ended[0].Missing > 0 {
		t.Errorf("%d transfers ended, %d did not: %+v", len(ended), len(open), ended)
	}
}

// The same transfers take place in the same order on the wall clock.
func TestModelWorkloadOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Load(t, rough, runtest.Sets(t, "model.duration=300us", "wall.dilation=300", "workload.web.stop=end", "workload.in.stop=end")...)
	r, err := emu.Run(context.Background(), s, emu.Options{Verify: emu.VerifyOn})
	if err != nil {
		t.Fatal(err)
	}
	ended, _ := r.Metrics.Work(0)
	if r.Verdict.Verify != "equal" || len(ended) < 5 {
		t.Errorf("the log, compared with the virtual clock's: %q; %d transfers", r.Verdict.Verify, len(ended))
	}
}

// ranks is a fabric whose endpoints are the ranks of a parallel job.
const ranks = `name: ranks
model: {duration: 20ms, framing: wire}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, forwarding-delay: 500ns, memory: 32MB, sharing: pooled}
  flow: {transport: {kind: rocev2, ack-every: 64}, packet: 4096B}
switches: {A: {}}
endpoints: ["h[1-%d]"]
links: ["h[1-%[1]d] - A"]
workload:
  - {name: sum, over: "h[1-%[1]d]", collective: all-reduce, size: 4MB, count: 3, compute: 50us}
`

// A ring all-reduce of n ranks takes 2(n-1) steps, each as long as a chunk takes alone, to 1 %;
// ACKs, which share the lines, are few here. If ranks did not wait for
// one another it would take a step or two.
func TestModelRingAllReduce(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, n := range []int{2, 3, 8, 13} {
		r := runWorkload(t, fmt.Sprintf(ranks, n), true)
		ended, open := r.Metrics.Work(0)
		rounds := r.Metrics.Rounds(0)
		if len(open) > 0 || len(ended) != 3*2*(n-1)*n || len(rounds) != 3 {
			t.Fatalf("%d ranks: %d messages, %d on their way, %d rounds", n, len(ended), len(open), len(rounds))
		}
		want := float64(2*(n-1)) * float64(ended[0].Ideal)
		for i, x := range rounds {
			if took := float64(x.Ended.Sub(x.Begun)); math.Abs(took/want-1) > 0.01 {
				t.Errorf("%d ranks: a round of %.4g us, want %.4g", n, took/1e6, want/1e6)
			}
			if i > 0 && x.Begun.Sub(rounds[i-1].Ended) > 50*unit.Microsecond {
				t.Errorf("%d ranks: round %d begins %v after the last one", n, i+1, x.Begun.Sub(rounds[i-1].Ended))
			}
		}
	}
}

// Each operation by each algorithm comes to its end, on InfiniBand and on Ethernet without ACKs
// too.
func TestModelCollectives(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, c := range []string{"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "barrier", "all-reduce:halving-doubling", "all-to-all:shift"} {
		kind, algorithm, _ := strings.Cut(c, ":")
		for name, sets := range transports {
			sets = append(slices.Clip(sets), "workload.sum.collective="+kind, "workload.sum.size=100KB")
			if algorithm != "" {
				sets = append(sets, "workload.sum.algorithm="+algorithm)
			}
			r := runWorkload(t, fmt.Sprintf(ranks, 6), false, sets...)
			if rounds := r.Metrics.Rounds(0); len(rounds) != 3 {
				t.Errorf("%s over %s: %d rounds", c, name, len(rounds))
			}
		}
	}
}

// The ranks of a GOAL file send what it says, in the order of its dependencies.
func TestModelGoal(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	text := strings.Replace(fmt.Sprintf(ranks, 3), "collective: all-reduce, size: 4MB, count: 3, compute: 50us", "goal: ../../../../docs/examples/pipeline.goal", 1)
	r := runWorkload(t, text, true)
	ended, open := r.Metrics.Work(0)
	if len(ended) != 8 || len(open) > 0 {
		t.Fatalf("%d messages, %d on their way", len(ended), len(open))
	}
	// Rank 1 computes for 20 µs before it sends a micro-batch on, rank 2 for 20 and 40 µs before it
	// sends the gradient.
	if gap := ended[2].Arrived.Sub(ended[0].Ended); gap != 20*unit.Microsecond {
		t.Errorf("rank 1 sends %v after it has received", gap)
	}
}

// runGoal runs the ranks of a GOAL file over a transport.
func runGoal(t *testing.T, ranksOf int, program string, sets ...string) *emu.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.goal")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(fmt.Sprintf(ranks, ranksOf), "collective: all-reduce, size: 4MB, count: 3, compute: 50us", "goal: "+file, 1)
	s := runtest.Load(t, text, runtest.Sets(t, sets...)...)
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// transports has the settings of each transport of a workload, over the fabric of ranks.
var transports = map[string][]string{
	"infiniband": {"defaults.link.flow-control=credit", "defaults.switch.kind=input-buffered", "defaults.flow.transport.kind=acknowledged", "defaults.flow.window=4", "model.framing=paper"},
	"datagrams":  {"defaults.flow.transport.kind=datagrams"},
	"rocev2":     nil,
}

// A message goes to the receive with its tag, also where messages come in another order than the
// receives are in, over each transport. Rank 0 sends tag 2 first; if it went to the first receive,
// rank 1 would answer after 10 µs.
func TestModelMessagesMatchByTag(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const program = `num_ranks 2
rank 0 {
  send 50000b to 1 tag 2
  w: calc 100000
  s: send 1b to 1 tag 1
  s requires w
  recv 8b from 1 tag 3
}
rank 1 {
  a: recv 1b from 0 tag 1
  b: recv 50000b from 0 tag 2
  m: send 8b to 0 tag 3
  m requires a
}`
	for name, sets := range transports {
		r := runGoal(t, 2, program, sets...)
		ended, _ := r.Metrics.Work(0)
		if len(ended) != 3 || len(r.RankWaits) > 0 || r.Verdict.Violations > 0 {
			t.Fatalf("%s: %d messages, waits %+v, violations %+v", name, len(ended), r.RankWaits, r.Violations)
		}
		if at := ended[2].Arrived; at < unit.Time(100*unit.Microsecond) || r.Metrics.Fabric().Nodes[ended[2].Src].Name != "h2" {
			t.Errorf("%s: rank 1 answers at %v, before the message with tag 1", name, at)
		}
	}
}

// A send ends when its packet is acknowledged, and without ACKs when its last packet begins to
// leave.
func TestModelWhenSendsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const program = `num_ranks 2
rank 0 {
  a: send 1b to 1 tag 1
  c: calc 1000
  b: send 1b to 1 tag 2
  c requires a
  b requires c
}
rank 1 { recv 1b from 0 tag 1; recv 1b from 0 tag 2 }`
	for name, sets := range transports {
		ended, _ := runGoal(t, 2, program, sets...).Metrics.Work(0)
		if len(ended) != 2 {
			t.Fatalf("%s: %d messages", name, len(ended))
		}
		acked := ended[0].Ended.Add(unit.Microsecond)
		if at := ended[1].Arrived; name == "datagrams" && at != unit.Time(unit.Microsecond) || name != "datagrams" && at <= acked {
			t.Errorf("%s: the second message comes at %v; the first has come at %v", name, at, ended[0].Ended)
		}
	}
}

// A receive without a send, and a send without a receive: the result names the ranks, the tags and
// the lines.
func TestModelRanksThatWait(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const program = `num_ranks 4
rank 0 { send 8b to 1 tag 7 }
rank 1 { calc 5 }
rank 2 {
  a: recv 8b from 3 tag 1
  b: send 8b to 0 tag 3
  b requires a
}
rank 3 {
  l: recv 8b from 2 tag 5; m: send 8b to 0
  m requires l
  c: calc 1000
}`
	r := runGoal(t, 4, program)
	came := r.RankWaits[0].SincePs
	want := []report.RankWait{
		{Workload: "sum", Rank: 1, Endpoint: "h2", Reason: "no-receive", For: 0, ForAt: "h1", Tag: 7, File: "job.goal", SincePs: came},
		{Workload: "sum", Rank: 2, Endpoint: "h3", Reason: "no-message", For: 3, ForAt: "h4", Tag: 1, File: "job.goal", Line: 5},
		{Workload: "sum", Rank: 3, Endpoint: "h4", Reason: "no-message", For: 2, ForAt: "h3", Tag: 5, File: "job.goal", Line: 10},
	}
	if !slices.Equal(r.RankWaits, want) || came < int64(2*unit.Microsecond) || came > int64(4*unit.Microsecond) {
		t.Errorf("%+v\nwant %+v", r.RankWaits, want)
	}
	// A job that is still at work at the end of its run waits for no other.
	if r := runGoal(t, 4, program, "model.duration=3us"); len(r.RankWaits) == 0 {
		t.Error("after 3 us no rank waits: a tenth of the run is 300 ns")
	}
	text := fmt.Sprintf(ranks, 4)
	if r := runWorkload(t, text, false, "model.duration=1ms", "workload.sum.count=1000"); len(r.RankWaits) > 0 {
		t.Errorf("a job at work: %+v", r.RankWaits)
	}
}

// A program that cannot continue: the result has the link and the reason.
func TestModelProgramThatCannotGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r := runGoal(t, 2, `num_ranks 2
rank 0 {
  x: calc 5
  a: calc 1
  b: calc 1
  a requires b
  b requires a
}
rank 1 { calc 1 }`)
	want := []report.RankWait{{Workload: "sum", Endpoint: "h1", Reason: "requires-itself", For: -1, File: "job.goal", Line: 4, SincePs: 5000}}
	if !slices.Equal(r.RankWaits, want) || len(r.Violations) > 0 {
		t.Errorf("%+v, violations %+v; want %+v", r.RankWaits, r.Violations, want)
	}
	if v := &r.Verdict; v.Level != report.Void || v.Violations > 0 || v.Stopped != 1 || !strings.Contains(v.Reason, "the job waits forever") {
		t.Errorf("the verdict %+v", v)
	}
}

// Another goroutine takes the figures of a workload while the run runs, and the last ones are those
// of the result.
func TestModelWorkloadIsObserved(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	text := rough + `expect:
  - {id: open, metric: web.open, during: [0ms, 1ms], low: 0, high: 1000}
  - {id: slow, metric: web.slowdown.p99, during: [0ms, 1ms], low: 1, high: 1000}
`
	s := runtest.Load(t, text, runtest.Sets(t, "model.duration=60ms", "workload.web.stop=end", "workload.in.stop=end")...)
	snapshots := 0
	ended := make(chan []observe.Check, 1)
	watch := observe.Func(func(x *observe.Snapshot) {
		if snapshots++; x.Last {
			ended <- slices.Clone(x.Checks)
		}
	})
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{{Observer: watch, Every: 10 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	last := <-ended
	for i, c := range r.Checks {
		if c.Value != last[i].Value || snapshots < 3 {
			t.Errorf("%s: %v in the result, %v in the last of %d snapshots", c.ID, c.Value, last[i].Value, snapshots)
		}
	}
}

// The memory of a run does not grow with its length, but for the first pages of transfers that have
// ended: those of the short run are in memory, and most of the long one in a file.
func TestModelMemoryOfLongWorkload(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: long
model: {duration: 10ms}
defaults:
  link: {rate: 100Gb/s, propagation: 500ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 16MB, sharing: pooled}
  flow: {transport: {kind: rocev2, ack-every: 16}, packet: 4096B}
switches: {A: {}}
endpoints: ["h[1-16]"]
links: ["h[1-16] - A"]
workload: [{name: web, over: "h[1-16]", size: storage, load: 0.5}]
`
	held := func(duration string) (bytes, transfers int) {
		r := runWorkload(t, text, false, "model.duration="+duration)
		transfers = r.Metrics.EndedTransfers(0)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		bytes = int(m.HeapAlloc)
		runtime.KeepAlive(r)
		return bytes, transfers
	}
	held("1ms")
	short, few := held("5ms")
	long, many := held("20ms")
	t.Logf("%d bytes with %d transfers, %d with %d", short, few, long, many)
	const most = 5*64<<10 + 128<<10 // five pages of transfers, and slack
	if grown := long - short; many < 3*few || 20*(many-few) < most || grown > most {
		t.Errorf("%d bytes with %d transfers, %d with %d: more than %d", short, few, long, many, most)
	}
}

// curves picks the lines of series.csv that belong to a kind, by name.
func curves(t *testing.T, dir, kind string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, report.SeriesFile))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if cells := strings.Split(line, ","); cells[1] == kind {
			all[cells[2]]++
		}
	}
	return all
}

// The results of 32 hosts and 5 ms take less than 5 MB; with chosen curves the table and the
// picture have these alone.
func TestModelSizeOfResults(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for chosen, links := range map[string]int{"": 96, "web, leaf1-spine[1-2], h[1-8]-*": 10} {
		var sets []string
		if chosen != "" {
			sets = append(sets, "measure.curves="+chosen)
		}
		s, err := emu.Open("workload/web-search", runtest.Sets(t, append(sets, "model.duration=5ms")...)...)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Write(dir, summary.Pictures); err != nil {
			t.Fatal(err)
		}
		bytes := int64(0)
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			bytes += info.Size()
		}
		if _, err := report.ReadDir(dir); err != nil {
			t.Error(err)
		}
		for _, name := range []string{report.TransfersFile, report.SlowdownFile} {
			path := filepath.Join(dir, name)
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for about, wrong := range map[string]func() error{
				"a mix of two runs": func() error { return os.WriteFile(path, whole[1:], 0o600) },
				"it lacks " + name:  func() error { return os.Remove(path) },
			} {
				if err := wrong(); err != nil {
					t.Fatal(err)
				}
				if _, err := report.ReadDir(dir); err == nil || !strings.Contains(err.Error(), about) {
					t.Errorf("%s, changed: %v, want %q", name, err, about)
				}
				if err := os.WriteFile(path, whole, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		all := curves(t, dir, "link.utilisation")
		if bytes > 5e6 || len(files) < 5 || len(all) != links || all["h1-leaf1"] < 100 {
			t.Errorf("%q: %d bytes in %d files, %d links, %d points", chosen, bytes, len(files), len(all), all["h1-leaf1"])
		}
		names := []string{"web", "leaf1-spine[1-2]: 2, median and range", "h[1-8]-*: 8, median and range"}
		if chosen == "" {
			continue
		}
		series, err := os.ReadFile(filepath.Join(dir, report.RatesFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(series), name) {
				t.Errorf("the picture does not have %q; curves of the result: %q", name, r.Curves)
			}
		}
	}
}

// A thousand hosts are one workload: there is no flow for each of their million pairs, and each of
// them sends.
func TestModelThousandHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: thousand
model: {duration: 50us}
routing: ecmp
defaults:
  link: {rate: 100Gb/s, propagation: 200ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 32MB, sharing: pooled}
  flow: {transport: {kind: rocev2, ack-every: 16}, packet: 4096B}
switches: {"leaf[1-25]": {}, "spine[1-8]": {}}
endpoints: ["h[1-1000]"]
links:
  - {between: "h[1-1000] - leaf[1-25]"}
  - {between: "leaf[1-25] x spine[1-8]", rate: 400Gb/s}
workload: [{name: all, over: "h[1-1000]", size: "0B:0 2KB:50 40KB:100", load: 0.5}]
`
	r := runWorkload(t, text, false)
	ended, open := r.Metrics.Work(0)
	sent := map[int32]bool{}
	for _, d := range append(ended, open...) {
		sent[d.Src] = true
	}
	if len(ended) < 20_000 || len(sent) < 990 {
		t.Errorf("%d transfers ended, of %d hosts", len(ended), len(sent))
	}
}
