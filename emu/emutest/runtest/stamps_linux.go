package runtest

import (
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fabemu/wire/link"
)

// Stamped has receive called with each datagram that l, a UDP end, receives, and with the instant
// at which the kernel had it: CLOCK_REALTIME, in ns since 1970. The bytes are valid during the
// call.
func Stamped(l link.Link, receive func(datagram []byte, at int64)) link.Link {
	prepare()
	s := &stamped{UDP: l.(*link.UDP), receive: receive}
	stamp(s.FD())
	return s
}

// stamped is an end whose socket stamps the datagrams that come.
type stamped struct {
	*link.UDP
	receive func(datagram []byte, at int64)
	oob     [8]uint64 // aligned for its headers
	msg     unix.Msghdr
	vec     unix.Iovec
}

// Recv reads the next datagram into b.
func (s *stamped) Recv(b []byte) (int, error) {
	s.vec.Base = unsafe.SliceData(b)
	s.vec.SetLen(len(b))
	s.msg.Iov, s.msg.Control = &s.vec, (*byte)(unsafe.Pointer(&s.oob))
	s.msg.SetIovlen(1)
	s.msg.SetControllen(int(unsafe.Sizeof(s.oob)))
	// As package link calls the kernel: the loop is as fast as it is otherwise.
	got, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(s.FD()), uintptr(unsafe.Pointer(&s.msg)), unix.MSG_DONTWAIT|unix.MSG_TRUNC)
	n := int(got)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, nil
	case errno != 0:
		return 0, errno
	case n > len(b):
		return 0, link.ErrTooLong
	}
	if int(s.msg.Controllen) >= unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{}))) {
		s.receive(b[:n], (*unix.Timespec)(unsafe.Add(unsafe.Pointer(&s.oob), unix.CmsgLen(0))).Nano())
	}
	return n, nil
}

// stamp asks the kernel to stamp the datagrams that come to a socket.
func stamp(fd int) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		panic(err)
	}
}

// prepare returns when the kernel stamps datagrams as they come. It begins to a moment after the
// first socket of the host has asked for it; until then it gives the time of the reading.
var prepare = sync.OnceFunc(func() {
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		panic(err)
	}
	stamps := false
	var reading time.Time
	end := &stamped{UDP: b, receive: func(_ []byte, at int64) { stamps = at < reading.UnixNano() }}
	stamp(b.FD()) // and it stays open, so that the kernel continues
	for !stamps {
		if err := a.Send([]byte{1}); err != nil {
			panic(err)
		}
		time.Sleep(100 * time.Microsecond)
		reading = time.Now()
		if _, err := end.Recv(make([]byte, 1)); err != nil {
			panic(err)
		}
	}
})
