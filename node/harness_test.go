package node_test

import (
	"testing"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const (
	gigabyte = unit.Rate(8e9) // per second: a byte lasts a nanosecond
	ns       = unit.Nanosecond
	us       = unit.Microsecond
	tp       = 2068 * ns // HPL-2002-224, Table I: "data packet tx time 2.068 us"

	here  = wire.LID(1) // the endpoint
	there = wire.LID(2) // its peer on the bench
)

func at(d unit.Duration) unit.Time { return unit.Time(d) }

// A bench holds one endpoint and plays its peer, in its own model time: it gives
// frames, keeps what the endpoint sends and reports, and watches after every call
// that the contract between a node and its driver is kept.
type bench struct {
	t      testing.TB
	e      *node.Endpoint
	now    unit.Time
	events []trace.Event
	sent   []port.Transmission // all of it
	free   unit.Time           // when the endpoint's line is idle

	credit [port.Lanes]port.Credit // the peer's
	echo   unit.Duration           // from the start of a data packet to its ACK; 0: tests acknowledge
	marked func(psn uint32) bool   // echo: which packets have met congestion
	due    []given                 // frames to come, in order
}

type given struct {
	at unit.Time
	f  wire.Frame
}

// Record keeps an event.
func (b *bench) Record(e *trace.Event) { b.events = append(b.events, *e) }

// paperPort is a port of HPL-2002-224.
func paperPort() port.Config {
	return port.Config{Rate: gigabyte, Propagation: ns, CutThrough: true, Room: 4 * 33, Resend: 262144 * ns}
}

// fixed is a reaction point that never changes its rate.
func fixed(t testing.TB, r unit.Rate) rp.Reaction { return algorithm(t, "fixed", r) }

func algorithm(t testing.TB, name string, r unit.Rate) rp.Reaction {
	t.Helper()
	for _, l := range rp.Algorithms() {
		if l.Name == name {
			r, err := l.New(param.Defaults(l.Params), rp.Site{Line: r, Length: 2068, Random: unit.NewRandom(1, 1)})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no algorithm %s", name)
	return rp.Reaction{}
}

// of is the reaction point of a test, which may send its own frames.
func of(c rp.Controller) rp.Reaction {
	r := rp.Reaction{Controller: c}
	if s, ok := c.(interface {
		Send(now unit.Time) (wire.Frame, bool)
	}); ok {
		r.Send = s.Send
	}
	return r
}

// acked is the transport of InfiniBand.
func acked(window int) node.Transport { return node.Acknowledged{Window: window} }

// greedy is a flow that always has a packet, from the start of the run.
func greedy(t testing.TB, qp uint32, r unit.Rate) node.Flow {
	return node.Flow{QP: qp, Dst: there, Payload: 2048, Transport: acked(1), Stop: unit.Never, Limiter: node.NewInterPacketDelay(r), Reaction: fixed(t, r)}
}

// constant is the traffic of packets of n bytes on the link at rate r, from start on.
func constant(t testing.TB, start unit.Time, r unit.Rate, n unit.Size) traffic.Generator {
	return generated(t, traffic.Config{Kind: traffic.Constant, Start: start, Rate: r, Length: n})
}

func generated(t testing.TB, c traffic.Config) traffic.Generator {
	t.Helper()
	g, err := traffic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// transfers returns transfers of these sizes, all at an instant.
func transfers(at unit.Time, sizes ...unit.Size) traffic.Generator {
	var all []traffic.Arrival
	for _, n := range sizes {
		all = append(all, traffic.Arrival{At: at, Size: n})
	}
	return traffic.NewList(all)
}

// sizes reads a distribution.
func sizes(t testing.TB, text string) traffic.Sizes {
	t.Helper()
	s, err := traffic.ParseSizes(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newBench returns an endpoint with these flows, and sinks for the queue pairs 100 and
// 101, and 102 without ACKs.
func newBench(t testing.TB, flows ...node.Flow) *bench {
	t.Helper()
	b := &bench{t: t}
	strictly(t, flows)
	e, err := node.New(node.Config{Index: 5, LID: here, Port: paperPort(), Flows: flows, Sinks: []node.Sink{{QP: 100, Transport: acked(1)}, {QP: 101, Transport: acked(1)}, {QP: 102, Transport: node.Datagrams{}}}}, b)
	if err != nil {
		t.Fatal(err)
	}
	b.e = e
	for lane := range b.credit {
		b.credit[lane] = port.NewCredit([]int{2048, port.AckRoom}[lane], 1)
	}
	return b
}

// strict is a limiter that holds its caller to the contract of node.RateLimiter:
// "Instants never decrease, over all calls of all three methods", and "Sent is at or
// after the instant that the last Next gave, and that Next let the packet start".
type strict struct {
	node.RateLimiter
	t    testing.TB
	last unit.Time // the latest instant that it was informed
	open bool      // the last Next let a packet start
}

// strictly makes the limiters of flows strict.
func strictly(t testing.TB, flows []node.Flow) {
	for i := range flows {
		if flows[i].Limiter != nil {
			flows[i].Limiter = &strict{RateLimiter: flows[i].Limiter, t: t}
		}
	}
}

func (l *strict) informed(now unit.Time) {
	l.t.Helper()
	if now < l.last {
		l.t.Fatalf("the limiter is informed %v after %v", now, l.last)
	}
	l.last = now
}

func (l *strict) Next(now unit.Time, n unit.Size) unit.Time {
	l.informed(now)
	t := l.RateLimiter.Next(now, n)
	if l.open = t == now; t < now {
		l.t.Fatalf("asked at %v, the limiter gives %v", now, t)
	}
	return t
}

func (l *strict) Sent(now unit.Time, n unit.Size) {
	l.informed(now)
	if !l.open {
		l.t.Fatalf("a packet started at %v that the limiter had not let start", now)
	}
	l.open = false
	l.RateLimiter.Sent(now, n)
}

func (l *strict) SetRate(now unit.Time, r unit.Rate) {
	l.informed(now)
	l.RateLimiter.SetRate(now, r)
}

// echoing makes the peer acknowledge each data packet that long after its start.
func (b *bench) echoing(d unit.Duration) *bench {
	b.echo = d
	return b
}

// open advances to 0 and gives the endpoint the peer's room, on both lanes.
func (b *bench) open() *bench {
	b.t.Helper()
	b.advance()
	for lane := range b.credit {
		b.tell(uint8(lane))
	}
	return b
}

// tell gives the endpoint a flow control packet.
func (b *bench) tell(lane uint8) {
	b.t.Helper()
	b.give(b.credit[lane].Packet(lane))
}

// give hands the endpoint a frame now, and lets it act.
func (b *bench) give(f wire.Frame) {
	b.t.Helper()
	b.receive(f)
	b.advance()
}

// ends reports whether the frame that came last has ended at the port.
func (b *bench) ends() bool {
	last := b.events[len(b.events)-1]
	kind, _, _ := trace.FrameOf(last.A)
	return last.Kind == trace.Drop || last.Kind == trace.Arrive && kind.Control()
}

// receive hands the endpoint a frame now. "Receive only takes in: what follows from a
// frame is done by Advance at the same instant", so the deadline is now at most. What ends
// at the port may be of no concern to anything that waits.
func (b *bench) receive(f wire.Frame) {
	b.t.Helper()
	n := wire.PaperFraming.Length(&f)
	if !f.Kind.Control() && f.Lane < port.Lanes && b.credit[f.Lane].MaySend(f.Blocks()) {
		b.credit[f.Lane].Sent(f.Blocks())
	}
	b.e.Receive(b.now, 0, &port.Arrival{Frame: f, Head: b.now, Tail: b.now, Length: n})
	b.poll()
	if d := b.e.Deadline(); d > b.now && !b.ends() {
		b.t.Errorf("%v: after Receive the deadline is %v, want now: Advance has to look at it", b.now, d)
	}
}

// advance lets the endpoint do what is due. "After Advance Deadline() > now"; and "a
// call of Advance that comes too early does nothing", which a second one is.
func (b *bench) advance() {
	b.t.Helper()
	b.e.Advance(b.now)
	b.poll()
	deadline := b.e.Deadline()
	if deadline <= b.now {
		b.t.Fatalf("%v: after Advance the deadline is %v", b.now, deadline)
	}
	events, sent := len(b.events), len(b.sent)
	b.e.Advance(b.now)
	b.poll()
	if len(b.events) != events || len(b.sent) != sent || b.e.Deadline() != deadline {
		b.t.Fatalf("%v: a second Advance reported %d events, sent %d frames and moved the deadline from %v to %v",
			b.now, len(b.events)-events, len(b.sent)-sent, deadline, b.e.Deadline())
	}
}

// poll takes what the endpoint sends, and is the peer that receives it.
func (b *bench) poll() {
	b.t.Helper()
	for tr, ok := b.e.Poll(); ok; tr, ok = b.e.Poll() {
		if tr.Start > b.now || tr.Start < b.free {
			b.t.Errorf("%v: %v starts at %v, and the line is idle from %v", b.now, tr.Frame.Kind, tr.Start, b.free)
		}
		b.free = tr.Start.Add(tr.Duration)
		if tr.Due <= tr.Start {
			b.t.Errorf("%v: %v is due at %v: no latency is zero", tr.Start, tr.Frame.Kind, tr.Due)
		}
		b.sent = append(b.sent, *tr)
		c := &b.credit[tr.Frame.Lane]
		if tr.Frame.Kind == wire.FlowControl {
			c.Receive(&tr.Frame)
			continue
		}
		if !c.Received(tr.Frame.Blocks()) {
			b.t.Errorf("%v: %v %d was sent and there is no room for it", tr.Start, tr.Frame.Kind, tr.Frame.PSN)
		}
		if tr.Frame.Kind == wire.Data && b.echo > 0 {
			b.later(tr.Start.Add(b.echo), b.ackOf(&tr.Frame, b.marked != nil && b.marked(tr.Frame.PSN)))
		}
	}
}

// ackOf returns the ACK of a data packet.
func (b *bench) ackOf(f *wire.Frame, marked bool) wire.Frame {
	return wire.Frame{Kind: wire.Ack, Lane: port.AckLane, Src: there, Dst: here, QP: f.QP, PSN: f.PSN, BECN: marked}
}

// later gives the endpoint a frame at t.
func (b *bench) later(t unit.Time, f wire.Frame) {
	i := len(b.due)
	for i > 0 && b.due[i-1].at > t {
		i--
	}
	b.due = append(b.due[:i], append([]given{{t, f}}, b.due[i:]...)...)
}

// run lets time continue to t: at each instant first the frames of that instant, then
// Advance. With echo the peer also frees what it has received.
func (b *bench) run(t unit.Time) {
	b.t.Helper()
	for steps := 0; ; steps++ {
		if steps > 10_000_000 {
			b.t.Fatalf("%v: time does not go on", b.now)
		}
		next := b.e.Deadline()
		if len(b.due) > 0 {
			next = min(next, b.due[0].at)
		}
		if next > t {
			b.now = t
			return
		}
		b.now = max(b.now, next)
		for len(b.due) > 0 && b.due[0].at <= b.now {
			f := b.due[0].f
			b.due = b.due[1:]
			b.receive(f)
		}
		if b.echo > 0 && b.credit[port.DataLane].Used() > 1000 {
			c := &b.credit[port.DataLane]
			c.Freed(c.Used())
			b.receive(c.Packet(port.DataLane))
		}
		b.advance()
	}
}

// starts returns when the packets of a flow started.
func (b *bench) starts(qp uint32) []unit.Time {
	var s []unit.Time
	for _, tr := range b.sent {
		if tr.Frame.Kind == wire.Data && tr.Frame.QP == qp {
			s = append(s, tr.Start)
		}
	}
	return s
}

// frames returns what was sent of a kind.
func (b *bench) frames(k wire.Kind) []wire.Frame {
	var s []wire.Frame
	for _, tr := range b.sent {
		if tr.Frame.Kind == k {
			s = append(s, tr.Frame)
		}
	}
	return s
}

// reported returns the events of a kind.
func (b *bench) reported(k trace.Kind) []trace.Event {
	var s []trace.Event
	for _, e := range b.events {
		if e.Kind == k {
			s = append(s, e)
		}
	}
	return s
}
