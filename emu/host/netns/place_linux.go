package netns

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// place is where the device of a guest is, with a netlink socket that receives the changes there.
type place struct {
	link    *netlink.Handle
	changes *nl.NetlinkSocket
	index   int
	path    string      // of the namespace; empty: it has no name that could go
	stat    unix.Stat_t // of the path
	last    state
}

// state is the part of a device that others can change.
type state struct {
	gone, away, up bool // it is not there; its namespace is not; it is up
	name, hardware string
	mtu            int
	addresses      string
}

func newPlace(n *namespace, device string) (p *place, err error) {
	p = &place{}
	defer func() {
		if err != nil {
			p.close()
			p, err = nil, fmt.Errorf("watch %s in %s: %w", device, n.name, explain(err))
		}
	}()
	if p.link, err = netlink.NewHandleAt(n.ns, unix.NETLINK_ROUTE); err != nil {
		return p, err
	}
	p.changes, err = nl.SubscribeAt(n.ns, netns.None(), unix.NETLINK_ROUTE,
		unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
	if err != nil {
		return p, err
	}
	if path := n.path(); strings.HasPrefix(n.name, "/") && unix.Stat(path, &p.stat) == nil {
		p.path = path
	}
	dev, err := p.link.LinkByName(device)
	if err != nil {
		return p, err
	}
	p.index, p.last = dev.Attrs().Index, state{}
	p.last = p.look()
	return p, nil
}

func (p *place) close() {
	if p.changes != nil {
		p.changes.Close()
	}
	if p.link != nil {
		p.link.Close()
	}
}

// look returns the present state. Where the kernel does not answer, it is the last one.
func (p *place) look() state {
	now := p.last
	now.away = p.away()
	dev, err := p.link.LinkByIndex(p.index)
	if err != nil {
		now.gone = now.gone || errors.As(err, new(netlink.LinkNotFoundError))
		return now
	}
	a := dev.Attrs()
	now.gone, now.up, now.name, now.hardware, now.mtu = false, a.Flags&net.FlagUp != 0, a.Name, a.HardwareAddr.String(), a.MTU
	if all, err := p.link.AddrList(dev, netlink.FAMILY_ALL); err == nil {
		var list []string
		for _, x := range all {
			if !x.IP.IsLinkLocalUnicast() { // the kernel adds it some time after the device is up
				list = append(list, x.IPNet.String())
			}
		}
		now.addresses = strings.Join(list, ", ")
	}
	return now
}

// away reports whether the path of the namespace leads elsewhere, or nowhere.
func (p *place) away() bool {
	var st unix.Stat_t
	return p.path != "" && (unix.Stat(p.path, &st) != nil || st.Dev != p.stat.Dev || st.Ino != p.stat.Ino)
}

// mostMessages is how many messages of the kernel one call of Changes reads.
const mostMessages = 64

// Changes returns the changes of the device, and of its namespace, that others have made since the
// last call.
func (d *Device) Changes() (all []Change) {
	p, news, down := d.place, false, false
	var b [1 << 14]byte
	for range mostMessages {
		n, _, err := unix.Recvfrom(p.changes.GetFd(), b[:], unix.MSG_DONTWAIT)
		down = down || err == nil && p.sawDown(b[:n])
		news = news || err == nil || errors.Is(err, unix.ENOBUFS) // some did not fit
		if err != nil && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if !news && p.away() == p.last.away {
		return nil
	}
	old := p.last
	p.last = p.look()
	add := func(changed bool, name, format string, args ...any) {
		if changed {
			all = append(all, Change{name, fmt.Sprintf(format, args...)})
		}
	}
	now, none := p.last, func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	add(now.away && !old.away, "namespace-gone", "its namespace %s is gone", p.path)
	if now.gone {
		add(!old.gone, "device-gone", "its device %s is gone: it was removed, or moved to another namespace", old.name)
		return all
	}
	add(now.name != old.name, "device-renamed", "its device %s has the name %s", old.name, now.name)
	add(now.mtu != old.mtu, "mtu-changed", "the MTU of its device %s is %d, and was %d", now.name, now.mtu, old.mtu)
	add((!now.up || down) && old.up, "device-down", "its device %s is down", now.name)
	add(now.up && (!old.up || down), "device-up", "its device %s is up again", now.name)
	add(now.hardware != old.hardware, "hardware-changed", "the hardware address of its device %s is %s, and was %s",
		now.name, now.hardware, old.hardware)
	add(now.addresses != old.addresses, "address-changed", "the addresses of its device %s are %s, and were %s",
		now.name, none(now.addresses), none(old.addresses))
	return all
}

// sawDown reports whether messages of the kernel describe the device while it was down.
func (p *place) sawDown(b []byte) bool {
	all, err := syscall.ParseNetlinkMessage(b)
	return err == nil && slices.ContainsFunc(all, func(m syscall.NetlinkMessage) bool {
		if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
			return false
		}
		info := nl.DeserializeIfInfomsg(m.Data)
		return int(info.Index) == p.index && info.Flags&unix.IFF_UP == 0
	})
}
