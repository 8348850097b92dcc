//go:build timing

package emu

import (
	"context"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
)

// A run that cannot keep its dilation puts several frames into a call.
func TestWallTrainsWhereTheLoopIsBehind(t *testing.T) {
	leafSpine := runtest.Load(t, runtest.Text(t, "ethernet/leaf-spine"), runtest.Sets(t, "model.duration=200us")...)
	for _, x := range []struct {
		name    string
		s       *scenario.Scenario
		carrier Carrier
	}{
		{"UDP", shortHPL(t, "400us"), UDP},
		{"Unix", shortHPL(t, "400us"), Unix},
		{"veth", shortHPL(t, "400us"), Veth},
		{"PFC over veth", leafSpine, Veth},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.carrier == Veth {
				needNamespaces(t)
			}
			x.s.Wall.Dilation = 1
			r, err := Run(context.Background(), x.s, Options{Link: x.carrier, Packing: Trains, Verify: VerifyOff})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict.Train < 1.5 {
				t.Errorf("%.2f frames in a call; %s", float64(r.Verdict.Train), r.Verdict.Reason)
			}
		})
	}
}
