//go:build !linux

package link

import (
	"errors"
	"net/netip"

	"fabemu/wire/unit"
)

// errSystem is the error of every call of links that need a Linux kernel.
var errSystem = errors.New("links of sockets need Linux")

// socket stands for an end that cannot be opened on this system.
type socket struct{}

func (socket) Send([]byte) error        { return errSystem }
func (socket) Recv([]byte) (int, error) { return 0, errSystem }
func (socket) Close() error             { return nil }
func (socket) FD() int                  { return -1 }
func (socket) Granted() unit.Size       { return 0 }
func (socket) StampArrivals() error     { return errSystem }
func (socket) Stamp() int64             { return 0 }

// UDP is one end of a UDP link: on Linux.
type UDP struct{ socket }

// UDPPair opens both ends of a UDP link: on Linux.
func UDPPair(UDPOptions) (a, b *UDP, err error) { return nil, nil, errSystem }

// UDPEnd opens one end of a UDP link: on Linux.
func UDPEnd(_, _ int, _ UDPOptions) (*UDP, error) { return nil, errSystem }

// BindUDP opens one end of a UDP link between hosts: on Linux.
func BindUDP(netip.AddrPort, UDPOptions) (*UDP, error) { return nil, errSystem }

// Connect fixes its other end.
func (*UDP) Connect(netip.AddrPort) (int, error) { return 0, errSystem }

// LocalPort returns no port.
func (*UDP) LocalPort() int { return 0 }

// AdoptUDP takes over an end of a UDP link: on Linux.
func AdoptUDP(int) (*UDP, error) { return nil, errSystem }

// Unix is one end of a Unix link: on Linux.
type Unix struct{ socket }

// UnixPair opens both ends of a Unix link: on Linux.
func UnixPair(unit.Size, int) (a, b *Unix, err error) { return nil, nil, errSystem }

// AdoptUnix takes over an end of a Unix link: on Linux.
func AdoptUnix(int) (*Unix, error) { return nil, errSystem }

// UnixTrainPair opens both ends of a Unix link for trains: on Linux.
func UnixTrainPair(unit.Size, int) (a, b *Train, err error) { return nil, nil, errSystem }

// Train is one end of a UDP link for trains: on Linux.
type Train struct {
	*UDP
	queue
}

// TrainPair opens both ends of a UDP link for trains: on Linux.
func TrainPair(UDPOptions) (a, b *Train, err error) { return nil, nil, errSystem }

// VethTrain returns an end that fails.
func VethTrain(*Veth) *Train { return &Train{} }

// Room returns 0.
func (*Train) Room() int { return 0 }

func (*Train) Put([]byte) error { return errSystem }

// Flush sends nothing.
func (*Train) Flush() (left int, err error) { return 0, errSystem }

func (*Train) Next() ([]byte, error) { return nil, errSystem }

// Veth is one end of a pair of virtual Ethernet interfaces: on Linux.
type Veth struct{ socket }

// Peer returns no address.
func (*Veth) Peer() []byte { return nil }

// AdoptVeth opens the end of a veth pair: on Linux.
func AdoptVeth(int, VethOptions) (*Veth, error) { return nil, errSystem }

// Poller waits for datagrams on several links at once: on Linux.
type Poller struct{}

// NewPoller returns a poller that waits for nothing.
func NewPoller([]File) *Poller { return &Poller{} }

func (*Poller) Wait(int64, func(int)) error { return errSystem }
