package port

import (
	"math/bits"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// FlowControl is the mechanism that keeps a sender from sending more than its receiver has room
// for. Both ends of a link have the same.
type FlowControl uint8

// The kinds of flow control: InfiniBand has the first, Ethernet the others.
const (
	Credits             FlowControl = iota // the sender counts the room of the receiver (IBTA Volume 1, 7.9.4)
	PauseFrames                            // PAUSE stops all that the peer sends (IEEE 802.3, annex 31B)
	PriorityPauseFrames                    // PFC stops individual priorities (IEEE 802.1Qbb)
	NoFlowControl                          // a frame without room is dropped
	ChannelCredits                         // the sender counts the credits of virtual channels (Ultra Ethernet, section 5.2)
)

func (FlowControl) Words() []string { return []string{"credit", "pause", "pfc", "none", "cbfc"} }

func (c FlowControl) String() string { return unit.Word(c, c.Words()) }

// Pauses reports whether a receiver can stop the sender.
func (c FlowControl) Pauses() bool { return c == PauseFrames || c == PriorityPauseFrames }

// ByPriority reports whether each priority has its own flow control.
func (c FlowControl) ByPriority() bool { return c == PriorityPauseFrames || c == ChannelCredits }

// Priorities is the number of priorities of Ethernet: the classes of PFC.
const Priorities = 8

// MaxQuanta is the longest time that a PAUSE frame can ask for, in quanta of 512 bit times.
const MaxQuanta = 65535

// allClasses has a bit for each priority.
const allClasses = 1<<Priorities - 1

// Pausing is the flow control of an Ethernet port that is stopped by PAUSE frames, or by nothing,
// in both directions. Port.Pausing returns it.
//
// As a sender it holds until when each class must wait. As a receiver it holds the
// classes that the peer should stop, and what the peer was last sent about them: if
// the two differ, a PAUSE frame is owed. A stop holds only for a time, so it is
// repeated before that time is over, early enough for the frames that may be ahead of
// it.
//
// The fields that every frame needs come first. With plain PAUSE they all lie in one
// cache line.
type Pausing struct {
	faceless
	port     *Port
	kind     FlowControl
	mask     uint8 // the bits of a priority that are its class: none if there is only one class
	stopped  uint8 // receiver: the classes that the node wants stopped
	storm    uint8 // receiver: the classes that are stopped in any case
	last     uint8 // the classes that the peer was last asked to stop
	again    bool  // the last PAUSE must be repeated
	ignored  uint8 // sender: the classes whose stops it does not obey
	unwarned uint8 // the classes that should have been stopped when the link came up
	quanta   uint16
	invalid  wire.Kind             // receiver: a storm of frames that the peer has to ignore; 0: there is none
	xon      uint8                 // receiver: a storm of frames that let the peer send these classes
	late     *responding           // sender: what it obeys only after its response; nil: it obeys at once
	expires  unit.Time             // when the peer resumes if it receives nothing more
	changed  unit.Time             // sender: when the rate of the link last changed
	until    [Priorities]unit.Time // sender: when each class may resume; PAUSE has only the first
	since    [Priorities]unit.Time // sender: when the stop that lasts until then began

	before  unit.Rate // of the link, until changed
	warned  unit.Time // when the peer obeys the stop of unwarned again, after it had forgotten it
	pause   uint32    // length of a PAUSE or PFC frame on the link, in bytes
	longest uint32    // of any frame

	meant *[Priorities]unit.Time // sender: until when the stops that it ignores would last, by class; nil: it has ignored none
}

// longestOf returns the length of the longest possible frame on the link.
func longestOf(g wire.Framing) unit.Size {
	return g.Length(&wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: wire.MaxMSDU, Tagged: true})
}

// LeastQuanta returns the least number of quanta that a PAUSE frame must ask for, so that a peer
// can be kept stopped and the link still has time for other frames. That is longer than the PAUSE
// frame and the longest possible frame, which may have begun just before the PAUSE has to be
// repeated.
func LeastQuanta(g wire.Framing) uint16 {
	const quantum = wire.Quantum / 8
	return uint16((longestOf(g)+g.Length(&wire.Frame{Kind: wire.Pause}))/quantum) + 1
}

func newPausing(p *Port, c *Config) *Pausing {
	frame := wire.Frame{Kind: wire.Pause}
	s := &Pausing{port: p, kind: c.FlowControl, quanta: c.Quanta, pause: uint32(c.Framing.Length(&frame)), longest: uint32(longestOf(c.Framing))}
	if s.quanta == 0 {
		s.quanta = MaxQuanta
	}
	if s.kind == PriorityPauseFrames {
		s.mask = Priorities - 1
	}
	if c.Response != (Response{}) {
		s.late = &responding{Response: c.Response}
	}
	s.settle()
	return s
}

func (s *Pausing) pausing() *Pausing { return s }

func (s *Pausing) restart(unit.Time) {
	s.until, s.last, s.again = [Priorities]unit.Time{}, 0, false
	s.forget()
	if s.meant != nil {
		clear(s.meant[:])
	}
	if !s.port.Down() {
		s.unwarned, s.warned = s.wanted(), unit.Never
	}
	s.settle()
}

func (s *Pausing) empty(unit.Time) {
	s.stopped, s.ignored = 0, 0
	s.settle()
}

// settle notes whether the port has PAUSE to send: it has, or will have, while one is wanted or one
// that was sent still holds.
func (s *Pausing) settle() {
	if s.port.owed = 0; s.stopped|s.last|s.storm|s.xon|uint8(s.invalid) == 0 {
		s.port.owed = unit.Never
	}
}

func (s *Pausing) asked() uint8 { return s.last }

// class returns the index of the state for a frame's priority.
func (s *Pausing) class(lane uint8) uint8 { return lane & s.mask % Priorities }

// wanted returns the classes that the peer should stop. PAUSE has one class.
func (s *Pausing) wanted() uint8 {
	switch w := s.stopped; {
	case !s.kind.Pauses():
		return 0
	case s.kind == PauseFrames && w|s.storm != 0:
		return 1
	default:
		return w | s.storm
	}
}

// setStorm starts or stops a pause storm. One of invalid frames, or of frames that let the peer
// continue, stops no priority.
func (s *Pausing) setStorm(on bool, c StormStart) {
	classes := c.Classes
	if classes == 0 {
		classes = allClasses
	}
	switch {
	case c.Invalid != 0 && on:
		s.invalid, s.again = c.Invalid, true
	case c.Invalid != 0:
		s.invalid = 0
	case c.XON && on:
		s.xon, s.again = s.xon|classes, true
	case c.XON:
		s.xon &^= classes
	case on:
		s.storm |= classes
	default:
		s.storm &^= classes
	}
	s.settle()
}

// owes reports whether a PAUSE frame is to be sent at once.
func (s *Pausing) owes() bool {
	w := s.wanted()
	return w != s.last || s.again && w|s.xon|uint8(s.invalid) != 0
}

// fill makes f, which is empty but for its source, the frame to send now. That is everything that
// the peer should know. If there is nothing, it is a frame of a storm: one that the peer has to
// ignore, PAUSE, or PFC that has a time for each priority but enables none; or one of zero quanta.
func (s *Pausing) fill(f *wire.Frame) {
	w := s.wanted()
	f.Kind = wire.Pause
	part := f.Pause()
	switch {
	case w|s.last|uint8(s.invalid) == 0:
		if s.again = false; s.kind == PriorityPauseFrames {
			f.Kind, part.Classes = wire.PriorityPause, s.xon
		}
		return
	case w|s.last == 0:
		f.Kind, part.Stopped, part.Quanta, s.again = s.invalid, allClasses, s.quanta, false
		if f.Kind == wire.Pause {
			part.Stopped = 0
		}
		return
	}
	if s.kind == PriorityPauseFrames {
		f.Kind, part.Classes, part.Stopped = wire.PriorityPause, w|s.last, w
	}
	if w != 0 {
		part.Quanta = s.quanta
	}
	s.last, s.again = w, false
}

// Stop asks the peer to stop a class: a PAUSE frame is owed at once, ahead of all other frames, and
// is repeated before it expires, until Resume. PAUSE has no classes: it stops the peer while any of
// them is stopped.
func (s *Pausing) Stop(class uint8) {
	s.stopped |= 1 << (class % Priorities)
	s.settle()
}

// Resume lets the peer send a class again: a PAUSE frame of zero quanta is owed.
func (s *Pausing) Resume(class uint8) {
	s.stopped &^= 1 << (class % Priorities)
	s.settle()
	if s.port.faulty {
		s.port.faults.unstopped &^= 1 << (class % Priorities)
	}
}

// Until returns until when a class is stopped, as far as the peer has said. The result is 0 or in
// the past if the class is not stopped.
func (s *Pausing) Until(now unit.Time, class uint8) unit.Time {
	i := s.class(class)
	if s.late == nil {
		return s.until[i]
	}
	return s.stop(now, i)
}

// Since returns since when the peer has stopped a class. The result is meaningful only after
// Until, and before the instant that it returns.
func (s *Pausing) Since(class uint8) unit.Time { return s.since[s.class(class)] }

// Stopped returns since when and until when the peer has stopped a class, according to what it has
// sent, whether or not the port obeys. If until is in the past, the last stop ended then.
func (s *Pausing) Stopped(now unit.Time, class uint8) (since, until unit.Time) {
	s.catchUp(now)
	i := s.class(class)
	if s.ignored>>i&1 == 1 {
		return s.since[i], s.meant[i]
	}
	return s.since[i], s.until[i]
}

// Ignore makes the port ignore the stops of a class, or obey them again.
func (s *Pausing) Ignore(now unit.Time, class uint8, ignore bool) {
	s.catchUp(now)
	i := s.class(class)
	if s.meant == nil {
		s.meant = new([Priorities]unit.Time)
	}
	if ignore {
		s.ignored |= 1 << i
		s.meant[i], s.until[i] = s.until[i], 0
	} else {
		s.ignored &^= 1 << i
		s.until[i] = s.meant[i]
	}
}

func (s *Pausing) maySend(now unit.Time, f *wire.Frame, n unit.Size) Answer {
	p := s.port
	switch until := s.Until(now, f.Lane); {
	case p.shut > now:
		return Answer{Down, p.shut}
	case until > now:
		return Answer{Paused, until}
	case p.faulty && p.faults.retry != nil:
		return p.faults.retry.permits(now, f, n)
	}
	return Answer{Open, now}
}

// sends reports a frame that starts although the peer has stopped it.
func (s *Pausing) sends(now unit.Time, f *wire.Frame, _ unit.Size) (left int) {
	if until := s.until[s.class(f.Lane)]; until > now {
		s.port.rec.Frame(now, trace.Violation, uint16(s.port.id), f, 0, int64(trace.SentPaused), int64(until))
	}
	return -1
}

func (s *Pausing) free(unit.Time, *wire.Frame) {}

// receive passes frames to the node, but for PAUSE frames and frames of no priority.
func (s *Pausing) receive(now unit.Time, a *Arrival) (pass bool) {
	p, f := s.port, &a.Frame
	switch {
	case (p.faulty || a.Head < p.since) && p.loses(now, a):
		return false
	case f.Lane >= Priorities:
		p.Lost(now, f, trace.NoSuchLane)
		return false
	case !f.Kind.Control():
		return true
	case s.kind.Pauses() && p.faulty && p.faults.ignores:
		p.Lost(now, f, trace.Ignored)
		return false
	case s.kind == PauseFrames && f.Kind == wire.Pause:
		s.received(now, order{head: a.Head, classes: 1, stopped: 1, quanta: f.Pause().Quanta})
	case s.kind == PriorityPauseFrames && f.Kind == wire.PriorityPause:
		part := f.Pause()
		s.received(now, order{head: a.Head, classes: part.Classes, stopped: part.Stopped, quanta: part.Quanta})
	default:
		p.Lost(now, f, trace.BadFlowControl)
		return false
	}
	p.rec.Emit(trace.Event{At: now, Kind: trace.Arrive, Port: uint16(p.id), PSN: trace.ClassesWord(f), Bytes: uint32(a.Length), A: trace.FrameWord(f), B: int64(f.Pause().Quanta)})
	return false
}

// paused has a class stop for d from now on, in place of any stop before it. A stop that has ended
// does not end again.
func (s *Pausing) paused(now unit.Time, class int, d unit.Duration) {
	if d == 0 {
		s.until[class] = min(s.until[class], now)
		return
	}
	if s.until[class] <= now {
		s.since[class] = now
	}
	s.until[class] = now.Add(d)
}

// stopTime returns for how long a PAUSE frame stops the port. One that the peer sent before the
// rate changed lasts for its quanta at the old rate or at the new one, whichever is longer, because
// the peer needs time to repeat it.
func (s *Pausing) stopTime(o *order) unit.Duration {
	n := unit.Size(o.quanta) * (wire.Quantum / 8)
	if o.head < s.changed {
		return max(s.before.Serialise(n), s.port.transmitter.Serialise(n))
	}
	return s.port.transmitter.Serialise(n)
}

// rateChanged records that the link runs at another rate from now on; before is the old one. A
// PAUSE that is repeated may arrive later than it would have at the old rate. So a stop lasts for
// the quanta that are left of it or for as long as it would have lasted, whichever is longer.
func (s *Pausing) rateChanged(now unit.Time, before, r unit.Rate) {
	s.catchUp(now)
	s.again = true
	s.before, s.changed = before, now
	for class, until := range s.until {
		if until > now && r < before {
			hi, lo := bits.Mul64(uint64(until-now), uint64(before))
			if hi >= uint64(r) {
				s.until[class] = unit.Never
				continue
			}
			left, _ := bits.Div64(hi, lo, uint64(r))
			s.until[class] = now.Add(unit.Duration(min(left, uint64(unit.Never))))
		}
	}
}

// repeats returns when a PAUSE must be repeated: so early that it arrives before the last one
// expires, even if the longest frame has just begun to leave.
func (s *Pausing) repeats() unit.Time {
	p := s.port
	if s.last|s.xon|uint8(s.invalid) == 0 || p.Down() || s.owes() {
		return unit.Never
	}
	ahead := p.transmitter.Serialise(unit.Size(s.longest)) + p.transmitter.Serialise(unit.Size(s.pause)) + p.Propagation()
	return max(s.expires-unit.Time(ahead), p.transmitter.free)
}

// send sends a PAUSE frame that is owed or has to be repeated, if the link is idle.
func (s *Pausing) send(now unit.Time) (again unit.Time) {
	p := s.port
	if p.faulty {
		if at, idle := p.controlRetry(now); !idle {
			return at
		}
	}
	if !s.owes() {
		if s.repeats() > now {
			return unit.Never
		}
		s.again = true
	}
	switch {
	case p.Down():
		return unit.Never
	case p.transmitter.free > now:
		return p.transmitter.free
	}
	f := p.out.draft()
	f.Src = p.station
	s.fill(f)
	s.settle()
	p.Start(now, f, unit.Size(s.pause), Note{})
	s.expires = p.transmitter.due.Add(p.transmitter.Serialise(unit.Size(s.quanta) * (wire.Quantum / 8)))
	s.warned = min(s.warned, p.transmitter.due.Add(s.response()))
	return unit.Never
}

// excuses reports whether the peer could not have known that a frame had to wait: the link was
// down, so the peer has forgotten that it was stopped, and the frame began before the peer was
// notified again. The headroom may have been used up before.
func (s *Pausing) excuses(a *Arrival) bool {
	return s.unwarned>>s.class(a.Frame.Lane)&1 == 1 && a.Head < s.warned
}

// Stored reports a frame that Receive has passed and that is now in the node's memory; used is the
// number of bytes that the port's frames of that kind occupy, this one included. It is for
// Ethernet, where the node accounts for its memory.
func (p *Port) Stored(now unit.Time, a *Arrival, used unit.Size) {
	f := &a.Frame
	p.rec.Arrive(now, uint16(p.id), f, uint32(a.Length), int64(used))
}

// Released reports a frame that has left the node's memory; used is the memory that is occupied
// without it. It does not return the credits of virtual channels: the node has to call
// Channels.GiveBack too.
func (p *Port) Released(now unit.Time, f *wire.Frame, used unit.Size) {
	p.rec.Release(now, uint16(p.id), f, int64(used))
}

// Refused reports a frame that is lost because the node's memory has no room for it. If flow
// control should have prevented that (lossless), it is a violation. Otherwise, and if the link was
// down in between or has a fault, it is a drop of the fabric.
func (p *Port) Refused(now unit.Time, a *Arrival, used unit.Size, lossless bool) {
	f := &a.Frame
	p.control.free(now, f)
	why := trace.BufferFull
	switch s := p.Pausing(); {
	case lossless && s != nil && s.excuses(a):
		why = trace.LinkWasDown
	case lossless && p.Strained():
		why = trace.NotStopped
	case lossless:
		why = trace.Overrun
		p.rec.Frame(now, trace.Violation, uint16(p.id), f, uint32(a.Length), int64(why), int64(used))
	}
	p.Lost(now, f, why)
}
