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
	Family    wire.Family       // of its frames
	Transport Transport         // handles packets in flight
	Lane      uint8             // of its frames; on Ethernet the priority, on InfiniBand with several data lanes that of the SL
	SL        uint8             // service level of its packets on InfiniBand
	Tagged    bool              // Ethernet: its frames have a CN-TAG
	QP        uint32            // queue pair at both ends; it names the flow
	Dst       wire.LID          // where it goes
	Payload   uint32            // of each packet, in bytes; a multiple of 4, on Ethernet anything from wire.MinMSDU to wire.MaxMSDU
	Start     unit.Time         // when it becomes active
	Stop      unit.Time         // when it stops offering packets; unit.Never: it continues
	Traffic   traffic.Generator // its arrivals; nil: greedy, there is always a packet, unless a Spread supplies them
	Bodies    BodySource        // supplies its packets, instead of Traffic, with bodies of up to Payload; nil: padding
	Pace      unit.Rate         // greedy: it never offers more, and catches up by one packet that it could not send; 0: any rate
	Limiter   RateLimiter       // decides when a packet may start; it is first given the rate of the Reaction, then each change
	Reaction  rp.Reaction       // zero: no reaction point; the limiter keeps its initial rate, and SetRate is never called
	Marks     bool              // its reaction point accepts CNPs, unless it refuses them
	Limited   bool              // it has a rate limiter at all times, whatever feedback it receives
	Listener  Listener          // receives the feedback for the source; may be nil
	Pacer     *Pacer            // may govern it instead of Limiter and Reaction; nil: none
}

// sends reports whether a reaction point of the flow sends its own frames.
func (f *Flow) sends() bool {
	return f.Reaction.Send != nil || f.Pacer != nil && f.Pacer.Reaction.Send != nil
}

// Spread is traffic with several destinations: an arrival To k belongs to the flow Flows[k] of the
// endpoint, which has no traffic itself.
type Spread struct {
	Traffic traffic.Generator
	Flows   []int // indices in Config.Flows
}

// source is the sending half of a flow: when it has packets, and under which rate limiter. Its
// sender has the packets. The fields that each packet needs come first.
type source struct {
	greedy      bool
	active      bool
	stopped     bool
	reorders    bool       // its ACKs may overtake one another
	queued      bool       // in the endpoint's queue for the link
	filled      bool       // its packets have contents that differ: bodies, or segments
	inTurns     bool       // it waits for its turn in pacer
	block       port.Block // the reason that keeps it, as last reported
	slot        int        // in the agenda of the endpoint
	count       uint64     // packets sent so far; its low 24 bits are the next PSN
	window      *window    // of the sender; nil: there is none
	due         unit.Time  // when it becomes active, has an arrival of Traffic or stops; unit.Never: none of these
	sharedPacer *pacer     // under which it may come; nil: none
	pacer       *pacer     // under which it is

	sender   sender
	packets  packets         // unless its sender is a stream
	behind   *source         // in the chain that it waits in, if it does
	sentBy   *pacer          // queued: the one that let the packet go
	paced    unit.Time       // with a Pace: nothing is offered before
	next     traffic.Arrival // of Traffic: the one to come
	workload *workloadRun    // nil: it is not a flow of a workload
	voq      *voq            // Ethernet: the queue of its destination; nil: no other flow has it
	ownPacer pacer
	framing  wire.Framing
	fresh    bool       // the packet to send was never sent before; always so, but for segments
	frame    wire.Frame // the common fields of its packets
	Flow
}

// newSource makes s the source of a flow, with a slot of the agenda, for a workload or nil. A queue
// that it had keeps its memory.
func (e *Endpoint) newSource(s *source, f Flow, slot int, p *workloadRun) {
	*s = source{Flow: f, framing: e.port.Framing(), greedy: f.Traffic == nil && f.Bodies == nil, fresh: true, block: port.Idle,
		reorders: e.reorders, slot: slot, workload: p,
		packets: packets{ends: queue[transfer]{ring: s.packets.ends.ring}}}
	if e.lanes != nil {
		s.Lane = e.lanes.slToVL.Of(s.SL)
	}
	s.ownPacer = newPacer(f.Limiter, &s.Reaction)
	s.ownPacer.flow, s.pacer = s, &s.ownPacer
	s.frame = wire.Frame{Kind: wire.Data, Family: f.Family, Lane: s.Lane, DSCP: f.SL, Tagged: f.Tagged, Src: e.lid, Dst: f.Dst,
		QP: f.QP, Payload: f.Payload}
	s.sender = f.Transport.sender(s, e)
	if a := s.ownPacer.reaction.Acknowledged; a != nil {
		s.window.most = a.Window()
	}
	s.next.At, s.paced, s.due = unit.Never, f.Start, f.Start
	if f.Traffic != nil {
		s.next = f.Traffic.Next()
	}
	if f.Listener != nil {
		s.ownPacer.report(0)
	}
}

// mayShare makes g the pacer that the flow may come under.
func (s *source) mayShare(g *pacer) {
	s.sharedPacer = g
	g.members = append(g.members, s)
	if g.reaction.Active == nil {
		s.pacer = g
		g.under++
	}
}

// advance does all that is due: it becomes active, offers packets and stops, has the reaction point
// do its part, and the sender too.
func (s *source) advance(now unit.Time, rec *trace.Recorder) {
	if s.due <= now {
		s.begin(now, rec)
	}
	if s.ownPacer.due <= now {
		s.ownPacer.advance(now, rec)
	}
	if s.filled || s.window.deadline() <= now {
		s.sender.advance(now, rec)
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
		s.sender.arrive(now, s.next, rec)
		s.next = s.Traffic.Next()
	}
	if s.due = min(s.next.At, s.Stop); s.due <= now {
		s.active, s.stopped, s.due = false, true, unit.Never
		rec.Emit(trace.Event{At: now, Kind: trace.FlowStop, Flow: s.QP})
	}
}

// reportArrival records a transfer that has arrived, by the number of its last packet or behind its
// last byte.
func (s *source) reportArrival(now unit.Time, a traffic.Arrival, last uint32, rec *trace.Recorder) {
	begun := trace.Event{At: now, Kind: trace.TransferStart, Lane: s.Lane, Flow: s.QP, PSN: last, A: int64(a.At), B: int64(a.Size)}
	if s.workload != nil {
		begun.Bytes = uint32(s.Dst)
	}
	rec.Emit(begun)
}

// tagged reports whether the last packet of each transfer carries a tag.
func (s *source) tagged() bool { return s.workload != nil && s.workload.Tagged }

// oldest returns the number of the oldest packet that awaits its ACK; if none does, of the next
// one.
func (s *source) oldest() uint64 { return s.count - uint64(s.window.inFlight()) }

// answer decides whether the flow has a packet that may go as far as it is itself
// concerned: there is one, the window is open, pace and limiter agree, since when. The link
// and the credit are asked by the endpoint.
func (s *source) answer(now unit.Time) port.Answer {
	a, n := s.sender.next(now)
	if a.Block == port.Open && s.paced > now && s.fresh {
		a = port.Answer{Block: port.Idle, Until: s.paced}
	}
	g := s.pacer
	if a.Block != port.Open {
		if s.inTurns {
			for range g.turns.len() {
				if m := *g.turns.front(); m != s {
					g.turns.push(m)
				}
				g.turns.pop()
			}
			s.inTurns = false
			g.next(now)
		}
		return a
	}
	if g.flow == nil && !g.mayAsk(s) {
		return port.Answer{Block: port.RateLimited, Until: unit.Never}
	}
	if t := g.limiter.Next(now, n); t > now {
		return port.Answer{Block: port.RateLimited, Until: t}
	}
	if g.flow == nil {
		g.turns.pop()
		s.inTurns, g.out = false, s
	}
	s.sentBy = g
	return port.Answer{Block: port.Open, Until: now}
}

// deadline returns when advance has something to do, but for the contents of packets:
// sender.deadline.
func (s *source) deadline() unit.Time { return min(s.due, s.ownPacer.due, s.window.deadline()) }

// complete makes f, which is as all packets of the flow are, the one to send next, and returns its
// length on the link. It is stamped with now.
func (s *source) complete(now unit.Time, f *wire.Frame) unit.Size {
	n := s.sender.complete(now, f)
	if tag := s.pacer.reaction.Tag; tag != nil && f.Payload > 0 && s.pacer.reaction.Demand == nil { // with Demand it is tagged when it leaves
		*f = tag(*f)
		n = s.framing.Length(f)
	}
	return n
}

// sent accounts for the packet that complete has made, which starts now.
func (s *source) sent(now unit.Time, rec *trace.Recorder) {
	n := s.sender.sent(now)
	if s.Pace > 0 && s.fresh {
		s.paced = max(s.paced.Add(s.Pace.Serialise(n)), now)
	}
	s.sentBy.sent(now, s, n, rec)
}

// measured returns an ACK that has come with its measurements. A stamp that cannot be is none.
func (s *source) measured(now unit.Time, f *wire.Frame) rp.Ack {
	a := rp.Ack{Frame: f, Hops: s.window.hops, Bytes: s.window.news, Flight: s.window.underway, Oldest: s.oldest(), Next: s.count}
	if f.Family == wire.UET {
		a.RTT = s.window.trip
	} else if p := f.Stamp(); p.SentAt < now && p.Held < now.Sub(p.SentAt) {
		a.RTT, a.Held = now.Sub(p.SentAt)-p.Held, p.Held
	}
	return a
}

// hears tells the listener of a frame that has come.
func (s *source) hears(now unit.Time, f *wire.Frame) {
	in := rp.Input{Kind: rp.FrameInput, Frame: *f}
	if f.Kind == wire.Ack && (f.Family == wire.UET || s.ownPacer.reaction.Acknowledged != nil) {
		in.Kind, in.Ack = rp.AckInput, s.measured(now, f)
	}
	s.Listener.Told(now, in)
}

// windowChanged records the window of the reaction point.
func (s *source) windowChanged(now unit.Time, rec *trace.Recorder) {
	rec.Emit(trace.Event{At: now, Kind: trace.Window, Flow: s.QP, PSN: uint32(s.oldest()) & psnMask, A: int64(s.window.most), B: -1})
}

// feedback hands the fabric's feedback about the flow to its reaction point.
func (s *source) feedback(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	if s.Listener != nil {
		s.hears(now, f)
	}
	if g := s.sharedPacer; g != nil {
		g.feedback(now, s, f, rec)
		g.join(now, s, rec)
	} else {
		s.ownPacer.feedback(now, s, f, rec)
	}
	rec.Feedback(now, s.QP, f, int64(s.pacer.limit()))
}

// limitChanged reports the limit of the flow, and the target of its reaction point: under
// one that has no target, the limit.
func (s *source) limitChanged(now unit.Time, rec *trace.Recorder) {
	limit := s.pacer.limit()
	target := limit
	if of := s.pacer.reaction.Target; of != nil {
		target = of()
	}
	rec.Emit(trace.Event{At: now, Kind: trace.Limit, Flow: s.QP, A: int64(limit), B: int64(target)})
}

// report records a change of the reason that keeps the flow.
func (s *source) report(now unit.Time, b port.Block, rec *trace.Recorder) {
	if b != s.block {
		rec.Turn(now, s.QP, uint8(b), uint8(s.block))
		s.block = b
	}
}
