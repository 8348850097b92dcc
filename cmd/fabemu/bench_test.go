package main

import (
	"fabemu/emu/emutest/runtest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// With this program its limiter's process ends, even where it is killed.
func TestKilledBenchLeavesNoProgram(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	dir := t.TempDir()
	c := exec.Command(binary, "bench", "limiter", "--patience", "1h", "--out", filepath.Join(dir, "out"), "--exec", "sh", "--", "-c", "echo $$ >pid.new; mv pid.new pid; exec sleep 4343")
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	runtest.Await(t, "the program is started", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	c.Process.Kill()
	c.Wait()
	runtest.Await(t, "the program ends", func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
}

// zombie reports whether a process has ended, and waits for whoever adopted it.
func zombie(pid int) bool {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}
