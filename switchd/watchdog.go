package switchd

import (
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// WatchdogAction is the action of a PFC watchdog on a queue in a storm.
type WatchdogAction uint8

// The actions.
const (
	StormDrop    WatchdogAction = iota // the queue is emptied; until the storm is over, frames of the priority are dropped at the queue and at the input of its port
	StormForward                       // the queue ignores the PFC frames of its peer
	StormAlert                         // the storm is only reported
)

func (WatchdogAction) Words() []string { return []string{"drop", "forward", "alert"} }

// Watchdog detects PFC storms at all outputs of a switch: a peer that keeps a priority stopped for
// long is assumed to be broken, or part of a deadlock. At each Poll it checks each queue of a
// lossless priority. A queue is in a storm once so many consecutive intervals between polls count
// that they span Detection. An interval counts if the peer kept the queue stopped throughout;
// unless Strict, also if the queue had frames, was stopped at some time, and sent none of them. The
// storm is over after polls that span Restoration without a stop.
type Watchdog struct {
	// drop: discards the queue's frames and all that arrive for it, or with its priority on its
	// port, and sends no PFC for them; forward: ignores PFC; alert: only reports the storm.
	Action WatchdogAction `key:"action" def:"drop"`
	// A queue that its peer has stopped at all polls for this long is in a storm: stopped without a
	// break since the previous poll, or without having sent a waiting frame since.
	// Source: SONiC
	Detection unit.Duration `key:"detection" def:"400ms" low:"above 0s" also:"detection-time"`
	// The storm ends when, at polls, the peer has not stopped the queue for this long.
	// Source: SONiC
	Restoration unit.Duration `key:"restoration" def:"2s" low:"above 0s" also:"restoration-time"`
	// Poll interval; at most detection and restoration.
	// Source: SONiC
	Poll   unit.Duration `key:"poll" def:"200ms" low:"above 0s" also:"poll-interval|polling"`
	Strict bool          `key:"strict" def:"false" doc:"Only an unbroken stop counts as a storm."`
}

// watchdog is the state of a Watchdog.
type watchdog struct {
	Watchdog
	last   unit.Time // when it polled last
	queues [][port.Priorities]watched
	sent   []uint8 // by output: the priorities that have sent a frame since the last poll, a bit each
	drops  []uint8 // by output: the priorities whose frames are dropped, a bit each
}

// watched is the state of a queue that the watchdog checks.
type watched struct {
	storm bool
	left  unit.Duration // what remains of Detection, or during a storm of Restoration
}

func newWatchdog(c Watchdog, ports int) *watchdog {
	d := &watchdog{Watchdog: c, queues: make([][port.Priorities]watched, ports), sent: make([]uint8, ports), drops: make([]uint8, ports)}
	for p := range d.queues {
		for class := range d.queues[p] {
			d.queues[p][class].left = c.Detection
		}
	}
	return d
}

// startWatchdog begins a watchdog, if there is one.
func (s *OutputQueued) startWatchdog(now unit.Time) {
	if c := s.config.Watchdog; c.Poll > 0 {
		s.dog = newWatchdog(c, len(s.ports))
		s.dog.last = now
		s.agenda.Set(s.pollSlot(), now.Add(c.Poll))
	}
}

// setWatchdog gives the switch another watchdog. The storms that the old one has found are over,
// and the new one has seen nothing yet.
func (s *OutputQueued) setWatchdog(now unit.Time, c Watchdog) {
	s.rec.Emit(trace.Event{At: now, Kind: trace.Control, A: int64(port.WatchdogChange{}.Kind()), B: int64(c.Detection)})
	for p := range s.ports {
		for class := range uint8(port.Priorities) {
			if s.dog != nil && s.dog.queues[p][class].storm {
				s.setStorm(now, p, class, false)
			}
		}
	}
	s.config.Watchdog = c
	s.startWatchdog(now)
}

// pollSlot is the slot of the watchdog: the last of those that are due at the same instant.
func (c *chassis) pollSlot() int { return 3 * len(c.ports) }

// poll makes the watchdog check all queues.
func (s *OutputQueued) poll(now unit.Time) {
	d := s.dog
	for p := range s.ports {
		for class := range uint8(port.Priorities) {
			if s.lossless>>class&1 == 1 {
				s.watch(now, p, class)
			}
		}
		d.sent[p] = 0
	}
	d.last = now
	s.agenda.Set(s.pollSlot(), now.Add(d.Poll))
}

// watch makes the watchdog check a queue.
func (s *OutputQueued) watch(now unit.Time, p int, class uint8) {
	d, w := s.dog, &s.dog.queues[p][class]
	since, until := s.pausing[p].Stopped(now, class)
	stopped := until > d.last
	switch {
	case w.storm && stopped:
		w.left = d.Restoration
	case w.storm:
		if w.left -= d.Poll; w.left <= 0 {
			s.setStorm(now, p, class, false)
		}
	case stopped && (since <= d.last && until > now || !d.Strict && s.outputs[p].queue[class].head != none && d.sent[p]>>class&1 == 0):
		if w.left -= d.Poll; w.left <= 0 {
			s.setStorm(now, p, class, true)
		}
	default:
		w.left = d.Detection
	}
}

// setStorm begins or ends the action of the watchdog at a queue.
func (s *OutputQueued) setStorm(now unit.Time, p int, class uint8, storm bool) {
	d := s.dog
	w := &d.queues[p][class]
	w.storm, w.left = storm, d.Detection
	figure := int64(0)
	if storm {
		w.left, figure = d.Restoration, 1
	}
	s.rec.Emit(trace.Event{At: now, Kind: trace.Watchdog, Port: uint16(p), Lane: class, A: figure, B: int64(d.Action)})
	switch {
	case d.Action == StormForward:
		s.pausing[p].Ignore(now, class, storm)
		s.wake(now, p)
	case d.Action == StormDrop && storm:
		d.drops[p] |= 1 << class
		s.dropQueue(now, p, class)
	case d.Action == StormDrop:
		d.drops[p] &^= 1 << class
	}
}

// dropQueue drops the frames that wait in a queue.
func (s *OutputQueued) dropQueue(now unit.Time, p int, class uint8) {
	o := &s.outputs[p]
	q := &o.queue[class]
	if q.head == none {
		return
	}
	for q.head != none {
		id, sl := s.slots.pop(&q.fifo)
		s.leave(o, q, sl)
		s.dropStored(now, id, sl)
	}
	o.waits &^= 1 << class
	s.report(now, p, class, o.total, q.bytes)
	s.wake(now, p)
}

// dropStored drops a frame that is in the memory.
func (s *OutputQueued) dropStored(now unit.Time, id int32, sl *slot) {
	in := sl.output
	if sl.input != ownFrame {
		in = sl.input
	}
	s.ports[in].Lost(now, &sl.frame, trace.StormDropped)
	s.release(now, id)
	s.wake(now, int(in)) // its sender may resume
}

// Expects returns when the watchdog may break a deadlock (deadlock.Expecter): at its next poll.
func (s *OutputQueued) Expects(unit.Time) unit.Time {
	if s.dog == nil || s.dog.Action == StormAlert {
		return unit.Never
	}
	return s.agenda.Due(s.pollSlot())
}
