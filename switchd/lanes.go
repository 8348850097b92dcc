package switchd

import (
	"math/bits"
	"slices"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// This file implements the virtual lanes of an InfiniBand switch: which lane a frame takes, which
// lane sends, and how long a frame may wait at the head of a lane.

// makeLanes makes the lanes of all outputs, their arbiters and the mappings of service levels.
func (s *Switch) makeLanes(c *Config) {
	ports := c.Ports
	several := slices.ContainsFunc(ports, func(c port.Config) bool { return c.Lanes > 1 })
	number := 0
	for p := range ports {
		n, _ := s.ingress[p].lanes.Number()
		number += n
	}
	all := make([]outLane, number)
	for p := range ports {
		link, out := &ports[p], &s.egress[p]
		n, acks := s.ingress[p].lanes.Number()
		out.lanes, all, out.acks = all[:n:n], all[n:], acks
		if link.HeadLife > 0 {
			if s.life == nil {
				s.life = make([]unit.Duration, len(ports))
			}
			s.life[p] = link.HeadLife
		}
		if several {
			out.arbiter = port.NewArbiter(link.Arbitration, max(link.Lanes, 1))
		}
	}
	s.several = several || s.life != nil
	if several {
		s.slToVL = make([]port.SLToVL, len(ports)*len(ports))
		for i := range s.slToVL {
			s.slToVL[i] = ports[i%len(ports)].SLToVL
		}
		for _, e := range c.Lanes {
			s.changeLanes(e)
		}
	}
}

// changeLanes applies an SLToVLChange or an ArbitrationChange, which change nothing if all links
// have one data lane.
func (s *Switch) changeLanes(e port.PortChange) {
	switch c := e.Change.(type) {
	case port.SLToVLChange:
		for in := range len(s.ports) {
			if s.slToVL != nil && (c.In == port.AnyPort || int(c.In) == in) {
				s.slToVL[in*len(s.ports)+int(e.Port)] = c.Table
			}
		}
	case port.ArbitrationChange:
		if out := &s.egress[e.Port]; out.arbiter != nil {
			out.arbiter = port.NewArbiter(c.Arbitration, out.dataLanes())
		}
	}
}

// dataLanes returns the number of data lanes of an output.
func (e *egress) dataLanes() int {
	if e.acks {
		return len(e.lanes) - 1
	}
	return len(e.lanes)
}

// laneOf returns the lane on which a frame leaves that arrived on a lane of an input: the ACK lane
// for the ACK lane, else the lane of its service level. ok is false if the output does not have
// that lane.
func (s *Switch) laneOf(f *wire.Frame, came uint8, input, output int) (lane uint8, ok bool) {
	in, out := &s.egress[input], &s.egress[output]
	switch {
	case in.acks && int(came) == len(in.lanes)-1:
		return uint8(len(out.lanes) - 1), true
	case s.slToVL == nil:
		return came, true
	}
	lane = s.slToVL[input*len(s.ports)+output].Of(f.DSCP)
	return lane, int(lane) < out.dataLanes()
}

// offerLanes is offer for a switch with several data lanes, or with a lifetime at the head of
// lanes.
func (s *Switch) offerLanes(now unit.Time, p int, pt *port.Port, out *egress) (wake unit.Time) {
	if out.arbiter == nil {
		wake = s.offer(now, p, pt, out)
	} else {
		wake = s.arbitrate(now, p, pt, out)
	}
	if s.life != nil {
		wake = min(wake, s.expire(now, p, out))
	}
	return wake
}

// arbitrate is offer for an output with several data lanes: the arbiter chooses among those that
// can send.
func (s *Switch) arbitrate(now unit.Time, p int, pt *port.Port, out *egress) (wake unit.Time) {
	if free := pt.Transmitter().Free(); out.sending != none || free > now {
		return free // the reasons remain
	}
	wake = unit.Never
	var can uint16
	stall := port.Open
	for left := out.waits | out.blocked; left != 0; left &= left - 1 {
		lane := bits.TrailingZeros16(left)
		a := s.ask(now, lane, pt, out)
		if a.Block == port.Open {
			can |= 1 << lane
			continue
		}
		switch wake = min(wake, a.Until); a.Block {
		case port.LinkBusy: // the frame is still arriving
		case port.Idle:
			out.setBlock(now, lane, port.Open)
		default:
			out.setBlock(now, lane, a.Block)
			if lane < out.dataLanes() && stall != port.NoCredit {
				stall = a.Block
			}
		}
	}
	lane, ok := uint8(len(out.lanes)-1), out.acks && can>>(len(out.lanes)-1)&1 == 1
	switch acks := ok; {
	case acks:
		s.sendOldest(now, int(lane), pt, out)
		stall = out.stall // ACKs go first: the old reason remains
	default:
		if lane, ok = out.arbiter.Next(can); ok {
			out.lane = lane
			s.sendOldest(now, int(lane), pt, out)
			out.arbiter.Sent(s.slots.all[out.sending].frame.Blocks())
			stall = port.Open
		}
	}
	for left := can; left != 0; left &= left - 1 {
		block := port.Open
		if !ok {
			block, stall = port.NoCredit, port.NoCredit // the lane is in no arbitration table
		}
		out.setBlock(now, bits.TrailingZeros16(left), block)
	}
	if was := out.stall; stall != was {
		out.stall = stall
		s.stalled(now, p, port.DataLane, stall, was)
	}
	return wake
}

// ask returns whether a lane of an output can send; the link is idle. The block is port.Idle if no
// waiting frame may be forwarded.
func (s *Switch) ask(now unit.Time, lane int, pt *port.Port, out *egress) port.Answer {
	_, id, bypassing := s.oldest(&out.lanes[lane].queue)
	switch {
	case id == none && bypassing:
		return port.Answer{Block: port.CrossbarBusy, Until: unit.Never}
	case id == none:
		return port.Answer{Block: port.Idle, Until: unit.Never}
	}
	sl := &s.slots.all[id]
	a := pt.MaySend(now, &sl.frame, sl.length)
	if at := ready(pt, sl.tail, sl.length); a.Block == port.Open && at > now { // the frame is still arriving
		return port.Answer{Block: port.LinkBusy, Until: at}
	}
	return a
}

// expire discards frames that have waited for credit at the head of a lane for the lifetime of the
// output (IBTA Volume 1, 18.2.5.4). It returns when the next one is due.
func (s *Switch) expire(now unit.Time, p int, out *egress) (wake unit.Time) {
	wake = unit.Never
	for left := out.blocked; left != 0 && s.life[p] > 0; left &= left - 1 {
		number := bits.TrailingZeros16(left)
		lane := &out.lanes[number]
		before, id, _ := s.oldest(&lane.queue)
		if lane.block != port.NoCredit || id == none {
			continue
		}
		if lane.since.Add(s.life[p]) <= now {
			sl := &s.slots.all[id]
			if s.slots.remove(&lane.queue, before, id, sl); lane.queue.head == none {
				out.waits &^= 1 << number
			}
			if sl.frame.Kind == wire.Data {
				out.waiting--
				lane.blocks -= int32(sl.frame.Blocks())
			}
			s.ports[p].Lost(now, &sl.frame, trace.LifetimeOver)
			s.ingress[sl.input].feeding++ // for release
			s.release(now, id, sl)
			s.wake(now, int(sl.input)) // it owes credit
			lane.since = now
		}
		wake = min(wake, lane.since.Add(s.life[p]))
	}
	return wake
}
