package hosts

import (
	"net"

	"golang.org/x/sys/unix"
)

// limitSilence limits how long what was sent may stay unanswered by the other host's
// kernel. Without it, the kernel of this one tries for a quarter of an hour.
func limitSilence(c *net.TCPConn) {
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
		})
	}
}
