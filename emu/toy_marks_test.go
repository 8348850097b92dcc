package emu_test

import (
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The toy of messages (toy_point_test.go, toy_algorithm_test.go) has a twin that hears marks: a
// marker that marks each so-manieth packet, and an algorithm whose destination answers each mark by
// a CNP.

// tickParams are the parameters of tick.
type tickParams struct {
	Each int `key:"each" def:"100" low:"1" high:"1000000" doc:"Each so-manieth packet is marked."`
}

// tickPoint is the row of tick.
func tickPoint() cp.Point {
	return cp.Point{
		Name: "tick", Sees: cp.Queues, Params: tickParams{}, Doc: "marks each hundredth packet as it leaves",
		Marker: func(params any, _ cp.Site) (cp.Marking, error) {
			return cp.Marking{Marker: &tick{tickParams: params.(tickParams)}}, nil
		},
	}
}

// tick is the congestion point.
type tick struct {
	tickParams
	n int
}

// Enqueue does nothing.
func (*tick) Enqueue(unit.Time, *wire.Frame, cp.Queue) {}

// Dequeue marks a packet, and says why.
func (m *tick) Dequeue(_ unit.Time, f *wire.Frame, _ cp.Queue) trace.Reason {
	if f.Kind != wire.Data {
		return trace.NoReason
	}
	if m.n++; m.n < m.Each {
		return trace.NoReason
	}
	m.n, f.FECN = 0, true
	return trace.EarlyMark
}

// Reset begins to count again.
func (m *tick) Reset() { m.n = 0 }

// yieldParams are the parameters of yield.
type yieldParams struct {
	Rise unit.Duration `key:"rise" def:"100us" low:"above 0s" doc:"After so long without a CNP the rate is a quarter higher."`
}

// yieldAlgorithm is the row of yield. That it hears marks is all that it takes for CNPs to come to
// it.
func yieldAlgorithm() rp.Algorithm {
	return rp.Algorithm{
		Name: "yield", Feedback: rp.Marks, Params: yieldParams{},
		Trials: []rp.Trial{{Point: "tick", Flow: []string{"transport.kind=rocev2"}}},
		Doc:    "takes a quarter off the rate with each CNP",
		New: func(params any, s rp.Site) (rp.Reaction, error) {
			return rp.Reaction{Controller: &yield{yieldParams: params.(yieldParams), line: s.Line, rate: s.Line, next: unit.Never}}, nil
		},
		Answer: func(any, rp.Site) (rp.Answerer, error) { return &herald{}, nil },
	}
}

// yield is the reaction point.
type yield struct {
	yieldParams
	line, rate unit.Rate
	next       unit.Time // when the rate rises; Never: it is that of the link
}

// Feedback lowers the rate with a CNP. ACKs come here too, and say nothing.
func (y *yield) Feedback(now unit.Time, f wire.Frame) {
	if f.Kind == wire.CNP {
		y.rate, y.next = max(y.rate*3/4, 1e6), now.Add(y.Rise)
	}
}

// Advance raises the rate.
func (y *yield) Advance(now unit.Time) {
	if now < y.next {
		return
	}
	if y.rate, y.next = min(y.rate*5/4, y.line), now.Add(y.Rise); y.rate == y.line {
		y.next = unit.Never
	}
}

func (*yield) Sent(unit.Time, unit.Size) {}
func (y *yield) Rate() unit.Rate         { return y.rate }
func (y *yield) Deadline() unit.Time     { return y.next }

// herald answers each marked packet by a CNP, at once.
type herald struct{ owed int }

// Refuses returns that it takes in all frames.
func (*herald) Refuses(unit.Time, wire.Frame) trace.Reason { return trace.NoReason }

// Receive takes in a packet of the flow.
func (h *herald) Receive(_ unit.Time, f wire.Frame) {
	if f.Kind == wire.Data && f.FECN {
		h.owed++
	}
}

func (*herald) Deadline() unit.Time { return unit.Never }

// Send returns a CNP that is owed. Its way, its flow and its priority are given to it.
func (h *herald) Send(unit.Time) (wire.Frame, bool) {
	if h.owed == 0 {
		return wire.Frame{}, false
	}
	h.owed--
	return wire.Frame{Kind: wire.CNP}, true
}

const toyMarks = `
name: toy-marks
model: {duration: 5ms}
wall: {dilation: 50}
defaults:
  link: {rate: 1Gb/s, flow-control: pfc}
  switch: {kind: output-queued, memory: 300KB, forwarding-delay: 1us, marking: {scheme: tick, each: 50}}
  flow: {packet: 1024B, transport: rocev2, control: {algorithm: yield}}
switches: {s: {}}
endpoints: [a, b, c]
links: ["a - s", "b - s", {name: root, between: s - c}]
flows:
  - {name: x, from: a, to: c}
  - {name: y, from: b, to: c}
`

// toyTwins has the rows of both toys.
func toyTwins() scenario.Schemes {
	t := toyTables()
	t.Algorithms, t.Points = append(t.Algorithms, yieldAlgorithm()), append(t.Points, tickPoint())
	return t
}

// TestALawThatHearsMarksGetsCNPs: each CNP comes to the algorithm, on both clocks, whose row says
// that it hears marks; the fabric reckons with them, and nothing of them is dropped.
func TestAnAlgorithmThatHearsMarksGetsCNPs(t *testing.T) {
	load := func(sets ...scenario.Set) *scenario.Scenario {
		s, err := resolve.Load("toy.yaml", []byte(toyMarks), sets, resolve.WithSchemes(toyTwins()), resolve.Lint(lint.Check))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Warnings) > 0 {
			t.Errorf("warnings %v", s.Warnings)
		}
		return s
	}
	run := func(o emu.Options, sets ...scenario.Set) (r *emu.Result, sent, dropped int) {
		var events strings.Builder
		o.Events = &events
		var err error
		r, err = emu.Run(t.Context(), load(sets...), o)
		if err != nil {
			t.Fatal(err)
		}
		return r, strings.Count(events.String(), `"event":"message"`), strings.Count(events.String(), "not-awaited")
	}
	r, sent, dropped := run(emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}, Digest: true})
	if sent < 8 || sent > 14 || dropped > 0 { // some 600 packets of 1024 B leave in 5 ms
		t.Errorf("%d CNPs were sent and %d dropped, want one for 50 packets, and none", sent, dropped)
	}
	wall, _, _ := run(emu.Options{Settings: emu.Settings{Clock: emu.WallClock, Link: emu.Pipe}, Verify: emu.VerifyOn})
	if wall.Digest != r.Digest || wall.Verdict.Verify == "differs" {
		t.Errorf("on the wall clock the digest is %s, on the virtual clock %s", wall.Digest, r.Digest)
	}
	slow, often, _ := run(emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}, scenario.Set{Path: "defaults.switch.marking.each", Value: "5"})
	if often < 2*sent || slow.Flows[0].Bytes*2 > r.Flows[0].Bytes {
		t.Errorf("%d CNPs and %d bytes where each fifth packet is marked, %d and %d where each fiftieth: they lower nothing",
			often, slow.Flows[0].Bytes, sent, r.Flows[0].Bytes)
	}
}
