package models_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
)

// lapsing is one flow over a switch, with a transport and one fault.
const lapsing = `
name: lapsing
model: {duration: 4ms, framing: wire}
defaults:
  link: {rate: 1Gb/s, propagation: 100ns%s}
  flow: {packet: 1024B%s}
%sswitches: {S: {forwarding-delay: 1us}}
endpoints: [A, C]
links:
  - {name: a, between: A - S}
  - {name: c, between: S - C}
flows: [{name: one, from: A, to: C}]
faults: [{link: a, from: A%s}]
`

const paused, outputs = ", flow-control: pause", "  switch: {kind: output-queued, memory: 200KB per port}\n"

// lapsed runs it, and returns the result and the packets that were delivered, by number.
func lapsed(t *testing.T, o emu.Options, link, flow, kind, fault string) (*emu.Result, []uint32) {
	t.Helper()
	var events bytes.Buffer
	o.Events, o.Digest = &events, true
	r, err := emu.Run(context.Background(), runtest.Load(t, fmt.Sprintf(lapsing, link, flow, kind, fault)), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Violations != 0 {
		t.Errorf("%s%s: %d violations: %+v", flow, fault, r.Verdict.Violations, r.Violations[0])
	}
	var came []uint32
	for line := range bytes.Lines(events.Bytes()) {
		var e struct {
			Event string
			PSN   uint32
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Event == "deliver" {
			came = append(came, e.PSN)
		}
	}
	return r, came
}

// outOfTurn counts the packets that are not the next ones.
func outOfTurn(came []uint32) (n int) {
	for i := range came[1:] {
		if came[i+1] != came[i]+1 {
			n++
		}
	}
	return n
}

// Receivers do what their transports say about packets that come twice, or behind later ones.
//
// Of a tenth of the packets a copy takes the link, too: with acknowledgements 10 of 11 packets are
// new, and TCP takes each byte once. Go-back-N takes each packet once and in order: it discards
// what comes ahead of its turn. A datagram counts as often as it comes.
func TestModelLapses(t *testing.T) {
	const repeat, overtake = ", repeat: 1, every: 10", ", overtake: 1, every: 50, after: 30us"
	virtual := emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}
	for _, x := range []struct {
		name, link, flow, kind string
		discards               bool // what is ahead of its turn
		streams                bool
	}{
		{"rocev2", paused, ", transport: rocev2", outputs, true, false},
		{"tcp", paused, ", transport: tcp", outputs, false, true},
		{"infiniband", "", ", window: 8, timeout: 200us", "", true, false},
		{"datagrams", paused, "", outputs, false, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			plain, _ := lapsed(t, virtual, x.link, x.flow, x.kind, ", delay: 1ns")
			base := runtest.Over(t, plain.Metrics, "one.rate", 1, 4)
			r, came := lapsed(t, virtual, x.link, x.flow, x.kind, repeat)
			share, turns := runtest.Over(t, r.Metrics, "one.rate", 1, 4)/base, outOfTurn(came)
			t.Logf("repeat: %.3f of the goodput, %d of %d packets out of turn, drops %v", share, turns, len(came), r.Drops)
			if want := map[bool]float64{true: 10.0 / 11, false: 1}[x.name != "datagrams"]; math.Abs(share/want-1) > 0.02 {
				t.Errorf("with copies %.3f of the goodput, want %.3f", share, want)
			}
			if once := x.name != "datagrams"; !x.streams && (once && turns > 0 || !once && turns < len(came)/20) {
				t.Errorf("with copies %d of %d packets out of turn", turns, len(came))
			}
			r, came = lapsed(t, virtual, x.link, x.flow, x.kind, overtake)
			share, turns = runtest.Over(t, r.Metrics, "one.rate", 1, 4)/base, outOfTurn(came)
			t.Logf("overtake: %.3f of the goodput, %d of %d packets out of turn, drops %v", share, turns, len(came), r.Drops)
			discarded := false
			for _, d := range r.Drops {
				discarded = discarded || d.Reason == "not-in-turn"
			}
			if discarded != x.discards || x.discards && turns > 0 {
				t.Errorf("overtaken: %d of %d out of turn, drops %v", turns, len(came), r.Drops)
			}
		})
	}
}

// Copies and overtaken frames are those of the seed, on both clocks, and of each direction.
func TestModelLapsesOfTheSeed(t *testing.T) {
	const fault = ", overtake: 0.05, after: 20us, jitter: 10us, burst: 2}, {link: c, repeat: 0.1"
	digests := map[string]bool{}
	for _, s := range []emu.Settings{{Clock: emu.VirtualClock}, {Clock: emu.VirtualClock, Codec: true}, {Clock: emu.WallClock, Link: emu.Pipe, Dilation: 100}} {
		r, _ := lapsed(t, emu.Options{Settings: s, Verify: emu.VerifyOff}, paused, ", transport: rocev2", outputs, fault)
		digests[r.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("%d different runs", len(digests))
	}
}
