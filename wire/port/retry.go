package port

import (
	"fabemu/wire"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// retrying is the retry of a link as one of its ends sees it. It works below flow control: frames
// of flow control are protected like all others.
type retrying struct {
	retry.End
	profile retry.Profile
	out     *Outbox
	rec     *trace.Recorder
	id      ID
	set     unit.Size     // length of a control ordered set on the link
	gap     unit.Duration // between two ACKs
}

// retries returns the retry of the port's link, or nil if it has none.
func (p *Port) retries() *retrying {
	if !p.faulty {
		return nil
	}
	return p.faults.retry
}

// Free implements retry.Owner.
func (r *retrying) Free(f *wire.Frame) { r.out.Bodies.Free(f) }

// Lost implements retry.Owner: the frame was lost on the link, and it will not be retransmitted.
func (r *retrying) Lost(now unit.Time, f *wire.Frame) {
	r.rec.Emit(dropped(now, r.id, f, trace.LostOnLink))
}

// Counted implements retry.Owner.
func (r *retrying) Counted(now unit.Time, c retry.Counter, f wire.Frame, sequence uint32) {
	r.rec.Emit(trace.Event{At: now, Kind: trace.Retry, Port: uint16(r.id), Lane: f.Lane, Flow: f.QP, PSN: f.PSN, A: int64(c), B: int64(sequence)})
}

// owesRetry is the part of OwesControl for a link with faults or retry.
func (p *Port) owesRetry(now unit.Time) bool {
	r := p.faults.retry
	return r != nil && r.Due(now)
}

// TakeRetryNews reports, once, whether the link needs to send something although nothing was due
// before, or releases a frame that it stopped: the node then has to serve the port.
func (p *Port) TakeRetryNews() bool {
	r := p.retries()
	if r == nil {
		return false
	}
	news := r.TakeNews()
	if p.counts() { // timers of credits begin when they are looked at
		news = r.TakeFreed() || news
	}
	return news
}

// TakeAcknowledged reports, once, whether the peer has acknowledged a frame of a link with retry.
func (p *Port) TakeAcknowledged() bool {
	r := p.retries()
	return r != nil && r.TakeFreed()
}

// Retries reports whether the port sends frames by itself, so that Control always has something to
// check: the link retransmits lost frames, or a fault has frames leave later.
func (p *Port) Retries() bool {
	return p.faulty && (p.faults.retry != nil || p.faults.lapses != nil)
}

// permits answers MaySend for a link with retry that is idle and up: it checks only whether the
// retry holds the frame back.
func (r *retrying) permits(now unit.Time, f *wire.Frame, n unit.Size) Answer {
	if r.Opens(n) { // as nearly always
		return Answer{Open, now}
	}
	switch r.Permits(f, n) {
	case retry.Full:
		return Answer{Window, unit.Never}
	case retry.Replaying:
		return Answer{LinkBusy, unit.Never}
	case retry.Closed:
		return Answer{Down, unit.Never}
	}
	return Answer{Open, now}
}

// sends passes a frame that starts now through retry. It returns the frame's preamble, and whether
// the frame is to be dropped.
func (r *retrying) sends(now, end unit.Time, f *wire.Frame, n unit.Size) (p wire.Preamble, drops bool) {
	switch r.Permits(f, n) {
	case retry.Protected:
		if !f.HasBody() {
			return wire.Sequenced(r.Keep(now, end, f, n)), false
		}
		copied := *f
		r.out.Bodies.Copy(&copied)
		return wire.Sequenced(r.Keep(now, end, &copied, n)), false
	case retry.Dropped:
		r.Discarded(now, f)
		return 0, true
	}
	return 0, false
}

// controlRetry sends the ordered set that is due, or retransmits a frame, if the link is idle. It
// returns when to call it again, and whether the link is still idle.
func (p *Port) controlRetry(now unit.Time) (again unit.Time, idle bool) {
	r := p.faults.retry
	switch {
	case r == nil || p.Down():
		return unit.Never, true
	case p.transmitter.free > now:
		if r.Due(now) {
			return p.transmitter.free, false
		}
		return unit.Never, true
	case p.faults.stuck > now && r.TxState() == retry.Replay:
		return p.faults.stuck, true
	}
	r.gap = p.transmitter.Serialise(r.profile.Spacing)
	set, f, sequence, due := r.Next(now, r.gap)
	switch {
	case !due:
		return unit.Never, true
	case f == nil:
		p.startSet(now, set.Kind, wire.OrderedSetExtension{First: set.Sequence}, r.set)
		if !p.counts() && !r.Due(p.transmitter.free) && p.owed > p.transmitter.free {
			return unit.Never, false
		}
	default:
		n := p.Framing().Length(f)
		k := p.transmitter.medium.of(n)
		control := f.Kind.Control()
		end := now.Add(k.duration)
		p.transmitter.start(now, end, k.after(control)+p.faults.leave(f, now, end, 0))
		t := p.out.place()
		t.Frame = *f
		p.out.Bodies.Copy(&t.Frame)
		t.Port, t.Start, t.Duration, t.Due, t.Length = p.id, now, k.duration, p.transmitter.due, n
		t.Note, t.Preamble = Note{Credit: -1}, wire.Sequenced(sequence)
		r.Again(now, p.transmitter.free)
	}
	return p.transmitter.free, false
}

// receiveRetry takes in a frame of a link with retry, whose FCS may be bad, and reports whether it
// ends here.
func (p *Port) receiveRetry(now unit.Time, r *retrying, a *Arrival, lost, bad bool) (ends bool) {
	f := &a.Frame
	if sequence, ok := a.Preamble.Sequence(); ok {
		switch {
		case lost:
			r.Missed(now, f, sequence)
		case r.Receive(now, f, sequence, !bad):
			return false
		}
		p.out.Bodies.Free(f)
		return true
	}
	switch {
	case lost || bad:
		return false // the same without retry
	case f.Kind < wire.LLRAck:
		return false
	}
	p.rec.Frame(now, trace.Arrive, uint16(p.id), f, uint32(a.Length), trace.FrameWord(f), int64(f.OrderedSet().First))
	r.Take(now, retry.Set{Kind: f.Kind, Sequence: f.OrderedSet().First})
	return true
}
