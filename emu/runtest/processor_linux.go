package runtest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime returns what processors have spent on this process, to the nanosecond: how long work
// takes where others have the processor too. What the collector does beside the work is in it.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var spent unix.Timespec // getrusage(2) counts ticks
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &spent); err != nil {
		t.Fatal(err)
	}
	return time.Duration(spent.Nano())
}
