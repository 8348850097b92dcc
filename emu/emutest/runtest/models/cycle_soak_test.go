//go:build soak

package models_test

import "testing"

// As TestModelCyclesOfBuffers, with more fabrics. Some loads may not close a cycle that another one
// would.
func TestSoakCyclesOfBuffers(t *testing.T) {
	if cycles, standing := tangles(t, 2000); standing < cycles*9/10 {
		t.Errorf("%d fabrics have a cycle, and %d of these come to a standstill", cycles, standing)
	}
}
