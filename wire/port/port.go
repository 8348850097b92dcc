package port

import (
	"fabemu/wire"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The virtual lanes. A higher one goes first when the link becomes idle.
const (
	DataLane = 0
	AckLane  = 1
	Lanes    = 2
)

// The room for ACKs at each port, and how much of it is given back at a time. The reverse path in the paper is
// uncongested; giving credit back in halves limits the flow control packets for ACKs to one in 32.
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
	Resend      unit.Duration // flow control packets are repeated after this time at the latest

	FlowControl FlowControl // how the peer is kept from sending more than there is room for
	Station     wire.LID    // Ethernet: the machine's address, from which PAUSE frames come
	Disobeyed   bool        // Ethernet: the peer may send although it is stopped, because its PFC watchdog forwards in a storm
	Quanta      uint16      // Ethernet: the time that a PAUSE frame asks for, in quanta, from LeastQuanta; 0 is MaxQuanta
	CBFC        CBFC        // ChannelCredits; it must satisfy CBFC.Check

	Retry *retry.Profile // the link retransmits lost frames; nil: it does not
}

// Port is one end of a link. It has two cache lines, because a large fabric has many ports. The first is for flow
// control packets that arrive, the second for frames that leave.
type Port struct {
	credit   [Lanes]Credit
	since    unit.Time // when the link last came up; unit.Never while it is down
	rec      *trace.Recorder
	id       ID
	ethernet bool // pause is not nil
	faulty   bool // faults is not nil
	credited bool // with ChannelCredits

	due   [Lanes]unit.Time // Credits: when the next flow control packet of each lane is due, or owed
	line  Line
	pause *pausing // Ethernet; nil with Credits
	out   *Outbox

	faults *faults // of its link; nil: it has none. Up to here the struct fills two whole cache lines
}

// New returns a port that sends its transmissions to out and reports to rec.
func New(id ID, c Config, out *Outbox, rec *trace.Recorder) *Port {
	p := &Port{id: id, out: out, rec: rec}
	p.line.medium = out.media.of(kind{rate: c.Rate, propagation: c.Propagation, resend: c.Resend, framing: c.Framing, cut: c.CutThrough})
	p.credit[DataLane] = NewCredit(c.Room, 1)
	p.credit[AckLane] = NewCredit(AckRoom, ackBatch)
	if c.FlowControl != Credits {
		p.pause, p.ethernet, p.credited = newPausing(c), true, c.FlowControl == ChannelCredits
		if c.Disobeyed {
			p.faults, p.faulty = &faults{ignored: true}, true
		}
	}
	p.allDue()
	if c.Retry != nil {
		p.makeRetry(c)
	}
	return p
}

// owed is the due time of a flow control packet that leaves as soon as the link is idle.
const owed unit.Time = -1

// allDue makes a flow control packet due for each lane at once.
func (p *Port) allDue() {
	if p.ethernet {
		p.due = [Lanes]unit.Time{unit.Never, unit.Never}
		return
	}
	p.due = [Lanes]unit.Time{}
}

// Line returns the port's transmitter.
func (p *Port) Line() *Line { return &p.line }

// Framing returns how the length of a frame on the link is counted.
func (p *Port) Framing() wire.Framing { return p.line.medium.framing }

// Propagation returns the propagation delay from the peer.
func (p *Port) Propagation() unit.Duration { return p.line.medium.propagation }

// Used returns the occupancy of a lane's receive buffer in blocks.
func (p *Port) Used(lane uint8) int { return p.credit[lane].Used() }

// Room returns how many blocks a lane's receive buffer has.
func (p *Port) Room(lane uint8) int { return p.credit[lane].Room() }

// HasRoom reports whether the given number of blocks would fit into a lane's receive buffer.
func (p *Port) HasRoom(lane uint8, blocks int) bool {
	c := &p.credit[lane]
	return c.Used()+blocks <= c.Room()
}

// Receive takes in a frame from the link at its due time. Control frames end here. If
// pass is true the frame belongs to the machine, and is in the buffer until Free. A
// frame that the buffer has no room for is reported as a violation and dropped. On
// Ethernet the memory is the machine's: it calls Stored or Refused for each frame that
// is passed.
//
// A fault of the link may lose the frame, or delay it: then its instants in a are later.
//
// A frame that was in flight while the link was down is lost, unless a cut-through
// switch has acted on its header by then: such a frame counts as whole.
func (p *Port) Receive(now unit.Time, a *Arrival) (pass bool) {
	f := &a.Frame
	if p.faulty && p.spoiled(now, a) {
		return false
	}
	if a.Head < p.since {
		p.Lost(now, f, trace.LinkWasDown)
		return false
	}
	if p.ethernet {
		if !f.Kind.Control() && f.Lane < Priorities {
			return !p.credited || p.stores(now, a)
		}
		return p.receiveEthernet(now, a)
	}
	if f.Lane >= Lanes {
		p.Lost(now, f, trace.NoSuchLane)
		return false
	}
	c := &p.credit[f.Lane]
	if f.Kind.Control() {
		if !c.Receive(f) {
			p.Lost(now, f, trace.BadFlowControl)
			return false
		}
		p.rec.Frame(now, trace.Arrive, uint16(p.id), f, uint32(a.Length), trace.FrameWord(f), int64(c.Used()))
		return false
	}
	if !c.Received(f.Blocks()) {
		p.rec.Frame(now, trace.Violation, uint16(p.id), f, uint32(a.Length), int64(trace.Overrun), int64(c.Used()))
		p.Lost(now, f, trace.Overrun)
		return false
	}
	p.rec.Frame(now, trace.Arrive, uint16(p.id), f, uint32(a.Length), trace.FrameWord(f), int64(c.Used()))
	return true
}

// Lost reports a frame that ends here with its body: one that was refused, or one that was in the machine's memory
// and is lost with it.
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

// Discard frees a frame that Receive has passed and that no flow wants. On Ethernet the frame has not been stored.
func (p *Port) Discard(now unit.Time, f *wire.Frame, why trace.Reason) {
	p.Lost(now, f, why)
	p.Free(now, f)
}

// Free gives the room of f back to the peer: f has left the buffer. On Ethernet it is for frames that were never in
// the machine's memory, and returns their credits, if any; Released is for the others.
func (p *Port) Free(now unit.Time, f *wire.Frame) {
	if p.ethernet {
		if p.credited {
			p.pause.channels.freed(f.Lane, p.Framing().Length(f))
		}
		return
	}
	c, n := &p.credit[f.Lane], f.Blocks()
	if p.faulty && f.Lane == DataLane {
		n -= p.faults.withdraw(c, n)
	}
	if c.Freed(n) {
		p.due[f.Lane] = owed
	}
	p.rec.Frame(now, trace.Release, uint16(p.id), f, 0, 0, int64(c.Used()))
}

// MaySend answers whether f, which has n bytes on the link, may start now.
func (p *Port) MaySend(now unit.Time, f *wire.Frame, n unit.Size) Answer {
	switch {
	case p.line.free > now:
		return Answer{LineBusy, p.line.free}
	case p.ethernet:
		return p.MaySendIdle(now, f, n)
	case p.faulty:
		if a := p.faults.lets(now, f, n, p.Down()); a.Block != Open {
			return a
		}
	}
	switch {
	case p.credit[f.Lane].MaySend(f.Blocks()):
		return Answer{Open, now}
	case p.Down(): // there is no credit then
		return Answer{Down, unit.Never}
	}
	return Answer{NoCredit, unit.Never}
}

// Down reports whether the link is down.
func (p *Port) Down() bool { return p.since == unit.Never }

// Start sends f at now. The caller has asked MaySend.
func (p *Port) Start(now unit.Time, f *wire.Frame, note Note) {
	p.StartAt(now, now, f, p.Framing().Length(f), note)
}

// StartAt sends f now, as if from an instant that may have passed: at is when the obstacle to f ended, because the
// link became idle or the rate limiter released it. So a machine that runs late makes up for it; for a machine that
// runs on time, at is now. The link must have been idle at that instant. The length of f on the link is n.
func (p *Port) StartAt(now, at unit.Time, f *wire.Frame, n unit.Size, note Note) {
	left, control := -1, f.Kind.Control()
	switch {
	case control:
	case p.ethernet:
		if until := p.PausedUntil(f.Lane); until > now {
			p.sentPaused(now, until, f)
		}
		if p.credited {
			left = p.pause.channels.sends(f.Lane, n)
		}
	default:
		left = p.credit[f.Lane].Sent(f.Blocks())
	}
	k := p.line.medium.of(n)
	after, end := k.after(control), at.Add(k.duration)
	preamble := wire.Preamble(0)
	if p.faulty {
		if r := p.faults.retry; r != nil {
			var drops bool
			if preamble, drops = r.sends(now, end, f, n); drops {
				p.line.start(at, end, after)
				p.rec.Frame(now, trace.Start, uint16(p.id), f, uint32(n), trace.FrameWord(f), int64(left))
				p.Lost(now, f, trace.RetryDiscard)
				return
			}
		}
		if !p.faults.out.None() {
			after += p.faults.leave(f, at, end, p.pause)
		}
	}
	p.line.start(at, end, after)
	note.Credit = int32(left)
	t := p.out.place()
	t.Preamble = preamble
	t.Frame = *f // separate from the other fields: otherwise it would be copied twice
	t.Port, t.Start, t.Duration, t.Due, t.Length, t.Note = p.id, at, k.duration, p.line.due, n, note
	p.rec.Frame(now, trace.Start, uint16(p.id), f, uint32(n), trace.FrameWord(f), int64(left))
}

// startSet sends a control ordered set of n bytes on the idle link. It does what Start does with only the steps that
// such a set needs.
func (p *Port) startSet(now unit.Time, kind wire.Kind, part wire.OrderedSetPart, n unit.Size) {
	k := p.line.medium.of(n)
	after, end := k.whole, now.Add(k.duration)
	t := p.out.place()
	t.Preamble, t.Frame = 0, wire.Frame{Kind: kind} // separate from its part: otherwise it would be copied
	*t.Frame.OrderedSet() = part
	if p.ethernet {
		t.Frame.Src = p.pause.station
	}
	if p.faulty && !p.faults.out.None() {
		after += p.faults.leave(&t.Frame, now, end, p.pause)
	}
	p.line.start(now, end, after)
	t.Port, t.Start, t.Duration, t.Due, t.Length, t.Note = p.id, now, k.duration, p.line.due, n, Note{Credit: -1}
	p.rec.Frame(now, trace.Start, uint16(p.id), &t.Frame, uint32(n), int64(kind), -1)
}

// ControlIdle reports whether the port, in its present state, will never have flow control to send: Control would do
// nothing, and Resend returns unit.Never.
func (p *Port) ControlIdle() bool {
	return p.ethernet && !p.credited && p.pause.silent() && !p.Retries()
}

// OwesControl reports whether Control has anything to do: a flow control packet is owed or has to be repeated, or on
// Ethernet the port has stopped its peer.
func (p *Port) OwesControl(now unit.Time) bool {
	return now >= min(p.due[DataLane], p.due[AckLane]) || (p.ethernet || p.faulty) && p.owesControl(now)
}

// owesControl is the part of OwesControl for links with retry and for Ethernet. OwesControl itself checks the
// credits of InfiniBand, and calls it only for a port that may have one of the two.
func (p *Port) owesControl(now unit.Time) bool {
	if r := p.retries(); r != nil && r.Due(now) {
		return true
	}
	return p.ethernet && p.owesPause(now)
}

// owesPause is the part of owesControl for the flow control of Ethernet: PAUSE, PFC and CBFC. It does not look at
// retry.
func (p *Port) owesPause(now unit.Time) bool {
	if !p.credited {
		return !p.pause.silent()
	}
	s := p.pause.channels
	return s.owed || s.ccHalves != 0 || now >= min(s.cfDue, s.ccDue)
}

// Resend returns when the next flow control packet is due, whatever happens: InfiniBand requires one for each lane
// at least every 65 536 symbol times, and a PAUSE is repeated before it expires. A packet that is already owed does
// not count, because it waits only for the link.
func (p *Port) Resend() unit.Time {
	at := unit.Never
	if r := p.retries(); r != nil && !p.Down() {
		if at = r.Bound(); !p.ethernet || p.credited || at < p.line.free {
			at = max(r.Deadline(), p.line.free)
		}
		if r.TxState() == retry.Replay {
			at = max(at, p.faults.stuck)
		}
	}
	if p.ethernet {
		return min(at, p.refresh())
	}
	if p.Down() {
		return at
	}
	for _, due := range p.due {
		if due != owed {
			at = min(at, due)
		}
	}
	return at
}

// Control sends the flow control packets that are owed or have to be repeated, if the link is idle; on Ethernet, the
// PAUSE frame. They go ahead of frames that wait for the link. If one is still owed, it returns when the link
// becomes idle.
func (p *Port) Control(now unit.Time) (again unit.Time) {
	if r := p.retries(); r != nil {
		if at, idle := p.controlRetry(now, r); !idle {
			if !p.ethernet {
				p.owe(now) // it waits for the line now, and for no instant that has passed
			}
			return at
		}
	}
	if p.ethernet {
		return p.controlEthernet(now)
	}
	again = unit.Never
	if p.Down() {
		return again
	}
	for lane, due := range p.due {
		if due > now {
			continue
		}
		if p.line.free > now {
			p.due[lane], again = owed, p.line.free
			continue
		}
		f := p.credit[lane].Packet(uint8(lane))
		p.due[lane] = now.Add(p.line.medium.resend)
		p.StartAt(now, now, &f, p.line.medium.packet, Note{})
	}
	return again
}

// owe marks the InfiniBand lanes whose flow control packet has to be repeated as owed, so that Resend leaves them
// out.
func (p *Port) owe(now unit.Time) {
	for lane, due := range p.due {
		if due <= now {
			p.due[lane] = owed
		}
	}
}

// Apply makes a change from outside. It ignores a change that does not concern ports.
func (p *Port) Apply(now unit.Time, e Event) {
	var b int64
	switch e.Kind {
	case Deadlock:
		p.rec.Emit(trace.Event{At: now, Kind: trace.Deadlock, Port: uint16(p.id), Lane: e.Class, B: int64(e.Since)})
		return
	case RateChange:
		if p.ethernet {
			p.pause.rateChanged(now, p.line.medium.rate, e.Rate)
		}
		p.line.SetRate(e.Rate)
		b = int64(e.Rate)
	case LinkDown:
		if p.Down() {
			return
		}
		p.since = unit.Never
		p.shuts(unit.Never)
		if r := p.retries(); r == nil || r.LinkDown(now) {
			p.restart(now)
		}
	case Restart:
		p.since = unit.Never
		p.shuts(unit.Never)
		if r := p.retries(); r != nil {
			r.Restart(now)
		}
		for lane := range p.credit {
			if c := &p.credit[lane]; c.used > 0 {
				c.used = 0
				p.rec.Emit(trace.Event{At: now, Kind: trace.Release, Port: uint16(p.id), Lane: uint8(lane)})
			}
		}
		p.restart(now)
		if p.ethernet {
			p.pause.stopped, p.pause.ignored = 0, 0 // its memory is free
			if p.credited {
				p.pause.channels.empty()
			}
			if p.faulty {
				p.faults.unstopped = 0
			}
		}
	case LinkUp:
		if !p.Down() {
			return
		}
		p.since = now
		p.shuts(0)
		p.line.free = max(p.line.free, now)
		if r := p.retries(); r != nil && !r.LinkUp(now) {
			break
		}
		p.restart(now)
		if p.ethernet {
			p.pause.unwarned, p.pause.warned = p.pause.wanted(), unit.Never
		}
	case StormStart, StormStop:
		if !p.ethernet {
			return
		}
		p.pause.setStorm(e.Kind == StormStart, e.Classes, e.Invalid)
	case FaultStart, Stuck, PauseIgnored, PauseObeyed:
		p.applyFault(now, &e)
	case BufferChange:
		p.changeRoom(int(e.Buffer.Room / wire.BlockSize))
		b = int64(e.Buffer.Room)
	default:
		return
	}
	p.rec.Emit(trace.Event{At: now, Kind: trace.Control, Port: uint16(p.id), A: int64(e.Kind), B: b})
}

// restart resets flow control, because neither end has received anything from the other yet. The content of the
// buffer stays there.
func (p *Port) restart(now unit.Time) {
	for lane := range p.credit {
		p.credit[lane].restart()
	}
	p.allDue()
	if p.faulty {
		p.faults.meant = [Priorities]unit.Time{}
		if c := &p.credit[DataLane]; !p.ethernet { // nothing is promised any more
			c.room -= int32(p.faults.take(int(c.room - c.used)))
		}
	}
	if p.ethernet {
		p.pause.restart()
	}
	if p.credited {
		p.pause.channels.restart(now)
	}
}
