package switchd

import (
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Apply makes a change from outside.
func (s *OutputQueued) Apply(now unit.Time, p port.ID, change port.Change) {
	if s.belts != nil {
		s.takeAllBack(now)
		defer s.awaitAll()
	}
	switch c := change.(type) {
	case port.WatermarksChange:
		s.setWatermarks(now, c)
		return
	case port.WatchdogChange:
		s.setWatchdog(now, c.Watchdog.(Watchdog))
		return
	}
	s.chassis.apply(now, p, change, s)
	s.points.apply(change)
	s.agenda.Set(s.resendSlot(int(p)), now) // the timer holds no longer
	switch c := change.(type) {
	case port.RateChange: // a PAUSE must be repeated, because its quanta have another length
		s.wake(now, int(p))
	case port.BufferChange:
		stop, resume := s.memory.cut(int(p), c.Left)
		s.control(int(p), stop, resume)
	}
}

// control stops the sender at a port, or lets it go on: classes, a bit each.
func (s *OutputQueued) control(p int, stop, resume uint8) {
	if len(s.pausing) == 0 {
		return
	}
	for class := range uint8(port.Priorities) {
		switch bit := uint8(1) << class; {
		case stop&bit != 0:
			s.pausing[p].Stop(class)
		case resume&bit != 0:
			s.pausing[p].Resume(class)
		}
	}
}

// setWatermarks gives all inputs other watermarks, and compares these with what they have taken.
func (s *OutputQueued) setWatermarks(now unit.Time, c port.WatermarksChange) {
	s.rec.Emit(trace.Event{At: now, Kind: trace.Control, A: int64(c.Kind()), B: int64(c.High)})
	s.config.High, s.config.Low = c.High, c.Low
	s.memory.high, s.memory.low = c.High, c.Low
	for p := range s.ports {
		if stop, resume := s.memory.compare(p); stop|resume != 0 {
			s.control(p, stop, resume)
			s.wake(now, p)
		}
	}
}

// reroute implements changing.
func (s *OutputQueued) reroute(now unit.Time, table int) {
	s.chassis.reroute(now, table)
	for p := range s.outputs {
		if !s.ports[p].Down() {
			continue
		}
		for in := range s.inputs {
			for id := s.inputs[in].arriving.head; id != none; id = s.slots.all[id].next {
				if sl := &s.slots.all[id]; int(sl.output) == p {
					to := s.detour(now, &sl.frame, p)
					s.outputs[p].coming -= sl.length
					s.outputs[to].coming += sl.length
					s.trims.counts(p, sl.frame.Lane, -sl.length)
					s.trims.counts(to, sl.frame.Lane, sl.length)
					s.outputs[p].early--
					s.outputs[to].early++
					sl.output = port.ID(to)
				}
			}
		}
		for lane := range s.outputs[p].queue {
			s.divert(now, p, lane)
		}
		s.wake(now, p)
	}
}

// divert moves the frames in a queue of an output to others.
func (s *OutputQueued) divert(now unit.Time, p, lane int) {
	o := &s.outputs[p]
	q := &o.queue[lane]
	all, moved := q.fifo, false
	q.fifo = fifo{none, none}
	o.waits &^= 1 << lane
	for all.head != none {
		id, sl := s.slots.pop(&all)
		to := s.detour(now, &sl.frame, p)
		if to == p {
			s.slots.push(&q.fifo, id, sl)
			o.waits |= 1 << lane
			continue
		}
		moved = true
		s.leave(o, q, sl)
		sl.output = port.ID(to)
		s.enqueue(now, id, sl)
		s.wake(now, to)
	}
	if moved {
		s.report(now, p, uint8(lane), o.total, q.bytes)
	}
}

// lose implements changing.
func (s *OutputQueued) lose(now unit.Time) {
	loseAll := func(p int, q fifo) {
		for id := q.head; id != none; id = s.slots.all[id].next {
			at := p // for a frame of the switch itself
			if in := s.slots.all[id].input; in != ownFrame {
				at = int(in)
			}
			s.ports[at].Lost(now, &s.slots.all[id].frame, trace.Restarted)
		}
	}
	for p := range s.inputs {
		loseAll(p, s.inputs[p].arriving)
		for lane := range s.outputs[p].queue {
			loseAll(p, s.outputs[p].queue[lane].fifo)
		}
	}
}
