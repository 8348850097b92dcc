package link

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Poller waits for datagrams on several links at once. Make one with NewPoller.
type Poller struct {
	files []unix.PollFd
}

// NewPoller returns a poller of some ends.
func NewPoller(ends []File) *Poller {
	p := &Poller{}
	for _, e := range ends {
		p.files = append(p.files, unix.PollFd{Fd: int32(e.FD()), Events: unix.POLLIN})
	}
	return p
}

// Wait returns when a datagram waits at one of the ends, or after ns nanoseconds;
// it calls came with the index of each end at which one does. With ns at 0 it only
// looks. A signal may make it return early.
func (p *Poller) Wait(ns int64, came func(i int)) error {
	timeout := unix.NsecToTimespec(max(0, ns))
	n, _, errno := unix.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(p.files))),
		uintptr(len(p.files)), uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
	if errno == unix.EINTR {
		return nil
	} else if errno != 0 {
		return fmt.Errorf("wait for datagrams: %w", errno)
	}
	for i := range p.files {
		if n == 0 {
			break
		}
		if p.files[i].Revents != 0 {
			n--
			came(i)
		}
	}
	return nil
}
