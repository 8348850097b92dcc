package switchd

import (
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// sample does the second half of admit for a frame that the congestion points look at: the dropper
// may mark or discard it before it joins the queue; then the marker and the notifier see it there.
func (s *OutputQueued) sample(now unit.Time, p int, id int32) {
	sl := &s.slots.all[id]
	was := sl.frame.FECN
	if s.dropper != nil {
		switch s.dropper.Admit(now, &sl.frame, s.queueOf(sl)) {
		case cp.Marked:
			sl.reason = uint8(trace.EarlyMark)
			s.marked(now, sl, was)
		case cp.Drop:
			s.ports[p].Lost(now, &sl.frame, trace.EarlyDrop)
			s.release(now, id)
			return
		}
	}
	s.enqueue(now, id, sl)
	queue := s.queueOf(sl)
	if s.marking.Marker != nil {
		s.marking.Enqueue(now, &sl.frame, queue)
		if sl.reason = 0; sl.frame.FECN && !was {
			sl.reason = uint8(trace.EarlyMark)
		}
		s.marked(now, sl, was)
	}
	if s.notifier != nil && sl.frame.Payload > 0 { // the sender of a TCP ACK cannot slow its flow down
		if feedback, ok := s.notifier.Enqueue(now, &sl.frame, queue); ok {
			s.send(now, &feedback)
		}
	}
}

// marked reports a violation if a congestion point has marked a frame whose bytes do not allow a
// mark.
func (s *OutputQueued) marked(now unit.Time, sl *slot, was bool) {
	if f := &sl.frame; f.FECN && !was && !f.ECT() {
		s.rec.Emit(trace.Event{At: now, Kind: trace.Violation, Port: uint16(sl.output), Lane: f.Lane, Flow: f.QP,
			PSN: f.PSN, Bytes: uint32(sl.length), A: int64(trace.NotCapable)})
	}
}

// queueOf returns a congestion point's view of the queue that a frame is for.
func (s *OutputQueued) queueOf(sl *slot) cp.Queue {
	lane := sl.frame.Lane
	q := &s.outputs[sl.output].queue[lane]
	view := cp.Queue{
		Input: int(sl.input), Output: int(sl.output), Bytes: q.bytes, Frames: int(q.frames), Cells: int(q.cells),
		Rate: s.ports[sl.output].Transmitter().Rate(), Length: sl.length, Lossless: s.keeps(lane),
	}
	if s.reported {
		view.Bytes = s.config.Memory / unit.Size(len(s.ports))
		view.Frames = int(view.Bytes / sl.length)
		if s.cell > 0 {
			view.Cells = int(view.Bytes / s.cell)
		}
	}
	return view
}

// cells returns how many cells a frame takes; 0 if cells are not counted.
func (s *OutputQueued) cells(sl *slot) int32 {
	if s.cell == 0 {
		return 0
	}
	return int32(cp.CellsOf(sl.length, s.cell))
}

// send forwards a frame of the switch itself, a notification or a message. The frame occupies no
// input's memory, because notifications are few and short.
func (s *OutputQueued) send(now unit.Time, f *wire.Frame) {
	out, ok := s.forward(now, f)
	if !ok {
		return // there is no path back to the source; the sampled frame has one from there
	}
	sent := trace.Event{At: now, Kind: trace.Notify, Port: uint16(out), Lane: f.Lane, Flow: f.QP, PSN: f.PSN}
	if f.Kind == wire.Message {
		sent.Kind, sent.A = trace.Message, int64(f.Message().Value)
	} else {
		sample := f.Sampled()
		sent.A, sent.B = int64(sample.Fb), int64(sample.QOffset)<<16|int64(uint16(sample.QDelta))
	}
	s.rec.Emit(sent)
	id, sl := s.slots.take()
	*sl = slot{frame: *f, length: s.ports[out].Framing().Length(f), input: ownFrame, output: port.ID(out), tail: now}
	s.enqueue(now, id, sl)
}

// sampleLeaving shows the congestion points a frame that leaves. It returns why one of them has
// marked it.
func (s *OutputQueued) sampleLeaving(now unit.Time, sl *slot) (why trace.Reason) {
	queue := s.queueOf(sl)
	queue.Leaving = true
	if s.marking.Marker != nil {
		was := sl.frame.FECN
		why = s.marking.Dequeue(now, &sl.frame, queue)
		s.marked(now, sl, was)
	}
	if s.notifier != nil && sl.frame.Payload > 0 {
		s.notifier.Dequeue(now, &sl.frame, queue)
	}
	if s.dropper != nil {
		s.dropper.Dequeue(now, &sl.frame, queue)
	}
	if sl.reason != 0 {
		why = trace.Reason(sl.reason)
	}
	if why != trace.NoReason {
		s.rec.Mark(now, uint16(sl.output), &sl.frame, why, int64(s.outputs[sl.output].waiting))
	}
	return why
}
