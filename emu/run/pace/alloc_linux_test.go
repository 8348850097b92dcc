//go:build timing

package pace

import "testing"

func TestWaitedForCPUAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { WaitedForCPU() }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}
