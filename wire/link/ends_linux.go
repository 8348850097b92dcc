package link

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// UDPEnd opens one end of a UDP link whose other end is opened elsewhere, by
// another process of this host: port is its own, peer the port of the other end, both
// 1 to 65535. Until the other end is open a Send may fail with ErrPeerClosed.
func UDPEnd(port, peer int, opts UDPOptions) (*UDP, error) {
	if port < 1 || port > 65535 || peer < 1 || peer > 65535 || port == peer {
		return nil, fmt.Errorf("UDP ports %d and %d: they must differ and be from 1 to 65535", port, peer)
	}
	var u *UDP
	err := onLoopback(func(at netip.Addr) (err error) {
		if u, err = listenUDP(netip.AddrPortFrom(at, uint16(port)), opts); err == nil {
			err = u.connect(netip.AddrPortFrom(at, uint16(peer)))
			if err == nil {
				err = u.carries(opts.Largest)
			}
			if err != nil {
				err = errors.Join(err, u.Close())
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

// BindUDP opens one end of a UDP link whose other end is on another host, and binds it
// to an address of this one: port 0 lets the kernel choose. It carries nothing before
// Connect. Of the options Port has no effect.
func BindUDP(at netip.AddrPort, opts UDPOptions) (*UDP, error) {
	if !at.Addr().IsValid() || at.Addr().IsUnspecified() {
		return nil, fmt.Errorf("bind a UDP socket to %v: expected an address of this host", at)
	}
	return listenUDP(at, opts)
}

// Connect fixes the other end of one that BindUDP has opened, and returns how long a
// datagram may be that is not cut into fragments on the path, as far as this host has learned.
func (u *UDP) Connect(to netip.AddrPort) (whole int, err error) {
	if !to.Addr().IsValid() || to.Port() == 0 {
		return 0, fmt.Errorf("connect UDP port %d to %v: expected an address and a port", u.port, to)
	}
	if err := u.connect(to); err != nil {
		return 0, err
	}
	mtu, err := u.mtu()
	return mtu - u.headers(), err
}

// AdoptUDP makes an end of a file descriptor that another process has opened with UDPPair or UDPEnd
// and passed on. The end owns it from then on.
func AdoptUDP(fd int) (*UDP, error) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, fmt.Errorf("file descriptor %d is not a UDP socket: %w", fd, err)
	}
	port := portOf(name)
	if port == 0 {
		return nil, fmt.Errorf("file descriptor %d is not a UDP socket: its address is a %T", fd, name)
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return nil, fmt.Errorf("the UDP socket on port %d has no peer: %w", port, err)
	}
	unix.CloseOnExec(fd)
	u := newUDP(fd, port)
	_, u.ipv6 = name.(*unix.SockaddrInet6)
	u.granted, err = setBuffer(fd, 0, "UDP")
	return u, err
}

// AdoptVeth makes an end of a file descriptor that another process has opened with OpenVeth, with
// the same options except the interface and the buffer, and passed on. The end owns it from then
// on.
func AdoptVeth(fd int, opts VethOptions) (*Veth, error) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, fmt.Errorf("file descriptor %d is not a packet socket: %w", fd, err)
	}
	address, ok := name.(*unix.SockaddrLinklayer)
	if !ok {
		return nil, fmt.Errorf("file descriptor %d is not a packet socket: its address is a %T", fd, name)
	}
	// The socket asks in the network namespace that it belongs to.
	request, err := unix.NewIfreq("")
	if err == nil {
		request.SetUint32(uint32(address.Ifindex))
		err = unix.IoctlIfreq(fd, unix.SIOCGIFNAME, request)
	}
	if err != nil {
		return nil, fmt.Errorf("find the interface of a packet socket: %w", err)
	}
	unix.CloseOnExec(fd)
	opts.Interface = request.Name()
	v := newVeth(fd, opts)
	if _, err := v.describe(opts); err != nil {
		return nil, fmt.Errorf("%s: %w", v.name, err)
	}
	v.granted, err = setBuffer(fd, 0, "packet")
	return v, err
}
