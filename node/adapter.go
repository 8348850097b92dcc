package node

import (
	"math"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// AdapterConfig describes the two sides of an Ethernet endpoint, and how fast an InfiniBand
// endpoint takes frames out of its receive buffer: until then they occupy their credit.
type AdapterConfig struct {
	// Egress is the memory for packets of all flows that were offered and have not left yet.
	// Packets that it has no room for are dropped and counted, except those of greedy traffic and
	// of transfers, which wait for room. 0: as much as needed.
	Egress unit.Size
	// Ingress is the memory for frames that have arrived and have not been taken out yet; its
	// watermarks stop the switch. Room 0: as much as needed. With PFC each priority has such a
	// memory.
	Ingress port.BufferConfig
	// Service is the rate at which frames are taken out, one after the other: the rate of a slow
	// receiver. 0: at once.
	Service unit.Rate
	// Limiters is how many flows can be limited at a time. If a flow receives congestion feedback
	// and no limiter is free, it is not limited, and the feedback is dropped. 0: as many as there
	// are flows.
	Limiters int
}

// ingress is the receiving side of an endpoint at work.
type ingress struct {
	kind    port.FlowControl
	pausing *port.Pausing  // of the port; nil: it has neither PAUSE nor PFC
	credit  *port.Channels // of the port; nil: it has no virtual channels
	service unit.Rate
	buffers [port.Priorities]port.Buffer
	frames  queue[port.Arrival] // in the order in which they came; the first of them is being taken out,
	over    bool                // and that ends now
	stopped bool                // none is taken out
}

func newIngress(c AdapterConfig, kind port.FlowControl, pt *port.Port) *ingress {
	in := &ingress{kind: kind, service: c.Service, pausing: pt.Pausing(), credit: pt.Channels()}
	if c.Ingress.Room == 0 {
		c.Ingress.Room = math.MaxInt64
	}
	for i := range in.buffers {
		in.buffers[i] = port.NewBuffer(c.Ingress)
	}
	return in
}

// credited reports whether the port counts credits, whose timers end only on an idle link.
func (e *Endpoint) credited() bool {
	return e.ingress == nil || e.ingress.kind == port.Credits || e.ingress.kind == port.ChannelCredits
}

// class returns which of the buffers a frame of this priority is in: PAUSE has one.
func (in *ingress) class(lane uint8) uint8 {
	if in.kind.ByPriority() {
		return lane % port.Priorities
	}
	return 0
}

// keeps reports whether a frame that comes has to wait for its turn: always, but on
// InfiniBand with an unlimited service.
func (in *ingress) keeps() bool {
	return in.kind != port.Credits || in.service > 0 || in.stopped || !in.frames.empty()
}

// store has a frame that has come wait for its turn to be taken out, and stops the switch if
// that reaches the high watermark.
func (e *Endpoint) store(now unit.Time, a *port.Arrival) {
	in := e.ingress
	if in.kind != port.Credits { // there the port has the account of its buffer
		class := in.class(a.Frame.Lane)
		b := &in.buffers[class]
		if !b.Store(a.Length) {
			e.port.Refused(now, a, b.Used(), in.kind != port.NoFlowControl && b.High > 0)
			return
		}
		e.port.Stored(now, a, b.Used())
		if in.pausing != nil && b.Stopped() {
			in.pausing.Stop(class)
		}
	}
	if *in.frames.add() = *a; in.frames.len() == 1 {
		e.begin(now)
	}
}

// passes reports whether a frame that comes is taken out at the same instant, and stops nobody.
func (in *ingress) passes(a *port.Arrival) bool {
	if in.service > 0 || in.stopped || !in.frames.empty() || in.credit != nil || in.kind == port.Credits {
		return false
	}
	b := &in.buffers[in.class(a.Frame.Lane)]
	return a.Length <= b.Room && (b.High == 0 || a.Length < b.High)
}

// refusesSegment returns why a segment is not one of a flow of the endpoint; ended is true for the
// flow of a workload that began here and has ended.
func (e *Endpoint) refusesSegment(now unit.Time, f *wire.Frame) (why trace.Reason, ended bool) {
	s, ended := e.sourceOf(f.QP)
	if s != nil {
		return s.sender.refuses(f), false
	}
	if s := e.sinkOf(now, f); s != nil {
		return s.receiver.refuses(s, f), false
	}
	return trace.UnknownFlow, ended
}

// reset answers a segment of a connection that is closed here: "<SEQ=SEG.ACK><CTL=RST>" (RFC 9293,
// section 3.10.7.1).
func (e *Endpoint) reset(f *wire.Frame) {
	r := wire.Frame{Src: e.lid, Dst: f.Src, QP: f.QP, Lane: f.Lane}
	r.SetSegment(&wire.Segment{Seq: f.MSN, Flags: wire.RST})
	e.push(r)
}

// begin begins to take out the frame that has waited the longest.
func (e *Endpoint) begin(now unit.Time) {
	in := e.ingress
	if in.stopped {
		return
	}
	if in.service > 0 {
		e.agenda.Set(serviceSlot, now.Add(in.service.Serialise(in.frames.front().Length)))
		return
	}
	in.over, e.soon = true, now
}

// drain ends the taking out of frames whose time is over.
func (e *Endpoint) drain(now unit.Time) {
	for e.ingress.over {
		e.take(now, e.ingress)
	}
}

// take ends the taking out of a frame: it is delivered, and the switch may continue if
// that reaches the low watermark, or has credit again.
func (e *Endpoint) take(now unit.Time, in *ingress) {
	a := in.frames.front() // it stays there until another one comes
	in.frames.pop()
	in.over = false
	if f := &a.Frame; f.Kind == wire.TCP && f.Back() {
		if s, _ := e.sourceOf(f.QP); s != nil && s.sender.refuses(f) == trace.NoReason {
			s.sender.receive(now, f, &e.rec)
			e.agenda.Set(s.slot, now)
		} else { // the connection was closed after the frame had come
			e.reset(f)
		}
	} else if s := e.sinkOf(now, f); s != nil { // nil: the same
		s.receiver.receive(e, now, s, a)
		if s.answer != nil && !s.over { // a destination that is over takes no more turns
			e.handToAnswerer(now, s, f)
		}
		if f.HasBody() {
			e.freeBody(now, f)
		}
	}
	if in.kind == port.Credits {
		e.port.Free(now, &a.Frame)
	} else {
		class := in.class(a.Frame.Lane)
		b := &in.buffers[class]
		b.Free(a.Length)
		e.port.Released(now, &a.Frame, b.Used())
		if in.credit != nil {
			in.credit.GiveBack(now, &a.Frame, a.Length)
		}
		if in.pausing != nil && !b.Stopped() {
			in.pausing.Resume(class)
		}
	}
	if !in.frames.empty() {
		e.begin(now)
	}
	e.soon = now // a PAUSE may have to be sent to the switch
}

// egress is the account of the sending side.
type egress struct{ used, room unit.Size }

// voq is a virtual output queue: several flows of one priority to one destination, which take
// turns. It has one turn among the flows of its priority, however many flows it has, and a
// destination that is far behind keeps no other back.
type voq struct {
	taken bool  // one of its flows is among those that wait for the link
	rest  chain // the others that have a packet
}

// newVOQs gives the flows to one destination, in one priority, a queue, where there are several.
func newVOQs(sources []source) {
	type key struct {
		dst  wire.LID
		lane uint8
	}
	firsts := make(map[key]*source)
	for i := range sources {
		s := &sources[i]
		k := key{s.Dst, s.Lane}
		first := firsts[k]
		if first == nil {
			firsts[k] = s
			continue
		}
		if first.voq == nil {
			first.voq = &voq{}
		}
		s.voq = first.voq
	}
}
