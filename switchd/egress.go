package switchd

import (
	"math/bits"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// egress is the output side of a port.
type egress struct {
	lanes   []outLane
	arbiter *port.Arbiter // of the data lanes; nil: there is one
	waiting int32         // cnt1: data frames that are in queues
	sending int32         // the slot whose frame is on the link, or none
	waits   uint16        // the lanes in which frames are queued, a bit each
	blocked uint16        // the lanes with a block other than port.Open
	lacks   uint16        // those whose block is port.NoCredit
	waited  bool          // data had to wait for credit when the frame on the link began
	acks    bool          // the last lane is the one of ACKs
	lane    uint8         // the data lane that was served last
	stall   port.Block    // with an arbiter: the reason why no data leaves, as last reported
}

// outLane is a virtual lane of an output.
type outLane struct {
	queue  fifo       // frames that wait for it, in order of arrival over all inputs
	since  unit.Time  // since when block has been the reason
	blocks int32      // of credit that the data frames in the queue need
	block  port.Block // the reason why frames wait, as last found
}

// setBlock records why the frames of a lane wait.
func (e *egress) setBlock(now unit.Time, lane int, block port.Block) {
	l := &e.lanes[lane]
	if block == l.block {
		return
	}
	l.block, l.since = block, now
	bit := uint16(1) << (lane & 15)
	e.blocked, e.lacks = e.blocked&^bit, e.lacks&^bit
	if block != port.Open {
		e.blocked |= bit
	}
	if block == port.NoCredit {
		e.lacks |= bit
	}
}

// enqueue puts a registered frame into its output's queue.
func (s *Switch) enqueue(id int32, sl *slot) {
	out := &s.egress[sl.output]
	lane := &out.lanes[sl.frame.Lane]
	s.slots.push(&lane.queue, id, sl)
	out.waits |= 1 << (sl.frame.Lane & 15)
	if sl.frame.Kind == wire.Data {
		out.waiting++
		lane.blocks += int32(sl.frame.Blocks())
	}
}

// serve lets an output send everything that it may: flow control packets that are owed, then ACKs
// that have a lane apart, then data.
func (s *Switch) serve(now unit.Time, p int) {
	pt, wake := &s.ports[p], unit.Never
	if s.holds(p) {
		wake = s.giveBack(now, p)
	}
	if pt.OwesControl(now) {
		wake = min(wake, pt.Control(now))
	}
	s.send(now, p, pt, wake)
	if !pt.Armed() {
		s.setTimer(p, pt)
	}
}

// send is the part of serve that concerns frames: it offers them to the link. wake is when flow
// control needs attention again.
func (s *Switch) send(now unit.Time, p int, pt *port.Port, wake unit.Time) {
	out := &s.egress[p]
	if out.waits|out.blocked != 0 {
		if !s.several {
			wake = min(wake, s.offer(now, p, pt, out))
		} else {
			wake = min(wake, s.offerLanes(now, p, pt, out))
		}
	}
	if out.sending != none {
		wake = min(wake, pt.Transmitter().Free())
	}
	s.agenda.Set(s.transmitterSlot(p), wake)
}

// offer lets an output start a waiting frame, the higher lane first, and records why frames keep
// waiting. It returns when the output should be looked at again.
func (s *Switch) offer(now unit.Time, p int, pt *port.Port, out *egress) (wake unit.Time) {
	wake = unit.Never
	for left := out.waits | out.blocked; left != 0; {
		lane := (bits.Len16(left) - 1) & 15
		left &^= 1 << lane
		l, block := &out.lanes[lane], port.Open
		if out.waits>>lane&1 == 1 {
			a := port.Answer{Block: port.LinkBusy, Until: pt.Transmitter().Free()}
			if out.sending == none && a.Until <= now {
				a = s.sendOldest(now, lane, pt, out)
			}
			wake = min(wake, a.Until)
			switch {
			case a.Block != port.LinkBusy:
				block = a.Block
			case out.sending == none || int(s.slots.all[out.sending].frame.Lane) != lane:
				block = l.block // another lane goes first: the old reason remains
			}
		}
		if block != l.block {
			if lane == port.DataLane {
				s.stalled(now, p, port.DataLane, block, l.block)
			}
			out.setBlock(now, lane, block)
		}
	}
	return wake
}

// sendOldest starts the oldest frame of a lane that may be forwarded; the link is idle. If it
// cannot, it returns the reason, and when to ask again.
func (s *Switch) sendOldest(now unit.Time, lane int, pt *port.Port, out *egress) port.Answer {
	q := &out.lanes[lane].queue
	before, id, bypassing := s.oldest(q)
	if id == none {
		if bypassing {
			return port.Answer{Block: port.CrossbarBusy, Until: unit.Never}
		}
		return port.Answer{Block: port.Open, Until: unit.Never}
	}
	sl := &s.slots.all[id]
	if a := pt.MaySend(now, &sl.frame, sl.length); a.Block != port.Open {
		return a
	}
	if sl.tail > now { // the link may be faster than the one on which the frame arrives
		if at := ready(pt, sl.tail, sl.length); at > now {
			return port.Answer{Block: port.LinkBusy, Until: at}
		}
	}
	if bypassing {
		for older := q.head; older != id; older = s.slots.all[older].next {
			if s.slots.all[older].state == waiting {
				s.slots.all[older].bypassed++
			}
		}
	}
	if s.slots.remove(q, before, id, sl); q.head == none {
		out.waits &^= 1 << (lane & 15)
	}
	s.start(now, id, sl, pt, out)
	return port.Answer{Block: port.Open, Until: unit.Never}
}

// oldest finds the oldest frame in the queue of a lane that its output may take, and the one ahead
// of it. It reports whether the crossbar delays an older one. It finds none if an older one has
// been bypassed often enough: then the output waits for that frame.
func (s *Switch) oldest(q *fifo) (before, id int32, bypassing bool) {
	before, id = none, q.head
	for ; id != none; before, id = id, s.slots.all[id].next {
		sl := &s.slots.all[id]
		if sl.state != waiting {
			continue // its header is still arriving
		}
		if !s.single || s.ingress[sl.input].feeding == 0 {
			break
		}
		bypassing = true
		if int(sl.bypassed) >= s.bypass {
			return before, none, true
		}
	}
	return before, id, bypassing
}

// start sends a frame; the congestion point may mark it.
func (s *Switch) start(now unit.Time, id int32, sl *slot, pt *port.Port, out *egress) {
	note := port.Note{Waiting: uint16(out.waiting)}
	sl.state = sending
	if sl.frame.Kind == wire.Data {
		out.lanes[sl.frame.Lane].blocks -= int32(sl.frame.Blocks())
		if s.watched {
			note.Reason = s.sampleLeaving(now, sl)
		}
		if !s.countSending {
			out.waiting--
		}
	}
	out.sending, out.waited = id, out.lacksCredit()
	s.ingress[sl.input].feeding++
	pt.Start(now, &sl.frame, sl.length, note)
}

// sampleLeaving counts a frame that leaves, and shows it to the congestion point. It returns why
// the frame has been marked here.
func (s *Switch) sampleLeaving(now unit.Time, sl *slot) (reason uint8) {
	if s.balance.counts() {
		s.balance.counted[sl.output] += sl.length
	}
	if s.marking.Marker == nil {
		return 0
	}
	came := sl.frame.FECN && sl.reason == 0 // marked before it arrived here
	why := s.marking.Dequeue(now, &sl.frame, s.queue(sl))
	if s.reported && why == trace.NoReason {
		sl.frame.FECN, why = true, trace.OverThreshold
	}
	if sl.reason == 0 {
		sl.reason = uint8(why)
	}
	if s.marking.Starve != nil {
		sl.starve = s.marking.Starve(s.queue(sl), s.ports[sl.input].Transmitter().Serialise(sl.length))
	}
	if sl.reason == 0 || came {
		return 0
	}
	s.rec.Mark(now, uint16(sl.output), &sl.frame, trace.Reason(sl.reason), int64(s.egress[sl.output].waiting))
	return sl.reason
}

// queue returns the congestion point's view of the place of a data frame.
func (s *Switch) queue(sl *slot) cp.Queue {
	return cp.Queue{
		Input: int(sl.input), Output: int(sl.output), Leaving: sl.state == sending, Switch: s,
		Bytes: unit.Size(s.egress[sl.output].lanes[sl.frame.Lane].blocks) * wire.BlockSize,
		Room:  unit.Size(s.ingress[sl.input].lanes.Room(sl.lane)) * wire.BlockSize,
	}
}

// complete ends a transmission: the tail has left. The credit goes back, and the input can feed
// other outputs.
func (s *Switch) complete(now unit.Time, p int) {
	out := &s.egress[p]
	id := out.sending
	sl := &s.slots.all[id]
	if s.countSending && sl.frame.Kind == wire.Data {
		out.waiting--
	}
	out.sending = none
	s.release(now, id, sl)
	s.touch(int(sl.input))
	if s.single {
		s.touchFed(int(sl.input))
	}
}

// Waiting returns cnt1 of an output (cp.Switch).
func (s *Switch) Waiting(output int) int { return int(s.egress[output].waiting) }

// Sending reports whether an output is sending a frame (cp.Switch).
func (s *Switch) Sending(output int) bool { return s.egress[output].sending != none }

// Blocked reports whether an output recently lacked credit (cp.Switch).
func (s *Switch) Blocked(output int) bool {
	out := &s.egress[output]
	return out.lacksCredit() || out.sending != none && out.waited
}

// lacksCredit reports whether data waits for credit; of several lanes, that of the one that was
// served last.
func (e *egress) lacksCredit() bool { return e.lacks>>(e.lane&15)&1 == 1 }

// Waits yields the frames that wait in the switch, for the detection of deadlock (deadlock.Waiter).
// A frame that is being sent waits for nothing, because it will make room by itself.
func (s *Switch) Waits(_ unit.Time, yield func(port.Wait) bool) {
	for p := range s.ingress {
		if len(s.ingress[p].slots) == 0 {
			continue
		}
		in := s.ingress[p].lanes
		var room [port.MaxDataLanes + 1]bool
		lanes, acks := in.Number()
		for lane := range lanes {
			room[lane] = in.HasRoom(uint8(lane), s.packet) || s.holds(p) // which becomes available by itself
		}
		if acks {
			room[lanes-1] = in.HasRoom(uint8(lanes-1), 1)
		}
		for _, id := range s.ingress[p].slots {
			sl := &s.slots.all[id]
			w := port.Wait{In: port.ID(p), Out: sl.output, From: sl.lane, Class: sl.frame.Lane, Room: room[sl.lane]}
			if out := &s.egress[sl.output]; sl.state != sending {
				lane := &out.lanes[sl.frame.Lane]
				w.Block, w.Since = lane.block, lane.since
			}
			yield(w)
		}
	}
}
