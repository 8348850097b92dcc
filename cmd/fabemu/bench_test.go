package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// With this program its limiter's process ends, even where it is killed.
func TestKilledBenchLeavesNoProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := exec.Command(binary, "bench", "limiter", "--patience", "1h", "--out", filepath.Join(dir, "out"), "--exec", "sh", "--", "-c", "echo $$ >pid.new; mv pid.new pid; exec sleep 4343")
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for range 500 {
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		if pid, _ = strconv.Atoi(strings.TrimSpace(string(text))); pid > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if pid == 0 {
		t.Error("the program was not started")
	}
	c.Process.Kill()
	c.Wait()
	for range 500 {
		if pid == 0 || syscall.Kill(pid, 0) != nil || zombie(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d goes on", pid)
}

// zombie reports whether a process has ended, and waits for whoever adopted it.
func zombie(pid int) bool {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}
