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
