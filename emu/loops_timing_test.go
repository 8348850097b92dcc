//go:build timing

package emu

import (
	"context"
	"testing"

	"fabemu/emu/scenario"
)

// A run that cannot keep its dilation puts several frames into a call. With PFC over veth it may
// hold its clock after each frame instead: see Limitations in emu/run/drive.
func TestWallTrainsWhereTheLoopIsBehind(t *testing.T) {
	for _, x := range []struct {
		name    string
		s       *scenario.Scenario
		carrier Carrier
	}{
		{"UDP", shortHPL(t, "400us"), UDP},
		{"Unix", shortHPL(t, "400us"), Unix},
		{"veth", shortHPL(t, "400us"), Veth},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.carrier == Veth {
				needNamespaces(t)
			}
			x.s.Wall.Dilation = 1
			r, err := Run(context.Background(), x.s, Options{Settings: Settings{Link: x.carrier, Packing: Trains}, Verify: VerifyOff})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict.Train < 1.5 {
				t.Errorf("%.2f frames in a call; %s", float64(r.Verdict.Train), r.Verdict.Reason)
			}
		})
	}
}
