package host

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fabemu/emu/base/errs"
)

// All threads get the priority, and those that start later. A priority that is not permitted is
// refused. This happens in another process, since not everyone may raise the priority of this one
// again.
func TestSetPriority(t *testing.T) {
	const child = "FABEMU_TEST_PRIORITY"
	if os.Getenv(child) == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestSetPriority$", "-test.v")
		c.Env = append(os.Environ(), child+"=1")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for _, nice := range []int{-21, 20} {
		if err := SetPriority(nice); !errors.As(err, new(*errs.Mistake)) {
			t.Errorf("%d: %v", nice, err)
		}
	}
	release := make(chan struct{})
	defer close(release)
	thread := func() {
		started := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(started)
			<-release
		}()
		<-started
	}
	thread()
	if err := SetPriority(17); err != nil {
		t.Fatal(err)
	}
	thread()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) < 3 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, x := range threads {
		id, err := strconv.Atoi(x.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unix.Getpriority(unix.PRIO_PROCESS, id); err != nil || 20-got != 17 {
			t.Errorf("thread %d has nice value %d, %v", id, 20-got, err)
		}
	}
	if out, err := exec.Command("nice").Output(); err != nil || strings.TrimSpace(string(out)) != "17" {
		t.Errorf("a process that is started has nice value %s, %v", out, err)
	}

	runtime.LockOSThread() // capabilities belong to a thread
	if err := unix.Setrlimit(unix.RLIMIT_NICE, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		t.Fatal(err)
	}
	if err := SetPriority(16); !errors.As(err, new(*errs.Mistake)) || !strings.Contains(err.Error(), "with a limit of at least 4 (ulimit -e)") {
		t.Errorf("%v", err)
	}
}
