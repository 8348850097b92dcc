package limitertest

import (
	"testing"

	"fabemu/emu/study/bench"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
)

// RunController tests the reaction points that new returns, each where it is told: in loops
// with a bottleneck, on the virtual clock. Points makes the congestion points whose
// notifications they hear; nil: they hear ACKs, which echo marks. New is called many times.
func RunController(t *testing.T, new func(site rp.Site) rp.Controller, points func(site cp.Site) (cp.Notifier, error)) {
	t.Helper()
	for _, l := range bench.Loops() {
		t.Run(l.Name, func(t *testing.T) {
			r, err := bench.MeasureController(new, points, l)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			for _, f := range r.Faults {
				t.Errorf("%s\n%v", l.Doc, f)
			}
		})
	}
}
