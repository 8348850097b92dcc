package pace

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
		ts = unix.Timespec{} // there is no Linux without it
	}
	begin := ts.Nano()
	// time.Since reads the clock without a system call.
	return func() int64 { return begin + int64(time.Since(base)) }
}

// Suspended returns for how long the machine has been suspended since it was started: CLOCK_BOOTTIME counts that time,
// and CLOCK_MONOTONIC does not.
func Suspended() time.Duration {
	var with, without unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &with) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &without) != nil {
		return 0
	}
	return time.Duration(with.Nano() - without.Nano())
}
