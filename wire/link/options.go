package link

import "fabemu/wire/unit"

// UDPOptions describe a UDP link. The zero value is a link on ports that
// the kernel chooses, with the kernel's own buffer.
type UDPOptions struct {
	// Port is the UDP port of the first end, 1 to 65534; the second has the next
	// one. 0 lets the kernel choose both, and they need not follow each other.
	Port int

	// Buffer is the receive buffer to ask for, up to 1 GiB; 0 leaves the size that the
	// kernel gives to every socket. The kernel counts the memory that a datagram takes in its
	// memory against it, which is more than its bytes: allow
	// twice the bytes that may wait, and 1 KiB for each datagram.
	Buffer unit.Size

	// Largest is the longest datagram that the link must carry, in bytes; where the
	// path between the two ends has no room for it, the link is refused with an
	// ErrTooLong. 0 asks for nothing.
	Largest int

	// Fragments lets IP cut datagrams that the path has no room for. Without it they are
	// refused by Send.
	Fragments bool
}

// VethOptions describe one end of a veth pair.
type VethOptions struct {
	// Interface is the name of this end, in the network namespace of the calling
	// thread. It must be up.
	Interface string

	// Peer is the hardware address of the other end. It goes into the Ethernet
	// header of each datagram that is sent, and datagrams from another address are refused.
	Peer [6]byte

	// Largest is the longest datagram that the link must carry, in bytes: up to
	// MaxDatagram. An interface with a lower MTU is an error.
	Largest int

	// Train is the longest packet in which several datagrams may leave, with its Ethernet header,
	// up to MaxVethTrain: of an end that becomes one for trains (VethTrain), and whose other end is
	// one. A lower MTU makes the packets shorter. 0 is for single datagrams.
	Train int

	// Native: datagrams are Ethernet frames, from the destination address
	// on. They go out as they are, and Peer does not matter. Otherwise each has an
	// Ethernet header with EtherType put in front.
	Native bool

	// Tail is the last two bytes of every datagram of a native link, high
	// byte first: frames that end otherwise are none of ours. 0 takes all frames.
	Tail uint16

	// Buffer is the receive buffer to ask for, as in UDPOptions. The kernel takes
	// about 1 KiB for each frame in addition to its bytes.
	Buffer unit.Size
}

// VethMTU is the largest MTU of a virtual Ethernet interface, and MaxVethTrain the longest frame
// there.
const (
	VethMTU      = 65535
	MaxVethTrain = VethMTU + 14
)

// File is a link that has a file descriptor to wait for.
type File interface {
	Link
	FD() int
}
