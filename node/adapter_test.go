package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// etherPort is a port at 1 GB/s, on which a byte lasts a nanosecond.
func etherPort(kind port.FlowControl) port.Config {
	return port.Config{Rate: gigabyte, Propagation: ns, FlowControl: kind, Station: here}
}

// newAdapter returns a bench with an Ethernet endpoint.
func newAdapter(t *testing.T, kind port.FlowControl, a node.AdapterConfig, flows ...node.Flow) *bench {
	t.Helper()
	b := &bench{t: t}
	for i := range flows {
		flows[i].Family, flows[i].Transport, flows[i].Payload = wire.Ethernet, node.Datagrams{}, 1000
	}
	strictly(t, flows)
	e, err := node.New(node.Config{LID: here, Port: etherPort(kind), Flows: flows, Sinks: []node.Sink{{QP: 100, Transport: node.Datagrams{}}}, Adapter: a}, b)
	if err != nil {
		t.Fatal(err)
	}
	b.e = e
	return b
}

// pacer is an algorithm that has nothing to say but a probe each 10 µs, and answers each data
// frame, 5 µs apart.
type pacer struct {
	*rp.Fixed
	next, free unit.Time
	owed       int
}

func (p *pacer) Deadline() unit.Time { return p.next }
func (p *pacer) Send(now unit.Time) (f wire.Frame, ok bool) {
	if now < p.next {
		return f, false
	}
	p.next = p.next.Add(10 * us)
	return wire.Frame{Kind: wire.Message, Extension: wire.ExtensionOf(wire.MessageExtension{Value: uint64(now)})}, true
}

type answers struct{ *pacer }

func (answers) Refuses(unit.Time, wire.Frame) trace.Reason { return trace.NoReason }

func (a answers) Receive(now unit.Time, f wire.Frame) {
	if a.owed++; a.owed == 1 {
		a.next = max(now, a.free)
	}
}

func (a answers) Send(now unit.Time) (f wire.Frame, ok bool) {
	if now < a.next {
		return f, false
	}
	a.next, a.free = unit.Never, now.Add(5*us)
	if a.owed--; a.owed > 0 {
		a.next = a.free
	}
	return wire.Frame{Kind: wire.Message, PSN: 9}, true
}

// A reaction point sends its own frames when they are due, to where its flow goes and in
// its priority, before data that waits; and what answers a flow goes back to its source, no
// faster than it says.
func TestSchemesSendFramesOfTheirOwn(t *testing.T) {
	b := &bench{t: t}
	flow := node.Flow{Family: wire.Ethernet, Transport: node.Datagrams{}, Lane: 3, QP: 7, Dst: there, Payload: 1000, Stop: unit.Never,
		Limiter: node.NewInterPacketDelay(gigabyte), Reaction: of(&pacer{Fixed: rp.NewFixed(gigabyte), next: at(10 * us)})}
	c := node.Config{LID: here, Port: etherPort(port.PriorityPauseFrames), Flows: []node.Flow{flow}, Sinks: []node.Sink{{QP: 100, Source: there, Lane: 5, Transport: node.Datagrams{}, Answer: answers{&pacer{next: unit.Never}}}}}
	var err error
	if b.e, err = node.New(c, b); err != nil {
		t.Fatal(err)
	}
	b.now = at(21 * us)
	b.step(at(21 * us))
	for psn := range uint32(3) {
		b.hand(wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: 5, Src: there, Dst: here, QP: 100, PSN: psn, Payload: 1000})
	}
	b.step(at(45 * us))
	var probes, replies []port.Transmission
	for _, tr := range b.sent {
		switch f := tr.Frame; {
		case f.Kind != wire.Message:
		case f.PSN == 9:
			replies = append(replies, tr)
			if want := (wire.Frame{Kind: wire.Message, Lane: 5, Src: here, Dst: there, QP: 100, PSN: 9}); f != want {
				t.Errorf("an answer is %+v, want %+v", f, want)
			}
		default:
			probes = append(probes, tr)
			if want := (wire.Frame{Kind: wire.Message, Lane: 3, Src: here, Dst: there, QP: 7, Extension: wire.ExtensionOf(wire.MessageExtension{Value: f.Message().Value})}); f != want {
				t.Errorf("a probe is %+v, want %+v", f, want)
			}
			if late := tr.Start.Sub(unit.Time(f.Message().Value)); late < 0 || late > us+64*ns && f.Message().Value > uint64(at(21*us)) {
				t.Errorf("the probe of %v starts at %v: no more than a frame keeps it", unit.Time(f.Message().Value), tr.Start)
			}
		}
	}
	if len(probes) != 4 || len(replies) != 3 || replies[1].Start.Sub(replies[0].Start) < 4*us || replies[2].Start.Sub(replies[1].Start) < 4*us {
		t.Errorf("%d probes, and answers at %v", len(probes), replies)
	}
	if said := b.reported(trace.Message); len(said) != 7 {
		t.Errorf("%d messages are reported", len(said))
	}
	flow.Family, flow.Transport, flow.Lane = wire.InfiniBand, acked(1), 0
	for _, c := range []node.Config{
		{LID: here, Port: paperPort(), Flows: []node.Flow{flow}},
		{LID: here, Port: paperPort(), Sinks: c.Sinks},
	} {
		if _, err := node.New(c, nil); err == nil || !strings.Contains(err.Error(), "InfiniBand") {
			t.Errorf("frames of a scheme's own on InfiniBand: %v", err)
		}
	}
}

// sayer says each of its frames once, when it is due.
type sayer struct {
	*rp.Fixed
	at  unit.Time
	say []wire.Frame
}

func (s *sayer) Deadline() unit.Time {
	if len(s.say) == 0 {
		return unit.Never
	}
	return s.at
}

func (s *sayer) Send(now unit.Time) (f wire.Frame, ok bool) {
	if len(s.say) == 0 || now < s.at {
		return f, false
	}
	f, s.say = s.say[0], s.say[1:]
	return f, true
}

// vain has a body at an instant, and when it is asked for it has none.
type vain struct{ at unit.Time }

func (v *vain) Ready(unit.Time) unit.Time { return v.at }

func (v *vain) Take(unit.Time, int) (wire.Body, bool) {
	v.at = unit.Never
	return wire.Body{}, false
}

// A packet for which there is no body after all keeps no frame of a lower priority from the line.
func TestNoBodyAfterAll(t *testing.T) {
	b := &bench{t: t}
	flow := func(qp uint32, lane uint8, body unit.Time, say ...wire.Frame) node.Flow {
		return node.Flow{Family: wire.Ethernet, Transport: node.Datagrams{}, Lane: lane, QP: qp, Dst: there, Payload: 1000, Stop: unit.Never,
			Limiter: node.NewInterPacketDelay(gigabyte), Bodies: &vain{body},
			Reaction: of(&sayer{Fixed: rp.NewFixed(gigabyte), at: at(10 * us), say: say})}
	}
	c := node.Config{LID: here, Port: etherPort(port.PriorityPauseFrames), Flows: []node.Flow{
		flow(7, 3, at(10*us)), flow(8, 0, unit.Never, wire.Frame{Kind: wire.Message}),
	}}
	var err error
	if b.e, err = node.New(c, b); err != nil {
		t.Fatal(err)
	}
	b.step(at(20 * us))
	if len(b.sent) != 1 || b.sent[0].Frame.Kind != wire.Message || b.sent[0].Start != at(10*us) {
		t.Errorf("a message is due at 10us; what left is %+v", b.sent)
	}
}

// Frames of a scheme's own that wait for the link leave by priority: that of the flow or a
// higher one, before data of the same and behind data of a higher one.
func TestFramesOfASchemeLeaveByPriority(t *testing.T) {
	b := &bench{t: t}
	flow := func(qp uint32, lane uint8, at unit.Time, say ...wire.Frame) node.Flow {
		return node.Flow{Family: wire.Ethernet, Transport: node.Datagrams{}, Lane: lane, QP: qp, Dst: there, Payload: 1000, Stop: unit.Never,
			Limiter: node.NewInterPacketDelay(gigabyte / 4), Reaction: of(&sayer{Fixed: rp.NewFixed(gigabyte / 4), at: at, say: say})}
	}
	message := func(lane uint8, psn uint32) wire.Frame { return wire.Frame{Kind: wire.Message, Lane: lane, PSN: psn} }
	c := node.Config{LID: here, Port: etherPort(port.PriorityPauseFrames), Flows: []node.Flow{
		flow(7, 2, at(8500*ns), message(0, 1), message(7, 2), message(4, 3), message(7, 4)),
		flow(8, 3, unit.Never),
	}}
	var err error
	if b.e, err = node.New(c, b); err != nil {
		t.Fatal(err)
	}
	// Each flow has a frame each 4 µs; of flow 8 it starts at 8 µs, of flow 7 at 9 µs.
	b.step(at(10 * us))
	var got []uint32
	for _, tr := range b.sent {
		if tr.Start < at(9*us) {
			continue
		}
		if tr.Frame.Kind == wire.Data {
			got = append(got, 100+tr.Frame.QP)
		} else {
			got = append(got, tr.Frame.PSN)
		}
	}
	if diff := cmp.Diff([]uint32{2, 4, 3, 1, 107}, got); diff != "" {
		t.Errorf("messages, and the frames of flow 7, leave in this order: %s", diff)
	}
}

// probing returns an endpoint with a flow of E2CM to there, and one that comes from there.
func probing(t *testing.T, a node.AdapterConfig) *bench {
	t.Helper()
	b := &bench{t: t}
	p, s := param.Defaults(rp.E2CMParams{}), rp.Site{Line: gigabyte, Length: 1000, Random: unit.NewRandom(1, 1)}
	var flows []node.Flow
	for i := range 2 {
		c, err := rp.NewE2CM(p, s)
		if err != nil {
			t.Fatal(err)
		}
		flows = append(flows, node.Flow{Family: wire.Ethernet, Transport: node.Datagrams{}, QP: 7 + uint32(i), Dst: there, Payload: 1000, Stop: unit.Never, Limiter: node.NewTokenBucket(gigabyte, 2000), Reaction: c.Reaction()})
	}
	sink := node.Sink{QP: 100, Source: there, Lane: 3, Transport: node.Datagrams{}}
	for _, l := range rp.Algorithms() {
		if l.Name == "e2cm" {
			var err error
			if sink.Answer, err = l.Answer(p, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	if b.e, err = node.New(node.Config{LID: here, Port: etherPort(port.PauseFrames), Flows: flows, Sinks: []node.Sink{sink}, Adapter: a}, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// A message of ECM, by which flow qp is limited.
func ecm(qp uint32) wire.Frame {
	return wire.Frame{Kind: wire.BCN, Dst: here, QP: qp, CPID: 5, Extension: wire.ExtensionOf(wire.SampleExtension{QOffset: -1000, QDelta: 2000})}
}

// Probes and answers are taken in from the other end of their flow, as far as it waits for
// them; those of a stranger, or of an unknown flow, are dropped and counted.
func TestProbesOfStrangersAreDropped(t *testing.T) {
	b := probing(t, node.AdapterConfig{})
	b.step(at(us))
	b.hand(ecm(7))
	b.step(at(5 * us))
	probe := wire.Frame{Kind: wire.Probe, Lane: 3, Src: there, Dst: here, QP: 100, PSN: 4, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 1000, SentAt: 77})}
	with := func(f wire.Frame, change func(f *wire.Frame)) wire.Frame { change(&f); return f }
	var sent *wire.Frame
	for i := range b.sent {
		if f := &b.sent[i].Frame; f.Kind == wire.Probe {
			sent = f
		}
	}
	if sent == nil || sent.QP != 7 || sent.Dst != there {
		t.Fatalf("the limited flow has sent %+v", sent)
	}
	answer := wire.Frame{Kind: wire.Probe, Lane: 7, Src: there, Dst: here, QP: 7, PSN: sent.PSN, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: sent.Probe().Bytes, SentAt: sent.Probe().SentAt, CameAt: sent.Probe().SentAt + 1}), Flags: wire.ProbeAnswer}
	for _, c := range []struct {
		name string
		f    wire.Frame
		why  trace.Reason
	}{
		{"a stranger's probe", with(probe, func(f *wire.Frame) { f.Src = there + 1 }), trace.Stranger},
		{"of no flow", with(probe, func(f *wire.Frame) { f.QP = 99 }), trace.UnknownFlow},
		{"an answer where none is awaited", with(probe, func(f *wire.Frame) { f.Flags = wire.ProbeAnswer }), trace.NotAwaited},
		{"a stranger's answer", with(answer, func(f *wire.Frame) { f.Src = there + 1 }), trace.Stranger},
		{"an answer to a flow without probes", with(answer, func(f *wire.Frame) { f.QP = 8 }), trace.NotAwaited},
		{"an answer", answer, trace.NoReason},
		{"the same again", answer, trace.NotAwaited},
	} {
		before, taken := len(b.reported(trace.Drop)), len(b.reported(trace.Feedback))
		b.hand(c.f)
		drops := b.reported(trace.Drop)[before:]
		if c.why == trace.NoReason {
			if len(drops) != 0 || len(b.reported(trace.Feedback)) != taken+1 {
				t.Errorf("%s: %v", c.name, drops)
			}
			continue
		}
		if len(drops) != 1 || trace.Reason(drops[0].A) != c.why || wire.Kind(drops[0].B) != wire.Probe || len(b.reported(trace.Feedback)) != taken {
			t.Errorf("%s: %v, want %v", c.name, drops, c.why)
		}
	}
	b.sent = nil
	b.hand(probe)
	b.step(b.now.Add(3 * us))
	for _, tr := range b.sent {
		if f := tr.Frame; f.Kind == wire.Probe {
			if want := (wire.Frame{Kind: wire.Probe, Lane: 7, Src: here, Dst: there, QP: 100, PSN: 4, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 1000, SentAt: 77, CameAt: f.Probe().CameAt}), Flags: wire.ProbeAnswer}); f != want || f.Probe().CameAt == 0 {
				t.Errorf("the answer is %+v, want %+v", f, want)
			}
			return
		}
	}
	t.Error("a probe is not answered")
}

// An adapter with one rate limiter limits one flow. What tells another of congestion is
// dropped and counted, until the first no longer needs it.
func TestAFlowWithoutALimiterGoesOn(t *testing.T) {
	b := probing(t, node.AdapterConfig{Limiters: 1})
	b.step(at(us))
	limits := func() (all [2]unit.Rate) {
		b.e.Limits(func(qp uint32, r unit.Rate) { all[qp-7] = r })
		return all
	}
	b.hand(ecm(7))
	b.hand(ecm(8))
	b.hand(ecm(7))
	if got := limits(); got[0] >= gigabyte/2 || got[1] != gigabyte {
		t.Errorf("the limits are %v: the first flow has the limiter", got)
	}
	if drops := b.reported(trace.Drop); len(drops) != 1 || trace.Reason(drops[0].A) != trace.NoLimiter || drops[0].Flow != 8 {
		t.Errorf("dropped: %v", drops)
	}
	up := ecm(7)
	up.Sampled().QOffset, up.Sampled().QDelta = 1000, -2000
	for range 10000 {
		b.hand(up)
	}
	b.hand(ecm(8))
	if got := limits(); got[0] != gigabyte || got[1] == gigabyte {
		t.Errorf("the limits are %v: the second flow has the limiter now", got)
	}
}

type endless struct{ *rp.Fixed }

func (endless) Deadline() unit.Time { return 0 }

func (endless) Send(unit.Time) (wire.Frame, bool) { return wire.Frame{Kind: wire.Message}, true }

// A scheme whose Send comes to no end is a mistake of its code, which is named.
func TestASchemeThatSendsWithoutEnd(t *testing.T) {
	b := newAdapter(t, port.NoFlowControl, node.AdapterConfig{},
		node.Flow{QP: 7, Dst: there, Stop: unit.Never, Limiter: node.NewInterPacketDelay(gigabyte), Reaction: of(endless{rp.NewFixed(gigabyte)})})
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "node_test.endless has sent") {
			t.Errorf("it says %s", said)
		}
	}()
	b.e.Advance(0)
}

// step lets an Ethernet endpoint act, and keeps what it sends.
func (b *bench) step(t unit.Time) {
	b.t.Helper()
	for {
		b.e.Advance(b.now)
		for tr, ok := b.e.Poll(); ok; tr, ok = b.e.Poll() {
			b.sent = append(b.sent, *tr)
		}
		next := b.e.Deadline()
		if next <= b.now {
			b.t.Fatalf("%v: after Advance the deadline is %v", b.now, next)
		}
		if next > t {
			b.now = t
			return
		}
		b.now = next
	}
}

// hand gives an Ethernet endpoint a frame now.
func (b *bench) hand(f wire.Frame) {
	b.e.Receive(b.now, 0, &port.Arrival{Frame: f, Head: b.now, Tail: b.now, Length: wire.PaperFraming.Length(&f)})
}

// "A slow receiver drains at this rate and pauses the switch by its watermarks": it
// says PAUSE at the high one, takes it back at the low one, and delivers at its rate.
func TestSlowReceiverPausesTheSwitch(t *testing.T) {
	b := newAdapter(t, port.PauseFrames, node.AdapterConfig{
		Ingress: port.BufferConfig{Room: 10_000, High: 5000, Low: 2000}, Service: gigabyte / 10,
	})
	data := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: there, Dst: here, QP: 100, Payload: 1000}
	for range 5 {
		b.hand(data)
		data.PSN++
		b.step(b.now.Add(us))
	}
	pauses := b.frames(wire.Pause)
	if len(pauses) != 1 || pauses[0].Pause().Quanta != port.MaxQuanta || pauses[0].Src != here {
		t.Fatalf("after 5000 bytes: %+v", pauses)
	}
	b.step(at(29 * us)) // 5, less the 2 that are out at 20 µs
	if got := b.frames(wire.Pause); len(got) != 1 {
		t.Errorf("with 3000 bytes: %+v", got)
	}
	b.step(at(31 * us))
	if got := b.frames(wire.Pause); len(got) != 2 || got[1].Pause().Quanta != 0 {
		t.Errorf("with 2000 bytes: %+v", got)
	}
	b.step(at(100 * us))
	delivered := b.reported(trace.Deliver)
	for i, e := range delivered {
		if want := at(unit.Duration(i+1) * 10 * us); e.At != want {
			t.Errorf("frame %d was delivered at %v, want %v", i, e.At, want)
		}
	}
	if len(delivered) != 5 || len(b.reported(trace.Violation)) > 0 {
		t.Errorf("%d frames were delivered, %d violations", len(delivered), len(b.reported(trace.Violation)))
	}
	// The service rate changes, as the scenario says.
	b.e.Apply(b.now, 0, port.ServiceRate{})
	b.hand(data)
	b.step(b.now.Add(us))
	if got := len(b.reported(trace.Deliver)); got != 6 {
		t.Errorf("%d frames were delivered; now they are taken at once", got)
	}
}

// A sender that does not obey overruns the ingress, which is a violation; without flow
// control it is a drop.
func TestIngressOverrun(t *testing.T) {
	for kind, want := range map[port.FlowControl]trace.Reason{port.PauseFrames: trace.Overrun, port.NoFlowControl: trace.BufferFull} {
		b := newAdapter(t, kind, node.AdapterConfig{Ingress: port.BufferConfig{Room: 3000, High: 2000}, Service: gigabyte / 10})
		for psn := range uint32(4) {
			b.hand(wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: there, Dst: here, QP: 100, Payload: 1000, PSN: psn})
		}
		b.step(at(us))
		drops := b.reported(trace.Drop)
		if len(drops) != 1 || drops[0].A != int64(want) || drops[0].PSN != 3 {
			t.Errorf("%v: dropped %+v", kind, drops)
		}
		if got := len(b.reported(trace.Violation)); (got == 1) != (kind == port.PauseFrames) {
			t.Errorf("%v: %d violations", kind, got)
		}
	}
}

// A flow whose priority is paused keeps no other back; PAUSE keeps all.
func TestPausedPriorityKeepsNoOtherBack(t *testing.T) {
	for _, kind := range []port.FlowControl{port.PriorityPauseFrames, port.PauseFrames} {
		low, high := greedy(t, 2, gigabyte), greedy(t, 3, gigabyte)
		low.Lane, high.Lane = 3, 5
		low.Payload, high.Payload = 1000, 1000
		b := newAdapter(t, kind, node.AdapterConfig{}, low, high)
		pause := wire.Frame{Kind: wire.PriorityPause, Src: there, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 1 << 5, Stopped: 1 << 5, Quanta: 100})}
		if kind == port.PauseFrames {
			pause = wire.Frame{Kind: wire.Pause, Src: there, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 100})}
		}
		b.hand(pause) // 100 quanta are 6.4 µs
		b.step(at(20*us) - 1)
		count := map[uint8]int{}
		first := unit.Never
		for _, tr := range b.sent {
			count[tr.Frame.Lane]++
			if tr.Frame.Lane == 5 {
				first = min(first, tr.Start)
			}
		}
		want3, want := 7, at(7*us)
		if kind == port.PauseFrames {
			want3, want = 0, at(6400*ns)
		}
		if count[3] != want3 || first != want {
			t.Errorf("%v: %d packets of priority 3, want %d; priority 5 goes on at %v, want %v", kind, count[3], want3, first, want)
		}
		if n := len(b.reported(trace.Violation)); n > 0 {
			t.Errorf("%v: %d violations", kind, n)
		}
	}
}

// A link that goes down keeps what waits, and what comes up continues with it.
func TestEndpointWaitsForItsLink(t *testing.T) {
	b := newAdapter(t, port.PauseFrames, node.AdapterConfig{}, greedy(t, 2, gigabyte))
	b.step(at(5500 * ns))
	b.e.Apply(b.now, 0, port.LinkDown{})
	b.step(at(50 * us))
	if got := len(b.starts(2)); got != 6 {
		t.Errorf("%d packets started before the link was down", got)
	}
	b.e.Apply(b.now, 0, port.LinkUp{})
	b.step(at(53500 * ns))
	if s := b.starts(2); len(s) != 10 || s[6] != at(50*us) {
		t.Errorf("packets started at %v", s)
	}
}

// The sending side: flows to one destination share a queue, and the queues take turns,
// so that three flows to one destination get no more than one flow to another.
func TestVirtualOutputQueuesTakeTurns(t *testing.T) {
	l := newAdapterLink(t, node.AdapterConfig{}, []flowTo{{qp: 11, dst: 7}, {qp: 12, dst: 7}, {qp: 13, dst: 7}, {qp: 14, dst: 8}})
	n := l.sent(400)
	if n[14] != 200 {
		t.Errorf("of 400 frames %d went to the destination of one flow, want half: %v", n[14], n)
	}
	for _, qp := range []uint32{11, 12, 13} {
		if n[qp] < 66 || n[qp] > 67 {
			t.Errorf("flow %d has %d of the 200 frames of its destination, want a third", qp, n[qp])
		}
	}
}

// What is offered beyond the egress room is dropped where it was offered, and counted;
// what is in it leaves.
func TestEgressRoom(t *testing.T) {
	const frame = 1500
	offered := unit.Rate(20e9) // twice the line
	l := newAdapterLink(t, node.AdapterConfig{Egress: 10 * frame}, []flowTo{{qp: 11, dst: 7, rate: offered}})
	n := l.sent(1000)
	dropped := l.events.countDrops(trace.EgressFull)
	if n[11] != 1000 {
		t.Errorf("%d frames left", n[11])
	}
	// As many are dropped as leave, but for what is in the room.
	if dropped < 980 || dropped > 1005 {
		t.Errorf("%d frames were dropped while 1000 left", dropped)
	}
	free := newAdapterLink(t, node.AdapterConfig{}, []flowTo{{qp: 11, dst: 7, rate: offered}})
	free.sent(1000)
	if n := free.events.countDrops(trace.EgressFull); n != 0 {
		t.Errorf("%d frames were dropped although there is room without limit", n)
	}
}

// flowTo is a flow of an adapterLink: greedy, or at a constant rate.
type flowTo struct {
	qp   uint32
	dst  wire.LID
	rate unit.Rate
}

// adapterLink is an Ethernet endpoint whose frames all leave, at 10 Gb/s.
type adapterLink struct {
	t      *testing.T
	e      *node.Endpoint
	events dropLog
}

func newAdapterLink(t *testing.T, a node.AdapterConfig, flows []flowTo) *adapterLink {
	t.Helper()
	const rate = 10e9 * unit.BitPerSecond
	l := &adapterLink{t: t}
	c := node.Config{LID: 1, Port: etherPort(port.NoFlowControl), Adapter: a}
	c.Port.Rate = rate
	var err error
	for _, f := range flows {
		algorithm := rp.NewFixed(rate)
		flow := node.Flow{Family: wire.Ethernet, Transport: node.Datagrams{}, QP: f.qp, Dst: f.dst, Payload: 1500, Stop: unit.Never, Limiter: node.NewTokenBucket(rate, 1<<20), Reaction: of(algorithm)}
		if f.rate > 0 {
			if flow.Traffic, err = traffic.New(traffic.Config{Kind: traffic.Constant, Rate: f.rate, Length: 1500}); err != nil {
				t.Fatal(err)
			}
		}
		c.Flows = append(c.Flows, flow)
	}
	if l.e, err = node.New(c, &l.events); err != nil {
		t.Fatal(err)
	}
	return l
}

// sent lets this many frames leave, and returns how many of each flow.
func (l *adapterLink) sent(frames int) map[uint32]int {
	l.t.Helper()
	n := make(map[uint32]int)
	for frames > 0 {
		now := l.e.Deadline()
		if now == unit.Never {
			l.t.Fatal("nothing more leaves")
		}
		l.e.Advance(now)
		for {
			tr, ok := l.e.Poll()
			if !ok {
				break
			}
			n[tr.Frame.QP]++
			frames--
		}
	}
	return n
}

// dropLog counts drops.
type dropLog map[trace.Reason]int

func (d *dropLog) Record(e *trace.Event) {
	if e.Kind == trace.Drop {
		if *d == nil {
			*d = make(dropLog)
		}
		(*d)[trace.Reason(e.A)]++
	}
}

func (d dropLog) countDrops(why trace.Reason) int { return d[why] }

// A PAUSE is said again before it is over, also when the link becomes faster, and its
// quanta shorter.
func TestPauseIsRefreshedAtAHigherRate(t *testing.T) {
	b := newAdapter(t, port.PauseFrames, node.AdapterConfig{})
	const quanta = port.MaxQuanta // 4.2 ms
	b.e.Apply(0, 0, port.StormStart{})
	b.step(unit.Time(100_000 * ns))
	b.e.Apply(b.now, 0, port.RateChange{Rate: 10 * gigabyte})
	b.step(unit.Time(10_000_000 * ns))
	over := unit.Never
	for i, tr := range b.sent {
		if tr.Due > over {
			t.Errorf("PAUSE frame %d comes at %v, and that before it was over at %v", i, tr.Due, over)
		}
		rate := unit.Rate(gigabyte)
		if tr.Start >= unit.Time(100_000*ns) {
			rate *= 10
		}
		over = tr.Due.Add(rate.Serialise(quanta * wire.Quantum / 8))
	}
	if over < b.now || len(b.sent) < 24 {
		t.Errorf("%d PAUSE frames in %v; the last is over at %v", len(b.sent), b.now, over)
	}
}
