package pace

import (
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Monotonic returns CLOCK_MONOTONIC in nanoseconds: all processes of a host read
// the same.
func Monotonic() func() int64 {
	base := time.Now()
	own := func() int64 { return int64(time.Since(base)) } // without a system call
	begin := ahead(own, func() int64 { return read(unix.CLOCK_MONOTONIC) })
	return func() int64 { return begin + own() }
}

// timeOfDayAhead returns how far the time of day is ahead of a clock that is as fast.
func timeOfDayAhead(clock func() int64) int64 {
	return ahead(clock, func() int64 { return read(unix.CLOCK_REALTIME) })
}

func read(clock int32) int64 {
	var ts unix.Timespec
	if unix.ClockGettime(clock, &ts) != nil {
		return 0 // there is no Linux without it
	}
	return ts.Nano()
}

// ahead returns how far the system's clock is ahead of a process's own clock. They are read in
// turns, and the turn that took least counts, because the process may be preempted between two
// readings.
func ahead(own, system func() int64) (ns int64) {
	least, before := int64(math.MaxInt64), own()
	for range 16 {
		now := system()
		after := own()
		if took := after - before; took < least {
			least, ns = took, now-before-took/2
		}
		before = after
	}
	return ns
}

// Suspended returns for how long the machine has been suspended since it was started:
// CLOCK_BOOTTIME counts that time, and CLOCK_MONOTONIC does not.
func Suspended() time.Duration {
	var with, without unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &with) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &without) != nil {
		return 0
	}
	return time.Duration(with.Nano() - without.Nano())
}

// schedstat is the file with a thread's times, as the system takes its name.
const schedstat = "/proc/thread-self/schedstat\x00"

// WaitedForCPU returns the number of this thread, and for how many ns the thread was ready to run
// while other threads ran: the run delay of the kernel's scheduler, without the time that a
// hypervisor takes. It is 0 where the kernel does not count it. A loop calls it often where the
// machine is busy, so it allocates nothing.
func WaitedForCPU() (thread int, ns int64) {
	thread = unix.Gettid()
	here := unix.AT_FDCWD
	fd, _, failed := unix.Syscall6(unix.SYS_OPENAT, uintptr(here), uintptr(unsafe.Pointer(unsafe.StringData(schedstat))),
		unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if failed != 0 {
		return thread, 0
	}
	var text [64]byte
	n, _ := unix.Read(int(fd), text[:])
	unix.Close(int(fd))
	for field, at := 0, 0; at < n && field < 2; at++ { // the time that it ran, the time that it waited
		switch c := text[at]; {
		case c < '0' || c > '9':
			field++
		case field == 1:
			ns = ns*10 + int64(c-'0')
		}
	}
	return thread, ns
}
