package netns

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// cardsName returns the file of the interfaces of a run. It is written before any of them is
// touched.
func cardsName(run uint32) string { return lockName(run) + ".interfaces" }

// claimCard records the interface of a guest as it is, if the guest is one.
func (b *builder) claimCard(t *Topology, g *Guest) error {
	if g.Card == "" {
		return nil
	}
	n := b.namespaces[g.Node]
	dev, err := n.link.LinkByName(g.Card)
	missing := errors.As(err, new(netlink.LinkNotFoundError))
	c := card{Name: g.Card, Space: n.ns.UniqueId(), Made: g.Virtual}
	switch {
	case g.Virtual && err == nil:
		return fmt.Errorf("there is an interface %s already: choose another name for the TAP device, or remove it (ip link delete %s)", g.Card, g.Card)
	case g.Virtual && missing:
	case missing:
		return fmt.Errorf("there is no interface %s on this machine; ip link shows the names", g.Card)
	case err != nil:
		return fmt.Errorf("interface %s: %w", g.Card, explain(err))
	case dev.Attrs().Flags&net.FlagLoopback != 0:
		return fmt.Errorf("interface %s is the loopback: no host is behind it, and programs on this machine need it; choose another one", g.Card)
	default:
		if err := b.harmless(n, dev); err != nil {
			return err
		}
		a := dev.Attrs()
		c.Hardware, c.Down = a.HardwareAddr.String(), a.RawFlags&unix.IFF_UP == 0
		err = n.within(func() (err error) {
			c.Offloads, err = offloadsOf(g.Card)
			return err
		})
		if err != nil {
			return err
		}
	}
	if slices.ContainsFunc(t.cards, func(x card) bool { return x.Name == c.Name }) {
		return fmt.Errorf("interface %s is another guest already", c.Name)
	}
	t.cards = append(t.cards, c)
	text, err := json.Marshal(t.cards)
	if err != nil {
		return err
	}
	return os.WriteFile(cardsName(t.run), text, 0o600)
}

// harmless refuses an interface that carries the default route of the machine: itself, a member of
// a bridge, or the one below a VLAN.
func (b *builder) harmless(n *namespace, dev netlink.Link) error {
	if b.plan.YesThisOne {
		return nil
	}
	routes, err := n.link.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("list the routes of %s: %w", n.name, explain(err))
	}
	for _, r := range routes {
		if r.Dst != nil {
			if ones, _ := r.Dst.Mask.Size(); ones > 0 {
				continue
			}
		}
		links := []int{r.LinkIndex}
		for _, hop := range r.MultiPath {
			links = append(links, hop.LinkIndex)
		}
		for _, index := range links {
			over, err := n.link.LinkByIndex(index)
			if err != nil {
				continue
			}
			a := dev.Attrs()
			below := over.Type() != (&netlink.Veth{}).Type() && over.Attrs().ParentIndex == a.Index
			if a.Index == index || a.MasterIndex == index || below {
				return fmt.Errorf("interface %s carries the default route: its frames would go into the fabric, and this machine would be cut off; choose another one, or give the run --yes-this-one",
					a.Name)
			}
		}
	}
	return nil
}

// card opens the interface of a guest.
func (b *builder) card(d *Device, n *namespace, g *Guest) error {
	b.stage("change interface " + g.Card)
	if g.Virtual {
		if err := n.within(func() error { return b.makeTap(n, g) }); err != nil {
			return err
		}
	}
	dev, err := n.link.LinkByName(g.Card)
	if err != nil {
		return fmt.Errorf("interface %s: %w", g.Card, explain(err))
	}
	if err := n.within(func() error { return d.bind(dev, g) }); err != nil {
		return fmt.Errorf("interface %s: %w", g.Card, err)
	}
	b.stage("set up interface " + g.Card)
	if err := n.link.LinkSetUp(dev); err != nil {
		return fmt.Errorf("set up interface %s: %w", g.Card, explain(err))
	}
	d.place, err = newPlace(n, g.Card)
	return err
}

// makeTap makes a TAP device that stays when its file is closed, for another program to open. It is
// labelled before.
func (b *builder) makeTap(n *namespace, g *Guest) error {
	tap := &Device{fd: -1}
	defer tap.close()
	if err := tap.open(&Guest{Interface: g.Card, Ethernet: true, At: n.name, Virtual: true}); err != nil {
		return err
	}
	dev, err := n.link.LinkByName(g.Card)
	if err == nil {
		err = n.link.LinkSetAlias(dev, b.label.of("virtual machine "+b.plan.Nodes[g.Node]))
	}
	if err == nil {
		err = n.link.LinkSetMTU(dev, g.MTU)
	}
	if err == nil {
		err = unix.IoctlSetInt(tap.fd, unix.TUNSETPERSIST, 1)
	}
	if err != nil {
		return fmt.Errorf("make the TAP device %s: %w", g.Card, explain(err))
	}
	return nil
}

// bind opens the interface in the network namespace of the calling thread. The kernel ends its
// promiscuous mode with the socket, if the run does not.
func (d *Device) bind(dev netlink.Link, g *Guest) (err error) {
	if err := setOffloadsOff(g.Card); err != nil {
		return err
	}
	if d.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open a packet socket: %w", explain(err))
	}
	for _, option := range []int{unix.PACKET_IGNORE_OUTGOING, unix.PACKET_AUXDATA, unix.PACKET_VNET_HDR} {
		if err := unix.SetsockoptInt(d.fd, unix.SOL_PACKET, option, 1); err != nil {
			return fmt.Errorf("set up a packet socket: %w: this needs Linux 4.20 or newer", err)
		}
	}
	// A packet takes up to twice its length there. A smaller buffer than wanted is no failure:
	// drops are counted.
	_ = unix.SetsockoptInt(d.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, min(g.Queue, maxBuffered)*packetMemory)
	index := dev.Attrs().Index
	if err := unix.Bind(d.fd, &unix.SockaddrLinklayer{Protocol: bits.ReverseBytes16(unix.ETH_P_ALL), Ifindex: index}); err != nil {
		return fmt.Errorf("bind a packet socket: %w", explain(err))
	}
	d.frame = &frames{all: unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}}
	if err := unix.SetsockoptPacketMreq(d.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &d.frame.all); err != nil {
		return fmt.Errorf("make it promiscuous: %w", explain(err))
	}
	return nil
}

// The memory of the packets of a guest that wait in its packet socket: 2 KB each, 64 MB at most.
const (
	packetMemory = 2 << 10
	maxBuffered  = 32 << 10
)

// putBack gives interfaces their state before a run, removes those that the run has made, and then
// its record.
func putBack(run uint32, cards []card) error {
	if len(cards) == 0 {
		return nil
	}
	n, err := spaceOf(cards[0].Space)
	switch {
	case err != nil:
		return err
	case n == nil: // its interfaces are gone with it
		return os.Remove(cardsName(run))
	}
	defer n.close()
	var wrong []error
	for _, c := range cards {
		if err := c.putBack(n, run); err != nil {
			wrong = append(wrong, fmt.Errorf("put interface %s back: %w", c.Name, explain(err)))
		}
	}
	if wrong == nil {
		if err := os.Remove(cardsName(run)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// spaceOf opens the network namespace of an identity: the calling thread's, or one with a name. It
// returns nil for one that is gone.
func spaceOf(identity string) (*namespace, error) {
	all, err := names(namespaceDir)
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{""}, all...) {
		if name != "" {
			name = filepath.Join(namespaceDir, name)
		}
		n, err := openNamespace(name)
		if err != nil {
			continue // it is not a namespace, or was removed meanwhile
		}
		if n.ns.UniqueId() == identity {
			return n, nil
		}
		n.close()
	}
	return nil, nil
}

// putBack leaves an interface alone that is gone, or another one of its name.
func (c *card) putBack(n *namespace, run uint32) error {
	dev, err := n.link.LinkByName(c.Name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	} else if err != nil {
		return err
	}
	if c.Made {
		if l, ours := parseLabel(dev.Attrs().Alias); !ours || l.run != run || dev.Type() != deviceType {
			return nil
		}
		return n.link.LinkDel(dev)
	}
	if dev.Attrs().HardwareAddr.String() != c.Hardware {
		return nil
	}
	if c.Down {
		err = n.link.LinkSetDown(dev)
	}
	return errors.Join(err, n.within(func() error { return setOffloads(c.Name, c.Offloads) }))
}

// cardsOf returns the interfaces that a run has recorded.
func cardsOf(run uint32) (all []card, err error) {
	text, err := os.ReadFile(cardsName(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("interfaces of run %08x: %w", run, err)
	}
	return all, nil
}

// frames reads and writes the frames of an interface by a packet socket. The kernel takes an 802.1Q
// tag out of a frame, and leaves checksums to a card that there may not be; read completes both.
type frames struct {
	all     unix.PacketMreq // the promiscuous mode
	control [128]byte
	lost    uint64
}

// The header of virtual networks in front of each frame, and the frame (struct virtio_net_hdr): the
// kernel takes a tag out of the frame, and the checksum begins behind the tag.
const (
	headerSize    = 10
	needsChecksum = 1 // a flag: VIRTIO_NET_HDR_F_NEEDS_CSUM
	checksumAt    = 6
	addresses     = 12
	tagSize       = 4
)

func (f *frames) read(fd int, b []byte) (int, error) {
	b = b[:len(b)-tagSize]
	for {
		n, control, flags, _, err := unix.RecvmsgBuffers(fd, [][]byte{b}, f.control[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENETDOWN): // Changes reports that it is down
			return 0, nil
		case err != nil:
			return 0, ErrGone
		case flags&unix.MSG_TRUNC != 0:
			f.lost++
			continue
		case n < headerSize+addresses+2:
			continue
		}
		if protocol, tag, tagged := tagOf(f.control[:control]); tagged {
			b = b[:n+tagSize]
			place := b[headerSize+addresses:]
			copy(place[tagSize:], place)
			binary.BigEndian.PutUint16(place, protocol)
			binary.BigEndian.PutUint16(place[2:], tag)
			if b[0]&needsChecksum != 0 {
				binary.NativeEndian.PutUint16(b[checksumAt:], binary.NativeEndian.Uint16(b[checksumAt:])+tagSize)
			}
			n += tagSize
		}
		return n, nil
	}
}

// tagOf returns the 802.1Q tag in the control messages of a frame.
func tagOf(control []byte) (protocol, tag uint16, tagged bool) {
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, 0, false
	}
	for _, m := range all {
		var x unix.TpacketAuxdata
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA ||
			binary.Read(bytes.NewReader(m.Data), binary.NativeEndian, &x) != nil || x.Status&unix.TP_STATUS_VLAN_VALID == 0 {
			continue
		}
		if protocol = unix.ETH_P_8021Q; x.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			protocol = x.Vlan_tpid
		}
		return protocol, x.Vlan_tci, true
	}
	return 0, 0, false
}

// dropped returns how many frames the socket had no room for.
func (f *frames) dropped(fd int) uint64 {
	if s, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		f.lost += uint64(s.Drops) // since the last call
	}
	return f.lost
}
