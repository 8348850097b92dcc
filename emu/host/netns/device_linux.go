package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device is this process's end of a guest's device: Read returns the packets that the guest
// sends, and the guest receives the packets that are written. A packet is behind a header of
// virtual networks, and may be a large segment of TCP (package offload). The kernel removes
// the device with its namespace, or when this process ends. One goroutine at a time uses it.
type Device struct {
	Name      string // of the guest's node
	Namespace string // the path of the network namespace; empty: the guest is an interface

	fd    int
	place *place  // empty: it is not built
	frame *frames // of an interface, which is not a TUN or TAP device of this process; nil: it is one
}

// deviceType is netlink's word for TUN and TAP devices.
const deviceType = "tuntap"

// offloadsHere are the tasks of a network card that package offload does.
const offloadsHere = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN

// tunPath is the file that opens them.
const tunPath = "/dev/net/tun"

func (b *builder) device(g *Guest) (d *Device, err error) {
	n := b.namespaces[g.Node]
	d = &Device{Name: b.plan.Nodes[g.Node], Namespace: n.path(), fd: -1}
	if g.Card != "" {
		d.Namespace = ""
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if g.Card != "" {
		return d, b.card(d, n, g)
	}
	if err := n.within(func() error { return d.open(g) }); err != nil {
		return d, err
	}
	if err := b.prepare(n, g); err != nil {
		return d, fmt.Errorf("set up %s in %s: %w", g.Interface, n.name, explain(err))
	}
	d.place, err = newPlace(n, g.Interface)
	return d, err
}

// open makes the device in the network namespace of the calling thread.
func (d *Device) open(g *Guest) (err error) {
	if d.fd, err = unix.Open(tunPath, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
			return fmt.Errorf("open %s: %w: the kernel has no TUN devices here: load the module (modprobe tun); in a container, hand it the device (--device %s)",
				tunPath, err, tunPath)
		}
		return fmt.Errorf("open %s: %w", tunPath, explain(err))
	}
	request, err := unix.NewIfreq(g.Interface)
	if err != nil {
		return err
	}
	flags := uint16(unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_TUN)
	if g.Ethernet {
		flags = unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_TAP
	}
	request.SetUint16(flags | unix.IFF_TUN_EXCL)
	switch err := unix.IoctlIfreq(d.fd, unix.TUNSETIFF, request); {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST), errors.Is(err, unix.EINVAL) && g.At != "":
		return fmt.Errorf("make the device %s in %s: there is an interface of that name: give the guest another device", g.Interface, d.Namespace)
	case err != nil:
		return fmt.Errorf("make the device: %w", explain(err))
	}
	offloads := offloadsHere
	if g.Virtual {
		offloads = 0 // another program opens the device then, and sets its own
	}
	if err := unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, offloads); err != nil {
		return fmt.Errorf("take over the checksums and segments of the device: %w", explain(err))
	}
	for name, value := range g.Parameters {
		path := filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
		if err := os.WriteFile(path, []byte(value+"\n"), 0o644); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("set %s to %s: this kernel does not have it", name, value)
			}
			return fmt.Errorf("set %s to %s: %w", name, value, explain(err))
		}
	}
	return setIPv6(g)
}

// setIPv6 turns IPv6 on or off at a new device, in the network namespace of the calling thread. A
// device of Ethernet whose addresses are left alone has it; a device of IP has no link-local
// address.
func setIPv6(g *Guest) error {
	off := "1"
	if g.IPv6.IsValid() || g.Ethernet && !g.Address.IsValid() && !g.Virtual {
		off = "0"
	}
	dir := filepath.Join("/proc/sys/net/ipv6/conf", g.Interface)
	if !g.Ethernet && off == "0" {
		_ = os.WriteFile(filepath.Join(dir, "addr_gen_mode"), []byte("1\n"), 0o644) // an older kernel lacks it
	}
	err := os.WriteFile(filepath.Join(dir, "disable_ipv6"), []byte(off+"\n"), 0o644)
	if err != nil && (off == "0" || !errors.Is(err, fs.ErrNotExist)) { // a kernel without IPv6
		return fmt.Errorf("turn IPv6 of %s on or off: %w", g.Interface, explain(err))
	}
	return nil
}

// prepare labels the device, gives it its addresses and routes, and sets it up.
func (b *builder) prepare(n *namespace, g *Guest) error {
	dev, err := n.link.LinkByName(g.Interface)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error {
			return n.link.LinkSetAlias(dev, b.label.of(guestPart(b.plan.Nodes[g.Node], g.Address.Addr())))
		},
		func() error { return n.link.LinkSetMTU(dev, g.MTU) },
		func() error { return n.link.LinkSetTxQLen(dev, g.Queue) },
	}
	if g.At == "" {
		loopback, err := n.link.LinkByName("lo")
		if err != nil {
			return err
		}
		steps = append(steps, func() error { return n.link.LinkSetUp(loopback) })
	}
	if g.Ethernet {
		steps = append(steps, func() error { return n.link.LinkSetHardwareAddr(dev, g.Hardware[:]) })
	}
	var versions []netip.Addr // that the device has
	for _, p := range []netip.Prefix{g.Address, g.IPv6} {
		if !p.IsValid() {
			continue
		}
		versions = append(versions, p.Addr())
		steps = append(steps, func() error {
			if err := unused(n, g, p); err != nil {
				return err
			}
			return n.link.AddrAdd(dev, &netlink.Addr{IPNet: network(p), Flags: unix.IFA_F_NODAD})
		})
	}
	steps = append(steps, func() error { return n.link.LinkSetUp(dev) })
	for _, other := range g.Others {
		if !slices.ContainsFunc(versions, func(a netip.Addr) bool { return a.Is4() == other.Addr().Is4() }) {
			continue
		}
		to := route(dev, network(other))
		to.RtoMin = int(g.MinRTO.Milliseconds())
		steps = append(steps, func() error {
			err := n.link.RouteAdd(to)
			if g.At != "" && errors.Is(err, unix.EEXIST) {
				return fmt.Errorf("a route to %v is there already, by another interface: give that guest another address", other)
			}
			return err
		})
	}
	if g.At == "" {
		for _, a := range versions {
			everything := netip.PrefixFrom(map[bool]netip.Addr{true: netip.IPv4Unspecified(), false: netip.IPv6Unspecified()}[a.Is4()], 0)
			steps = append(steps, func() error { return n.link.RouteAdd(route(dev, network(everything))) })
		}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// unused returns an error if a network that is to be behind a guest's device overlaps the network
// of another interface of its namespace.
func unused(n *namespace, g *Guest, p netip.Prefix) error {
	if g.At == "" {
		return nil
	}
	all, err := n.link.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}
	for _, a := range all {
		ip, _ := netip.AddrFromSlice(a.IP)
		bits, _ := a.Mask.Size()
		if has := netip.PrefixFrom(ip.Unmap(), bits); has.Overlaps(p) {
			name := "an interface"
			if dev, err := n.link.LinkByIndex(a.LinkIndex); err == nil {
				name = dev.Attrs().Name
			}
			return fmt.Errorf("the address %v is in use: %s has %v there; give the guest an address of another network, or address: none with kind: tap",
				p, name, has)
		}
	}
	return nil
}

// route returns a route to a network behind a device.
func route(dev netlink.Link, to *net.IPNet) *netlink.Route {
	return &netlink.Route{LinkIndex: dev.Attrs().Index, Dst: to, Scope: netlink.SCOPE_LINK}
}

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// guestPart is the part of a label that describes a guest's device.
func guestPart(name string, address netip.Addr) string {
	if !address.IsValid() {
		address = netip.IPv4Unspecified()
	}
	return "guest " + name + " " + address.String()
}

// Read reads the next packet that the guest has sent; n is 0 if there is none.
func (d *Device) Read(b []byte) (n int, err error) {
	if d.frame != nil {
		return d.frame.read(d.fd, b)
	}
	for {
		n, err := call(unix.SYS_READ, d.fd, b)
		switch err {
		case 0:
			return n, nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
		case unix.EBADFD, unix.EIO:
			return 0, errors.Join(ErrGone, d.closeFile())
		default:
			return 0, fmt.Errorf("guest %s: read its device: %w", d.Name, err)
		}
	}
}

// call reads or writes without the help of Go's scheduler: the device does not block.
func call(number uintptr, fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(number, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

// Write sends the guest a packet; false if its kernel did not take it.
func (d *Device) Write(b []byte) (bool, error) {
	for {
		_, err := call(unix.SYS_WRITE, d.fd, b)
		switch err {
		case 0:
			return true, nil
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM, unix.EIO, unix.EINVAL, unix.EBADFD: // full, or set down or removed by a user
			return false, nil
		default:
			if d.frame != nil { // too long for the interface, or it is gone, which Read reports
				return false, nil
			}
			return false, fmt.Errorf("guest %s: write to its device: %w", d.Name, err)
		}
	}
}

// Dropped returns how many packets the guest's kernel dropped before they could be read
// here, and how many it dropped on the path in.
func (d *Device) Dropped() (sent, received uint64, err error) {
	dev, err := d.place.link.LinkByIndex(d.place.index)
	if err != nil {
		return 0, 0, err
	}
	x := dev.Attrs().Statistics
	if d.frame != nil { // the other way round: the guest receives the packets that leave the interface
		return x.RxDropped + d.frame.dropped(d.fd), x.TxDropped, nil
	}
	return x.TxDropped, x.RxDropped, nil
}

func (d *Device) close() error {
	if d.place != nil {
		d.place.close()
	}
	return d.closeFile()
}

// closeFile closes the file of the device, and ends all waits for it.
func (d *Device) closeFile() error {
	fd := d.fd
	if d.fd = -1; fd < 0 {
		return nil
	}
	if d.frame != nil { // a process that begins now may hold the socket a little longer than this one
		_ = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_DROP_MEMBERSHIP, &d.frame.all)
	}
	return unix.Close(fd)
}

// Poll finds the devices of a run that can be read. One goroutine at a time uses it.
type Poll struct {
	fd     int
	events [16]unix.EpollEvent
}

// NewPoll returns a Poll of devices. Close ends it.
func NewPoll(devices []*Device) (*Poll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("wait for the devices of guests: %w", explain(err))
	}
	p := &Poll{fd: fd}
	for i, d := range devices {
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(i)}
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, d.fd, &event); err != nil {
			return nil, errors.Join(fmt.Errorf("wait for guest %s: %w", d.Name, explain(err)), p.Close())
		}
	}
	return p, nil
}

// Wait calls ready with the number of each device that has received packets since the previous
// call. It waits for the first of them, at most for the given time.
func (p *Poll) Wait(most time.Duration, ready func(device int)) {
	timeout, call := unix.NsecToTimespec(int64(most)), unix.RawSyscall6
	if most > 0 {
		call = unix.Syscall6 // it may sleep
	}
	n, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	if errno != 0 {
		return // a signal is as good a reason to look
	}
	for i := range int(n) {
		ready(int(p.events[i].Fd))
	}
}

// Close ends the Poll.
func (p *Poll) Close() error { return unix.Close(p.fd) }
