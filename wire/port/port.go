package port

import (
	"fabemu/wire"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The virtual lanes of a link with one data lane, of which ACKs go first when the link becomes
// idle. Of more data lanes an Arbiter chooses, and the lane of ACKs has the number behind them.
const (
	DataLane = 0
	AckLane  = 1
	Lanes    = 2
)

// The room for ACKs at each port, and how much of it is given back at a time. The reverse path in
// the paper is uncongested; giving credit back in halves limits the flow control packets for ACKs
// to one in 32.
const (
	AckRoom  = 64 // blocks; an ACK takes one
	ackBatch = AckRoom / 2
)

// Config describes a port. Rate and Propagation must be positive; with Credits, so must Resend.
type Config struct {
	Rate        unit.Rate
	Propagation unit.Duration // at least 1 ns
	Framing     wire.Framing  // which length of a frame counts on the link
	CutThrough  bool          // the peer is a switch that acts on a frame's header
	Room        int           // Credits: receive buffer for data, in blocks
	Resend      unit.Duration // flow control packets are repeated at least this often

	Lanes       int         // Credits: data lanes, each with a buffer of Room; 0: one
	AcksAsData  bool        // Credits: ACKs have service levels and data lanes; else they have a lane behind those
	SLToVL      SLToVL      // Credits: lanes of the service levels for frames that leave here; it counts with more than one data lane
	Arbitration Arbitration // Credits: of the lanes; it counts with more than one data lane

	HeadLife unit.Duration // Credits, of a switch: how long a frame may wait for credit at the head of its lane; 0: for ever

	FlowControl FlowControl // how the peer is kept from sending more than there is room for
	Station     wire.LID    // Ethernet: the node's address, from which PAUSE frames come
	Disobeyed   bool        // Ethernet: the peer may send although it is stopped, because its PFC watchdog forwards in a storm
	Quanta      uint16      // Ethernet: the time that a PAUSE frame asks for, in quanta, from LeastQuanta; 0 is MaxQuanta
	Response    Response    // Ethernet: how long the port takes to obey PAUSE, and its peer too
	CBFC        CBFC        // ChannelCredits; it must satisfy CBFC.Check

	Retry *retry.Profile // the link retransmits lost frames; nil: it does not
}

// Port is one end of a link. It is small, because a large fabric has many ports. The fields that
// each frame needs come first: in a slice of ports, whose first one is at the beginning of a cache
// line or 8 bytes behind it, they are in one line.
type Port struct {
	since       unit.Time // when the link last came up; unit.Never while it is down
	owed        unit.Time // from when control has frames to send; unit.Never: in its present state it never will
	shut        unit.Time // Ethernet: nothing may be sent before: the port is stuck; unit.Never: the link is down
	transmitter Transmitter
	id          ID
	station     wire.LID
	kind        FlowControl
	faulty      bool // faults is not nil
	armed       bool // see Armed

	control control
	rec     *trace.Recorder
	out     *Outbox
	faults  *faults // of its link; nil: it has none
	_       [32]byte
}

// control is the flow control of a port, in both directions: credits, pausing or channels. It
// answers two questions: may a frame be sent, and when is a frame of flow control owed? It keeps
// Port.owed.
type control interface {
	// maySend answers MaySend for an idle link.
	maySend(now unit.Time, f *wire.Frame, n unit.Size) Answer
	// sends accounts for a frame that starts and is none of flow control. It returns how much
	// credit is left behind it; -1: it has none.
	sends(now unit.Time, f *wire.Frame, n unit.Size) (left int)
	// receive does the work of Receive. It begins with Port.loses.
	receive(now unit.Time, a *Arrival) (pass bool)
	// free does the work of Free.
	free(now unit.Time, f *wire.Frame)

	// send does the work of Control. It begins with Port.controlRetry.
	send(now unit.Time) (again unit.Time)
	// repeats returns what Resend returns, for a link without retry.
	repeats() unit.Time
	// asked returns the classes that the peer was last asked to stop, a bit each.
	asked() uint8

	// restart resets flow control, because neither end has received anything from the other yet:
	// the link has gone down or come up. The content of the buffer stays there, and so do the
	// classes that the node wants stopped.
	restart(now unit.Time)
	// empty forgets the content of the buffer.
	empty(now unit.Time)
	// rateChanged notes that the link runs at rate r from now on; before is the old one.
	rateChanged(now unit.Time, before, r unit.Rate)

	// The faces of the kinds: what only a kind has. The others return nil.
	pausing() *Pausing
	lanes() *VirtualLanes
	channels() *Channels
}

// faceless is the part of a control that only other kinds have.
type faceless struct{}

func (faceless) asked() uint8                                { return 0 }
func (faceless) rateChanged(unit.Time, unit.Rate, unit.Rate) {}
func (faceless) pausing() *Pausing                           { return nil }
func (faceless) lanes() *VirtualLanes                        { return nil }
func (faceless) channels() *Channels                         { return nil }

// New returns a port that sends its transmissions to out and reports to rec.
func New(id ID, c Config, out *Outbox, rec *trace.Recorder) *Port {
	p := new(Port)
	p.Init(id, &c, out, rec)
	return p
}

// Init does the work of New for a port that is part of a node. The port must stay where it is.
func (p *Port) Init(id ID, c *Config, out *Outbox, rec *trace.Recorder) {
	*p = Port{id: id, out: out, rec: rec, kind: c.FlowControl, station: c.Station}
	p.transmitter.medium = out.media.of(kind{rate: c.Rate, propagation: c.Propagation, resend: c.Resend, framing: c.Framing, cut: c.CutThrough})
	switch c.FlowControl {
	case Credits:
		p.control = newVirtualLanes(p, c)
	case ChannelCredits:
		p.control = newChannels(p, c.CBFC)
	default:
		p.control = newPausing(p, c)
	}
	if c.Disobeyed && p.kind != Credits {
		p.faults, p.faulty = &faults{ignored: true}, true
	}
	if c.Retry != nil {
		p.makeFaults()
		r := &retrying{profile: *c.Retry, out: p.out, rec: p.rec, id: p.id,
			set: c.Framing.Length(&wire.Frame{Kind: wire.LLRAck})}
		r.End = *retry.NewEnd(*c.Retry, r)
		p.faults.retry = r
	}
}

// Pausing returns what only a port with PAUSE or PFC has, or nil.
func (p *Port) Pausing() *Pausing {
	if !p.kind.Pauses() {
		return nil
	}
	return p.control.pausing()
}

// VirtualLanes returns what only a port of InfiniBand has, or nil.
func (p *Port) VirtualLanes() *VirtualLanes { return p.control.lanes() }

// Channels returns what only a port with credits of virtual channels has, or nil.
func (p *Port) Channels() *Channels { return p.control.channels() }

// counts reports whether flow control counts credits: then its timers end only on an idle link.
func (p *Port) counts() bool { return p.kind == Credits || p.kind == ChannelCredits }

// stops reports whether the control of the port is a Pausing: its frames wait for no credit.
func (p *Port) stops() bool { return PauseFrames <= p.kind && p.kind <= NoFlowControl }

// open reports whether frames leave the port whenever its link is idle and up.
func (p *Port) open() bool { return p.kind == NoFlowControl && !p.faulty }

// Transmitter returns the port's transmitter.
func (p *Port) Transmitter() *Transmitter { return &p.transmitter }

// Framing returns how the length of a frame on the link is counted.
func (p *Port) Framing() wire.Framing { return p.transmitter.medium.framing }

// Propagation returns the propagation delay from the peer.
func (p *Port) Propagation() unit.Duration { return p.transmitter.medium.propagation }

// Receive takes in a frame from the link at its due time. Control frames end here. If
// pass is true the frame belongs to the node, and is in the buffer until Free. A
// frame that the buffer has no room for is reported as a violation and dropped. On
// Ethernet the memory is the node's: it calls Stored or Refused for each frame that
// is passed.
//
// A fault of the link may lose the frame, or delay it: then its instants in a are later.
//
// A frame that was in flight while the link was down is lost, unless a cut-through
// switch has acted on its header by then: such a frame counts as whole.
func (p *Port) Receive(now unit.Time, a *Arrival) (pass bool) {
	// Most frames on Ethernet need no more of the port than its first line.
	if p.stops() && !p.faulty && a.Head >= p.since && a.Frame.Lane < Priorities && !a.Frame.Kind.Control() {
		return true
	}
	return p.control.receive(now, a)
}

// loses reports whether a frame that arrives ends here because of the state of the link or its
// faults.
func (p *Port) loses(now unit.Time, a *Arrival) bool {
	if p.faulty && p.spoiled(now, a) {
		return true
	}
	if a.Head < p.since {
		p.Lost(now, &a.Frame, trace.LinkWasDown)
		return true
	}
	return false
}

// Lost reports a frame that ends here with its body: one that was refused, or one that was in the
// node's memory and is lost with it.
func (p *Port) Lost(now unit.Time, f *wire.Frame, why trace.Reason) {
	p.out.Bodies.Free(f)
	p.rec.Emit(dropped(now, p.id, f, why))
}

// dropped returns the event of a frame that is lost at a port.
func dropped(now unit.Time, id ID, f *wire.Frame, why trace.Reason) trace.Event {
	e := trace.Event{At: now, Kind: trace.Drop, Port: uint16(id), Lane: f.Lane, Flow: f.QP, PSN: f.PSN, A: int64(why)}
	if f.Kind > wire.Ack && !trace.IsData(trace.FrameWord(f)) {
		e.B = int64(f.Kind)
	}
	return e
}

// Discard frees a frame that Receive has passed and that no flow wants. On Ethernet the frame has
// not been stored.
func (p *Port) Discard(now unit.Time, f *wire.Frame, why trace.Reason) {
	p.Lost(now, f, why)
	p.Free(now, f)
}

// Free gives the room of f back to the peer: f has left the buffer. On Ethernet it is for frames
// that were never in the node's memory, and returns their credits, if any; Released is for the
// others.
func (p *Port) Free(now unit.Time, f *wire.Frame) { p.control.free(now, f) }

// MaySend answers whether f, which has n bytes on the link, may start now.
func (p *Port) MaySend(now unit.Time, f *wire.Frame, n unit.Size) Answer {
	if p.transmitter.free > now {
		return Answer{LinkBusy, p.transmitter.free}
	}
	return p.control.maySend(now, f, n)
}

// MaySendIdle answers MaySend on a port whose link the caller knows to be idle: it does not check
// for LinkBusy.
func (p *Port) MaySendIdle(now unit.Time, f *wire.Frame, n unit.Size) Answer {
	if p.open() && p.shut <= now {
		return Answer{Open, now}
	}
	return p.control.maySend(now, f, n)
}

// Down reports whether the link is down.
func (p *Port) Down() bool { return p.since == unit.Never }

// Start sends f, whose length on the link is n. The caller has asked MaySend.
func (p *Port) Start(now unit.Time, f *wire.Frame, n unit.Size, note Note) {
	left, control := -1, f.Kind.Uncredited()
	if !control {
		if p.faulty && p.faults.lapses != nil && p.errs(now, f, n, note) {
			return
		}
		if !p.open() {
			left = p.control.sends(now, f, n)
		}
	}
	k := p.transmitter.medium.of(n)
	after, end := k.after(control), now.Add(k.duration)
	preamble := wire.Preamble(0)
	if p.faulty {
		if r := p.faults.retry; r != nil {
			var drops bool
			if preamble, drops = r.sends(now, end, f, n); drops {
				p.transmitter.start(now, end, after)
				p.rec.Start(now, uint16(p.id), f, uint32(n), int64(left))
				p.Lost(now, f, trace.RetryDiscard)
				return
			}
		}
		if !p.faults.out.None() {
			after += p.faults.leave(f, now, end, p.control.asked())
		}
	}
	p.transmitter.start(now, end, after)
	note.Credit = int32(left)
	t := p.out.place()
	t.Preamble = preamble
	t.Frame = *f // separate from the other fields: otherwise it would be copied twice
	t.Port, t.Start, t.Duration, t.Due, t.Length, t.Note = p.id, now, k.duration, p.transmitter.due, n, note
	p.rec.Start(now, uint16(p.id), f, uint32(n), int64(left))
}

// startSet sends a control ordered set of n bytes on the idle link. It does what Start does with
// only the steps that such a set needs.
func (p *Port) startSet(now unit.Time, kind wire.Kind, part wire.OrderedSetExtension, n unit.Size) {
	k := p.transmitter.medium.of(n)
	after, end := k.whole, now.Add(k.duration)
	t := p.out.place()
	t.Preamble, t.Frame = 0, wire.Frame{Kind: kind} // separate from its part: otherwise it would be copied
	*t.Frame.OrderedSet() = part
	t.Frame.Src = p.station
	if p.faulty && !p.faults.out.None() {
		after += p.faults.leave(&t.Frame, now, end, p.control.asked())
	}
	p.transmitter.start(now, end, after)
	t.Port, t.Start, t.Duration, t.Due, t.Length, t.Note = p.id, now, k.duration, p.transmitter.due, n, Note{Credit: -1}
	p.rec.Frame(now, trace.Start, uint16(p.id), &t.Frame, uint32(n), int64(kind), -1)
}

// ControlIdle reports whether the port, in its present state, will never have flow control to send:
// Control would do nothing, and Resend returns unit.Never.
func (p *Port) ControlIdle() bool { return p.owed == unit.Never && !p.Retries() }

// Plain reports whether the port does nothing but send the frames that it is given, as far as can
// be foreseen: its link is up, the peer has not stopped their priority, and it has no flow control
// to send, no retry, no faults and no response. It is for Ethernet without credits.
func (p *Port) Plain(now unit.Time, lane uint8) bool {
	if p.owed != unit.Never || p.faulty || p.shut > now {
		return false
	}
	if p.kind == NoFlowControl {
		return true
	}
	s := p.control.pausing()
	return s.late == nil && s.until[s.class(lane)] <= now
}

// OwesControl reports whether Control has anything to do: a flow control packet is owed or has to
// be repeated, or on Ethernet the port has stopped its peer.
func (p *Port) OwesControl(now unit.Time) bool {
	return now >= p.owed || p.faulty && (p.owesRetry(now) || p.faults.lapses != nil && p.faults.lapses.next() <= now)
}

// Resend returns when the next flow control packet is due, whatever happens: InfiniBand requires
// one for each lane at least every 65 536 symbol times, and a PAUSE is repeated before it expires.
// A packet that is already owed does not count, because it waits only for the link.
func (p *Port) Resend() unit.Time {
	at := unit.Never
	if r := p.retries(); r != nil && !p.Down() {
		if at = r.Bound(); p.counts() || at < p.transmitter.free {
			at = max(r.Deadline(), p.transmitter.free)
		}
		if r.TxState() == retry.Replay {
			at = max(at, p.faults.stuck)
		}
	}
	if l := p.lapses(); l != nil && len(l.kept) > 0 {
		at = min(at, max(l.next(), p.transmitter.free))
	}
	return min(at, p.control.repeats())
}

// Armed reports whether the timer of the port is set to an instant at which, or before which, the
// node has nothing to do for its flow control. Nearly each frame puts off the instant of Resend,
// which is noticed only when the timer has ended: to serve the port once too often costs less than
// to set the timer for each frame.
func (p *Port) Armed() bool { return p.armed }

// Timer returns to when the timer of the port is to be set, after the node has served it: at that
// instant it calls TimerEnded and serves the port again. set is to when it is set. It is not asked
// of a port that is Armed or ControlIdle.
func (p *Port) Timer(set unit.Time) unit.Time {
	switch r := p.retries(); {
	case p.lapses() != nil: // a frame that leaves may be kept
		return p.Resend()
	case r == nil:
		at := p.control.repeats()
		p.armed = at != unit.Never
		return at
	case p.counts(): // timers of credits begin when they are looked at
		return p.Resend()
	case r.TakeTimerMoved() || p.owed != unit.Never || set == unit.Never: // not every frame postpones the replay timer
		return min(set, p.Resend())
	}
	return set
}

// TimerEnded notes that the timer is not set any more.
func (p *Port) TimerEnded() { p.armed = false }

// Control sends the flow control packets that are owed or have to be repeated, if the link is idle;
// on Ethernet, the PAUSE frame. They go ahead of frames that wait for the link. If one is still
// owed, it returns when the link becomes idle. Then come frames that a fault has the port send by
// itself.
func (p *Port) Control(now unit.Time) (again unit.Time) {
	again = p.control.send(now)
	if l := p.lapses(); l != nil && !p.Down() {
		again = min(again, p.sendKept(now))
	}
	return again
}

// Apply makes a change from outside. It ignores a change that does not concern ports.
func (p *Port) Apply(now unit.Time, change Change) {
	var b int64
	switch c := change.(type) {
	case Deadlock:
		p.rec.Emit(trace.Event{At: now, Kind: trace.Deadlock, Port: uint16(p.id), Lane: c.Class, B: int64(c.Since)})
		return
	case RateChange:
		p.control.rateChanged(now, p.transmitter.medium.rate, c.Rate)
		p.transmitter.SetRate(c.Rate)
		b = int64(c.Rate)
	case LinkDown:
		if p.Down() {
			return
		}
		p.since = unit.Never
		p.shuts(unit.Never)
		p.loseKept(now)
		if r := p.retries(); r == nil || r.LinkDown(now) {
			p.control.restart(now)
		}
	case Restart:
		p.since, p.armed = unit.Never, false
		p.shuts(unit.Never)
		p.loseKept(now)
		if r := p.retries(); r != nil {
			r.Restart(now)
		}
		p.control.empty(now)
		if p.control.restart(now); p.faulty {
			p.faults.unstopped = 0
		}
	case LinkUp:
		if !p.Down() {
			return
		}
		p.since = now
		p.shuts(0)
		p.transmitter.free = max(p.transmitter.free, now)
		if r := p.retries(); r != nil && !r.LinkUp(now) {
			break
		}
		p.control.restart(now)
	case SendMAD:
		f := *c.Frame
		p.Queue(now, now, &f)
		return
	case SLToVLChange, ArbitrationChange, MarkingChange, ControlChange, CongestionReported, CongestionMeasured: // the node makes it
	case StormStart:
		if !p.setStorm(true, c) {
			return
		}
	case StormStop:
		if !p.setStorm(false, StormStart(c)) {
			return
		}
	case FaultStart:
		p.beginFault(now, &c)
	case Stuck:
		p.stick(now, c.Last)
	case PauseIgnored:
		p.ignore(true, c.Peer)
	case PauseObeyed:
		p.ignore(false, c.Peer)
	case BufferChange:
		p.changeRoom(int(c.Left.Room / wire.BlockSize))
		b = int64(c.Left.Room)
	default:
		return
	}
	p.rec.Emit(trace.Event{At: now, Kind: trace.Control, Port: uint16(p.id), A: int64(change.Kind()), B: b})
}

// setStorm begins or ends a storm, or reports that the port can have none.
func (p *Port) setStorm(on bool, c StormStart) bool {
	if s := p.control.pausing(); s != nil { // without flow control too: its frames are invalid
		s.setStorm(on, c)
	}
	return p.kind != Credits
}
