//go:build unix

package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// Unread reports whether a file is a pipe, a socket or a terminal whose reader is gone.
func Unread(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
