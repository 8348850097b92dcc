package netstack

import (
	"cmp"
	"fmt"
	"io"
	"math/rand"
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"fabemu/emu/run/guest"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// port is the TCP port of each stack's server, which reads all data and discards it, as the
// server of iperf 2 does at this port.
const port = 5001

// nic is the number of the only interface.
const nic = 1

// Stack is a host.
type Stack struct {
	stack    *stack.Stack
	link     *channel.Endpoint
	clock    clock
	listener tcpip.Endpoint
	open     []connection                // made by other hosts
	read     map[tcpip.FullAddress]int64 // bytes received, by the other end
	sendings []*sending
	closed   bool
}

// connection is a connection that another host has made.
type connection struct {
	e    tcpip.Endpoint
	from tcpip.FullAddress
}

// New returns a stack that listens; the time is 0 (guest.NewStack).
func New(c guest.StackConfig) (guest.Stack, error) {
	s := &Stack{read: map[tcpip.FullAddress]int64{}, link: channel.New(c.Queue, uint32(c.MTU), "")}
	s.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
		Clock:              &s.clock,
		RandSource:         &source{random: unit.NewRandom(c.Seed, 0)},
		SecureRNG:          &source{random: unit.NewRandom(c.Seed, 1)},
	})
	control := tcpip.CongestionControlOption(cmp.Or(c.TCP, scenario.NetstackTCP()[0]))
	address := tcpip.AddrFrom4(c.Address.Addr().As4())
	steps := []func() tcpip.Error{
		func() tcpip.Error { return s.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &control) },
		func() tcpip.Error { return s.stack.CreateNIC(nic, s.link) },
		func() tcpip.Error {
			return s.stack.AddProtocolAddress(nic, tcpip.ProtocolAddress{
				Protocol:          ipv4.ProtocolNumber,
				AddressWithPrefix: tcpip.AddressWithPrefix{Address: address, PrefixLen: c.Address.Bits()},
			}, stack.AddressProperties{})
		},
		func() (err tcpip.Error) {
			s.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
			s.listener, err = s.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, new(waiter.Queue))
			return err
		},
		func() tcpip.Error { return s.listener.Bind(tcpip.FullAddress{Port: port}) },
		func() tcpip.Error { return s.listener.Listen(backlog) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			s.Close()
			return nil, fmt.Errorf("a host with gVisor's TCP cannot be made: %v", err)
		}
	}
	return s, nil
}

// backlog is how many connections may wait until they are accepted, at the next instant.
const backlog = 1024

// Advance runs the timers that are due.
func (s *Stack) Advance(now unit.Time) {
	s.clock.set(now)
	s.run()
}

// run runs the timers that are due.
func (s *Stack) run() {
	for t := s.clock.due(); t != nil; t = s.clock.due() {
		t.do()
		s.finish()
	}
}

// Deadline returns when the next timer is due.
func (s *Stack) Deadline() unit.Time { return s.clock.next() }

// Write sends the stack a packet of IP, at the instant of the last Advance. The stack takes each.
func (s *Stack) Write(packet []byte) (bool, error) {
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(packet)})
	s.link.InjectInbound(ipv4.ProtocolNumber, p)
	p.DecRef()
	s.finish()
	s.run()
	return true, nil
}

// Read takes out a packet that the stack sends, and returns its length; 0: there is none.
func (s *Stack) Read(b []byte) (int, error) {
	p := s.link.Read()
	if p == nil {
		return 0, nil
	}
	defer p.DecRef()
	v := p.ToView()
	defer v.Release()
	return copy(b, v.AsSlice()), nil
}

// Dropped returns how many packets the stack dropped because its queue was full, and how many
// incoming packets it dropped.
func (s *Stack) Dropped() (sent, received uint64, err error) {
	stats := s.stack.Stats()
	return stats.NICs.TxPacketsDroppedNoBufferSpace.Value(),
		stats.IP.MalformedPacketsReceived.Value() + stats.TCP.ChecksumErrors.Value(), nil
}

// Close ends the stack: its goroutines have ended when it returns. Closing twice does no harm.
func (s *Stack) Close() {
	if s.closed {
		return
	}
	s.closed = true
	if s.listener != nil {
		s.listener.Close()
	}
	s.stack.Destroy()
}

// finish waits until the goroutines of the stack are idle, then runs the programs as far as they
// can go. A segment for one connection may make work for another: a listener makes work for the
// connection that it accepts. Pause does not wait for work that comes while it waits for the
// others, so there is a second round.
func (s *Stack) finish() {
	for again := true; again; again = s.work() {
		for range 2 {
			s.stack.Pause()
			s.stack.Resume()
		}
	}
}

// work runs the programs as far as they can go without waiting, and reports whether they have
// done anything.
func (s *Stack) work() (some bool) {
	for {
		var c connection
		var err tcpip.Error
		if c.e, _, err = s.listener.Accept(&c.from); err != nil {
			break
		}
		c.from.NIC = 0
		s.open = append(s.open, c)
		some = true
	}
	rest := s.open[:0]
	for _, c := range s.open {
		n, over := drain(c.e)
		s.read[c.from] += int64(n)
		some = some || n > 0 || over
		if over {
			c.e.Close()
			continue
		}
		rest = append(rest, c)
	}
	clear(s.open[len(rest):])
	s.open = rest
	for _, x := range s.sendings {
		some = x.work() || some
	}
	return some
}

// drain reads the data of a connection so far, and reports whether the connection has ended.
func drain(e tcpip.Endpoint) (n int, over bool) {
	for {
		r, err := e.Read(io.Discard, tcpip.ReadOptions{})
		switch err.(type) {
		case nil:
			n += r.Count
		case *tcpip.ErrWouldBlock:
			return n, false
		default:
			return n, true
		}
	}
}

// source has random numbers for a stack, whose goroutines draw them.
type source struct {
	mu     sync.Mutex
	random *unit.Random
}

var _ rand.Source64 = (*source)(nil)

func (s *source) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Uint64()
}

func (s *source) Int63() int64 { return int64(s.Uint64() >> 1) }

// Seed does nothing: the scenario has the seed.
func (s *source) Seed(int64) {}

// Read fills b.
func (s *source) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.Uint64())
	}
	return len(b), nil
}
