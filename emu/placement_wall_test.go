package emu

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/result/report"
	"fabemu/emu/run/process"

	"fabemu/emu/emutest/runtest"
)

// processes is a list of those that a run has started.
type processes struct {
	mu sync.Mutex
	id map[string]int
}

func (p *processes) started(part string, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id == nil {
		p.id = make(map[string]int)
	}
	p.id[part] = pid
}

func (p *processes) pid(part string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id[part]
}

// wantGone checks that none of them is left within a minute after the run.
func (p *processes) wantGone(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.id) == 0 {
		t.Error("no process was started")
	}
	for part, pid := range p.id {
		for begin := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Errorf("the process of %s, %d, is still there", part, pid)
				break
			}
		}
	}
}

// frames returns how many data frames a link has carried.
func frames(t *testing.T, r *Result, name string) int64 {
	t.Helper()
	for _, l := range r.Links {
		if l.Name == name {
			return l.Frames
		}
	}
	t.Fatalf("there is no link %s", name)
	return 0
}

// A process that is killed ends the run with an error that names it. What was
// measured until then is kept.
func TestModelPartIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	var started processes
	s := runtest.Short(t, "hpl2002/fig2", "40ms", "wall.dilation=500")
	o := Options{Settings: Settings{Placement: InDomains}, Directory: t.TempDir(), test: process.Hooks{Started: started.started}}
	var once sync.Once
	o.Progress = func(st Status) {
		if st.Now > s2ms {
			once.Do(func() { syscall.Kill(started.pid("A"), syscall.SIGKILL) })
		}
	}
	r, err := Run(context.Background(), s, o)
	var died *process.Died
	if !errors.As(err, &died) || died.Part != "A" || !strings.Contains(died.State, "killed") {
		t.Fatalf("error %v", err)
	}
	if r == nil || !r.Partial || frames(t, r, "root.B-BC") == 0 {
		t.Errorf("the result %+v", r)
	}
	started.wantGone(t)
}

const s2ms = 2_000_000_000 // 2 ms of model time

// Who ends a run ends its processes too, and has a partial result.
func TestModelPlacementIsInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	var started processes
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := runtest.Short(t, "hpl2002/fig2", "40ms", "wall.dilation=500")
	o := Options{Settings: Settings{Placement: InDomains}, test: process.Hooks{Started: started.started}}
	o.Progress = func(st Status) {
		if st.Now > s2ms {
			cancel()
		}
	}
	r, err := Run(ctx, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial || frames(t, r, "root.B-BC") == 0 || !r.Verdict.Pace.LatenessUs.P50.Known() {
		t.Errorf("the result is not partial, or empty: %+v", r.Verdict)
	}
	started.wantGone(t)
}

// statusOf asks a part how it is.
func statusOf(t *testing.T, socket string) (st process.Status) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Error(err)
		return st
	}
	defer c.Close()
	if err := json.NewDecoder(c).Decode(&st); err != nil {
		t.Error(err)
	}
	return st
}

// A part that is started by hand joins the run, and says how it is.
func TestModelPartByHand(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	dir := t.TempDir()
	s := runtest.Short(t, "hpl2002/fig2", "3ms", "wall.dilation=500", "wall.udp-port=23500")
	served := make(chan error, 1)
	status := make(chan process.Status, 1)
	o := Options{Settings: Settings{Placement: InDomains}, Directory: dir, ByHand: []string{"A"}}
	o.Waiting = func(files []*process.File) {
		if len(files) != 1 || files[0].Part != "A" {
			t.Errorf("it waits for %v", files)
		}
		go func() {
			served <- process.Serve(context.Background(), filepath.Join(dir, process.PartsDir, "A.json"), 0, "devel")
		}()
	}
	var once sync.Once
	o.Progress = func(st Status) {
		if st.Now > 0 {
			once.Do(func() { status <- statusOf(t, filepath.Join(dir, process.PartsDir, "A.sock")) })
		}
	}
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	select {
	case st := <-status:
		if st.Part != "A" || st.State != "running" || st.NowPs == 0 || st.Events == 0 || st.PID != os.Getpid() || len(st.Nodes) != 12 {
			t.Errorf("its status was %+v", st)
		}
	default:
		t.Error("the run made no progress")
	}
	if frames(t, r, "root.B-BC") == 0 || r.Verdict.Level == report.Void {
		t.Errorf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
	}
}
