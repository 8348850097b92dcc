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
	case !p.ethernet:
	case !e.Peer:
		s.ignores, p.pause.until = ignore, [Priorities]unit.Time{}
	default:
		s.ignored = ignore
		s.unstopped |= p.pause.asked
	}
}

// spoiled passes a frame that has come through the faults of the link, and reports whether it ends here. They
// see it also when the link was down, since the copy at the other end does.
func (p *Port) spoiled(now unit.Time, a *Arrival) bool {
	s := p.faults
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

// leave passes a frame that starts through the faults of the link, and returns by how much it will be late.
// A PAUSE that the peer will not receive in time is noted.
func (s *faults) leave(f *wire.Frame, head, tail unit.Time, own *pausing) unit.Duration {
	fate, late := s.out.Pass(f.Kind, head, tail)
	if own != nil && f.Kind.Control() && (fate != fault.Carried || late > 0) {
		s.unstopped |= own.asked
	}
	return late
}

// Strained reports whether the port may hold more than it should, since a fault kept its peer from stopping:
// in a pool that is at the expense of the other ports.
func (p *Port) Strained() bool {
	return p.faulty && (p.faults.late || p.faults.ignored || p.faults.unstopped != 0)
}

// excuses reports whether a frame of a class that finds no room is a consequence of a fault: the peer was not
// stopped in time.
func (s *faults) excuses(class uint8) bool {
	return s.late || s.ignored || s.unstopped>>class&1 == 1
}
