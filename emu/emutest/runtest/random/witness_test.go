package random_test

import (
	"fmt"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// witness hears the events of a fabric and holds them against what must be so, with an
// account: where each frame is, how long each link is taken, until when each
// port is paused, what is in each memory. It believes nothing that a node says of
// itself but what it sends, takes in and releases it.
type witness struct {
	fabric *fabric.Fabric
	ports  [][]witnessed
	frames map[sent][]*passing
	own    map[int]map[sent]int // by switch, the feedback that it has said it sends, and has not yet
	next   map[uint32]uint32    // by flow, the PSN that it sends next; after a timeout an earlier one
	come   map[sent]bool        // packets that have been delivered
	last   unit.Time            // when a frame last came to a node, flow control aside
	wrong  []string
	faults bool // there are faults
	late   bool // some of them delay frames

	retransmits bool            // transfers of workloads do
	streams     map[uint32]bool // flows of TCP

	started, delivered, dropped, again, pauses, feedback, violations, moves int
}

// witnessed is a port as in the witness. Memory is in bytes, with credit in blocks.
type witnessed struct {
	rate  unit.Rate
	kind  port.FlowControl
	down  bool
	free  unit.Time                  // from here on the link is idle
	until [port.Priorities]unit.Time // when each class may be retransmitted
	held  [port.Priorities]bool      // it was told to stop, and not yet to continue
	said  []unit.Time                // when the PAUSE frames left that are in flight to it
	late  port.Response              // of its link
	told  []told                     // what it obeys only after that
	old   unit.Rate                  // before it changed
	since unit.Time                  // when that was
	used  [port.Priorities]unit.Size // of the memory, by class
	room  unit.Size                  // 0: no limit
}

// told is what a PAUSE or PFC frame says.
type told struct {
	at              unit.Time // when it has an effect
	left            unit.Time // when the frame left
	quanta          unit.Size
	spoken, stopped uint8
	event           trace.Event // its arrival
}

// taken returns how much of the memory is used.
func (p *witnessed) taken() (sum unit.Size) {
	for _, n := range p.used {
		sum += n
	}
	return sum
}

// class returns which of them a priority has.
func (p *witnessed) class(lane uint8) uint8 {
	if p.kind == port.PriorityPauseFrames || p.kind == port.Credits {
		return lane
	}
	return 0
}

// sent names frames: data, its ACK, and what is said about it.
type sent struct{ flow, psn uint32 }

// passing is a frame in flight.
type passing struct {
	kind    wire.Kind
	lane    uint8
	at      fabric.End // it is in this machine, having come by this port; or on the path there; Machine -1: nowhere
	under   bool       // it is in flight
	settled bool       // it was delivered, or dropped
	size    unit.Size
	moved   unit.Time          // when it left a node, or came to one
	kept    map[fabric.End]int // whose memory has it: twice where it comes back while it is leaving
}

// release takes the frame out of a memory.
func (f *passing) release(here fabric.End) {
	if f.kept[here]--; f.kept[here] == 0 {
		delete(f.kept, here)
	}
}

func newWitness(f *fabric.Fabric) *witness {
	w := &witness{fabric: f, frames: map[sent][]*passing{}, own: map[int]map[sent]int{}, streams: map[uint32]bool{}, next: map[uint32]uint32{}, come: map[sent]bool{}}
	for _, e := range f.Scenario.Events {
		x := e.Touch()
		_, pauses := e.Act.(scenario.PauseChange)
		w.late = w.late || x.Late > 0
		w.faults = w.faults || x.Late > 0 || x.Drops != trace.NoReason || pauses
	}
	for i := range f.Scenario.Workloads {
		w.retransmits = w.retransmits || f.Scenario.Workloads[i].Transport.Params != nil
	}
	for i := range f.Nodes {
		m := &f.Nodes[i]
		w.own[i] = map[sent]int{}
		var all []witnessed
		for _, p := range m.Ports {
			l := f.Wires[p.Wire].Link
			s := witnessed{rate: l.Rate, kind: l.FlowControl, late: l.Response}
			switch {
			case l.FlowControl == port.Credits:
				if s.room = l.Buffer.Bytes / wire.BlockSize; l.Buffer.Packets > 0 {
					s.room = unit.Size(l.Buffer.Packets * f.Largest().Blocks)
				}
			case m.Switch != nil:
				s.room = m.Switch.Memory.Total(len(m.Ports))
				if m.Switch.Sharing != scenario.Pooled {
					s.room /= unit.Size(len(m.Ports))
				}
			}
			all = append(all, s)
		}
		w.ports = append(w.ports, all)
	}
	return w
}

func (w *witness) say(e *trace.Event, format string, args ...any) {
	if len(w.wrong) < 10 {
		w.wrong = append(w.wrong, fmt.Sprintf("%v %s.%d flow %d psn %d: ", e.At, w.fabric.Nodes[e.Node].Name, e.Port, e.Flow, e.PSN)+fmt.Sprintf(format, args...))
	}
}

// find returns a frame of an event's name.
func (w *witness) find(e *trace.Event, is func(*passing) bool) *passing {
	all := w.frames[sent{e.Flow, e.PSN}]
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// over forgets a frame that is nowhere any more.
func (w *witness) over(e *trace.Event, f *passing) {
	if f.at.Node >= 0 || len(f.kept) > 0 {
		return
	}
	if f.kind == wire.Data && !f.settled {
		w.again++
	}
	id := sent{e.Flow, e.PSN}
	w.frames[id] = slices.DeleteFunc(w.frames[id], func(g *passing) bool { return g == f })
}

// forget takes all frames out of a memory.
func (w *witness) forget(here fabric.End) {
	for id, all := range w.frames {
		for _, f := range slices.Clone(all) {
			if delete(f.kept, here); f.settled {
				f.at.Node = -1
			}
			w.over(&trace.Event{Flow: id.flow, PSN: id.psn}, f)
		}
	}
}

// ends reports whether a node is an endpoint; a negative one is none.
func (w *witness) ends(node int) bool {
	return node >= 0 && w.fabric.Nodes[node].Switch == nil
}

// Record hears an event.
func (w *witness) Record(e *trace.Event) {
	kind, _, _ := trace.FrameOf(e.A)
	here := fabric.End{Node: int(e.Node), Port: port.ID(e.Port)}
	p := &w.ports[e.Node][e.Port]
	coming := func(f *passing) bool { return f.under && f.at == here }
	switch e.Kind {
	case trace.Notify, trace.Message:
		w.own[here.Node][sent{e.Flow, e.PSN}]++
	case trace.Trim:
		if e.B == 0 { // the switch makes another frame of a packet that it drops
			w.own[here.Node][sent{e.Flow, e.PSN}]++
		}
	case trace.Start:
		w.start(e, p, kind)
		end := w.fabric.Nodes[e.Node].Ports[e.Port]
		to := w.fabric.Wires[end.Wire].Ends[1-end.End]
		if kind.Control() {
			if p.kind != port.Credits {
				peer := &w.ports[to.Node][to.Port]
				peer.said = append(peer.said, e.At)
			}
			return
		}
		f := w.find(e, func(f *passing) bool {
			return f.kind == kind && !f.under && f.at.Node == here.Node && f.lane == e.Lane
		})
		if f == nil && kind == wire.Trimmed {
			f = w.find(e, passes(here))
		}
		if f == nil || w.ends(here.Node) {
			f = w.begin(e, kind, p)
		}
		if f != nil {
			f.at, f.under, f.moved = to, true, e.At
		}
	case trace.Arrive:
		switch {
		case kind == wire.Pause || kind == wire.PriorityPause:
			w.pauses++
			w.paused(e, p, kind)
			return
		case kind.Control():
			return
		}
		w.moves++
		w.last = e.At
		f := w.find(e, func(f *passing) bool { return f.kind == kind && coming(f) })
		if f == nil {
			w.say(e, "a %v arrives where it was not sent", kind)
			return
		}
		f.under, f.moved = false, e.At
		f.kept[here]++
		p.used[p.class(e.Lane)] += f.size
		w.within(e, p)
	case trace.Release:
		if e.Flow == 0 && p.kind == port.Credits { // a switch that begins again
			w.forget(here)
			p.used[p.class(e.Lane)] = 0
			return
		}
		size := p.used[p.class(e.Lane)] - unit.Size(e.B)
		kept := func(f *passing) bool { return f.kept[here] > 0 && f.lane == e.Lane && f.size == size }
		left := func(f *passing) bool { return kept(f) && (f.settled || f.under || f.at.Node != here.Node) }
		f := w.find(e, left) // of data and feedback with one name and one size, the frame that has left
		if f == nil {
			f = w.find(e, kept)
		}
		if f == nil {
			w.say(e, "is let go where it is not kept")
			return
		}
		f.release(here)
		p.used[p.class(e.Lane)] -= f.size
		w.within(e, p)
		if w.ends(here.Node) || f.settled {
			f.at.Node = -1
		}
		w.over(e, f)
	case trace.Deliver:
		if w.streams[e.Flow] { // it delivers bytes
			return
		}
		f := w.find(e, func(f *passing) bool {
			return f.kind == wire.Data && !f.under && !f.settled && f.at.Node == here.Node
		})
		if f == nil {
			w.say(e, "is delivered where it is not")
			return
		}
		f.settled = true
		w.come[sent{e.Flow, e.PSN}] = true
		w.delivered++
	case trace.Drop:
		w.drop(e, p, here)
	case trace.Control:
		w.change(e, p)
	case trace.Violation:
		w.violations++
		w.say(e, "%v", trace.Reason(e.A))
	}
}

// passes tells a trimmed packet that a switch has let through without memory.
func passes(here fabric.End) func(f *passing) bool {
	return func(f *passing) bool { return f.kind == wire.Trimmed && f.under && f.at.Node == here.Node }
}

// flow returns the flow with a queue pair; nil: it is that of a transfer of a workload.
func (w *witness) flow(qp uint32) *fabric.Flow {
	if i := int(qp) - fabric.FirstQP; i < len(w.fabric.Flows) {
		return &w.fabric.Flows[i]
	}
	return nil
}

// begin notes a frame that leaves the machine that has made it.
func (w *witness) begin(e *trace.Event, kind wire.Kind, p *witnessed) *passing {
	id := sent{e.Flow, e.PSN}
	f := &passing{kind: kind, lane: e.Lane, size: unit.Size(e.Bytes), kept: map[fabric.End]int{}}
	if p.kind == port.Credits {
		f.size = w.blocks(e, kind)
	}
	own := w.own[int(e.Node)]
	switch {
	case kind == wire.Data && w.ends(int(e.Node)):
		flow := w.flow(e.Flow)
		again := flow != nil && (flow.Timeout > 0 || flow.Transport.Params != nil) || flow == nil && w.retransmits
		if next := w.next[e.Flow]; e.PSN != next && (!again || e.PSN > next) {
			w.say(e, "is sent where %d is next", next)
		}
		w.next[e.Flow] = max(w.next[e.Flow], e.PSN+1) // after a timeout it goes back, and ACKs that come then take it further
		w.started++
	case (kind == wire.Ack || kind == wire.TCP || kind == wire.CNP || kind == wire.UETControl && own[id] == 0) && w.ends(int(e.Node)):
		w.streams[e.Flow] = w.streams[e.Flow] || kind == wire.TCP
		w.feedback++
	case own[id] > 0:
		own[id]--
		w.feedback++
	default:
		w.say(e, "a %v leaves a machine that neither has it nor makes it", kind)
		return nil
	}
	w.frames[id] = append(w.frames[id], f)
	return f
}

// blocks returns how many blocks of credit a frame takes.
func (w *witness) blocks(e *trace.Event, kind wire.Kind) unit.Size {
	f := wire.Frame{Kind: kind}
	if kind == wire.Data {
		f.Payload = e.Bytes - wire.HeaderSize
		if w.fabric.Framing() == wire.WireFraming {
			f.Payload -= wire.ICRCSize + wire.VCRCSize
		}
	}
	return unit.Size(f.Blocks())
}

// drop notes that a frame is gone.
func (w *witness) drop(e *trace.Event, p *witnessed, here fabric.End) {
	why := trace.Reason(e.A)
	if why == trace.EgressFull {
		return // it was none yet
	}
	f := w.find(e, func(f *passing) bool { return !f.settled && f.lane == e.Lane && f.under && f.at == here })
	stays := func(f *passing) bool {
		return !f.settled && f.lane == e.Lane && !f.under && f.at.Node == here.Node
	}
	if why == trace.Restarted || why == trace.NotInTurn || f == nil {
		f = w.find(e, func(f *passing) bool { return stays(f) && f.kept[here] > 0 })
	}
	if f == nil && why == trace.Restarted && p.kind != port.Credits {
		if g := w.find(e, func(f *passing) bool { return f.lane == e.Lane && f.kept[here] > 0 }); g != nil { // another of its name has left, and not this one
			g.release(here)
			p.used[p.class(e.Lane)] -= g.size
			f = w.find(e, stays)
		}
	}
	id := sent{e.Flow, e.PSN}
	if f == nil && e.B == int64(wire.Trimmed) && w.own[here.Node][id] == 0 {
		f = w.find(e, passes(here))
	}
	switch own := w.own[here.Node]; {
	case f != nil:
	case own[id] > 0:
		own[id]--
		return
	case e.Flow == 0: // flow control
		switch why {
		case trace.LostOnLink, trace.BadFCS, trace.Ignored:
			if e.B == int64(wire.Pause) || e.B == int64(wire.PriorityPause) {
				p.said, p.held = p.said[1:], [port.Priorities]bool{}
			}
		}
		return
	default:
		w.say(e, "is dropped where it is not")
		return
	}
	f.settled = true
	if p.kind != port.Credits && f.kept[here] > 0 && why != trace.NotInTurn { // else its release is told, as with credit
		f.release(here)
		p.used[p.class(e.Lane)] -= f.size
	}
	if f.kept[here] == 0 {
		f.at.Node = -1
	}
	if f.kind == wire.Data {
		w.dropped++
	}
	closed := f.kind == wire.TCP && why == trace.UnknownFlow // the transfer has ended
	lost := closed || why == trace.LinkWasDown || why == trace.Restarted || why == trace.NotInTurn ||
		w.faults && (why == trace.LostOnLink || why == trace.BadFCS || why == trace.NotStopped)
	if !lost && (p.kind == port.PauseFrames || p.kind == port.Credits) {
		w.say(e, "is dropped: %v", why)
	}
	w.over(e, f)
}

// start checks that the link is free, the link up, and the class not paused.
func (w *witness) start(e *trace.Event, p *witnessed, kind wire.Kind) {
	if e.At < p.free {
		w.say(e, "starts on a line that is busy until %v", p.free)
	}
	p.free = e.At.Add(p.rate.Serialise(unit.Size(e.Bytes)))
	if p.down {
		w.say(e, "starts on a link that is down")
	}
	w.obey(e.At, p)
	if !kind.Control() && p.until[e.Lane] > e.At {
		w.say(e, "starts although paused until %v", p.until[e.Lane])
	}
}

// paused notes what a PAUSE or PFC frame says (IEEE 802.3, annexes 31B and 31D).
func (w *witness) paused(e *trace.Event, p *witnessed, kind wire.Kind) {
	x := told{left: p.said[0], at: e.At.Add(p.late.At(p.rate)), quanta: unit.Size(e.B), spoken: 0xFF, stopped: 0xFF, event: *e}
	p.said = p.said[1:]
	if kind == wire.PriorityPause {
		x.spoken, x.stopped = trace.ClassesOf(e.PSN)
	} else if e.B == 0 {
		x.stopped = 0
	}
	if n := len(p.told); n > 0 {
		x.at = max(x.at, p.told[n-1].at)
	}
	p.told = append(p.told, x)
	w.obey(e.At, p)
}

// obey has a port do what it was told as long ago as its response: to stop for quanta of 512 bit
// times, or to continue.
func (w *witness) obey(now unit.Time, p *witnessed) {
	for ; len(p.told) > 0 && p.told[0].at <= now; p.told = p.told[1:] {
		x := &p.told[0]
		until := x.at.Add(p.rate.Serialise(x.quanta * 64))
		if x.left < p.since { // of the rate that the quanta were meant at
			until = max(until, x.at.Add(p.old.Serialise(x.quanta*64)))
		}
		for c := range p.until {
			switch bit := uint8(1) << c; {
			case x.spoken&bit == 0:
			case x.stopped&bit == 0:
				p.until[c], p.held[c] = x.at, false
			default:
				if p.held[c] && p.until[c] < x.at && !w.late {
					w.say(&x.event, "was stopped until %v, and is stopped again only at %v", p.until[c], x.at)
				}
				p.until[c], p.held[c] = until, true
			}
		}
	}
}

// within checks that a memory holds what is in it, an input's part or all inputs of a
// pool, and that the machine has the same account of it.
func (w *witness) within(e *trace.Event, p *witnessed) {
	if got := p.used[p.class(e.Lane)]; got != unit.Size(e.B) {
		w.say(e, "%d bytes or blocks in the memory, and it says %d", got, e.B)
	}
	if p.kind == port.Credits && e.Lane == port.AckLane {
		return
	}
	if p.room == 0 {
		return
	}
	used := p.taken()
	if p.kind == port.Credits {
		used = p.used[port.DataLane]
	} else if w.fabric.Nodes[e.Node].Switch.Sharing == scenario.Pooled {
		used = 0
		for i := range w.ports[e.Node] {
			used += w.ports[e.Node][i].taken()
		}
	}
	if used > p.room {
		w.say(e, "%d bytes in a memory of %d", used, p.room)
	}
}

// change notes a change from outside.
func (w *witness) change(e *trace.Event, p *witnessed) {
	w.obey(e.At, p)
	switch port.ChangeKind(e.A) {
	case port.RateChange{}.Kind():
		p.old, p.rate, p.since = p.rate, unit.Rate(e.B), e.At
		for c, until := range p.until {
			if until > e.At && p.rate < p.old { // as many quanta as were left
				p.until[c] = e.At + unit.Time(float64(until-e.At)*float64(p.old)/float64(p.rate))
			}
		}
	case port.ServiceRate{}.Kind(), port.StormStart{}.Kind(), port.StormStop{}.Kind():
		return
	case port.PauseIgnored{}.Kind():
		if w.ends(int(e.Node)) {
			p.until, p.held, p.told = [port.Priorities]unit.Time{}, [port.Priorities]bool{}, nil
		}
	case port.LinkDown{}.Kind(), port.Restart{}.Kind():
		p.said, p.told = nil, nil
		p.down, p.until, p.held = true, [port.Priorities]unit.Time{}, [port.Priorities]bool{}
		if port.ChangeKind(e.A) == (port.Restart{}).Kind() { // what it was sending was in its memory too
			for id, n := range w.own[int(e.Node)] {
				if n > 0 {
					w.say(e, "begins again, and its feedback about psn %d of flow %d is neither sent nor lost", id.psn, id.flow)
				}
			}
			clear(w.own[int(e.Node)])
			here := fabric.End{Node: int(e.Node), Port: port.ID(e.Port)}
			w.forget(here)
			p.used = [port.Priorities]unit.Size{}
		}
	case port.LinkUp{}.Kind():
		p.down = false
	}
}

// left returns how many frames have been in flight, or in a memory, without a move since
// an instant, how many frames of data are in flight at all, and of which flows are those
// that have not moved. An endpoint of Ethernet takes in feedback without a word.
func (w *witness) left(since unit.Time) (stuck, data int, flows map[string]int) {
	flows = map[string]int{}
	for id, all := range w.frames {
		for _, f := range all {
			if f.kind != wire.Data && f.under && w.ends(f.at.Node) && w.ports[f.at.Node][f.at.Port].kind != port.Credits {
				continue
			}
			if f.kind == wire.Data {
				data++
			}
			if f.moved > since {
				continue
			}
			stuck++
			if flow := w.flow(id.flow); flow != nil && f.kind == wire.Data && !w.come[id] { // one that was retransmitted is missing nowhere
				flows[flow.Name]++
			}
		}
	}
	return stuck, data, flows
}

// cut reports whether a link is down.
func (w *witness) cut() bool {
	return slices.ContainsFunc(w.ports, func(ports []witnessed) bool {
		return slices.ContainsFunc(ports, func(p witnessed) bool { return p.down })
	})
}
