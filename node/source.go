package node

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Flow configures the source of one flow.
type Flow struct {
	QP         uint32      // queue pair at both ends; it names the flow
	Dst        wire.LID    // where it goes
	Payload    uint32      // of each packet, in bytes; a multiple of 4
	Window     int         // packets that may await their ACK; at least 1
	Start      unit.Time   // when it becomes active
	Stop       unit.Time   // when it offers no more; unit.Never: it goes on
	Rate       unit.Rate   // constant traffic: what it offers; 0: greedy, there is always a packet
	Limiter    RateLimiter // when a packet may start
	Controller rp.Controller
}

// source is the sending half of a flow.
type source struct {
	Flow
	length    unit.Size // of a packet on the line
	offers    unit.Size // constant traffic: packets offered so far
	nextOffer unit.Time // constant traffic: the next offer
	offered   int       // constant traffic: packets that wait to be sent
	active    bool
	stopped   bool
	queued    bool      // in the endpoint's queue for the line
	ready     unit.Time // queued: since when
	limited   unit.Time // until when the limiter keeps the packet, as last answered; 0: it does not
	inFlight  int       // packets that await their ACK
	psn       uint32
	rate      unit.Rate  // what the limiter was last told
	block     port.Block // what keeps it, as last reported
}

// advance becomes active, offers packets and stops, as the time says, and lets
// the controller do what is due.
func (s *source) advance(now unit.Time, rec *trace.Recorder) {
	if !s.active && !s.stopped && now >= s.Start {
		s.active = true
		s.nextOffer = s.Start
		rec.Emit(trace.Event{At: now, Kind: trace.FlowStart, Flow: s.QP})
	}
	for s.active && s.Rate > 0 && s.nextOffer <= now && s.nextOffer < s.Stop {
		s.offered++
		s.offers++
		s.nextOffer = s.Start.Add(s.Rate.Serialise(s.offers * s.length)) // from the start: what is rounded never adds up
	}
	if s.active && now >= s.Stop {
		s.active, s.stopped = false, true
		rec.Emit(trace.Event{At: now, Kind: trace.FlowStop, Flow: s.QP})
	}
	if s.Controller.Deadline() <= now {
		s.Controller.Advance(now)
		s.settle(now)
	}
}

// settle tells the limiter the controller's rate.
func (s *source) settle(now unit.Time) {
	if r := s.Controller.Rate(); r != s.rate {
		s.rate = r
		s.Limiter.SetRate(now, r)
	}
}

// answer says whether the flow has a packet that may go as far as it is itself
// concerned: there is one, the window is open, the limiter agrees. The line and
// the credit are asked by the endpoint.
func (s *source) answer(now unit.Time) port.Answer {
	switch {
	case !s.active && s.offered == 0, s.Rate > 0 && s.offered == 0:
		return port.Answer{Block: port.Idle, Until: unit.Never}
	case s.inFlight >= s.Window:
		return port.Answer{Block: port.Window, Until: unit.Never}
	}
	if t := s.Limiter.Next(now, s.length); t > now {
		return port.Answer{Block: port.RateLimited, Until: t}
	}
	return port.Answer{Block: port.Open, Until: now}
}

// deadline returns when the source has something to do, given what its last
// answer was.
func (s *source) deadline(a port.Answer) unit.Time {
	t := s.Controller.Deadline()
	if a.Block == port.RateLimited {
		t = min(t, a.Until)
	}
	switch {
	case s.stopped:
	case !s.active:
		t = min(t, s.Start)
	case s.Rate > 0:
		t = min(t, s.nextOffer, s.Stop)
	default:
		t = min(t, s.Stop)
	}
	return t
}

// packet returns the frame to send next.
func (s *source) packet(src wire.LID) wire.Frame {
	return wire.Frame{Kind: wire.Data, Lane: port.DataLane, Src: src, Dst: s.Dst, QP: s.QP, PSN: s.psn, Payload: s.Payload}
}

// sent accounts for the packet that packet returned: it started at now.
func (s *source) sent(now unit.Time) {
	s.psn = (s.psn + 1) & (1<<24 - 1)
	s.inFlight++
	if s.offered > 0 {
		s.offered--
	}
	s.Limiter.Sent(now, s.length)
	s.Controller.Sent(now, s.length)
	s.settle(now)
}

// acked takes in an ACK. It is that of the oldest packet which awaits one: links are
// lossless and keep their order, so any other is a violation; it counts all the same.
func (s *source) acked(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	if oldest := (s.psn - uint32(s.inFlight)) & (1<<24 - 1); s.inFlight == 0 || f.PSN != oldest {
		rec.Emit(trace.Event{At: now, Kind: trace.Violation, Lane: f.Lane, Flow: s.QP, PSN: f.PSN, A: int64(trace.OutOfOrder), B: int64(oldest)})
	}
	if s.inFlight > 0 {
		s.inFlight--
	}
	s.limited = 0 // the window, or another rate, is what it has waited for
	s.Controller.Feedback(now, *f)
	s.settle(now)
	rec.Emit(trace.Event{At: now, Kind: trace.Feedback, Flow: s.QP, PSN: f.PSN, A: trace.FrameWord(f), B: int64(s.rate)})
}

// report tells that what keeps the flow has changed.
func (s *source) report(now unit.Time, b port.Block, rec *trace.Recorder) {
	if b != s.block {
		rec.Emit(trace.Event{At: now, Kind: trace.Stall, Flow: s.QP, A: int64(b), B: int64(s.block)})
		s.block = b
	}
}
