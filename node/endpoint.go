package node

import (
	"math/bits"
	"slices"

	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Endpoint is the node at which flows begin and end. The fields that every frame needs are in its
// first cache lines, because a large fabric has many endpoints.
type Endpoint struct {
	port        port.Port
	agenda      agenda.Slots // see slots
	soon        unit.Time    // there is something to do that has no slot; unit.Never: there is not
	out         *port.Outbox
	ingress     *ingress // the arrivals that have not been taken yet; nil where all is at once, on InfiniBand
	lid         wire.LID
	waiting     uint16 // the lanes of ready that are not empty, a bit each
	owesControl uint16 // the lanes of own that are not empty, a bit each
	wakes       bool   // transmitterSlot is set

	rec     trace.Recorder
	sources []source
	sinks   []sink

	source table   // from queue pair to source
	sink   table   // from queue pair to sink
	ready  []ready // by lane, up to the highest of the sources

	own   []queue[wire.Frame] // by lane: ACKs, and the schemes' own frames
	lanes *lanes              // on InfiniBand with several data lanes; else nil

	reorders bool        // Config.Reorders
	manage   port.Manage // Config.Manage

	spreads   []spread
	pacers    []*pacer     // that flows share
	workloads *workloadSet // nil: it has none
	bodied    []int        // the slots of sources whose packets have bodies
	answered  []*sink      // with an Answerer, or of a stream
	limiters  int          // AdapterConfig.Limiters
	slots     *slots       // whose are the slots of the agenda

	draft *wire.Frame // the packet that is to leave
}

// ready is the sources whose packet waits for the link on one lane.
type ready struct{ chain }

// spread is a Spread at work.
type spread struct {
	Spread
	next traffic.Arrival
}

// The first slots of an endpoint's agenda.
const (
	transmitterSlot = iota // something waits and the link becomes idle, or credit came
	resendSlot             // a flow control packet is due again
	serviceSlot            // the adapter has taken a frame out
	flowSlot               // the first source
)

// owner is a kind of owners of slots in an endpoint's agenda.
type owner int

// The kinds of owners, in the order in which things that are due at the same instant are done.
const (
	node      owner = iota // the endpoint itself: the slots before flowSlot
	flows                  // sources
	spreads                // traffic that flows share
	pacers                 // rate limiters that flows share
	workloads              // of this endpoint
	answers                // destinations that answer flows
	calls                  // the answered flows of workloads, all together
	owners
)

// slots divides an agenda among its owners: where the slots of each kind end.
type slots [owners]int32

// newSlots divides an agenda among so many owners of each kind.
func newSlots(numbers [owners]int) *slots {
	s, end := new(slots), 0
	for kind, n := range numbers {
		end += n
		s[kind] = int32(end)
	}
	return s
}

// of returns the slot of the i-th owner of a kind other than node.
func (s *slots) of(kind owner, i int) int { return int(s[kind-1]) + i }

// owner returns whose slot it is: the i-th of a kind.
func (s *slots) owner(slot int) (kind owner, i int) {
	for int32(slot) >= s[kind] {
		i = slot - int(s[kind])
		kind++
	}
	return kind, i
}

// Receive takes in a frame at its due time: data goes to its sink, an ACK to its source. Advance
// does the rest at the same instant, once all frames of that instant have arrived.
func (e *Endpoint) Receive(now unit.Time, _ port.ID, a *port.Arrival) {
	f := &a.Frame
	if !e.port.Receive(now, a) {
		// Credit may have come for a frame that waits; by a set none for one that waits for the
		// link.
		later := f.Kind.OrderedSet() && e.port.Transmitter().Free() > now && !(e.port.Retries() && e.credited())
		if e.port.TakeRetryNews() || e.waiting|e.owesControl != 0 && !later {
			e.soon = now
		}
		return
	}
	switch {
	case f.Dst != e.lid && f.Kind != wire.Management:
		e.port.Discard(now, f, trace.NotForUs)
	case f.Kind == wire.Data:
		s := e.sinkOf(now, f)
		if s == nil {
			e.port.Discard(now, f, trace.UnknownFlow)
			break
		}
		if why := s.receiver.refuses(s, f); why != trace.NoReason {
			e.port.Discard(now, f, why)
			break
		}
		if f.Stamped() {
			f.Stamp().Held = unit.Duration(now) // when it came, until its ACK leaves
		}
		if in := e.ingress; in != nil && in.keeps() {
			// Nothing but the order of events shows whether it is taken out now or in Advance;
			// transfers end with events.
			if in.passes(a) && s.answer == nil && !f.HasBody() && !s.pooled && e.port.ControlIdle() && e.rec.Passed(now, 0, a.Length) {
				if s.receiver.receive(e, now, s, a); e.waiting|e.owesControl == 0 && !e.wakes {
					return // the link has nothing to do
				}
				break
			}
			e.store(now, a)
			break
		}
		s.receiver.receive(e, now, s, a)
		e.port.Free(now, f)
		if f.HasBody() {
			e.freeBody(now, f)
		}
	case f.Kind == wire.TCP:
		switch why, ended := e.refusesSegment(now, f); {
		case ended:
			e.reset(f)
			e.port.Free(now, f)
		case why != trace.NoReason:
			e.port.Discard(now, f, why)
		default:
			e.store(now, a)
		}
	case f.Kind == wire.Ack:
		s, ended := e.sourceOf(f.QP)
		if ended {
			e.port.Free(now, f)
			e.out.Bodies.Free(f)
			break
		}
		if s == nil {
			e.port.Discard(now, f, trace.UnknownFlow)
			break
		}
		if why := s.sender.refuses(f); why != trace.NoReason {
			e.port.Discard(now, f, why)
			break
		}
		e.port.Free(now, f)
		s.sender.receive(now, f, &e.rec)
		e.agenda.Set(s.slot, now)
	case f.Kind == wire.Trimmed:
		e.receiveTrimmed(now, f)
	case f.Kind == wire.UETControl && f.UET().Code != wire.UETCredit:
		e.receiveControl(now, f)
	case f.Kind == wire.Management:
		if _, ok := e.port.Manage(now, e.manage, f); ok {
			e.port.Queue(now, now, f)
		}
	default: // a notification, or another frame of a scheme about a flow
		s, ended := e.sourceOf(f.QP)
		k, ends := e.sink.find(f.QP)
		switch {
		case s != nil:
			if why := e.refuses(now, s, f); why != trace.NoReason {
				e.port.Discard(now, f, why)
				break
			}
			e.port.Free(now, f)
			s.feedback(now, f, &e.rec)
			e.agenda.Set(s.slot, now)
		case ended:
			e.port.Free(now, f)
		case ends && e.sinks[k].answer != nil:
			s := &e.sinks[k]
			if why := refuses(now, s.answer.Refuses, s.source, f, false); why != trace.NoReason {
				e.port.Discard(now, f, why)
				break
			}
			e.port.Free(now, f)
			e.handToAnswerer(now, s, f)
		case f.QP != 0 || !e.sampled(now, f):
			e.port.Discard(now, f, trace.UnknownFlow)
		default:
			e.port.Free(now, f)
		}
	}
	e.soon = now
}

// Advance does everything that is due: it lets sources queue their packets, and starts packets
// while the link is idle.
func (e *Endpoint) Advance(now unit.Time) {
	if e.ingress != nil {
		e.drain(now)
	}
	for {
		for slot, due := e.agenda.DueBy(now); due; slot, due = e.agenda.DueBy(now) {
			e.do(now, slot)
			e.soon = now // in any case the link may have work
		}
		if e.soon > now {
			return
		}
		e.soon = unit.Never
		if e.waiting|e.owesControl == 0 && !e.wakes && e.port.ControlIdle() {
			return
		}
		e.serve(now)
	}
}

// do does the work of a slot that is due.
func (e *Endpoint) do(now unit.Time, slot int) {
	if i := slot - flowSlot; 0 <= i && i < len(e.sources) {
		e.offer(now, &e.sources[i])
		return
	}
	switch kind, i := e.slots.owner(slot); kind {
	case node:
		switch slot {
		case transmitterSlot:
			e.wake(unit.Never)
		case resendSlot:
			e.agenda.Set(slot, unit.Never)
			e.port.TimerEnded()
		case serviceSlot:
			e.agenda.Set(slot, unit.Never)
			e.ingress.over = true
			e.drain(now)
		}
	case spreads:
		e.spread(now, i)
	case pacers:
		g := e.pacers[i]
		g.advance(now, &e.rec)
		e.probe(now, g, g.last)
		e.agenda.Set(slot, g.due)
	case workloads:
		if p := &e.workloads.all[i]; p.ranked != nil {
			e.drive(now, p)
		} else {
			e.beginTransfers(now, p)
		}
	case answers:
		e.agenda.Set(slot, e.respond(now, e.answered[i]))
	case calls:
		e.answerCalls(now)
	}
}

// spread gives the arrivals that are due to their flows.
func (e *Endpoint) spread(now unit.Time, k int) {
	p := &e.spreads[k]
	for ; p.next.At <= now; p.next = p.Traffic.Next() {
		i := p.Flows[p.next.To]
		if s := &e.sources[i]; p.next.At >= s.Start && p.next.At < s.Stop {
			s.sender.arrive(now, p.next, &e.rec)
			e.agenda.Set(s.slot, now)
		}
	}
	e.agenda.Set(e.slots.of(spreads, k), p.next.At)
}

// offer lets a source do all that is due and queues its packet for the link if it has
// one.
func (e *Endpoint) offer(now unit.Time, s *source) {
	if s.filled || s.deadline() <= now {
		s.advance(now, &e.rec)
	}
	if s.ownPacer.reaction.Send != nil {
		e.probe(now, &s.ownPacer, s)
	}
	again := unit.Never
	if !s.queued {
		if s.workload != nil && e.retire(now, s) {
			return
		}
		a := s.answer(now)
		switch a.Block {
		case port.Open:
			e.enqueue(now, s)
		case port.RateLimited, port.Idle:
			again = a.Until
			fallthrough
		default:
			s.report(now, a.Block, &e.rec)
		}
	}
	if s.filled {
		again = min(again, s.sender.deadline())
	}
	e.agenda.Set(s.slot, min(again, s.deadline()))
}

// enqueue has the packet of a source wait for the link.
func (e *Endpoint) enqueue(now unit.Time, s *source) {
	s.queued = true
	if s.voq != nil {
		if s.voq.taken {
			s.voq.rest.push(s)
			s.report(now, port.LinkBusy, &e.rec)
			return
		}
		s.voq.taken = true
	}
	e.ready[s.Lane].push(s)
	e.waiting |= 1 << (s.Lane % 16)
}

// serve fills the link: owed flow control packets, then frames as far as the link and the
// credit allow, the highest lane first, or the lane that VL arbitration chooses. On each lane the
// endpoint's own go first, in their order, then data in the order in which the packets were ready.
func (e *Endpoint) serve(now unit.Time) {
	quiet, wake := e.port.ControlIdle(), unit.Never
	if !quiet && e.port.OwesControl(now) {
		wake = e.port.Control(now)
	}
	for left := e.waiting | e.owesControl; left != 0; {
		lane := uint8(bits.Len16(left)-1) % 16
		if e.lanes != nil {
			if lane = e.choose(now, left, lane); lane == noLane {
				break
			}
		}
		until := unit.Never
		if e.owesControl>>lane&1 != 0 {
			until = e.sendOwn(now, lane)
		}
		if until > now && e.waiting>>lane&1 != 0 {
			until = min(until, e.sendData(now, lane))
		}
		if until <= now {
			left = e.waiting | e.owesControl
			continue
		}
		wake = min(wake, until) // a lane that is paused may continue then
		left &^= 1 << lane
	}
	if e.waiting|e.owesControl != 0 {
		if free := e.port.Transmitter().Free(); free > now {
			wake = min(wake, free)
		}
	}
	if wake != unit.Never || e.wakes {
		e.wake(wake)
	}
	if !quiet && !e.port.Armed() {
		e.agenda.Set(resendSlot, e.port.Timer(e.agenda.Due(resendSlot)))
	}
}

// wake sets when the link may take a waiting frame.
func (e *Endpoint) wake(at unit.Time) {
	e.agenda.Set(transmitterSlot, at)
	e.wakes = at != unit.Never
}

// sendOwn lets the first of the endpoint's own frames on a lane out. It returns until when the
// port keeps it; now: it has left.
func (e *Endpoint) sendOwn(now unit.Time, lane uint8) unit.Time {
	own := &e.own[lane]
	f := own.front()
	n := e.port.Framing().Length(f)
	a := e.port.MaySend(now, f, n)
	if a.Block != port.Open {
		return a.Until
	}
	if f.Stamped() {
		f.Stamp().Held = unit.Duration(now) - f.Stamp().Held
	}
	e.port.Start(now, f, n, port.Note{})
	if e.lanes != nil {
		e.arbitrated(f)
	}
	if own.pop(); own.empty() {
		e.owesControl &^= 1 << (lane % 16)
	}
	return now
}

// sendData lets the packet that has waited the longest on a lane out. It returns until when the
// port keeps it; now: it has left, or there is none after all.
func (e *Endpoint) sendData(now unit.Time, lane uint8) unit.Time {
	q := &e.ready[lane]
	s, f := q.first, e.draft
	*f = s.frame
	n := s.complete(now, f)
	if a := e.port.MaySend(now, f, n); a.Block != port.Open {
		return e.kept(now, q, a)
	}
	q.pop()
	if s.voq != nil {
		if s.voq.taken = !s.voq.rest.empty(); s.voq.taken {
			q.push(s.voq.rest.pop())
		}
	}
	if q.empty() {
		e.waiting &^= 1 << (lane % 16)
	}
	s.queued = false
	if s.filled {
		if !s.sender.load(now, f) {
			if g := s.sentBy; g.flow == nil {
				g.out = nil
				g.next(now)
			}
			e.offer(now, s)
			return now
		}
		n = s.framing.Length(f)
	}
	s.report(now, port.Open, &e.rec)
	if f.Telemetry() != wire.NoTelemetry {
		e.out.Bodies.PutTelemetry(f)
	}
	if late, ok := s.sender.(*uetSender); ok && s.ownPacer.reaction.Demand != nil {
		s.sent(now, &e.rec)
		late.demand(now)
		if tag := s.ownPacer.reaction.Tag; tag != nil {
			*f = tag(*f)
		}
		e.port.Start(now, f, n, port.Note{})
		e.offer(now, s)
		return now
	}
	e.port.Start(now, f, n, port.Note{})
	if e.lanes != nil {
		e.arbitrated(f)
	}
	s.sent(now, &e.rec)
	e.offer(now, s)
	return now
}

// kept reports why the sources that wait for the link on a lane, and returns until when:
// the first one by the port's answer, the others by the link, which it will have first.
func (e *Endpoint) kept(now unit.Time, q *ready, a port.Answer) unit.Time {
	if a.Block == port.LinkBusy && e.ingress != nil && e.ingress.pausing != nil {
		if until := e.ingress.pausing.Until(now, q.first.Lane); until > now {
			a = port.Answer{Block: port.Paused, Until: until} // it would not have the idle link either
		}
	}
	for s, b := q.first, a.Block; s != nil; s, b = s.behind, port.LinkBusy {
		s.report(now, b, &e.rec)
	}
	return a.Until
}

// Apply makes a change from outside.
func (e *Endpoint) Apply(now unit.Time, _ port.ID, change port.Change) {
	switch c := change.(type) {
	case port.Offer:
		e.askBodies(now)
		return
	case port.ServiceRate:
		e.needIngress().service = c.Rate
		e.rec.Emit(trace.Event{At: now, Kind: trace.Control, A: int64(c.Kind()), B: int64(c.Rate)})
	case port.SinkStopped:
		e.needIngress().stopped = true
		e.rec.Emit(trace.Event{At: now, Kind: trace.Control, A: int64(c.Kind())})
	case port.SinkStarted:
		in := e.needIngress()
		was := in.stopped
		in.stopped = false
		e.rec.Emit(trace.Event{At: now, Kind: trace.Control, A: int64(c.Kind())})
		if was && !in.frames.empty() && !in.over && e.agenda.Due(serviceSlot) == unit.Never {
			e.begin(now)
		}
	case port.SLToVLChange:
		e.changeLanes(c.Table)
	case port.ArbitrationChange:
		if e.lanes != nil {
			e.lanes.arbiter = port.NewArbiter(c.Arbitration, e.lanes.data)
		}
	case port.ControlChange:
		e.setReactions(now, c.Reactions.(map[uint32]rp.Reaction))
	}
	e.port.Apply(now, change)
	e.soon = now
	e.agenda.Set(resendSlot, now) // at a higher rate a PAUSE is over sooner
}

// needIngress returns the ingress, and makes one if there is none yet.
func (e *Endpoint) needIngress() *ingress {
	if e.ingress == nil {
		e.ingress = newIngress(AdapterConfig{}, port.Credits, &e.port)
	}
	return e.ingress
}

// Poll takes the next frame for the link.
func (e *Endpoint) Poll() (*port.Transmission, bool) { return e.out.Poll() }

// Deadline returns when Advance has something to do.
func (e *Endpoint) Deadline() unit.Time { return min(e.soon, e.agenda.Deadline()) }

// Slots returns how many slots the endpoint needs in an agenda (drive.Sharer).
func (e *Endpoint) Slots() int { return e.agenda.Len() }

// Share moves the endpoint's slots to another agenda (drive.Sharer).
func (e *Endpoint) Share(a *agenda.Agenda, base int) *port.Outbox {
	e.agenda.Move(a, base)
	return e.out
}

// Limits yields the limit of each flow that begins here: the rate that its limiter permits now, or
// 0 if the rate is not known.
func (e *Endpoint) Limits(yield func(qp uint32, limit unit.Rate)) {
	own := e.sources
	if e.workloads != nil {
		own = own[:e.workloads.all[0].sources]
	}
	for i := range own {
		yield(own[i].QP, own[i].pacer.limit())
	}
}

// Expects returns when something will happen at the endpoint by itself (deadlock.Expecter): a flow
// has something to do, or the adapter has taken a frame out. A flow that could not send its packet
// does not count, because the peer has stopped it or has no room.
func (e *Endpoint) Expects(now unit.Time) unit.Time {
	at := e.agenda.Due(serviceSlot)
	for i := range e.sources {
		if due := e.agenda.Due(flowSlot + i); due < at && !e.stopped(now, &e.sources[i]) {
			at = due
		}
	}
	for k := range e.workloads.number() {
		if p := &e.workloads.all[k]; p.kept != nil || !p.free.empty() {
			at = min(at, e.agenda.Due(p.slot))
		}
	}
	for k := range e.spreads {
		if slices.ContainsFunc(e.spreads[k].Flows, func(i int) bool { return !e.stopped(now, &e.sources[i]) }) {
			at = min(at, e.agenda.Due(e.slots.of(spreads, k)))
		}
	}
	for _, g := range e.pacers {
		if g.under > 0 { // it may let flows go that wait for a rate
			at = min(at, e.agenda.Due(g.slot))
		}
	}
	return at
}

// stopped reports whether flow control keeps a flow's packets from being sent.
func (e *Endpoint) stopped(now unit.Time, s *source) bool {
	*e.draft = s.frame
	n := s.complete(now, e.draft)
	b := e.port.MaySend(now, e.draft, n).Block
	return b == port.NoCredit || b == port.Paused || b == port.Down
}
