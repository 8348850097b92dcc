package scenario

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Guest makes an endpoint a real host: a network namespace whose device leads into the
// fabric. Without a kind it is none.
type Guest struct {
	// tun (an IP device) or tap (an Ethernet device), each in a network namespace, for real
	// programs (wall clock, root); or netstack, gVisor's TCP/IP in this process, on either clock.
	Kind GuestKind `key:"kind" words:"tun|tap|netstack" def:"tun"`
	// IPv4 address and prefix length; members of a range count up. none: no address; kind: tap.
	Address Address `key:"address" form:"address" computed:"10.0.0.1/16 and up, in the order of the endpoints" also:"ip|addr"`
	// IPv6 address and prefix length; members of a range count up. Without it only a tap without
	// IPv4 has IPv6.
	IPv6 Address `key:"ipv6" form:"ipv6" omit:"usual" computed:"none" also:"address6"`
	// MAC address of a tap in a namespace.
	MAC MAC `key:"mac" form:"mac" omit:"usual" computed:"the fabric's" also:"hardware"`
	// Existing network namespace, by name (ip netns) or path. Only the device is added, and removed
	// afterwards.
	Netns string `key:"netns" form:"place" omit:"usual" computed:"a new one" also:"namespace"`
	// Network namespace of this process.
	PID int `key:"pid" low:"1" high:"4194304" omit:"usual" computed:"none" also:"process"`
	// Network namespace of this docker or podman container.
	Container string `key:"container" form:"place" omit:"usual" computed:"none"`
	// Existing interface of this machine, which exchanges frames with the fabric; during the run it
	// is promiscuous and without offloads.
	Interface string `key:"interface" form:"device" omit:"usual" computed:"none" also:"nic"`
	// TAP device for a virtual machine (qemu: -netdev tap,ifname=NAME,script=no,downscript=no),
	// during the run.
	VM     string `key:"vm" form:"device" omit:"usual" computed:"none" also:"machine"`
	Device string `key:"device" form:"device" def:"fab0" omit:"usual" also:"dev|ifname" doc:"Name of the device in the namespace."`
	// Drops and counts packets with a foreign source address; the first is an event in the result.
	Strict bool `key:"strict-source" def:"false" omit:"usual"`
	// MTU of the device. Packets of the guest's flows must hold it; on InfiniBand plus 4 bytes, and
	// 18 more with tap.
	// Source: RFC 791
	MTU unit.Size `key:"mtu" low:"68B" high:"8984B" computed:"1500B, or the room in the packets of the guest's flows"`
	// Packets queued in the guest's kernel, or netstack, until the fabric takes them. Overflow is
	// counted there, not as a loss of the fabric. TCP queues less than its window.
	Queue int `key:"queue" def:"10000" low:"1" high:"1000000" also:"txqueuelen"`
	// TCP congestion control: one of the kernel's; netstack has cubic, its default, and reno.
	TCP string `key:"tcp" form:"word" omit:"usual" computed:"the kernel's" also:"congestion-control|cc"`
	// roce: paces each RoCEv2 queue pair by the control of its flow, algorithm: dcqcn or fixed;
	// answers marked packets by CNPs and consumes those that come.
	Adapter Adapter `key:"adapter" words:"roce" omit:"usual" computed:"none" also:"nic-model"`
	// DSCP of the adapter's CNPs. Priority: the flow's to which dscp assigns them.
	CNPDSCP uint8 `key:"cnp-dscp" def:"48" low:"0" high:"63" omit:"usual" also:"cnp_dscp"`
	// Packets reach the guest without ECT and CE, although its adapter takes part in congestion
	// control.
	ClearECN bool `key:"clear-ecn" def:"false" omit:"usual" also:"clear_ecn"`
	// Flow of packets with a DSCP to a destination, by priority. Others take the first flow to it.
	DSCP DSCP `key:"dscp" form:"dscp" omit:"usual" also:"priorities|qos"`
}

// NetstackTCP returns the congestion controls of guests of kind netstack, the default first.
func NetstackTCP() []string { return []string{"cubic", "reno"} }

// Address is the address of a device, with the length of the network behind it. The unspecified
// address is none: a device without an address.
type Address struct{ netip.Prefix }

// NoAddress returns the address of a device that has none.
func NoAddress() Address { return Address{netip.PrefixFrom(netip.IPv4Unspecified(), 0)} }

// MAC is a hardware address; 0: none.
type MAC struct{ wire.MAC }

// String prints the address; of a device without one, nothing.
func (m MAC) String() string {
	if m.MAC == 0 {
		return ""
	}
	return m.MAC.String()
}

// ReadMAC reads the hardware address of one device, which is not one of the fabric's own.
func ReadMAC(s string) (MAC, error) {
	b, err := net.ParseMAC(strings.TrimSpace(s))
	if err != nil || len(b) != 6 || b[0]&1 == 1 {
		return MAC{}, fmt.Errorf("%q is not the hardware address of a device, such as aa:c1:ab:00:00:01", s)
	}
	m := wire.MAC(binary.BigEndian.Uint64(append(make([]byte, 2), b...)))
	if _, own := m.LID(); own || m == 0 {
		return MAC{}, fmt.Errorf("%q is an address of the fabric itself: take one that does not start with 00:00:00:00 or 02:00:00:00", s)
	}
	return MAC{m}, nil
}

// unaddressed is the text of that address.
const unaddressed = "none"

// None reports whether the device has no address.
func (a Address) None() bool { return !a.IsValid() || a.Addr().IsUnspecified() }

// String prints the address; of a device without one, none.
func (a Address) String() string {
	if a.None() {
		return unaddressed
	}
	return a.Prefix.String()
}

// Next returns the address after a, in a network of the same length; the zero value after the last.
func (a Address) Next() Address {
	if a.None() {
		return a
	}
	return Address{netip.PrefixFrom(a.Addr().Next(), a.Bits())}
}

// Attached reports whether the guest was there before the run: its namespace, or its interface.
func (g *Guest) Attached() bool { return g.Places() > 0 && g.VM == "" }

// Card reports whether the guest is an interface of this machine, and has no namespace.
func (g *Guest) Card() bool { return g.Interface != "" || g.VM != "" }

// Bridged reports whether hardware addresses of the guest are not the fabric's.
func (g *Guest) Bridged() bool { return g.Kind == Tap && g.Places() > 0 }

func (g *Guest) Places() (n int) {
	for _, given := range []bool{g.Netns != "", g.PID > 0, g.Container != "", g.Interface != "", g.VM != ""} {
		if given {
			n++
		}
	}
	return n
}

// DSCP has the priority of packets plus 1 by the six bits of their DSCP; 0: it is not listed.
// For a DSCP that is not listed, RoCEv2 and guests have different priorities.
type DSCP [64]uint8

// Priority returns the priority for a DSCP, if it is listed.
func (d *DSCP) Priority(dscp uint8) (priority uint8, listed bool) {
	p := d[dscp&63]
	return p - 1, p > 0
}

// Class returns the priority of a packet: as listed, or else the class selector.
func (d *DSCP) Class(dscp uint8) uint8 {
	if p, listed := d.Priority(dscp); listed {
		return p
	}
	return dscp & 63 >> 3
}

func (d *DSCP) Lowest(priority uint8) (dscp uint8, ok bool) {
	for dscp := range uint8(len(d)) {
		if d.Class(dscp) == priority {
			return dscp, true
		}
	}
	return 0, false
}

// String prints the table as a list.
func (d DSCP) String() string {
	var all []string
	for dscp, p := range d {
		if p > 0 {
			all = append(all, fmt.Sprintf("{dscp: %d, priority: %d}", dscp, p-1))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// DSCPItem is the priority of one.
type DSCPItem struct {
	DSCP     uint8 `key:"dscp" need:"given" low:"0" high:"63" doc:"Value of the DSCP." source:"RFC 2474"`
	Priority uint8 `key:"priority" need:"given" low:"0" high:"7" also:"class|pcp" doc:"Priority of its packets, or of their flow."`
}

// readAddress reads the address of a device.
func readAddress(s string, six bool) (any, error) {
	version, such := "IPv4", "10.0.0.1/16"
	if six {
		version, such = "IPv6", "fd00::1/64"
	} else if s == unaddressed {
		return NoAddress(), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4() == six || p.Addr().Is4In6() {
		return nil, fmt.Errorf("%q is not an %s address with the length of its network, such as %s", s, version, such)
	}
	if a := p.Addr(); !a.IsGlobalUnicast() {
		return nil, fmt.Errorf("%s cannot be the address of a host", a)
	}
	return Address{p}, nil
}

// longestDevice is how many bytes the name of a network device may have: IFNAMSIZ of Linux, less
// the zero at its end.
const longestDevice = 15

// readDevice reads the name of a network device.
func readDevice(s string) (any, error) {
	if s == "" || s == "." || s == ".." || len(s) > longestDevice || strings.ContainsFunc(s, func(c rune) bool {
		return c == '/' || c == ':' || unicode.IsSpace(c) || unicode.IsControl(c)
	}) {
		return nil, fmt.Errorf("%q is not a name of a network device such as eth1: it has 1 to %d characters, without spaces, \"/\" and \":\"",
			s, longestDevice)
	}
	return s, nil
}

// readPlace reads the name of a namespace or a container, or a path.
func readPlace(s string) (any, error) {
	if s = strings.TrimSpace(s); s == "" || strings.HasPrefix(s, "-") || strings.ContainsFunc(s, unicode.IsControl) {
		return nil, fmt.Errorf("%q is not a name such as web-1", s)
	}
	return s, nil
}

// readCommand reads a command of a shell, which may have several lines.
func readCommand(s string) (any, error) {
	for _, c := range s {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return nil, fmt.Errorf("the command contains the control character U+%04X", c)
		}
	}
	return strings.TrimSpace(s), nil
}

// readWord reads the name of a congestion control of the kernel.
func readWord(s string) (any, error) {
	if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return nil, fmt.Errorf("%q is not a word such as reno", s)
	}
	return s, nil
}

// Guests returns the number of guests in s, and the number of real hosts among them. A
// run with real hosts is open: it runs on the wall clock only, needs the
// rights to make network namespaces, and no two runs are the same.
func (s *Scenario) Guests() (all, real int) {
	for i := range s.Endpoints {
		if k := s.Endpoints[i].Guest.Kind; k != "" {
			all++
			if k.Real() {
				real++
			}
		}
	}
	return all, real
}

// Guest returns the guest that an endpoint is; without a kind it is none.
func (s *Scenario) Guest(endpoint string) Guest {
	e, _ := rowOf(s.Endpoints, func(e *Endpoint) bool { return e.Name == endpoint })
	return e.Guest
}
