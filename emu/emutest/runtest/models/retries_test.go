package models_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/result/report"
	"fabemu/wire/unit"
)

// retrying is two hosts on each side of a trunk, which is down for 4 ms.
const retrying = `name: retries
model: {duration: 20ms, seed: 3}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: 1MB}
  flow: {packet: 1000B, transport: {kind: rocev2, window: 64, ack-timeout: 500us}, control: {algorithm: fixed}, rate-limit: 1Gb/s}
switches: {left: {}, right: {}}
endpoints: ["a[1-2]", "b[1-2]"]
links:
  - "a[1-2] - left"
  - "b[1-2] - right"
  - {name: trunk, between: left - right}
flows:
  - {name: fails, from: a1, to: b1, transport: {retry-count: 2}}
  - {name: waits, from: a2, to: b2}
events:
  - {at: 2ms, link: trunk, state: down}
  - {at: 6ms, link: trunk, state: up}
measure: {window: 1ms}
`

// A queue pair that has retransmitted as often as it may fails: its flow stops and is named, others
// recover. The verdict, the exit status and the checks tell. Without a limit nothing of it happens.
func TestModelQueuePairFails(t *testing.T) {
	expecting := strings.Replace(retrying, "measure:", "expect:\n  - {id: fails, claim: the queue pair fails, metric: fails.failures, during: [0s, 20ms], low: 1, high: 1}\nmeasure:", 1)
	for _, codec := range []bool{false, true} {
		r := runWorkload(t, retrying, codec)
		if len(r.Failures) != 1 {
			t.Fatalf("%+v", r.Failures)
		}
		got := r.Failures[0]
		from, at := unit.Time(2*unit.Millisecond), unit.Time(got.AtPs)
		// The last packet that was acknowledged has left before 2 ms; its ACK began the timeout.
		if low, high := from.Add(1480*unit.Microsecond), from.Add(1520*unit.Microsecond); at < low || at > high {
			t.Errorf("it fails at %v, want three timeouts after %v", at, from)
		}
		got.AtPs, got.Packets = 0, 0
		if d := cmp.Diff(report.Failure{Flow: "fails", From: "a1", To: "b1", QP: r.Flows[0].QP, Reason: "timeout"}, got); d != "" {
			t.Error(d)
		}
		if !r.Broken() || !strings.HasSuffix(r.Verdict.Reason, ". 1 queue pair failed and left data undelivered") || r.Verdict.Failed != 1 {
			t.Errorf("broken: %t, %d: %s", r.Broken(), r.Verdict.Failed, r.Verdict.Reason)
		}
		if active := r.Flows[0].ActivePs; len(active) != 1 || active[0][1] != int64(at) {
			t.Errorf("it is active during %v, and fails at %v", active, at)
		}
		if slices.ContainsFunc(r.Silences, func(s report.Silence) bool { return s.Flow == "fails" && s.Lasting }) {
			t.Errorf("what has failed waits for nothing: %+v", r.Silences)
		}
		if waits := r.Flows[1]; float64(waits.Rate) < 0.75*125e6 || float64(waits.Rate) > 125e6 {
			t.Errorf("the other flow has %v B/s", waits.Rate)
		}
		if text := textOf(t, r); !strings.Contains(text, "Queue pairs that failed after their retry-count") || !strings.Contains(text, "a1 to b1") {
			t.Errorf("the report does not name it:\n%s", text)
		}
		if r := runWorkload(t, expecting, codec); r.Broken() || r.Checks[0].Outcome != report.Pass {
			t.Errorf("it is expected: broken %t, %+v", r.Broken(), r.Checks)
		}
		r = runWorkload(t, retrying, codec, "flows.fails.transport.retry-count=unlimited")
		if len(r.Failures) > 0 || r.Broken() || float64(r.Flows[0].Rate) < 0.75*125e6 {
			t.Errorf("unlimited: %+v, %v B/s", r.Failures, r.Flows[0].Rate)
		}
	}
}

// A packet that waits for a link that PAUSE stops is not sent any more once its queue pair has
// failed.
func TestModelQueuePairFailsInAStorm(t *testing.T) {
	const storm = `name: storm
model: {duration: 20ms, seed: 3}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 1MB}
  flow: {packet: 1000B, transport: {kind: rocev2, retry-count: 1, ack-timeout: 200us}, control: {algorithm: fixed}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, b - S]
flows: [{name: f, from: a, to: b}]
events:
  - {at: 2ms, endpoint: b, pause-storm: "on"}
  - {at: 8ms, endpoint: b, pause-storm: "off"}
measure: {window: 1ms}
`
	r := runWorkload(t, storm, false)
	if len(r.Failures) != 1 || r.Failures[0].AtPs > int64(3*unit.Millisecond) {
		t.Fatalf("%+v", r.Failures)
	}
	// What the memory of S held comes when the storm is over, and nothing else.
	if f, most := r.Flows[0], int64(2.1e-3*1.25e9)+1_000_000; f.Bytes > most {
		t.Errorf("%d bytes came, at most %d were sent", f.Bytes, most)
	}
	unlimited := runWorkload(t, storm, false, "defaults.flow.transport.retry-count=unlimited")
	if len(unlimited.Failures) > 0 || unlimited.Flows[0].Bytes < 3*r.Flows[0].Bytes {
		t.Errorf("unlimited: %+v, %d bytes instead of %d", unlimited.Failures, unlimited.Flows[0].Bytes, r.Flows[0].Bytes)
	}
}

// A transfer whose queue pair fails stays unfinished, and the next one of the workload has another
// queue pair, so that its destination takes none of it for what came before.
func TestModelQueuePairsOfWorkloadsFail(t *testing.T) {
	const text = `name: works
model: {duration: 60ms, seed: 3}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: 100MB}
  flow: {packet: 1000B, transport: {kind: rocev2, retry-count: 1, ack-timeout: 200us}, control: {algorithm: fixed}}
switches: {S: {}}
endpoints: ["h[1-3]"]
links: ["h[1-2] - S", {name: edge, between: h3 - S}]
workload:
  - {name: w, over: "h[1-3]", pattern: incast, senders: 2, size: 100KB, load: 0.3, open: 2, stop: 50ms}
events:
  - {at: 10ms, link: edge, loss: 1, for: 4ms}
measure: {window: 1ms}
`
	r := runWorkload(t, text, false)
	w := r.Workloads[0]
	if n := len(r.Failures); n < 4 || n > 4*20 || w.Open == 0 || w.Open > n {
		t.Fatalf("%d queue pairs fail, %d transfers stay open", n, w.Open)
	}
	seen := map[uint32]bool{}
	for _, x := range r.Failures {
		if seen[x.QP] || x.From != "h3" && x.To != "h3" || x.Flow != "w" || x.AtPs < int64(10*unit.Millisecond) || x.AtPs > int64(15*unit.Millisecond) {
			t.Errorf("%+v", x)
		}
		seen[x.QP] = true
	}
	ended, _ := r.Metrics.Work(0)
	later := 0
	for i := range ended {
		if ended[i].Arrived > unit.Time(15*unit.Millisecond) {
			later++
		}
	}
	if later < 50 {
		t.Errorf("%d transfers ended that arrived after the link was up again", later)
	}
}
