package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device is this process's end of a guest's device: Read returns the packets that the guest
// sends, and the guest receives the packets that are written. Each is behind a header of virtual
// networks (package offload): the guest's kernel leaves checksums and large segments of TCP to
// this process. The kernel removes the device with its namespace, or when this process ends. One
// goroutine at a time uses it.
type Device struct {
	Name      string // of the guest's machine
	Namespace string // the path of the network namespace

	fd int
}

// deviceType is netlink's word for TUN and TAP devices.
const deviceType = "tuntap"

// offloadsHere are the tasks of a network card that package offload does.
const offloadsHere = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN

// tunPath is the file that opens them.
const tunPath = "/dev/net/tun"

// device makes the device of a guest.
func (b *builder) device(g *Guest) (d *Device, err error) {
	n := b.namespaces[g.Machine]
	d = &Device{Name: b.plan.Machines[g.Machine], Namespace: n.path(), fd: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if err := within(d.Namespace, func() error { return d.open(g) }); err != nil {
		return d, err
	}
	if err := b.prepare(n, g); err != nil {
		return d, fmt.Errorf("set up %s in %s: %w", GuestInterface, n.name, explain(err))
	}
	return d, nil
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
	request, err := unix.NewIfreq(GuestInterface)
	if err != nil {
		return err
	}
	flags := uint16(unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_TUN)
	if g.Ethernet {
		flags = unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_TAP
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(d.fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("make the device: %w", explain(err))
	}
	if err := unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, offloadsHere); err != nil {
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
	return nil
}

// prepare labels the device, gives it its addresses and routes, and sets it up.
func (b *builder) prepare(n *namespace, g *Guest) error {
	loopback, err := n.link.LinkByName("lo")
	if err != nil {
		return err
	}
	dev, err := n.link.LinkByName(GuestInterface)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error {
			return n.link.LinkSetAlias(dev, b.label.of(guestPart(b.plan.Machines[g.Machine], g.Address.Addr())))
		},
		func() error { return n.link.LinkSetUp(loopback) },
		func() error { return n.link.LinkSetMTU(dev, g.MTU) },
		func() error { return n.link.LinkSetTxQLen(dev, g.Queue) },
		func() error {
			if !g.Ethernet {
				return nil
			}
			return n.link.LinkSetHardwareAddr(dev, g.Hardware[:])
		},
		func() error { return n.link.AddrAdd(dev, &netlink.Addr{IPNet: network(g.Address)}) },
		func() error { return n.link.LinkSetUp(dev) },
	}
	for _, other := range g.Others {
		to := route(dev, network(other))
		to.RtoMin = int(g.MinRTO.Milliseconds())
		steps = append(steps, func() error { return n.link.RouteAdd(to) })
	}
	steps = append(steps, func() error {
		return n.link.RouteAdd(route(dev, network(netip.PrefixFrom(netip.IPv4Unspecified(), 0))))
	})
	for _, step := range steps {
		if err := step(); err != nil {
			return err
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
	return "guest " + name + " " + address.String()
}

// Read reads the next packet that the guest has sent; n is 0 if there is none.
func (d *Device) Read(b []byte) (n int, err error) {
	for {
		n, err := call(unix.SYS_READ, d.fd, b)
		switch err {
		case 0:
			return n, nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
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
		case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM, unix.EIO, unix.EINVAL: // full, or set down by a user
			return false, nil
		default:
			return false, fmt.Errorf("guest %s: write to its device: %w", d.Name, err)
		}
	}
}

// Dropped returns how many packets the guest's kernel dropped before they could be read
// here, and how many it dropped on their way in.
func (d *Device) Dropped() (sent, received uint64, err error) {
	err = lookInto(d.Namespace, func(h *netlink.Handle) error {
		dev, err := h.LinkByName(GuestInterface)
		if err == nil {
			s := dev.Attrs().Statistics
			sent, received = s.TxDropped, s.RxDropped
		}
		return err
	})
	return sent, received, err
}

func (d *Device) close() error {
	fd := d.fd
	if d.fd = -1; fd < 0 {
		return nil
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

// Wait calls ready with the number of each device to which packets have come since the call before, after
// the first of them or after so much time.
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
