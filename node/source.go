package node

import (
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Flow configures the source of one flow.
type Flow struct {
	Family     wire.Family       // of its frames
	Transport  Transport         // handles packets in flight
	Lane       uint8             // of its frames; on Ethernet the priority
	Tagged     bool              // Ethernet: its frames have a CN-TAG
	QP         uint32            // queue pair at both ends; it names the flow
	Dst        wire.LID          // where it goes
	Payload    uint32            // of each packet, in bytes; a multiple of 4, on Ethernet anything from wire.MinMSDU to wire.MaxMSDU
	Start      unit.Time         // when it becomes active
	Stop       unit.Time         // when it stops offering packets; unit.Never: it continues
	Traffic    traffic.Generator // its arrivals; nil: greedy, there is always a packet, unless a Spread supplies them
	Bodies     BodySource        // supplies its packets, instead of Traffic, with bodies of up to Payload; nil: padding
	Pace       unit.Rate         // greedy: it never offers more, and catches up by one packet that it could not send; 0: any rate
	Limiter    RateLimiter       // decides when a packet may start; it is first given the rate of the Controller, then each change
	Controller rp.Controller     // nil: no reaction point; the limiter keeps its initial rate, and SetRate is never called
	Marks      bool              // its reaction point accepts CNPs, unless it is a Judge and refuses them
	Limited    bool              // it has a rate limiter at all times, whatever feedback it receives
	Listener   Listener          // receives the feedback for the source; may be nil
	Group      *Pacer            // may govern it instead of Limiter and Controller; nil: none
}

// sends reports whether a reaction point of the flow sends frames of its own.
func (f *Flow) sends() bool {
	return rp.ExtrasOf(f.Controller).Sender != nil || f.Group != nil && rp.ExtrasOf(f.Group.Controller).Sender != nil
}

// Spread is traffic with several destinations: an arrival To k belongs to the flow Flows[k] of the endpoint, which
// has no traffic of its own.
type Spread struct {
	Traffic traffic.Generator
	Flows   []int // indices in Config.Flows
}

// source is the sending half of a flow. The fields that each packet needs come first.
type source struct {
	greedy      bool
	active      bool
	stopped     bool
	reorders    bool       // its ACKs may overtake one another
	queued      bool       // in the endpoint's queue for the link
	filled      bool       // its packets have contents that differ: bodies, or segments
	inTurns     bool       // it waits for its turn in group
	block       port.Block // the reason that keeps it, as last reported
	slot        int        // in the agenda of the endpoint
	count       uint64     // packets sent so far; its low 24 bits are the next PSN
	window      *window    // of Transport; nil: there is none
	due         unit.Time  // when it becomes active, has an arrival of Traffic or stops; unit.Never: none of these
	sharedPacer *pacer     // under which it may come; nil: none
	pacer       *pacer     // under which it is

	behind   *source         // in the chain that it waits in, if it does
	sentBy   *pacer          // queued: the one that let the packet go
	paced    unit.Time       // with a Pace: nothing is offered before
	full     unit.Size       // length on the link of a packet of Payload bytes, or of the segment to be sent
	offered  uint64          // packets that wait to be sent, unless it is greedy
	body     *bodied         // nil: its packets have padding
	stream   *stream         // nil: its transport is about packets
	roce     *RoCEParams     // of its transport; nil: it is another one
	begun    int             // transfers at the front of ends whose last packet has been sent
	ends     queue[transfer] // the transfers that they make up, where they do
	next     traffic.Arrival // of Traffic: the one to come
	pool     *pool           // nil: it is no transfer of a pool
	voq      *voq            // Ethernet: the queue of its destination; nil: no other flow has it
	egress   *egress         // Ethernet: the room that it shares with the other flows, if there is a limit
	ownPacer pacer
	framing  wire.Framing
	frame    wire.Frame // the common fields of its packets
	Flow
}

// transfer is a finite one on its way.
type transfer struct {
	last   uint64    // number of its last packet
	rest   uint32    // payload of that packet
	length unit.Size // of that packet on the link
	tag    uint32    // of a message
}

// psnMask selects the 24-bit PSN of a packet's number.
const psnMask = 1<<24 - 1

// newSource makes s the source of a flow on a port with this framing.
func newSource(s *source, f Flow, framing wire.Framing) {
	*s = source{Flow: f, framing: framing, greedy: f.Traffic == nil && f.Bodies == nil, block: port.Idle,
		ownPacer: newGroup(f.Limiter, f.Controller), window: f.Transport.sending()}
	s.ownPacer.flow, s.pacer = s, &s.ownPacer
	s.frame = wire.Frame{Kind: wire.Data, Family: f.Family, Lane: f.Lane, Tagged: f.Tagged, Dst: f.Dst, QP: f.QP,
		Payload: f.Payload}
	if t, ok := f.Transport.(RoCE); ok {
		s.roce = &t.RoCEParams
		t.Frame(&s.frame)
	}
	s.full = s.lengthOf(f.Payload)
	if a := s.ownPacer.Acknowledged; a != nil {
		s.window.most = a.Window()
	}
	s.next.At, s.paced, s.due = unit.Never, f.Start, f.Start
	if f.Traffic != nil {
		s.next = f.Traffic.Next()
	}
	if f.Listener != nil {
		f.Listener.Rate(0, s.ownPacer.rate)
	}
}

// mayShare makes g the group that the flow may come under.
func (s *source) mayShare(g *pacer) {
	s.sharedPacer = g
	g.members = append(g.members, s)
	if g.Limiting == nil {
		s.pacer = g
		g.under++
	}
}

// advance does all that is due: it becomes active, offers packets and stops, has the controller do
// its part, and sends lost packets again.
func (s *source) advance(now unit.Time, rec *trace.Recorder) {
	if s.due <= now {
		s.begin(now, rec)
	}
	if s.ownPacer.due <= now {
		s.ownPacer.advance(now, rec)
	}
	if s.filled {
		s.advanceContents(now)
	}
	if s.window.deadline() <= now {
		s.again(now, trace.TimerExpired, rec)
	}
}

// begin becomes active, offers packets and stops, as they are due.
func (s *source) begin(now unit.Time, rec *trace.Recorder) {
	if !s.active && !s.stopped {
		s.active = true
		rec.Emit(trace.Event{At: now, Kind: trace.FlowStart, Flow: s.QP})
		if s.window.limit() > 0 {
			s.windowChanged(now, rec)
		}
	}
	for s.next.At <= now && s.next.At < s.Stop {
		s.arrive(now, s.next, rec)
		s.next = s.Traffic.Next()
	}
	if s.due = min(s.next.At, s.Stop); s.due <= now {
		s.active, s.stopped, s.due = false, true, unit.Never
		rec.Emit(trace.Event{At: now, Kind: trace.FlowStop, Flow: s.QP})
	}
}

// again goes back to the oldest packet that awaits its ACK.
func (s *source) again(now unit.Time, why trace.Reason, rec *trace.Recorder) {
	n := s.window.lost()
	s.count -= uint64(n)
	for s.begun > 0 && s.ends.at(s.begun-1).last >= s.count {
		s.begun--
	}
	if why == trace.TimerExpired {
		rec.Emit(trace.Event{At: now, Kind: trace.Timeout, Lane: s.Lane, Flow: s.QP, PSN: uint32(s.count) & psnMask,
			A: int64(n)})
	} else {
		rec.Emit(trace.Event{At: now, Kind: trace.Retransmit, Lane: s.Lane, Flow: s.QP, PSN: uint32(s.count) & psnMask,
			A: int64(why), B: int64(n)})
	}
	if s.egress != nil && !s.greedy && s.ends.empty() {
		s.egress.used += unit.Size(n) * s.full
	}
	if !s.greedy || !s.active {
		s.offered += uint64(n) // a greedy source that is active has them anyway
	}
	if a := s.ownPacer.Acknowledged; a != nil {
		a.Lost(now)
		s.ownPacer.settle(now, rec)
	}
}

// arrive takes in an arrival: a packet, or a transfer, which is packets of full size and
// one with the rest.
func (s *source) arrive(now unit.Time, a traffic.Arrival, rec *trace.Recorder) {
	if s.stream != nil {
		s.writeStream(now, a, rec)
		return
	}
	if a.Size <= 0 {
		if e := s.egress; e != nil {
			if e.used+s.full > e.room {
				rec.Emit(trace.Event{At: now, Kind: trace.Drop, Lane: s.Lane, Flow: s.QP, A: int64(trace.EgressFull)})
				return
			}
			e.used += s.full
		}
		s.offered++
		return
	}
	whole := uint64(a.Size-1) / uint64(s.Payload)
	t := transfer{last: s.count + s.offered + whole, rest: uint32(uint64(a.Size) - whole*uint64(s.Payload))}
	f := s.frame
	f.Payload = s.Family.Fit(t.rest)
	if s.tagged() {
		t.tag = a.Tag
		f.SetImmediate(a.Tag)
	}
	t.rest, t.length = f.Payload, s.framing.Length(&f)
	s.offered += whole + 1
	s.ends.push(t)
	s.reportArrival(now, a, uint32(t.last)&psnMask, rec)
}

// reportArrival records a transfer that has arrived, by the number of its last packet or behind its last byte.
func (s *source) reportArrival(now unit.Time, a traffic.Arrival, last uint32, rec *trace.Recorder) {
	begun := trace.Event{At: now, Kind: trace.TransferStart, Lane: s.Lane, Flow: s.QP, PSN: last, A: int64(a.At), B: int64(a.Size)}
	if s.pool != nil {
		begun.Bytes = uint32(s.Dst)
	}
	rec.Emit(begun)
}

// reach returns how many packets, or bytes of a stream, there are up to the last arrival, and how many of them have
// left and, where packets are acknowledged, are acknowledged. With TCP an application has sent all that has left.
func (s *source) reach() (all, over uint64) {
	if s.stream != nil {
		return s.stream.Reach()
	}
	return s.count + s.offered, s.count - uint64(s.window.inFlight())
}

// tagged reports whether the last packet of each transfer carries a tag.
func (s *source) tagged() bool { return s.pool != nil && s.pool.Tagged }

// ending returns the transfer that the next packet ends.
func (s *source) ending() *transfer {
	if s.begun == s.ends.len() || s.ends.at(s.begun).last != s.count {
		return nil
	}
	return s.ends.at(s.begun)
}

// lengthOf returns the length on the link of a packet with n bytes of payload.
func (s *source) lengthOf(n uint32) unit.Size {
	f := s.frame
	f.Payload = n
	return s.framing.Length(&f)
}

// answer decides whether the flow has a packet that may go as far as it is itself
// concerned: there is one, the window is open, pace and limiter agree, since when. The link
// and the credit are asked by the endpoint.
func (s *source) answer(now unit.Time) port.Answer {
	var a port.Answer
	switch {
	case s.filled:
		a = s.hasContents(now)
	case s.offered == 0 && !(s.greedy && s.active):
		a = port.Answer{Block: port.Idle, Until: unit.Never}
	}
	switch {
	case a.Block != port.Open:
	case !s.window.open(s.full):
		a = port.Answer{Block: port.Window, Until: unit.Never}
	case s.paced > now && (s.stream == nil || s.stream.fresh):
		a = port.Answer{Block: port.Idle, Until: s.paced}
	}
	g, n := s.pacer, s.full
	if a.Block != port.Open {
		if s.inTurns {
			g.skip(now, s)
		}
		return a
	}
	if g.flow == nil && !g.mayAsk(s) {
		return port.Answer{Block: port.RateLimited, Until: unit.Never}
	}
	if t := s.ending(); t != nil {
		n = t.length
	}
	if t := g.limiter.Next(now, n); t > now {
		return port.Answer{Block: port.RateLimited, Until: t}
	}
	g.let(s)
	s.sentBy = g
	return port.Answer{Block: port.Open, Until: now}
}

// deadline returns when advance has something to do, but for the origin of the contents of packets.
func (s *source) deadline() unit.Time { return min(s.due, s.ownPacer.due, s.window.deadline()) }

// complete makes f, which is as all packets of the flow are, the one to send next, and returns its
// length on the link. It is stamped with now.
func (s *source) complete(now unit.Time, f *wire.Frame) unit.Size {
	n := s.full
	f.PSN = uint32(s.count) & psnMask
	if s.stream != nil {
		*f = s.stream.nextFrame()
	} else if t := s.ending(); t != nil {
		if f.Payload, f.Last, n = t.rest, true, t.length; s.tagged() {
			f.SetImmediate(t.tag)
		}
	}
	if s.roce != nil {
		f.SetAckReq(s.asks(f.Last))
		if f.Stamped() {
			f.Stamp().SentAt = now
		}
	}
	if t := s.pacer.Tagger; t != nil && f.Payload > 0 {
		*f = t.Tag(*f)
		n = s.framing.Length(f)
	}
	return n
}

// sent accounts for the packet that complete has made, which starts now.
func (s *source) sent(now unit.Time, rec *trace.Recorder) {
	n, t := s.full, s.ending()
	if s.body != nil {
		n = s.body.length
	}
	switch {
	case t != nil:
		n = t.length
		if s.roce != nil {
			s.window.underway -= s.full - n
			s.begun++ // it may be retransmitted
		} else {
			s.ends.pop()
		}
	case s.egress != nil && s.offered > 0 && s.ends.empty():
		s.egress.used -= n
	}
	s.count++
	s.window.sent(now)
	if s.roce != nil {
		s.window.underway += s.full // a packet with a body counts as the longest
	}
	if s.offered > 0 {
		s.offered--
	}
	if s.stream != nil {
		s.stream.Sent(now, &s.stream.next)
	}
	if s.Pace > 0 && (s.stream == nil || s.stream.fresh) {
		s.paced = max(s.paced.Add(s.Pace.Serialise(n)), now)
	}
	s.sentBy.sent(now, s, n, rec)
}

// acked takes in an ACK. One that should not come is a violation, unless routes may
// change; it counts all the same.
func (s *source) acked(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	oldest := uint32(s.count-uint64(s.window.inFlight())) & psnMask
	before := s.window.inFlight()
	ahead, nak := (f.PSN-oldest)&psnMask, s.roce != nil && f.RoCE().NAK
	if nak { // it acknowledges those before the one that it asks for
		ahead = (ahead - 1) & psnMask
	}
	news, inTurn, spared := s.window.acked(now, ahead)
	if !inTurn && !s.reorders {
		rec.Emit(trace.Event{At: now, Kind: trace.Violation, Lane: f.Lane, Flow: s.QP, PSN: f.PSN,
			A: int64(trace.OutOfOrder), B: int64(oldest)})
	}
	if spared > 0 {
		spared = s.spare(spared)
	}
	before -= s.window.inFlight()
	if s.body != nil {
		s.body.acked(before + spared)
	}
	s.acknowledged(before, spared)
	if nak {
		s.nak(now, f, rec)
	}
	if news {
		s.feedback(now, f, rec)
	}
}

// spare goes on behind packets that are acknowledged and need not be retransmitted. It returns how many they are: a packet
// that has its place for the link is sent all the same.
func (s *source) spare(n int) int {
	if !s.greedy || !s.active {
		if s.queued && s.body == nil {
			n = min(n, int(s.offered)-1)
		}
		n = max(n, 0)
		s.offered -= min(s.offered, uint64(n))
	}
	s.window.spare(n)
	if s.egress != nil && !s.greedy && s.ends.empty() {
		s.egress.used -= unit.Size(n) * s.full
	}
	s.count += uint64(n)
	for s.begun < s.ends.len() && s.ends.at(s.begun).last < s.count {
		s.begun++
	}
	return n
}

// acknowledged records that the ACK of packets has come: of some that awaited it, and of some that are spared.
func (s *source) acknowledged(packets, spared int) {
	news := unit.Size(packets+spared) * s.full
	for first := s.count - uint64(s.window.inFlight()); s.begun > 0 && s.ends.front().last < first; s.begun-- {
		news -= s.full - s.ends.front().length
		s.ends.pop()
	}
	if s.roce == nil {
		return
	}
	s.window.news = news
	if s.window.underway -= news; s.window.n == 0 {
		s.window.underway = 0 // spared packets were underway before the source went back
	}
}

// measured returns an ACK that has come with its measurements, and reports the round trip. A stamp
// that cannot be is none.
func (s *source) measured(now unit.Time, f *wire.Frame, rec *trace.Recorder) rp.Ack {
	a := rp.Ack{Frame: f, Hops: s.window.hops, Bytes: s.window.news, Oldest: s.count - uint64(s.window.inFlight()), Next: s.count}
	if p := f.Stamp(); p.SentAt < now && p.Held < now.Sub(p.SentAt) {
		a.RTT, a.Held = now.Sub(p.SentAt)-p.Held, p.Held
		rec.Emit(trace.Event{At: now, Kind: trace.RoundTrip, Flow: s.QP, PSN: f.PSN, A: int64(a.RTT), B: int64(s.roce.Timeout)})
	}
	return a
}

// windowChanged records the window of the reaction point.
func (s *source) windowChanged(now unit.Time, rec *trace.Recorder) {
	oldest := uint32(s.count-uint64(s.window.inFlight())) & psnMask
	rec.Emit(trace.Event{At: now, Kind: trace.Window, Flow: s.QP, PSN: oldest, A: int64(s.window.most), B: -1})
}

// feedback hands the fabric's feedback about the flow to its reaction point.
func (s *source) feedback(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	if s.Listener != nil {
		s.Listener.Feedback(now, f)
	}
	if g := s.sharedPacer; g != nil {
		g.feedback(now, s, f, rec)
		g.join(now, s, rec)
	} else {
		s.ownPacer.feedback(now, s, f, rec)
	}
	rec.Emit(trace.Event{At: now, Kind: trace.Feedback, Flow: s.QP, PSN: f.PSN, A: trace.FrameWord(f),
		B: int64(s.pacer.limit())})
}

// concerns reports whether a notification that names no flow is about this one.
func (s *source) concerns(f *wire.Frame) bool {
	return s.sharedPacer != nil && s.Dst == f.Sampled().Dst && s.Lane == f.Sampled().Lane
}

// limitChanged reports the limit of the flow, and the target of its reaction point: under
// one that has no target, the limit.
func (s *source) limitChanged(now unit.Time, rec *trace.Recorder) {
	limit := s.pacer.limit()
	target := limit
	if t := s.pacer.Targeted; t != nil {
		target = t.Target()
	}
	rec.State(now, trace.Limit, 0, 0, s.QP, int64(limit), int64(target))
}

// report records a change of the reason that keeps the flow.
func (s *source) report(now unit.Time, b port.Block, rec *trace.Recorder) {
	if b != s.block {
		rec.State(now, trace.Stall, 0, 0, s.QP, int64(b), int64(s.block))
		s.block = b
	}
}
