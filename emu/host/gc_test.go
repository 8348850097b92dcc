package host

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// percent returns that of the garbage collector.
func percent() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// The first collection comes late. With it, or with the release, all is as usual.
func TestLateGC(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	release := LateGC()
	if p := percent(); p <= 100 {
		t.Errorf("the collector goes by %d %%", p)
	}
	release()
	if p := percent(); p != 100 {
		t.Errorf("released, it goes by %d %%", p)
	}

	release = LateGC()
	for deadline := time.Now().Add(time.Minute); percent() != 100; runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatalf("after a collection it goes by %d %%", percent())
		}
	}
	debug.SetGCPercent(50)
	release()
	if p := percent(); p != 50 {
		t.Errorf("a release that comes after that makes it %d %%", p)
	}
	LateGC()()
	if p := percent(); p != 50 {
		t.Errorf("what the user has chosen becomes %d %%", p)
	}
}
