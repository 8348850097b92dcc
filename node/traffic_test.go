package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A transfer is packets of full size and one with the rest, which is marked as the last;
// what is behind it waits until it is offered.
func TestTransfersArePackets(t *testing.T) {
	for _, family := range []wire.Family{wire.InfiniBand, wire.Ethernet} {
		f := greedy(t, 7, gigabyte)
		f.Family, f.Transport = family, acked(100)
		if family == wire.Ethernet {
			f.Transport, f.Tagged = node.Datagrams{}, true
		}
		f.Traffic = transfers(at(3*us), 5000, 2048, 3, 4096, 12)
		b := newBench(t, f).open()
		b.run(at(100 * us))
		type packet struct {
			psn, payload uint32
			last         bool
		}
		rest := []uint32{904, 4} // 5000 = 2 * 2048 + 904; 3, filled up
		if family == wire.Ethernet {
			rest[1] = wire.MinMSDU
		}
		want := []packet{
			{0, 2048, false}, {1, 2048, false}, {2, rest[0], true}, {3, 2048, true}, {4, rest[1], true}, {5, 2048, false}, {6, 2048, true}, {7, 12, true},
		}
		var got []packet
		for _, p := range b.frames(wire.Data) {
			got = append(got, packet{p.PSN, p.Payload, p.Last})
			if p.Family != family || p.Lane != f.Lane || p.Tagged != f.Tagged {
				t.Errorf("%v: a packet is %+v", family, p)
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(packet{})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", family, diff)
		}
		var begun [][3]int64
		for _, e := range b.reported(trace.TransferStart) {
			begun = append(begun, [3]int64{int64(e.PSN), e.A, e.B})
			if e.At != at(3*us) || e.Flow != 7 {
				t.Errorf("%v: a transfer begins with %+v", family, e)
			}
		}
		start := int64(3 * us)
		if diff := cmp.Diff([][3]int64{{2, start, 5000}, {3, start, 2048}, {4, start, 3}, {6, start, 4096}, {7, start, 12}}, begun); diff != "" {
			t.Errorf("%v: transfers begin with (-want +got):\n%s", family, diff)
		}
	}
}

// The limiter and the line are informed the length of the last packet, which is shorter.
func TestTheRestTakesLessTime(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Transport = acked(100)
	f.Traffic = transfers(0, 2048+480, 2048)
	b := newBench(t, f).open()
	b.run(at(100 * us))
	if diff := cmp.Diff([]unit.Time{0, at(tp), at(tp + 500*ns)}, b.starts(7)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

// The sink tells when the last octet was delivered, and acknowledges nothing on Ethernet.
func TestSinkReportsTheEndOfATransfer(t *testing.T) {
	b := newBench(t).open()
	packet := func(psn uint32, last bool) {
		b.run(b.now.Add(us))
		b.give(wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: there, Dst: here, QP: 102, PSN: psn, Payload: 1000, Last: last})
	}
	packet(0, false)
	packet(1, true)
	packet(2, true)
	packet(5, false) // two are missing
	packet(7, true)  // and one
	packet(8, true)
	var got [][3]int64
	for _, e := range b.reported(trace.TransferEnd) {
		got = append(got, [3]int64{int64(e.PSN), e.A, e.B})
		if want := at(unit.Duration(map[uint32]int{1: 2, 2: 3, 7: 5, 8: 6}[e.PSN]) * us); e.Flow != 102 || e.At != want {
			t.Errorf("%+v at %v, want %v", e, e.At, want)
		}
	}
	if diff := cmp.Diff([][3]int64{{1, 0, 2000}, {2, 0, 1000}, {7, 3, 2000}, {8, 0, 1000}}, got); diff != "" {
		t.Errorf("transfers end with (-want +got):\n%s", diff)
	}
	if v := b.reported(trace.Violation); len(v) != 0 {
		t.Errorf("what is missing is a violation: %+v", v)
	}
	packet(6, false) // out of order
	if v := b.reported(trace.Violation); len(v) != 1 || v[0].A != int64(trace.OutOfOrder) || v[0].B != 9 {
		t.Errorf("a packet from before: %+v", v)
	}
	if got := len(b.reported(trace.Deliver)); got != 7 {
		t.Errorf("%d packets are delivered, want 7", got)
	}
	if acks := b.frames(wire.Ack); len(acks) != 0 {
		t.Errorf("%d ACKs on Ethernet", len(acks))
	}
}

// On Ethernet no window holds a flow back, however much it has sent.
func TestNoWindowOnEthernet(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Family, f.Transport, f.Payload = wire.Ethernet, node.Datagrams{}, 1500
	b := newBench(t, f).open()
	b.run(at(80*1500*ns - 1))
	for k, s := range b.starts(7) {
		if want := at(unit.Duration(k) * 1500 * ns); s != want {
			t.Fatalf("packet %d starts at %v, want %v: a 1500-byte frame takes 1500 bytes", k, s, want)
		}
	}
	if got := len(b.starts(7)); got != 80 {
		t.Errorf("%d packets, want 80", got)
	}
}

// notified is a reaction point that a notification slows down.
type notified struct {
	probe
	got []wire.Frame
}

func (n *notified) Feedback(_ unit.Time, f wire.Frame) {
	n.got = append(n.got, f)
	n.rate /= 2
}

// A notification finds the reaction point of the flow that it names, and its rate counts
// at once.
func TestNotificationReachesTheReactionPoint(t *testing.T) {
	p := &notified{probe: probe{next: unit.Never, rate: gigabyte}}
	f := greedy(t, 7, gigabyte)
	f.Family, f.Transport, f.Payload, f.Reaction = wire.Ethernet, node.Datagrams{}, 1000, of(p)
	b := newBench(t, f).open()
	b.run(at(2500 * ns))
	cnm := wire.Frame{Kind: wire.Notification, Src: there, Dst: here, QP: 7, PSN: 1, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 30, Octets: 64})}
	b.give(cnm)
	b.run(at(6500 * ns))
	if diff := cmp.Diff([]wire.Frame{cnm}, p.got); diff != "" {
		t.Errorf("it is informed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]unit.Time{0, at(us), at(2 * us), at(4 * us), at(6 * us)}, b.starts(7)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	if e := b.reported(trace.Feedback); len(e) != 1 || e[0].B != int64(gigabyte/2) || e[0].Flow != 7 {
		t.Errorf("reported as %+v", e)
	}
	b.give(wire.Frame{Kind: wire.Notification, Src: there, Dst: here, QP: 9})
	if e := b.reported(trace.Drop); len(e) != 1 || e[0].A != int64(trace.UnknownFlow) {
		t.Errorf("a notification for an unknown flow: %+v", e)
	}
}

// Shared traffic: each arrival is a packet of the flow that it is for, at its time, from
// the flow's start to its stop.
func TestSpread(t *testing.T) {
	config := traffic.Config{Kind: traffic.Poisson, Rate: gigabyte / 50, Length: 1000, Destinations: 3, Seed: 6}
	var flows []node.Flow
	for qp := range uint32(4) {
		f := greedy(t, 7+qp, gigabyte)
		f.Family, f.Transport, f.Payload, f.Start, f.Stop = wire.Ethernet, node.Datagrams{}, 1000, at(20*us), at(4000*us)
		f.Limiter = node.NewTokenBucket(gigabyte, 100_000)
		flows = append(flows, f)
	}
	flows[1].Start, flows[1].Stop = 0, at(10*us) // and greedy
	b := &bench{t: t}
	e, err := node.New(node.Config{Index: 5, LID: here, Port: paperPort(), Flows: flows, Spreads: []node.Spread{{Traffic: generated(t, config), Flows: []int{3, 0, 2}}}}, b)
	if err != nil {
		t.Fatal(err)
	}
	b.e = e
	b.credit = newBench(t).credit
	b.echo = unit.Second // the room is freed, no ACK comes in time
	b.open()
	b.run(at(5000 * us))
	want := map[uint32][]unit.Time{}
	g := generated(t, config)
	for a := g.Next(); a.At < at(4000*us); a = g.Next() {
		if a.At >= at(20*us) {
			qp := []uint32{10, 7, 9}[a.To]
			want[qp] = append(want[qp], a.At)
		}
	}
	for qp, arrivals := range want {
		starts := b.starts(qp)
		if len(starts) != len(arrivals) || len(starts) < 10 {
			t.Errorf("flow %d: %d packets start, %d arrive", qp, len(starts), len(arrivals))
			continue
		}
		for k := range starts {
			if wait := starts[k].Sub(arrivals[k]); wait < 0 || wait > 10*us {
				t.Errorf("flow %d: packet %d arrives at %v and starts at %v", qp, k, arrivals[k], starts[k])
			}
		}
	}
	// Ten packets fit in front of its stop, and one more was offered before and waited for
	// the line.
	if got := len(b.starts(8)); got != 11 {
		t.Errorf("the greedy flow next to them sends %d packets, want 11", got)
	}
}

func TestNewRefusesTraffic(t *testing.T) {
	g := func() traffic.Generator { return constant(t, 0, gigabyte, 1000) }
	fed := greedy(t, 7, gigabyte)
	own := greedy(t, 8, gigabyte)
	own.Traffic = g()
	for _, c := range []struct {
		name   string
		spread []int
		change func(f *node.Flow)
		want   string
	}{
		{"a flow that is not there", []int{0, 2}, nil, "flow 2 of 2"},
		{"a flow with its own", []int{1}, nil, "flow 1 of 2"},
		{"a window", nil, func(f *node.Flow) { f.Transport = acked(1) }, "a window of 1"},
		{"short packets", nil, func(f *node.Flow) { f.Payload = 11 }, "packets of 11 bytes"},
		{"long packets", nil, func(f *node.Flow) { f.Payload = 9001 }, "packets of 9001 bytes"},
	} {
		f := own
		if c.change != nil {
			f.Family, f.Transport = wire.Ethernet, node.Datagrams{}
			c.change(&f)
		}
		config := node.Config{LID: here, Port: paperPort(), Flows: []node.Flow{fed, f}}
		if c.spread != nil {
			config.Spreads = []node.Spread{{Traffic: g(), Flows: c.spread}}
		}
		if _, err := node.New(config, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Two endpoints on one Ethernet link, every frame as bytes: a transfer is complete when
// its last byte has crossed the link and the cable.
func TestTransferCrossesALink(t *testing.T) {
	config := port.Config{Rate: gigabyte, Propagation: 7 * ns, FlowControl: port.NoFlowControl}
	f := greedy(t, 9, gigabyte)
	f.Family, f.Transport, f.Lane, f.Tagged, f.Payload = wire.Ethernet, node.Datagrams{}, 5, true, 1500
	f.Traffic = transfers(at(us), 5000, 3000)
	events := [2]bench{}
	a, errA := node.New(node.Config{LID: here, Port: config, Flows: []node.Flow{f}}, &events[0])
	b, errB := node.New(node.Config{LID: there, Port: config, Sinks: []node.Sink{{QP: 9, Transport: f.Transport}}}, &events[1])
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	var flying []port.Transmission
	for now := unit.Time(0); now < at(100*us); {
		for len(flying) > 0 && flying[0].Due <= now {
			tr := flying[0]
			flying = flying[1:]
			frame, err := wire.Parse(tr.Frame.Delimiter(), tr.Frame.Append(nil))
			if err != nil || frame != tr.Frame {
				t.Fatalf("%+v came as %+v, %v", tr.Frame, frame, err)
			}
			b.Receive(now, 0, &port.Arrival{Frame: frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length})
		}
		a.Advance(now)
		b.Advance(now)
		for tr, ok := a.Poll(); ok; tr, ok = a.Poll() {
			flying = append(flying, *tr)
		}
		if tr, ok := b.Poll(); ok {
			t.Fatalf("the sink sends %+v", tr.Frame)
		}
		now = min(a.Deadline(), b.Deadline())
		if len(flying) > 0 {
			now = min(now, flying[0].Due)
		}
	}
	var ends []unit.Time
	for _, e := range events[1].reported(trace.TransferEnd) {
		ends = append(ends, e.At)
	}
	if diff := cmp.Diff([]unit.Time{at(us + 5000*ns + 7*ns), at(us + 8000*ns + 7*ns)}, ends); diff != "" {
		t.Errorf("transfers end at (-want +got):\n%s", diff)
	}
	if got := len(events[1].reported(trace.Deliver)); got != 6 {
		t.Errorf("%d packets are delivered, want 6", got)
	}
}
