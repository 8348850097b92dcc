package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Train is one end of a UDP link that takes many datagrams at once. One call hands them
// to the kernel as segments of one long packet (UDP_SEGMENT), and one call reads them at
// the other end (UDP_GRO). A call costs as much as some fifty thousand bytes, whether it
// sends one short datagram or sixteen.
//
// All segments of a packet but the last are of one size. So a shorter datagram has zeros
// behind it, which Next cuts off: the last byte of a datagram must not be zero.
//
// Where the kernel has no segmentation, each datagram leaves by itself, and Segments
// returns false. A receiver without trains gets each datagram by itself too, with its
// zeros.
type Train struct {
	*UDP
	queue
	whole bool // the kernel cuts a packet into segments
	most  int  // datagrams of a packet, at the most
	out   unix.Msghdr
	outs  [2 * maxSegments]unix.Iovec // datagrams, and the zeros behind them
	size  segmentSize

	buf     []byte // the last packet
	rest    []byte // of buf: the part that Next has not returned
	segment int    // the size of its segments
	zeros   []byte // never written
	foreign uint64
}

// maxSegments is how many segments a packet may have: UDP_MAX_SEGMENTS of the older kernels.
const maxSegments = 64

// segmentSize is the control data that gives the size of a packet's segments.
type segmentSize struct {
	head unix.Cmsghdr
	size uint16
	_    [6]byte
}

// TrainPair returns the two ends of a UDP link on the loopback interface, as UDPPair
// does, for trains.
func TrainPair(opts UDPOptions) (a, b *Train, err error) {
	x, y, err := UDPPair(opts)
	if err != nil {
		return nil, nil, err
	}
	if a, err = newTrain(x, opts.Single); err == nil {
		b, err = newTrain(y, opts.Single)
	}
	if err != nil {
		return nil, nil, errors.Join(err, x.Close(), y.Close())
	}
	return a, b, nil
}

// newTrain makes an end of a UDP link one for trains.
func newTrain(u *UDP, single bool) (*Train, error) {
	t := &Train{UDP: u, most: maxSegments, buf: make([]byte, 1<<16), zeros: make([]byte, MaxDatagram)}
	t.out.Iov = &t.outs[0]
	t.out.Control = (*byte)(unsafe.Pointer(&t.size))
	t.out.SetControllen(int(unsafe.Sizeof(t.size)))
	t.size.head.Level, t.size.head.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	t.size.head.SetLen(unix.CmsgLen(int(unsafe.Sizeof(t.size.size))))
	if single {
		return t, nil
	}
	cuts := unix.SetsockoptInt(u.fd, unix.SOL_UDP, unix.UDP_SEGMENT, 0) // each call gives its own size
	joins := unix.SetsockoptInt(u.fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	t.whole = cuts == nil
	for _, err := range []error{cuts, joins} {
		if err != nil && !lacking(err) {
			return nil, fmt.Errorf("ask for trains on %s: %w", u.name, err)
		}
	}
	return t, nil
}

// lacking reports whether an error means that the kernel, or the device below a socket, has no segmentation.
func lacking(err error) bool {
	return errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EOPNOTSUPP) ||
		errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIO)
}

// Segments reports whether the kernel takes trains. Where it does not, each datagram
// leaves by itself.
func (t *Train) Segments() bool { return t.whole }

// Put adds b to the datagrams that Flush sends, and keeps it until then.
func (t *Train) Put(b []byte) error { return t.put(b, t.takes(b)) }

// takes reports whether b can be a datagram of a train.
func (t *Train) takes(b []byte) error {
	if err := check(len(b)); err != nil {
		return err
	}
	if b[len(b)-1] == 0 {
		return ErrTail
	}
	if t.fd < 0 {
		return ErrClosed
	}
	return nil
}

// Flush sends the oldest datagrams, as one train.
func (t *Train) Flush() (left int, err error) { return t.flush(t.leave) }

// leave sends the oldest of the waiting datagrams, as many as a packet can have.
func (t *Train) leave(waiting [][]byte) (n int, err error) {
	n, segment := 1, 0
	if t.whole {
		n, segment = load(waiting, t.most)
	}
	if n == 1 {
		if err = t.UDP.Send(waiting[0]); err == nil {
			t.most = min(2*t.most, maxSegments)
		}
		return n, err
	}
	t.pack(waiting[:n], segment)
	_, errno := t.transmit(unix.SYS_SENDMSG, unsafe.Pointer(&t.out), unix.MSG_DONTWAIT, 0)
	switch {
	case errno == 0:
		t.most = min(2*t.most, maxSegments)
	case errno == unix.EAGAIN || errno == unix.ENOBUFS:
		t.most = n / 2 // the send buffer may be too small for all of them, even when it is empty
	case lacking(errno):
		t.whole = false
		return t.leave(waiting)
	}
	return n, t.sent(errno)
}

// load returns how many datagrams go together, at most so many, and the size of their segments.
func load(waiting [][]byte, most int) (n, segment int) {
	for most = min(most, len(waiting)); n < most; n++ {
		size := max(segment, len(waiting[n]))
		if n*size+len(waiting[n]) > MaxDatagram {
			break
		}
		segment = size
	}
	return n, segment
}

// pack makes a packet of datagrams that have segments of so many bytes.
func (t *Train) pack(datagrams [][]byte, segment int) {
	n := 0
	for _, b := range datagrams {
		t.outs[n].Base = unsafe.SliceData(b)
		t.outs[n].SetLen(len(b))
		n++
		if len(b) < segment {
			t.outs[n].Base = &t.zeros[0]
			t.outs[n].SetLen(segment - len(b))
			n++
		}
	}
	if len(datagrams[len(datagrams)-1]) < segment {
		n-- // nothing stands behind the last
	}
	t.out.SetIovlen(n)
	t.size.size = uint16(segment)
}

// Send sends b as one datagram.
func (t *Train) Send(b []byte) error {
	if err := t.takes(b); err != nil {
		return err
	}
	return t.UDP.Send(b)
}

// Next returns the next datagram.
func (t *Train) Next() ([]byte, error) {
	for {
		for len(t.rest) > 0 && t.fd >= 0 {
			n := min(t.segment, len(t.rest))
			b := t.cut(t.rest[:n:n])
			t.rest = t.rest[n:]
			if len(b) > 0 {
				return b, nil
			}
			t.foreign++
		}
		n, err := t.receive(t.buf)
		if n == 0 {
			return nil, err
		}
		t.rest, t.segment = t.buf[:n], segmentOf(t.control[:t.in.Controllen/8], n)
	}
}

// cut returns b without the zeros at its end.
func (t *Train) cut(b []byte) []byte {
	const block = 128 // is compared faster than byte by byte
	for len(b) >= block && bytes.Equal(b[len(b)-block:], t.zeros[:block]) {
		b = b[:len(b)-block]
	}
	for len(b) >= 8 && binary.NativeEndian.Uint64(b[len(b)-8:]) == 0 {
		b = b[:len(b)-8]
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// segmentOf returns the size of the segments of a packet of n bytes, by the control data beside it.
func segmentOf(control []uint64, n int) int {
	// Nothing else was asked for, so it is the first that came, or there is none: then it is one datagram.
	if len(control)*8 < unix.CmsgLen(4) {
		return n
	}
	head := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	size := *(*int32)(unsafe.Add(unsafe.Pointer(head), unix.CmsgLen(0)))
	if head.Level != unix.SOL_UDP || head.Type != unix.UDP_GRO || size <= 0 {
		return n
	}
	return min(int(size), n)
}

// Recv reads the next datagram into b.
func (t *Train) Recv(b []byte) (int, error) { return copied(b, t) }

// Foreign returns how many datagrams came that had nothing but zeros.
func (t *Train) Foreign() uint64 { return t.foreign }
