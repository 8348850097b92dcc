package emu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/topo"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// halfRate is a limiter that keeps half of the rate that it is given.
type halfRate struct{ *node.InterPacketDelay }

func (l halfRate) SetRate(now unit.Time, r unit.Rate) { l.InterPacketDelay.SetRate(now, r/2) }

// Limiters and reaction points of the calling program are those of the flows for which
// it has some: on both clocks alike, and the result says so.
func TestSchemes(t *testing.T) {
	s := short(t, "hpl2002/fig2", "4ms", "wall.dilation=20")
	made := 0
	fixed := func(part int64) func(*topo.Flow, unit.Rate) rp.Controller {
		return func(f *topo.Flow, line unit.Rate) rp.Controller {
			if f.Group != "local" {
				return nil
			}
			made++
			c, err := rp.New(rp.Config{Law: "fixed", Max: line / unit.Rate(part), Ratio: 1, Length: 2068})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	local := func(o Options) float64 {
		t.Helper()
		r, err := Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		if own := o.Schemes.warning(); own != "" && !slices.Contains(r.Warnings, own) {
			t.Errorf("the warnings are %q, without %q", r.Warnings, own)
		}
		if r.Verdict.Verify == "differs" {
			t.Error("on the virtual clock it comes out otherwise")
		}
		var bytes int64
		for _, f := range r.Flows {
			if f.Group == "local" {
				bytes += f.Bytes
			}
		}
		return float64(bytes)
	}
	whole := local(Options{Clock: VirtualClock})
	if part := local(Options{Clock: VirtualClock, Schemes: Schemes{Controller: fixed(40)}}); part > whole/2 || made != 10 {
		t.Errorf("local flows at a fortieth of the rate bring %.0f bytes, and %.0f without; %d reaction points were made", part, whole, made)
	}
	halved := Schemes{
		Controller: fixed(20),
		Limiter: func(f *topo.Flow, line unit.Rate) node.RateLimiter {
			return halfRate{node.NewInterPacketDelay(line / 2)}
		},
	}
	virtual := local(Options{Clock: VirtualClock, Schemes: halved})
	if wall := local(Options{Clock: WallClock, Link: Pipe, Schemes: halved, Verify: VerifyOn}); wall != virtual || virtual > whole/2 {
		t.Errorf("half of a twentieth of the rate brings %.0f bytes on the wall clock, %.0f on the virtual clock, and %.0f without", wall, virtual, whole)
	}
	var mistake *Mistake
	if err := (Options{Placement: InProcesses, Schemes: halved}).Check(); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "schemes of the calling program") {
		t.Errorf("in processes: %v", err)
	}
}
