//go:build linux && !race

package emu

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"fabemu/emu/proc"
	"fabemu/emu/runtest"
)

// A process that is stopped is named while the run goes on, and in the verdict; the other one, which
// waits for it or not, never is. So it is with one that was started by hand.
func TestModelPartIsStopped(t *testing.T) {
	for i, c := range []struct {
		byHand bool
		sync   Sync
	}{{false, Late}, {true, Exact}, {false, Exact}} {
		byHand := c.byHand
		t.Run("by hand "+strconv.FormatBool(byHand)+" "+string(c.sync), func(t *testing.T) {
			var started processes
			dir := t.TempDir()
			s := runtest.Short(t, "hpl2002/fig2", "3ms", "wall.dilation=500", "wall.udp-port="+strconv.Itoa(23600+100*i))
			o := Options{Placement: InDomains, Directory: dir, Verify: VerifyOff, Sync: c.sync, test: proc.Hooks{Started: started.started}}
			var hand *exec.Cmd
			if byHand {
				o.ByHand = []string{"A"}
				o.Waiting = func([]*proc.File) {
					hand = exec.Command(os.Args[0], "switchd", filepath.Join(dir, proc.PartsDir, "A.json"), "--control-fd", "0")
					hand.Stderr = os.Stderr
					if err := hand.Start(); err != nil {
						t.Error(err)
						return
					}
					started.started("A", hand.Process.Pid)
				}
			}
			var stop, goOn sync.Once
			o.Progress = func(st Status) {
				if st.Now > s2ms/4 {
					stop.Do(func() { syscall.Kill(started.pid("A"), syscall.SIGSTOP) })
				}
				for _, x := range st.Silent {
					if x.Part != "A" {
						t.Errorf("%s, but it was not stopped", x)
					}
					goOn.Do(func() { syscall.Kill(started.pid("A"), syscall.SIGCONT) })
				}
			}
			r, err := Run(context.Background(), s, o)
			if err != nil {
				t.Fatal(err)
			}
			if hand != nil {
				if err := hand.Wait(); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
			if x := r.Verdict.Silent; len(x) != 1 || x[0].Part != "A" || x[0].Seconds < 1 {
				t.Errorf("the verdict names %+v", x)
			}
		})
	}
}
