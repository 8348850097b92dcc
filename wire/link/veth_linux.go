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
// The kernel takes an 802.1Q tag out of a frame before it delivers it; the end puts
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
	train   int    // the longest packet of a train, with its Ethernet header; 0: none is sent or accepted
	lost    uint32 // the sum of PACKET_STATISTICS so far
	foreign uint64

	header   [headerSize]byte // in front of each frame that is sent
	expected [headerSize]byte // in front of each frame that is received

	calls [callOfVeth]message // the messages that Flush hands to the kernel
	vecs  [callOfVeth][2]unix.Iovec
	buf   []byte // the last frame that came, behind room for a tag
}

// callOfVeth is how many frames Flush hands to the kernel with one call, at most.
const callOfVeth = 32

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
	if opts.Train < 0 || opts.Train > MaxVethTrain {
		return nil, fmt.Errorf("trains of up to %d bytes: 0 to %d are possible", opts.Train, MaxVethTrain)
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
	for i := range v.calls {
		v.calls[i].head.Iov = &v.vecs[i][0]
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
		return fmt.Errorf("ignore outgoing frames: %w: this needs Linux 4.20 or newer", err)
	}
	filter := []bpf.Instruction{bpf.RetConstant{Val: wholeFrame}}
	switch {
	case !opts.Native:
		filter = encapsulated()
	case opts.Tail != 0:
		filter = ending(opts.Tail, v.train > 0)
	}
	if err := attach(v.fd, filter); err != nil {
		return err
	}
	if opts.Native {
		if err := unix.SetsockoptInt(v.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
			return fmt.Errorf("ask for the tags of frames: %w", err)
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
	mtu := int(request[1].Uint32())
	if v.train = opts.Train; v.train > 0 {
		v.train = min(v.train, mtu+headerSize)
	}
	if mtu < need {
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
	_, err := v.leave([][]byte{b})
	return err
}

// Put adds b to the datagrams that Flush sends, and keeps it until then.
func (v *Veth) Put(b []byte) error { return v.put(b, v.takes(b)) }

// Flush sends the oldest datagrams, each datagram as a frame.
func (v *Veth) Flush() (left int, err error) { return v.flush(v.leave) }

// leave sends the oldest of the waiting datagrams with one call.
func (v *Veth) leave(waiting [][]byte) (int, error) {
	n := min(len(waiting), callOfVeth)
	for i, b := range waiting[:n] {
		v.calls[i].head.SetIovlen(v.message(b, v.vecs[i][:]))
	}
	sent, errno := v.transmit(unix.SYS_SENDMMSG, unsafe.Pointer(&v.calls), uintptr(n), unix.MSG_DONTWAIT)
	return sent, v.sent(errno)
}

// Recv reads the next datagram into b.
func (v *Veth) Recv(b []byte) (int, error) { return copied(b, v) }

// leaveAs sends a train, which has an Ethernet header.
func (v *Veth) leaveAs(packet []byte) error {
	_, errno := v.transmit(unix.SYS_SENDTO, unsafe.Pointer(unsafe.SliceData(packet)), uintptr(len(packet)), unix.MSG_DONTWAIT)
	return v.sent(errno)
}

// come returns the next datagram or train, where it lies.
func (v *Veth) come([]byte) ([]byte, error) { return v.Next() }

// Next returns the next datagram, where it lies.
func (v *Veth) Next() ([]byte, error) {
	for {
		b, err := v.frame()
		switch {
		case len(b) == 0, v.native && (v.train == 0 || b[len(b)-1] != 0):
			return b, err
		case len(b) > headerSize && [headerSize]byte(b) == v.expected:
			return b[headerSize:], nil
		}
		v.foreign++
	}
}

// frame returns the next frame, from its first address on, or nil where none waits.
func (v *Veth) frame() ([]byte, error) {
	if v.buf == nil {
		v.buf = make([]byte, tagSize+max(headerSize+v.largest, v.train))
	}
	n, err := v.receive(v.buf[tagSize:])
	if n == 0 {
		return nil, err
	}
	var aux unix.TpacketAuxdata
	if p := v.extra(unix.SOL_PACKET, unix.PACKET_AUXDATA, unsafe.Sizeof(aux)); p != nil {
		aux = *(*unix.TpacketAuxdata)(p)
	}
	return retag(v.buf[:tagSize+n], aux.Status, aux.Vlan_tpid, aux.Vlan_tci), nil
}

// retag returns a frame that begins behind tagSize bytes. The kernel takes the tag of 802.1Q out of
// a frame; it is put back.
func retag(frame []byte, status uint32, kind, tag uint16) []byte {
	if status&unix.TP_STATUS_VLAN_VALID == 0 || len(frame) < tagSize+addresses {
		return frame[tagSize:]
	}
	if status&unix.TP_STATUS_VLAN_TPID_VALID == 0 {
		kind = unix.ETH_P_8021Q
	}
	copy(frame[:addresses], frame[tagSize:])
	binary.BigEndian.PutUint32(frame[addresses:], uint32(kind)<<16|uint32(tag))
	return frame
}

// Peer returns the hardware address of the other end.
func (v *Veth) Peer() []byte { return slices.Clone(v.header[:6]) }

// Foreign returns how many frames came that were not from the other end, and were
// refused. Frames that the kernel's filter drops (other types of frames; on a native link
// frames that end otherwise) is not among them.
func (v *Veth) Foreign() uint64 { return v.foreign }

// Lost returns how many frames the kernel has dropped on the path into this end
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
