//go:build soak

package models_test

import "testing"

// As TestModelCyclesOfBuffers, with more fabrics.
func TestSoakCyclesOfBuffers(t *testing.T) {
	for name, of := range map[string]func(seed uint64) string{"PFC": tangle, "lanes": tangleOfLanes} {
		if cycles, standing := tangles(t, of, 2000); standing < cycles {
			t.Errorf("%s: %d fabrics have a cycle, and %d of these come to a standstill", name, cycles, standing)
		}
	}
}
