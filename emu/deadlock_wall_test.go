package emu

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/process"

	"github.com/google/go-cmp/cmp"
)

// Deadlock is found over processes as in one, the same cycle, and the run ends where
// nothing else can happen. Each node has reported what it does on the virtual clock.
func TestModelDeadlockOverProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const name = "ethernet/ring-deadlock"
	virtual, err := Run(context.Background(), runtest.Load(t, runtest.Text(t, name)), Options{Settings: Settings{Clock: VirtualClock}, Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(virtual.Deadlocks) != 1 || virtual.EndedPs == 0 || !virtual.Deadlocked {
		t.Fatalf("on the virtual clock: %+v, ended at %d", virtual.Deadlocks, virtual.EndedPs)
	}
	for i, c := range []struct {
		placement Placement
		byHand    []string
	}{{InProcesses, nil}, {InDomains, []string{"B"}}} {
		t.Run(string(c.placement)+" "+strconv.Itoa(len(c.byHand))+" by hand", func(t *testing.T) {
			dir := t.TempDir()
			// A busy machine stops a process for some 100 ms: as long as no frame is lost, the
			// deadlock comes.
			s := runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, "wall.dilation=500", "wall.udp-port="+strconv.Itoa(24000+100*i), "wall.socket-buffer=2MiB")...)
			served := make(chan error, 1)
			o := Options{Settings: Settings{Placement: c.placement}, Directory: dir, ByHand: c.byHand, Verify: VerifyOff}
			o.Waiting = func([]*process.File) {
				go func() {
					served <- process.Serve(context.Background(), filepath.Join(dir, process.PartsDir, "B.json"), 0, "devel")
				}()
			}
			r, err := Run(context.Background(), s, o)
			if err != nil {
				t.Fatal(err)
			}
			if c.byHand != nil {
				if err := <-served; err != nil {
					t.Error(err)
				}
			}
			t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
			if diff := cmp.Diff(virtual.Deadlocks, r.Deadlocks); diff != "" {
				t.Fatal(diff)
			}
			if r.Digest != virtual.Digest || r.EndedPs != virtual.EndedPs || !r.Deadlocked || r.Partial || r.Verdict.LostDatagrams != 0 {
				t.Errorf("the digest is %s, want %s; ended at %d, want %d; partial %v, %d datagrams lost", r.Digest, virtual.Digest, r.EndedPs, virtual.EndedPs, r.Partial, r.Verdict.LostDatagrams)
			}
		})
	}
}
