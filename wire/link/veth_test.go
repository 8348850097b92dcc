package link_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/host/netns"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// vethPorts builds two namespaces with a veth pair of an MTU between them.
func vethPorts(t testing.TB, mtu int) [2]netns.Port {
	t.Helper()
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	topology, err := netns.Build(context.Background(), netns.Plan{
		Run: rand.Uint32(), Nodes: []string{"a", "b"}, Largest: min(mtu, link.MaxDatagram), MTU: mtu,
		Links: []netns.Link{{Name: "wire", Ends: [2]netns.End{{Node: 0}, {Node: 1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := topology.Close(); err != nil {
			t.Error(err)
		}
	})
	return topology.Ends[0]
}

// veth is one end of a veth pair, and where it is.
type veth struct {
	*link.Veth
	port netns.Port
}

func openVeth(t testing.TB, p netns.Port, o link.VethOptions) veth {
	t.Helper()
	v, err := p.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, v)
	return veth{v, p}
}

// vethPair returns both ends of a veth pair that carries the longest datagrams.
func vethPair(t testing.TB, o link.VethOptions) (a, b veth) {
	t.Helper()
	ports := vethPorts(t, link.MaxDatagram)
	return openVeth(t, ports[0], o), openVeth(t, ports[1], o)
}

// vethTrain is one end of a veth pair for trains, and where it is.
type vethTrain struct {
	*link.Train
	port netns.Port
}

func (v veth) at() netns.Port      { return v.port }
func (v vethTrain) at() netns.Port { return v.port }

// vethTrains returns both ends of a veth pair of an MTU, for trains that are as long as that
// allows.
func vethTrains(t testing.TB, mtu int, o link.VethOptions) (a, b vethTrain) {
	t.Helper()
	o.Train = link.MaxVethTrain
	ports := vethPorts(t, mtu)
	x, y := openVeth(t, ports[0], o), openVeth(t, ports[1], o)
	return vethTrain{link.VethTrain(x.Veth), ports[0]}, vethTrain{link.VethTrain(y.Veth), ports[1]}
}

// frame returns an Ethernet frame from one end of a pair to the other: its header,
// and what follows.
func frame(from netns.Port, kind uint16, rest ...byte) []byte {
	f := append(append([]byte(nil), from.Peer[:]...), from.Address[:]...)
	return append(binary.BigEndian.AppendUint16(f, kind), rest...)
}

// A stranger sends on the other interface of the pair: frames of another type,
// which the kernel drops; and frames of ours from another address or without
// content, which are counted.
func strangerOnVeth(t testing.TB, a, b link.Link) (counted uint64) {
	port := b.(interface{ at() netns.Port }).at()
	stranger := openVeth(t, port, link.VethOptions{Native: true})
	send(t, stranger, frame(port, 0x0800, pattern(60, 1)...))
	send(t, stranger, frame(port, 0x8100, pattern(60, 1)...))
	send(t, stranger, frame(port, link.EtherType))
	port.Address[5] ^= 0x80
	send(t, stranger, frame(port, link.EtherType, pattern(60, 1)...))
	send(t, stranger, frame(port, link.EtherType, pattern(6000, 1)...))
	return 3
}

// The kernel delivers a frame without its 802.1Q tag; it is put back, whatever is in
// it and however long the frame is.
func TestTagsAreOnTheFramesThatArrive(t *testing.T) {
	a, b := vethPair(t, link.VethOptions{Native: true})
	const priority5, dropEligible, vlan7 = 5 << 13, 1 << 12, 7
	buf := make([]byte, 9000)
	for _, c := range []struct {
		name string
		tag  []uint16 // types and tags, from the addresses on
	}{
		{"without", []uint16{0x88B5}},
		{"vlan 7", []uint16{0x8100, priority5 | vlan7, 0x88B5}},
		{"priority only", []uint16{0x8100, priority5, 0x88B5}},
		{"nothing in it", []uint16{0x8100, 0, 0x88B5}},
		{"all bits", []uint16{0x8100, 0xFFFF, 0x88B5}},
		{"drop eligible", []uint16{0x8100, dropEligible | vlan7, 0x88B5}},
		{"service tag", []uint16{0x88A8, priority5 | vlan7, 0x88B5}},
		{"two", []uint16{0x88A8, priority5 | vlan7, 0x8100, vlan7, 0x88B5}},
		{"PAUSE", []uint16{0x8808, 1, 0xFFFF}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{30, 46, 1500, 2122, 8000} {
				want := frame(a.port, c.tag[0])
				for _, w := range c.tag[1:] {
					want = binary.BigEndian.AppendUint16(want, w)
				}
				want = append(want, pattern(n, 1)...)
				send(t, a, want)
				if got := recv(t, b, buf); !bytes.Equal(got, want) {
					t.Errorf("%d bytes that begin with %x came as %d that begin with %x", len(want), want[:24], len(got), got[:24])
				}
				// In a buffer that is just long enough, and one that is a byte short.
				send(t, a, want)
				if got := recv(t, b, make([]byte, len(want))); !bytes.Equal(got, want) {
					t.Errorf("%d bytes came as %d, or with other content, in a buffer of their size", len(want), len(got))
				}
				send(t, a, want)
				short := make([]byte, len(want)-1)
				err := error(nil)
				for end := time.Now().Add(time.Second); err == nil && time.Now().Before(end); {
					_, err = b.Recv(short)
				}
				if !errors.Is(err, link.ErrTooLong) {
					t.Errorf("%d bytes in a buffer of one less: %v, want %v", len(want), err, link.ErrTooLong)
				}
			}
		})
	}
}

// What a native link takes for its own ends with its tail; the kernel drops the rest.
func TestTailTellsOwnFramesFromOthers(t *testing.T) {
	ports := vethPorts(t, 3000)
	b := openVeth(t, ports[1], link.VethOptions{Native: true, Tail: 0xFAB1})
	a := openVeth(t, ports[0], link.VethOptions{Native: true, Tail: 0xFAB1})
	for _, other := range [][]byte{{0xFA, 0xB2}, {0xFB, 0xB1}, {0xB1, 0xFA}, {0xFA, 0xB1, 0}} {
		send(t, a, frame(ports[0], 0x88B5, append(pattern(50, 1), other...)...))
	}
	send(t, a, frame(ports[0], 0x88B5)) // and no more than a header
	silent(t, b)
	for _, n := range []int{50, 1500, 2122} {
		for _, head := range [][]byte{nil, {0xA0, 7, 0x88, 0xB5}} { // with a tag
			want := frame(ports[0], 0x8100, append(append(head, pattern(n, 1)...), 0xFA, 0xB1)...)
			send(t, a, want)
			if got := recv(t, b, make([]byte, 3000)); !bytes.Equal(got, want) {
				t.Errorf("%d bytes came as %d, or with other content", len(want), len(got))
			}
		}
	}
}

// The frames of a fabric, each with its trailer behind it, arrive as they were sent
// on a link of their family, and are read as what they are.
func TestFramesOfTheFabricOverVeth(t *testing.T) {
	t.Attr("depends-on", "privileges")
	const largest = wire.MaxFrameSize + wire.TrailerSize
	ports := vethPorts(t, largest)
	for _, c := range []struct {
		family string
		opts   link.VethOptions
		frames []wire.Frame
	}{
		{"InfiniBand", link.VethOptions{}, []wire.Frame{
			{Kind: wire.Data, Src: 1, Dst: 2, QP: 5, Payload: 2048}, {Kind: wire.Data, FECN: true, Src: 1, Dst: 2, QP: 5, PSN: 9, Payload: 4096},
			{Kind: wire.Ack, BECN: true, Src: 2, Dst: 1, QP: 5}, {Kind: wire.FlowControl},
		}},
		{"Ethernet", link.VethOptions{Native: true, Tail: wire.TrailerMagic}, []wire.Frame{
			{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Src: 3, Dst: 5, QP: 0x12, Payload: 12},
			{Kind: wire.Data, Family: wire.Ethernet, Lane: 0, FECN: true, Src: 3, Dst: 5, QP: 0x12, Payload: 1500},
			{Kind: wire.Data, Family: wire.Ethernet, Lane: 7, Tagged: true, Src: 3, Dst: 5, QP: 0xAB0012, Payload: wire.MaxMSDU},
			{Kind: wire.Pause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 65535})},
			{Kind: wire.PriorityPause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 0x18, Stopped: 8, Quanta: 65535})},
			{Kind: wire.Notification, Lane: 6, Tagged: true, Src: 0xAA, Dst: 1, QP: 0x561234, Payload: 1500, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 33, Octets: 20, Lane: 3, Dst: 2})},
		}},
	} {
		t.Run(c.family, func(t *testing.T) {
			a, b := openVeth(t, ports[0], c.opts), openVeth(t, ports[1], c.opts)
			buf := make([]byte, 2*largest)
			var all [][]byte
			for i, f := range c.frames {
				trailer := wire.Trailer{Head: 1, Due: 2, Promise: 2, Seq: uint32(i), Run: 7, Delimiter: f.Delimiter()}
				want := trailer.Append(f.Append(nil))
				all = append(all, want)
				for _, way := range [][2]veth{{a, b}, {b, a}} {
					send(t, way[0], want)
					got := recv(t, way[1], buf)
					if !bytes.Equal(got, want) {
						t.Fatalf("%v came as\n%x, sent was\n%x", f.Kind, got[:min(len(got), 100)], want[:min(len(want), 100)])
					}
					tr, frame, err := wire.ParseTrailer(got)
					if err != nil {
						t.Fatal(err)
					}
					if back, err := wire.Parse(tr.Delimiter, frame); err != nil || back != f || tr != trailer {
						t.Errorf("%v is read as %+v, %v", f.Kind, back, err)
					}
				}
			}
			c.opts.Buffer = unit.MiB
			x, y := vethTrains(t, link.VethMTU, c.opts)
			for _, way := range [][2]vethTrain{{x, y}, {y, x}} {
				put(t, way[0], all)
				put(t, way[0], all[:1]) // as it is on a link of its family
				came(t, way[1], append(all, all[0]))
				if n := way[0].Counts().Trains; n != 2 {
					t.Errorf("%d frames and one left in %d packets, want 2", len(all), n)
				}
			}
		})
	}
}

// Trains are as long as the MTU allows, down to single datagrams.
func TestSmallMTUMakesTrainsShort(t *testing.T) {
	for _, c := range []struct{ mtu, datagrams, packets int }{{link.VethMTU, 40, 1}, {3000, 40, 20}, {1500, 40, 40}} {
		a, b := vethTrains(t, c.mtu, link.VethOptions{Buffer: unit.MiB})
		if a.Room() != c.mtu {
			t.Errorf("an MTU of %d gives trains of %d bytes", c.mtu, a.Room())
		}
		train := trainOf(c.datagrams, func(int) int { return 1000 })
		put(t, a, train)
		came(t, b, train)
		if n := a.Counts().Trains; n != uint64(c.packets) {
			t.Errorf("an MTU of %d gives %d packets, want %d", c.mtu, n, c.packets)
		}
	}
}

// An end continues in another process, which knows no more of it than its descriptor
// and its peer.
func TestAdoptVeth(t *testing.T) {
	t.Attr("depends-on", "privileges")
	ports := vethPorts(t, 3000)
	for _, native := range []bool{false, true} {
		a := openVeth(t, ports[0], link.VethOptions{Native: native})
		b := openVeth(t, ports[1], link.VethOptions{Native: native, Buffer: 64 * unit.KiB})
		copied, err := syscall.Dup(b.FD())
		if err != nil {
			t.Fatal(err)
		}
		v, err := link.AdoptVeth(copied, link.VethOptions{Native: native, Peer: ports[1].Peer, Largest: 3000})
		if err != nil {
			t.Fatal(err)
		}
		adopted := veth{v, ports[1]}
		closeAtEnd(t, adopted)
		if adopted.Granted() != b.Granted() || !bytes.Equal(adopted.Peer(), ports[1].Peer[:]) {
			t.Errorf("buffer %v, peer %x; want %v, %x", adopted.Granted(), adopted.Peer(), b.Granted(), ports[1].Peer)
		}
		want := frame(ports[0], 0x8100, pattern(100, 1)...)
		send(t, a, want)
		if got := recv(t, adopted, make([]byte, 3000)); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		send(t, adopted, want)
		if got := recv(t, a, make([]byte, 3000)); !bytes.Equal(got, want) {
			t.Errorf("back came %x, want %x", got, want)
		}
	}
	udp, _ := udpPair(t, link.UDPOptions{})
	if _, err := link.AdoptVeth(udp.FD(), link.VethOptions{Largest: 3000}); err == nil {
		t.Error("a UDP socket was taken for a packet socket")
	}
}

func TestShortFramesAreRefused(t *testing.T) {
	ports := vethPorts(t, 3000)
	a := openVeth(t, ports[0], link.VethOptions{Native: true})
	if err := a.Send(make([]byte, 13)); err == nil {
		t.Error("13 bytes are taken for an Ethernet frame")
	}
}

// An interface that does not carry the longest datagram is an error when it is
// opened, and says what to do.
func TestSmallMTUIsRefused(t *testing.T) {
	port := vethPorts(t, 1500)[0]
	port.Largest = 2122
	_, err := port.Open(link.VethOptions{})
	if err == nil || !strings.Contains(err.Error(), "its MTU of 1500 bytes is too small for datagrams of 2122: raise it (ip link set fab0 mtu 2122)") {
		t.Errorf("got %v", err)
	}
	port.Largest = 1514 // with the Ethernet header, which the MTU does not count
	v, err := port.Open(link.VethOptions{Native: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestImpossibleVethOptionsAreRefused(t *testing.T) {
	t.Attr("depends-on", "privileges")
	port := vethPorts(t, 3000)[0]
	for _, c := range []struct {
		change func(*netns.Port)
		buffer unit.Size
		train  int
	}{
		{func(p *netns.Port) { p.Interface = "fab1" }, 0, 0},
		{func(p *netns.Port) { p.Interface = "" }, 0, 0},
		{func(p *netns.Port) { p.Interface = "longer-than-15-letters" }, 0, 0},
		{func(p *netns.Port) { p.Namespace = "/run/netns/there-is-no-such-thing" }, 0, 0},
		{func(p *netns.Port) { p.Namespace = "/etc/hostname" }, 0, 0},
		{func(p *netns.Port) { p.Largest = 0 }, 0, 0},
		{func(p *netns.Port) { p.Largest = link.MaxDatagram + 1 }, 0, 0},
		{func(*netns.Port) {}, -1, 0},
		{func(*netns.Port) {}, unit.GiB + 1, 0},
		{func(*netns.Port) {}, 0, -1},
		{func(*netns.Port) {}, 0, link.MaxVethTrain + 1},
	} {
		before, p := descriptors(t), port
		c.change(&p)
		if v, err := p.Open(link.VethOptions{Buffer: c.buffer, Train: c.train}); err == nil {
			t.Errorf("%+v with a buffer of %v and trains of %d is taken", p, c.buffer, c.train)
			v.Close()
		}
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors are open, %d were before", after, before)
		}
	}
}

func TestVethLostCountsWhatTheKernelDropped(t *testing.T) {
	t.Attr("depends-on", "privileges")
	ports := vethPorts(t, 3000)
	a := openVeth(t, ports[0], link.VethOptions{})
	b := openVeth(t, ports[1], link.VethOptions{Buffer: 16 * unit.KiB})
	if b.Granted() != 16*unit.KiB {
		t.Errorf("asked for 16 KiB, granted %v", b.Granted())
	}
	const sent = 200
	out := make([]byte, 2122)
	for range sent {
		send(t, a, out)
	}
	var received, lost int
	buf := make([]byte, 4096)
	for end := time.Now().Add(time.Second); received+lost < sent && time.Now().Before(end); {
		n, err := b.Recv(buf)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			received++
		}
		l, err := b.Lost() // the kernel counts from the last time on, Lost from the start
		if err != nil {
			t.Fatal(err)
		}
		lost = int(l)
	}
	if lost == 0 || received == 0 || received+lost != sent {
		t.Errorf("%d sent, %d received, %d lost", sent, received, lost)
	}
	if n, err := a.Lost(); n != 0 || err != nil {
		t.Errorf("Lost of the sender = %d, %v", n, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lost(); !errors.Is(err, link.ErrClosed) {
		t.Errorf("Lost of a closed end: %v, want %v", err, link.ErrClosed)
	}
}
