package pace

import (
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

// All processes of a host read the same, although the kernel may preempt each of them while it compares
// its own clock with that of the system.
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
