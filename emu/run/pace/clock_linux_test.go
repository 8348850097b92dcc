package pace

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A run follows CLOCK_MONOTONIC, which nobody can set, whatever becomes of the time of day.
func TestMonotonicIsTheClockOfTheKernel(t *testing.T) {
	kernel := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	// Go reads the same clock some ns before or after Monotonic does, for the difference between the two.
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
