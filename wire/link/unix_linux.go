package link

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"fabemu/wire/unit"
)

// Unix is one end of a pair of SOCK_SEQPACKET sockets of the AF_UNIX family. It has no name, so
// other processes cannot reach it. Where the other end has not read what fills the buffer, Send
// returns ErrFull: nothing is lost.
type Unix struct{ plain }

// unixKind is the kind of socket in errors, and for setBuffer.
const unixKind = "Unix"

// UnixPair returns the two ends of a Unix link, with a buffer of a size as in UDPOptions for each
// direction. If that has no room for the largest datagram, the error is ErrTooLong.
func UnixPair(buffer unit.Size, largest int) (a, b *Unix, err error) {
	if buffer < 0 || buffer > maxBuffer {
		return nil, nil, fmt.Errorf("buffer of %v: 0 to 1 GiB are possible", buffer)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a pair of Unix sockets: %w", err)
	}
	a, b = newUnix(pair[0]), newUnix(pair[1])
	a.granted, err = setBuffer(a.fd, buffer, unixKind)
	if err == nil {
		b.granted, err = setBuffer(b.fd, buffer, unixKind)
	}
	if room := min(a.granted, b.granted); err == nil && int(room) < largest {
		err = fmt.Errorf("a buffer of %v has no room for datagrams of %d bytes: %w", room, largest, ErrTooLong)
	}
	if err != nil {
		return nil, nil, errors.Join(err, a.Close(), b.Close())
	}
	return a, b, nil
}

// AdoptUnix makes an end of a file descriptor that another process of the same user has opened with
// UnixPair and passed on. The end owns it from then on.
func AdoptUnix(fd int) (*Unix, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return nil, fmt.Errorf("file descriptor %d is not a socket of a Unix link", fd)
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	switch {
	case err != nil:
		return nil, fmt.Errorf("file descriptor %d is not a socket of a Unix link: %w", fd, err)
	case int(peer.Uid) != os.Geteuid():
		return nil, fmt.Errorf("the other end of Unix socket %d belongs to user %d, and not to user %d", fd, peer.Uid, os.Geteuid())
	}
	unix.CloseOnExec(fd)
	u := newUnix(fd)
	u.granted, err = setBuffer(fd, 0, unixKind)
	return u, err
}

// newUnix returns the end that has a socket.
func newUnix(fd int) *Unix {
	return &Unix{plain{socket{fd: fd, name: fmt.Sprintf("Unix socket %d", fd)}}}
}

// Recv reads the next datagram into b. Where the other end is closed, none waits.
func (u *Unix) Recv(b []byte) (int, error) {
	n, errno := u.call(unix.SYS_RECVFROM, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_TRUNC)
	return fits(n, u.wrap("receive", errno), b)
}

// StampArrivals fails: the kernel has no time stamps for this kind of link.
func (u *Unix) StampArrivals() error {
	return fmt.Errorf("%s: no time stamps: %w", u.name, errors.ErrUnsupported)
}

// come reads the next packet into buf.
func (u *Unix) come(buf []byte) ([]byte, error) {
	n, err := u.Recv(buf)
	return buf[:n:n], err
}

// Lost returns 0: this kind of link loses nothing.
func (u *Unix) Lost() (uint32, error) {
	if u.fd < 0 {
		return 0, ErrClosed
	}
	return 0, nil
}

// UnixTrainPair returns the two ends of a Unix link, as UnixPair does, for trains.
func UnixTrainPair(buffer unit.Size, largest int) (a, b *Train, err error) {
	x, y, err := UnixPair(buffer, largest)
	if err != nil {
		return nil, nil, err
	}
	a, b = pairOf(x, y, int(min(x.granted, y.granted)))
	return a, b, nil
}
