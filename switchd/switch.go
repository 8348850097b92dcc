package switchd

import (
	"cmp"
	"fmt"
	"slices"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Config describes an input-buffered switch.
type Config struct {
	Index   int               // of the node in the fabric, for events
	Outbox  *port.Outbox      // where its frames wait for the driver; may be shared with other nodes; nil: its own
	Ports   []port.Config     // Room is each input's buffer
	Routes  []Routes          // the first is used until port.RoutesChange names another
	Seed    uint64            // of choices among equal routes: wire.ChoiceSeed
	Delay   unit.Duration     // forwarding delay: the least time from first bit in to first bit out
	Single  bool              // an input feeds one output at a time (model M2)
	Bypass  int               // with Single: how often a frame may be bypassed
	Lanes   []port.PortChange // SLToVLChange and ArbitrationChange: exceptions from the lanes of its ports
	Balance Balancing         // of frames among equal routes
	Manage  port.Manage       // decides about management packets that come; nil: they are lost
	Points  cp.Maker          // its congestion points, which see input buffers; nil: none

	// CountSending makes cnt1 count the frame on the link too: "incremented and decremented as
	// packets enter and leave the switch" (HPL-2002-224, IV.B). By default it counts "the packets
	// in the switch that are waiting" (the same sentence), which agrees better with the figures.
	CountSending bool
	// Packet is the size of the largest frame, in blocks. FullAt is the occupancy of an input
	// buffer, in blocks, that counts as full (footnote 3); 0: its whole room.
	Packet, FullAt int
}

// Switch is an input-buffered, cut-through switch.
type Switch struct {
	chassis
	egress []egress

	single       bool
	several      bool // data lanes, or a lifetime at the head of lanes
	countSending bool
	watched      bool // by a congestion point or the balancer: the data frames that leave
	delay        unit.Duration
	manage       port.Manage
	ingress      []ingress
	slToVL       []port.SLToVL   // by input and output; nil: all links have one data lane
	life         []unit.Duration // by output: how long a frame may wait for credit at the head of a lane; 0: for ever; nil: everywhere
	congested    []unit.Duration // by output, under earlier markers; nil: there were none
	points
	starved []starved // by input, with a marker that starves
	bypass  int
	packet  int
	fullest int   // the occupancy of an input buffer that counts as full; 0: its whole room
	fullAt  []int // the same by input, limited by its room
}

// New returns a switch that reports to events.
func New(c Config, events trace.Sink) (*Switch, error) {
	n := len(c.Ports)
	s := &Switch{
		ingress: make([]ingress, n), egress: make([]egress, n), fullAt: make([]int, n),
		delay: c.Delay, manage: c.Manage, single: c.Single, bypass: c.Bypass, packet: c.Packet, countSending: c.CountSending, fullest: c.FullAt,
	}
	if err := s.assemble(c.Index, c.Outbox, c.Ports, c.Routes, c.Seed, newBalancer(c.Balance, c.Seed, n, s.queued, nil), events, 0); err != nil {
		return nil, err
	}
	for i, pc := range c.Ports {
		if pc.FlowControl != port.Credits {
			return nil, fmt.Errorf("port %d has flow control %v; this kind of switch has credit", i, pc.FlowControl)
		}
		if c.Packet < 1 || pc.Room < c.Packet {
			return nil, fmt.Errorf("port %d: a buffer of %d blocks has no room for a packet of %d",
				i, pc.Room, c.Packet)
		}
		s.fullAt[i] = s.fullOf(pc.Room)
		s.ingress[i].lanes = s.ports[i].VirtualLanes()
	}
	s.makeLanes(&c)
	s.empty(0)
	return s, s.setPoints(c.Points)
}

// setPoints gives the switch its congestion points, or others. Credit that goes back late does so
// still.
func (s *Switch) setPoints(maker cp.Maker) error {
	err := s.points.make(maker, len(s.ports), &s.rec)
	s.watched = s.marking.Marker != nil || s.balance.counts()
	if s.marking.Starve != nil && s.starved == nil {
		s.starved = make([]starved, len(s.ports))
	}
	return err
}

// empty implements changing.
func (s *Switch) empty(unit.Time) {
	clear(s.starved)
	for i := range s.ingress {
		s.ingress[i].empty()
	}
	for i := range s.egress {
		out := &s.egress[i]
		*out = egress{sending: none, lanes: out.lanes, arbiter: out.arbiter, acks: out.acks}
		for lane := range out.lanes {
			out.lanes[lane] = outLane{queue: fifo{none, none}}
		}
	}
	s.slots.empty()
	s.points.reset()
}

// Apply makes a change from outside.
func (s *Switch) Apply(now unit.Time, at port.ID, change port.Change) {
	s.chassis.apply(now, at, change, s)
	s.points.apply(change)
	switch c := change.(type) {
	case port.SLToVLChange, port.ArbitrationChange:
		s.changeLanes(port.PortChange{Port: at, Change: c})
	case port.MarkingChange:
		before := make([]unit.Duration, len(s.ports))
		for p := range before {
			before[p] = s.Congested(now, port.ID(p))
		}
		s.congested = before
		_ = s.setPoints(c.Maker.(cp.Maker)) // the scenario has checked the parameters
	case port.BufferChange:
		s.fullAt[at] = s.fullOf(s.ingress[at].lanes.Room(port.DataLane) - s.ports[at].Leaving())
	}
}

// Congested returns for how long an output has been congested up to now, if the congestion point
// knows.
func (s *Switch) Congested(now unit.Time, p port.ID) (d unit.Duration) {
	if int(p) < len(s.congested) {
		d = s.congested[p]
	}
	if s.marking.Congested != nil {
		d += s.marking.Congested(now, int(p))
	}
	return d
}

// fullOf returns the occupancy that counts as full for an input buffer with the given room.
func (s *Switch) fullOf(room int) int {
	if s.fullest > 0 {
		return min(s.fullest, room)
	}
	return room
}

// reroute implements changing.
func (s *Switch) reroute(now unit.Time, table int) {
	s.chassis.reroute(now, table)
	for p := range s.egress {
		if !s.ports[p].Down() {
			continue
		}
		for lane := range s.egress[p].lanes {
			all := s.egress[p].lanes[lane].queue
			s.egress[p].lanes[lane].queue = fifo{none, none}
			s.egress[p].waits &^= 1 << lane
			for all.head != none {
				id, sl := s.slots.pop(&all)
				if sl.frame.Kind == wire.Data {
					s.egress[p].waiting--
					s.egress[p].lanes[lane].blocks -= int32(sl.frame.Blocks())
				}
				if to := s.detour(now, &sl.frame, p); to != p {
					if out, ok := s.laneOf(&sl.frame, sl.lane, int(sl.input), to); ok {
						sl.output, sl.frame.Lane = port.ID(to), out
					}
				}
				s.enqueue(id, sl)
				s.wake(now, int(sl.output))
			}
		}
		s.wake(now, p)
	}
}

// lose implements changing.
func (s *Switch) lose(now unit.Time) {
	for p := range s.ingress {
		for _, id := range s.ingress[p].slots {
			if sl := &s.slots.all[id]; sl.state != sending {
				s.ports[p].Lost(now, &sl.frame, trace.Restarted)
			}
		}
	}
}

// Receive takes in a frame whose header has arrived. Advance does the rest once all frames of that
// instant have arrived.
func (s *Switch) Receive(now unit.Time, id port.ID, a *port.Arrival) {
	p := int(id)
	pt := &s.ports[p]
	if !pt.Receive(now, a) {
		if s.egress[p].waits != 0 && pt.Transmitter().Free() <= now || pt.TakeRetryNews() { // credit may have come
			s.wake(now, p)
		}
		return
	}
	if pt.TakeRetryNews() {
		s.wake(now, p)
	}
	if a.Frame.Kind == wire.Management {
		if out, ok := pt.Manage(now, s.manage, &a.Frame); ok && int(out) < len(s.ports) {
			s.ports[out].Queue(now, now.Add(s.delay), &a.Frame)
			s.wake(now, int(out))
		}
		return
	}
	output, ok := s.routes.forward(&a.Frame, s.seed) // as chassis.forward, without a call
	if !ok {
		output, ok = s.balanced(now, &a.Frame, output)
	}
	if !ok {
		pt.Discard(now, &a.Frame, trace.NoRoute)
		s.wake(now, p) // it owes credit
		return
	}
	lane := a.Frame.Lane
	if s.slToVL != nil {
		if lane, ok = s.laneOf(&a.Frame, lane, p, output); !ok {
			pt.Discard(now, &a.Frame, trace.NoSuchLane)
			s.wake(now, p) // it owes credit
			return
		}
	}
	s.store(now, p, output, lane, pt.Propagation(), a)
}

// Advance does everything that is due: it ends transmissions and lets idle outputs take the oldest
// frames; then, frame by frame, it tries those that may now be forwarded, and asks the congestion
// point about them.
func (s *Switch) Advance(now unit.Time) {
	for s.due(now) {
		switch slot := s.next(); {
		case slot >= s.headerSlot(0):
			s.admit(now, slot-s.headerSlot(0))
			continue
		case slot >= s.resendSlot(0):
			s.ports[slot-s.resendSlot(0)].TimerEnded()
			s.touch(slot - s.resendSlot(0))
		default:
			s.touch(slot)
			if s.egress[slot].sending != none && s.ports[slot].Transmitter().Free() <= now {
				s.complete(now, slot)
			}
		}
		if !s.outputsDue(now) {
			s.flush(now)
		}
	}
}

// queued returns how much waits for an output, or is arriving for it.
func (s *Switch) queued(_ unit.Time, output int) unit.Size {
	blocks := int32(0)
	for i := range s.egress[output].lanes {
		blocks += s.egress[output].lanes[i].blocks
	}
	return unit.Size(blocks) * wire.BlockSize
}

// touchFed touches the outputs that frames of an input wait for, because the input can feed one
// again.
func (s *Switch) touchFed(input int) {
	for _, id := range s.ingress[input].slots {
		if s.slots.all[id].state == waiting {
			s.touch(int(s.slots.all[id].output))
		}
	}
}

// flush serves the outputs that were touched. With a single-output crossbar (M2) two of them may
// want the same input: the older of its frames goes first.
func (s *Switch) flush(now unit.Time) {
	if s.single {
		slices.SortStableFunc(s.dirty, func(a, b int32) int { return cmp.Compare(s.age(int(a)), s.age(int(b))) })
	}
	for _, p := range s.dirty {
		s.serve(now, int(p))
	}
	s.rest()
}

// age orders outputs by the frames that they would take: of two frames that arrived by one input,
// the older has the earlier tail.
func (s *Switch) age(p int) unit.Time {
	for lane := len(s.egress[p].lanes) - 1; lane >= 0; lane-- {
		if _, id, _ := s.oldest(&s.egress[p].lanes[lane].queue); id != none {
			return s.slots.all[id].tail
		}
	}
	return unit.Never
}

// admit makes the next frame of an input eligible. The output is tried first, and only then does
// the congestion point see the arrival, so that a frame that cuts through is neither marked nor
// counted (footnote 6).
func (s *Switch) admit(now unit.Time, p int) {
	in := &s.ingress[p]
	id := in.next()
	in.arriving--
	if in.arriving > 0 {
		s.expect(p, s.slots.all[in.next()].eligible)
	}
	sl := &s.slots.all[id]
	sl.state = waiting
	if s.egress[sl.output].sending == none { // otherwise the frame waits for the link, which is recorded
		s.serve(now, int(sl.output))
	}
	if s.marking.Marker != nil && sl.frame.Kind == wire.Data {
		s.marking.Enqueue(now, &sl.frame, s.queue(sl))
	}
}
