package emu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/process"

	"golang.org/x/sys/unix"
)

// When the conductor is killed, its processes end, and so does one that was stopped.
func TestModelConductorIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	binary, err := runtest.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := exec.Command(binary, "run", "--placement", "domain", "--dilation", "500", "--out", dir, "hpl2002/fig2")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	parts := func() (pids []int) {
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range names {
			line, _ := os.ReadFile(name)
			if strings.Contains(string(line), filepath.Join(dir, process.PartsDir)) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				pids = append(pids, pid)
			}
		}
		return pids
	}
	for begin := time.Now(); len(parts()) < 2 && time.Since(begin) < time.Minute; {
		time.Sleep(20 * time.Millisecond)
	}
	pids := parts()
	if len(pids) != 2 {
		t.Fatalf("%d processes run, want 2", len(pids))
	}
	// Orphans become children of this process, which is of the same session: otherwise the kernel
	// sends SIGHUP to those that are stopped.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	syscall.Kill(pids[0], syscall.SIGSTOP)
	defer func() {
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
			syscall.Wait4(pid, nil, 0, nil)
		}
	}()
	c.Process.Kill()
	c.Wait()
	for begin := time.Now(); len(parts()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("the processes %d are left", parts())
		}
	}
}
