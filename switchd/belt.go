package switchd

import (
	"math"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Where only figures are wanted, a switch need not act at each instant at which a frame joins a
// queue, begins to leave, or has left. As long as nothing stops an output, its frames leave one
// after another, so their departures are known when they arrive: the switch plans them at once and
// puts the frames on the link ahead of their time. What it counts of them it counts later: when it
// needs the amount, and at the end of each bin (settle).
//
// Whatever may change the plan comes as a frame of flow control, as a change from outside, or as a
// frame that does not fit behind the others. Then the switch counts what has happened before, takes
// the frames that have not begun back from the link (takeBack), and continues with them as it would
// have without a plan. An output plans again when no frame waits for it.

// belt is an output whose frames are on the link ahead of their time. They all have one priority.
type belt struct {
	ring[planned]           // those that have not begun to leave
	joined        uint32    // those from here on have not joined the queue
	line          int32     // the number of the link
	left          unit.Size // how many more bytes, as congestion points count, may wait without any mark
	lane          uint8     // of the frames
	takes         bool      // the link takes them
}

// planned is a frame whose departure is planned.
type planned struct {
	joins, begins, ends unit.Time // when it joins the queue, and is on the link
	tail                unit.Time // when all of it has arrived
	length              int32
	input               port.ID
	kind                wire.Kind
	data                bool // trace.IsData
}

// departure is when the memory of a frame is free that came by an input.
type departure struct {
	at     unit.Time
	length int32
	output port.ID
	lane   uint8
}

// belts is what an OutputQueued that plans has in addition.
type belts struct {
	lines   port.Lines
	outputs []belt
	counts  []trace.Counts // of the ports
	quiet   cp.Quiet       // the congestion points; nil: there are none
}

// Plan implements drive.Passer. A switch does not plan whose events are wanted, each at its
// instant, and one that does something to its frames when they leave, or must know the queues of
// all outputs when one arrives: that has congestion points that are not quiet while a queue is
// short, credits, or weights, and one whose watermarks depend on what all of them hold.
func (s *OutputQueued) Plan(lines port.Lines) bool {
	quiet, _ := s.marking.Marker.(cp.Quiet)
	if s.points.some && (quiet == nil || s.notifier != nil || s.dropper != nil) || len(s.channels) > 0 || s.memory.pool != nil || s.order.strict < port.Priorities {
		return false
	}
	counts := s.rec.Counts(s.settle)
	if counts == nil {
		return false
	}
	n := len(s.ports)
	s.belts = &belts{lines: lines, outputs: make([]belt, n), counts: counts, quiet: quiet}
	for p := range n {
		b := &s.belts.outputs[p]
		b.line, b.takes = lines.Takes(port.ID(p))
	}
	return true
}

// Pass implements drive.Passer.
func (s *OutputQueued) Pass(now unit.Time, id port.ID, a *port.Arrival) (line int32, due unit.Time, ok bool) {
	s.rec.Reach(now)
	if p := int(id); a.Frame.Kind.Control() && s.belts.outputs[p].some() {
		s.takeBack(now, p)
	}
	out, due, ok := s.receive(now, id, a)
	if !ok {
		return 0, 0, false
	}
	return s.belts.outputs[out].line, due, true
}

// plan plans the departure of a frame, from input p, that joins the queue of an output at an
// instant. ok is false if that cannot be foreseen.
func (s *OutputQueued) plan(now unit.Time, p, out int, a *port.Arrival, tail, joins unit.Time) (due unit.Time, ok bool) {
	b, o, pt, f := &s.belts.outputs[out], &s.outputs[out], &s.ports[out], &a.Frame
	if b.some() {
		s.settleOutput(out, now)
	}
	idle := pt.Transmitter().Free()
	if b.some() {
		last := b.at(b.last - 1)
		if f.Lane != b.lane || last.joins > joins || last.joins == joins && int(last.input) > p || f.Telemetry() != wire.NoTelemetry {
			s.takeBack(now, out)
			return 0, false
		}
		idle = last.ends
	} else if o.early > 0 || o.waits|o.kept != 0 || !b.takes || s.dog != nil || f.Telemetry() != wire.NoTelemetry || !pt.Plain(now, f.Lane) {
		return 0, false
	} else {
		b.left = s.unmarked(pt.Transmitter().Rate())
	}
	if b.left -= s.counted(a.Length); b.left < 0 {
		b.left += s.counted(a.Length)
		s.takeBack(now, out)
		return 0, false
	}
	b.lane = f.Lane
	begins := max(joins, idle)
	ends, due := pt.Transmitter().Plan(begins, a.Length)
	x := b.add() // filled field by field, as a slot is
	x.joins, x.begins, x.ends, x.tail = joins, begins, ends, tail
	x.length, x.input, x.kind = int32(a.Length), port.ID(p), f.Kind
	x.data = f.Kind == wire.Data || f.Kind == wire.TCP && f.Payload > 0
	depart(&s.inputs[p].departures, departure{ends, int32(a.Length), port.ID(out), f.Lane})
	if s.memory.stops(p) {
		s.awaits(p)
	}
	a.Head, a.Tail, a.Preamble = begins, ends, 0
	return due, true
}

// unmarked returns how many bytes may wait for an output of a rate without any mark.
func (s *OutputQueued) unmarked(rate unit.Rate) unit.Size {
	switch {
	case s.belts.quiet == nil:
		return math.MaxInt64
	case s.reported:
		return 0
	}
	return s.belts.quiet.Quiet(rate)
}

// counted returns the length of a frame as congestion points count it.
func (s *OutputQueued) counted(n unit.Size) unit.Size {
	if s.cell > 0 {
		return unit.Size(cp.CellsOf(n, s.cell)) * s.cell
	}
	return n
}

// depart records when the memory of a frame will be free. Of one instant, outputs are in their
// order.
func depart(in *ring[departure], d departure) {
	to := in.add()
	for i := in.last - 1; i != in.first; i-- {
		before := in.at(i - 1)
		if before.at < d.at || before.at == d.at && before.output <= d.output {
			break
		}
		*to, to = *before, before
	}
	*to = d
}

// forget removes such a record.
func forget(in *ring[departure], d departure) {
	i := in.last - 1
	for *in.at(i) != d {
		i--
	}
	for in.last--; i != in.last; i++ {
		*in.at(i) = *in.at(i + 1)
	}
}

// takeBack ends the plan for an output: its frames that have not begun to leave wait again in its
// queue, or for their admission.
func (s *OutputQueued) takeBack(now unit.Time, p int) {
	s.settleOutput(p, now)
	b := &s.belts.outputs[p]
	if !b.some() {
		return
	}
	s.belts.lines.TakeBack(port.ID(p), int(b.last-b.first), s)
	if s.outputs[p].waits != 0 {
		s.agenda.Set(s.transmitterSlot(p), max(now, s.ports[p].Transmitter().Free()))
	}
}

// Back implements port.Planner.
func (s *OutputQueued) Back(id port.ID, f *wire.Frame) {
	p := int(id)
	b, o := &s.belts.outputs[p], &s.outputs[p]
	x, waits := b.at(b.first), b.first != b.joined
	b.left += s.counted(unit.Size(x.length))
	if b.first++; !waits {
		b.joined++
	}
	forget(&s.inputs[x.input].departures, departure{x.ends, x.length, id, f.Lane})
	slot, sl := s.slots.take()
	sl.frame = *f
	sl.length, sl.input, sl.output = unit.Size(x.length), x.input, id
	sl.tail, sl.eligible, sl.reason = x.tail, x.joins, 0
	if waits {
		s.slots.push(&o.queue[f.Lane].fifo, slot, sl)
		o.waits |= 1 << f.Lane
		if s.points.some {
			o.queue[f.Lane].frames++
			o.queue[f.Lane].cells += s.cells(sl)
		}
		return
	}
	o.early++
	q := &s.inputs[x.input].arriving
	before := none
	for at := q.head; at != none && s.slots.all[at].eligible <= x.joins; at = s.slots.all[at].next {
		before = at
	}
	s.slots.insert(q, before, slot, sl)
	s.expect(int(x.input), s.slots.all[q.head].eligible)
}

// takeAllBack ends all plans, and frees all memory that is free now: the switch is as it would be
// without a plan.
func (s *OutputQueued) takeAllBack(now unit.Time) {
	s.rec.Reach(now)
	for p := range s.belts.outputs {
		s.takeBack(now, p)
		s.settleInput(p, now, 0)
	}
}

// settle counts what has happened before an instant.
func (s *OutputQueued) settle(end unit.Time) {
	for p := range s.belts.outputs {
		s.settleOutput(p, end)
		s.settleInput(p, end, 0)
	}
}

// settleInput frees the memory of the frames of an input that have left before an instant, or then
// by an output before one. It returns the classes whose sender may resume, a bit each.
func (s *OutputQueued) settleInput(p int, end unit.Time, out port.ID) (resume uint8) {
	in, c := &s.inputs[p].departures, &s.belts.counts[p]
	for in.some() {
		d := in.at(in.first)
		if d.at > end || d.at == end && d.output >= out {
			break
		}
		in.first++
		taken, resumes := s.memory.free(p, d.lane, unit.Size(d.length))
		if c.Hold(d.at, d.lane, int64(taken)); resumes {
			resume |= 1 << s.memory.class(d.lane)
		}
	}
	return resume
}

// settleOutput counts what has happened at an output before an instant.
func (s *OutputQueued) settleOutput(p int, end unit.Time) {
	b, o, c := &s.belts.outputs[p], &s.outputs[p], &s.belts.counts[p]
	for b.some() {
		x, waits := b.at(b.first), port.LinkBusy
		switch {
		case b.joined != b.first && (b.joined == b.last || b.at(b.joined).joins > x.begins): // the first begins
			if x.begins >= end {
				return
			}
			o.waiting--
			o.total -= unit.Size(x.length)
			o.queue[b.lane].bytes -= unit.Size(x.length)
			if c.SetQueue(x.begins, int64(o.total)); o.waiting == 0 {
				waits = port.Open
			}
		case x.joins == x.begins && b.joined == b.first && (b.last-b.first == 1 || b.at(b.first+1).joins > x.begins): // it joins and begins at once
			if x.begins >= end {
				return
			}
			b.joined++
			waits = port.Open
			s.come(p, b.lane, unit.Size(x.length))
			c.PassQueue(x.begins, int64(x.length))
		default: // the next joins, no later than the first begins
			next := b.at(b.joined)
			if next.joins >= end {
				return
			}
			b.joined++
			o.waiting++
			s.come(p, b.lane, unit.Size(next.length))
			o.total += unit.Size(next.length)
			o.queue[b.lane].bytes += unit.Size(next.length)
			if c.SetQueue(next.joins, int64(o.total)); o.block[b.lane] != waits {
				s.keep(next.joins, b.lane, waits, o, c)
			}
			continue
		}
		b.first++
		b.left += s.counted(unit.Size(x.length))
		o.sent += unit.Size(x.length)
		s.ports[p].Transmitter().Began(x.ends)
		if c.Start(x.begins, x.kind, x.data, uint32(x.length)); o.block[b.lane] != waits {
			s.keep(x.begins, b.lane, waits, o, c)
		}
	}
}

// keep notes why the frames of a priority wait from an instant on.
func (s *OutputQueued) keep(from unit.Time, lane uint8, block port.Block, o *output, c *trace.Counts) {
	o.blocks(uint(lane), block)
	c.Turn(from, lane, uint8(block))
}

// resumes returns when an input has so little memory that the sender of a class may resume, as far
// as departures are planned.
func (s *OutputQueued) resumes(p int) unit.Time {
	_, low := s.memory.watermarks(p)
	var over [port.Priorities]unit.Size
	for class := range s.memory.classes + 1 {
		over[class] = s.memory.occupancy(p, class).taken - low
	}
	in := &s.inputs[p].departures
	for i := in.first; i != in.last; i++ {
		d := in.at(i)
		class := s.memory.class(d.lane)
		if over[class] -= unit.Size(d.length); over[class] <= 0 && s.memory.stopped(p, d.lane) {
			return d.at
		}
	}
	return unit.Never
}

// awaits has memory of an input freed when its sender may resume.
func (s *OutputQueued) awaits(p int) {
	if len(s.pausing) == 0 {
		return
	}
	at, slot := unit.Never, s.releaseSlot(p)
	if s.memory.stops(p) {
		at = s.resumes(p)
	}
	if at != s.agenda.Due(slot) {
		s.agenda.Set(slot, at)
	}
}

// releaseSlot is the slot of an input whose sender is stopped.
func (s *OutputQueued) releaseSlot(p int) int { return s.pollSlot() + 1 + p }

// freed frees the memory of the frames of an input that have left by now, at this instant by an
// output before one, and lets its sender resume.
func (s *OutputQueued) freed(now unit.Time, p int, out port.ID) {
	resume := s.settleInput(p, now, out)
	if resume != 0 {
		s.control(p, 0, resume)
		s.attend(now, p)
	}
	s.awaits(p)
}

// awaitAll does so for all inputs.
func (s *OutputQueued) awaitAll() {
	for p := range s.ports {
		s.awaits(p)
	}
}

// planned yields the frames of an input whose departure is planned, or whose tails are leaving:
// nothing keeps them.
func (s *OutputQueued) planned(now unit.Time, p int, yield func(port.Wait) bool) {
	in := &s.inputs[p].departures
	for i := in.first; i != in.last; i++ {
		d := in.at(i)
		class := s.memory.class(d.lane)
		if d.at > now && !yield(port.Wait{In: port.ID(p), Out: d.output, From: class, Class: class, Room: !s.memory.stopped(p, d.lane)}) {
			return
		}
	}
}

// attend has an output served. One whose frames leave as planned needs that only if its port has
// flow control to send.
func (s *OutputQueued) attend(now unit.Time, p int) {
	if s.belts != nil && s.belts.outputs[p].some() {
		if s.ports[p].ControlIdle() {
			return
		}
		s.takeBack(now, p)
	}
	s.touch(p)
}

// ring is a queue: its items from first to before last, modulo 2^32.
type ring[T any] struct {
	all         []T // a power of two
	first, last uint32
}

// some reports whether there is an item.
func (r *ring[T]) some() bool { return r.first != r.last }

func (r *ring[T]) at(i uint32) *T { return &r.all[i&uint32(len(r.all)-1)] }

// add makes room for an item at the end. It still holds an earlier one.
func (r *ring[T]) add() *T {
	if int(r.last-r.first) == len(r.all) {
		r.grow()
	}
	r.last++
	return r.at(r.last - 1)
}

func (r *ring[T]) grow() {
	more := make([]T, max(4, 2*len(r.all)))
	for i := r.first; i != r.last; i++ {
		more[i&uint32(len(more)-1)] = *r.at(i)
	}
	r.all = more
}
