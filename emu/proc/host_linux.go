package proc

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketPair returns the two ends of the talk with a part.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control"), nil
}

// OwnGroup has a process begin in a process group of its own: an interrupt from the
// terminal is for the conductor, which tells the parts to end.
func OwnGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// tieToParent has the kernel kill a process when the thread that starts it ends.
func tieToParent(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// keepThread has a goroutine keep its thread, whose sleeps then end when they should; if that fails, they
// are 50 us longer. If it is to come first, the thread is put into a class that runs as soon as it is
// woken. Where that is not allowed it waits its turn, and the verdict shows it.
func keepThread(first bool) (release func()) {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	before, err := unix.SchedGetAttr(0, 0)
	raised := first && err == nil &&
		unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) == nil
	return func() {
		if raised {
			unix.SchedSetAttr(0, before, 0)
		}
		runtime.UnlockOSThread()
	}
}

// runWhenIdle puts this thread into the class SCHED_IDLE.
func runWhenIdle() error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}

// eventBell is a bell of the kernel.
type eventBell int

// newBell returns a bell whose file descriptor is readable while it rings.
func newBell() (bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return eventBell(fd), err
}

func (e eventBell) Ring()        { unix.Write(int(e), []byte{0, 0, 0, 0, 0, 0, 0, 1}) } // not zero in either order of bytes
func (e eventBell) Quiet()       { var b [8]byte; unix.Read(int(e), b[:]) }
func (e eventBell) FD() int      { return int(e) }
func (e eventBell) Close() error { return unix.Close(int(e)) }
