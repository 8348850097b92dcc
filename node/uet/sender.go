package uet

import (
	"fabemu/node/selective"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Sender is the state of a packet delivery context at its source: which packets are in flight, and
// when they are given up. Packets are numbered from 0; a PSN is the low 32 bits of a number.
type Sender struct {
	selective.Scoreboard
	p       *Params
	retries int       // timeouts since a packet was newly acknowledged
	raised  unit.Time // when the last of them was
	heard   unit.Time // when an ACK or a NACK came last
	probe   uint64    // transmissions before the last probe
	probes  int16     // how many probes were sent
	waits   bool      // for the ACK of a probe
	come    uint64    // packets that have come, as ACKs count them
	unnamed unit.Size // of them, those that no ACK has named, with the longest packet as the length of each
}

// NewSender returns the sender of a context.
func NewSender(p *Params) Sender { return Sender{p: p} }

// Number returns the number of the packet with a PSN that is nearest to the oldest one that may be
// missing; ok is false for one that was never sent, or is before all that are kept track of.
func (s *Sender) Number(psn uint32) (number uint64, ok bool) {
	number = s.First() + uint64(int64(int32(psn-uint32(s.First()))))
	return number, number >= s.First() && number < s.Next()
}

// Underway returns the length of the packets that have neither come nor are known to be lost. An
// ACK counts all packets that have come, and names those that its bitmap has room for.
func (s *Sender) Underway() unit.Size { return max(0, s.Scoreboard.Underway()-s.unnamed) }

// Ack takes in an ACK. It returns the length of the packets that it is the first to acknowledge,
// by their names or as a count, and the time since the packet that it answers left; 0: it is not
// known.
func (s *Sender) Ack(now unit.Time, f *wire.Frame) (news unit.Size, trip unit.Duration) {
	x := f.UET()
	probed := x.Flags&wire.UETProbed != 0
	if number, ok := s.Number(f.PSN + uint32(int32(x.Offset))); ok && !probed {
		trip = s.trip(now, number, x)
	}
	if all := s.First() + uint64(int64(int32(f.PSN+1-uint32(s.First())))); all > s.First() && all <= s.Next() {
		news = s.Scoreboard.Ack(all, 0, false)
	}
	if x.Flags&wire.UETState != 0 {
		base := f.PSN + uint32(int32(x.BitmapOffset))
		for bits := x.Bitmap; bits != 0; bits, base = bits>>1, base+1 {
			if bits&1 == 0 {
				continue
			}
			if number, ok := s.Number(base); ok {
				news += s.Scoreboard.Ack(s.First(), number, true)
			}
		}
	}
	if x.Flags&wire.UETState != 0 {
		if all := s.First() + uint64(int64(int32(f.PSN+1-uint32(s.First()))+int32(x.OutOfOrder))); all > s.come && all <= s.Next() {
			s.come = all
		}
	}
	named, before := s.Arrived(), s.unnamed
	s.unnamed = 0
	if s.come > named {
		s.unnamed = unit.Size(s.come-named) * s.Longest()
	}
	news = max(0, news+s.unnamed-before)
	s.heard = now
	if news > 0 {
		s.retries = 0
	}
	return news, trip
}

// trip returns the time since a packet left that an ACK or a NACK answers; 0: it is not known. An
// answer says whether it is one to a retransmission, so it is known which transmission it answers
// unless there were two of those (uet-htsim, uec.cpp).
func (s *Sender) trip(now unit.Time, number uint64, x *wire.UETExtension) unit.Duration {
	at, again := s.Sent(number)
	if retransmitted := x.Flags&wire.UETRetransmitted != 0; again > 1 || retransmitted != (again == 1) {
		return 0
	}
	return now.Sub(at)
}

// Overdue finds, after the ACK of the last probe, a packet that left before the probe and has not
// come. It is then lost. It is to be called until there is none.
func (s *Sender) Overdue(f *wire.Frame) (number uint64, ok bool) {
	if x := f.UET(); x.Flags&wire.UETProbed == 0 || !s.waits || x.Offset != s.probes {
		return 0, false
	}
	if s.Before(s.probe) {
		return s.Expire()
	}
	s.waits = false
	return 0, false
}

// Nack takes in a NACK. If the packet that it names is in flight and was not sent again since, it
// is lost, and ok is true: n is its length, and trip the time since it left; 0: it is not known. In
// ordered delivery all packets in flight are lost if one is out of order.
func (s *Sender) Nack(now unit.Time, f *wire.Frame) (number uint64, n unit.Size, trip unit.Duration, ok bool) {
	if number, ok = s.Number(f.PSN); !ok {
		return 0, 0, 0, false
	}
	x := f.UET()
	if _, again := s.Sent(number); again > 0 != (x.Flags&wire.UETRetransmitted != 0) {
		return 0, 0, 0, false
	}
	trip = s.trip(now, number, x)
	if n, ok = s.miss(number); !ok {
		trip = 0
	}
	s.heard = now
	return number, n, trip, ok
}

// miss finds a packet lost, and returns its length.
func (s *Sender) miss(number uint64) (n unit.Size, ok bool) {
	n = s.Scoreboard.Underway()
	ok = s.Miss(number)
	return n - s.Scoreboard.Underway(), ok
}

// timeout returns the time after which a packet is given up now.
func (s *Sender) timeout() unit.Duration {
	t, most := s.p.Timeout, 64*s.p.Timeout
	for range min(s.retries, 6) {
		t = min(t*unit.Duration(s.p.Backoff), most)
	}
	return t
}

// Deadline returns when Expired or Probes has something to do; unit.Never: not by itself.
func (s *Sender) Deadline() unit.Time {
	at, ok := s.Oldest()
	if !ok {
		return unit.Never
	}
	due := unit.Never
	if s.p.Timeout > 0 {
		due = at.Add(s.timeout())
	}
	if s.p.Probe > 0 && !s.waits {
		due = min(due, max(s.heard, at).Add(s.p.Probe))
	}
	return due
}

// Expired finds a packet whose time is over. It is then lost, and n is its length. It is to be
// called until there is none. If fails is true, there were too many timeouts: the context has
// failed.
func (s *Sender) Expired(now unit.Time) (number uint64, n unit.Size, fails, ok bool) {
	at, ok := s.Oldest()
	if !ok || s.p.Timeout == 0 || at.Add(s.timeout()) > now {
		return 0, 0, false, false
	}
	if at >= s.raised { // packets that left together have one timeout
		if s.p.RetryCount != Unlimited && s.retries >= s.p.RetryCount {
			return 0, 0, true, false
		}
		defer func() { s.retries, s.raised = s.retries+1, now }()
	}
	n = s.Scoreboard.Underway()
	number, ok = s.Expire()
	s.waits = false
	return number, n - s.Scoreboard.Underway(), false, ok
}

// Probes reports whether a probe is to leave now, and completes f, a control packet, as that probe.
func (s *Sender) Probes(now unit.Time, f *wire.Frame) bool {
	at, ok := s.Oldest()
	if !ok || s.p.Probe == 0 || s.waits || max(s.heard, at).Add(s.p.Probe) > now {
		return false
	}
	s.probes++
	s.waits, s.probe = true, s.Transmissions()
	x := f.UET()
	x.Code, x.Offset, x.Base = wire.UETProbe, s.probes, uint32(s.First())
	f.PSN = uint32(s.Next() - 1)
	return true
}
