package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Veth is one end of a pair of virtual Ethernet interfaces: a non-blocking packet
// socket that is bound to the interface. It stays with the network namespace that
// it was opened in, whatever thread uses it.
//
// The kernel takes an 802.1Q tag out of a frame before it delivers it; Recv puts
// it back.
//
// A veth pair has no flow control and no error for the sender: a frame that the
// other end has no room for is counted in the Lost of that end. Nor does a sender
// notice that the other end is closed.
type Veth struct {
	socket
	queue
	device  string
	native  bool
	largest int
	lost    uint32 // the sum of PACKET_STATISTICS so far
	foreign uint64

	// The memory that Send and Recv hand to the kernel. It is here and not on the stack,
	// because the kernel sees it through pointers within it.
	out, in       unix.Msghdr
	outVec, inVec [3]unix.Iovec
	header        [headerSize]byte // in front of each frame that is sent
	expected      [headerSize]byte // in front of each frame that is received
	got           [headerSize]byte // the header that was received
	spill         [tagSize]byte
	control       [8]uint64 // the control data beside a frame: 64 bytes, aligned for their headers

	train  [trainOfVeth]message // the messages that Flush hands to the kernel
	vecs   [trainOfVeth][2]unix.Iovec
	mapped *arrivals // nil where arrivals are read by calls
	buf    []byte    // then the datagram that Next has read
}

// trainOfVeth is how many frames Flush hands to the kernel with one call, at the most.
const trainOfVeth = 32

// message is a mmsghdr of the kernel.
type message struct {
	head unix.Msghdr
	_    uint32 // how many bytes have left
}

const (
	headerSize = 14 // destination, source, type
	addresses  = 12 // destination, source
	tagSize    = 4  // an 802.1Q tag
)

// OpenVeth opens the end of a veth pair that is in the network namespace of the
// calling thread. It needs CAP_NET_RAW.
func OpenVeth(opts VethOptions) (*Veth, error) {
	if opts.Buffer < 0 || opts.Buffer > maxBuffer {
		return nil, fmt.Errorf("receive buffer of %v: 0 to 1 GiB are possible", opts.Buffer)
	}
	if opts.Largest < 1 || opts.Largest > MaxDatagram {
		return nil, fmt.Errorf("datagrams of up to %d bytes: 1 to %d are possible", opts.Largest, MaxDatagram)
	}
	if opts.Ring < 0 || opts.Ring > 1<<16 {
		return nil, fmt.Errorf("a ring of %d datagrams: 0 to 65536 are possible", opts.Ring)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", explainSocket(err))
	}
	v := newVeth(fd, opts)
	if err := v.setUp(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("interface %s: %w", opts.Interface, err), v.Close())
	}
	return v, nil
}

// newVeth returns the end that has a socket.
func newVeth(fd int, opts VethOptions) *Veth {
	s := socket{fd: fd, name: "interface " + opts.Interface}
	v := &Veth{socket: s, device: opts.Interface, native: opts.Native, largest: opts.Largest}
	for i := range v.train {
		v.train[i].head.Iov = &v.vecs[i][0]
	}
	return v
}

// explainSocket adds the remedy where the kernel refuses a packet socket.
func explainSocket(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: this needs CAP_NET_RAW", err)
	case errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("%w: this kernel has no packet sockets; load the module af_packet (modprobe af_packet)", err)
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("%w: raise the limit of this process (ulimit -n)", err)
	}
	return err
}

// setUp sets the options of the socket and binds it. Until it is bound, nothing
// comes in: a frame that the filter would not pass is never seen.
func (v *Veth) setUp(opts VethOptions) error {
	index, err := v.describe(opts)
	if err != nil {
		return err
	}
	if v.granted, err = setBuffer(v.fd, opts.Buffer, "packet"); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(v.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return fmt.Errorf("ignore what goes out: %w: this needs Linux 4.20 or newer", err)
	}
	filter := []bpf.Instruction{bpf.RetConstant{Val: wholeFrame}}
	switch {
	case !opts.Native:
		filter = encapsulated()
	case opts.Tail != 0:
		filter = ending(opts.Tail)
	}
	if err := attach(v.fd, filter); err != nil {
		return err
	}
	if opts.Native {
		if err := unix.SetsockoptInt(v.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
			return fmt.Errorf("ask for the tags of frames: %w", err)
		}
	}
	if opts.Ring > 0 {
		if v.mapped, err = newArrivals(v.fd, opts); err != nil {
			return err
		}
	}
	// All types of frames, for two reasons: the kernel hands a frame with a tag to
	// sockets of its type without the tag and its content; and it recognises PAUSE by
	// another type than data.
	if err := unix.Bind(v.fd, &unix.SockaddrLinklayer{Protocol: bits.ReverseBytes16(unix.ETH_P_ALL), Ifindex: index}); err != nil {
		return fmt.Errorf("bind a packet socket: %w", err)
	}
	return nil
}

// describe asks the kernel for the interface, and prepares the headers.
func (v *Veth) describe(opts VethOptions) (index int, err error) {
	var request [3]*unix.Ifreq
	for i, what := range []uint{unix.SIOCGIFINDEX, unix.SIOCGIFMTU, unix.SIOCGIFHWADDR} {
		if request[i], err = unix.NewIfreq(v.device); err != nil {
			return 0, fmt.Errorf("the name is too long, or empty: %w", err)
		}
		if err = unix.IoctlIfreq(v.fd, what, request[i]); err != nil {
			return 0, fmt.Errorf("look it up: %w", err)
		}
	}
	need := opts.Largest
	if opts.Native {
		need -= headerSize // the MTU does not count the Ethernet header
	}
	if mtu := int(request[1].Uint32()); mtu < need {
		return 0, fmt.Errorf("its MTU of %d bytes is too small for datagrams of %d: raise it (ip link set %s mtu %d)", mtu, opts.Largest, v.device, need)
	}
	own := (*struct {
		name   [unix.IFNAMSIZ]byte
		family uint16
		data   [6]byte
	})(unsafe.Pointer(request[2])).data
	copy(v.header[:], opts.Peer[:])
	copy(v.header[6:], own[:])
	copy(v.expected[:], own[:])
	copy(v.expected[6:], opts.Peer[:])
	binary.BigEndian.PutUint16(v.header[addresses:], EtherType)
	binary.BigEndian.PutUint16(v.expected[addresses:], EtherType)
	return int(request[0].Uint32()), nil
}

// takes reports whether b can be sent.
func (v *Veth) takes(b []byte) error {
	if err := check(len(b)); err != nil {
		return err
	}
	if len(b) > v.largest {
		return ErrTooLong
	}
	if v.native && len(b) < headerSize {
		return fmt.Errorf("send on %s: %d bytes are no Ethernet frame", v.device, len(b))
	}
	return nil
}

// message makes a message of b, in its vectors, and returns how many it has.
func (v *Veth) message(b []byte, vec []unix.Iovec) (n int) {
	if !v.native {
		vec[0].Base, n = &v.header[0], 1
		vec[0].SetLen(headerSize)
	}
	vec[n].Base = unsafe.SliceData(b)
	vec[n].SetLen(len(b))
	return n + 1
}

// Send sends b as one frame. ErrFull means that the kernel has no memory for it
// now; a full buffer of the receiver does not show here, but in the receiver's
// Lost.
func (v *Veth) Send(b []byte) error {
	if err := v.takes(b); err != nil {
		return err
	}
	n := v.message(b, v.outVec[:])
	v.out.Iov = &v.outVec[0]
	v.out.SetIovlen(n)
	defer func() { v.outVec[n-1].Base = nil }() // b is the caller's again
	for v.fd >= 0 {
		_, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(v.fd), uintptr(unsafe.Pointer(&v.out)), unix.MSG_DONTWAIT)
		if again, err := v.sent(errno); !again {
			return err
		}
	}
	return ErrClosed
}

// Put adds b to the datagrams that Flush sends, and keeps it until then.
func (v *Veth) Put(b []byte) error {
	err := v.takes(b)
	if err == nil {
		v.put(b)
	}
	return err
}

// Flush sends the oldest datagrams, each datagram as a frame.
func (v *Veth) Flush() (left int, err error) { return v.flush(v.leave) }

// leave sends the oldest of the waiting datagrams with one call.
func (v *Veth) leave(waiting [][]byte) (int, error) {
	if len(waiting) == 1 {
		return 1, v.Send(waiting[0])
	}
	n := min(len(waiting), trainOfVeth)
	for i, b := range waiting[:n] {
		v.train[i].head.SetIovlen(v.message(b, v.vecs[i][:]))
	}
	for v.fd >= 0 {
		sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(v.fd),
			uintptr(unsafe.Pointer(&v.train)), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		if again, err := v.sent(errno); !again {
			return int(sent), err
		}
	}
	return 0, ErrClosed
}

// Recv reads the next datagram into b.
func (v *Veth) Recv(b []byte) (int, error) {
	if v.mapped != nil {
		d, err := v.Next()
		defer v.mapped.release()
		if len(d) > len(b) {
			return 0, ErrTooLong
		}
		return copy(b, d), err
	}
	if v.native {
		return v.recvNative(b)
	}
	v.inVec[0].Base = &v.got[0]
	v.inVec[0].SetLen(headerSize)
	v.inVec[1].Base = unsafe.SliceData(b)
	v.inVec[1].SetLen(len(b))
	defer func() { v.inVec[1].Base = nil }() // b is the caller's again
	for {
		n, err := v.receive(2)
		if n == 0 || err != nil {
			return 0, err
		}
		switch n -= headerSize; {
		case n <= 0 || v.got != v.expected:
			v.foreign++
		case n > len(b):
			return 0, ErrTooLong
		default:
			return n, nil
		}
	}
}

// recvNative reads the next Ethernet frame into b. It leaves room for a tag behind
// the addresses, and closes up when there is none: it is the large frames that
// have one.
func (v *Veth) recvNative(b []byte) (int, error) {
	if len(b) < addresses+tagSize {
		n, err := v.receive(0)
		if n > 0 {
			err = ErrTooLong
		}
		return 0, err
	}
	v.inVec[0].Base = &b[0]
	v.inVec[0].SetLen(addresses)
	v.inVec[1].Base = unsafe.SliceData(b[addresses+tagSize:])
	v.inVec[1].SetLen(len(b) - addresses - tagSize)
	v.inVec[2].Base = &v.spill[0]
	v.inVec[2].SetLen(tagSize)
	defer func() { v.inVec[0].Base, v.inVec[1].Base = nil, nil }()
	n, err := v.receive(3)
	if n == 0 || err != nil {
		return 0, err
	}
	if tag, ok := v.tag(); ok {
		if n += tagSize; n > len(b) {
			return 0, ErrTooLong
		}
		binary.BigEndian.PutUint32(b[addresses:], tag)
		return n, nil
	}
	if n > len(b) {
		return 0, ErrTooLong
	}
	if n > addresses {
		copy(b[addresses:], b[addresses+tagSize:min(n+tagSize, len(b))])
	}
	if end := len(b) - tagSize; n > end {
		copy(b[end:n], v.spill[:])
	}
	return n, nil
}

// receive reads a frame into the first vectors of v.in and returns the length that
// it had on the line, less a tag, or 0 if none waits.
func (v *Veth) receive(vectors int) (int, error) {
	v.in.Iov, v.in.Control = &v.inVec[0], (*byte)(unsafe.Pointer(&v.control))
	v.in.SetIovlen(vectors)
	for v.fd >= 0 {
		v.in.SetControllen(int(unsafe.Sizeof(v.control)))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(v.fd), uintptr(unsafe.Pointer(&v.in)), unix.MSG_DONTWAIT|unix.MSG_TRUNC)
		if errno == unix.EAGAIN {
			return 0, nil
		}
		if again, err := v.came(n, errno); !again {
			if errno != 0 {
				n = 0
			}
			return int(n), err
		}
	}
	return 0, ErrClosed
}

// tag returns the 802.1Q tag of the last frame: its type, then priority and number.
func (v *Veth) tag() (uint32, bool) {
	// Nothing else was asked for, so it is the first that came beside the frame, or there is none.
	head := (*unix.Cmsghdr)(unsafe.Pointer(&v.control))
	if int(v.in.Controllen) < unix.CmsgLen(int(unsafe.Sizeof(unix.TpacketAuxdata{}))) ||
		head.Level != unix.SOL_PACKET || head.Type != unix.PACKET_AUXDATA {
		return 0, false
	}
	aux := (*unix.TpacketAuxdata)(unsafe.Add(unsafe.Pointer(&v.control), unix.CmsgLen(0)))
	if aux.Status&unix.TP_STATUS_VLAN_VALID == 0 {
		return 0, false
	}
	kind := uint32(unix.ETH_P_8021Q)
	if aux.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		kind = uint32(aux.Vlan_tpid)
	}
	return kind<<16 | uint32(aux.Vlan_tci), true
}

// Next returns the next datagram, where it lies.
func (v *Veth) Next() ([]byte, error) {
	if v.mapped == nil {
		if v.buf == nil {
			v.buf = make([]byte, v.largest)
		}
		n, err := v.Recv(v.buf)
		if n == 0 || err != nil {
			return nil, err
		}
		return v.buf[:n], nil
	}
	for v.fd >= 0 {
		b, whole := v.mapped.next()
		switch {
		case b == nil:
			return nil, nil
		case !whole:
			return nil, ErrTooLong
		case v.native:
			return b, nil
		case len(b) > headerSize && [headerSize]byte(b) == v.expected:
			return b[headerSize:], nil
		}
		v.foreign++
	}
	return nil, ErrClosed
}

// Ring reports whether arrivals are read in memory that the end shares with the kernel.
func (v *Veth) Ring() bool { return v.mapped != nil }

// Close closes the socket. The interface stays.
func (v *Veth) Close() error {
	var err error
	if v.mapped != nil {
		err = unix.Munmap(v.mapped.memory)
		v.mapped = nil
	}
	return errors.Join(err, v.socket.Close())
}

// Peer returns the hardware address of the other end.
func (v *Veth) Peer() []byte { return slices.Clone(v.header[:6]) }

// Foreign returns how many frames came that were not from the other end, and were
// refused. Frames that the kernel's filter drops (other types of frames; on a native link
// frames that end otherwise) is not among them.
func (v *Veth) Foreign() uint64 { return v.foreign }

// Lost returns how many frames the kernel has dropped on their way into this end
// since it was opened, modulo 2^32, because its buffer was full (tp_drops of
// PACKET_STATISTICS). Frames that a queue in front of the socket drops are not among them:
// only a count of sent and received frames shows them.
func (v *Veth) Lost() (uint32, error) {
	var stats unix.TpacketStats // since it was asked for last
	if err := v.read(unix.SOL_PACKET, unix.PACKET_STATISTICS, unsafe.Pointer(&stats), unsafe.Sizeof(stats)); err != nil {
		return 0, err
	}
	v.lost += stats.Drops
	return v.lost, nil
}
