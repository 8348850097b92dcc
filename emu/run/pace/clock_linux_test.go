package pace

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A run follows CLOCK_MONOTONIC, which cannot be set, whatever happens to the time of day.
func TestMonotonicIsTheClockOfTheKernel(t *testing.T) {
	kernel := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	// The two clocks are compared within the time of two readings.
	slack := kernel()
	read := Monotonic()
	slack = kernel() - slack
	for range 1000 {
		before, got, after := kernel(), read(), kernel()
		if got < before-slack || got > after+slack {
			t.Fatalf("%v is not between %v and %v, give or take %v", time.Duration(got), time.Duration(before), time.Duration(after), time.Duration(slack))
		}
	}
}

// All processes of a host read the same, although the kernel may preempt each of them while it
// compares its own clock with that of the system.
func TestAPreemptedProcessHasTheSameClock(t *testing.T) {
	const offset, reading = 5_000_000_000, 100
	for preempted := range 40 { // after that many readings, for 18 us
		var now int64
		n := 0
		tick := func() int64 {
			at := now + reading/2
			if now += reading; n == preempted {
				now += 18_000
			}
			n++
			return at
		}
		if got := ahead(tick, func() int64 { return offset + tick() }); got < offset-reading || got > offset+reading {
			t.Errorf("preempted after reading %d: %d ns ahead, want %d", preempted, got, int64(offset))
		}
	}
}

// The kernel counts how long a thread waits for a processor that another one has.
func TestWaitedForCPU(t *testing.T) {
	if _, err := os.Stat("/proc/thread-self/schedstat"); err != nil {
		t.Skip("this kernel does not count it: ", err)
	}
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	one := unix.CPUSet{}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	waits := make(chan int64)
	for range 2 {
		go func() {
			runtime.LockOSThread() // the thread, which stays on one processor, ends with the goroutine
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				t.Error(err)
			}
			thread, before := WaitedForCPU()
			for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
			}
			again, after := WaitedForCPU()
			if thread != again {
				t.Errorf("thread %d, and then %d", thread, again)
			}
			waits <- after - before
		}()
	}
	if waited := <-waits + <-waits; waited < int64(50*time.Millisecond) {
		t.Errorf("two threads on one processor waited for %v in 0.1 s", time.Duration(waited))
	}
}
