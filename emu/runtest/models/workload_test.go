package models_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/runtest"
	"fabemu/node/traffic"
	"fabemu/wire/unit"
)

func runWorkload(t *testing.T, text string, codec bool, sets ...string) *emu.Result {
	t.Helper()
	s := runtest.Load(t, text, runtest.Sets(t, sets...)...)
	r, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock, Codec: codec})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Verdict.Violations; n != 0 {
		t.Errorf("%d violations: %+v", n, r.Violations)
	}
	return r
}

// One transfer that has the fabric for itself takes exactly as long as the closed form says, on ways of each length,
// over fast and slow links, by each transport, for one packet, for many, and for a rest. Without the closed form's
// first packet, or its slowest link, the two would differ.
func TestModelTransferAloneHasSlowdownOne(t *testing.T) {
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
				if took := d.Ended.Sub(d.Arrived); took != d.Alone {
					t.Errorf("%s over %v, %s: %v, alone %v", name, rates, size, took, d.Alone)
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

// At a link that transfers share in equal parts, the mean slowdown is 1/(1 - load), whatever the distribution of their
// sizes is (processor sharing; L. Kleinrock, "Queueing Systems", volume 2, section 4.4). First come, first served would
// give far more: the mean of 1/size is large.
func TestModelMeanSlowdownOfSharing(t *testing.T) {
	const text = `name: sharing
model: {duration: 1s}
defaults: {link: {rate: 1Gb/s, propagation: 1ns, flow-control: none}, flow: {packet: %dB}}
endpoints: ["h[1-2]"]
links: [h1 - h2]
workload: [{name: x, over: "h[1-2]", size: %s, load: 0.5, open: 4096}]
`
	const load, wire = 0.5, 20 // bytes of header that a packet has on the line
	for _, c := range []struct {
		sizes    string
		packet   int
		duration unit.Duration
	}{
		{"storage", 400, 400 * unit.Millisecond}, {"hadoop", 100, 600 * unit.Millisecond}, {"web-search", 9000, 10 * unit.Second},
	} {
		var means []float64
		offered := 0.0
		for seed := range 20 {
			r := runWorkload(t, fmt.Sprintf(text, c.packet, c.sizes), false, "model.duration="+c.duration.String(), fmt.Sprintf("model.seed=%d", seed+1))
			ended, open := r.Metrics.Work(0)
			sum, n, end := 0.0, 0, float64(c.duration)
			for _, all := range [][]metrics.Done{ended, open} {
				for i := range all {
					if d := &all[i]; float64(d.Arrived) > 0.1*end && float64(d.Arrived) < 0.8*end && d.Ended != unit.Never {
						sum, n = sum+float64(d.Ended.Sub(d.Arrived))/float64(d.Alone), n+1
					}
				}
			}
			means = append(means, sum/float64(n))
		}
		payload, line := 0.0, 0.0
		g, err := traffic.NewMesh(traffic.Mesh{Members: 2, Sizes: must(traffic.ParseSizes(c.sizes)), Rate: 1e9, Stop: unit.Never})
		if err != nil {
			t.Fatal(err)
		}
		for range 200_000 {
			size := float64(g.Next().Size)
			payload, line = payload+size, line+size+wire*math.Ceil(size/float64(c.packet))
		}
		offered = load * line / payload
		mean, half := interval(means)
		if want := 1 / (1 - offered); math.Abs(mean-want) > half || half > 0.2*want {
			t.Errorf("%s: %.3f +- %.3f, want %.3f at a load of %.3f", c.sizes, mean, half, want, offered)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// interval returns the mean of twenty values and half of its 95 % interval.
func interval(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, 2.093 * math.Sqrt(squares/(n-1)/n) // Student's t with 19 degrees of freedom
}

// rough is a small fabric in which switches drop.
const rough = `name: rough
model: {duration: 3ms}
routing: ecmp
defaults:
  link: {rate: 10Gb/s, propagation: 200ns, flow-control: none}
  switch: {kind: output-queued, forwarding-delay: 300ns, memory: 20KB per port}
  flow: {transport: {kind: rocev2, ack-timeout: 50us, ack-every: 4}, packet: 1000B}
switches: {A: {}, B: {}, S: {}, T: {}}
endpoints: ["h[1-8]"]
links: ["h[1-4] - A", "h[5-8] - B", A - S, A - T, B - S, B - T]
workload:
  - {name: web, over: "h[1-8]", size: "0B:0 2KB:50 40KB:100", load: 0.5, open: 8, stop: 2ms}
  - {name: in, over: "h[2-7]", pattern: incast, size: 20KB, load: 0.1, stop: 2ms}
`

// Where packets are lost they come again, and each transfer ends once, with each of its bytes.
func TestModelTransfersThatLosePackets(t *testing.T) {
	r := runWorkload(t, rough, true)
	lost := int64(0)
	for _, d := range r.Drops {
		lost += d.Count
	}
	again := 0
	for k := range 2 {
		ended, open := r.Metrics.Work(k)
		if len(ended) < 20 || len(open) > 0 {
			t.Errorf("workload %d: %d transfers ended, %d did not", k, len(ended), len(open))
		}
		for i := range ended {
			again += int(ended[i].Again)
			if ended[i].Missing != 0 {
				t.Errorf("%+v", ended[i])
			}
		}
	}
	if lost < 50 || again < 50 {
		t.Errorf("%d frames lost, %d packets sent again: the test wants more", lost, again)
	}
}

// The same transfers take place in the same order on the wall clock.
func TestModelWorkloadOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
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
