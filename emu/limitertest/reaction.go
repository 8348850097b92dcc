package limitertest

import (
	"testing"

	"fabemu/emu/study/limiters/bench"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
)

// RunReaction tests the reaction points that new returns for a site, in loops with a bottleneck,
// on the virtual clock. Points makes the congestion points whose notifications reach them. If
// points is nil, they receive ACKs, which echo marks. New is called many times.
func RunReaction(t *testing.T, new func(site rp.Site) rp.Reaction, points func(site cp.Site) (cp.Notifier, error)) {
	t.Helper()
	for _, l := range bench.Loops() {
		t.Run(l.Name, func(t *testing.T) {
			r, err := bench.MeasureReaction(new, points, l)
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
