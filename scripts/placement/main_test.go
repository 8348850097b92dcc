package main

import (
	"os"
	"os/exec"
	"testing"
)

// The memory of a process that has started another is that of both.
func TestMemoryCountsProcessesThatWereStarted(t *testing.T) {
	alone := memory(os.Getpid())
	if alone < 1e6 {
		t.Errorf("this process takes %v bytes", alone)
	}
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	if child := share(c.Process.Pid); child <= 0 {
		t.Errorf("a process that was started takes %v bytes", child)
	}
	if both := memory(os.Getpid()); both <= share(os.Getpid()) {
		t.Errorf("both take %v bytes, this process alone %v", both, share(os.Getpid()))
	}
}

func TestImpossibleMeasurementsAreRefused(t *testing.T) {
	for _, args := range [][3]string{{"/nonexistent", "5", "100"}, {"/bin/true", "many", "100"}, {"/bin/true", "5", "0"}, {"/bin/true", "5", "slow"}, {"/bin/false", "5", "1"}} {
		if err := measure(args[0], args[1], args[2]); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
