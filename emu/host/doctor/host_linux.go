package doctor

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// ownTime returns the processor time of this process, in ns.
func ownTime() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// openFiles returns how many files this process may have open, and how far it may raise
// that.
func openFiles() (now, most uint64, err error) {
	var files unix.Rlimit
	err = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	return files.Cur, files.Max, err
}

// namespaces makes a network namespace, and goes back to its own at once. The new
// one is gone when nobody is in it any more.
func namespaces() bool {
	made := make(chan bool)
	go func() {
		// A thread that could not get back must not be used for anything else: the
		// runtime ends it with the goroutine that is still locked to it.
		runtime.LockOSThread()
		home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			runtime.UnlockOSThread()
			made <- false
			return
		}
		defer unix.Close(home)
		err = unix.Unshare(unix.CLONE_NEWNET)
		if err != nil || unix.Setns(home, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		made <- err == nil
	}()
	return <-made
}
