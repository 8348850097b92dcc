package reactiontest

import (
	"testing"

	"fabemu/emu/study/limiters/loops"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
)

// Run tests the reaction points that new returns for a site. Points makes the congestion points
// whose notifications reach them. If points is nil, they receive ACKs, which echo marks. New is
// called many times.
func Run(t *testing.T, new func(site rp.Site) rp.Reaction, points func(site cp.Site) (cp.Notifier, error)) {
	t.Helper()
	s, err := loops.Of(new, points)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loops.All() {
		t.Run(l.Name, func(t *testing.T) {
			r, err := l.Measure(t.Context(), s)
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
