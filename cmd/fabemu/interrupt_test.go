package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/result/report"
)

// The second interrupt ends the program at once, whatever it is doing: here it cannot
// finish, because its output is not read.
func TestSecondInterrupt(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	const setPipeSize = 1031 // F_SETPIPE_SZ, fcntl(2)
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), setPipeSize, 4096); errno != 0 {
		t.Fatal(errno)
	}
	out := filepath.Join(t.TempDir(), "out")
	c := exec.Command(binary, "run", "--json", "--events", "--dilation", "200", "--out", out, "hpl2002/fig3b")
	c.Stdout = w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	within := func(limit time.Duration, what string, done func() bool) {
		for begin := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > limit {
				c.Process.Kill()
				t.Fatal(what)
			}
		}
	}
	within(time.Minute, "the run has not begun", func() bool {
		info, err := os.Stat(filepath.Join(out, report.EventsFile))
		return err == nil && info.Size() > 0
	})
	c.Process.Signal(os.Interrupt)
	within(time.Minute, "the first interrupt has not ended the run", func() bool {
		_, err := os.Stat(filepath.Join(out, report.ResultFile))
		return err == nil
	})
	time.Sleep(2 * sameAgain) // an interrupt that comes sooner is taken for the same
	select {
	case err := <-ended:
		t.Fatalf("it has ended with %v after one interrupt, although its output was not read", err)
	default:
	}
	c.Process.Signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		c.Process.Kill()
		t.Fatal("it goes on after the second interrupt")
	}
}
