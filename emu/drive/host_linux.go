package drive

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns CLOCK_MONOTONIC in nanoseconds: all processes of a host read
// the same.
func Monotonic() func() int64 {
	var ts unix.Timespec
	base := time.Now()
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return monotonic() // there is no Linux without it
	}
	// time.Since reads the clock without a system call.
	return func() int64 { return ts.Nano() + int64(time.Since(base)) }
}

// shortenSlack has the sleeps of this thread end when they should: if it fails, they are
// 50 us longer.
func shortenSlack() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// raiseThread puts this thread into a class that runs as soon as it is woken, and returns
// the function that takes it back. Where that is not allowed it waits its turn, and the
// verdict shows it.
func raiseThread() (restore func()) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) != nil {
		return func() {}
	}
	return func() { unix.SchedSetAttr(0, before, 0) }
}
