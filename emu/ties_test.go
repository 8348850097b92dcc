//go:build !race

package emu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
)

// The tie rule is part of the model: with another one the log is another. But it
// decides nothing that a reader of the figures would see.
func TestFiguresStandWithAnotherTieRule(t *testing.T) {
	expressions := []string{"root.B-BC.utilisation", "trunk.A-B.utilisation", "victim.utilisation", "local.utilisation", "remote.utilisation"}
	for _, name := range []string{"hpl2002/fig2", "hpl2002/fig3a", "hpl2002/fig3b", "hpl2002/fig3d"} {
		digests := map[string]bool{}
		var first []float64
		const rules = 3
		for seed := range uint64(rules) {
			s, err := Open(name, scenario.Set{Path: "model.duration", Value: "60ms"})
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Clock: VirtualClock, Digest: true}
			if seed > 0 {
				o.test.Ties = rand.New(rand.NewPCG(seed, 2)).Perm(len(s.Switches) + len(s.Endpoints))
			}
			r, err := Run(context.Background(), s, o)
			if err != nil {
				t.Fatal(err)
			}
			digests[r.Digest] = true
			got := make([]float64, len(expressions))
			for i, e := range expressions {
				got[i] = runtest.Over(t, r.Metrics, e, 42, 60)
			}
			if first == nil {
				first = got
			}
			for i := range got {
				// Twice the spread over seeds that the paper's scenario has is the most that
				// two runs may differ by: 2.4 points for rates in 3(d).
				if math.Abs(got[i]-first[i]) > 0.024 {
					t.Errorf("%s, rule %d: %s is %.4f, and %.4f with the rule of the model", name, seed, expressions[i], got[i], first[i])
				}
			}
		}
		if len(digests) != rules {
			t.Errorf("%s: %d different logs from %d rules", name, len(digests), rules)
		}
	}
}
