package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// UDP is one end of a UDP link: a non-blocking socket that is bound to an address of this host and
// connected to its peer, so that the kernel refuses all that anyone else sends to it. It is not a
// net.UDPConn, because a socket of package net also wakes the poller of the Go runtime with every
// datagram.
type UDP struct {
	plain
	port int
	ipv6 bool
}

// UDPPair returns the two ends of a UDP link on the loopback interface. If it
// fails, nothing stays open; if a port is taken, the error names it, and
// errors.Is(err, unix.EADDRINUSE) holds.
func UDPPair(opts UDPOptions) (a, b *UDP, err error) {
	if opts.Port < 0 || opts.Port > 65534 {
		return nil, nil, fmt.Errorf("UDP port %d: a link needs two ports from 1 to 65535", opts.Port)
	}
	if opts.Buffer < 0 || opts.Buffer > maxBuffer {
		return nil, nil, fmt.Errorf("receive buffer of %v: 0 to 1 GiB are possible", opts.Buffer)
	}
	second := 0
	if opts.Port != 0 {
		second = opts.Port + 1
	}
	err = onLoopback(func(at netip.Addr) (err error) {
		a, b, err = pairAt(netip.AddrPortFrom(at, uint16(opts.Port)), netip.AddrPortFrom(at, uint16(second)), opts)
		return err
	})
	return a, b, err
}

// pairAt returns the two ends of a UDP link at two addresses.
func pairAt(first, second netip.AddrPort, opts UDPOptions) (a, b *UDP, err error) {
	// Both are bound before either is connected: a datagram to a port that no one
	// has bound comes back as an error on the socket that sent it.
	if a, err = listenUDP(first, opts); err != nil {
		return nil, nil, err
	}
	if b, err = listenUDP(second, opts); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	err = a.connect(netip.AddrPortFrom(second.Addr(), uint16(b.port)))
	if err == nil {
		err = b.connect(netip.AddrPortFrom(first.Addr(), uint16(a.port)))
	}
	if err == nil {
		err = a.carries(opts.Largest)
	}
	if err != nil {
		return nil, nil, errors.Join(err, a.Close(), b.Close())
	}
	return a, b, nil
}

// onLoopback opens something at 127.0.0.1, or at ::1 where the loopback interface has only that.
func onLoopback(open func(at netip.Addr) error) error {
	err := open(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	switch {
	case !errors.Is(err, unix.EADDRNOTAVAIL) && !errors.Is(err, unix.ENETUNREACH):
		return err
	case open(netip.IPv6Loopback()) == nil:
		return nil
	}
	return fmt.Errorf("%w: the loopback interface is down, or has no address (ip link set lo up)", err)
}

// listenUDP opens one end and binds it.
func listenUDP(at netip.AddrPort, opts UDPOptions) (*UDP, error) {
	family := unix.AF_INET
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a UDP socket: %w", err)
	}
	u := newUDP(fd, int(at.Port()))
	u.ipv6 = family == unix.AF_INET6
	if err := u.setUp(at, opts); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

// socketAddress returns an address in the form of the kernel.
func socketAddress(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	zone, _ := net.InterfaceByName(a.Addr().Zone()) // nil where it has none: the address needs none, or Bind fails
	s := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if zone != nil {
		s.ZoneId = uint32(zone.Index)
	}
	return s
}

// portOf returns the port of an address of the kernel; 0 where it is none of IP.
func portOf(a unix.Sockaddr) int {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return a.Port
	case *unix.SockaddrInet6:
		return a.Port
	}
	return 0
}

// option sets an option of IPv4 or of IPv6.
func (u *UDP) option(v4, value4, v6, value6 int) error {
	if u.ipv6 {
		return unix.SetsockoptInt(u.fd, unix.IPPROTO_IPV6, v6, value6)
	}
	return unix.SetsockoptInt(u.fd, unix.IPPROTO_IP, v4, value4)
}

// setUp sets the options of the socket, binds it and reads back the values that the kernel
// chose.
func (u *UDP) setUp(at netip.AddrPort, opts UDPOptions) error {
	// Never in fragments, unless they were asked for: a path that is too narrow is an
	// error of the first Send and not a slower link. An ICMP message about its
	// width does not count.
	v4, v6 := unix.IP_PMTUDISC_PROBE, unix.IPV6_PMTUDISC_PROBE
	if opts.Fragments {
		v4, v6 = unix.IP_PMTUDISC_DONT, unix.IPV6_PMTUDISC_DONT
	}
	if err := u.option(unix.IP_MTU_DISCOVER, v4, unix.IPV6_MTU_DISCOVER, v6); err != nil {
		return fmt.Errorf("choose whether a UDP socket makes fragments: %w", err)
	}
	var err error
	if u.granted, err = setBuffer(u.fd, opts.Buffer, "UDP"); err != nil {
		return err
	}
	if err := unix.Bind(u.fd, socketAddress(at)); err != nil {
		if errors.Is(err, unix.EADDRINUSE) {
			return fmt.Errorf("UDP port %d is in use: %w", u.port, err)
		}
		return fmt.Errorf("bind UDP port %d of %v: %w", u.port, at.Addr(), err)
	}
	name, err := unix.Getsockname(u.fd)
	if err != nil {
		return fmt.Errorf("read the port of a UDP socket: %w", err)
	}
	u.named(portOf(name))
	return nil
}

// newUDP returns the end that has a socket.
func newUDP(fd, port int) *UDP {
	u := &UDP{plain: plain{socket{fd: fd}}}
	u.named(port)
	return u
}

func (u *UDP) named(port int) { u.port, u.name = port, fmt.Sprintf("UDP port %d", port) }

// connect fixes the peer.
func (u *UDP) connect(to netip.AddrPort) error {
	if err := unix.Connect(u.fd, socketAddress(to)); err != nil {
		return fmt.Errorf("connect UDP port %d to %v: %w", u.port, to, err)
	}
	// Until now anyone could send here. The peer has not, so the waiting datagrams are not ours.
	var strange [1]byte
	for {
		if n, err := u.Recv(strange[:]); n == 0 && !errors.Is(err, ErrTooLong) {
			return err
		}
	}
}

// headers returns the headers of a datagram in its packet: the header of
// IPv4, without options, or of IPv6, and the header of UDP.
func (u *UDP) headers() int {
	if u.ipv6 {
		return 40 + 8
	}
	return 20 + 8
}

// mtu returns how long a packet may be on the path to the peer.
func (u *UDP) mtu() (n int, err error) {
	if u.ipv6 {
		n, err = unix.GetsockoptInt(u.fd, unix.IPPROTO_IPV6, unix.IPV6_MTU)
	} else {
		n, err = unix.GetsockoptInt(u.fd, unix.IPPROTO_IP, unix.IP_MTU)
	}
	if err != nil {
		return 0, fmt.Errorf("read the MTU of the path from UDP port %d: %w", u.port, err)
	}
	return n, nil
}

// carries refuses a path on which a datagram of n bytes would have to be cut.
func (u *UDP) carries(n int) error {
	mtu, err := u.mtu()
	if err != nil {
		return err
	}
	if need := n + u.headers(); mtu < need {
		return fmt.Errorf("the loopback interface has an MTU of %d bytes, datagrams of %d need %d: raise it (ip link set lo mtu 65536): %w", mtu, n, need, ErrTooLong)
	}
	return nil
}

// Recv reads the next datagram into b.
func (u *UDP) Recv(b []byte) (int, error) {
	if u.stamps {
		return u.receive(b)
	}
	for {
		// This call takes less time than the one of receive.
		n, errno := u.call(unix.SYS_RECVFROM, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_TRUNC)
		if n > 0 || errno != 0 {
			return fits(n, u.wrap("receive", errno), b)
		}
	}
}

// come reads the next packet into buf.
func (u *UDP) come(buf []byte) ([]byte, error) {
	n, err := u.Recv(buf)
	return buf[:n:n], err
}

// LocalPort returns the UDP port of this end.
func (u *UDP) LocalPort() int { return u.port }

// Lost returns how many datagrams the kernel has dropped on the path into this
// end since it was opened, modulo 2^32. Nearly always its buffer was full.
func (u *UDP) Lost() (uint32, error) {
	var info [unix.SK_MEMINFO_VARS]uint32
	err := u.read(unix.SOL_SOCKET, unix.SO_MEMINFO, unsafe.Pointer(&info), unsafe.Sizeof(info))
	return info[unix.SK_MEMINFO_DROPS], err
}
