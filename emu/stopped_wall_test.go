//go:build linux

package emu

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
)

// A process that is stopped is named while the run runs, and in the verdict; the other one, which
// waits for it, never is. So it is with one that was started by hand.
func TestModelPartIsStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for i, byHand := range []bool{false, true} {
		t.Run("by hand "+strconv.FormatBool(byHand), func(t *testing.T) {
			var started processes
			dir := t.TempDir()
			s := runtest.Short(t, "hpl2002/fig2", "3ms", "wall.dilation=500", "wall.udp-port="+strconv.Itoa(23600+100*i))
			o := Options{Settings: Settings{Placement: InDomains}, Directory: dir, Verify: VerifyOff, test: process.Hooks{Started: started.started}}
			var hand *exec.Cmd
			if byHand {
				o.ByHand = []string{"A"}
				o.Waiting = func([]*process.File) {
					hand = exec.Command(os.Args[0], "switchd", filepath.Join(dir, process.PartsDir, "A.json"), "--control-fd", "0")
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

// The result of a run that is interrupted names the ranks that wait, with one loop and several, on
// both clocks and from processes. Rank 2 takes no part in it.
func TestModelRanksOfAnInterruptedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	goal := filepath.Join(t.TempDir(), "job.goal")
	program := "num_ranks 3\nrank 0 { recv 8b from 1 tag 7 }\nrank 1 {\n l: recv 8b from 0 tag 5\n m: send 8b to 0 tag 7\n m requires l\n}\nrank 2 { calc 5 }\n"
	if err := os.WriteFile(goal, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	s := runtest.Load(t, `name: job
model: {duration: 1000s}
wall: {dilation: 50, udp-port: 24100}
defaults: {link: {rate: 10Gb/s}}
switches: {S: {}}
endpoints: ["h[1-3]"]
links: ["h[1-3] - S"]
workload: [{name: sum, over: "h[1-3]", goal: "`+goal+`"}]
`)
	for name, o := range map[string]Options{
		"virtual":   {Settings: Settings{Clock: VirtualClock, Loops: 1}},
		"loops":     {Settings: Settings{Clock: VirtualClock, Loops: 2}},
		"wall":      {},
		"processes": {Settings: Settings{Placement: InDomains}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			o.Verify, o.Sink = VerifyOff, &after{left: 30, end: cancel}
			r, err := Run(ctx, s, o)
			if err != nil {
				t.Fatal(err)
			}
			want := []report.RankWait{
				{Workload: "sum", Rank: 0, Endpoint: "h1", Reason: "no-message", For: 1, ForAt: "h2", Tag: 7, File: "job.goal", Line: 2},
				{Workload: "sum", Rank: 1, Endpoint: "h2", Reason: "no-message", For: 0, ForAt: "h1", Tag: 5, File: "job.goal", Line: 4},
			}
			if !r.Partial || !slices.Equal(r.RankWaits, want) {
				t.Errorf("partial %v, %+v\nwant %+v", r.Partial, r.RankWaits, want)
			}
		})
	}
}
