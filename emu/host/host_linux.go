package host

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fabemu/emu/base/errs"
	"fabemu/wire/unit"
)

// SetPriority gives this process a nice value from -20, the highest priority, to 19. Threads and
// processes that it starts later inherit the value. Another value, or one that this process may not
// have, is an *errs.Mistake.
func SetPriority(nice int) error {
	if nice < -20 || nice > 19 {
		return errs.Errorf("priority %d: expected a nice value from -20 (highest priority) to 19", nice)
	}
	for changed := true; changed; { // each thread has its own value, and a thread may start another one meanwhile
		changed = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("priority %d: %w", nice, err)
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			if now, err := unix.Getpriority(unix.PRIO_PROCESS, id); err != nil || now == 20-nice { // the system call returns 20 - nice
				continue
			}
			switch err := unix.Setpriority(unix.PRIO_PROCESS, id, nice); {
			case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
				return errs.Errorf("priority %d: this process may not raise its priority: run as root, with CAP_SYS_NICE, or with a limit of at least %d (ulimit -e)", nice, 20-nice)
			case err == nil:
				changed = true
			case !errors.Is(err, unix.ESRCH):
				return fmt.Errorf("priority %d: %w", nice, err)
			}
		}
	}
	return nil
}

// AddressRoom returns how much more memory this process may map, if that is limited (ulimit -v).
func AddressRoom() (free unit.Size, limited bool) {
	var most unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &most) != nil || most.Cur > math.MaxInt64 {
		return 0, false
	}
	var pages int64
	b, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(b), &pages)
	}
	return unit.Size(int64(most.Cur) - pages*int64(os.Getpagesize())), err == nil
}

// GiveWay gives this thread's processor to another thread that waits for it, for a moment. It
// returns at once if none waits.
func GiveWay() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// OwnCPU returns the seconds of processor time that this process has used.
func OwnCPU() float64 { return usedBy(syscall.RUSAGE_SELF) }

// childrenCPU returns the seconds that its children have used which have ended.
func childrenCPU() float64 { return usedBy(syscall.RUSAGE_CHILDREN) }

func usedBy(who int) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}

// Duplicate returns a copy of a file descriptor, to be handed over.
func Duplicate(fd int) (*os.File, error) {
	c, err := syscall.Dup(fd)
	if err != nil {
		return nil, fmt.Errorf("hand over a socket: %w", err)
	}
	return os.NewFile(uintptr(c), "socket"), nil
}

// LimitSilence limits how long the kernel of the other host may leave bytes unacknowledged.
// Without a limit, this kernel tries for a quarter of an hour.
func LimitSilence(c *net.TCPConn, most time.Duration) {
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(most.Milliseconds()))
		})
	}
}

// OwnGroup makes a process start in a new process group, so that an interrupt from the
// terminal reaches this process only, which then ends the other.
func OwnGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// tieToParent has the kernel kill a process when the thread that starts it ends.
func tieToParent(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// PassCredentials has the kernel add its sender's process and user to each datagram that a socket
// receives.
func PassCredentials(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	return errors.Join(failed, err)
}

// ReadCredentials reads a datagram from a socket after PassCredentials. The user is -1 if the
// kernel does not say.
func ReadCredentials(c *net.UnixConn, b []byte) (n int, from *net.UnixAddr, pid, user int, err error) {
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	n, k, _, from, err := c.ReadMsgUnix(b, oob)
	user = -1
	if all, _ := unix.ParseSocketControlMessage(oob[:max(k, 0)]); len(all) == 1 {
		if cred, err := unix.ParseUnixCredentials(&all[0]); err == nil {
			pid, user = int(cred.Pid), int(cred.Uid)
		}
	}
	return n, from, pid, user, err
}

// Gone reports whether a process has ended, whether or not its parent knows.
func Gone(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH || stateOf(pid) == 'Z' }

// Peer returns the process that listens at the other end of a socket of the file system; 0: it is
// unknown.
func Peer(c net.Conn) (pid int) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// Stopped reports whether a process is stopped, by a signal or a debugger, so that it answers
// nothing.
func Stopped(pid int) bool { state := stateOf(pid); return state == 'T' || state == 't' }

// stateOf returns the state of a process, a letter of proc(5); 0 if there is no such process.
func stateOf(pid int) byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 && i+2 < len(stat) {
		return stat[i+2]
	}
	return 0
}

// InGroup puts a command of a context, before it starts, into its own process group, which ends
// with the context.
func InGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
