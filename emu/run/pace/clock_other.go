//go:build !linux

package pace

import "time"

// Monotonic returns a clock of this process, in nanoseconds: others have their own here.
func Monotonic() func() int64 {
	base := time.Now()
	return func() int64 { return int64(time.Since(base)) }
}

// timeOfDayAhead returns how far the time of day is ahead of a clock.
func timeOfDayAhead(clock func() int64) int64 { return time.Now().UnixNano() - clock() }

// Suspended returns 0: whether the machine was suspended is not known here.
func Suspended() time.Duration { return 0 }

// WaitedForCPU returns 0: for how long a thread waited for a processor is not known here.
func WaitedForCPU() (thread int, ns int64) { return 0, 0 }
