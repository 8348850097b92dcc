package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// The memory of a process that has started another is that of both.
func TestMemoryCountsProcessesThatWereStarted(t *testing.T) {
	if alone := memory(os.Getpid()); alone < 1e6 {
		t.Errorf("this process takes %v bytes", alone)
	}
	c := exec.Command("sh", "-c", "sleep 600; true")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	}()
	// A shell that waits has the same pages all the time.
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		before, both, after := share(c.Process.Pid), memory(c.Process.Pid), share(c.Process.Pid)
		if before > 0 && before == after && both > before {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the shell takes %v bytes, it and what it has started %v", after, both)
		}
	}
}

func TestImpossibleMeasurementsAreRefused(t *testing.T) {
	for _, args := range [][3]string{{"/nonexistent", "5", "100"}, {"/bin/true", "many", "100"}, {"/bin/true", "5", "0"}, {"/bin/true", "5", "slow"}, {"/bin/false", "5", "1"}} {
		if err := measure(args[0], args[1], args[2]); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
