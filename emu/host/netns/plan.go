package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Plan describes namespaces, links and devices to build.
type Plan struct {
	Run     uint32   // the id of the run; it is in every name
	Nodes   []string // a namespace for each; names of letters, digits, "-", "_" and ".", each once
	Links   []Link   // a veth pair for each
	Largest int      // the longest datagram that links must carry, in bytes; without links any
	MTU     int      // of the ends of links; 0: what Largest needs
	Guests  []Guest  // devices that lead to this process

	YesThisOne bool // an interface may be a guest that carries the default route
}

// Guest turns the namespace of a node into a guest: programs in it reach all others by
// a device that this process reads and writes (Device).
type Guest struct {
	Node       int            // index in Plan.Nodes
	At         string         // path of an existing namespace, instead of a new one
	Card       string         // in place of a device, an interface of this process's own namespace
	Virtual    bool           // Card is a persistent TAP device to make, which a virtual machine opens
	Interface  string         // name of the device; empty: fab0
	Ethernet   bool           // a TAP device, with frames of Ethernet; otherwise a TUN device, with packets of IP
	Address    netip.Prefix   // IPv4 address of the device, or none; the whole prefix is behind it
	IPv6       netip.Prefix   // IPv6 address, or none
	Hardware   [6]byte        // TAP: address on Ethernet
	Others     []netip.Prefix // more networks behind the device
	MinRTO     time.Duration  // least retransmission timeout of TCP to Others; 0: the kernel's
	MTU        int
	Queue      int               // packets that the kernel keeps for this process; it drops more
	Parameters map[string]string // kernel settings (sysctl) in the namespace: "net.ipv4.tcp_congestion_control" and the like
}

// guestInterface is the name of the device in the namespace of a guest that is new.
const guestInterface = interfacePrefix + "0"

// attached returns the guest of a node whose namespace is there already, or nil.
func (p *Plan) attached(node int) *Guest {
	for i := range p.Guests {
		if g := &p.Guests[i]; g.Node == node && (g.At != "" || g.Card != "") {
			return g
		}
	}
	return nil
}

// Link is a link between two nodes.
type Link struct {
	Name string
	Ends [2]End
}

// End is a port of a node.
type End struct {
	Node int // index in Plan.Nodes
	Port int // at most one link has it
}

// Run has the traces of a run in namespaces, made by this process or another.
type Run struct {
	ID         uint32
	Lives      bool
	PID        int      // the process that made it; 0: not known
	Namespaces []string // names as ip netns lists them

	known    bool // it has a file in runDir
	ending   bool // it is dead, and another process removes its traces
	cards    []card
	attached []string // paths of namespaces that were there before it, with guests of the run
}

// card is an interface of this machine that a run has changed, or made, as it was before.
type card struct {
	Name     string
	Space    string   // identity of its network namespace
	Hardware string   `json:",omitempty"`
	Made     bool     `json:",omitempty"` // a TAP device for a virtual machine
	Down     bool     `json:",omitempty"`
	Offloads []uint32 `json:",omitempty"` // the value of each of offloads
}

// Interfaces returns the interfaces of this machine that the run has changed, or made.
func (r *Run) Interfaces() (names []string) {
	for _, c := range r.cards {
		names = append(names, c.Name)
	}
	return names
}

// Change is a change of a guest's device, or of its namespace, that another process has made.
type Change struct{ Name, Text string }

// ErrGone reports that the device of a guest no longer exists.
var ErrGone = errors.New("the device is gone")

// Host is a name in /etc/hosts.
type Host struct {
	Name    string
	Address netip.Addr
}

// LiveGuest is a guest of a run that has not ended.
type LiveGuest struct {
	Name      string
	Run       *Run
	Namespace string // its path
	Hosts     []Host // all guests of the run
}

// check returns an error for the names of nodes that no namespace can have. The fabric guarantees
// that names and ports are unique and exist.
func (p *Plan) check() error {
	var wrong []error
	for _, name := range p.Nodes {
		switch full := namespaceName(p.Run, name); {
		case name == "" || strings.Trim(name, letters) != "": // a path, under which root would make a file
			wrong = append(wrong,
				fmt.Errorf("node %q: the name of a namespace has letters, digits, \"-\", \"_\" and \".\"", name))
		case len(full) > longestName:
			wrong = append(wrong,
				fmt.Errorf("node %s: the name %s has %d characters, at most %d are possible: shorten the node's name",
					name, full, len(full), longestName))
		}
	}
	return errors.Join(wrong...)
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// longestName is how many bytes the name of a file may have: NAME_MAX of Linux.
const longestName = 255

func namespaceName(run uint32, node string) string {
	return fmt.Sprintf("%s%08x-%s", namespacePrefix, run, node)
}

const namespacePrefix = "fabemu-"

// interfaceName returns the name of the interface of a port: at most 8 of the 15
// characters that the kernel has room for.
func (e End) interfaceName() string { return fmt.Sprintf("%s%d", interfacePrefix, e.Port) }

const interfacePrefix = "fab"

// address returns the hardware address of a port, one that is locally administered.
func (e End) address() [6]byte {
	p := addressPrefix()
	return [6]byte{p[0], p[1], byte(e.Node >> 8), byte(e.Node), byte(e.Port >> 8), byte(e.Port)}
}

func addressPrefix() [2]byte { return [2]byte{0x02, 0xFA} }
