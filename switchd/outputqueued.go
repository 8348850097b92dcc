package switchd

import (
	"fmt"
	"slices"

	"fabemu/switchd/cp"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// OutputQueuedConfig describes a switch with a shared memory and queues at its outputs.
type OutputQueuedConfig struct {
	Index  int           // of the node in the fabric, for events
	Outbox *port.Outbox  // where its frames wait for the driver; may be shared with other nodes; nil: its own
	Ports  []port.Config // all with the same kind of flow control, one of Ethernet's
	Routes []Routes      // the first is used until port.RoutesChange names another
	Seed   uint64        // of choices among equal routes: wire.ChoiceSeed

	// Delay is the least time from the first bit in to the first bit out (CutThrough), or from the
	// last bit in.
	Delay      unit.Duration
	CutThrough bool // a frame is forwarded once its header has arrived; by default once all of it has

	Memory      unit.Size // the size of all of it
	Pooled      bool      // shared by all inputs; by default each has an equal part
	OutputLimit unit.Size // of the queue of one output, for frames without flow control; what exceeds it is dropped; 0: only Memory is a limit
	High, Low   unit.Size // watermarks of the memory that one input occupies, with PFC for each priority; both 0: no sender is ever stopped
	Dynamic     Dynamic   // watermarks that follow the free memory instead: Pooled, and High is 0
	ETS         Weights   // of priorities at each output; zero: all are strict
	Lossless    uint8     // PFC, CBFC: the priorities that have flow control, a bit each

	Trim    Trimming // of frames that find no room; zero, and where PAUSE keeps frames from loss: they are dropped
	LastHop []bool   // Trim: the ports that lead to an endpoint

	Balance  Balancing // of frames among equal routes
	Watchdog Watchdog  // for PFC; without Poll there is none

	Points cp.Maker // its congestion points, which see the queues of outputs; nil: none
}

func (c *OutputQueuedConfig) control() port.FlowControl { return c.Ports[0].FlowControl }

// OutputQueued is a switch with a shared memory and a queue for each priority at each output. A
// frame is in the memory from its arrival until its tail has left. It is accounted to the input by
// which it arrived, and when that input occupies too much, the sender there receives PAUSE.
type OutputQueued struct {
	chassis

	// What each frame needs.
	outputs     []output
	inputs      []input
	belts       *belts    // nil: it does not plan departures
	dog         *watchdog // nil: there is none
	outputLimit unit.Size
	delay       unit.Duration
	cut         bool
	arrivals    bool // output.coming is counted
	memory      memory
	points

	lossless uint8            // the priorities for which flow control promises that no frame is lost, a bit each
	pausing  []*port.Pausing  // of the ports; none: they have neither PAUSE nor PFC
	channels []*port.Channels // of the ports; none: they have no virtual channels
	trims    *trims           // nil: it drops what finds no room
	rounds   []rounds         // by output: ETS; none: there are no weights
	order    scheduler
	config   OutputQueuedConfig
}

// input is the input side of a port. What a planned frame needs of it comes first: see Port.
type input struct {
	last       unit.Time       // when the last frame that has come is eligible
	departures ring[departure] // of planned frames, in the order of their instants
	occupancy                  // unless memory.occupancies has it
	arriving   fifo            // the frames that are not eligible yet, in order
}

// output is the output side of a port. One cache line has what each frame needs of it, and the
// queue of the lowest priority.
type output struct {
	total   unit.Size // of all priorities
	sent    unit.Size // all that has begun to leave, for telemetry and loads
	coming  unit.Size // for this output, but not in its queue yet; counted if that matters
	waiting int32     // frames
	early   int32     // frames for this output that are not in its queue yet
	sending int32     // the slot whose frame is on the link, or none
	waits   uint8     // the priorities whose queue is not empty, a bit each
	kept    uint8     // the priorities for which a reason for waiting is recorded
	line    uint8     // those of them that wait for the link
	block   [port.Priorities]port.Block
	queue   [port.Priorities]queue // in the order in which frames became eligible
	_       [16]byte
}

// queue holds the frames of a priority that wait for an output.
type queue struct {
	fifo
	bytes  unit.Size
	frames int32 // counted if there are congestion points
	cells  int32 // counted if congestion points count in cells
}

// NewOutputQueued returns a switch that reports to events.
func NewOutputQueued(c OutputQueuedConfig, events trace.Sink) (*OutputQueued, error) {
	n := len(c.Ports)
	switch {
	case n == 0 || c.Memory < unit.Size(n):
		return nil, fmt.Errorf("a memory of %v for %d ports: it must hold a frame for each", c.Memory, n)
	case c.Low > c.High && c.Dynamic.Alpha == 0 || c.High > c.Memory || c.Low < 0:
		return nil, fmt.Errorf("watermarks of %v and %v in a memory of %v: low, high and the memory must rise",
			c.High, c.Low, c.Memory)
	case c.Delay < 0 || c.OutputLimit < 0:
		return nil, fmt.Errorf("a delay of %v and an output limit of %v: they cannot be negative",
			c.Delay, c.OutputLimit)
	}
	for i := range c.Ports {
		if f := c.Ports[i].FlowControl; f == port.Credits || f != c.Ports[0].FlowControl {
			return nil, fmt.Errorf("port %d has flow control %v; all ports of this kind of switch have the same, pause, pfc, cbfc or none", i, f)
		}
	}
	if err := c.Dynamic.check(&c); err != nil {
		return nil, err
	}
	lossless, stops := uint8(0), c.High > 0 || c.Dynamic.Alpha > 0
	switch {
	case c.control().ByPriority():
		lossless = c.Lossless
	case c.Ports[0].FlowControl == port.PauseFrames && stops && c.OutputLimit > 0:
		return nil, fmt.Errorf("an output limit of %v, and PAUSE promises that no frame is dropped", c.OutputLimit)
	case c.Ports[0].FlowControl == port.PauseFrames && stops:
		lossless, c.Trim = allPriorities, Trimming{}
	}
	if err := c.Trim.check(&c, lossless); err != nil {
		return nil, err
	}
	order, err := newScheduler(c.ETS)
	if err != nil {
		return nil, err
	}
	s := &OutputQueued{
		config: c, order: order, inputs: make([]input, n), outputs: make([]output, n),
		delay: c.Delay, cut: c.CutThrough, lossless: lossless, outputLimit: c.OutputLimit, arrivals: c.OutputLimit > 0 || c.Balance.Adaptive() || c.Trim.Size > 0,
	}
	more := 0
	if c.control().Pauses() { // a watchdog, now or later, and inputs whose senders may resume
		more = 1 + n
	}
	if err := s.assemble(c.Index, c.Outbox, c.Ports, c.Routes, c.Seed, newBalancer(c.Balance, c.Seed, n, s.queued, func(now unit.Time, p int) unit.Size { return s.known(now, p).sent }), events, more); err != nil {
		return nil, err
	}
	for i := range s.ports {
		if x := s.ports[i].Pausing(); x != nil {
			s.pausing = append(s.pausing, x)
		}
		if x := s.ports[i].Channels(); x != nil {
			s.channels = append(s.channels, x)
		}
	}
	s.config.Ports, s.config.Routes = slices.Clone(c.Ports[:1]), nil // all that is read again: a large fabric has many of these
	s.empty(0)
	err = s.points.make(c.Points, n, &s.rec)
	return s, err
}

// empty implements changing.
func (s *OutputQueued) empty(now unit.Time) {
	cuts := s.memory.cuts
	for i := range s.inputs {
		s.inputs[i] = input{arriving: fifo{none, none}, departures: ring[departure]{all: s.inputs[i].departures.all}}
		o := output{sending: none}
		for class := range o.queue {
			o.queue[class].fifo = fifo{none, none}
		}
		s.outputs[i] = o
	}
	s.memory = newMemory(&s.config, s.inputs)
	s.memory.keep(cuts)
	if s.order.strict < port.Priorities {
		s.rounds = make([]rounds, len(s.ports))
	}
	s.slots.empty()
	s.trims = newTrims(&s.config)
	s.points.reset()
	s.startWatchdog(now)
}

// Receive takes in a frame: its header, or all of it. Advance does the rest once all frames of that
// instant have arrived.
func (s *OutputQueued) Receive(now unit.Time, id port.ID, a *port.Arrival) { s.receive(now, id, a) }

// receive is Receive, and Pass where departures are planned.
func (s *OutputQueued) receive(now unit.Time, id port.ID, a *port.Arrival) (leaves port.ID, due unit.Time, planned bool) {
	p := int(id)
	pt := &s.ports[p]
	if !pt.Receive(now, a) {
		s.retryServe(now, p, pt)
		// The peer may have released a frame.
		if s.outputs[p].waiting > 0 && pt.Transmitter().Free() <= now || pt.TakeAcknowledged() && !s.nothingNew(now, p) {
			s.wake(now, p)
		}
		return 0, 0, false
	}
	if pt.Retries() {
		s.retryServe(now, p, pt)
	}
	out, ok := s.routes.forward(&a.Frame, s.seed) // as chassis.forward, without a call
	if !ok {
		out, ok = s.balanced(now, &a.Frame, out)
	}
	if !ok {
		pt.Discard(now, &a.Frame, trace.NoRoute)
		return 0, 0, false
	}
	lane := a.Frame.Lane
	if s.dog != nil && (s.dog.drops[p]|s.dog.drops[out])>>(a.Frame.Lane%port.Priorities)&1 == 1 {
		pt.Lost(now, &a.Frame, trace.StormDropped)
		return 0, 0, false
	}
	if s.outputLimit > 0 && !s.keeps(lane) && s.outputs[out].total+s.outputs[out].coming+a.Length > s.outputLimit && s.overfull(now, out, &a.Frame, a.Length) {
		s.refuse(now, p, out, a, s.memory.occupancy(p, lane).taken)
		return 0, 0, false
	}
	if s.belts != nil {
		s.settleInput(p, now, 0)
	}
	taken, stop, ok := s.memory.store(p, lane, a.Length)
	if !ok && s.belts != nil && s.memory.pooled {
		s.settle(now) // others have freed some
		taken, stop, ok = s.memory.store(p, lane, a.Length)
	}
	if !ok {
		s.refuse(now, p, out, a, taken)
		return 0, 0, false
	}
	switch {
	case s.belts == nil:
		pt.Stored(now, a, taken)
	case a.Frame.Kind.Traffic():
		s.belts.counts[p].Hold(now, lane, int64(taken)) // as Stored, without a call
	}
	if stop && len(s.pausing) > 0 {
		s.pausing[p].Stop(s.memory.class(lane))
		s.wake(now, p)
		if s.belts != nil {
			s.awaits(p)
		}
	}
	due, planned = s.arrive(now, p, out, a, id)
	return port.ID(out), due, planned
}

// refuse drops a frame, from input p, that finds no room, or has only its headers go on.
func (s *OutputQueued) refuse(now unit.Time, p, out int, a *port.Arrival, taken unit.Size) {
	pt, keeps := &s.ports[p], s.keeps(a.Frame.Lane)
	if s.trims != nil && !keeps && s.trim(now, p, out, a) {
		return
	}
	if keeps && s.memory.pooled && slices.ContainsFunc(s.ports, func(p port.Port) bool { return p.Strained() }) {
		pt.Lost(now, &a.Frame, trace.NotStopped)
		return
	}
	pt.Refused(now, a, taken, keeps)
}

// keeps reports whether flow control promises that no frame of a priority is lost.
func (s *OutputQueued) keeps(lane uint8) bool { return s.lossless>>(lane%port.Priorities)&1 == 1 }

// arrive plans the departure of a frame, or gives it a slot and records when it may be forwarded.
// holds is the input whose memory holds it, or ownFrame.
func (s *OutputQueued) arrive(now unit.Time, p, out int, a *port.Arrival, holds port.ID) (due unit.Time, planned bool) {
	flight := s.ports[p].Propagation()
	tail := a.Tail.Add(flight)
	eligible := tail.Add(s.delay)
	if s.cut {
		// The link must not run dry: the transmission ends no earlier than the frame's tail
		// arrives.
		eligible = max(a.Head.Add(flight).Add(s.delay), ready(&s.ports[out], tail, a.Length))
	}
	if s.arrivals {
		s.outputs[out].coming += a.Length
		s.trims.counts(out, a.Frame.Lane, a.Length)
	}
	q := &s.inputs[p]
	eligible = max(now, eligible, q.last) // one after the other
	q.last = eligible
	if s.belts != nil && holds != ownFrame {
		if due, planned = s.plan(now, p, out, a, tail, eligible); planned {
			return due, true
		}
	}
	s.outputs[out].early++
	id, sl := s.slots.take() // filled field by field: a literal would be cleared and copied
	sl.frame = a.Frame
	sl.length, sl.input, sl.output = a.Length, holds, port.ID(out)
	sl.tail, sl.eligible, sl.reason = tail, eligible, 0
	if s.slots.push(&q.arriving, id, sl); q.arriving.head == id {
		s.expect(p, eligible)
	}
	return 0, false
}

// Advance does everything that is due: it ends transmissions, queues the frames that may be
// forwarded, and then lets idle outputs send.
func (s *OutputQueued) Advance(now unit.Time) {
	if s.belts != nil {
		s.rec.Reach(now)
	}
	for s.due(now) {
		switch slot := s.next(); {
		case slot > s.pollSlot():
			s.freed(now, slot-s.releaseSlot(0), NoRoute)
		case slot == s.pollSlot():
			s.poll(now)
		case slot >= s.headerSlot(0):
			s.admit(now, slot-s.headerSlot(0))
		case slot >= s.resendSlot(0):
			s.ports[slot-s.resendSlot(0)].TimerEnded()
			s.attend(now, slot-s.resendSlot(0))
		default:
			if s.belts == nil { // as attend, without a call
				s.touch(slot)
			} else {
				s.attend(now, slot)
			}
			if s.outputs[slot].sending == none {
				break
			}
			if free := s.ports[slot].Transmitter().Free(); free <= now {
				s.complete(now, slot)
			} else {
				s.agenda.Set(slot, free) // it was woken
			}
		}
		if s.due(now) {
			continue
		}
		for _, p := range s.dirty {
			switch {
			case !s.ports[p].ControlIdle():
				s.serveControl(now, int(p))
			case s.outputs[p].asks():
				s.serve(now, int(p))
			}
		}
		s.rest()
	}
}

// queued returns how much waits for an output, or is arriving for it.
func (s *OutputQueued) queued(now unit.Time, output int) unit.Size {
	o := s.known(now, output)
	return o.total + o.coming
}

// known returns an output as it is before what happens at an instant.
func (s *OutputQueued) known(now unit.Time, p int) *output {
	if s.belts != nil {
		s.settleOutput(p, now)
	}
	return &s.outputs[p]
}

// admit queues the next frame of an input at its output, unless a dropper discards it. The other
// congestion points see the queue with the frame in it.
func (s *OutputQueued) admit(now unit.Time, p int) {
	q := &s.inputs[p].arriving
	id, sl := s.slots.pop(q)
	if q.head != none {
		s.expect(p, s.slots.all[q.head].eligible)
	}
	s.outputs[sl.output].early--
	s.come(int(sl.output), sl.frame.Lane, sl.length)
	if s.dog != nil && s.dog.drops[sl.output]>>(sl.frame.Lane%port.Priorities)&1 == 1 {
		s.dropStored(now, id, sl)
		return
	}
	if s.points.some && sl.frame.Kind.Traffic() {
		s.sample(now, p, id)
	} else {
		s.enqueue(now, id, sl)
	}
}

// come notes that a frame that was coming for an output has come.
func (s *OutputQueued) come(out int, lane uint8, n unit.Size) {
	if s.arrivals {
		s.outputs[out].coming -= n
		s.trims.counts(out, lane, -n)
	}
}

// enqueue puts a frame at the end of its output's queue.
func (s *OutputQueued) enqueue(now unit.Time, id int32, sl *slot) {
	out, lane := int(sl.output), sl.frame.Lane
	o := &s.outputs[out]
	q := &o.queue[lane]
	s.slots.push(&q.fifo, id, sl)
	o.waits |= 1 << lane
	q.bytes += sl.length
	o.total += sl.length
	o.waiting++
	if s.points.some {
		q.frames++
		q.cells += s.cells(sl)
	}
	s.report(now, out, lane, o.total, q.bytes)
	s.touch(out)
}

// report records the lengths of all queues of an output, and of one of them.
func (s *OutputQueued) report(now unit.Time, p int, lane uint8, all, bytes unit.Size) {
	s.rec.Queue(now, uint16(p), lane, int64(all), int64(bytes))
}

// Waits yields the frames that wait in the switch, for the detection of deadlock (deadlock.Waiter).
// Frames that are still arriving, or are being sent, wait for nothing.
func (s *OutputQueued) Waits(now unit.Time, yield func(port.Wait) bool) {
	visit := func(id int32, waits bool) {
		for ; id != none; id = s.slots.all[id].next {
			sl := &s.slots.all[id]
			if sl.input == ownFrame {
				continue // a notification of the switch itself occupies no input's memory
			}
			lane := sl.frame.Lane
			class := s.memory.class(lane)
			w := port.Wait{In: sl.input, Out: sl.output, From: class, Class: class, Room: !s.memory.stopped(int(sl.input), lane)}
			switch {
			case len(s.pausing) > 0:
				if to := s.pausing[sl.output]; waits && to.Until(now, lane) > now {
					w.Block, w.Since = port.Paused, to.Since(lane)
				}
			case len(s.channels) > 0:
				w.Room = w.Room && !s.channels[sl.input].Full(lane)
				if since := s.channels[sl.output].Starved(lane); waits && since != unit.Never {
					w.Block, w.Since = port.NoCredit, since
				}
			}
			if !yield(w) || !waits {
				return
			}
		}
	}
	for p := range s.ports {
		if s.belts != nil {
			s.planned(now, p, yield)
		}
		visit(s.inputs[p].arriving.head, false)
		visit(s.outputs[p].sending, false)
		for lane := range s.outputs[p].queue {
			visit(s.outputs[p].queue[lane].head, true)
		}
	}
}
