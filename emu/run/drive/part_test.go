package drive

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// hurried is a player that has something done after each Advance: what comes then comes
// too late for it.
type hurried struct {
	player
	then func(now unit.Time)
}

func (h *hurried) Advance(now unit.Time) {
	h.player.Advance(now)
	h.then(now)
}

// Frames from elsewhere whose machine has done its deadline before they are here are all
// overtaken: those that were due before it, and those of the same instant, which come
// before a deadline in the order, be they one or several. The end of a link is blind from
// when the first of them was due.
func TestPartCountsOvertakenFrames(t *testing.T) {
	at := func(us int) unit.Time { return unit.Time(us) * unit.Time(unit.Microsecond) }
	for _, test := range []struct {
		name      string
		after     int      // when the frames come, in us: after a deadline of the machine, or the end of the run at 40
		due       [3][]int // by link: when they are due, in us
		overtaken [3]int64 // all; by more than 5 % of T; by more than T
		worst     float64
		blind     unit.Duration
		link      int
	}{
		{"in time", 20, [3][]int{{21, 30}, {25}, {25}}, [3]int64{}, 0, 0, 0},
		{"of the same instant", 20, [3][]int{{20}, nil, nil}, [3]int64{1, 0, 0}, 0, 0, 0},
		{"several of the same instant", 20, [3][]int{{20}, {20}, {20}}, [3]int64{3, 0, 0}, 0, 0, 0},
		{"of the same instant, after an earlier one", 20, [3][]int{{20}, {19, 20}, nil}, [3]int64{3, 1, 0}, 0.5, unit.Microsecond, 1},
		{"earlier ones, whose times overlap", 20, [3][]int{{25}, {18, 20}, {5, 15}}, [3]int64{4, 3, 2}, 7.5, 15 * unit.Microsecond, 2},
		{"after the end", 40, [3][]int{{36, 38, 41}, {40}, nil}, [3]int64{2, 2, 1}, 2, 4 * unit.Microsecond, 0},
	} {
		f := &Setup{Machines: []Machine{nil, nil}, End: at(40), Run: 7}
		p := &Part{Dilation: 1000, Epoch: pace.Monotonic()()}
		var far [3]*link.UDP
		for i := range far {
			a, b, err := link.UDPPair(link.UDPOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { a.Close(); b.Close() })
			far[i] = a
			f.Wires = append(f.Wires, [2]port.End{{Machine: 1, Port: port.ID(i)}, {Machine: 0, Port: port.ID(i)}})
			p.Links = append(p.Links, [2]link.Link{nil, b})
			p.Longest = append(p.Longest, 2*unit.Microsecond)
		}
		come := func(now unit.Time) {
			if now == at(test.after) {
				for i, list := range test.due {
					for n, due := range list {
						tr := &port.Transmission{
							Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}, Start: at(due - 1), Due: at(due), Length: 20,
						}
						if err := far[i].Send(f.encode(nil, tr, wire.Body{}, &path{number: int32(2 * i)}, 0, uint32(n), tr.Due)); err != nil {
							t.Error(err)
						}
					}
				}
			}
		}
		f.Machines[0] = &hurried{player{story: &[]string{}, at: []unit.Time{at(10), at(20), at(30)}}, come}
		p.Settle = func() error { come(f.End); return nil }
		timing, _, err := p.Run(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		got := []any{[3]int64{timing.Overtaken, timing.Overtaken5, timing.OvertakenT}, timing.WorstOvertaken, unit.Duration(timing.Blind), timing.BlindWire}
		if diff := cmp.Diff([]any{test.overtaken, test.worst, test.blind, test.link}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// An end of a link counts what it has sent and seen from the last restart of either end:
// what is from before it went to, or came from, a process that has told nobody.
func TestTrafficCountsFromTheLastRestart(t *testing.T) {
	at := func(us int) unit.Time { return unit.Time(us) * unit.Time(unit.Microsecond) }
	restart := func(us, machine int) Change { return Change{at(us), machine, port.Event{Kind: port.Restart}} }
	for _, test := range []struct {
		name       string
		changes    []Change
		from       int
		sent, came int64
	}{
		{"none", nil, 0, 3, 3},
		{"of the other", []Change{restart(12, 1)}, 0, 2, 2},
		{"of the other, twice", []Change{restart(12, 1), restart(22, 1)}, 0, 1, 1},
		{"of this one", []Change{restart(12, 0)}, 12, 2, 2},
		{"of this one, then the other", []Change{restart(12, 0), restart(22, 1)}, 12, 1, 1},
		{"of a third", []Change{restart(12, 2)}, 0, 3, 3},
	} {
		a, b, err := link.UDPPair(link.UDPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close(); b.Close() })
		sender := &player{story: &[]string{}, ports: 1}
		f := &Setup{Machines: []Machine{sender, nil, nil}, Wires: [][2]port.End{{{Machine: 0}, {Machine: 1}}}, Changes: test.changes, End: at(40), Run: 7}
		p := &Part{Dilation: 100, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond}, From: at(test.from)}
		for n, us := range []int{10, 20, 30} {
			if us >= test.from {
				sender.at = append(sender.at, at(us))
			}
			tr := &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}, Start: at(us), Due: at(us + 1), Length: 20}
			if err := b.Send(f.encode(nil, tr, wire.Body{}, &path{number: 1}, 0, uint32(n), tr.Due)); err != nil {
				t.Fatal(err)
			}
		}
		_, traffic, err := p.Run(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Traffic{{1, -1, test.came}, {0, test.sent, -1}}, traffic); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A part that begins in place of one that was killed receives the earlier changes that last, at its begin, and no others.
func TestLastingChangesComeToALaterPart(t *testing.T) {
	us := unit.Time(unit.Microsecond)
	var story []string
	f := &Setup{Machines: []Machine{&player{story: &story, name: "a"}}, End: 40 * us, Run: 7}
	for kind := port.RateChange; kind <= port.WatchdogChange; kind++ {
		f.Changes = append(f.Changes, Change{5 * us, 0, port.Event{Kind: kind, Rate: unit.Rate(8 * kind)}})
	}
	p := &Part{Dilation: 100, Epoch: pace.Monotonic()(), From: 12 * us}
	if _, _, err := p.Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, kind := range []port.EventKind{port.RateChange, port.RoutesChange, port.BufferChange, port.WatermarksChange, port.WatchdogChange} {
		want = append(want, fmt.Sprintf("a 12us: rate %v", unit.Rate(8*kind)))
	}
	got := slices.DeleteFunc(story, func(s string) bool { return !strings.Contains(s, "rate") })
	if diff := cmp.Diff(want, got); diff != "" {
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
	f := &Setup{Machines: []Machine{&echo{player{story: &[]string{}}, bodies}, nil}, Wires: [][2]port.End{{{Machine: 0}, {Machine: 1}}}, End: at(40), Run: 7, Bodies: bodies}
	p := &Part{Dilation: 1000, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond}}
	const n = 5
	for i := range n {
		tr := &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}, Start: at(2 * i), Due: at(2*i + 1), Length: 20}
		body := wire.Body{Type: 0x0800, Bytes: []byte{byte(i), 1, 2, 3}}
		tr.Frame.Payload = uint32(4 + len(body.Bytes))
		if err := b.Send(f.encode(nil, tr, body, &path{number: 1}, 0, uint32(i), tr.Due)); err != nil {
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

// Telemetry that is cut, or that has another number of entries than it says, is refused with its datagram, by the
// reason; the frame does not arrive, and is lost once the next one has come. Where it is cut, the packet's ICRC stands
// at another place.
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
	machine := &player{story: &[]string{}}
	f := &Setup{Machines: []Machine{machine, nil}, Wires: [][2]port.End{{{Machine: 0}, {Machine: 1}}}, End: at(40), Run: 7, Bodies: new(wire.Bodies)}
	p := &Part{Dilation: 1000, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond}}
	for i, telemetry := range [][]byte{good.Bytes, less, more, cut, good.Bytes} {
		frame.PSN = uint32(i)
		tr := &port.Transmission{Frame: frame, Start: at(2 * i), Due: at(2*i + 1), Length: 200}
		body := wire.Body{Type: good.Type, Bytes: telemetry}
		if err := b.Send(f.encode(nil, tr, body, &path{number: 1}, 0, uint32(i), tr.Due)); err != nil {
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

// A datagram for another process waits where the kernel has no room for it, and is sent again where an ICMP
// message has come in its place.
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
	f := &Setup{Machines: []Machine{sender, nil}, Wires: [][2]port.End{{{Machine: 0}, {Machine: 1}}}, End: at(40), Run: 7}
	p := &Part{Dilation: 100, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{&crowded{UDP: a}, nil}}, Longest: []unit.Duration{unit.Microsecond}}
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
