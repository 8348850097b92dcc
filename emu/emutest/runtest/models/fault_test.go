package models_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// star is a fabric of Ethernet: two senders and a receiver at a switch.
const star = `
name: star
model: {duration: %s, framing: wire}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns, flow-control: pfc, quanta: 1000}
  switch: {kind: output-queued, memory: 200KB per port}
  flow: {packet: 1500B}
switches: {S: {}}
endpoints: [A, B, C]
links:
  - {name: a, between: A - S}
  - {name: b, between: B - S}
  - {name: c, between: S - C}
flows:
  - {name: one, from: A, to: C, priority: 3}
  - {name: two, from: B, to: C, priority: 3}
`

// faulted runs a scenario on the virtual clock with the lines of faults behind it.
func faulted(t *testing.T, text string, faults ...string) (*emu.Result, map[string]int64) {
	t.Helper()
	if len(faults) > 0 {
		text += "faults:\n  - " + strings.Join(faults, "\n  - ") + "\n"
	}
	r, err := emu.Run(context.Background(), runtest.Load(t, text), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	drops := map[string]int64{}
	for _, d := range r.Drops {
		drops[d.Reason] = d.Count
	}
	return r, drops
}

// Loss of 1 in 1000 with go-back-N. A lost packet is followed by the packets of a round trip, until
// its NAK has come: W packets are sent for nothing. One that is lost when it is retransmitted has
// no NAK, since the destination sends only one, and waits for the timeout of T packets: the share
// of the link with new packets is (1-p) / (1 - p + p (W + p T)). The range is 2 % of that; without
// effect of the loss the share is 1.
func TestModelGoodputOfGoBackN(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const (
		p, timeout = 0.001, 400.0                    // us
		frame      = (4096 + 62 + 20) * 8 / 40e3     // us: Ethernet, IP, UDP, BTH, RETH or none, ICRC, FCS, gap
		trip       = 4*20 + 2*frame + 2*(84*8)/40e3  // there and back over two links, with a switch between
		W, T       = trip/frame + 1, timeout / frame // the lost one, and those behind it
		want       = (1 - p) / (1 - p + p*(W-1+p*T)) // of packets that are sent
	)
	r, drops := faulted(t, `
name: lossy
model: {duration: 100ms, framing: wire}
defaults:
  link: {rate: 40Gb/s, propagation: 20us, flow-control: pfc}
  switch: {kind: output-queued, memory: 2MB per port, forwarding-delay: 1ns}
switches: {S: {}}
endpoints: [A, C]
links: [{name: a, between: A - S}, {name: c, between: S - C}]
flows:
  - {name: one, from: A, to: C, packet: 4096B, transport: {kind: rocev2, ack-every: 16, ack-timeout: 400us}}
`, "{link: a, from: A, loss: 0.001}")
	sent, got := runtest.Over(t, r.Metrics, "a.A-S.rate", 1, 100), runtest.Over(t, r.Metrics, "one.rate", 1, 100)
	t.Logf("W %.1f, T %.1f: %.4f; want %.4f; %v", W, T, got/sent, want, drops)
	if share := got / sent; math.Abs(share/want-1) > 0.02 || want > 0.95 {
		t.Errorf("a share of %.4f; want %.4f", share, want)
	}
	if r.Verdict.Violations != 0 || drops["lost-on-link"] == 0 {
		t.Errorf("%d violations, %v", r.Verdict.Violations, drops)
	}
}

// "Credit with a lost FCP heals at the next": the receiver repeats flow control packets at least
// every the interval resend, so a flow whose flow control packets were all lost for a time
// continues so soon after it. With another interval it takes longer, so it is the interval that
// heals.
func TestModelLostCreditHealsAtTheNextPacket(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, resend := range []float64{50, 400} { // us
		text := fmt.Sprintf(`
name: credit
model: {duration: 2ms, framing: wire}
defaults: {link: {rate: 10Gb/s, propagation: 100ns, resend: %vus}, flow: {packet: 2048B, window: 16, timeout: 10ms}}
switches: {S: {}}
endpoints: [A, C]
links: [{name: a, between: A - S}, {name: c, between: S - C}]
flows: [{name: one, from: A, to: C}]
measure: {window: 10us}
`, resend)
		r, _ := faulted(t, text, "{at: 1ms, link: a, from: S, loss: 1, frames: fcp, for: 100us}")
		if r.Verdict.Violations != 0 {
			t.Errorf("resend %v us: %d violations", resend, r.Verdict.Violations)
		}
		if still := runtest.Over(t, r.Metrics, "one.rate", 1.05, 1.1); still != 0 {
			t.Errorf("resend %v us: %.4g bytes per second without credit", resend, still)
		}
		healed := math.NaN()
		for at := 1.1; at < 2; at += 0.01 {
			if runtest.Over(t, r.Metrics, "one.rate", at, at+0.01) > 0 {
				healed = 1000 * (at + 0.01 - 1.1)
				break
			}
		}
		t.Logf("resend %v us: healed within %.0f us", resend, healed)
		if !(healed <= resend+20) { // a bin, and the way of a packet
			t.Errorf("resend %v us: healed after %.0f us", resend, healed)
		}
		if resend > 300 && healed < 100 {
			t.Errorf("resend %v us: healed after %.0f us: what is repeated has not healed it", resend, healed)
		}
	}
}

// A PAUSE that is lost, late, or ignored has a consequence: frames find no room. They are counted
// apart, and break no promise. Without the fault nothing is lost.
func TestModelLostPauseIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Run("partitioned", func(t *testing.T) { lostPause(t, fmt.Sprintf(star, "3ms")) })
	t.Run("pooled", func(t *testing.T) {
		lostPause(t, strings.Replace(fmt.Sprintf(star, "3ms"), "per port", "per port, sharing: pooled", 1))
	})
}

func lostPause(t *testing.T, text string) {
	for _, tc := range []struct {
		name, fault, event string
		lost               bool
	}{
		{"none", "", "", false},
		{"lost", "{link: a, from: S, loss: 1, frames: pfc, at: 1ms, for: 500us}", "lost-on-link", true},
		{"corrupted", "{link: a, from: S, corruption: 1, frames: pfc, at: 1ms, for: 500us}", "fcs-error", true},
		{"late", "{link: a, from: S, delay: 200us, frames: pfc, at: 1ms, for: 1ms}", "", true},
		{"data late", "{link: a, from: A, delay: 200us, at: 1ms, for: 300us}", "", true},
		{"ignored", "{endpoint: A, pauses: ignored, at: 1ms, for: 500us}", "ignored", true},
	} {
		var faults []string
		if tc.fault != "" {
			faults = append(faults, tc.fault)
		}
		r, drops := faulted(t, text, faults...)
		t.Logf("%s: %v", tc.name, drops)
		if r.Verdict.Violations != 0 {
			t.Errorf("%s: %d violations: %+v", tc.name, r.Verdict.Violations, r.Violations[0])
		}
		roomy := tc.name == "data late" && strings.Contains(text, "pooled") // the pool has room for all that is on the link
		if lost := drops["not-stopped"] > 0; lost != (tc.lost && !roomy) {
			t.Errorf("%s: %v", tc.name, drops)
		}
		if tc.event != "" && drops[tc.event] == 0 || tc.fault == "" && len(drops) > 0 {
			t.Errorf("%s: %v", tc.name, drops)
		}
	}
}

// Faults of endpoints and outputs stop what they should, and nothing else, and end.
func TestModelFaultsOfEndpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	text := strings.Replace(fmt.Sprintf(star, "3ms"), "to: C, priority: 3}\n  - {name: two", "to: C, priority: 4}\n  - {name: two", 1)
	type rates struct{ one, two float64 } // shares of the link, while the fault lasts
	for _, tc := range []struct {
		name, fault string
		want        rates
		after       rates
	}{
		{"none", "", rates{1, 0}, rates{1, 0}}, // the higher priority has all
		{"storm of a priority", `{endpoint: C, pause-storm: "on", priorities: [4], at: 1ms, for: 1ms}`, rates{0, 1}, rates{1, 0}},
		{"storm", `{endpoint: C, pause-storm: "on", at: 1ms, for: 1ms}`, rates{0, 0}, rates{1, 0}},
		{"choppy storm", `{endpoint: C, pause-storm: "on", priorities: [4], at: 1ms, for: 1ms, gap: 50us, period: 100us}`, rates{0.5, 0.5}, rates{1, 0}},
		{"sink", "{endpoint: C, sink: stopped, at: 1ms, for: 1ms}", rates{0, 0}, rates{1, 0}},
		{"stuck output", "{link: c, from: S, stuck: 1ms, at: 1ms}", rates{0, 0}, rates{1, 0}},
		{"stuck sender", "{link: a, from: A, stuck: 1ms, at: 1ms}", rates{0, 1}, rates{1, 0}},
		{"one direction", "{link: a, from: A, loss: 1, at: 1ms, for: 1ms}", rates{0, 1}, rates{1, 0}},
	} {
		var faults []string
		if tc.fault != "" {
			faults = append(faults, tc.fault)
		}
		r, _ := faulted(t, text, faults...)
		if r.Verdict.Violations != 0 {
			t.Errorf("%s: %d violations: %+v", tc.name, r.Verdict.Violations, r.Violations[0])
		}
		during := rates{runtest.Over(t, r.Metrics, "one.utilisation", 1.3, 1.9), runtest.Over(t, r.Metrics, "two.utilisation", 1.3, 1.9)}
		after := rates{runtest.Over(t, r.Metrics, "one.utilisation", 2.3, 3), runtest.Over(t, r.Metrics, "two.utilisation", 2.3, 3)}
		near := func(a, b rates) bool { return math.Abs(a.one-b.one) < 0.06 && math.Abs(a.two-b.two) < 0.06 }
		if !near(during, tc.want) || !near(after, tc.after) {
			t.Errorf("%s: %.3f with it and %.3f after; want %v and %v", tc.name, during, after, tc.want, tc.after)
		}
	}
}

// The reason of a drop is in the result with the link.
func TestModelFaultsInTheResult(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r, drops := faulted(t, fmt.Sprintf(star, "1ms"), "{link: a, from: A, corruption: 1, nth: 5}", "{link: b, from: B, loss: 1, nth: 7}")
	want := []report.Loss{{Node: "S", Link: "a.A-S", Reason: "fcs-error", Count: 1}, {Node: "S", Link: "b.B-S", Reason: "lost-on-link", Count: 1}}
	if len(r.Losses) != 2 || r.Losses[0] != want[0] || r.Losses[1] != want[1] || len(drops) != 2 {
		t.Errorf("%+v; want %+v", r.Losses, want)
	}
}

// lossAt notes when the first frame was lost on a link.
type lossAt struct{ at unit.Time }

// Record takes an event.
func (l *lossAt) Record(e *trace.Event) {
	if e.Kind == trace.Drop && e.Reason() == trace.LostOnLink && l.at == 0 {
		l.at = e.At
	}
}

// Each CNM to one of two sources is lost in turn, from the 1st to the 20th. QCN's reaction point
// has no other way to learn of congestion, but the congestion point continues to sample, and the
// timer ends fast recovery after 5 cycles: no later than that after the loss the queue is around
// its equilibrium again, within half and twice Qeq on average, and the link is busy. If all CNMs
// are lost the queue is as long as PAUSE lets it be, which the range excludes.
func TestModelEachLostCNMIsRecoveredFrom(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const qeq, timer, end = 33e3, 1.0, 30.0 // bytes, ms, ms
	text := `
name: lost-cnm
model: {duration: 30ms}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pause}
  switch: {kind: output-queued, memory: 300KB per port, marking: {scheme: qcn, qeq: 33KB, octets: 14}}
  flow: {packet: 1500B, control: {algorithm: qcn, timer: 1ms, min-rate: 10Mb/s}}
switches: {S: {}}
endpoints: [A, B, C]
links: [{name: a, between: A - S}, {name: b, between: B - S}, {name: c, between: S - C}]
flows: [{name: one, from: A, to: C}, {name: two, from: B, to: C}]
`
	queue := func(fault string) (bytes, busy float64) {
		x := &lossAt{}
		s := runtest.Load(t, text+"faults:\n  - "+fault+"\n")
		r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: x})
		if err != nil {
			t.Fatal(err)
		}
		from := float64(x.at)/1e9 + 5*timer
		if x.at == 0 || from > end-5*timer {
			t.Fatalf("%s: lost at %v", fault, x.at)
		}
		return runtest.Over(t, r.Metrics, "c.S-C.queue", from, end), runtest.Over(t, r.Metrics, "c.S-C.utilisation", from, end)
	}
	for k := 1; k <= 20; k++ {
		got, busy := queue(fmt.Sprintf("{link: a, from: S, loss: 1, frames: cnm, nth: %d}", k))
		if got < qeq/2 || got > 2*qeq || busy < 0.95 {
			t.Errorf("CNM %d is lost: a queue of %.0f bytes, %.3f of the line", k, got, busy)
		}
	}
	if got, _ := queue(`{link: "*", loss: 1, frames: cnm}`); got < 3*qeq {
		t.Errorf("all CNMs are lost: a queue of %.0f bytes, and the range would not exclude it", got)
	}
}

// fullest notes the most that the input of a switch has taken in, from an instant to another.
type fullest struct {
	from, to unit.Time
	most     int64
}

// Record takes an event.
func (f *fullest) Record(e *trace.Event) {
	if e.Kind == trace.Arrive && e.Node == 0 && e.Port == 0 && trace.IsData(e.A) && e.At >= f.from && e.At < f.to {
		f.most = max(f.most, e.Occupancy())
	}
}

// A port with half its buffer: two senders at one output, which keep the memory of their inputs
// between the watermarks. In half of it they are stopped earlier, with their headroom, so that the
// fullest input fits, nothing is lost, and the line stays busy. Without the fault the input takes
// more than half.
func TestModelHalfOfTheMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, tc := range []struct{ name, control, sharing string }{
		{"PFC", "pfc", "partitioned"}, {"PAUSE", "pause", "partitioned"}, {"PFC in a pool", "pfc", "pooled"},
	} {
		most := func(fault string) int64 {
			text := strings.NewReplacer("flow-control: pfc", "flow-control: "+tc.control,
				"200KB per port", "200KB per port, sharing: "+tc.sharing).Replace(fmt.Sprintf(star, "3ms"))
			x := &fullest{from: unit.Time(1200 * unit.Microsecond), to: unit.Time(2 * unit.Millisecond)}
			r, err := emu.Run(context.Background(), runtest.Load(t, text+"faults: ["+fault+"]\n"), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: x})
			if err != nil {
				t.Fatal(err)
			}
			if busy := runtest.Over(t, r.Metrics, "c.S-C.utilisation", 0.5, 3); r.Verdict.Violations != 0 || len(r.Drops) > 0 || busy < 0.99 {
				t.Errorf("%s %s: %d violations, drops %v, %.3f of the line", tc.name, fault, r.Verdict.Violations, r.Drops, busy)
			}
			return x.most
		}
		whole, half := most("{link: b, buffer: 0.9}"), most("{at: 1ms, link: a, buffer: 0.5, for: 1ms}")
		if whole < 150e3 || half > 100e3 || half < 80e3 {
			t.Errorf("%s: at most %d bytes in the whole buffer and %d in half of it", tc.name, whole, half)
		}
		if over := most("{at: 0s, link: a, buffer: 0.5, for: 500us}"); over < 150e3 {
			t.Errorf("%s: at most %d bytes after the fault", tc.name, over)
		}
	}
}

// With credit a buffer of n packets lets n packets through in a round trip, so half of it is half
// of the rate. The credit that the sender has stays valid: nothing is lost and no promise broken as
// the buffer becomes smaller. The round trip is 40us there and back, the packet, and the flow
// control packet; the ranges are 3 %, and without the fault the rates would be equal.
func TestModelHalfOfTheCredit(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r, drops := faulted(t, `
name: credit
model: {duration: 6ms, framing: wire}
defaults: {link: {rate: 10Gb/s, propagation: 20us, buffer: 16 packets}, flow: {packet: 2048B, window: 100}}
switches: {S: {}}
endpoints: [A, C]
links: [{name: a, between: A - S}, {name: c, between: S - C, buffer: 100 packets}]
flows: [{name: one, from: A, to: C}]
measure: {window: 50us}
`, "{at: 2ms, link: a, buffer: 0.5, for: 2ms}")
	before, during, after := runtest.Over(t, r.Metrics, "one.rate", 1, 2), runtest.Over(t, r.Metrics, "one.rate", 2.2, 4), runtest.Over(t, r.Metrics, "one.rate", 4.2, 6)
	t.Logf("%.4g, %.4g, %.4g", before, during, after)
	if near := func(got, want float64) bool { return math.Abs(got/want-1) < 0.03 }; !near(during, before/2) || !near(after, before) {
		t.Errorf("%.4g before, %.4g with half of the buffer, %.4g after", before, during, after)
	}
	if r.Verdict.Violations != 0 || len(drops) > 0 {
		t.Errorf("%d violations, %v", r.Verdict.Violations, drops)
	}
}

// The rate of a trunk falls to a tenth while switch S is kept near its high watermark, at instants
// that are one to a hundred steps of 123 ns apart: with the watermark that leaves the headroom of
// 10 Gb/s nothing is lost, since the way back is longer than a frame.
func TestModelLowerRateOverrunsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for step := range 100 {
		r, drops := faulted(t, strings.NewReplacer("100ns", "5us", "200KB per port", "50KB per port, high: 34250B").Replace(fmt.Sprintf(star, "200us"))+
			fmt.Sprintf("events: [{at: %dps, link: a, rate: 1Gb/s}]\n", 50_000_000+123_000*step))
		if r.Verdict.Violations != 0 || len(drops) > 0 {
			t.Fatalf("step %d: %d violations, %v", step, r.Verdict.Violations, drops)
		}
	}
}

// A fault that loses or corrupts frames, and has hit none by the end, is a warning; one that has
// hit a frame is none, nor is one that begins later. A fault in one direction is not hit by frames
// of the other.
func TestModelFaultsThatHitNothingAreWarnings(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	text := fmt.Sprintf(star, "1ms")
	for fault, want := range map[string]string{
		"{link: c, loss: 0.2}":                        "",
		"{link: c, corruption: 0.2}":                  "",
		"{link: \"*\", loss: 0.2}":                    "",
		"{link: c, delay: 1us}":                       "",
		"{link: c, loss: 0.2, from: C, frames: data}": "has lost no frame",
		"{link: c, loss: 0.000000001}":                "has lost no frame",
		"{link: c, corruption: 0.000000001}":          "has corrupted no frame",
	} {
		r, drops := faulted(t, text, fault)
		got := strings.Join(r.Warnings, "; ")
		if want == "" && strings.Contains(got, "the fault") || !strings.Contains(got, want) {
			t.Errorf("%s: drops %v, warnings %q", fault, drops, got)
		}
	}
}
