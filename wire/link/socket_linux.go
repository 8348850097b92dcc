package link

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"fabemu/wire/unit"
)

// socket is a non-blocking socket of the kernel, the end of a link.
//
// It calls the kernel without the scheduler of Go (RawSyscall): no call can block, and the
// detour would cost as much as a third of it.
type socket struct {
	fd      int    // -1 once closed
	name    string // of the address that it is bound to, for errors
	granted unit.Size

	// The memory that receive hands to the kernel. It is here and not on the stack, because the
	// kernel sees it through pointers within it.
	in      unix.Msghdr
	vector  unix.Iovec
	control [14]uint64 // the control data of a datagram, aligned for their headers: the time stamp and the tag

	stamps bool  // the kernel was asked for time stamps
	stamp  int64 // of the last datagram
}

// call calls the kernel for the socket, and again when a signal has interrupted the call.
func (s *socket) call(trap uintptr, p unsafe.Pointer, a, b uintptr) (n int, errno unix.Errno) {
	for s.fd >= 0 {
		n, _, errno := unix.RawSyscall6(trap, uintptr(s.fd), uintptr(p), a, b, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
	return 0, unix.EBADF
}

// transmit makes a call that sends. Unlike call, it repeats the call once after EMSGSIZE, because
// the first error may be the report of an earlier ICMP message.
func (s *socket) transmit(trap uintptr, p unsafe.Pointer, a, b uintptr) (n int, errno unix.Errno) {
	if n, errno = s.call(trap, p, a, b); errno == unix.EMSGSIZE {
		n, errno = s.call(trap, p, a, b) // the first time it may be the report of an ICMP message
	}
	return n, errno
}

// sent returns the error of a call that sends.
func (s *socket) sent(errno unix.Errno) error {
	switch errno {
	case 0:
		return nil
	case unix.EAGAIN, unix.ENOBUFS:
		return ErrFull
	case unix.EMSGSIZE:
		return ErrTooLong
	}
	return s.wrap("send", errno)
}

// plain is a socket whose packets are datagrams, without a header of ours.
type plain struct{ socket }

// Send sends b as one datagram. ErrFull means that the kernel has no memory for it now. Over UDP a
// full buffer of the receiver does not show here, but in the receiver's Lost.
func (p *plain) Send(b []byte) error {
	if err := check(len(b)); err != nil {
		return err
	}
	_, errno := p.transmit(unix.SYS_SENDTO, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return p.sent(errno)
}

// takes reports whether b can be sent.
func (p *plain) takes(b []byte) error { return check(len(b)) }

// leaveAs sends a train.
func (p *plain) leaveAs(packet []byte) error { return p.Send(packet) }

// Foreign returns 0: the kernel refuses what others send.
func (p *plain) Foreign() uint64 { return 0 }

// receive reads the next datagram into b, with its control data. It returns the length, or 0 where
// none waits. An empty datagram is none of ours.
func (s *socket) receive(b []byte) (n int, err error) {
	s.vector.Base = unsafe.SliceData(b)
	s.vector.SetLen(len(b))
	s.in.Iov, s.in.Control = &s.vector, (*byte)(unsafe.Pointer(&s.control))
	s.in.SetIovlen(1)
	s.stamp = 0
	for n == 0 {
		var errno unix.Errno
		s.in.SetControllen(int(unsafe.Sizeof(s.control)))
		// With MSG_TRUNC the kernel returns the length that the datagram had.
		n, errno = s.call(unix.SYS_RECVMSG, unsafe.Pointer(&s.in), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0)
		if errno != 0 {
			err = s.wrap("receive", errno)
			break
		}
	}
	s.vector.Base = nil // b is the caller's again
	if n > 0 && s.stamps {
		if at := (*unix.ScmTimestamping)(s.extra(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, unsafe.Sizeof(unix.ScmTimestamping{}))); at != nil {
			s.stamp = at.Ts[0].Nano()
		}
	}
	return fits(n, err, b)
}

// extra returns a kind of control data, of so many bytes, that came with the last datagram; nil if
// there was none.
func (s *socket) extra(level, kind int32, size uintptr) unsafe.Pointer {
	for at, n := 0, int(s.in.Controllen); at+unix.CmsgLen(0) <= n; {
		head := (*unix.Cmsghdr)(unsafe.Add(unsafe.Pointer(&s.control), at))
		if head.Level == level && head.Type == kind && int(head.Len) >= unix.CmsgLen(int(size)) && at+int(head.Len) <= n {
			return unsafe.Add(unsafe.Pointer(head), unix.CmsgLen(0))
		}
		at += unix.CmsgSpace(max(0, int(head.Len)-unix.CmsgLen(0)))
	}
	return nil
}

// StampArrivals has the kernel date the datagrams that come.
func (s *socket) StampArrivals() error {
	if s.fd < 0 {
		return ErrClosed
	}
	// Not SO_TIMESTAMPNS: until the kernel dates all datagrams, it would give the time of the
	// reading.
	if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE); err != nil {
		return fmt.Errorf("ask for the time stamps of %s: %w", s.name, err)
	}
	s.stamps = true
	return nil
}

// Stamp returns when the kernel had the last datagram.
func (s *socket) Stamp() int64 { return s.stamp }

// fits returns the result of a call that receives n bytes into b.
func fits(n int, err error, b []byte) (int, error) {
	switch {
	case err != nil, n < 0:
		return 0, err
	case n > len(b):
		return 0, ErrTooLong
	}
	return n, nil
}

// read reads an option of the socket that counts losses.
func (s *socket) read(level, option uintptr, value unsafe.Pointer, size uintptr) error {
	if s.fd < 0 {
		return ErrClosed
	}
	n := uint32(size)
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), level, option, uintptr(value), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return fmt.Errorf("read the losses of %s: %w", s.name, errno)
	}
	return nil
}

// wrap turns an error of the kernel into one of this package.
func (s *socket) wrap(what string, errno unix.Errno) error {
	switch errno {
	case 0, unix.EAGAIN: // nothing waits
		return nil
	case unix.EBADF:
		return ErrClosed
	case unix.ECONNREFUSED, unix.EPIPE, unix.ECONNRESET, unix.ENOTCONN:
		return ErrPeerClosed
	case unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENONET, unix.ENOPROTOOPT, unix.EOPNOTSUPP, unix.EPROTO, unix.EMSGSIZE:
		return ErrUnreachable // so Linux maps other kinds of ICMP messages (icmp_err_convert)
	case unix.ENETDOWN, unix.ENODEV, unix.ENXIO:
		return fmt.Errorf("%s on %s: %w: another program has disabled or removed it", what, s.name, errno)
	}
	return fmt.Errorf("%s on %s: %w", what, s.name, errno)
}

// Granted returns the receive buffer that the kernel gave, in the terms of the options. (The
// kernel doubles the size that it is asked for, to allow for its own records, and reports the
// double; this is the half.) Where it is less than was asked for, net.core.rmem_max is in the way.
func (s *socket) Granted() unit.Size { return s.granted }

// FD returns the file descriptor, for a poller; -1 once the end is closed.
func (s *socket) FD() int { return s.fd }

func (s *socket) shut() bool { return s.fd < 0 }

// Close closes the socket. An interface stays.
func (s *socket) Close() error {
	if s.fd < 0 {
		return nil
	}
	fd := s.fd
	s.fd = -1
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("close %s: %w", s.name, err)
	}
	return nil
}

// maxBuffer is the largest receive buffer that may be asked for.
const maxBuffer = unit.GiB

// setBuffer asks for a receive buffer and returns the size that the kernel grants, in the
// same terms; 0 leaves the buffer as it is. What Unix sockets have sent is in the sender's buffer
// until it is read. The kind of the socket is for the error, too.
func setBuffer(fd int, size unit.Size, kind string) (granted unit.Size, err error) {
	force, limited := unix.SO_RCVBUFFORCE, unix.SO_RCVBUF
	if kind == unixKind {
		force, limited = unix.SO_SNDBUFFORCE, unix.SO_SNDBUF
	}
	if size > 0 {
		// The first needs CAP_NET_ADMIN and goes beyond net.core.rmem_max or wmem_max; the second
		// is cut to it.
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, int(size)) != nil {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, limited, int(size)); err != nil {
				return 0, fmt.Errorf("set the buffer of a %s socket to %v: %w", kind, size, err)
			}
		}
	}
	// The kernel doubles the requested size, to allow for its own records, and
	// reports the double.
	doubled, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, limited)
	if err != nil {
		return 0, fmt.Errorf("read the buffer of a %s socket: %w", kind, err)
	}
	return unit.Size(doubled / 2), nil
}
