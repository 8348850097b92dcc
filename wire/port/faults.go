package port

import (
	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// faults are the faults of a link as one of its ends sees them: each end has its own copy of the
// fate of all frames. The retry that repairs them is here too, so that a link without either needs
// a single check.
type faults struct {
	retry     *retrying // nil: lost frames stay lost
	lapses    *lapses   // nil: frames leave once, in their order
	in, out   fault.Direction
	unstopped uint8 // receiver: the classes that are stopped and whose PAUSE did not reach the peer in time
	late      bool  // receiver: the last frame was late
	ignored   bool  // receiver: the peer ignores PAUSE
	ignores   bool  // sender: this port ignores PAUSE
	stuck     unit.Time
	gone      int // receiver: blocks that are missing from the data buffer
	going     int // receiver: blocks that will be missing once frames have left it
}

// makeFaults allocates the state of faults if there is none yet.
func (p *Port) makeFaults() {
	if p.faults == nil {
		p.faults, p.faulty = new(faults), true
	}
}

// shuts records until when only flow control may leave the port.
func (p *Port) shuts(until unit.Time) {
	if p.faulty && until != unit.Never {
		until = max(until, p.faults.stuck)
	}
	p.shut = until
}

// stick has nothing but flow control leave the port for a time.
func (p *Port) stick(now unit.Time, last unit.Duration) {
	p.makeFaults()
	if p.faults.stuck = now.Add(last); !p.Down() {
		p.shuts(0)
	}
}

// beginFault gives the link a fault.
func (p *Port) beginFault(now unit.Time, f *FaultStart) {
	p.makeFaults()
	c, to := *f.Fault, &p.faults.in
	if f.Out {
		to = &p.faults.out
	}
	if c.Fate >= fault.Repeated {
		if p.faults.lapses == nil {
			p.faults.lapses, p.armed = new(lapses), false
		}
		to = &p.faults.lapses.Direction
	}
	c.From, c.Until = now, now.Add(f.Last)
	to.Add(c)
}

// ignore has the port or its peer ignore PAUSE frames, or obey them again.
func (p *Port) ignore(ignore, peer bool) {
	p.makeFaults()
	s := p.faults
	switch {
	case p.kind == Credits, !peer && s.ignores == ignore, peer && s.ignored == ignore: // the change for the second end changes nothing
	case !peer:
		s.ignores = ignore
		if c := p.Pausing(); c != nil {
			c.until = [Priorities]unit.Time{}
			c.forget()
		}
	default:
		s.ignored = ignore
		s.unstopped |= p.control.asked()
	}
}

// changeRoom leaves the given number of blocks of the receive buffer for data, or all of them
// for 0. The peer may still use all credit that it has received, because flow control packets never
// take any back. So the missing part is taken from the room of frames that leave: the peer receives
// no credit for it.
func (p *Port) changeRoom(left int) {
	own := p.VirtualLanes()
	if own == nil {
		return
	}
	p.makeFaults()
	s, c := p.faults, &own.all[DataLane]
	whole := int(c.room) + s.gone
	if left == 0 {
		left = whole
	}
	s.going = max(whole-left-s.gone, 0)
	if back := s.gone - (whole - left); back > 0 {
		c.room += int32(back)
		s.gone -= back
		c.due, p.owed = owed, owed
	}
}

// Leaving returns how many blocks of the receive buffer for data a fault will take away as soon as
// frames leave it.
func (p *Port) Leaving() int {
	if !p.faulty {
		return 0
	}
	return p.faults.going
}

// take counts up to n of the blocks that are to go as missing, and returns how many.
func (s *faults) take(n int) int {
	n = min(n, s.going)
	s.going -= n
	s.gone += n
	return n
}

// withdraw takes the room of n blocks that leave a buffer, as far as a fault requires. It returns
// how many blocks it has taken: the peer receives no credit for them.
func (s *faults) withdraw(c *Credit, n int) int {
	n = s.take(n)
	c.used -= int32(n)
	c.room -= int32(n)
	return n
}

// spoiled passes a frame that has arrived through the faults of the link, and reports whether it
// ends here. It is called even if the link was down, because the copy of the faults at the other
// end counts the frame too.
func (p *Port) spoiled(now unit.Time, a *Arrival) bool {
	s := p.faults
	if s.retry != nil && s.in.None() && a.Head >= p.since { // as on most links that only have retry
		return p.receiveRetry(now, s.retry, a, false, false)
	}
	fate, late := s.in.Pass(a.Frame.Kind, a.Head, a.Tail)
	s.late = late > 0
	if s.retry != nil && p.receiveRetry(now, s.retry, a, a.Head < p.since || fate == fault.Lost, fate == fault.Corrupted) {
		return true
	}
	switch {
	case a.Head < p.since: // lost because the link was down: Receive reports that
		return false
	case fate == fault.Lost:
		p.Lost(now, &a.Frame, trace.LostOnLink)
	case fate == fault.Corrupted:
		p.Lost(now, &a.Frame, trace.BadFCS)
	}
	a.Head, a.Tail = a.Head.Add(late), a.Tail.Add(late)
	return fate != fault.Carried
}

// permits answers MaySend for an InfiniBand link with faults or retry: is the port stuck, or does
// the retry hold the frame back? Credit is checked elsewhere.
func (s *faults) permits(now unit.Time, f *wire.Frame, n unit.Size, down bool) Answer {
	switch {
	case s.stuck > now:
		return Answer{Down, s.stuck}
	case s.retry != nil && !down:
		return s.retry.permits(now, f, n)
	}
	return Answer{Open, now}
}

// leave passes a frame that starts through the faults of the link, and returns how late it will be.
// It notes a PAUSE that will not reach the peer in time.
func (s *faults) leave(f *wire.Frame, head, tail unit.Time, asked uint8) unit.Duration {
	fate, late := s.out.Pass(f.Kind, head, tail)
	if f.Kind.Control() && (fate != fault.Carried || late > 0) {
		s.unstopped |= asked
	}
	return late
}

// Strained reports whether the node may hold more of the peer's frames than it should, because a
// fault kept the peer from stopping. All classes then have less room, and in a shared pool so do
// the other ports: a frame that finds no room is a consequence of the fault.
func (p *Port) Strained() bool {
	return p.faulty && (p.faults.late || p.faults.ignored || p.faults.unstopped != 0)
}
