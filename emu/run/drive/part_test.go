package drive

import (
	"bytes"
	"context"
	"testing"

	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// An end of a link counts what it has sent, and what has come to it.
func TestPartCountsTraffic(t *testing.T) {
	at := func(us int) unit.Time { return unit.Time(us) * unit.Time(unit.Microsecond) }
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	sender := &player{story: &[]string{}, ports: 1, at: []unit.Time{at(10), at(20), at(30)}}
	f := &Setup{Nodes: []Node{sender, nil}, Wires: [][2]port.End{{{Node: 0}, {Node: 1}}}, End: at(40), Run: 7}
	p := &Part{Dilation: 100, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond}}
	p.promised(t, f, silently, promise(unit.Never))
	for n, us := range []int{10, 20} {
		tr := &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}, Start: at(us), Due: at(us + 1), Length: 20}
		if err := b.Send(f.encode(nil, tr, wire.Body{}, &path{number: 1}, uint32(n), tr.Due)); err != nil {
			t.Fatal(err)
		}
	}
	_, traffic, err := p.Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Traffic{{1, -1, 2}, {0, 3, -1}}, traffic); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// echo sends back the bodies that come to it.
type echo struct {
	player
	bodies *wire.Bodies
}

func (e *echo) Receive(now unit.Time, _ port.ID, a *port.Arrival) {
	body := e.bodies.Of(&a.Frame)
	f := wire.Frame{Kind: wire.Data, Src: 2, Dst: 1}
	e.bodies.Put(&f, wire.Body{Type: body.Type, Bytes: append([]byte("echo of "), body.Bytes...)})
	e.bodies.Free(&a.Frame)
	e.out = append(e.out, port.Transmission{Frame: f, Start: now, Due: now.Add(unit.Microsecond), Length: 20})
}

// Bodies go from one process to another in the datagrams of their frames, and end where
// these are sent.
func TestPartCarriesBodies(t *testing.T) {
	at := func(us int) unit.Time { return unit.Time(us) * unit.Time(unit.Microsecond) }
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	bodies := new(wire.Bodies)
	f := &Setup{Nodes: []Node{&echo{player{story: &[]string{}}, bodies}, nil}, Wires: [][2]port.End{{{Node: 0}, {Node: 1}}}, End: at(40), Run: 7, Bodies: bodies}
	p := &Part{Dilation: 1000, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond}}
	p.promised(t, f, silently, promise(unit.Never))
	const n = 5
	for i := range n {
		tr := &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}, Start: at(2 * i), Due: at(2*i + 1), Length: 20}
		body := wire.Body{Type: 0x0800, Bytes: []byte{byte(i), 1, 2, 3}}
		tr.Frame.Payload = uint32(4 + len(body.Bytes))
		if err := b.Send(f.encode(nil, tr, body, &path{number: 1}, uint32(i), tr.Due)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	in := make([]byte, MaxDatagram)
	for i := range n {
		k, err := b.Recv(in)
		if err != nil {
			t.Fatal(err)
		}
		_, _, body, err := decoded(f, in[:k])
		if want := string(append([]byte("echo of "), byte(i), 1, 2, 3)); err != nil || body.Type != 0x0800 || string(body.Bytes) != want {
			t.Errorf("answer %d: %q, %v; want %q", i, body.Bytes, err, want)
		}
	}
	if bodies.Held() != 0 {
		t.Errorf("%d bodies are left", bodies.Held())
	}
}

// Telemetry that is cut, or that has another number of entries than it says, is refused with its
// datagram, by the reason; the frame does not arrive, and is lost once the next one has come. Where
// it is cut, the packet's ICRC is at another place.
func TestPartCountsTelemetryThatItRefuses(t *testing.T) {
	at := func(us int) unit.Time { return unit.Time(us) * unit.Time(unit.Microsecond) }
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	frame := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Src: 1, Dst: 2, QP: 3, Payload: 100}
	frame.SetRoCE(wire.RoCE{Stamped: true, Telemetry: wire.Rounded})
	var bodies wire.Bodies
	bodies.PutTelemetry(&frame)
	for k := range 3 {
		bodies.AddHop(&frame, &wire.Hop{Time: at(k + 1), Sent: 1000, Queue: 800, Rate: 100e9})
	}
	good := bodies.Of(&frame)
	frame.Stamp().Body = 0
	less, more, cut := bytes.Clone(good.Bytes), bytes.Clone(good.Bytes), good.Bytes[:len(good.Bytes)-8]
	less[1], more[1] = 2, 6
	node := &player{story: &[]string{}}
	f := &Setup{Nodes: []Node{node, nil}, Wires: [][2]port.End{{{Node: 0}, {Node: 1}}}, End: at(40), Run: 7, Bodies: new(wire.Bodies)}
	p := &Part{Dilation: 1000, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond}}
	p.promised(t, f, silently, promise(unit.Never))
	for i, telemetry := range [][]byte{good.Bytes, less, more, cut, good.Bytes} {
		frame.PSN = uint32(i)
		tr := &port.Transmission{Frame: frame, Start: at(2 * i), Due: at(2*i + 1), Length: 200}
		body := wire.Body{Type: good.Type, Bytes: telemetry}
		if err := b.Send(f.encode(nil, tr, body, &path{number: 1}, uint32(i), tr.Due)); err != nil {
			t.Fatal(err)
		}
	}
	measured, _, err := p.Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	refused := measured.Refused
	if measured.Received != 2 || measured.Lost != 3 || refused[wire.ErrRange] != 2 || refused[wire.ErrChecksum] != 1 {
		t.Errorf("%d are received, %d lost, %v refused; want 2, 3, and 2 of their number and one that is cut", measured.Received, measured.Lost, refused)
	}
}

// crowded is an end of a link that has no room, or reports an ICMP message, before each datagram.
type crowded struct {
	*link.UDP
	refusals int
}

func (c *crowded) Send(b []byte) error {
	switch c.refusals++; c.refusals % 4 {
	case 1:
		return link.ErrFull
	case 2, 3:
		return link.ErrUnreachable
	}
	return c.UDP.Send(b)
}

// A datagram for another process waits where the kernel has no room for it, and is retransmitted
// where an ICMP message has come in its place.
func TestPartWaitsForRoom(t *testing.T) {
	at := func(us int) unit.Time { return unit.Time(us) * unit.Time(unit.Microsecond) }
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	const n = 30
	sender := &player{story: &[]string{}, ports: 1}
	for range n {
		sender.at = append(sender.at, at(10)) // all at one instant: one train
	}
	f := &Setup{Nodes: []Node{sender, nil}, Wires: [][2]port.End{{{Node: 0}, {Node: 1}}}, End: at(40), Run: 7}
	p := &Part{Dilation: 100, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{&crowded{UDP: a}, nil}}, Longest: []unit.Duration{unit.Microsecond}}
	p.promised(t, f, silently, promise(unit.Never))
	measured, _, err := p.Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if measured.Full != n || measured.Unreachable != 2*n || measured.Sent != n {
		t.Errorf("%d sent, %d times without room, %d ICMP messages", measured.Sent, measured.Full, measured.Unreachable)
	}
	in := make([]byte, MaxDatagram)
	for i := range n {
		if k, err := b.Recv(in); k == 0 || err != nil {
			t.Fatalf("%d datagrams of %d came: %v", i, n, err)
		}
	}
}
