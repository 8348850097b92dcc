package runtest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime returns the processor time of this process, to the nanosecond: a measure of work that
// holds while others have the processor too. The work of the garbage collector is in it.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var spent unix.Timespec // getrusage(2) counts ticks
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &spent); err != nil {
		t.Fatal(err)
	}
	return time.Duration(spent.Nano())
}
