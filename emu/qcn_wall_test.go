//go:build !race

package emu

import (
	"context"
	"testing"
	"time"

	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
)

// The claims of the scenarios of QCN, on the virtual clock in full. It says how long the
// hotspot took, seven million frame-hops; how long that may be is not a matter of tests.
func TestWallQCNClaims(t *testing.T) {
	for _, e := range scenarios.List() {
		if len(e.Name) < 4 || e.Name[:4] != "qcn/" {
			continue
		}
		t.Run(e.Name[4:], func(t *testing.T) {
			src, err := scenarios.Read(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := scenario.Load(e.Name+".yaml", src, nil)
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			r, err := Run(context.Background(), s, Options{Clock: VirtualClock, SkipCodec: true})
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(begin)
			t.Logf("%v of model time, %d frame-hops: %v", s.Model.Duration, r.Metrics.FrameHops(), took)
			if n := r.Verdict.Violations; n != 0 {
				t.Errorf("%d violations", n)
			}
			for i, c := range s.Expect {
				v := r.Metrics.Check(i)
				holds := v >= c.Low && v <= c.High
				if want := c.Expected == "holds"; holds != want {
					t.Errorf("%s is %v, of %v to %v: expected: %s", c.ID, v, c.Low, c.High, c.Expected)
				}
			}
		})
	}
}
