package models_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
)

// A flow whose packets come one by one asks for credit when one comes and it has none: all that is
// offered arrives, with requests and credit that are lost, too.
func TestModelCreditOfOfferedLoad(t *testing.T) {
	const text = `
name: offered
model: {duration: 1ms, seed: 1}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: 1MB per port}
  flow: {packet: 4096B, transport: uet, control: {algorithm: ALGORITHM}}
switches: {S: {}}
endpoints: [a, b]
links: ["a - S", "S - b"]
flows: [{name: f, from: a, to: b, traffic: constant, load: LOAD}]
`
	for _, algorithm := range []string{"rccc", "nscc-rccc"} {
		for _, load := range []float64{0.001, 0.01, 0.5} {
			for _, lossy := range []bool{false, true} {
				name := fmt.Sprintf("%s at %v, loss %v", algorithm, load, lossy)
				text := strings.NewReplacer("ALGORITHM", algorithm, "LOAD", fmt.Sprint(load)).Replace(text)
				if lossy {
					text += "faults: [{link: a - S, loss: 0.3, frames: uet-control}]\n"
				}
				r, err := emu.Run(context.Background(), runtest.Load(t, text), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
				if err != nil {
					t.Fatal(err)
				}
				if got := float64(r.Flows[0].Rate) / 12.5e9; got < 0.9*load || got > 1.1*load {
					t.Errorf("%s: it delivers %.4f of the link", name, got)
				}
			}
		}
	}
}

// A destination whose last packet asks for more credit, as one that was trimmed and sent again
// does, takes no more turns: the others go on, and all messages end.
func TestModelCreditAfterTheEnd(t *testing.T) {
	const text = `
name: ends
model: {duration: 3ms, seed: 1}
routing: ecmp
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: 20MB, sharing: pooled, output-limit: 60KB, trim: 64B, marking: {scheme: ecn, min: 22KB, max: 90KB, max-p: 1}}
  flow: {packet: 2048B, priority: 3, transport: {kind: uet, spray: mixed, ack-dscp: 48}, control: {algorithm: rccc, oversubscription: 4}}
switches: {"leaf[1-2]": {}, "spine[1-2]": {}}
endpoints: ["h[1-16]"]
links: ["h[1-16] - leaf[1-2]", "leaf[1-2] x spine[1-2]"]
workload: [{name: all, over: "h[1-16]", size: hadoop, load: 0.25, warm-up: 0s, drain: 2500us}]
`
	for seed := range 3 {
		s := runtest.Load(t, strings.Replace(text, "seed: 1", fmt.Sprintf("seed: %d", seed+1), 1))
		r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if err != nil {
			t.Fatal(err)
		}
		if w := &r.Workloads[0]; w.Transfers == 0 || w.Open > 0 {
			t.Errorf("seed %d: %d messages ended, %d did not", seed+1, w.Transfers, w.Open)
		}
	}
}
