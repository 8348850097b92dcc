package switchd

import (
	"slices"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// state is the state of the frame in a slot.
type state uint8

const (
	arriving state = iota // its header is arriving
	waiting               // it may be forwarded
	sending               // it has begun to leave
)

// ingress is the input side of a port. It has one cache line.
type ingress struct {
	lanes    *port.VirtualLanes // of the port
	slots    []int32            // in use, in order of arrival
	few      [6]int32           // the memory of slots as long as they are few
	arriving int32              // how many of the last ones are not eligible yet
	feeding  int32              // how many outputs it feeds now
}

// empty removes everything from an input.
func (in *ingress) empty() {
	*in = ingress{lanes: in.lanes}
	in.slots = in.few[:0]
}

// next returns the oldest of the frames that are not eligible yet.
func (in *ingress) next() int32 { return in.slots[len(in.slots)-int(in.arriving)] }

// starved is the room at an input whose credit goes back late.
type starved struct {
	held     []held    // in the order in which it goes back
	returned unit.Time // when the last of it goes back
}

// held is the room of a frame that has left, until the neighbour receives its credit.
type held struct {
	at    unit.Time
	frame wire.Frame
}

// holds reports whether an input holds credit back.
func (s *Switch) holds(p int) bool { return s.starved != nil && len(s.starved[p].held) > 0 }

// giveBack returns the credit of an input that is due to the peer. The result is when the next
// credit is due.
func (s *Switch) giveBack(now unit.Time, p int) (next unit.Time) {
	in := &s.starved[p]
	for len(in.held) > 0 && in.held[0].at <= now {
		s.ports[p].Free(now, &in.held[0].frame)
		in.held = append(in.held[:0], in.held[1:]...)
	}
	if len(in.held) == 0 {
		return unit.Never
	}
	return in.held[0].at
}

// store gives a frame a slot, its place in the order of arrival, and a place in the queue of a lane
// of its output.
func (s *Switch) store(now unit.Time, p, output int, lane uint8, flight unit.Duration, a *port.Arrival) {
	id, sl := s.slots.take() // filled field by field: a literal would be cleared and copied
	in := &s.ingress[p]
	head, tail := a.Head+unit.Time(flight), a.Tail+unit.Time(flight)
	eligible := max(now, head.Add(s.delay), ready(&s.ports[output], tail, a.Length))
	sl.frame = a.Frame
	sl.lane, sl.frame.Lane = a.Frame.Lane, lane
	sl.length, sl.input, sl.output = a.Length, port.ID(p), port.ID(output)
	sl.tail, sl.eligible = tail, eligible
	sl.state, sl.reason, sl.bypassed, sl.starve = arriving, 0, 0, 0
	in.slots = append(in.slots, id)
	in.arriving++
	if in.arriving == 1 {
		s.expect(p, eligible)
	}
	s.enqueue(id, sl)
}

// release frees the slot of a frame whose tail has left; the credit is then owed to the peer.
func (s *Switch) release(now unit.Time, id int32, sl *slot) {
	in := &s.ingress[sl.input]
	in.feeding--
	for i := slices.Index(in.slots, id); i < len(in.slots)-1; i++ {
		in.slots[i] = in.slots[i+1]
	}
	in.slots = in.slots[:len(in.slots)-1]
	s.slots.give(id, sl)
	sl.frame.Lane = sl.lane // its credit is of the lane by which it came
	if sl.starve == 0 {
		s.ports[sl.input].Free(now, &sl.frame)
	} else {
		onLink := s.ports[sl.input].Transmitter().Serialise(sl.length)
		late := &s.starved[sl.input]
		late.returned = max(now, late.returned.Add(onLink)).Add(sl.starve)
		late.held = append(late.held, held{late.returned, sl.frame})
	}
}

// Full reports whether an input buffer counts as full: a frame of the largest size would take it
// past the configured occupancy, which by default is its whole room.
func (s *Switch) Full(input int) bool {
	limit := s.fullAt[input]
	return s.ingress[input].lanes.Used(port.DataLane) > limit-s.packet
}

// Resident returns the i-th frame of an input buffer (cp.Switch).
func (s *Switch) Resident(input, i int) (output int, waits, ok bool) {
	in := &s.ingress[input]
	if i >= len(in.slots) {
		return 0, false, false
	}
	sl := &s.slots.all[in.slots[i]]
	return int(sl.output), sl.state != sending && sl.frame.Kind == wire.Data, true
}

// Mark marks the i-th frame of an input buffer (cp.Switch).
func (s *Switch) Mark(input, i int, why trace.Reason) {
	sl := &s.slots.all[s.ingress[input].slots[i]]
	if !sl.frame.FECN {
		sl.frame.FECN, sl.reason = true, uint8(why)
	}
}
