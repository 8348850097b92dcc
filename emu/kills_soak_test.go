//go:build soak && linux

package emu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
)

// However parts of runs are killed and stopped, nothing is left, and no verdict is better than the
// run: FABEMU_KILLS runs (200), from seed FABEMU_SEED on, of all placements, links and orders. In
// each a part that the seed draws is killed, stopped for a while, or killed while it is stopped.
func TestModelKillsAndStops(t *testing.T) {
	number := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
		if err != nil {
			return otherwise
		}
		return n
	}
	runs, first := number("FABEMU_KILLS", 200), number("FABEMU_SEED", uint64(time.Now().UnixNano()/1000))
	virtual, err := Run(context.Background(), killed(t, 1), Options{Settings: Settings{Clock: VirtualClock}, Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	came := map[string]int{}
	for seed := first; seed < first+runs && !t.Failed(); seed++ {
		came[killsAndStops(t, seed, virtual.Digest)]++
	}
	t.Logf("%d runs from seed %d on: %v", runs, first, came)
}

// killed returns the scenario of these runs.
func killed(t *testing.T, dilation int) *scenario.Scenario {
	sets := runtest.Sets(t, "model.duration=1ms", "flows.victim.start=100us", fmt.Sprint("wall.dilation=", dilation))
	return runtest.Load(t, runtest.Text(t, "hpl2002/fig2"), sets...)
}

// killsAndStops is one of these runs, and returns what has become of it.
func killsAndStops(t *testing.T, seed uint64, virtual string) string {
	r := rand.New(rand.NewPCG(seed, 0))
	draw := func(n int) int { return r.IntN(n) }
	dilation := []int{20, 100, 500, 1500}[draw(4)]
	s := killed(t, dilation)
	var started processes
	o := Options{
		Settings:  Settings{Placement: []Placement{InProcesses, InDomains}[draw(2)]},
		Directory: t.TempDir(), Verify: VerifyOff, Digest: true, test: process.Hooks{Started: started.started},
	}
	if draw(4) == 0 && netns.Missing() == nil {
		o.Link = Veth
	}
	kills, stops := draw(3) != 0, draw(2) == 0
	delay, away := time.Duration(draw(2_000_000))*time.Microsecond, time.Duration(draw(1_500_000))*time.Microsecond
	if draw(2) == 0 { // in the run, and not while its parts are started
		delay /= 10
	}
	pick := r.Uint64()
	what := fmt.Sprintf("seed %d: %s, %s, dilation %d: kill %v, stop %v for %v after %v", seed, o.Placement, o.Link, dilation, kills, stops, away, delay)

	over, hit, victim := make(chan struct{}), false, ""
	var wait sync.WaitGroup
	wait.Go(func() {
		for len(started.parts()) == 0 {
			time.Sleep(time.Millisecond)
		}
		select {
		case <-over:
			return
		case <-time.After(delay):
		}
		parts := started.parts()
		victim = parts[pick%uint64(len(parts))]
		pid := started.pid(victim)
		if stops {
			hit = syscall.Kill(pid, syscall.SIGSTOP) == nil
			time.Sleep(away)
			defer syscall.Kill(pid, syscall.SIGCONT)
		}
		if kills {
			hit = syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	result, err := Run(ctx, s, o)
	close(over)
	wait.Wait()
	came := "finished"
	var died *process.Died
	switch v := new(report.Verdict); {
	case ctx.Err() != nil:
		t.Errorf("%s: it does not end", what)
	case errors.As(err, &died):
		came = "died"
		if !hit || !kills || died.Part != victim {
			t.Errorf("%s: %s was hit: %v", what, victim, err)
		}
	case err != nil:
		t.Errorf("%s: %v", what, err)
	default:
		v = &result.Verdict
		if result.Digest != virtual || v.LostDatagrams != 0 || result.Partial {
			t.Errorf("%s: %s: %s; digest %s, want %s", what, v.Level, v.Reason, result.Digest, virtual)
		}
		if stops && hit && len(v.Silent) == 0 && away > 1300*time.Millisecond && v.Level == report.Exact {
			t.Errorf("%s: %s: %s; %s was stopped", what, v.Level, v.Reason, victim)
		}
		came += ", " + string(v.Level)
	}
	started.wantGone(t)
	for _, left := range leftBehind(o.Directory) {
		t.Errorf("%s: left: %s", what, left)
	}
	if netns.Missing() == nil {
		for _, left := range ofThisProcess(t) {
			t.Errorf("%s: left: %s", what, left)
		}
	}
	return came
}

// parts returns the names of those that were started.
func (p *processes) parts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.id))
}

// leftBehind returns the sockets of a run that are left, and its memory.
func leftBehind(dir string) []string {
	list, _ := filepath.Glob(filepath.Join(dir, process.PartsDir, "*.sock"))
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "fabemu-board") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.Contains(to, "fabemu-board") {
			list = append(list, file+": "+to)
		}
	}
	return list
}
