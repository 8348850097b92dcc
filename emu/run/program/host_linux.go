package program

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitExit waits until a process has exited, and leaves it to be reaped: until then
// no other process has its number.
func awaitExit(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// killGroup kills the group that a process leads.
func killGroup(p *os.Process) { unix.Kill(-p.Pid, unix.SIGKILL) }

// readable reports whether reading from a file or socket would not wait.
func readable(from any) bool {
	c, ok := from.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	raw.Control(func(fd uintptr) {
		n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	})
	return n > 0
}
