package link

import (
	"fmt"

	"golang.org/x/sys/unix"

	"fabemu/wire/unit"
)

// maxBuffer is the largest receive buffer that may be asked for.
const maxBuffer = unit.GiB

// setBuffer asks for a receive buffer and returns what the kernel grants, in the
// same terms; 0 leaves the buffer as it is. The kind of the socket is for the
// error.
func setBuffer(fd int, size unit.Size, kind string) (granted unit.Size, err error) {
	if size > 0 {
		// The first needs CAP_NET_ADMIN and goes beyond net.core.rmem_max; the second
		// is cut to it.
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, int(size)) != nil {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, int(size)); err != nil {
				return 0, fmt.Errorf("set the receive buffer of a %s socket to %v: %w", kind, size, err)
			}
		}
	}
	// The kernel doubles what it is asked for, to allow for its own records, and
	// reports the double.
	doubled, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0, fmt.Errorf("read the receive buffer of a %s socket: %w", kind, err)
	}
	return unit.Size(doubled / 2), nil
}
