//go:build !race

package emu

import (
	"context"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/process"
	"sync"
	"testing"
)

// With a process for each machine the process of the switch is killed, and another one
// started for it. The run goes on as if nothing else had happened.
func TestModelRestartOfAProcess(t *testing.T) {
	var mu sync.Mutex
	started := make(map[string][]int)
	s := runtest.Restarting(t, "9ms", "2ms", "wall.dilation=500")
	s.Events[0].Restart = 2_000_000_000 // 2 ms: a process takes its time to start
	o := Options{Placement: InProcesses, Sync: Late, test: process.Hooks{Started: func(part string, pid int) {
		mu.Lock()
		defer mu.Unlock()
		started[part] = append(started[part], pid)
	}}}
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
	if len(started["A"]) != 2 || len(started["B"]) != 1 {
		t.Errorf("processes of A %v, of B %v; want two and one", started["A"], started["B"])
	}
	if r.Partial || r.Verdict.LostDatagrams != 0 {
		t.Errorf("partial %v, %d datagrams lost", r.Partial, r.Verdict.LostDatagrams)
	}
	before, away, after := runtest.Over(t, r.Metrics, "trunk.A-B.rate", 0.5, 2), runtest.Over(t, r.Metrics, "trunk.A-B.rate", 2.5, 3.5), runtest.Over(t, r.Metrics, "trunk.A-B.rate", 6, 9)
	t.Logf("the trunk carried %.4g bytes per second before, %.4g while A was away, %.4g after", before, away, after)
	// On a busy computer late order costs the trunk most of its pace. A switch that
	// never came back would carry nothing.
	if before == 0 || away > before/10 || after < before/100 {
		t.Errorf("the trunk carried %.4g bytes per second before, %.4g while A was away, %.4g after", before, away, after)
	}
}
