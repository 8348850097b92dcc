package port

import (
	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// faults are the faults of a link as one of its ends needs them: its own copy of the fate of all frames. The retry
// that repairs them stands with them, so that a link without either asks once.
type faults struct {
	retry     *retrying // nil: lost frames stay lost
	in, out   fault.Direction
	unstopped uint8 // receiver: the classes that are stopped, and about which a PAUSE did not reach the peer in time
	late      bool  // receiver: the last frame was late
	ignored   bool  // receiver: the peer ignores PAUSE
	ignores   bool  // sender: so does this port
	stuck     unit.Time
	gone      int                   // receiver: blocks that are missing in the buffer of data, and
	going     int                   // those that will be missing once frames have left it
	meant     [Priorities]unit.Time // sender: of classes whose stops it ignores, until when they would be stopped
}

// makeFaults makes room for faults, where there is none.
func (p *Port) makeFaults() {
	if p.faults == nil {
		p.faults, p.faulty = new(faults), true
	}
}

// shuts notes until when nothing but flow control may leave the port.
func (p *Port) shuts(until unit.Time) {
	if p.faulty && until != unit.Never {
		until = max(until, p.faults.stuck)
	}
	if p.ethernet {
		p.pause.shut = until
	}
}

// applyFault makes a change that is a fault.
func (p *Port) applyFault(now unit.Time, e *Event) {
	p.makeFaults()
	s := p.faults
	switch ignore := e.Kind == PauseIgnored; {
	case e.Kind == Stuck:
		if s.stuck = now.Add(e.Last); !p.Down() {
			p.shuts(0)
		}
	case e.Kind == FaultStart:
		c, to := *e.Fault, &s.in
		if e.Out {
			to = &s.out
		}
		c.From, c.Until = e.Since, e.Since.Add(e.Last)
		to.Add(c)
	case !p.ethernet, !e.Peer && s.ignores == ignore, e.Peer && s.ignored == ignore: // a second end changes nothing
	case !e.Peer:
		s.ignores, p.pause.until = ignore, [Priorities]unit.Time{}
	default:
		s.ignored = ignore
		s.unstopped |= p.pause.asked
	}
}

// changeRoom leaves so many blocks of the receive buffer of data, or all for 0. The peer may use all credit that it
// has received: flow control packets never take any back. So the part that goes is the room of frames that leave,
// for which the peer receives no credit.
func (p *Port) changeRoom(left int) {
	if p.ethernet {
		return
	}
	p.makeFaults()
	s, c := p.faults, &p.credit[DataLane]
	whole := int(c.room) + s.gone
	if left == 0 {
		left = whole
	}
	s.going = max(whole-left-s.gone, 0)
	if back := s.gone - (whole - left); back > 0 {
		c.room += int32(back)
		s.gone -= back
		p.due[DataLane] = owed
	}
}

// Leaving returns how many blocks of the receive buffer of data a fault takes away as soon as frames leave it.
func (p *Port) Leaving() int {
	if !p.faulty {
		return 0
	}
	return p.faults.going
}

// take counts up to n blocks as missing that were to go, and returns how many these are.
func (s *faults) take(n int) int {
	n = min(n, s.going)
	s.going -= n
	s.gone += n
	return n
}

// withdraw takes the room of n blocks that leave a buffer as far as it has to go. It returns how many blocks
// those are: the peer receives no credit for them.
func (s *faults) withdraw(c *Credit, n int) int {
	n = s.take(n)
	c.used -= int32(n)
	c.room -= int32(n)
	return n
}

// spoiled passes a frame that has come through the faults of the link, and reports whether it ends here. They
// see it also when the link was down, since the copy at the other end does.
func (p *Port) spoiled(now unit.Time, a *Arrival) bool {
	s := p.faults
	if s.retry != nil && s.in.None() && a.Head >= p.since { // as most links of which only the retry is wanted
		return p.receiveRetry(now, s.retry, a, false, false)
	}
	fate, late := s.in.Pass(a.Frame.Kind, a.Head, a.Tail)
	s.late = late > 0
	if s.retry != nil && p.receiveRetry(now, s.retry, a, a.Head < p.since || fate == fault.Lost, fate == fault.Corrupted) {
		return true
	}
	switch {
	case a.Head < p.since: // that is the reason
		return false
	case fate == fault.Lost:
		p.Lost(now, &a.Frame, trace.LostOnLink)
	case fate == fault.Corrupted:
		p.Lost(now, &a.Frame, trace.BadFCS)
	}
	a.Head, a.Tail = a.Head.Add(late), a.Tail.Add(late)
	return fate != fault.Carried
}

// lets is MaySend of a link with faults of InfiniBand, as far as they keep a frame.
func (s *faults) lets(now unit.Time, f *wire.Frame, n unit.Size, down bool) Answer {
	switch {
	case s.stuck > now:
		return Answer{Down, s.stuck}
	case s.retry != nil && !down:
		return s.retry.lets(now, f, n)
	}
	return Answer{Open, now}
}

// leave passes a frame that starts through the faults of the link, and returns by how much it will be late.
// A PAUSE that the peer will not receive in time is noted.
func (s *faults) leave(f *wire.Frame, head, tail unit.Time, own *pausing) unit.Duration {
	fate, late := s.out.Pass(f.Kind, head, tail)
	if own != nil && f.Kind.Control() && (fate != fault.Carried || late > 0) {
		s.unstopped |= own.asked
	}
	return late
}

// Strained reports whether the machine may hold more of the peer's frames than it should, since a fault kept the
// peer from stopping. That is at the expense of all classes, and in a pool of the other ports: a frame that finds
// no room is a consequence of the fault.
func (p *Port) Strained() bool {
	return p.faulty && (p.faults.late || p.faults.ignored || p.faults.unstopped != 0)
}
