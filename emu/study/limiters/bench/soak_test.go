//go:build soak

package bench_test

import (
	"testing"

	"fabemu/emu/study/limiters/bench"
)

// No right limiter is blamed in 100 runs on a machine that is busy.
func TestWallSoakBesideHogs(t *testing.T) {
	hogs(t)
	for run := range 100 {
		for _, new := range right {
			for _, c := range bench.RealCases() {
				unblamed(t, run, new, c)
			}
		}
	}
}
